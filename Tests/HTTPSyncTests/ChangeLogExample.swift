// Article example begins: an app of a server with a log of changes
import Foundation
import HTTPSync
import SyncProtocols
import UpdateMachine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What the app holds: the things to buy. An event is one thing more.
struct ShoppingList: SyncModel {
  typealias Refusal = Never
  var items: [String]
  init(snapshot: [String]) { items = snapshot }
  mutating func apply(_ event: String) { items.append(event) }
}

/// Asks the app's server, which answers in JSON.
struct ShoppingSource: SyncSource {
  typealias Model = ShoppingList
  typealias Sync = ChangeLog<String>

  var site: URL
  var session = URLSession.shared

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<[String], ChangeLogPlace> {
    let snapshot: ChangeLogSnapshot<[String]> = try await ask("list")
    // A poll waits for 50 s at most, and a change is kept for 30 days.
    let terms = ServerTerms(longDeadline: .seconds(60), lifetime: .seconds(30 * 86_400))
    return snapshot.registered(terms: terms)
  }

  func poll(
    after place: ChangeLogPlace, waits: Bool
  ) async throws(SyncFailure) -> ChangeLogBatch<String> {
    try await ask("changes?epoch=\(place.epoch)&after=\(place.number)&waits=\(waits)")
  }

  func release(_ epoch: ChangeLogEpoch) async {}

  private func ask<Answer: Decodable>(_ path: String) async throws(SyncFailure) -> Answer {
    do {
      let (data, response) = try await session.data(from: URL(string: path, relativeTo: site)!)
      if let failure = SyncFailure(response) { throw failure }
      return try JSONDecoder().decode(Answer.self, from: data)
    } catch {
      throw SyncFailure(error)
    }
  }
}

/// Shows the list and whether it is up to date, until the task is cancelled.
func follow(_ source: ShoppingSource) async {
  let machine = UpdateMachine(source: source)
  async let following: Void = machine.run()
  for await state in await machine.states() {
    print(state.model?.items ?? [], state.freshness.claim)
  }
  await following
}
// Article example ends
