import Testing

@testable import UpdateMachine

/// Changes that a version of the app cannot read, at a server that counts: none is lost, none is
/// made twice, and none holds up another.
@Suite struct OutboxUnreadableTests {
  /// An app with its outbox, and its server.
  private struct App {
    var box: Outbox<Note>
    var view = LocalView<Note>(of: Book())
    var server = TinyServer()
    var push: PushRequest<Note>?
    private var life: UInt64 = 1
    private let now = Moment(milliseconds: 0)

    init(delivery: MutationDelivery = .exactlyOnce) {
      box = Outbox(client: ClientID(7), delivery: delivery, incarnation: Incarnation(1))
      feed(.app(.started(foreground: true)))
    }

    private mutating func take(_ effects: Outbox<Note>.Effects) {
      if effects.cancel != nil { push = nil }
      push = effects.push ?? push
    }

    mutating func feed(_ input: Outbox<Note>.Input) {
      take(box.handle(input, at: now))
      take(box.replay(&view, at: now))
    }

    /// Makes changes, and writes whatever is to be written. What can leave has left then.
    mutating func make(_ changes: Note...) throws {
      for change in changes { take(try box.mutate(change, &view, at: now).effects) }
      save()
    }

    mutating func save() { feed(.stored(upTo: box.currentVersion)) }

    /// The server gets the push that is out. Its answer comes, or is lost.
    mutating func arrive(isAnswered: Bool = true) {
      guard let push else { return }
      let answer = server.take(push)
      self.push = nil
      feed(isAnswered ? .answered(push.id, answer) : .failed(push.id, .unreachable, hasLeft: true))
    }

    /// News comes, with what the server has run.
    mutating func poll() {
      box.confirm(through: server.last, refusal: server.lastRefusal)
      view.confirm(server.book)
      take(box.replay(&view, at: now))
      save()
    }

    /// The next version of the app starts, which cannot read the changes of these tickets.
    mutating func restart(unable tickets: Set<UInt64>) throws {
      var rows = RowWriter()
      box.store(since: nil, into: &rows)
      var read: [(key: StoredKey, value: [UInt8])] = []
      for row in rows.rows {
        guard var value = row.value else { continue }
        // A byte too many makes a change that cannot be read; without it, it can be again.
        let isChange = row.key.table == .pendingMutations || row.key.table == .refusedMutations
        if isChange {
          if value.last == 0xEE { value.removeLast() }
          if tickets.contains(UInt64(row.key.bytes.last ?? 0)) { value.append(0xEE) }
        }
        read.append((row.key, value))
      }
      read.sort { $0.key < $1.key }
      box = try Outbox(stored: RowReader(read))
      life += 1
      box.restored(in: Incarnation(life))
      view = LocalView(of: server.book)
      push = nil
      feed(.app(.started(foreground: true)))
      save()
      #expect(box.violation() == nil)
    }

    /// The server has forgotten the client, and counts under another name.
    mutating func loseName() throws {
      box = Outbox(client: ClientID(8), takingOver: box)
      server = TinyServer()
      view = LocalView(of: server.book)
      feed(.app(.started(foreground: true)))
      save()
      #expect(box.violation() == nil)
    }

    var lost: [UInt64] { box.unreadable.map(\.ticket.number) }
  }

  @Test func `given up, it leaves no gap at the server`() throws {
    var app = App()
    try app.make(.write([1]))
    #expect(app.push?.mutations.map(\.id.number) == [1])
    try app.restart(unable: [1])
    #expect(app.lost == [1] && app.push == nil)
    app.feed(.discarded(MutationTicket(1)))
    app.save()
    try app.make(.write([2]))
    #expect(app.push?.voided.map(\.number) == [1])
    app.arrive()
    app.poll()
    #expect(app.server.book.notes == [2] && app.box.isEmpty)
  }

  @Test func `its ID is given to no other after a refusal`() throws {
    var app = App()
    try app.make(.forbidden(1), .write([2]))
    #expect(app.push?.mutations.map(\.id.number) == [1, 2])
    try app.restart(unable: [2])
    #expect(app.push?.mutations.map(\.id.number) == [1])
    app.arrive()
    app.poll()
    app.feed(.discarded(MutationTicket(1)))
    app.save()
    try app.make(.write([3]))
    app.arrive()
    app.poll()
    #expect(app.server.book.notes == [3])
    #expect(app.lost == [2], "it was never run")
  }

  @Test func `what was declared void is not taken for run after a restart`() throws {
    var app = App()
    try app.make(.write([1]), .writeIfOpen(2))
    #expect(app.push?.mutations.map(\.id.number) == [1, 2])
    try app.restart(unable: [1, 2])
    try app.make(.write([3]))
    #expect(app.push?.voided.map(\.number) == [1, 2])
    app.arrive()
    app.poll()
    try app.restart(unable: [1, 2])
    try app.make(.write([4]))
    app.arrive()
    app.poll()
    #expect(app.server.book.notes == [3, 4])
    #expect(app.lost == [1, 2])
  }

  @Test func `what the server had run is taken out once it says so`() throws {
    var app = App()
    try app.make(.write([1]))
    app.arrive(isAnswered: false)
    try app.restart(unable: [1])
    #expect(app.lost == [1])
    app.poll()
    #expect(app.lost == [] && app.box.isEmpty)
  }

  @Test func `read again and tried again, it makes no other twice`() throws {
    var app = App()
    try app.make(.write([1]))
    try app.restart(unable: [1])
    try app.make(.write([2]))
    app.arrive(isAnswered: false)
    #expect(app.server.book.notes == [2])
    try app.restart(unable: [])
    #expect(app.box.setAside.map(\.ticket.number) == [1])
    app.feed(.retried(MutationTicket(1)))
    app.save()
    for _ in 0..<3 {
      app.arrive()
      app.poll()
    }
    #expect(app.server.book.notes == [2, 1] && app.box.isEmpty)
  }

  /// Its old ID is another mutation's by then.
  @Test func `under a new name it has no ID, and is for the user to decide once it is read`() throws
  {
    var app = App()
    try app.make(.write([1]))
    #expect(app.push?.mutations.map(\.id.number) == [1])
    try app.restart(unable: [1])
    try app.loseName()
    #expect(app.lost == [1])
    try app.make(.write([2]))
    #expect(app.push?.mutations.map(\.id.number) == [1])
    app.arrive(isAnswered: false)
    try app.restart(unable: [])
    #expect(app.box.setAside.map(\.ticket.number) == [1])
    #expect(app.box.pending.map(\.ticket.number) == [2])
    app.poll()
    #expect(app.server.book.notes == [2])
    #expect(app.box.pending.isEmpty && app.box.setAside.count == 1)
  }

  /// It has no ID, but a copy of it may be at the server.
  @Test func `one that was to be sent again is for the user to decide under a new name`() throws {
    var app = App(delivery: .atMostOnce)
    try app.make(.write([1]))
    let push = try #require(app.push)
    app.feed(.failed(push.id, .timedOut, hasLeft: true))
    app.feed(.app(.backgrounded))
    app.feed(.retried(MutationTicket(1)))
    app.save()
    try app.restart(unable: [1])
    try app.loseName()
    try app.restart(unable: [])
    #expect(app.box.pending.isEmpty && app.box.setAside.map(\.ticket.number) == [1])
  }
}
