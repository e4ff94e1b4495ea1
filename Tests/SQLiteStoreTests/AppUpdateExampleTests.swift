import Foundation
import SyncProtocols
import Testing
import UpdateMachine

@testable import SQLiteStore

/// The first version of the article's model.
private struct FirstPantry: StorableModel, Codable, Equatable {
  typealias Refusal = Never
  var title: String
  init(snapshot: String) { title = snapshot }
  mutating func apply(_ event: String) { title = event }
}

// Article example begins: migrate
/// The second version of a pantry has many titles. Its saved form has another shape, and a number.
private struct Pantry: StorableModel, Codable, Equatable {
  typealias Refusal = Never
  var titles: [String]
  var colour: Int?  // Added later. Forms that lack it can be read all the same.

  static var storedVersion: UInt64 { 2 }

  static func migrate(
    _ rows: RowReader, from version: UInt64
  ) throws(StoredFormError) -> RowReader {
    let old = try FirstPantry(stored: rows)
    do {
      let json = try JSONEncoder().encode(Pantry(snapshot: [old.title]))
      return try rows.replacing(.firstOfModel, with: [(key: [], value: Array(json))])
    } catch {
      throw .damaged(expected: "a pantry of version \(version)")
    }
  }

  init(snapshot: [String]) { titles = snapshot }
  mutating func apply(_ event: String) { titles.append(event) }
}
// Article example ends

/// Tests what the article about updates shows.
@Suite struct AppUpdateExampleTests {
  @Test func `a form of the first version is migrated`() throws {
    let finger = QueueFinger(queue: QueueID("q"), lastEventID: 4)
    let terms = ServerTerms(longDeadline: .seconds(90), lifetime: .seconds(600))
    let old = SavedReplica<FirstPantry, QueueFinger>(
      model: FirstPantry(snapshot: "Milk"), finger: finger, terms: terms)
    var rows = old.rows(since: nil).map { (key: $0.key, value: $0.value ?? []) }
    rows.sort { $0.key < $1.key }
    let new = try SavedReplica<Pantry, QueueFinger>(stored: RowReader(rows))
    #expect(new.model.titles == ["Milk"] && new.finger == finger)
    #expect(throws: StoredFormError.self) {
      try RowReader(rows).replacing(.firstOfModel, with: [([2], []), ([1], [])])
    }
  }

  @Test func `what was set aside can be listed and read`() async throws {
    let shelf = try Shelf()
    let file = try await SQLiteFile.open(at: shelf.path)
    let store = file.store(named: "view")
    let server = LocalClientView(Seats())
    let machine = UpdateMachine(source: server.source(for: Seat.self), store: store)
    async let following: Void = machine.run()
    for await state in await machine.states() where state.freshness.claim == .connected { break }
    let ticket = try await machine.mutate(.take).ticket
    await machine.stored(ticket)
    await machine.stop()
    await following
    let form = try #require(try await store.load())
    try await store.replace(with: form)
    var told: [String] = []
    func print(_ line: String) { told.append(line) }

    // Article example begins: aside
    for lost in await machine.state.unreadable {
      print("\(lost.name ?? "a change") cannot be read: \(lost.reason)")
    }
    for replica in try await file.replicas() where replica.aside > 0 {
      guard let form = try await file.rows(of: replica) else { continue }
      let rows = try RowReader(form.rows)
      let changes = try SavedReplica<ConfirmedView<Seat>, ViewFinger>.changes(in: rows)
      print("\(replica): \(changes?.pending.map(\.change.name) ?? [])")
    }
    // Article example ends

    #expect(told.count == 1)
    #expect(told[0].hasPrefix("view, set aside (1): ["), "\(told)")
    let gone = KeptReplica(name: "view", aside: 9, writtenAt: WallTime(milliseconds: 0))
    #expect(try await file.rows(of: gone) == nil)
    await file.close()
  }
}

private enum Seat: ViewMutation, Storable, Codable {
  case take
  var name: String { "take" }
  var arguments: JSONValue { .null }
  func apply(to view: inout ViewMap<JSONValue>) throws(ChangeRefusal) -> JSONValue { .null }
}

private struct Seats: ViewMutators {
  func run(
    _ name: String, _ arguments: JSONValue, in transaction: inout ViewTransaction<JSONValue>
  ) throws(ChangeRefusal) -> JSONValue { .null }
}
