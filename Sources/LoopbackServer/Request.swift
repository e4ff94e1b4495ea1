extension LoopbackServer {
  /// A complete request. The closure gets it when its last byte has arrived.
  ///
  /// Its description and its dumps show method and path. They never show values of the query, a
  /// header or a body.
  public struct Request: Equatable, Sendable {
    /// The method as it was sent. Case matters.
    public let method: String
    /// The target as it was sent: `/path?query`, `http://host/path?query`, or `*`.
    public let target: String
    /// The header fields in the order in which they came.
    public let headers: Headers
    /// The whole body, without the framing of chunks; empty if there is none.
    public let body: [UInt8]
    /// The number of the connection that it came on, in order of acceptance. 1 is the first.
    public let connection: Int

    /// The decoded path; `/` if there is none, `*` for a request about the server as a whole.
    public let path: String
    /// The parts of the path between slashes, each decoded on its own: `%2F` does not separate
    /// parts. Empty parts are left out.
    public let segments: [String]
    /// The fields after the question mark.
    public let query: Form

    /// - Returns: `nil` if the target is malformed.
    public init?(
      method: String, target: String, headers: Headers = [:], body: [UInt8] = [],
      connection: Int = 1
    ) {
      guard let place = Target(target) else { return nil }
      self.init(
        method: method, target: target, place: place, headers: headers, body: body,
        connection: connection)
    }

    init(
      method: String, target: String, place: Target, headers: Headers, body: [UInt8],
      connection: Int
    ) {
      self.method = method
      self.target = target
      self.headers = headers
      self.body = body
      self.connection = connection
      path = place.path
      segments = place.segments
      query = place.query
    }

    /// The fields of a form's body; `nil` if it is malformed, or if its content type is not a
    /// form's.
    public var form: Form? {
      let type = headers["content-type"].map { $0.utf8.prefix { $0 != UInt8(ascii: ";") } }
      guard let type,
        HTTPText.lowered(HTTPText.trimmed(type)) == "application/x-www-form-urlencoded"
      else { return nil }
      return Form(encoded: body)
    }

    /// The body as UTF-8; invalid bytes are replaced.
    public var text: String { String(decoding: body, as: UTF8.self) }
  }

  /// The parts of a request's target.
  struct Target {
    let path: String
    let segments: [String]
    let query: Form

    /// - Returns: `nil` if a byte is not allowed, or a percent escape is malformed.
    init?(_ text: String) {
      guard !text.isEmpty, text.utf8.allSatisfy({ HTTPText.isTarget($0) }) else { return nil }
      var rest = text.utf8[...]
      if rest.first != UInt8(ascii: "/"), text != "*" {
        // The form that clients send to a proxy. Every server must understand it (RFC 9112, 3.2.2).
        guard HTTPText.lowered(rest.prefix(7)) == "http://" else { return nil }
        rest = rest.dropFirst(7).drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
      }
      let path = rest.prefix { $0 != UInt8(ascii: "?") }
      var segments: [String] = []
      for part in path.split(separator: UInt8(ascii: "/")) {
        guard let part = HTTPText.percentDecoded(part, plusIsSpace: false) else { return nil }
        segments.append(part)
      }
      guard let decoded = HTTPText.percentDecoded(path, plusIsSpace: false),
        let query = Form(encoded: rest[path.endIndex...].dropFirst())
      else { return nil }
      self.path = decoded.isEmpty ? "/" : decoded
      self.segments = segments
      self.query = query
    }
  }
}

extension LoopbackServer.Request: CustomStringConvertible, CustomReflectable {
  /// `GET /api/v1/events`. The path stays encoded, so it cannot contain control characters.
  public var description: String { "\(method) \(target.prefix { $0 != "?" })" }
  public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
