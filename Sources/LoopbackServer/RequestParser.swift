/// The properties of a request that decide how its answer is framed, and whether the connection
/// stays.
struct RequestManner: Equatable {
  var isHead: Bool
  /// The client speaks HTTP/1.1.
  var knowsChunks: Bool
  var keepsAlive: Bool
}

/// An incremental parser of requests from a stream of bytes, however it is cut (RFC 9112). It
/// refuses whatever could be read in two ways: a proxy in front might read it the other way.
struct RequestParser {
  enum Progress: Equatable {
    /// The request is not complete yet.
    case needsMore
    /// Only the head has arrived, and the client waits for `100 Continue` before it sends the body.
    case awaitsContinue
    case request(LoopbackServer.Request, RequestManner)
    /// The request is refused with this status, and nothing after it is read.
    case refused(Int)
  }

  private enum Stage {
    case head
    /// The reader is a separate property, so that its body is never copied.
    case body(RequestHead)
    case refused(Int)
  }

  private let headLimit: Int
  private let bodyLimit: Int
  private let connection: Int
  private var stage = Stage.head
  private var reader: BodyReader?
  private var buffer: [UInt8] = []
  /// The start of the bytes that are not parsed yet.
  private var position = 0
  /// The complete lines of the current head, as ranges of the buffer, and how far the buffer was
  /// searched.
  private var lines: [Range<Int>] = []
  private var scanned = 0
  private var hasSkippedEmptyLine = false

  init(headLimit: Int, bodyLimit: Int, connection: Int) {
    self.headLimit = headLimit
    self.bodyLimit = bodyLimit
    self.connection = connection
  }

  /// The number of bytes that are not parsed yet.
  var buffered: Int { buffer.count - position }

  /// Whether a request has begun.
  var isWithin: Bool {
    if case .head = stage { buffered > 0 } else { true }
  }

  mutating func append(_ bytes: some Collection<UInt8>) {
    if case .refused = stage { return }
    if lines.isEmpty, position > 0 {
      // Drops the parsed bytes. The lines of an unfinished head must not move.
      buffer.removeFirst(position)
      scanned -= position
      position = 0
    }
    buffer += bytes
  }

  /// Parses the next request. Call it after `append`, and again after each request.
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

  /// Looks for the empty line that ends a head. Only CR LF ends a line.
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
        // Bytes that no head may contain are refused at once, so a client that speaks TLS does not
        // wait.
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

/// The reason why a request is refused.
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
