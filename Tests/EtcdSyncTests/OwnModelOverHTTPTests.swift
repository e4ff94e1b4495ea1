import TestSupport
import Testing
import UpdateMachine

@testable import EtcdSync

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
