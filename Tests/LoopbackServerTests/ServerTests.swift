import Testing

@testable import LoopbackServer

/// Tests the server over real sockets, with a client that controls and shows every byte.
@Suite(.timeLimit(.minutes(2))) struct ServerTests {
  typealias Settings = LoopbackServer.Settings

  static func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n" }

  // MARK: Requests

  @Test func `requests sent at once on one connection are answered in order`() async throws {
    try await LoopbackServer.serving { request in
      // The first answer is the slowest.
      .text("<\(request.path)>").delayed(by: request.path == "/1" ? .milliseconds(50) : .zero)
    } while: { server in
      let client = try await RawClient(port: server.port)
      await client.send(Self.get("/1") + Self.get("/2") + Self.get("/3"))
      let text = await client.read(until: "</3>").text
      let places = ["</1>", "</2>", "</3>"].map { text.firstRange(of: $0)?.lowerBound }
      #expect(places.allSatisfy { $0 != nil })
      #expect(places.compactMap { $0 } == places.compactMap { $0 }.sorted())
      #expect(server.counters.accepted == 1)
      #expect(server.counters.requests == 3)
    }
  }

  @Test func `a malformed request gets a 400, and the connection is closed with FIN`() async throws
  {
    try await LoopbackServer.serving { _ in
      .text("ok")
    } while: { server in
      let client = try await RawClient(port: server.port)
      // Bytes that are unread when the server has finished must not destroy its answer.
      let rest = String(repeating: "x", count: 300_000)
      await client.send("GET / HTTP/1.1\nHost: a\n\n" + rest)
      let (text, ending) = await client.read()
      #expect(text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
      #expect(text.contains("Connection: close\r\n"))
      #expect(ending == .ended)
      #expect(server.counters.requests == 0)
    }
  }

  @Test func `heads and bodies are limited`() async throws {
    var settings = Settings()
    settings.headLimit = 1000
    settings.bodyLimit = 1000
    let long = String(repeating: "x", count: 5000)
    try await LoopbackServer.serving(settings: settings) { request in
      .text("\(request.body.count) bytes.")
    } while: { server in
      for (request, answer) in [
        ("GET / HTTP/1.1\r\nHost: a\r\nX: \(long)\r\n\r\n", "HTTP/1.1 431 "),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n\(long)", "HTTP/1.1 413 "),
        (
          "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5000\r\n\r\n",
          "HTTP/1.1 413 "
        ),
      ] {
        let client = try await RawClient(port: server.port)
        await client.send(request)
        let (text, ending) = await client.read()
        #expect(text.hasPrefix(answer))
        #expect(ending == .ended)
      }
      let client = try await RawClient(port: server.port)
      await client.send(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n" + long.prefix(1000))
      #expect(await client.read(until: "1000 bytes.").ending == nil)
      #expect(server.counters.requests == 1)
    }
  }

  @Test func `a slow request gets a 408, and an idle connection is closed`() async throws {
    var settings = Settings()
    settings.requestTime = .milliseconds(150)
    settings.idleTime = .milliseconds(300)
    try await LoopbackServer.serving(settings: settings) { _ in
      .text("ok.")
    } while: { server in
      for words in [
        "", "GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc",
      ] {
        let client = try await RawClient(port: server.port)
        await client.send(words)
        let (text, ending) = await client.read()
        #expect(text.hasPrefix("HTTP/1.1 408 "))
        #expect(ending == .ended)
      }
      let client = try await RawClient(port: server.port)
      #expect(await client.ask("/", until: "ok.").contains(" 200 "))
      let rest = await ContinuousClock().measure {
        let (text, ending) = await client.read()
        #expect(text == "")
        #expect(ending == .ended)
      }
      #expect(rest > .milliseconds(150), "an idle connection has a deadline of its own")
    }
  }

  @Test func `a client that reads nothing is disconnected`() async throws {
    var settings = Settings()
    settings.sendTime = .milliseconds(200)
    let body = [UInt8](repeating: 97, count: 20 << 20)
    try await LoopbackServer.serving(settings: settings) { _ in
      LoopbackServer.Response(body: body)
    } while: { server in
      let client = try await RawClient(port: server.port)
      await client.send(Self.get("/"))
      let begun = await server.reaches { $0.requests == 1 }
      #expect(begun.open == 1)
      await server.reaches { $0.open == 0 }
    }
  }

  @Test func `a body follows after 100 Continue`() async throws {
    try await LoopbackServer.serving { request in
      .text("<\(request.text)>")
    } while: { server in
      let client = try await RawClient(port: server.port)
      await client.send(
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
      let word = await client.read(until: "\r\n\r\n").text
      #expect(word == "HTTP/1.1 100 Continue\r\n\r\n")
      await client.send("3\r\nabc\r\n0\r\n\r\n")
      #expect(await client.read(until: "<abc>").ending == nil)
    }
  }

  // MARK: Connections

  @Test func `connections beyond the limit wait until one closes`() async throws {
    var settings = Settings()
    settings.connectionLimit = 2
    try await LoopbackServer.serving(settings: settings) { _ in
      .text("ok.")
    } while: { server in
      let one = try await RawClient(port: server.port)
      let two = try await RawClient(port: server.port)
      #expect(await one.ask("/", until: "ok.").contains(" 200 "))
      #expect(await two.ask("/", until: "ok.").contains(" 200 "))
      let waiting = [
        try await RawClient(port: server.port), try await RawClient(port: server.port),
      ]
      for client in waiting {
        await client.send(Self.get("/"))
        let (text, ending) = await client.read(milliseconds: 100)
        #expect(text == "")
        #expect(ending == .silent)
      }
      #expect(server.counters.accepted == 2)
      one.close()
      #expect(await waiting[0].read(until: "ok.").ending == nil)
      #expect(server.counters.accepted == 3)
      two.close()
      #expect(await waiting[1].read(until: "ok.").ending == nil)
      #expect(server.counters.openMaximum == 2)
    }
  }

  @Test(arguments: [false, true])
  func `a long poll does not outlive its client`(isReset: Bool) async throws {
    try await LoopbackServer.serving { _ in
      await untilCancelled()
      return .text("nobody hears this")
    } while: { server in
      let client = try await RawClient(port: server.port)
      await client.send(Self.get("/poll"))
      await server.reaches { $0.answering == 1 }
      if isReset { client.reset() } else { client.close() }
      let after = await server.reaches {
        $0.answering == 0 && $0.open == 0
      }
      #expect(after.cancelled == 1)
      #expect(after.answering == 0)
      #expect(after.open == 0)
    }
  }

  @Test func `a client that leaves in the middle of an answer affects no other`() async throws {
    let body = [UInt8](repeating: 97, count: 20 << 20)
    try await LoopbackServer.serving { request in
      request.path == "/" ? .text("ok.") : LoopbackServer.Response(body: body)
    } while: { server in
      for round in 0..<20 {
        let client = try await RawClient(port: server.port)
        _ = await client.ask("/long", until: "aaa")
        if round % 2 == 0 { client.reset() } else { client.close() }
      }
      await server.reaches { $0.open == 0 }
      let client = try await RawClient(port: server.port)
      #expect(await client.ask("/", until: "ok.").contains(" 200 "))
    }
  }

  @Test func `a client's end is noticed behind pipelined bytes`() async throws {
    var settings = Settings()
    settings.headLimit = 1000
    try await LoopbackServer.serving(settings: settings) { _ in
      await untilCancelled()
      return .text("nobody hears this")
    } while: { server in
      let client = try await RawClient(port: server.port)
      await client.send(String(repeating: Self.get("/poll"), count: 3000))
      client.close()
      await server.reaches { $0.cancelled == 1 }
      await server.reaches { $0.open == 0 }
    }
  }

  @Test func `an answer that ignores cancellation keeps its connection's place`() async throws {
    var settings = Settings()
    settings.connectionLimit = 1
    let gate = Gate()
    try await LoopbackServer.serving(settings: settings) { request in
      if request.path == "/deaf" { await gate.pass() }
      return .text("ok.")
    } while: { server in
      let deaf = try await RawClient(port: server.port)
      await deaf.send(Self.get("/deaf"))
      await server.reaches { $0.answering == 1 }
      deaf.close()
      await server.reaches { $0.open == 0 }
      let next = try await RawClient(port: server.port)
      await next.send(Self.get("/"))
      #expect(await next.read(milliseconds: 200).text == "")
      await gate.open()
      #expect(await next.read(until: "ok.").ending == nil)
    }
  }

  @Test func `200 clients are answered at the same time`() async throws {
    let gate = Gate()
    try await LoopbackServer.serving { request in
      await gate.pass()
      return .text("<\(request.path)>")
    } while: { server in
      var clients: [RawClient] = []
      for index in 0..<200 {
        let client = try await RawClient(port: server.port)
        await client.send(Self.get("/\(index)"))
        clients.append(client)
      }
      let all = await server.reaches { $0.answering == 200 }
      #expect(all.answering == 200)
      #expect(all.open == 200)
      await gate.open()
      for (index, client) in clients.enumerated() {
        #expect(await client.read(until: "</\(index)>").ending == nil)
      }
    }
  }

  @Test func `a kept connection carries 1,000 requests`() async throws {
    try await LoopbackServer.serving { request in
      .text("<\(request.path) on \(request.connection)>")
    } while: { server in
      let client = try await RawClient(port: server.port)
      for index in 0..<1000 {
        let text = await client.ask("/\(index)", until: ">")
        let counters = server.counters
        guard text.hasSuffix("</\(index) on 1>"), counters.answering == 0 else {
          Issue.record("request \(index): \(text) \(counters)")
          return
        }
      }
      #expect(server.counters.requests == 1000)
      #expect(server.counters.accepted == 1)
    }
  }

  // MARK: Starting and stopping

  @Test func `a server listens on loopback only, on its own port, until it is stopped`()
    async throws
  {
    let server = try LoopbackServer { _ in .text("ok") }
    #expect(server.port > 0)
    #expect(server.address == "http://127.0.0.1:\(server.port)")
    // A server that listens everywhere listens on 127.0.0.2, too.
    await #expect(throws: LoopbackServerError.self) {
      try await RawClient(port: server.port, host: 0x7F00_0002)
    }
    let refusal = #expect(throws: LoopbackServerError.self) {
      try LoopbackServer(port: server.port) { _ in .text("ok") }
    }
    #expect(refusal == .portInUse(server.port))
    await server.stop()
    await server.stop()
    await #expect(throws: LoopbackServerError.self) { try await RawClient(port: server.port) }
    let again = try LoopbackServer(port: server.port) { _ in .text("ok") }
    #expect(again.port == server.port)
    await again.stop()
  }

  @Test func `a server on ipv6 listens on ::1 only`() async throws {
    // Some computers have no IPv6.
    guard let server = try? LoopbackServer(on: .ipv6, answer: { _ in .text("ok") }) else { return }
    #expect(server.address == "http://[::1]:\(server.port)")
    let refusal = #expect(throws: LoopbackServerError.self) {
      try LoopbackServer(on: .ipv6, port: server.port) { _ in .text("ok") }
    }
    #expect(refusal == .portInUse(server.port))
    // One that listens everywhere would listen on 127.0.0.2, too.
    await #expect(throws: LoopbackServerError.self) {
      try await RawClient(port: server.port, host: 0x7F00_0002)
    }
    await server.stop()
    let again = try LoopbackServer(on: .ipv6, port: server.port) { _ in .text("ok") }
    await again.stop()
  }

  @Test func `stop ends every connection and every answer in any state`() async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/silent": return .text("x").with(.halfOpen(after: 0))
      case "/late": return .text("x").delayed(by: .seconds(1000))
      case "/drip": return .text("x").with(.drip(bytes: 1, every: .seconds(1000)))
      case "/cut": return .text("x").with(.cut(after: 10))
      default:
        await untilCancelled()
        return .text("nobody hears this")
      }
    }
    var clients: [RawClient] = []
    for path in ["/poll", "/silent", "/late", "/drip", "/cut", "/poll"] {
      let client = try await RawClient(port: server.port)
      await client.send(Self.get(path))
      clients.append(client)
    }
    clients.append(try await RawClient(port: server.port))
    await server.reaches {
      $0.accepted == 7 && $0.answering == 2 && $0.requests == 6
    }
    async let observed = server.counters(within: .seconds(1000)) { $0.open == 1000 }
    await server.reaches { $0.openMaximum == 7 }
    await server.stop()
    #expect(await observed.open < 1000, "a wait for what will not come ends")
    #expect(server.counters.open == 0)
    #expect(server.counters.answering == 0)
    #expect(server.counters.cancelled == 2)
    for client in clients { #expect(await client.read().ending != .silent) }
    #expect(server.counters.open == 0)
    let late = await server.counters(within: .seconds(1000)) { _ in false }
    #expect(late == server.counters)
  }

  @Test func `stop may be called twice at once, and an unreferenced server stops`() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    async let one: Void = server.stop()
    async let two: Void = server.stop()
    _ = await (one, two)

    var forgotten: LoopbackServer? = try LoopbackServer { _ in .text("ok") }
    let client = try await RawClient(port: try #require(forgotten).port)
    forgotten = nil
    let (text, ending) = await client.read()
    #expect(text == "", "the client was not called slow either")
    #expect(ending != .silent)
  }
}
