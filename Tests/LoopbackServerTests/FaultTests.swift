import Testing

@testable import LoopbackServer

/// Tests each fault as it arrives at a client, byte by byte.
@Suite(.timeLimit(.minutes(2))) struct FaultTests {
  typealias Response = LoopbackServer.Response

  static let whole = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"

  /// What a client reads if it asks once.
  private func read(
    _ response: Response, milliseconds: Int32 = 20_000
  ) async throws -> (text: String, ending: RawClient.Ending?) {
    try await LoopbackServer.serving { _ in
      response
    } while: { server in
      let client = try await RawClient(port: server.port)
      await client.send(ServerTests.get("/"))
      return await client.read(milliseconds: milliseconds)
    }
  }

  private func read(_ fault: LoopbackServer.Fault, milliseconds: Int32 = 20_000) async throws -> (
    text: String, ending: RawClient.Ending?
  ) {
    try await read(Response(body: [97, 98, 99]).with(fault), milliseconds: milliseconds)
  }

  @Test(arguments: [0, 1, 20, 38, 40])
  func `a cut sends the given number of bytes and closes with FIN`(count: Int) async throws {
    let (text, ending) = try await read(.cut(after: count))
    #expect(text == String(Self.whole.utf8.prefix(count)))
    #expect(ending == .ended)
  }

  @Test(arguments: [0, 1, 20, 38])
  func `a reset comes after the given number of bytes`(count: Int) async throws {
    let (text, ending) = try await read(.reset(after: count))
    #expect(text == String(Self.whole.utf8.prefix(count))!)
    #expect(ending == .reset)
  }

  @Test func `a reset waits until what was sent has arrived`() async throws {
    let count = 4 << 20
    let body = [UInt8](repeating: 97, count: count)
    let (text, ending) = try await read(Response(body: body).with(.reset(after: count)))
    #expect(text.utf8.count == count)
    #expect(ending == .reset)
  }

  @Test(arguments: [0, 30])
  func `a half-open connection sends nothing more and stays open`(count: Int) async throws {
    try await LoopbackServer.serving { _ in
      Response(body: [97, 98, 99]).with(.halfOpen(after: count))
    } while: { server in
      let client = try await RawClient(port: server.port)
      await client.send(ServerTests.get("/"))
      let beginning = String(Self.whole.utf8.prefix(count))!
      if count > 0 { #expect(await client.read(until: beginning).text == beginning) }
      let (text, ending) = await client.read(milliseconds: 200)
      #expect(text == "")
      #expect(ending == .silent)
      await client.send(ServerTests.get("/again"))
      #expect(await client.read(milliseconds: 100).ending == .silent)
      #expect(server.counters.open == 1)
      #expect(server.counters.requests == 1)
      client.close()
      await server.reaches { $0.open == 0 }
    }
  }

  @Test func `a drip arrives slowly and completely`() async throws {
    try await LoopbackServer.serving { _ in
      Response(body: [97, 98, 99]).with(.drip(bytes: 5, every: .milliseconds(20)))
    } while: { server in
      let client = try await RawClient(port: server.port)
      let time = await ContinuousClock().measure {
        #expect(await client.ask("/", until: "abc") == Self.whole)
      }
      #expect(time >= .milliseconds(160), "41 bytes are 9 times 5, with 8 pauses")
      #expect(await client.ask("/", until: "abc") == Self.whole, "the connection is kept")
    }
  }

  @Test func `a delay comes before the first byte`() async throws {
    try await LoopbackServer.serving { _ in
      Response(body: [97, 98, 99]).delayed(by: .milliseconds(200))
    } while: { server in
      let client = try await RawClient(port: server.port)
      let time = await ContinuousClock().measure {
        #expect(await client.ask("/", until: "abc") == Self.whole)
      }
      #expect(time >= .milliseconds(200))
    }
  }

  @Test(arguments: [
    Response(body: [97, 98, 99]).delayed(by: .seconds(600)),
    Response(body: [97, 98, 99]).with(.drip(bytes: 30, every: .seconds(600))),
  ])
  func `a delay or pause is cut to the longest that the settings allow`(response: Response)
    async throws
  {
    var settings = LoopbackServer.Settings()
    settings.delayTime = .milliseconds(100)
    try await LoopbackServer.serving(settings: settings) { _ in
      response
    } while: { server in
      let client = try await RawClient(port: server.port)
      let time = await ContinuousClock().measure {
        #expect(await client.ask("/", until: "abc") == Self.whole)
      }
      #expect(time >= .milliseconds(100))
    }
  }

  @Test func `a garbage fault sends its bytes in place of the answer`() async throws {
    let (text, ending) = try await read(.garbage(Array("\u{0}not HTTP at all\r\n".utf8)))
    #expect(text == "\u{0}not HTTP at all\r\n")
    #expect(ending == .ended)
  }

  @Test func `a wrong Content-Length is sent with the unchanged body`() async throws {
    let long = try await read(.contentLength(9))
    #expect(long.text == Self.whole.replacing("3\r\n", with: "9\r\n"))
    #expect(long.ending == .ended)
    try await LoopbackServer.serving { _ in
      Response(body: [97, 98, 99]).with(.contentLength(1))
    } while: { server in
      let client = try await RawClient(port: server.port)
      let short = Self.whole.replacing("3\r\n", with: "1\r\n")
      #expect(await client.ask("/", until: "abc") == short)
      #expect(await client.ask("/", until: "abc") == short, "the connection is kept")
    }
  }

  @Test func `connections can be accepted late, or closed at once`() async throws {
    try await LoopbackServer.serving { _ in
      Response(body: [97, 98, 99])
    } while: { server in
      server.welcome(.after(.milliseconds(300)))
      var late: RawClient?
      let time = try await ContinuousClock().measure {
        late = try await RawClient(port: server.port)
        #expect(await late?.ask("/", until: "abc") == Self.whole)
      }
      #expect(time >= .milliseconds(300))

      server.welcome(.refusing)
      let refused = try await RawClient(port: server.port)
      let (text, ending) = await refused.read()
      #expect(text == "")
      #expect(ending != .silent)
      #expect(server.counters.refused == 1)
      #expect(await late?.ask("/", until: "abc") == Self.whole, "an accepted client stays")

      server.welcome(.atOnce)
      let client = try await RawClient(port: server.port)
      #expect(await client.ask("/", until: "abc") == Self.whole)
    }
  }
}
