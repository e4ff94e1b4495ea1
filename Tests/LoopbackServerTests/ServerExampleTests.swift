import Foundation
import LoopbackServer
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Checks that the documentation's example does what it says.
@Suite(.timeLimit(.minutes(5))) struct ServerExampleTests {
  @Test func `the article's server says hello`() async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.connectionProxyDictionary = [:]
    let session = URLSession(configuration: configuration)
    defer { session.invalidateAndCancel() }

    // Article example begins: server
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
    // Article example ends

    #expect(hello.0 == Data("hello, Ada".utf8))
    #expect(server.counters.open == 0)
  }
}
