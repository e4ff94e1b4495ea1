import Testing

@testable import LoopbackServer

#if os(Linux)
  import Foundation

  /// Tests that nothing is left of a server that has stopped. It counts in a process of its own,
  /// where nothing else opens files or begins threads.
  @Suite(.timeLimit(.minutes(2))) struct LeakTests {
    @Test func `a stopped server leaves no descriptor and no thread`() async {
      await #expect(processExitsWith: .success) {
        try await Self.live()  // The runtimes keep what they open once.
        let before = (Self.count("/proc/self/fd"), Self.count("/proc/self/task"))
        // If each server leaked one, there would be 50 more. The runtimes may have begun some
        // threads meanwhile.
        for _ in 0..<50 { try await Self.live() }
        let after = (Self.count("/proc/self/fd"), Self.count("/proc/self/task"))
        guard after.0 < before.0 + 10, after.1 < before.1 + 40 else {
          fatalError("descriptors and threads before: \(before), after: \(after)")
        }
      }
    }

    /// Runs one server from start to stop, with clients that are cut off in every possible way.
    static func live() async throws {
      let server = try LoopbackServer { request in
        switch request.path {
        case "/silent": return .text("x").with(.halfOpen(after: 3))
        case "/cut": return .text("x").with(.cut(after: 3))
        case "/reset": return .text("x").with(.reset(after: 3))
        case "/poll":
          await untilCancelled()
          return .text("nobody hears this")
        default: return .text("ok")
        }
      }
      var clients: [RawClient] = []
      for path in ["/silent", "/cut", "/reset", "/poll", "/"] {
        let client = try await RawClient(port: server.port)
        await client.send(ServerTests.get(path))
        clients.append(client)
      }
      let served = await server.counters(within: .seconds(20)) { $0.requests == 5 }
      guard served.requests == 5 else { fatalError("\(served)") }
      await server.stop()
      for client in clients { client.close() }
    }

    static func count(_ folder: String) -> Int {
      (try? FileManager.default.contentsOfDirectory(atPath: folder))?.count ?? -1
    }
  }
#endif
