import Testing

@testable import EtcdSync

@Suite struct HTTPReaderTests {
  typealias Part = EtcdHTTPReader.Part

  /// The answer, in pieces of a size. Neighbouring parts of the body are joined.
  static func parts(_ text: String, by size: Int) throws -> [Part] {
    var reader = EtcdHTTPReader()
    var parts: [Part] = []
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      for part in try reader.take(bytes[start..<min(start + size, bytes.count)]) {
        if case .body(let more) = part, case .body(let body)? = parts.last {
          parts[parts.count - 1] = .body(body + more)
        } else {
          parts.append(part)
        }
      }
    }
    return parts
  }

  static let refusal = """
    HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\
    Trailer: Grpc-Trailer-Content-Type\r\nDate: Fri, 27 Nov 2026 08:36:37 GMT\r\n\
    Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n06;x=y\r\n world\r\n0\r\n\
    Grpc-Trailer-Content-Type: application/grpc\r\n\r\n
    """

  /// FoundationNetworking traps on it.
  @Test(arguments: [1, 2, 3, 7, 64, 1000])
  func `chunks, and trailers after them, are read in pieces of any size`(size: Int) throws {
    let head = EtcdExchange.Head(
      status: 400, type: "application/json", date: "Fri, 27 Nov 2026 08:36:37 GMT")
    let parts = try HTTPReaderTests.parts(HTTPReaderTests.refusal, by: size)
    #expect(parts == [.head(head), .body(Array("hello world".utf8)), .end])
  }

  @Test(arguments: [1, 1000])
  func `a body has the length that is said, and what follows is dropped`(size: Int) throws {
    let text =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length:2\r\n\r\n{}HTTP/1.1 200"
    let head = EtcdExchange.Head(status: 200)
    #expect(
      try HTTPReaderTests.parts(text, by: size) == [.head(head), .body(Array("{}".utf8)), .end])
  }

  @Test func `spaces around a field's value are not part of it`() throws {
    let text = "HTTP/1.1 200 OK\r\nContent-Length: \t 2 \r\nContent-Length: 2\r\n\r\n{}"
    #expect(
      try HTTPReaderTests.parts(text, by: 9)
        == [.head(EtcdExchange.Head(status: 200)), .body(Array("{}".utf8)), .end])
    let two = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"
    #expect(throws: EtcdHTTPReader.Malformed.self) { try HTTPReaderTests.parts(two, by: 1000) }
  }

  @Test func `a body without a length ends with its connection, and no other does`() throws {
    var reader = EtcdHTTPReader()
    _ = try reader.take(Array("HTTP/1.0 200 OK\r\n\r\n{".utf8))
    let isWhole = reader.close()
    #expect(isWhole)
    var cut = EtcdHTTPReader()
    _ = try cut.take(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{".utf8))
    let isCutWhole = cut.close()
    #expect(!isCutWhole)
  }

  @Test(arguments: [
    "SSH-2.0-OpenSSH\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 999 No\r\n\r\n",
    "HTTP/1.1 200 OK\r\nno field\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
  ])
  func `what is no HTTP is an error`(text: String) {
    #expect(throws: EtcdHTTPReader.Malformed.self) { try HTTPReaderTests.parts(text, by: 5) }
  }

  @Test func `a line without an end is an error`() {
    var reader = EtcdHTTPReader()
    #expect(throws: EtcdHTTPReader.Malformed.self) {
      for _ in 0..<1000 { _ = try reader.take([UInt8](repeating: 65, count: 1000)) }
    }
  }
}
