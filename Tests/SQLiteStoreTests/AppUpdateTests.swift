import Foundation
import Synchronization
import Testing
import UpdateMachine

@testable import SQLiteStore

// What a user did: two changes off line, then an update of the app, whose model has one more
// property. The first version and the second are two models over one server.

/// What the first version of the app can do. The second can do the same.
private enum CardChange: Mutation, Storable, Codable, Equatable {
  case add(String)
  case rename(String, to: String)

  enum Refusal: Error { case missing }

  var name: String {
    switch self {
    case .add: "add"
    case .rename: "rename"
    }
  }

  func apply(to cards: inout [String]) throws(Refusal) {
    switch self {
    case .add(let title): cards.append(title)
    case .rename(let old, let new):
      guard let index = cards.firstIndex(of: old) else { throw .missing }
      cards[index] = new
    }
  }
}

/// A later version: it knows no ``CardChange/rename(_:to:)``, and has another change.
private enum LaterChange: Mutation, Storable, Codable, Equatable {
  case add(String)
  case clear

  var name: String { "\(self)".prefix { $0 != "(" }.description }

  func apply(to cards: inout [String]) throws(Never) {
    switch self {
    case .add(let title): cards.append(title)
    case .clear: cards = []
    }
  }
}

/// What the apps have in common.
private protocol Cards: StorableModel, Codable, Equatable
where
  Snapshot == CardNews, Event == CardNews, Refusal == Never, Lists == NoLists,
  Change: Codable & Equatable, Change.State == [String]
{
  var news: CardNews { get set }
  init(_ news: CardNews)
}

private struct CardNews: Codable, Equatable {
  var titles: [String]
  var client: UInt64
  var last: UInt64
}

extension Cards {
  init(snapshot: CardNews) { self.init(snapshot) }
  mutating func apply(_ event: CardNews) { news = event }
  var client: ClientID? { ClientID(news.client) }
  var confirmation: MutationConfirmation { MutationConfirmation(last: MutationID(news.last)) }
  var state: [String] { news.titles }
}

private struct First: Cards {
  typealias Change = CardChange
  var news: CardNews
  init(_ news: CardNews) { self.news = news }
}

/// The second version has one more property, and no migration.
private struct Second<Change: Mutation & Storable & Codable & Equatable>: Cards
where Change.State == [String] {
  var news: CardNews
  var colour: Int
  init(_ news: CardNews) {
    self.news = news
    colour = 1
  }
}

private struct CardPlace: Finger, Storable {
  var number: Int64
  var log: Int64 { 0 }
  var description: String { "\(number)" }
  init(_ number: Int64) { self.number = number }
  func put(into bytes: inout ByteWriter) { bytes.put(number) }
  init(from bytes: inout ByteReader) throws(StoredFormError) { number = try bytes.take() }
}

private struct CardBatch: EventBatch {
  var news: CardNews?
  var place: Int64
  var count: Int { news == nil ? 0 : 1 }
  func event(at index: Int) -> CardNews? { news }
}

private enum CardSync: SyncProtocol {
  static func advance(_ finger: CardPlace, over batch: CardBatch) -> SyncAdvance<CardPlace> {
    batch.place > finger.number ? .next(CardPlace(batch.place), first: 0) : .seen
  }
}

/// A server that runs each mutation once, and loses a push's answer when it is told to.
private final class CardServer: Sendable {
  struct State {
    var titles: [String] = []
    /// Who registered last, and who has registered, in order.
    var client: UInt64 = 0
    var names: [UInt64] = []
    /// The last mutation ID of each client that has sent anything.
    var lasts: [UInt64: UInt64] = [:]
    var place: Int64 = 1
    var isReachable = true
    var losesAnswers = false
    /// The IDs that pushes have declared void.
    var voided: Set<UInt64> = []
  }
  let state = Mutex(State())

  func news(_ state: State) -> CardNews {
    CardNews(titles: state.titles, client: state.client, last: state.lasts[state.client] ?? 0)
  }

  var titles: [String] { state.withLock { $0.titles } }
}

private struct CardSource<Model: Cards>: SyncSource {
  typealias Sync = CardSync
  let server: CardServer

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<CardNews, CardPlace> {
    let found = server.state.withLock { state -> CardServer.State? in
      guard state.isReachable else { return nil }
      state.client = client.number
      state.names.append(client.number)
      return state
    }
    guard let found else { throw .unreachable }
    return Registered(
      snapshot: server.news(found), finger: CardPlace(found.place),
      terms: ServerTerms(longDeadline: .seconds(90), lifetime: .seconds(600)))
  }

  func poll(after finger: CardPlace, waits: Bool) async throws(SyncFailure) -> CardBatch {
    for _ in 0..<(waits ? 10_000 : 1) {
      let found = server.state.withLock { $0.isReachable ? $0 : nil }
      guard let found else { throw .unreachable }
      if found.place > finger.number {
        return CardBatch(news: server.news(found), place: found.place)
      }
      if waits { await Task.yield() }
      if Task.isCancelled { break }
    }
    return CardBatch(news: nil, place: finger.number)
  }

  func release(_ log: Int64) async {}

  func push(
    _ push: PushRequest<Model.Change>, at finger: CardPlace?
  ) async throws(PushFailure) -> PushAnswer {
    let isAnswered = server.state.withLock { state -> Bool? in
      guard state.isReachable else { return nil }
      state.voided.formUnion(push.voided.map(\.number))
      var last = state.lasts[push.client.number] ?? 0
      for item in push.mutations {
        while state.voided.contains(last + 1) { last += 1 }
        guard item.id.number == last + 1 else { continue }
        do { _ = try item.change.apply(to: &state.titles) } catch { continue }
        last = item.id.number
      }
      state.lasts[push.client.number] = last
      state.place += 1
      return !state.losesAnswers
    }
    guard let isAnswered else { throw PushFailure(.unreachable, hasLeft: false) }
    guard isAnswered else { throw PushFailure(.unreachable) }
    return .accepted
  }
}

@Suite struct AppUpdateTests {
  private let server = CardServer()

  /// Runs a version of the app on the shelf until `end` is true of its state, then stops it.
  private func run<Model: Cards>(
    _ version: Model.Type, _ shelf: Shelf, as client: ClientID? = nil,
    _ body: (UpdateMachine<CardSource<Model>>) async throws -> Void = { _ in },
    until end: (ReplicaState<Model>) -> Bool
  ) async throws -> (state: ReplicaState<Model>, reports: [DriverReport]) {
    let file = try await SQLiteFile.open(at: shelf.path)
    let reports = Reports()
    let machine = UpdateMachine(
      source: CardSource<Model>(server: server), store: file.store(named: "cards"),
      client: client, reporter: { reports.note($0) })
    async let following: Void = machine.run()
    for await state in await machine.states() where state.freshness.claim != .unknown { break }
    try await body(machine)
    var last = await machine.state
    for await state in await machine.states() {
      last = state
      if end(state) { break }
    }
    await machine.stop()
    await following
    await file.close()
    return (last, reports.all)
  }

  /// The first version, with two changes that are saved and have not left.
  private func twoChangesOffline(_ shelf: Shelf) async throws {
    server.state.withLock { $0.titles = ["Milk"] }
    _ = try await run(First.self, shelf) { machine in
      for await state in await machine.states() where state.freshness.claim == .connected { break }
      self.server.state.withLock { $0.isReachable = false }
      _ = try await machine.mutate(.add("Tea"))
      let last = try await machine.mutate(.rename("Milk", to: "Soy milk"))
      #expect(await machine.stored(last.ticket))
    } until: {
      $0.pending.count == 2
    }
  }

  @Test func `an update whose model has one more property keeps the user's changes`() async throws {
    let shelf = try Shelf()
    try await twoChangesOffline(shelf)
    // Off line, the new version has no state. But it knows what the user did.
    let before = try await run(Second<CardChange>.self, shelf) { $0.pending.count == 2 }
    #expect(before.state.model == nil && before.state.view == nil)
    #expect(before.state.pending.map(\.change) == [.add("Tea"), .rename("Milk", to: "Soy milk")])
    #expect(before.reports.count == 1)
    let report = try #require(before.reports.first)
    #expect("\(report)".contains("colour: missing"), "\(report)")
    // Killed before the first snapshot, it starts again, and now there is a network.
    server.state.withLock { $0.isReachable = true }
    let after = try await run(Second<CardChange>.self, shelf) {
      $0.pending.isEmpty && $0.freshness.claim == .connected
    }
    #expect(after.state.view == ["Soy milk", "Tea"])
    #expect(server.titles == ["Soy milk", "Tea"])
    #expect(after.state.setAside.isEmpty && after.state.unreadable.isEmpty)
    // What the old version had written is kept, and the next start reads the new form.
    let file = try await SQLiteFile.open(at: shelf.path)
    #expect(try await file.replicas().map(\.aside) == [0, 1])
    await file.close()
    let again = try await run(Second<CardChange>.self, shelf) { $0.model != nil }
    #expect(again.reports.isEmpty)
  }

  @Test func `a change that the update cannot read is set aside, and the others go on`()
    async throws
  {
    let shelf = try Shelf()
    try await twoChangesOffline(shelf)
    server.state.withLock { $0.isReachable = true }
    let after = try await run(Second<LaterChange>.self, shelf) {
      $0.pending.isEmpty && $0.freshness.claim == .connected && $0.view == ["Milk", "Tea"]
    }
    #expect(server.titles == ["Milk", "Tea"])
    let lost = try #require(after.state.unreadable.first)
    #expect(after.state.unreadable.count == 1)
    #expect(lost.name == "rename")
    #expect(String(decoding: lost.bytes.dropFirst(), as: UTF8.self).contains("Soy milk"))
    #expect("\(lost.reason)".contains("expected") && !"\(lost.reason)".contains("Soy"))
    // A version that can read it again finds it as it was, and it is made at last.
    let healed = try await run(Second<CardChange>.self, shelf) {
      $0.pending.isEmpty && $0.view == ["Soy milk", "Tea"]
    }
    #expect(healed.state.unreadable.isEmpty)
    #expect(server.titles == ["Soy milk", "Tea"])
  }

  @Test func `an unreadable change can be given up, and is gone for good`() async throws {
    let shelf = try Shelf()
    try await twoChangesOffline(shelf)
    server.state.withLock { $0.isReachable = true }
    _ = try await run(Second<LaterChange>.self, shelf) { machine in
      for await state in await machine.states() where state.pending.isEmpty && state.view != nil {
        break
      }
      let lost = try #require(await machine.state.unreadable.first)
      #expect(await machine.state(of: lost.ticket) == .setAside)
      #expect(await machine.discard(lost.ticket))
      #expect(await machine.state(of: lost.ticket) == .discarded)
      #expect(await machine.stored(lost.ticket))
    } until: {
      $0.unreadable.isEmpty && $0.freshness.claim == .connected
    }
    let next = try await run(Second<CardChange>.self, shelf) { $0.model != nil }
    #expect(next.state.unreadable.isEmpty && next.state.pending.isEmpty)
    #expect(server.titles == ["Milk", "Tea"])
  }

  @Test func `what had left and cannot be read holds up nothing and is not made twice`()
    async throws
  {
    let shelf = try Shelf()
    server.state.withLock { $0.titles = ["Milk"] }
    _ = try await run(First.self, shelf) { machine in
      for await state in await machine.states() where state.freshness.claim == .connected { break }
      self.server.state.withLock { $0.losesAnswers = true }
      _ = try await machine.mutate(.rename("Milk", to: "Soy milk"))
      while self.server.titles != ["Soy milk"] { await Task.yield() }
      self.server.state.withLock { $0.isReachable = false }
    } until: {
      $0.pending.isEmpty || $0.freshness.claim != .connected
    }
    server.state.withLock {
      $0.isReachable = true
      $0.losesAnswers = false
    }
    let after = try await run(Second<LaterChange>.self, shelf) { machine in
      for await state in await machine.states() where state.view != nil { break }
      _ = try await machine.mutate(.add("Tea"))
    } until: {
      $0.pending.isEmpty && $0.view == ["Soy milk", "Tea"]
    }
    #expect(server.titles == ["Soy milk", "Tea"])
    #expect(after.state.unreadable.isEmpty, "the server has it: it counts its ID")
  }

  // MARK: The client's name

  /// Adds a card, and waits until it is acknowledged.
  private func add(
    _ title: String, _ shelf: Shelf, as client: ClientID? = nil, thenLogsOut: Bool = false
  ) async throws -> [DriverReport] {
    let reports = try await run(First.self, shelf, as: client) { machine in
      for await state in await machine.states() where state.freshness.claim == .connected { break }
      let ticket = try await machine.mutate(.add(title)).ticket
      #expect(await machine.acknowledged(ticket) == .acknowledged)
    } until: { _ in
      true
    }.reports
    guard thenLogsOut else { return reports }
    let file = try await SQLiteFile.open(at: shelf.path)
    try await UpdateMachine(
      source: CardSource<First>(server: server), store: file.store(named: "cards")
    ).logOut()
    await file.close()
    return reports
  }

  @Test func `the client's name lasts as long as the store, and ends with a log-out`() async throws
  {
    let (shelf, other) = (try Shelf(), try Shelf())
    _ = try await add("a", shelf)
    server.state.withLock { $0.place += 1 }
    // An update drops the model, so that the client registers again: under its name.
    _ = try await run(Second<CardChange>.self, shelf) { $0.model != nil }
    _ = try await add("b", shelf, thenLogsOut: true)
    _ = try await add("c", shelf)
    _ = try await add("d", other)
    let names = server.state.withLock { $0.names }
    #expect(names.count == 4 && !names.contains(0))
    #expect(names.allSatisfy { $0 < 1 << 53 }, "a JSON number of any language holds it")
    #expect(Set(names[0..<2]).count == 1, "\(names)")
    #expect(Set(names).count == 3, "\(names)")
    #expect(server.titles == ["a", "b", "c", "d"])
  }

  @Test func `a name that an app keeps over a log-out is told to be another's`() async throws {
    let shelf = try Shelf()
    let name = ClientID(7)
    #expect(try await add("a", shelf, as: name, thenLogsOut: true) == [])
    let reports = try await add("b", shelf, as: name)
    #expect(reports == [.nameShared(name)])
    #expect(server.state.withLock { $0.names } == [7, 7])
    #expect(server.titles == ["a", "b"], "the IDs that the server has run are skipped")
  }
}
