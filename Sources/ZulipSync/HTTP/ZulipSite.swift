import Foundation

/// The address of a Zulip server: a scheme, a host and perhaps a port, and nothing else.
///
/// The scheme is `https`, because each request carries the API key. `http` is allowed only to this
/// computer (`127.0.0.1`, `::1`, `localhost`). On Linux no request can go to an IPv6 address,
/// because FoundationNetworking and libcurl disagree on how to write it (Swift 6.3). A name with
/// IPv6 addresses works.
public struct ZulipSite: Hashable, Sendable {
  /// "https://chat.example.org", "http://127.0.0.1:9991".
  public let text: String
  /// Whether it is this computer, without encryption.
  let isPlain: Bool

  private static let loopback = ["127.0.0.1", "::1", "localhost"]

  /// - Parameter text: as a user types it; a slash at the end is ignored.
  public init(_ text: String) throws(ZulipConnectionError) {
    let text = text.trimmingCharacters(in: .whitespaces)
    guard !text.contains("%"), let parts = URLComponents(string: text),
      let scheme = parts.scheme?.lowercased(),
      let given = parts.host?.lowercased(), parts.user == nil, parts.password == nil,
      parts.query == nil, parts.fragment == nil, ["", "/"].contains(parts.path)
    else { throw .malformedSite }
    let host =
      given.hasPrefix("[") && given.hasSuffix("]") ? given.dropFirst().dropLast() : given[...]
    // Only names and addresses remain, so the URL cannot be read in two ways.
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

/// The reason why a connection cannot be created. Nothing was sent.
public enum ZulipConnectionError: Error, Hashable, Sendable {
  /// The text is not `https://` with a host and perhaps a port, and nothing more.
  case malformedSite
  /// Without encryption, anyone on the way could read the key.
  case insecureSite
  /// The environment sends unencrypted requests for this computer to a proxy (`http_proxy` or
  /// `all_proxy`). Name the host in `no_proxy`.
  case proxiedSite
  /// Empty, or contains a colon, a blank or a control character.
  case malformedEmail
  /// Empty, or contains a character that no key has.
  case malformedKey
}
