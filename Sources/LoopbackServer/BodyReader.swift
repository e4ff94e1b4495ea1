/// Reads a request's body from a stream of bytes, by its length or chunk by chunk.
struct BodyReader {
  private enum Stage {
    /// The number of body bytes still to come.
    case length(Int)
    /// The line with the next chunk's size comes next.
    case size
    /// The number of this chunk's bytes still to come.
    case chunk(Int)
    /// The line end after a chunk.
    case chunkEnd
    /// The lines after the last chunk, which are checked and dropped. The number is the bytes read
    /// so far.
    case trailers(Int)
    case over
  }

  /// The most bytes in the line with a chunk's size. Its extensions are ignored.
  static let sizeLineLimit = 1024

  private var body: [UInt8] = []
  private var stage: Stage
  private let limit: Int
  private let trailerLimit: Int

  init(_ framing: RequestHead.Framing, limit: Int, trailerLimit: Int) throws(Refusal) {
    self.limit = limit
    self.trailerLimit = trailerLimit
    switch framing {
    case .length(0): stage = .over
    case .length(let length):
      guard length <= limit else { throw .bodyTooLarge }
      stage = .length(length)
    case .chunked: stage = .size
    case .tooLong: throw .bodyTooLarge
    }
  }

  /// The body once its last byte has arrived; `nil` until then.
  var wholeBody: [UInt8]? {
    if case .over = stage { body } else { nil }
  }

  /// Reads as much as possible, and returns the number of bytes taken. The next call must begin
  /// with the bytes that were not taken, and more after them.
  mutating func read(_ bytes: ArraySlice<UInt8>) throws(Refusal) -> Int {
    var rest = bytes
    var goesOn = true
    while goesOn {
      switch stage {
      case .over: goesOn = false
      case .length(let left):
        let part = rest.prefix(left)
        body += part
        rest = rest.dropFirst(part.count)
        stage = part.count == left ? .over : .length(left - part.count)
        goesOn = part.count == left
      case .chunk(let left):
        let part = rest.prefix(left)
        body += part
        rest = rest.dropFirst(part.count)
        stage = part.count == left ? .chunkEnd : .chunk(left - part.count)
        goesOn = part.count == left
      case .chunkEnd:
        guard try Self.line(&rest, limit: 0) != nil else {
          return rest.startIndex - bytes.startIndex
        }
        stage = .size
      case .size:
        guard let line = try Self.line(&rest, limit: Self.sizeLineLimit) else {
          return rest.startIndex - bytes.startIndex
        }
        let size = try Self.size(line)
        guard size <= limit - body.count else { throw .bodyTooLarge }
        stage = size == 0 ? .trailers(0) : .chunk(size)
      case .trailers(let read):
        guard let line = try Self.line(&rest, limit: trailerLimit - read, else: .headTooLarge)
        else {
          return rest.startIndex - bytes.startIndex
        }
        if !line.isEmpty { _ = try RequestHead.field(line) }
        stage = line.isEmpty ? .over : .trailers(read + line.count + 2)
      }
    }
    return rest.startIndex - bytes.startIndex
  }

  /// Returns the next line without its end, or `nil` if it is not complete yet. Only CR LF ends a
  /// line; a CR or LF alone is refused.
  private static func line(
    _ rest: inout ArraySlice<UInt8>, limit: Int, else refusal: Refusal = .malformed
  ) throws(Refusal) -> ArraySlice<UInt8>? {
    for index in rest.indices {
      let byte = rest[index]
      guard byte == HTTPText.carriageReturn else {
        guard HTTPText.isValue(byte) else { throw .malformed }
        guard index - rest.startIndex < limit else { throw refusal }
        continue
      }
      guard index + 1 < rest.endIndex else { return nil }
      guard rest[index + 1] == HTTPText.lineFeed else { throw .malformed }
      let line = rest[..<index]
      rest = rest[(index + 2)...]
      return line
    }
    return nil
  }

  /// Parses a chunk's size: hexadecimal digits, then optional extensions after a semicolon.
  private static func size(_ line: ArraySlice<UInt8>) throws(Refusal) -> Int {
    let word = line.prefix { $0 != UInt8(ascii: ";") }
    // A blank is allowed only before an extension.
    let digits =
      word.endIndex == line.endIndex ? word : word.prefix { HTTPText.hexadecimal($0) != nil }
    guard !digits.isEmpty, HTTPText.trimmed(word[digits.endIndex...]).isEmpty else {
      throw .malformed
    }
    var size = 0
    for byte in digits {
      guard let digit = HTTPText.hexadecimal(byte) else { throw .malformed }
      guard size < Int.max >> 8 else { throw .bodyTooLarge }
      size = size << 4 | Int(digit)
    }
    return size
  }
}
