/// The bytes of one answer, how fast they may be sent, and what follows them.
struct Transmission: Equatable {
  enum Ending: Equatable {
    /// The next request may come.
    case next
    /// The connection is closed in order.
    case close
    case reset
    /// Nothing more is sent.
    case silence
  }

  struct Pace: Equatable {
    var bytes: Int
    var pause: Duration
  }

  private(set) var bytes: [UInt8]
  private(set) var sent = 0
  let ending: Ending
  let pace: Pace?
  /// The bytes before this offset may be sent now.
  private var allowed: Int

  private init(bytes: [UInt8], ending: Ending, pace: Pace? = nil) {
    self.bytes = bytes
    self.ending = ending
    self.pace = pace
    allowed = min(pace?.bytes ?? bytes.count, bytes.count)
  }

  /// - Parameter manner: the request's; `nil` if it was refused, and the connection is closed.
  init(_ answer: LoopbackServer.Response, manner: RequestManner?) {
    let response = answer.isWritable ? answer : .refusal(500)
    let keepsAlive = manner?.keepsAlive == true && !response.closes
    let (bytes, length) = response.bytes(manner: manner, keepsAlive: keepsAlive)
    let usual: Ending = keepsAlive ? .next : .close
    switch response.fault {
    case nil: self.init(bytes: bytes, ending: usual)
    case .cut(let count): self.init(bytes: Array(bytes.prefix(max(count, 0))), ending: .close)
    case .drip(let count, let pause):
      let pace = Pace(bytes: max(count, 1), pause: max(pause, .milliseconds(1)))
      self.init(bytes: bytes, ending: usual, pace: pace)
    case .reset(let count): self.init(bytes: Array(bytes.prefix(max(count, 0))), ending: .reset)
    case .halfOpen(let count):
      self.init(bytes: Array(bytes.prefix(max(count, 0))), ending: .silence)
    case .garbage(let garbage): self.init(bytes: garbage, ending: .close)
    case .contentLength(let said): self.init(bytes: bytes, ending: said > length ? .close : usual)
    }
  }

  /// Puts bytes before the answer.
  mutating func prepend(_ first: ArraySlice<UInt8>) {
    guard !first.isEmpty else { return }
    bytes.insert(contentsOf: first, at: 0)
    allowed += first.count
  }

  var isOver: Bool { sent == bytes.count }
  /// The bytes that may be sent now.
  var next: ArraySlice<UInt8> { bytes[sent..<allowed] }
  /// Whether it waits for its pace's next pause to end.
  var isPaused: Bool { sent == allowed && !isOver }

  mutating func advance(by count: Int) { sent += count }
  mutating func goOn() { allowed = min(allowed + (pace?.bytes ?? 0), bytes.count) }
}

extension LoopbackServer.Response {
  /// Returns the answer without its fault, except a wrong `Content-Length`, and the length of the
  /// body sent.
  fileprivate func bytes(
    manner: RequestManner?, keepsAlive: Bool
  ) -> (bytes: [UInt8], length: Int) {
    let isBodiless = status == 204 || status == 304
    let sentBody = manner?.isHead == true || isBodiless ? [] : body[...]
    var chunk = chunk.map { max($0, 1) }
    if manner?.knowsChunks != true { chunk = nil }
    if case .contentLength = fault { chunk = nil }

    var head = "HTTP/1.1 \(status) \(Reason.phrase(status))\r\n"
    for field in headers.fields {
      switch HTTPText.lowered(field.name.utf8) {
      case "content-length", "transfer-encoding", "connection": break
      default: head += "\(field.name): \(field.value)\r\n"
      }
    }
    if case .contentLength(let said) = fault {
      head += "Content-Length: \(said)\r\n"
    } else if isBodiless {
      // Neither status has a body, and a client must not wait for one.
    } else if chunk != nil {
      head += "Transfer-Encoding: chunked\r\n"
    } else {
      head += "Content-Length: \(body.count)\r\n"
    }
    if !keepsAlive { head += "Connection: close\r\n" }
    head += "\r\n"

    var bytes = Array(head.utf8)
    if let chunk, manner?.isHead != true, !isBodiless {
      var rest = sentBody
      while !rest.isEmpty {
        let part = rest.prefix(chunk)
        bytes += Array("\(String(part.count, radix: 16))\r\n".utf8) + part + [13, 10]
        rest = rest.dropFirst(chunk)
      }
      bytes += Array("0\r\n\r\n".utf8)
    } else {
      bytes += sentBody
    }
    return (bytes, sentBody.count)
  }
}
