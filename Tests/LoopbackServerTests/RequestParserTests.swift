import TestSupport
import Testing
import UpdateMachine

@testable import LoopbackServer

/// Tests the parsing of requests: what is understood, what is refused, and that it makes no
/// difference how the bytes are cut.
@Suite struct RequestParserTests {
  typealias Progress = RequestParser.Progress

  /// What a parser makes of bytes that come in parts: requests, and the status that ends the
  /// conversation.
  private func read(
    _ parts: [[UInt8]], headLimit: Int = 1000, bodyLimit: Int = 1000
  ) -> (requests: [LoopbackServer.Request], refusal: Int?, continues: Int, isWithin: Bool) {
    var parser = RequestParser(headLimit: headLimit, bodyLimit: bodyLimit, connection: 1)
    var requests: [LoopbackServer.Request] = []
    var continues = 0
    for part in parts {
      parser.append(part)
      reading: while true {
        switch parser.next() {
        case .request(let request, _): requests.append(request)
        case .refused(let status): return (requests, status, continues, parser.isWithin)
        case .awaitsContinue:
          continues += 1
          break reading
        case .needsMore: break reading
        }
      }
    }
    return (requests, nil, continues, parser.isWithin)
  }

  private func refusal(_ text: String) -> Int? {
    let whole = read([Array(text.utf8)])
    let bytewise = read(text.utf8.map { [$0] })
    #expect(whole.refusal == bytewise.refusal, "\(text.debugDescription)")
    #expect(whole.requests == bytewise.requests, "\(text.debugDescription)")
    return whole.refusal
  }

  @Test func `a request is the same however its bytes are cut`() throws {
    let text =
      "\r\nPOST /a%20b/c?x=1&y=%2B+ HTTP/1.1\r\nHost: here\r\nX-One:  a \r\nx-one:b\r\n"
      + "Transfer-Encoding: chunked\r\n\r\n5;ext=\"q\"\r\nhello\r\n00A\r\n, all you!\r\n0\r\nTail: x\r\n\r\n"
      + "PUT http://here:1/p HTTP/1.1\r\nHOST: here\r\nContent-Length: 3\r\n\r\nabc"
      + "GET / HTTP/1.0\r\n\r\n"
    let bytes = Array(text.utf8)
    let whole = read([bytes])
    let first = try #require(whole.requests.first)
    #expect(whole.refusal == nil)
    #expect(whole.requests.map(\.method) == ["POST", "PUT", "GET"])
    #expect(first.path == "/a b/c")
    #expect(first.segments == ["a b", "c"])
    #expect(first.query.items.map(\.value) == ["1", "+ "])
    #expect(first.headers.values(of: "X-ONE") == ["a", "b"])
    #expect(first.text == "hello, all you!")
    #expect(whole.requests[1].path == "/p")
    #expect(whole.requests[1].text == "abc")
    for cut in bytes.indices {
      let parts = read([Array(bytes[..<cut]), Array(bytes[cut...])])
      #expect(parts.requests == whole.requests && parts.refusal == nil, "cut at \(cut)")
    }
    #expect(read(bytes.map { [$0] }).requests == whole.requests)
  }

  @Test(arguments: [
    // The line
    "GET /\r\n\r\n", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
    " GET / HTTP/1.1\r\nHost: a\r\n\r\n", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET a HTTP/1.1\r\nHost: a\r\n\r\n", "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /é HTTP/1.1\r\nHost: a\r\n\r\n", "GET /%2 HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", "GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /?a=%g0 HTTP/1.1\r\nHost: a\r\n\r\n", "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / http/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.10\r\nHost: a\r\n\r\n",
    "GET / HTTP/x.1\r\nHost: a\r\n\r\n", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    // Line ends
    "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nHost: a\r\n\n",
    "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r.X: b\r\n\r\n",
    "\u{16}\u{3}\u{1}",
    // Fields
    "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nNone\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: \u{0}\r\n\r\n",
    // Framing
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\ncontent-length: 3\r\n\r\nabc",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\nabc",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\nabc",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\nabc",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked,\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{b}chunked\r\n\r\n",
    "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
  ])
  func `a malformed request gets a 400`(_ text: String) { #expect(refusal(text) == 400) }

  @Test(arguments: [
    "3\r\nabcd\r\n", "3\nabc\r\n", "3 \r\nabc\r\n", " 3\r\nabc\r\n", "0x3\r\nabc\r\n",
    "+3\r\nabc\r\n", "-1\r\n", "\r\n", "3\r\nabc\r\r\n", "3;a\rb\r\nabc\r\n", ";a\r\n",
    "0\r\nTail : x\r\n\r\n", "0\r\n x\r\n\r\n", "0\r\n\n", "g\r\n",
    "3;" + String(repeating: "x", count: 2000) + "\r\nabc\r\n",
  ])
  func `a malformed chunk gets a 400`(_ text: String) {
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    #expect(refusal(head + text) == 400)
  }

  @Test func `too long, unknown and unsupported requests have their own statuses`() {
    let long = String(repeating: "x", count: 1100)
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    func length(_ text: String) -> String {
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(text)\r\n\r\n"
    }
    #expect(refusal("GET /\(long)") == 431)
    #expect(refusal("GET / HTTP/1.1\r\nHost: a\r\nX: \(long)\r\n\r\n") == 431)
    #expect(refusal(chunked + "0\r\n" + "X: \(long)\r\n\r\n") == 431)
    #expect(refusal(length("1001")) == 413)
    #expect(refusal(length("99999999999999999999999999")) == 413)
    #expect(refusal(length("1000")) == nil)
    #expect(refusal(chunked + "3e9\r\n") == 413)
    #expect(refusal(chunked + "ffffffffffffffffffff\r\n") == 413)
    #expect(refusal(chunked + "3e7\r\n\(long.prefix(999))\r\n2\r\n") == 413)
    #expect(refusal("GET / HTTP/2.0\r\n\r\n") == 505)
    #expect(refusal("PRI * HTTP/2.0\r\n\r\n") == 505)
    #expect(refusal("GET / HTTP/1.2\r\nHost: a\r\n\r\n") == nil)
    #expect(refusal("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n") == 501)
    #expect(
      refusal("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n") == 501)
    #expect(refusal("POST / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n") == 417)
    #expect(refusal("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n") == nil)
  }

  @Test func `Expect: 100-continue is reported once`() {
    let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: "
    #expect(read([Array((head + "3\r\n\r\n").utf8)]).continues == 1)
    #expect(read([Array((head + "3\r\n\r\na").utf8)]).continues == 0, "the client did not wait")
    #expect(read([Array((head + "0\r\n\r\n").utf8)]).continues == 0, "there is no body")
    #expect(read([Array((head + "1001\r\n\r\n").utf8)]).refusal == 413)
    #expect(read("\(head)3\r\n\r\nabc".utf8.map { [$0] }).continues == 1)
  }

  @Test func `the request decides how the answer is framed`() {
    func manner(_ text: String) -> RequestManner? {
      var parser = RequestParser(headLimit: 1000, bodyLimit: 1000, connection: 1)
      parser.append(Array(text.utf8))
      guard case .request(_, let manner) = parser.next() else { return nil }
      return manner
    }
    #expect(
      manner("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
        == RequestManner(isHead: true, knowsChunks: true, keepsAlive: true))
    #expect(
      manner("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n")
        == RequestManner(isHead: false, knowsChunks: true, keepsAlive: false))
    #expect(
      manner("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        == RequestManner(isHead: false, knowsChunks: false, keepsAlive: false))
  }

  @Test func `the parser traps on no bytes, and keeps no more than its limits`() {
    let seeds = [
      "POST /a?b=%41 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: x\r\n\r\n",
    ]
    var chance = SplitMix(7)
    for round in 0..<4000 {
      var bytes = Array(seeds[round % seeds.count].utf8)
      for _ in 0..<Int.random(in: 1...4, using: &chance) {
        let place = Int.random(in: 0..<bytes.count, using: &chance)
        switch Int.random(in: 0..<3, using: &chance) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &chance)
        case 1: bytes.insert(UInt8.random(in: 0...255, using: &chance), at: place)
        default: bytes.remove(at: place)
        }
      }
      let whole = read([bytes, bytes])
      let parts = read((bytes + bytes).map { [$0] })
      #expect(whole.requests == parts.requests && whole.refusal == parts.refusal)
    }
  }
}
