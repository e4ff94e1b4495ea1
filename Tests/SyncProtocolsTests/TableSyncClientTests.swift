import SyncProtocols
import Testing
import UpdateMachine

/// A real client, on a clock that jumps to whatever is due. The test is its server's network.
struct TableClient {
  typealias Client = SyncClient<TableModel<Tasks>, TableSync>

  private(set) var client: Client
  private(set) var poll: (id: RequestID, finger: TableFinger?, waits: Bool)?
  private(set) var push: PushRequest<TableChange>?
  private var timers: [TimerArm] = []

  init(at now: Moment) {
    var settings = ClientSettings()
    settings.hasStore = false
    client = Client(incarnation: Incarnation(1), settings: settings)
    hear(.app(.started(foreground: true)), at: now)
  }

  var shown: [SyncedRow] { client.view?.rows.map(\.value) ?? [] }

  /// Goes on until a poll waits for news.
  mutating func follow(_ desk: inout TableDesk) {
    for _ in 0..<100 {
      guard let poll else {
        fire(&desk)
        continue
      }
      if poll.waits, let finger = poll.finger, !desk.server.hasNews(for: finger) { return }
      answer(&desk)
    }
  }

  /// Answers the poll or the register, with news or without.
  mutating func answer(_ desk: inout TableDesk) {
    guard let (id, finger, _) = poll else { return }
    poll = nil
    if let finger {
      hear(.batchArrived(id, desk.server.poll(finger, at: desk.now)), at: desk.now)
    } else {
      let snapshot = desk.server.register(ClientID(1), at: desk.now)
      hear(
        .snapshotArrived(
          id, snapshot, finger: snapshot.finger, terms: .tableSync(), isComplete: false),
        at: desk.now)
    }
  }

  /// The next timer fires.
  mutating func fire(_ desk: inout TableDesk) {
    guard let due = timers.min(by: { $0.range.latest < $1.range.latest }) else { return }
    timers.removeAll { $0.timer == due.timer }
    desk.now = max(desk.now, due.range.latest)
    hear(.fired(due.timer), at: desk.now)
  }

  mutating func make(
    _ change: TableChange, at now: Moment
  ) throws(MutationError<Never>) -> MutationTicket {
    let made = try client.mutate(change, at: now)
    perform(made.effects)
    return made.ticket
  }

  /// The push arrives. Its answer may be lost.
  mutating func deliverPush(_ desk: inout TableDesk, isAnswered: Bool = true) -> PushAnswer? {
    guard let push else { return nil }
    self.push = nil
    let answer = desk.server.push(MutationPush(push), at: desk.now)
    if isAnswered {
      hear(.pushAnswered(push.id, answer), at: desk.now)
    } else {
      hear(.failed(push.id, .timedOut, hasLeft: true), at: desk.now)
    }
    return answer
  }

  mutating func hear(_ input: Client.Input, at now: Moment) {
    perform(client.handle(input, at: now))
  }

  private mutating func perform(_ effects: Client.Effects) {
    for effect in effects.list {
      switch effect {
      case .cancel(let id): if id == poll?.id { poll = nil }
      case .disarm(let id): timers.removeAll { $0.timer == id }
      case .register(let id): poll = (id, nil, false)
      case .poll(let id, let finger, let waits): poll = (id, finger, waits)
      case .push(let request, _): push = request
      case .arm(let id, let range): timers.append(TimerArm(timer: id, range: range))
      case .report, .release, .load, .save, .read, .erase, .fetch: break
      }
    }
  }
}

struct TableSyncClientTests {
  @Test func `a client is connected once all is fetched and drained, and not before`() throws {
    var desk = try TableDesk.filled()
    var client = TableClient(at: desk.now)
    for _ in 0..<4 {
      while client.poll == nil { client.fire(&desk) }
      client.answer(&desk)
      #expect(client.client.freshness(at: desk.now).upToDateAsOf == nil)
      #expect(client.shown.isEmpty)
    }
    client.follow(&desk)
    #expect(client.client.freshness(at: desk.now).claim == .connected)
    #expect(client.shown == desk.shown)
  }

  @Test func `silence beyond the ping's deadline is an outage, and a ping is not`() throws {
    var desk = try TableDesk.filled()
    var client = TableClient(at: desk.now)
    client.follow(&desk)
    for _ in 0..<5 {
      desk.now = desk.now + .seconds(20)
      client.answer(&desk)
      client.follow(&desk)
      #expect(client.client.freshness(at: desk.now).claim == .connected)
    }
    let lastHeard = desk.now
    while client.poll?.waits == true { client.fire(&desk) }
    #expect(desk.now - lastHeard == .seconds(30))
    while client.client.freshness(at: desk.now).claim == .connected { client.fire(&desk) }
    #expect(desk.now - lastHeard <= .seconds(60))
    client.follow(&desk)
    #expect(client.client.freshness(at: desk.now).claim == .connected)
  }

  @Test func `a change shows nothing before its notification, for its maker too`() throws {
    var desk = try TableDesk.filled()
    var client = TableClient(at: desk.now)
    client.follow(&desk)
    let before = client.shown
    _ = try client.make(.set(session(100), fields("day", 12)), at: desk.now)
    #expect(client.shown == before)
    #expect(client.deliverPush(&desk) == .accepted)
    #expect(client.shown == before)
    client.follow(&desk)
    #expect(client.shown == desk.shown && client.shown != before)
    client.answer(&desk)  // A ping, to a poll that left after the push was answered.
    #expect(client.client.pending.isEmpty)
  }

  @Test func `a change can be made only while connected`() throws {
    var desk = try TableDesk.filled()
    var client = TableClient(at: desk.now)
    let change = TableChange.set(session(100), fields("day", 12))
    #expect(throws: MutationError<Never>.nothingHeld) { try client.make(change, at: desk.now) }
    client.follow(&desk)
    _ = try client.make(change, at: desk.now)
    #expect(client.client.pending.count == 1)
    desk.now = desk.now + .minutes(10)  // Nothing was heard for so long.
    #expect(throws: MutationError<Never>.notConnected) { try client.make(change, at: desk.now) }
    #expect(client.client.pending.count == 1)
  }

  @Test func `the server refuses what is impossible, with a code`() throws {
    let impossible: [(TableChange, String)] = [
      (.insert(node(1), parent: nil, fields("day", 1)), "taken"),
      (.insert(session(110), parent: 10, fields("day", 1)), "taken"),
      (.insert(action(12), parent: 7, fields("day", 1)), "unknown"),
      (.insert(node(7), parent: 1, fields("day", 1)), "no-parent"),
      (.insert(TableRowKey(9, 1), parent: nil, fields("day", 1)), "unknown"),
      (.set(action(11), fields("day", 1)), "deleted"), (.set(node(7), fields("day", 1)), "unknown"),
      (.move(action(10), parent: 3), "deleted"), (.move(node(1), parent: 2), "no-parent"),
      (.delete(session(110)), "deleted"), (.delete(node(3)), "deleted"),
    ]
    for (change, code) in impossible {
      var desk = try TableDesk.filled()
      try desk.insert(node(3))
      try desk.make(.delete(node(3)), .delete(action(11)))
      var client = TableClient(at: desk.now)
      client.follow(&desk)
      let before = desk.server.allRows
      _ = try client.make(change, at: desk.now)
      let refusal = MutationRefusal(MutationID(1), RejectionCode(code))
      #expect(client.deliverPush(&desk) == .refused(refusal), "\(change)")
      #expect(desk.server.allRows == before && client.client.setAside.count == 1)
    }
  }

  @Test func `a change whose answer is lost is not sent again by itself`() throws {
    var desk = try TableDesk.filled()
    var client = TableClient(at: desk.now)
    client.follow(&desk)
    let ticket = try client.make(.set(session(100), fields("day", 12)), at: desk.now)
    _ = client.deliverPush(&desk, isAnswered: false)
    for _ in 0..<10 {
      client.follow(&desk)
      desk.now = desk.now + .seconds(20)
      client.answer(&desk)
    }
    #expect(client.push == nil && client.shown == desk.shown)
    #expect(client.client.pending.map(\.ticket) == [ticket])
    client.hear(.mutation(.discarded(ticket)), at: desk.now)
    #expect(client.client.pending.isEmpty)
  }

  @Test func `two devices change one item: one order at the server, and equal ends`() throws {
    var desk = try TableDesk.filled()
    var one = TableClient(at: desk.now)
    var other = TableClient(at: desk.now)
    one.follow(&desk)
    other.follow(&desk)
    _ = try one.make(.set(session(100), fields("day", 12)), at: desk.now)
    _ = try other.make(.set(session(100), fields("day", 13)), at: desk.now)
    #expect(other.deliverPush(&desk) == .accepted)
    #expect(one.deliverPush(&desk) == .accepted)
    one.follow(&desk)
    other.follow(&desk)
    #expect(one.shown == desk.shown && other.shown == desk.shown)
    #expect(desk.shown.last { $0.key == session(100) }?.content?.fields["day"] == 12)
  }

  @Test func `a change travels and is saved as it was made`() throws {
    for change in [
      TableChange.insert(action(7), parent: 1, fields("day", 1)),
      .insert(action(-7), parent: nil, fields("day", 1)), .set(node(.max), fields("day", .min)),
      .move(session(1), parent: nil), .move(session(1), parent: 2), .delete(node(1)),
    ] {
      #expect(TableChange(name: change.name, arguments: .object(change.arguments)) == change)
      #expect(try TableChange(storedBytes: change.storedBytes) == change)
    }
    #expect(TableChange(name: "set", arguments: ["table": 0, "id": 1]) == nil)
    #expect(TableChange(name: "move", arguments: ["table": 256, "id": 1]) == nil)
    #expect(TableChange(name: "drop", arguments: ["table": 0, "id": 1]) == nil)
  }
}

/// What a server may send, and no good one does.
struct TableSyncBadAnswerTests {
  static func row(_ key: TableRowKey, at stamp: Int64, version: UInt64 = 1) -> SyncedRow {
    SyncedRow(
      key, stamp: TableStamp(milliseconds: stamp), version: version,
      content: SyncedRow.Content(parent: nil, fields: fields("day", 1)))
  }

  static func page(
    _ table: UInt8, _ rows: [SyncedRow], isLast: Bool = true, from stamp: Int64 = .min,
    subscription: UInt64 = 1, page: TablePageEnd? = nil
  ) -> TableBatch {
    TableBatch(
      subscription: subscription, asOf: TableStamp(milliseconds: 50),
      content: .page(
        TableFetch(table: table, page: page), from: TableStamp(milliseconds: stamp), rows,
        isLast: isLast))
  }

  static func notifications(
    after number: UInt64, _ rows: [SyncedRow], isAll: Bool = true, subscription: UInt64 = 1,
    asOf stamp: Int64 = 50
  ) -> TableBatch {
    TableBatch(
      subscription: subscription, asOf: TableStamp(milliseconds: stamp),
      content: .notifications(after: number, rows, isAll: isAll))
  }

  static func finger(_ progress: TableProgress) -> TableFinger {
    TableFinger(
      subscription: 1,
      watermarks: [40, 40, 40].map { TableStamp(milliseconds: $0) }, progress: progress)
  }

  @Test func `an answer that does not follow is a gap`() {
    let fetching = Self.finger(.fetching(TableFetch(table: 1)))
    let following = Self.finger(.following(5, isSettled: true))
    let (one, two) = (Self.row(action(1), at: 45), Self.row(action(2), at: 45))
    let end = TablePageEnd(began: one.stamp, stamp: one.stamp, id: 1)
    let gaps = [
      (fetching, Self.page(0, [])), (fetching, Self.page(2, [])),
      (fetching, Self.page(1, [two, one], from: 40)),
      (fetching, Self.page(1, [one, one], from: 40)),
      (fetching, Self.page(1, [Self.row(node(1), at: 45)])),
      (fetching, Self.page(1, [one], from: 41)),  // Rows at the watermark may be missing.
      (fetching, Self.page(1, [one], from: 46)), (fetching, Self.page(1, [two], page: end)),
      (fetching, Self.page(1, [one], subscription: 2)),
      (fetching, Self.page(1, [], isLast: false)),  // Bug 75: for ever.
      (fetching, Self.notifications(after: 0, [])), (following, Self.page(1, [one])),
      (following, Self.notifications(after: 6, [one])),
      // Bug 38: the notifications of a subscription that is gone.
      (following, Self.notifications(after: 5, [one], subscription: 2)),
      (following, Self.notifications(after: 5, [two, Self.row(action(1), at: 44)])),
      (following, Self.notifications(after: 5, [Self.row(TableRowKey(3, 1), at: 45)])),
    ]
    for (finger, batch) in gaps { #expect(TableSync.advance(finger, over: batch) == .gap) }
  }

  @Test func `bug 41: notifications that were taken are not taken again`() {
    let finger = Self.finger(.following(5, isSettled: true))
    let rows = (1...3).map { Self.row(action($0), at: 45) }
    func advance(_ number: UInt64, _ count: Int, isAll: Bool) -> SyncAdvance<TableFinger> {
      TableSync.advance(
        finger, over: Self.notifications(after: number, Array(rows.prefix(count)), isAll: isAll))
    }
    var next = finger
    next.progress = .following(6, isSettled: false)
    next.watermarks = next.watermarks.map { _ in TableStamp(milliseconds: 50) }
    #expect(advance(3, 3, isAll: true) == .next(next, first: 2))
    #expect(advance(2, 3, isAll: true) == .seen)
    #expect(advance(1, 3, isAll: true) == .incomplete)  // It was read before our last one.
    #expect(advance(2, 3, isAll: false) == .incomplete)
    #expect(advance(5, 0, isAll: true) == .seen)
    next = finger
    next.progress = .draining(6)
    next.watermarks[1] = TableStamp(milliseconds: 45)
    #expect(advance(3, 3, isAll: false) == .next(next, first: 2, isComplete: false))
  }

  @Test func `an impossible row is refused, and changes nothing`() throws {
    let snapshot = TableSnapshot(client: ClientID(1), subscription: 1, tableCount: 3)
    var model = try TableModel<Tasks>(snapshot: snapshot)
    let known = Self.row(action(1), at: 1, version: 2)
    try model.apply(.row(known))
    var gone = Self.row(action(2), at: 1, version: 2)
    gone.content = nil
    try model.apply(.row(gone))
    var child = Self.row(node(1), at: 1)
    child.content?.parent = 2
    let before = model
    for (row, refusal) in [
      (Self.row(action(1), at: 2, version: 2), TableRefusal.contradiction(action(1))),
      (Self.row(action(2), at: 2, version: 3), .revived(action(2))),
      (Self.row(TableRowKey(3, 1), at: 2), .misplaced(TableRowKey(3, 1))),
      (child, .misplaced(node(1))),
    ] {
      #expect(throws: refusal) { try model.apply(.row(row)) }
      #expect(model == before)
    }
    try model.apply(.row(Self.row(action(2), at: 1, version: 1)))  // Bug 56: old news.
    #expect(model == before)
    #expect(throws: TableRefusal.tableCount(2)) {
      try TableModel<Tasks>(
        snapshot: TableSnapshot(client: ClientID(1), subscription: 1, tableCount: 2))
    }
  }

  @Test func `a register replaces what is shown in one step, and only for the same client`() throws
  {
    var desk = try TableDesk.filled()
    var client = TableFollower()
    try client.follow(&desk)
    let before = client.shown
    try desk.make(.delete(node(1)))
    client.finger = nil
    for _ in 0..<4 {
      try client.ask(&desk)
      #expect(client.shown == before)
    }
    try client.follow(&desk)
    #expect(client.shown == desk.shown)
    let other = TableSnapshot(client: ClientID(2), subscription: 9, tableCount: 3)
    #expect(try TableModel(snapshot: other, replacing: client.model).state == TableState())
  }
}
