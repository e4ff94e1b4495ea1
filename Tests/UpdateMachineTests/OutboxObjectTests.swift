import TestSupport
import Testing
import UpdateMachine

/// What these tests' app shows: named things, and how far the server's log has been read.
struct Things: Equatable, Sendable {
  var things = VersionedMap<String, Int64>()
  var position: Int64 = 0
}

/// Changes that name what they are about, and note what their maker has seen.
struct ThingChange: Mutation, Equatable, Storable {
  enum Kind: UInt8 { case create, set, delete, tidy, swap }
  enum Refusal: Error, Hashable { case exists, gone }

  var kind: Kind
  var thing: String
  var value: Int64 = 0
  var seen: Int64 = -1
  /// The value that its maker saw.
  var old: Int64?

  var name: String { "\(kind) \(thing)" }
  var size: Int64 { 10 }
  var object: String? { kind == .tidy || kind == .swap ? nil : thing }

  mutating func stamp(
    from state: Things, ticket: MutationTicket, inPlaceOf edited: ThingChange?
  ) {
    seen = state.position
    old = state.things[thing]
  }

  func apply(to state: inout Things) throws(Refusal) {
    switch kind {
    case .create:
      if state.things[thing] != nil { throw .exists }
      state.things[thing] = value
    case .set:
      if state.things[thing] == nil { throw .gone }
      state.things[thing] = value
    case .delete:
      if state.things.removeValue(forKey: thing) == nil { throw .gone }
    case .tidy: state.things = VersionedMap()
    case .swap: if state.things["z"] ?? 0 < 5 { throw .exists }
    }
  }

  func isOverruled(by refusal: Refusal) -> Bool { refusal == .gone && kind == .set }

  func coalesced(with later: ThingChange) -> ThingChange? {
    switch (kind, later.kind) {
    case (.create, .set):
      ThingChange(kind: .create, thing: thing, value: later.value, seen: later.seen)
    case (.set, .set), (.set, .delete): later
    default: nil
    }
  }

  init(kind: Kind, thing: String, value: Int64 = 0, seen: Int64 = -1) {
    (self.kind, self.thing, self.value, self.seen) = (kind, thing, value, seen)
  }

  func put(into bytes: inout ByteWriter) {
    bytes.put(kind.rawValue)
    bytes.put(thing)
    bytes.put(value)
    bytes.put(seen)
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    guard let kind = Kind(rawValue: try bytes.takeByte()) else {
      throw StoredFormError(expected: "a change of things")
    }
    self.init(
      kind: kind, thing: try bytes.takeString(), value: try bytes.takeInt64(),
      seen: try bytes.takeInt64())
  }
}

/// Mutations that name an object, are stamped, lose their place or are overruled.
@Suite struct OutboxObjectTests {
  /// An outbox with its view and what the server has been sent.
  private struct Desk {
    var local: LocalChanges<ThingChange>
    var now = Moment(milliseconds: 0)
    var push: PushRequest<ThingChange>?

    init(_ state: Things = Things(), delivery: MutationDelivery = .exactlyOnce) {
      local = LocalChanges(Outbox(client: ClientID(7), delivery: delivery), over: state)
      feed(.app(.started(foreground: true)))
      feed(.heldBack(true))
    }

    mutating func feed(_ input: Outbox<ThingChange>.Input) {
      take(local.handle(input, at: now))
    }

    mutating func take(_ effects: Outbox<ThingChange>.Effects) {
      if let sent = effects.push { push = sent }
      #expect(local.outbox.violation() == nil)
    }

    @discardableResult
    mutating func make(
      _ kind: ThingChange.Kind, _ thing: String, _ value: Int64 = 0
    ) throws -> MutationTicket {
      let change = ThingChange(kind: kind, thing: thing, value: value)
      let made = try local.mutate(change, at: now)
      take(made.effects)
      return made.ticket
    }

    mutating func confirm(_ state: Things) {
      local.confirm(state, echo: nil)
      feed(.heldBack(local.outbox.isHeldBack))  // Any input replays.
    }

    /// Stores what there is, and lets it go.
    mutating func send() {
      feed(.heldBack(false))
      save()
    }

    mutating func save() { feed(.stored(upTo: local.outbox.currentVersion)) }

    /// The process ends, and the next one reads what there was.
    mutating func restart() throws {
      var rows = RowDisk()
      rows.write(local.outbox.rows(since: nil))
      var box = try Outbox<ThingChange>(stored: rows.rows)
      box.restored(in: Incarnation(2))
      let confirmed = local.view.confirmed
      local = LocalChanges(box, over: confirmed)
      feed(.app(.started(foreground: true)))
      feed(.heldBack(true))
    }

    var pending: [String] { local.outbox.pending.map { "\($0)" } }
    func place(of ticket: MutationTicket) -> Int? {
      local.outbox.pending.firstIndex { $0.tickets.contains(ticket) }
    }

    var sent: [String] { push?.mutations.map { $0.change.name } ?? [] }
    func state(_ ticket: MutationTicket) -> MutationState? { local.outbox.state(of: ticket) }
  }

  private static func things(
    _ things: VersionedMap<String, Int64>, at position: Int64 = 0
  ) -> Things {
    Things(things: things, position: position)
  }

  // MARK: Coalescing by object

  @Test func `two mutations of one object become one though others stand between them`() throws {
    var desk = Desk()
    let first = try desk.make(.create, "a", 1)
    let other = try desk.make(.create, "b", 1)
    let second = try desk.make(.set, "a", 2)
    #expect(desk.pending == ["#1,3 create a unsent", "#2 create b unsent"])
    #expect(desk.local.view.state.things == ["a": 2, "b": 1])
    #expect(desk.local.outbox.pending[0].change.value == 2)
    #expect(desk.place(of: other) == 1)
    #expect(desk.place(of: second) == 0)
    desk.send()
    #expect(desk.sent == ["create a", "create b"])
    #expect(desk.push?.mutations[0].ticket == second)
    desk.feed(.answered(desk.push!.id, .accepted))
    desk.local.confirm(Self.things(["a": 2, "b": 1]), through: MutationID(1), refusal: nil)
    #expect(desk.state(first) == .acknowledged)
    #expect(desk.state(second) == .acknowledged)
    #expect(desk.state(other) == .sent)
  }

  @Test func `coalescing stops at what is sent, set aside or about no object`() throws {
    var desk = Desk(Self.things(["a": 1]))
    try desk.make(.set, "a", 2)
    try desk.make(.tidy, "")
    try desk.make(.create, "a", 3)
    try desk.make(.set, "a", 4)
    #expect(
      desk.pending == ["#1 set a unsent", "#2 tidy  unsent", "#3–4 create a unsent"])
    desk.send()
    try desk.make(.set, "a", 5)
    #expect(desk.pending.last == "#5 set a unsent")
    // The third is refused, and may be tried again. Nothing is drawn ahead of it.
    desk.feed(.answered(desk.push!.id, .refused(MutationRefusal(MutationID(2)))))
    let left = ["#1 set a accepted 1", "#3–4 create a unsent, threw", "#5 set a unsent"]
    #expect(desk.pending == left)
    // Nor is anything drawn ahead of one of the same object that threw.
    try desk.make(.set, "a", 6)
    #expect(desk.pending.last == "#5–6 set a unsent")
  }

  @Test func `tickets of one mutation that lie apart survive a restart`() throws {
    var desk = Desk()
    try desk.make(.create, "a")
    try desk.make(.create, "b")
    try desk.make(.set, "a", 1)
    try desk.make(.create, "c")
    let last = try desk.make(.set, "a", 2)
    #expect(desk.pending.first == "#1,3,5 create a unsent")
    let before = desk.pending
    try desk.restart()
    #expect(desk.pending == before)
    desk.feed(.discarded(MutationTicket(3)))
    #expect(desk.state(MutationTicket(1)) == .discarded)
    #expect(desk.state(last) == .discarded)
    #expect(desk.state(MutationTicket(2)) == .queued)
    try desk.restart()
    #expect(desk.state(last) == .discarded)
  }

  @Test func `several mutations of one object become one with the last`() throws {
    var desk = Desk(Self.things(["a": 1]))
    try desk.make(.set, "a", 2)
    try desk.make(.create, "b")
    try desk.make(.set, "a", 3)
    try desk.make(.set, "b", 4)
    try desk.make(.delete, "a")
    #expect(desk.pending == ["#1,3,5 delete a unsent", "#2,4 create b unsent"])
    #expect(desk.local.view.state.things == ["b": 4])
  }

  // MARK: Stamps

  @Test func `a mutation notes what its maker sees, and so does an edit of it`() throws {
    var desk = Desk(Self.things(["a": 1], at: 5))
    let ticket = try desk.make(.set, "a", 2)
    #expect(desk.local.outbox.pending[0].change.seen == 5)
    desk.confirm(Self.things(["a": 1], at: 9))
    #expect(desk.local.outbox.pending[0].change.seen == 5, "a replay does not stamp anew")
    desk.feed(.edited(ticket, ThingChange(kind: .set, thing: "a", value: 3)))
    #expect(desk.local.outbox.pending[0].change.seen == 9)
    #expect(desk.local.outbox.pending[0].change.old == 1, "not what it has set itself")
    try desk.make(.set, "a", 4)
    #expect(desk.local.outbox.pending[0].change.value == 4)
    #expect(desk.local.outbox.pending[0].change.seen == 9)
  }

  // MARK: Overruled

  @Test func `what the confirmed state overrules leaves, and says so, also after a restart`() throws
  {
    var desk = Desk(Self.things(["a": 1, "b": 1]), delivery: .atLeastOnce)
    let one = try desk.make(.set, "a", 2)
    let two = try desk.make(.set, "b", 2)
    desk.send()
    #expect(desk.sent == ["set a", "set b"])
    desk.confirm(Self.things(["b": 1]))
    #expect(desk.state(one) == .overruled)
    #expect(desk.state(two) == .sent)
    #expect(desk.local.outbox.setAside.isEmpty)
    #expect(desk.local.view.state.things == ["b": 2])
    // A late answer about it does no harm.
    desk.feed(.answered(desk.push!.id, .accepted))
    #expect(desk.pending == ["#2 set b accepted 2"])
    try desk.restart()
    #expect(desk.state(one) == .overruled)
    #expect(desk.state(two) == .sent)
  }

  @Test func `if the server counts IDs, it decides about what may have left`() throws {
    var desk = Desk(Self.things(["a": 1]))
    let one = try desk.make(.set, "a", 2)
    desk.send()
    let later = try desk.make(.set, "a", 3)
    desk.confirm(Self.things([:]))
    #expect(desk.state(one) == .sent)
    #expect(desk.state(later) == .setAside, "it may depend on the first")
    desk.local.confirm(
      Self.things([:]), through: MutationID(1), refusal: MutationRefusal(MutationID(1)))
    #expect(desk.state(one) == .setAside)
  }

  @Test func `an overruled mutation gives back the ID that it has not used`() throws {
    var desk = Desk(Self.things(["a": 1, "b": 1]))
    try desk.make(.set, "a", 2)
    try desk.make(.set, "b", 2)
    desk.feed(.heldBack(false))  // Both are marked, and wait for the disk.
    desk.confirm(Self.things(["b": 1]))
    desk.save()
    #expect(desk.push?.mutations.map(\.id) == [MutationID(1)])
    #expect(desk.sent == ["set b"])
  }

  // MARK: Those that throw

  @Test func `what throws before it has left blocks nothing, and keeps its new place`() throws {
    var desk = Desk(Self.things(["a": 1]))
    let first = try desk.make(.delete, "a")
    try desk.make(.create, "b", 2)
    desk.confirm(Self.things([:]))
    #expect(desk.state(first) == .setAside)
    #expect(desk.pending == ["#2 create b unsent", "#1 delete a unsent, threw"])
    desk.send()
    #expect(desk.sent == ["create b"])
    desk.confirm(Self.things(["a": 3]))
    #expect(desk.local.view.state.things == ["b": 2])
    #expect(desk.state(first) == .queued)
    desk.feed(.answered(desk.push!.id, .accepted))
    desk.save()
    #expect(desk.sent == ["delete a"])
    #expect(desk.push?.mutations.map(\.id) == [MutationID(2)])
    let before = desk.pending
    #expect(before == ["#2 create b accepted 1", "#1 delete a marked 2"])
    try desk.restart()
    #expect(desk.pending == ["#2 create b sent 1", "#1 delete a sent 2"])
  }

  @Test func `mutations of one object keep their order, even if the first throws`() throws {
    var desk = Desk(Self.things(["a": 1]))
    let first = try desk.make(.delete, "a")
    try desk.make(.create, "a", 5)
    try desk.make(.create, "b")
    desk.confirm(Self.things([:]))
    // If the creation went ahead, the deletion would pass behind it, and undo it.
    #expect(
      desk.pending == ["#3 create b unsent", "#1 delete a unsent, threw", "#2 create a unsent"])
    #expect(desk.local.view.state.things == ["a": 5, "b": 0])
    try desk.restart()
    desk.send()
    #expect(desk.sent == ["create b"])
    desk.feed(.answered(desk.push!.id, .accepted))
    desk.feed(.discarded(first))
    desk.save()
    #expect(desk.sent == ["create a"])
  }

  @Test func `what is made behind a mutation that threw is sent at once`() throws {
    var desk = Desk(Self.things(["a": 1]))
    try desk.make(.delete, "a")
    desk.confirm(Self.things([:]))
    desk.send()
    #expect(desk.push == nil)
    try desk.make(.create, "b")
    desk.save()
    #expect(desk.sent == ["create b"])
    try desk.make(.create, "c")
    try desk.make(.create, "d")
    try desk.make(.set, "c", 7)
    #expect(
      desk.pending.dropFirst() == [
        "#3,5 create c unsent", "#4 create d unsent", "#1 delete a unsent, threw",
      ], "what threw does not stop coalescing")
  }

  @Test func `one that passes behind others goes ahead of those that do not`() throws {
    var desk = Desk(Self.things(["x": 1, "z": 5]))
    try desk.make(.delete, "x")
    try desk.make(.swap, "a")
    try desk.make(.set, "z", 7)
    desk.confirm(Self.things(["z": 1]))
    // The swap throws in its place, and passes once z is large again.
    #expect(desk.pending == ["#3 set z unsent", "#2 swap a unsent", "#1 delete x unsent, threw"])
  }

  @Test func `what depends on a mutation that is set aside is not overruled`() throws {
    for isRefused in [true, false] {
      var desk = Desk(Self.things(["p": 1]), delivery: .atLeastOnce)
      let first = try desk.make(.create, "a")
      if isRefused {
        desk.send()
        let later = try desk.make(.set, "a", 5)
        desk.feed(.answered(desk.push!.id, .refused(MutationRefusal(MutationID(1)))))
        #expect(desk.state(first) == .setAside)
        #expect(desk.state(later) == .setAside, "it waits for the decision about the creation")
        desk.feed(.retried(first))
        #expect(desk.local.view.state.things == ["a": 5, "p": 1])
      } else {
        // The creation throws while somebody else's a is there.
        desk.confirm(Self.things(["a": 3]))
        #expect(desk.state(first) == .setAside)
        let later = try desk.make(.set, "a", 5)
        desk.confirm(Self.things([:]))
        #expect(desk.state(later) == .queued)
        #expect(desk.local.view.state.things == ["a": 5])
      }
    }
  }

  @Test func `tickets that lie apart are bounded`() throws {
    var desk = Desk(Self.things(["a": 1, "b": 1]))
    for value in 0..<100 as Range<Int64> {
      try desk.make(.set, "a", value)
      try desk.make(.set, "b", value)
    }
    #expect(desk.local.outbox.pending.allSatisfy { $0.tickets.ranges.count <= 9 })
    #expect(desk.local.outbox.pending.count < 30)
    #expect(desk.local.view.state.things == ["a": 99, "b": 99])
    desk.feed(.discarded(MutationTicket(1)))
    #expect(desk.state(MutationTicket(1)) == .discarded)
    #expect(desk.state(MutationTicket(3)) == .discarded)
  }

  @Test func `a refused mutation that is tried again returns to its own place`() throws {
    var desk = Desk(Self.things(["a": 1]))
    try desk.make(.delete, "a")
    let second = try desk.make(.create, "b")
    let third = try desk.make(.create, "c")
    desk.confirm(Self.things([:]))
    desk.send()
    desk.feed(.answered(desk.push!.id, .refused(MutationRefusal(MutationID(1)))))
    #expect(desk.state(second) == .setAside)
    try desk.make(.create, "d")
    desk.feed(.retried(second))
    #expect(
      desk.pending == [
        "#2 create b marked 2", "#3 create c marked 3", "#4 create d marked 4",
        "#1 delete a unsent, threw",
      ])
    #expect(desk.place(of: third) == 1)
    try desk.restart()
    #expect(desk.place(of: third) == 1)
  }
}
