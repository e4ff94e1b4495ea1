import Testing

@testable import LoopbackServer

/// Tests one connection as a value: the bytes of answers, and when they are written.
@Suite struct ConversationTests {
  typealias Response = LoopbackServer.Response

  /// A conversation, and everything that it has asked to be written or done so far.
  struct Bench {
    var conversation: Conversation
    var now = ContinuousClock.now
    var written = ""
    var log: [String] = []

    init(_ settings: LoopbackServer.Settings = .init()) {
      conversation = Conversation(number: 1, settings: settings, at: now)
    }

    mutating func note(_ effects: [Conversation.Effect]) {
      for effect in effects {
        switch effect {
        case .ask(let request): log.append("ask \(request)")
        case .cancel: log.append("cancel")
        case .endSending: log.append("end")
        case .close: log.append("close")
        case .reset: log.append("reset")
        }
      }
      while !conversation.output.isEmpty {
        let output = conversation.output
        written += String(decoding: output, as: UTF8.self)
        note(conversation.sent(output.count, at: now))
      }
    }

    mutating func receive(_ text: String) {
      note(conversation.received(ArraySlice(text.utf8), at: now))
    }

    mutating func answer(_ response: Response) { note(conversation.answered(response, at: now)) }

    /// Lets time pass until the next deadline. Returns how long that took.
    mutating func fire() -> Duration? {
      guard let deadline = conversation.deadline else { return nil }
      let time = now.duration(to: deadline)
      now = deadline
      note(conversation.fired(at: now))
      return time
    }

    /// What was written and done since the last call.
    mutating func take() -> [String] {
      defer { (written, log) = ("", []) }
      return log + (written.isEmpty ? [] : [written])
    }
  }

  static let get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"

  private func written(_ request: String, _ response: Response) -> [String] {
    var bench = Bench()
    bench.receive(request)
    _ = bench.take()
    bench.answer(response)
    return bench.take()
  }

  @Test func `an answer is framed as its request requires`() {
    let chunked = Response(
      headers: ["Content-Length": "9", "X": "y"], body: [97, 98, 99], chunk: 2)
    #expect(
      written(Self.get, Response(headers: ["X": "y", "Connection": "x"], body: [97]))
        == ["HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 1\r\n\r\na"])
    #expect(
      written(Self.get, chunked)
        == [
          "HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
        ]
    )
    #expect(
      written("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n", .text("abc", type: "t"))
        == ["HTTP/1.1 200 OK\r\nContent-Type: t\r\nContent-Length: 3\r\n\r\n"])
    #expect(
      written("GET /a HTTP/1.0\r\n\r\n", chunked)
        == [
          "end", "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
        ])
    #expect(
      written(Self.get, Response(status: 204, body: [1])) == ["HTTP/1.1 204 No Content\r\n\r\n"])
    #expect(
      written(Self.get, Response(status: 304, body: [1])) == ["HTTP/1.1 304 Not Modified\r\n\r\n"])
    #expect(
      written(Self.get, Response(status: 503, headers: ["connection": "close"]))
        == [
          "end",
          "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        ])
  }

  @Test(arguments: [
    Response(status: 100), Response(status: 1000), Response(headers: ["X": "a\r\nY: b"]),
    Response(headers: ["X y": "a"]), Response(headers: ["": "a"]),
  ])
  func `a response that cannot be written becomes a 500`(_ response: Response) {
    let text = written(Self.get, response).joined()
    #expect(text.hasPrefix("HTTP/1.1 500 "))
    #expect(!text.contains("Y"))
  }

  @Test func `a fault changes the bytes that are sent`() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
    let response = Response(body: [97, 98, 99])
    #expect(written(Self.get, response.with(.cut(after: 4))) == ["end", "HTTP"])
    #expect(written(Self.get, response.with(.cut(after: -1))) == ["end"])
    #expect(written(Self.get, response.with(.cut(after: 999))) == ["end", head + "abc"])
    #expect(written(Self.get, response.with(.reset(after: 0))) == ["reset"])
    #expect(written(Self.get, response.with(.reset(after: 4))) == ["reset", "HTTP"])
    #expect(written(Self.get, response.with(.halfOpen(after: 0))) == [])
    #expect(written(Self.get, response.with(.halfOpen(after: 4))) == ["HTTP"])
    #expect(written(Self.get, response.with(.garbage([33, 33]))) == ["end", "!!"])
    #expect(
      written(Self.get, response.with(.contentLength(9)))
        == ["end", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"])
    #expect(
      written(Self.get, response.with(.contentLength(1)))
        == ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc"])
  }

  @Test func `a drip sends a few bytes at a time, then the next request is served`() {
    var bench = Bench()
    bench.receive(Self.get + Self.get)
    bench.answer(Response(status: 204).with(.drip(bytes: 10, every: .seconds(40))))
    #expect(bench.take() == ["ask GET /a", "HTTP/1.1 2"])
    #expect(bench.fire() == .seconds(40), "longer than a client may take nothing")
    #expect(bench.take() == ["04 No Cont"])
    #expect(bench.fire() == .seconds(40))
    #expect(bench.take() == ["ask GET /a", "ent\r\n\r\n"])
  }

  @Test func `pipelined requests are answered in order`() {
    var bench = Bench()
    bench.receive(Self.get + Self.get + "GET /b")
    #expect(bench.take() == ["ask GET /a"])
    bench.answer(.init(status: 204))
    #expect(bench.take() == ["ask GET /a", "HTTP/1.1 204 No Content\r\n\r\n"])
    bench.answer(.init(status: 204))
    #expect(bench.take() == ["HTTP/1.1 204 No Content\r\n\r\n"])
    bench.receive(" HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(bench.take() == ["ask GET /b"])
  }

  @Test func `a client that sends too far ahead must wait`() {
    var settings = LoopbackServer.Settings()
    settings.headLimit = 100
    var bench = Bench(settings)
    bench.receive(Self.get)
    #expect(bench.conversation.wantsInput)
    for _ in 0..<4 { bench.receive(Self.get) }
    #expect(!bench.conversation.wantsInput)
    bench.answer(.init(status: 204))
    #expect(bench.conversation.wantsInput)
  }

  @Test func `each wait has a deadline`() {
    var bench = Bench()
    bench.receive("GET / HT")
    #expect(bench.fire() == .seconds(10))
    #expect(bench.take().joined().contains("408 Request Timeout"))
    #expect(bench.fire() == .seconds(1))
    #expect(bench.take() == ["close"])

    bench = Bench()
    bench.receive(Self.get)
    #expect(bench.fire() == nil, "an answer may take as long as it likes")
    bench.answer(Response(status: 204).delayed(by: .seconds(7)))
    #expect(bench.take() == ["ask GET /a"])
    #expect(bench.fire() == .seconds(7))
    #expect(bench.take() == ["HTTP/1.1 204 No Content\r\n\r\n"])
    bench.receive("\r\n")
    #expect(bench.fire() == .seconds(30), "an empty line does not begin a request")
    #expect(bench.take() == ["close"])

    bench = Bench()
    bench.receive(Self.get)
    // The client takes some bytes, and then none.
    _ = bench.conversation.answered(.text("abc"), at: bench.now)
    _ = bench.conversation.sent(4, at: bench.now)
    let deadline = bench.conversation.deadline
    #expect(deadline.map { bench.now.duration(to: $0) } == .seconds(30))
  }

  @Test func `an answer is cancelled when its client goes away`() {
    var bench = Bench()
    bench.receive(Self.get)
    bench.note(bench.conversation.ended())
    #expect(bench.take() == ["ask GET /a", "cancel", "close"])
    bench.answer(.text("late"))
    bench.note(bench.conversation.ended())
    #expect(bench.take() == [])
  }

  @Test func `100 Continue is sent to a client that waits for it`() {
    var bench = Bench()
    bench.receive("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    #expect(bench.take() == ["HTTP/1.1 100 Continue\r\n\r\n"])
    bench.receive("ab")
    #expect(bench.take() == ["ask POST /"])

    // The body comes before "100 Continue" has left, and so does the answer.
    bench = Bench()
    var text = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    _ = bench.conversation.received(ArraySlice(text.utf8), at: bench.now)
    text = "ab"
    _ = bench.conversation.received(ArraySlice(text.utf8), at: bench.now)
    bench.answer(Response(status: 204))
    #expect(
      bench.take() == ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"])
  }
}
