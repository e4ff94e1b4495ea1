import Foundation

/// Reads one HTTP/1.1 answer as its bytes come. A plain value.
///
/// It knows what etcd sends: a length, chunks with trailers after the last one, or a body that ends
/// with the connection. Trailers are dropped.
struct EtcdHTTPReader {
  /// The answer is no HTTP/1, or breaks its rules.
  struct Malformed: Error, Hashable {}

  /// What bytes of an answer bring.
  enum Part: Hashable {
    case head(EtcdExchange.Head)
    case body([UInt8])
    case end
  }

  private enum State {
    case head
    case length(Int)
    case chunkSize
    case chunk(Int)
    /// The end of a line that follows a chunk.
    case chunkEnd
    case trailers
    case untilClosed
    case over
  }

  private var state = State.head
  /// Bytes of a line or a head that has not come whole.
  private var pending: [UInt8] = []
  private var headBytes = 0

  /// The longest head, and the longest line of a chunk or a trailer.
  private static let lineMaximum = 64 << 10

  /// Takes bytes. Bytes after the end are dropped.
  mutating func take(_ bytes: some Collection<UInt8>) throws(Malformed) -> [Part] {
    pending += bytes
    var parts: [Part] = []
    while try step(&parts) {}
    guard pending.count <= EtcdHTTPReader.lineMaximum else { throw Malformed() }
    return parts
  }

  /// Takes the end of the connection. Returns whether the answer is whole.
  mutating func close() -> Bool {
    switch state {
    case .untilClosed:
      state = .over
      return true
    case .over: return true
    case .head, .length, .chunkSize, .chunk, .chunkEnd, .trailers: return false
    }
  }

  /// Takes the next part, if enough has come. Returns whether to go on.
  private mutating func step(_ parts: inout [Part]) throws(Malformed) -> Bool {
    switch state {
    case .head: return try takeHead(&parts)
    case .length(let left):
      guard let count = takeBody(left, &parts) else { return false }
      state = .length(left - count)
      if left == count { end(&parts) }
    case .chunkSize:
      guard let line = takeLine() else { return false }
      guard let size = EtcdHTTPReader.hexadecimal(line.prefix { $0 != UInt8(ascii: ";") }) else {
        throw Malformed()
      }
      state = size == 0 ? .trailers : .chunk(size)
    case .chunk(let left):
      guard let count = takeBody(left, &parts) else { return false }
      state = left == count ? .chunkEnd : .chunk(left - count)
    case .chunkEnd:
      guard let line = takeLine() else { return false }
      guard line.isEmpty else { throw Malformed() }
      state = .chunkSize
    case .trailers:
      guard let line = takeLine() else { return false }
      if line.isEmpty { end(&parts) }
    case .untilClosed:
      guard takeBody(.max, &parts) != nil else { return false }
    case .over:
      pending = []
      return false
    }
    return true
  }

  private mutating func end(_ parts: inout [Part]) {
    state = .over
    parts.append(.end)
  }

  /// Returns how much was taken; `nil`: there is nothing.
  private mutating func takeBody(_ left: Int, _ parts: inout [Part]) -> Int? {
    guard !pending.isEmpty else { return nil }
    let count = min(left, pending.count)
    parts.append(.body(Array(pending[..<count])))
    pending.removeFirst(count)
    return count
  }

  /// Returns a line without its end; `nil`: it has not come whole.
  private mutating func takeLine() -> [UInt8]? {
    guard let end = pending.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    var line = Array(pending[..<end])
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    pending.removeFirst(end + 1)
    return line
  }

  private mutating func takeHead(_ parts: inout [Part]) throws(Malformed) -> Bool {
    guard let end = EtcdHTTPReader.headEnd(pending) else { return false }
    let lines = pending[..<end].split(separator: UInt8(ascii: "\n")).map { line in
      String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
    }
    pending.removeFirst(end)
    let words = (lines.first ?? "").split(separator: " ", maxSplits: 2)
    guard words.count >= 2, words[0] == "HTTP/1.1" || words[0] == "HTTP/1.0",
      let status = Int(words[1]), (100...599).contains(status)
    else { throw Malformed() }
    if status < 200 { return true }  // Only tells that more comes.
    var fields: [String: String] = [:]
    for line in lines.dropFirst() where !line.isEmpty {
      guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else {
        throw Malformed()
      }
      let name = line[..<colon].lowercased()
      let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      let former = fields.updateValue(value, forKey: name)
      if name == "content-length", let former, former != value { throw Malformed() }
    }
    parts.append(
      .head(
        EtcdExchange.Head(
          status: status, type: fields["content-type"], retryAfter: fields["retry-after"],
          date: fields["date"])))
    try begin(
      chunks: fields["transfer-encoding"], length: fields["content-length"], status, &parts)
    return true
  }

  private mutating func begin(
    chunks: String?, length: String?, _ status: Int, _ parts: inout [Part]
  ) throws(Malformed) {
    if status == 204 || status == 304 { return end(&parts) }
    if let chunks {
      guard chunks.lowercased() == "chunked" else { throw Malformed() }
      state = .chunkSize
    } else if let length {
      guard let count = Int(length), count >= 0 else { throw Malformed() }
      state = .length(count)
      if count == 0 { end(&parts) }
    } else {
      state = .untilClosed
    }
  }

  /// The index after the empty line that ends a head; `nil`: it has not come.
  private static func headEnd(_ bytes: [UInt8]) -> Int? {
    var lineLength = 1
    for (index, byte) in bytes.enumerated() {
      if byte == UInt8(ascii: "\n") {
        if lineLength == 0, index > 1 { return index + 1 }
        lineLength = 0
      } else if byte != UInt8(ascii: "\r") {
        lineLength += 1
      }
    }
    return nil
  }

  private static func hexadecimal(_ digits: some Collection<UInt8>) -> Int? {
    let text = String(decoding: digits, as: UTF8.self).filter { $0 != " " }
    guard !text.isEmpty, text.utf8.count <= 8, text.allSatisfy({ $0.isHexDigit }) else {
      return nil
    }
    return Int(text, radix: 16)
  }
}
