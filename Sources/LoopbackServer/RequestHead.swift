/// The parsed lines before a request's body.
struct RequestHead {
  /// How long the body is.
  enum Framing: Equatable {
    case length(Int)
    case chunked
    /// Larger than `Int` can hold.
    case tooLong
  }

  let method: String
  let target: String
  let place: LoopbackServer.Target
  let headers: LoopbackServer.Headers
  let framing: Framing
  let manner: RequestManner
  let expectsContinue: Bool

  /// - Parameter lines: the lines without their ends; at least one, none empty.
  init(_ lines: [ArraySlice<UInt8>]) throws(Refusal) {
    let words = lines[0].split(
      separator: HTTPText.space, omittingEmptySubsequences: false)
    guard words.count == 3, HTTPText.isToken(words[0]) else { throw .malformed }
    method = HTTPText.text(words[0])
    let minor = try Self.minorVersion(words[2])
    // This is no proxy: there is nothing to connect to.
    guard method != "CONNECT" else { throw .notImplemented }
    target = HTTPText.text(words[1])
    guard let place = LoopbackServer.Target(target), target != "*" || method == "OPTIONS" else {
      throw .malformed
    }
    self.place = place

    var headers = LoopbackServer.Headers()
    for line in lines.dropFirst() {
      let field = try Self.field(line)
      headers.add(field.name, field.value)
    }
    self.headers = headers
    let hosts = headers.values(of: "host").count
    guard minor == 0 ? hosts <= 1 : hosts == 1 else { throw .malformed }
    framing = try Self.framing(headers, minor: minor)
    manner = RequestManner(
      isHead: method == "HEAD", knowsChunks: minor > 0,
      keepsAlive: minor > 0 && !headers.list("connection").contains("close"))

    let expectations = headers.list("expect").filter { !$0.isEmpty }
    guard minor == 0 || expectations.allSatisfy({ $0 == "100-continue" }) else {
      throw .unknownExpectation
    }
    expectsContinue = minor > 0 && !expectations.isEmpty
  }

  /// Returns 1 for `HTTP/1.1`. A later minor version is accepted too (RFC 9110, 2.5).
  private static func minorVersion(_ word: ArraySlice<UInt8>) throws(Refusal) -> UInt8 {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let bytes = Array(word)
    guard bytes.count == 8, bytes.starts(with: Array("HTTP/".utf8)), bytes[6] == 0x2E,
      digits.contains(bytes[5]), digits.contains(bytes[7])
    else { throw .malformed }
    guard bytes[5] == UInt8(ascii: "1") else { throw .unknownVersion }
    return bytes[7] - digits.lowerBound
  }

  /// Parses `Name: value`. No blank is allowed before the colon. This also refuses a line that
  /// continues the one before it.
  static func field(
    _ line: ArraySlice<UInt8>
  ) throws(Refusal) -> LoopbackServer.Headers.Field {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), HTTPText.isToken(line[..<colon]),
      line.allSatisfy({ HTTPText.isValue($0) })
    else { throw .malformed }
    return LoopbackServer.Headers.Field(
      name: HTTPText.text(line[..<colon]),
      value: HTTPText.text(HTTPText.trimmed(line[(colon + 1)...])))
  }

  private static func framing(
    _ headers: LoopbackServer.Headers, minor: UInt8
  ) throws(Refusal) -> Framing {
    let lengths = headers.values(of: "content-length")
    if !headers.values(of: "transfer-encoding").isEmpty {
      guard minor > 0, lengths.isEmpty else { throw .malformed }
      let codings = headers.list("transfer-encoding")
      // Unless `chunked` comes once, and last, the body's end is unknown.
      guard codings.firstIndex(of: "chunked") == codings.count - 1 else { throw .malformed }
      guard codings.count == 1 else { throw .notImplemented }
      return .chunked
    }
    // Even two equal lengths are refused: a proxy on the way may have joined two requests.
    guard lengths.count <= 1 else { throw .malformed }
    guard let length = lengths.first else { return .length(0) }
    guard !length.isEmpty,
      length.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
    else { throw .malformed }
    return Int(length).map { .length($0) } ?? .tooLong
  }
}
