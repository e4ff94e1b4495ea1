import TestSupport
import Testing
import UpdateMachine

@testable import EtcdSync

/// What things cost: a model that an app has written itself, of etcd's keys and values.
private struct Prices: SyncModel, Equatable {
  enum Refusal: Error { case notANumber(EtcdKey) }

  var cents: [EtcdKey: Int] = [:]

  init(snapshot: EtcdSnapshot) throws(Refusal) {
    for (key, entry) in snapshot.entries { try set(key, entry.text) }
  }

  mutating func apply(_ event: EtcdEvent) throws(Refusal) {
    guard let value = event.value else {
      cents[event.key] = nil
      return
    }
    try set(event.key, String(validating: value, as: UTF8.self))
  }

  private mutating func set(_ key: EtcdKey, _ text: String?) throws(Refusal) {
    guard let number = text.flatMap({ Int($0) }) else { throw .notANumber(key) }
    cents[key] = number
  }
}

/// A model of an app's own follows a real etcd.
@Suite(
  .enabled(if: EtcdProcess.isThere, "etcd is not installed (Debian: etcd-server)"),
  .timeLimit(.minutes(2)))
struct OwnModelOverHTTPTests {
  @Test func `a model of an app's own follows, refuses what it cannot read, and goes on`()
    async throws
  {
    try await EtcdProcess.serving { etcd in
      let cluster = try EtcdConnection(to: [etcd.address], settings: EtcdConnection.quick())
      try await cluster.put("price/milk", "120")
      let source = try EtcdSource(cluster, prefix: "price/", for: Prices.self)
      let machine = UpdateMachine(source: source)
      async let following: Void = machine.run()
      /// The first state in which the client is up to date, or not, with these prices.
      func shown(_ cents: [EtcdKey: Int], connected: Bool = true) async {
        for await state in await machine.states()
        where state.model?.cents == cents && (state.freshness.claim == .connected) == connected {
          return
        }
      }
      await shown(["milk": 120])
      try await cluster.put("price/bread", "90")
      await shown(["milk": 120, "bread": 90])
      try await cluster.delete("price/bread")
      await shown(["milk": 120])

      // What it refuses changes nothing that it holds, and it does not claim to be up to date.
      try await cluster.put("price/milk", "dear")
      await shown(["milk": 120], connected: false)
      try await cluster.put("price/milk", "130")
      await shown(["milk": 130])
      await machine.stop()
      await following
    }
  }
}
