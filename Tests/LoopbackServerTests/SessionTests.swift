import Foundation
import LoopbackServer
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests the server with URLSession, the client it is made for.
@Suite(.timeLimit(.minutes(3))) struct SessionTests {
  typealias Response = LoopbackServer.Response

  /// A session for one server, without a proxy and without a cache.
  private struct Client: Sendable {
    let session: URLSession
    var address: String

    init(_ server: LoopbackServer, timeout: TimeInterval = 20, connections: Int = 6) {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.connectionProxyDictionary = [:]
      configuration.timeoutIntervalForRequest = timeout
      configuration.httpMaximumConnectionsPerHost = connections
      configuration.urlCache = nil
      session = URLSession(configuration: configuration)
      address = server.address
    }

    func request(_ path: String, method: String = "GET", body: Data? = nil) throws -> URLRequest {
      var request = URLRequest(url: try #require(URL(string: address + path)))
      request.httpMethod = method
      request.httpBody = body
      return request
    }

    func send(_ request: URLRequest) async throws -> (status: Int, text: String) {
      let (data, response) = try await session.data(for: request)
      let status = (response as? HTTPURLResponse)?.statusCode ?? 0
      return (status, String(decoding: data, as: UTF8.self))
    }

    func get(_ path: String) async throws -> (status: Int, text: String) {
      try await send(try request(path))
    }
  }

  private func serve(
    timeout: TimeInterval = 20, connections: Int = 6,
    settings: LoopbackServer.Settings = .init(),
    answer: @escaping LoopbackServer.Answer,
    while body: (LoopbackServer, Client) async throws -> Void
  ) async throws {
    try await LoopbackServer.serving(settings: settings, answer: answer) { server in
      let client = Client(server, timeout: timeout, connections: connections)
      defer { client.session.invalidateAndCancel() }
      try await body(server, client)
    }
  }

  @Test func `statuses, headers and bodies arrive`() async throws {
    try await serve { request in
      switch request.path {
      case "/busy":
        Response(status: 429, headers: ["Retry-After": "3"], body: Array("later".utf8))
      case "/gateway": .text("<html>", status: 502, type: "text/html")
      case "/chunks": Response(body: Array("many chunks".utf8), chunk: 3)
      case "/echo":
        .text("\(request.method) \(request.form?["to"] ?? "") \(request.headers["x-mine"] ?? "")")
      default: Response(status: 204)
      }
    } while: { _, client in
      let (data, response) = try await client.session.data(for: client.request("/busy"))
      let head = try #require(response as? HTTPURLResponse)
      #expect(head.statusCode == 429)
      #expect(head.value(forHTTPHeaderField: "retry-after") == "3")
      #expect(data == Data("later".utf8))
      #expect(try await client.get("/gateway") == (502, "<html>"))
      #expect(try await client.get("/chunks") == (200, "many chunks"))
      #expect(try await client.get("/") == (204, ""))
      var form = try client.request("/echo", method: "POST", body: Data("to=%5B1%5D".utf8))
      form.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
      form.setValue("yes", forHTTPHeaderField: "X-Mine")
      #expect(try await client.send(form) == (200, "POST [1] yes"))
      #expect(try await client.send(client.request("/chunks", method: "HEAD")) == (200, ""))
      #expect(try await client.get("/chunks") == (200, "many chunks"), "HEAD left no bytes over")
    }
  }

  @Test func `a large body is sent, and one that is too large is refused`() async throws {
    var settings = LoopbackServer.Settings()
    settings.bodyLimit = 4 << 20
    try await serve(settings: settings) { request in
      .text("\(request.body.count)")
    } while: { _, client in
      let body = Data(repeating: 97, count: 4 << 20)
      #expect(
        try await client.send(client.request("/", method: "POST", body: body)) == (200, "4194304"))
      let refused = try await client.send(
        client.request("/", method: "POST", body: body + Data(repeating: 97, count: 1)))
      #expect(refused.status == 413)
    }
  }

  @Test func `each fault gives the expected error or answer`() async throws {
    try await serve(timeout: 1) { request in
      let response = Response.text("a body")
      return switch request.path {
      case "/cut": response.with(.cut(after: 82))
      case "/no-head": response.with(.cut(after: 10))
      case "/reset": response.with(.reset(after: 0))
      case "/late-reset": response.with(.reset(after: 82))
      case "/silent": response.with(.halfOpen(after: 0))
      case "/stalled": response.with(.halfOpen(after: 82))
      case "/garbage": response.with(.garbage(Array("\u{16}\u{3}\u{1}".utf8)))
      case "/longer": response.with(.contentLength(100))
      case "/shorter": response.with(.contentLength(3))
      case "/drip": response.with(.drip(bytes: 20, every: .milliseconds(10)))
      case "/late": response.delayed(by: .milliseconds(100))
      default: response
      }
    } while: { server, client in
      for path in [
        "/cut", "/no-head", "/reset", "/late-reset", "/silent", "/stalled", "/garbage", "/longer",
      ] {
        await #expect(throws: (any Error).self, "\(path)") { try await client.get(path) }
      }
      for (path, body) in [("/shorter", "a b"), ("/drip", "a body"), ("/late", "a body")] {
        let answer = try await client.get(path)
        #expect(answer == (200, body), "\(path)")
      }
      server.welcome(.refusing)
      let stranger = Client(server, timeout: 1)
      defer { stranger.session.invalidateAndCancel() }
      await #expect(throws: (any Error).self) { try await stranger.get("/") }
      server.welcome(.after(.milliseconds(50)))
      let answer = try await stranger.get("/")
      #expect(answer == (200, "a body"))
    }
  }

  @Test func `a cancelled request frees its connection and its answer`() async throws {
    try await serve { _ in
      await untilCancelled()
      return .text("nobody hears this")
    } while: { server, client in
      let poll = Task { try await client.get("/poll") }
      await server.reaches { $0.answering == 1 }
      poll.cancel()
      await #expect(throws: (any Error).self) { try await poll.value }
      let after = await server.reaches { $0.open == 0 && $0.answering == 0 }
      #expect(after.cancelled == 1)
      #expect(after.open == 0)
    }
  }

  @Test func `1,000 requests one after another use few connections`() async throws {
    try await serve { request in
      .text(request.path)
    } while: { server, client in
      let time = try await ContinuousClock().measure {
        for index in 0..<1000 {
          guard try await client.get("/\(index)") == (200, "/\(index)") else {
            Issue.record("request \(index)")
            return
          }
        }
      }
      #expect(server.counters.requests == 1000)
      #expect(server.counters.accepted < 50, "\(server.counters), \(time)")
    }
  }

  @Test func `200 requests in parallel are all answered`() async throws {
    try await serve(connections: 200) { request in
      .text(request.path)
    } while: { server, client in
      let right = try await withThrowingTaskGroup(of: Bool.self) { group in
        for index in 0..<200 {
          group.addTask { try await client.get("/\(index)") == (200, "/\(index)") }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(right == 200)
      #expect(server.counters.requests == 200)
    }
  }

  @Test func `a name whose first address refuses is reached at the second`() async throws {
    for family in [LoopbackServer.Family.ipv4, .ipv6] {
      // Some computers have no IPv6.
      guard let server = try? LoopbackServer(on: family, answer: { _ in .text("ok") }) else {
        #expect(family == .ipv6)
        continue
      }
      var client = Client(server)
      client.address = "http://localhost:\(server.port)"
      #expect(try await client.get("/").text == "ok")
      await server.stop()
    }
  }

  @Test func `the session's connections are closed when the server stops`() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let client = Client(server)
    #expect(try await client.get("/").status == 200)
    await server.stop()
    await #expect(throws: (any Error).self) { try await client.get("/") }
    client.session.invalidateAndCancel()
  }
}
