// HTTP: the room of what is sent to a Zulip server and of what comes back: the connection, each
// request with its typed answer, and the source for the library's driver. What an answer means,
// ServerAnswer says; when something is asked, the machine does.
//
// HTTP may use: JSON, State, Wire.

import Foundation

/// Where a Zulip server is: a scheme, a host and perhaps a port, and nothing else.
///
/// Only `https`, for the API key goes there with each request; `http` only to this computer itself
/// (`127.0.0.1`, `::1`, `localhost`). On Linux nothing can be sent to an address of IPv6, for
/// FoundationNetworking and libcurl do not agree on how it is written (Swift 6.3); to a name that has
/// such addresses it can.
public struct ZulipSite: Hashable, Sendable {
  /// "https://chat.example.org", "http://127.0.0.1:9991".
  public let text: String
  /// Whether it is this computer, reached without encryption.
  let isPlain: Bool

  private static let loopback = ["127.0.0.1", "::1", "localhost"]

  /// - Parameter text: as a user types it; a slash at the end is no matter.
  public init(_ text: String) throws(ZulipConnectionError) {
    let text = text.trimmingCharacters(in: .whitespaces)
    guard !text.contains("%"), let parts = URLComponents(string: text),
      let scheme = parts.scheme?.lowercased(),
      let given = parts.host?.lowercased(), parts.user == nil, parts.password == nil,
      parts.query == nil, parts.fragment == nil, ["", "/"].contains(parts.path)
    else { throw .malformedSite }
    let host =
      given.hasPrefix("[") && given.hasSuffix("]") ? given.dropFirst().dropLast() : given[...]
    // What is left are names and addresses. So nobody can read the URL in two ways.
    let isAddress = host.contains(":")
    let letters = isAddress ? "0123456789abcdef:." : "0123456789abcdefghijklmnopqrstuvwxyz.-_"
    guard !host.isEmpty, host.allSatisfy({ letters.contains($0) }) else { throw .malformedSite }
    if let port = parts.port, !(1...65_535).contains(port) { throw .malformedSite }
    switch scheme {
    case "https": isPlain = false
    case "http":
      guard ZulipSite.loopback.contains(String(host)) else { throw .insecureSite }
      isPlain = true
    default: throw .malformedSite
    }
    let port = parts.port.map { ":\($0)" } ?? ""
    self.text = "\(scheme)://" + (isAddress ? "[\(host)]" : String(host)) + port
  }

  /// The host without a port.
  var host: String {
    let rest = text.split(separator: "//", maxSplits: 1)[1]
    return rest.hasPrefix("[")
      ? String(rest.dropFirst().prefix { $0 != "]" }) : String(rest.prefix { $0 != ":" })
  }
}

extension ZulipSite: CustomStringConvertible {
  public var description: String { text }
}

/// Why there can be no connection. Nothing was sent.
public enum ZulipConnectionError: Error, Hashable, Sendable {
  /// No `https://` with a host and perhaps a port, and nothing more.
  case malformedSite
  /// Without encryption anybody on the way would see the key.
  case insecureSite
  /// The environment sends what is for this computer to a proxy, without encryption (`http_proxy`
  /// or `all_proxy`; name the host in `no_proxy`).
  case proxiedSite
  /// Nothing, or with a colon or a control character in it.
  case malformedEmail
  /// Nothing, or with a character in it that no key has.
  case malformedKey
}
