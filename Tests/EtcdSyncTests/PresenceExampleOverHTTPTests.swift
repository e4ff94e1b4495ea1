import EtcdSync
import TestSupport
import Testing
import UpdateMachine

/// Tests the example of the article, as an app would use it: without what is internal.
@Suite(
  .enabled(if: EtcdProcess.isThere, "etcd is not installed (Debian: etcd-server)"),
  .timeLimit(.minutes(2)))
struct PresenceExampleOverHTTPTests {
  @Test func `each who is here is in the others' model`() async throws {
    try await EtcdProcess.serving { etcd in
      let cluster = try EtcdConnection(to: [etcd.address])
      let source = try EtcdSource(cluster, prefix: "app/", for: EtcdMap.self)
      let machine = UpdateMachine(source: source)
      async let following: Void = machine.run()
      let here = ["phone": "Ann", "pad": "Bob"].sorted { $0.key < $1.key }.map { device, name in
        Task { try await stay(source, device: device, name: name) }
      }
      var seen: [[String]] = []
      for await state in await machine.states() {
        let names = state.model.map { namesOfThosePresent(in: $0) } ?? []
        if seen.last != names { seen.append(names) }
        if names == ["Bob", "Ann"] { here[1].cancel() }
        if names == ["Bob"], seen.contains(["Bob", "Ann"]) { break }
      }
      here[0].cancel()
      for task in here { try await task.value }
      #expect(seen.suffix(2) == [["Bob", "Ann"], ["Bob"]])
      await machine.stop()
      await following
    }
  }
}
