import Foundation
import LoopbackServer
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The example of the README and of the documentation does what it says.
@Suite(.timeLimit(.minutes(1))) struct ServerExampleTests {
  @Test func `the README's server says hello`() async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.connectionProxyDictionary = [:]
    let session = URLSession(configuration: configuration)
    defer { session.invalidateAndCancel() }

    // README server begins
    let server = try LoopbackServer { request in
      switch request.path {
      case "/hello": .text("hello, \(request.query["name"] ?? "you")")
      case "/slow": .text("at last").delayed(by: .milliseconds(200))
      case "/torn": .text("half of this").with(.cut(after: 95))
      case "/busy": .init(status: 429, headers: ["Retry-After": "3"])
      default: .init(status: 404)
      }
    }
    let hello = try await session.data(from: URL(string: server.address + "/hello?name=Ada")!)
    await server.stop()
    // README server ends

    #expect(hello.0 == Data("hello, Ada".utf8))
    #expect(server.counters.open == 0)
  }

  @Test(arguments: ["README.md", "Sources/LoopbackServer/LoopbackServer.docc/LoopbackServer.md"])
  func `both show exactly these lines`(path: String) throws {
    let here = URL(filePath: #filePath)
    let root = here.deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let source = try String(contentsOf: here, encoding: .utf8)
    let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
    let begin = try #require(lines.firstIndex { $0 == "    // README server begins" })
    let end = try #require(lines.firstIndex { $0 == "    // README server ends" })
    let example = lines[(begin + 1)..<end].map { $0.dropFirst(4) }
    #expect(example.count <= 12)
    #expect(text.contains("```swift\n" + example.joined(separator: "\n") + "\n```\n"))
  }
}
