extension LoopbackServer {
  /// An answer, and the fault to inject while it is sent.
  ///
  /// The server frames it: it writes `Content-Length` or `Transfer-Encoding`, and `Connection`.
  /// Values of these in ``headers`` are ignored, except that `Connection: close` closes. There is
  /// no `Date`. A response that cannot be sent is replaced by a 500: its status is outside 200 to
  /// 599, or a header contains a line break.
  public struct Response: Equatable, Sendable {
    /// The status code. Outside 200 to 599, a 500 is sent instead.
    public var status: Int
    /// The header fields, sent in this order.
    public var headers: Headers
    /// The body. It is not sent with 204, with 304, or in answer to HEAD, which still gets its
    /// length.
    public var body: [UInt8]
    /// The size of the chunks in which the body is sent; `nil` for a `Content-Length`. HTTP/1.0
    /// clients get no chunks.
    public var chunk: Int?
    /// The wait before the first byte is sent, ``Settings/delayTime`` at most.
    public var delay: Duration
    /// The fault to inject; `nil` for none.
    public var fault: Fault?

    /// Creates an answer; by default an empty 200 at once, without a fault.
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

    /// Returns a text, by default as `text/plain`.
    public static func text(
      _ text: String, status: Int = 200, type: String = "text/plain; charset=utf-8"
    ) -> Response {
      Response(status: status, headers: ["Content-Type": type], body: Array(text.utf8))
    }

    /// Returns JSON.
    public static func json(_ text: String, status: Int = 200) -> Response {
      .text(text, status: status, type: "application/json")
    }

    /// Returns the same response with a delay.
    public func delayed(by delay: Duration) -> Response {
      var response = self
      response.delay = delay
      return response
    }

    /// Returns the same response with a fault.
    public func with(_ fault: Fault) -> Response {
      var response = self
      response.fault = fault
      return response
    }
  }

  /// A fault that is injected into one answer. Numbers of bytes count from the start of the status
  /// line. Below 0 means 0; beyond the end means the whole answer.
  public enum Fault: Equatable, Sendable {
    /// Sends only the first bytes, then closes the connection in order (FIN).
    case cut(after: Int)
    /// Sends `bytes` at a time, at least one, with a pause of `every` between.
    /// ``LoopbackServer/Settings/delayTime`` bounds the pause.
    case drip(bytes: Int, every: Duration)
    /// Resets the connection (RST) after this many bytes.
    case reset(after: Int)
    /// Sends nothing after this many bytes. The connection stays open until the client goes away or
    /// the server stops. With 0 it never answers.
    case halfOpen(after: Int)
    /// Sends these bytes in place of the answer, then closes the connection in order.
    case garbage([UInt8])
    /// Sends this number as `Content-Length`, true or not. If it is too small, the rest of the body
    /// stands where the next answer should begin. If it is too large, the connection is closed
    /// after the body.
    case contentLength(Int)
  }
}

extension LoopbackServer.Response: CustomStringConvertible, CustomReflectable {
  /// `200, 15 bytes`. Bodies and headers may be secrets.
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
  /// The server's own answer to a request that it refuses.
  static func refusal(_ status: Int) -> Self {
    .text("\(status) \(Reason.phrase(status))\n", status: status)
  }

  /// Whether the head can be written safely, without header injection.
  var isWritable: Bool {
    (200...599).contains(status)
      && headers.fields.allSatisfy {
        HTTPText.isToken($0.name.utf8) && $0.value.utf8.allSatisfy { HTTPText.isValue($0) }
      }
  }

  var closes: Bool { headers.list("connection").contains("close") }
}

/// The reason phrases of statuses. Clients ignore them.
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
