/// What of a request decides how its answer is written, and what follows.
struct RequestManner: Equatable {
  var isHead: Bool
  /// HTTP/1.1.
  var knowsChunks: Bool
  var keepsAlive: Bool
}

/// Takes requests out of a stream of bytes, however it is cut (RFC 9112). What could be read in two
/// ways is refused, for a proxy before us might read the other.
struct RequestParser {
  enum Progress: Equatable {
    /// Nothing is whole yet.
    case needsMore
    /// Nor is it here, and the client waits for a word before it sends the body.
    case awaitsContinue
    case request(LoopbackServer.Request, RequestManner)
    /// It is not accepted, with this status, and nothing after it is understood.
    case refused(Int)
  }

  private enum Stage {
    case head
    /// The reader stands beside this, so that its body is never copied.
    case body(RequestHead)
    case refused(Int)
  }

  private let headLimit: Int
  private let bodyLimit: Int
  private let connection: Int
  private var stage = Stage.head
  private var reader: BodyReader?
  private var buffer: [UInt8] = []
  /// What is before it was understood.
  private var position = 0
  /// The lines of a head that are whole, by their places in the buffer, and how far it was looked for
  /// more.
  private var lines: [Range<Int>] = []
  private var scanned = 0
  private var hasSkippedEmptyLine = false

  init(headLimit: Int, bodyLimit: Int, connection: Int) {
    self.headLimit = headLimit
    self.bodyLimit = bodyLimit
    self.connection = connection
  }

  /// How many bytes are here that were not understood yet.
  var buffered: Int { buffer.count - position }

  /// Whether a request has begun.
  var isWithin: Bool {
    if case .head = stage { buffered > 0 } else { true }
  }

  mutating func append(_ bytes: some Collection<UInt8>) {
    if case .refused = stage { return }
    if lines.isEmpty, position > 0 {
      // What was understood is dropped; a head's lines must not move.
      buffer.removeFirst(position)
      scanned -= position
      position = 0
    }
    buffer += bytes
  }

  /// The next request, as far as it is here. To be asked again after a request; and after `append`.
  mutating func next() -> Progress {
    switch stage {
    case .refused(let status): return .refused(status)
    case .body(let head): return readBody(of: head, isNew: false)
    case .head:
      do throws(Refusal) {
        guard try scanHead() else { return .needsMore }
        let head = try RequestHead(lines.map { buffer[$0] })
        reader = try BodyReader(head.framing, limit: bodyLimit, trailerLimit: headLimit)
        lines = []
        hasSkippedEmptyLine = false
        return readBody(of: head, isNew: true)
      } catch {
        return refuse(error)
      }
    }
  }

  private mutating func refuse(_ refusal: Refusal) -> Progress {
    stage = .refused(refusal.status)
    (reader, buffer, position, lines) = (nil, [], 0, [])
    return .refused(refusal.status)
  }

  /// Looks for the empty line that ends a head. A line ends with CR and LF together, nowhere else.
  private mutating func scanHead() throws(Refusal) -> Bool {
    var line = lines.last.map { $0.upperBound + 2 } ?? position
    while scanned < buffer.count {
      let byte = buffer[scanned]
      if byte == HTTPText.carriageReturn {
        guard scanned + 1 < buffer.count else { break }
        guard buffer[scanned + 1] == HTTPText.lineFeed else { throw .malformed }
        let range = line..<scanned
        scanned += 2
        line = scanned
        if !range.isEmpty {
          lines.append(range)
        } else if !lines.isEmpty {
          guard scanned - position <= headLimit else { throw .headTooLarge }
          position = scanned
          return true
        } else {
          // One empty line before a request is tolerated (RFC 9112, 2.2).
          guard !hasSkippedEmptyLine else { throw .malformed }
          hasSkippedEmptyLine = true
          position = scanned
        }
      } else {
        // Bytes that no head has are told at once: a client that speaks TLS need not wait to be told.
        guard HTTPText.isValue(byte) else { throw .malformed }
        scanned += 1
      }
    }
    guard scanned - position <= headLimit else { throw .headTooLarge }
    return false
  }

  private mutating func readBody(of head: RequestHead, isNew: Bool) -> Progress {
    do throws(Refusal) {
      let taken = try reader?.read(buffer[position...]) ?? 0
      position += taken
      guard let body = reader?.wholeBody else {
        stage = .body(head)
        return isNew && head.expectsContinue && buffered == 0 && taken == 0
          ? .awaitsContinue : .needsMore
      }
      (stage, reader, scanned) = (.head, nil, position)
      let request = LoopbackServer.Request(
        method: head.method, target: head.target, place: head.place, headers: head.headers,
        body: body, connection: connection)
      return .request(request, head.manner)
    } catch {
      return refuse(error)
    }
  }
}

/// Why a request is not accepted.
enum Refusal: Error {
  case malformed
  case bodyTooLarge
  case headTooLarge
  case unknownExpectation
  case notImplemented
  case unknownVersion

  var status: Int {
    switch self {
    case .malformed: 400
    case .bodyTooLarge: 413
    case .unknownExpectation: 417
    case .headTooLarge: 431
    case .notImplemented: 501
    case .unknownVersion: 505
    }
  }
}
