import TestSupport
import Testing
import UpdateMachine

/// Bugs of other projects that are about local changes, by their numbers in SyncBugs, as far as
/// this room can have them.
@Suite struct OutboxBugTests {
  /// A model with its outbox, as a replica holds them.
  struct Model: SyncModel {
    struct Event: Sendable {
      var change: BoardChange
      var last: UInt64
    }
    enum Refusal: Error { case bad }
    typealias Snapshot = Board

    var board: Board
    var outbox: Outbox<BoardChange>

    init(snapshot: Board) {
      board = snapshot
      outbox = Outbox(client: ClientID(1))
    }

    init(snapshot: Board, replacing old: Model?) {
      self.init(snapshot: snapshot)
      if let old { outbox = old.outbox }
    }

    mutating func apply(_ event: Event) throws(Refusal) {
      outbox.confirm(through: MutationID(event.last))
      do throws(BoardChange.Refusal) {
        _ = try event.change.apply(to: &board)
      } catch {
        throw .bad
      }
    }

    mutating func restored() { outbox.restored() }
  }

  @Test func `bug 28: a mutation in flight does not vanish when the state is replaced`() throws {
    var model = Model(snapshot: Board(["a": 1]))
    var view = LocalView<BoardChange>(of: model.board)
    let now = Moment(milliseconds: 0)
    _ = model.outbox.handle(.started(foreground: true), at: now)
    let ticket = try model.outbox.mutate(.add("a", 1), &view, at: now).ticket
    let stored = model.outbox.handle(.stored(upTo: model.outbox.currentVersion), at: now)
    let push = try #require(stored.push)

    model = Model(snapshot: Board(["a": 5]), replacing: model)
    view = LocalView(of: model.board)
    _ = model.outbox.replay(&view, at: now)
    #expect(view.state == Board(["a": 6]))
    #expect(model.outbox.isCurrent(push.id))
    _ = model.outbox.handle(.failed(push.id, .unreachable, hasLeft: true), at: now)
    #expect(model.outbox.state(of: ticket) == .sent)
    #expect(model.outbox.status == .waiting)
  }

  @Test func `bug 62: a mutator that throws in a rebase does not block incoming events`() throws {
    var desk = Desk.started(Board(["a": 1]))
    try desk.mutate(.add("a", 1))
    desk.confirm(Board(["b": 1]), through: 0)
    #expect(desk.view.state == Board(["b": 1]))
    desk.confirm(Board(["b": 2]), through: 0)
    #expect(desk.view.state == Board(["b": 2]))
    #expect(desk.box.setAside.count == 1)
  }

  @Test func `bug 63: a mutation made during a push is pushed`() throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    _ = try desk.send(.set("b", 1))
    desk.answer()
    desk.save()
    #expect(desk.pushed == [2])
  }

  @Test func `bug 64: a refused mutation is not skipped, and later ones are not sent`() throws {
    var desk = Desk.started()
    let tickets = try desk.send(.set("a", 1), .set("b", 1))
    desk.answer(.refused(MutationRefusal(MutationID(1))))
    desk.pass(.minutes(60))
    for signal in [Desk.Box.Input.networkChanged, .foregrounded, .retryRequested] {
      #expect(desk.feed(signal) == [])
    }
    desk.save()
    #expect(desk.push?.id.number == 1)
    #expect(desk.state(tickets[1]) == .queued)
    #expect(desk.box.block == .refused(tickets[0]))
  }

  @Test func `bug 65: failed pushes neither loop nor stay pending for ever`() throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    var pushes = 0
    while desk.now < Moment(milliseconds: 600_000) {
      if case .pushing = desk.box.status {
        pushes += 1
        desk.fail(.serverFault)
      }
      #expect(desk.box.status == .waiting)  // Something must always be pending.
      desk.pass(.milliseconds(100))
      if desk.now.milliseconds % 10_000 == 0 { desk.fire() }
    }
    #expect(pushes > 50 && pushes < 100)
  }

  @Test func `bug 72: an answer that cannot be understood drops nothing`() throws {
    var desk = Desk.started()
    let tickets = try desk.send(.set("a", 1))
    desk.fail(.malformed)
    desk.answer(.refused(MutationRefusal(MutationID(77))))
    desk.box.confirm(through: MutationID(0), refusal: MutationRefusal(MutationID(1)))
    #expect(desk.state(tickets[0]) == .sent)
    #expect(desk.box.count == 1)
  }

  @Test func `bug 73: a sent message does not stay a placeholder when its echo is held up`() throws
  {
    var desk = Desk.started(delivery: .atMostOnce)
    let ticket = try desk.send(.set("a", 1))[0]
    desk.answer()
    desk.pass(.seconds(5))
    // The log is gone, and the echo with it. The snapshot has the effect.
    desk.box.confirmAccepted(before: desk.now)
    desk.view.confirm(Board(["a": 1]))
    desk.replay()
    #expect(desk.state(ticket) == .acknowledged)
    #expect(desk.view.state == Board(["a": 1]))
    desk.box.echo(of: ticket)  // It is late, and is absorbed.
    #expect(desk.box.violation() == nil)
  }

  @Test func `bug 74: only the server's answers change the confirmed state`() throws {
    // A change that is made between a new confirmed state and its replay applies to the new state.
    var desk = Desk(Board(["a": 1]))
    desk.box.confirm(through: MutationID(0))
    desk.view.confirm(Board(["a": 7]))
    try desk.mutate(.add("a", 1))
    #expect(desk.view.confirmed == Board(["a": 7]))
    #expect(desk.view.state == Board(["a": 8]))
  }

  @Test func `bug 75: a last mutation ID that does not advance is noticed, and sent again`() throws
  {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    desk.answer()
    desk.confirm(Board(), through: 0)
    #expect(desk.box.status == .confirming)
    desk.pass(.seconds(30))
    #expect(desk.fire().first == "push 2: 1 set")
  }

  @Test func `bug 76: pending changes in the view are in the saved outbox`() throws {
    var model = Model(snapshot: Board())
    var view = LocalView<BoardChange>(of: model.board)
    _ = try model.outbox.mutate(.set("a", 1), &view, at: Moment(milliseconds: 0))
    var copy = model  // A save at this moment would write this copy.
    copy.restored()
    var again = LocalView<BoardChange>(of: copy.board)
    _ = copy.outbox.replay(&again, at: Moment(milliseconds: 0))
    #expect(again.state == view.state)
  }

  @Test func `bug 76: an event that the model refuses acknowledges nothing`() throws {
    var model = Model(snapshot: Board())
    var view = LocalView<BoardChange>(of: model.board)
    let now = Moment(milliseconds: 0)
    _ = model.outbox.handle(.started(foreground: true), at: now)
    let ticket = try model.outbox.mutate(.set("a", 1), &view, at: now).ticket
    _ = model.outbox.handle(.stored(upTo: model.outbox.currentVersion), at: now)
    var copy = model
    #expect(throws: Model.Refusal.bad) {
      try copy.apply(Model.Event(change: .add("none", 1), last: 1))
    }
    #expect(copy.outbox.state(of: ticket) == .acknowledged)  // Only in this copy, which is dropped.
    #expect(model.outbox.state(of: ticket) == .sent)
  }

  @Test func `bug 77: a mutation made offline is stored, but not acknowledged`() throws {
    var desk = Desk.started()
    let ticket = try desk.mutate(.set("a", 1))
    desk.save()
    desk.fail(.unreachable, hasLeft: false)
    #expect(desk.box.isStored(ticket))
    #expect(desk.state(ticket) == .queued)
  }

  @Test func `bug 66: a change to a value that is being sent is sent, too`() throws {
    var desk = Desk.started(Board(["a": 0]))
    _ = try desk.send(.set("a", 1))
    #expect(desk.pushed == [1])
    let later = try desk.send(.set("a", 2))[0]
    #expect(desk.box.pending.count == 2, "a mutation that is out is not coalesced with a later one")
    desk.answer()
    desk.save()
    desk.confirm(Board(["a": 1]), through: 1)
    #expect(desk.view.state.values["a"] == 2)
    #expect(desk.pushed == [2])
    desk.answer()
    desk.save()
    desk.confirm(Board(["a": 2]), through: 2)
    #expect(desk.state(later) == .acknowledged)
  }

  @Test func `bug 71: deleting and making again are sent as two mutations`() throws {
    var desk = Desk.started(Board(["a": 1]))
    _ = try desk.send(.set("b", 1))  // The others wait behind it, and may be coalesced there.
    _ = try desk.send(.remove("a"), .set("a", 2), .set("a", 3))
    desk.answer()
    desk.save()
    #expect(desk.push?.mutations.map(\.change.name) == ["remove", "set"])
    #expect(desk.view.state.values["a"] == 3)
  }
}
