import EtcdSync
import SyncProtocols
import TestSupport
import Testing
import UpdateMachine

/// Tests the app of the article as an app would run it: without what is internal.
@Suite(
  .enabled(if: EtcdProcess.isThere, "etcd is not installed (Debian: etcd-server)"),
  .timeLimit(.minutes(2)))
struct ShoppingExampleOverHTTPTests {
  @Test func `what one adds another buys`() async throws {
    try await EtcdProcess.serving { etcd in
      let cluster = try EtcdConnection(to: [etcd.address])
      let source = try EtcdSource(cluster, prefix: "shopping/", for: EtcdModel<Errand>.self)
      let machine = UpdateMachine(source: source)
      async let following: Void = machine.run()
      for await state in await machine.states() where state.view != nil { break }
      for thing in ["milk", "bread"] {
        let ticket = try await machine.mutate(.add(thing)).ticket
        _ = await machine.acknowledged(ticket)
      }
      var lines: [String] = []
      try await shop(at: [etcd.address]) { lines.append($0) }
      #expect(lines.contains("milk: wanted"), "\(lines)")
      #expect(lines.suffix(3) == ["up to date", "bread: bought", "milk: bought"], "\(lines)")
      // The one who added them sees it, too.
      for await state in await machine.states() {
        let entries = state.view?.entries() ?? []
        if entries.map(\.entry.text) == ["bought", "bought"] { break }
      }
      await #expect(throws: MutationError.refused(ChangeRefusal("NOT_WANTED"))) {
        try await machine.mutate(.buy("milk"))
      }
      await machine.stop()
      await following
    }
  }
}
