extension LoopbackServer {
  /// A whole request: it is given to the closure when its last byte is here.
  ///
  /// Its description shows method and path, and never a value of the query, a header or a body; nor
  /// does a dump of it.
  public struct Request: Equatable, Sendable {
    /// As it was sent; case matters.
    public let method: String
    /// As it was sent: `/path?query`, `http://host/path?query`, or `*`.
    public let target: String
    public let headers: Headers
    public let body: [UInt8]
    /// Which of the connections that the server accepted it came on: 1 is the first.
    public let connection: Int

    /// The path, decoded; `/` if there is none, `*` for a request about the server as a whole.
    public let path: String
    /// The parts of the path between its slashes, each decoded on its own: `%2F` is no slash here.
    /// Empty parts are left out.
    public let segments: [String]
    /// What comes after the question mark.
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

    /// The fields of a form's body; `nil` if it says that it is something else, or is malformed.
    public var form: Form? {
      let type = headers["content-type"].map { $0.utf8.prefix { $0 != UInt8(ascii: ";") } }
      guard let type,
        HTTPText.lowered(HTTPText.trimmed(type)) == "application/x-www-form-urlencoded"
      else { return nil }
      return Form(encoded: body)
    }

    /// The body as UTF-8, what is none replaced.
    public var text: String { String(decoding: body, as: UTF8.self) }
  }

  /// A request's target, taken apart.
  struct Target {
    let path: String
    let segments: [String]
    let query: Form

    /// - Returns: `nil` if there is a byte that must not be there, or a percent sign that means nothing.
    init?(_ text: String) {
      guard !text.isEmpty, text.utf8.allSatisfy({ HTTPText.isTarget($0) }) else { return nil }
      var rest = text.utf8[...]
      if rest.first != UInt8(ascii: "/"), text != "*" {
        // What a client says to a proxy, and every server must understand (RFC 9112, 3.2.2).
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
  /// `GET /api/v1/events`. The path is shown as it was sent, so that nothing in it can move a cursor.
  public var description: String { "\(method) \(target.prefix { $0 != "?" })" }
  public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
