extension LoopbackServer {
  /// What is answered, and what goes wrong on the way.
  ///
  /// The server frames it: it says `Content-Length` or `Transfer-Encoding`, and whether the connection
  /// goes on; what ``headers`` says of these is left out, but that `Connection: close` closes. There is
  /// no `Date`. What cannot be sent (a status outside 200 to 599, a header with a line break in it) is
  /// answered with 500.
  public struct Response: Equatable, Sendable {
    public var status: Int
    public var headers: Headers
    /// Not sent in answer to HEAD, which tells its length, and with 204 and 304.
    public var body: [UInt8]
    /// The body is sent in chunks of so many bytes; `nil`: with a `Content-Length`. HTTP/1.0 knows
    /// no chunks, and gets none.
    public var chunk: Int?
    /// How long the server waits before it sends the first byte, for ``Settings/delayTime`` at most.
    public var delay: Duration
    /// What becomes of the bytes; `nil`: they are sent as they should be.
    public var fault: Fault?

    public init(
      status: Int = 200, headers: Headers = [:], body: [UInt8] = [], chunk: Int? = nil,
      delay: Duration = .zero, fault: Fault? = nil
    ) {
      self.status = status
      self.headers = headers
      self.body = body
      self.chunk = chunk
      self.delay = delay
      self.fault = fault
    }

    /// A text, as `text/plain` unless said otherwise.
    public static func text(
      _ text: String, status: Int = 200, type: String = "text/plain; charset=utf-8"
    ) -> Response {
      Response(status: status, headers: ["Content-Type": type], body: Array(text.utf8))
    }

    /// A text that is JSON.
    public static func json(_ text: String, status: Int = 200) -> Response {
      .text(text, status: status, type: "application/json")
    }

    /// The same, later.
    public func delayed(by delay: Duration) -> Response {
      var response = self
      response.delay = delay
      return response
    }

    /// The same, with something going wrong.
    public func with(_ fault: Fault) -> Response {
      var response = self
      response.fault = fault
      return response
    }
  }

  /// What goes wrong with one answer, byte by byte. A number of bytes counts from the first of the
  /// status line; below 0 it is 0, and beyond the end it is the whole.
  public enum Fault: Equatable, Sendable {
    /// Only the first bytes are sent, then the connection is closed in order (FIN).
    case cut(after: Int)
    /// So many bytes are sent at once, at least one, and then again after each such time, which
    /// ``LoopbackServer/Settings/delayTime`` bounds.
    case drip(bytes: Int, every: Duration)
    /// The connection is reset (RST) when so many bytes have left.
    case reset(after: Int)
    /// After so many bytes nothing more is said, and the connection stays until the client goes away or
    /// the server stops. With 0 it never answers.
    case halfOpen(after: Int)
    /// These bytes are sent in place of the answer, then the connection is closed in order.
    case garbage([UInt8])
    /// This is said to be the body's length, whatever it is. If it is less, the rest stands where the
    /// next answer should begin; if it is more, the connection is closed at the body's end.
    case contentLength(Int)
  }
}

extension LoopbackServer.Response: CustomStringConvertible, CustomReflectable {
  /// `200, 15 bytes`: bodies and headers may be secrets.
  public var description: String {
    "\(status), \(body.count) bytes" + (fault.map { ", \($0)" } ?? "")
  }
  public var customMirror: Mirror { Mirror(self, children: ["response": description]) }
}

extension LoopbackServer.Fault: CustomStringConvertible {
  public var description: String {
    switch self {
    case .cut(let count): "cut after \(count)"
    case .drip(let bytes, let pause): "drip \(bytes) every \(pause)"
    case .reset(let count): "reset after \(count)"
    case .halfOpen(let count): "half-open after \(count)"
    case .garbage(let bytes): "garbage, \(bytes.count) bytes"
    case .contentLength(let count): "Content-Length \(count)"
    }
  }
}

extension LoopbackServer.Response {
  /// The server's own answer to what it does not accept.
  static func refusal(_ status: Int) -> Self {
    .text("\(status) \(Reason.phrase(status))\n", status: status)
  }

  /// Whether its head can be written without becoming something else.
  var isWritable: Bool {
    (200...599).contains(status)
      && headers.fields.allSatisfy {
        HTTPText.isToken($0.name.utf8) && $0.value.utf8.allSatisfy { HTTPText.isValue($0) }
      }
  }

  var closes: Bool { headers.list("connection").contains("close") }
}

/// The words beside a status, which mean nothing to a client.
enum Reason {
  static func phrase(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 204: "No Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 304: "Not Modified"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 413: "Content Too Large"
    case 417: "Expectation Failed"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    default: "Status"
    }
  }
}
