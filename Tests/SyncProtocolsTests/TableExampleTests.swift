import SyncProtocols
import Testing
import UpdateMachine

/// Checks that the article about TableSync does what it says.
@Suite struct TableExampleTests {
  @Test func `the article's items are shown, and a late change is refused`() async throws {
    var shown: [String] = []
    func show(_ titles: [String]) { shown.append(titles.joined(separator: ", ")) }
    func show(_ reason: MutationSetAside<TableChange>.Reason?) {
      if case .refused(let code)? = reason { shown.append("refused: \(code.text)") }
    }

    // Article example begins: tables
    let server = LocalTableSync(Shopping.self)
    let (groceries, milk) = (TableRowKey(0, 1), TableRowKey(1, 10))
    try await server.change(.insert(groceries, parent: nil, ["name": "Groceries"]))
    try await server.change(.insert(milk, parent: groceries.id, ["title": "Milk"]))

    let machine = UpdateMachine(source: server.source())
    async let following: Void = machine.run()
    for await state in await machine.states() where state.freshness.claim == .connected { break }

    // Throws while not connected. Nothing is shown before the server has told everybody.
    _ = try await machine.mutate(.set(milk, ["title": "Oat milk"]))
    let items = TableWindow.children(of: groceries, limit: 50)
    for await entries in await machine.changes(of: items) {
      let rows = await machine.state.view?.rows
      let titles = entries.compactMap { rows?[$0.row]?.content?.fields["title"]?.string }
      show(titles)  // Perhaps Milk first, then Oat milk.
      if titles == ["Oat milk"] { break }
    }

    // Somebody else deletes the row. A change that comes later is refused, and set aside.
    try await server.change(.delete(milk))
    let late = try await machine.mutate(.set(milk, ["title": "Soy milk"]))
    if await machine.acknowledged(late.ticket) == .setAside {
      show(await machine.state.setAside.first?.reason)  // "deleted"
      await machine.discard(late.ticket)  // Until then, no other change is sent.
    }
    await machine.stop()
    // Article example ends

    await following
    #expect(shown.suffix(2) == ["Oat milk", "refused: deleted"])
    #expect(await server.rows.map(\.key) == [groceries])
    #expect(await machine.state.setAside.isEmpty)
  }

  @Test(arguments: [1, 2, 100] as [Int])
  func `the article's source follows a server of its own`(pageMaximum: Int) async throws {
    let server = ShopServer(pageMaximum: pageMaximum)
    try await server.change(.insert(TableRowKey(0, 1), parent: nil, [:]))
    for id in 1...5 as ClosedRange<Int64> {
      try await server.change(.insert(TableRowKey(1, id), parent: 1, ["title": "?"]))
    }
    let machine = UpdateMachine(source: ShopSource(server: server))
    async let following: Void = machine.run()
    await wait(for: machine) { $0.freshness.claim == .connected }
    #expect(await machine.state.view?.rows.count == 6)

    let milk = TableRowKey(1, 1)
    let made = try await machine.mutate(.set(milk, ["title": "Milk"]))
    await wait(for: machine) { $0.view?.rows[milk]?.content?.fields == ["title": "Milk"] }
    #expect(await machine.acknowledged(made.ticket) == .acknowledged)

    // The server loses all subscriptions, and something changes meanwhile.
    await server.restart()
    try await server.change(.delete(milk))
    await wait(for: machine) { $0.view?.rows.count == 5 }
    #expect(await server.subscriptionCount == 1)
    await machine.stop()
    await following
  }

  private func wait(
    for machine: UpdateMachine<ShopSource>,
    until isRight: (ReplicaState<TableModel<Shopping>>) -> Bool
  ) async {
    for await state in await machine.states() where isRight(state) { return }
    Issue.record("the machine went away")
  }
}

// Article example begins: table schema
/// The app's tables: lists, and the items of each list.
enum Shopping: TableSchema {
  static var tableCount: UInt8 { 2 }
}
// Article example ends

// Article example begins: table source
/// Follows the tables of a server of your own.
struct ShopSource: SyncSource {
  typealias Model = TableModel<Shopping>
  typealias Sync = TableSync

  let server: ShopServer  // Your networking code, with a method for each of four requests.

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<TableSnapshot, TableFinger> {
    let snapshot = TableSnapshot(
      client: client, subscription: try await server.subscribe(), tableCount: 2)
    return Registered(
      snapshot: snapshot, finger: snapshot.finger, terms: .tableSync(), isComplete: false)
  }

  func poll(after finger: TableFinger, waits: Bool) async throws(SyncFailure) -> TableBatch {
    if let answer = try await ask(TableRequest(after: finger), waits: waits) { return answer }
    // The server does not have our subscription any more.
    let request = TableRequest(after: finger, in: try await server.subscribe())
    guard let answer = try await ask(request, waits: false) else { throw .serverFault }
    return answer
  }

  private func ask(
    _ request: TableRequest, waits: Bool
  ) async throws(SyncFailure) -> TableBatch? {
    let subscription = request.subscription
    let reply: ShopServer.Reply?
    switch request.want {
    case .rows(let table, let stamp, let id):
      reply = try await server.rows(of: table, from: stamp, afterID: id, for: subscription)
    case .notifications(let heard):
      reply = try await server.notifications(after: heard, for: subscription, waits: waits)
    }
    return reply.map { request.answer($0.rows, isLast: $0.isLast, at: $0.time) }
  }

  func release(_ log: TableLog) async {}

  func push(
    _ push: PushRequest<TableChange>, at finger: TableFinger?
  ) async throws(PushFailure) -> PushAnswer {
    do throws(SyncFailure) {
      return try await server.make(MutationPush(push))
    } catch {
      throw PushFailure(error)
    }
  }
}
// Article example ends

/// The networking code of an app, and the server behind it. It answers every request at once.
actor ShopServer {
  struct Reply {
    var rows: [SyncedRow]
    var isLast: Bool
    var time: TableStamp
  }

  private var server = TableServer(tableCount: 2)
  private var now = Moment(milliseconds: 1000)

  init(pageMaximum: Int) {
    server.pageMaximum = pageMaximum
    server.notificationMaximum = pageMaximum
  }

  var subscriptionCount: Int { server.subscriptionIDs.count }

  func change(_ change: TableChange) throws(ChangeRefusal) { try server.make(change, at: now) }

  func restart() { server.restart() }

  func subscribe() throws(SyncFailure) -> UInt64 {
    server.register(ClientID(0), at: now).subscription
  }

  func rows(
    of table: UInt8, from stamp: TableStamp?, afterID id: Int64?, for subscription: UInt64
  ) throws(SyncFailure) -> Reply? {
    guard server.subscriptionIDs.contains(subscription) else { return nil }
    let rows = server.allRows.filter { row in
      guard row.key.table == table else { return false }
      guard let stamp else { return true }
      return row.stamp > stamp || row.stamp == stamp && row.key.id > id ?? .min
    }
    .sorted { ($0.stamp, $0.key.id) < ($1.stamp, $1.key.id) }
    let isLast = rows.count <= server.pageMaximum
    return Reply(rows: Array(rows.prefix(server.pageMaximum)), isLast: isLast, time: time)
  }

  func notifications(
    after heard: UInt64, for subscription: UInt64, waits: Bool
  ) async throws(SyncFailure) -> Reply? {
    guard server.subscriptionIDs.contains(subscription) else { return nil }
    if waits { now = now + .milliseconds(1) }
    let finger = TableFinger(
      subscription: subscription, watermarks: [.distantPast, .distantPast],
      progress: .draining(heard))
    guard case .notifications(_, let rows, let isAll) = server.poll(finger, at: now).content else {
      return nil
    }
    return Reply(rows: rows, isLast: isAll, time: time)
  }

  func make(_ push: MutationPush) throws(SyncFailure) -> PushAnswer { server.push(push, at: now) }

  private var time: TableStamp { TableStamp(milliseconds: now.milliseconds) }
}
