// HTTP: the room of requests to a cluster: its members' addresses, the log-in, requests and streams
// (encrypted over URLSession, to this computer over a socket), what a failure means, and the source
// for the library's driver.
//
// HTTP may use: Log, Presence, State, Wire.

import Foundation

/// The address of one member of an etcd cluster: a scheme, a host and perhaps a port, and nothing
/// else.
///
/// The scheme is `https`, because requests carry a password or a token. `http` is allowed only to
/// this computer (`127.0.0.1`, `::1`, `localhost`), and goes through no proxy.
///
/// On Linux only `http` is supported, because FoundationNetworking traps on an answer that ends
/// with trailers (Swift 6.3.1), and etcd ends each refusal so. A program on the same computer that
/// passes requests on over TLS helps, such as stunnel.
public struct EtcdAddress: Hashable, Sendable {
  /// "https://etcd-1.example.org:2379", "http://127.0.0.1:2379".
  public let text: String
  /// Whether it is this computer, without encryption.
  let isPlain: Bool
  /// The host without a port, and without brackets.
  let host: String
  /// The port; if none is given, the scheme's.
  let port: UInt16

  private static let loopback = ["127.0.0.1", "::1", "localhost"]

  /// - Parameter text: as an administrator writes it; a slash at the end is ignored.
  public init(_ text: String) throws(EtcdConnectionError) {
    guard !text.contains("%"), let parts = URLComponents(string: text),
      let scheme = parts.scheme?.lowercased(), let name = parts.host?.lowercased(),
      parts.user == nil, parts.password == nil, parts.query == nil, parts.fragment == nil,
      ["", "/"].contains(parts.path)
    else { throw .malformedAddress }
    let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
    host = isBracketed ? String(name.dropFirst().dropLast()) : name
    // Only names and addresses remain, so nobody reads the URL in another way.
    let isNumber = host.contains(":")
    let letters = isNumber ? "0123456789abcdef:." : "0123456789abcdefghijklmnopqrstuvwxyz.-_"
    guard !host.isEmpty, host.allSatisfy({ letters.contains($0) }) else {
      throw .malformedAddress
    }
    let given = parts.port ?? (scheme == "http" ? 80 : 443)
    guard (1...65_535).contains(given) else { throw .malformedAddress }
    port = UInt16(given)
    switch scheme {
    case "https": isPlain = false
    case "http":
      guard EtcdAddress.loopback.contains(host) else { throw .insecureAddress }
      isPlain = true
    default: throw .malformedAddress
    }
    let suffix = parts.port.map { ":\($0)" } ?? ""
    self.text = "\(scheme)://" + (isNumber ? "[\(host)]" : host) + suffix
  }

  /// The host and the port, as requests name them.
  var authority: String { String(text.split(separator: "//", maxSplits: 1)[1]) }

  func url(_ path: String) -> URL {
    guard let url = URL(string: text + path) else { preconditionFailure("an address is no URL") }
    return url
  }
}

extension EtcdAddress: CustomStringConvertible {
  public var description: String { text }
}

/// The reason why a connection cannot be made. Nothing was sent.
public enum EtcdConnectionError: Error, Hashable, Sendable {
  /// There is no address of a member.
  case noAddress
  /// The text is not `https://` with a host and perhaps a port, and nothing more.
  case malformedAddress
  /// Without encryption, anyone on the way could read the password.
  case insecureAddress
  /// On Linux, `https` is not supported (``EtcdAddress``).
  case unsupportedAddress
  /// The prefix begins with a zero byte or is empty: it would share keys with others.
  case malformedPrefix
}

/// A user of a cluster, with a password.
///
/// Nothing shows either: no description, no dump, no reflection, and it is not `Codable`. The app
/// decides where to keep the password.
public struct EtcdLogin: Equatable, Sendable {
  let user: String
  let password: String

  /// Creates a log-in from what the user types.
  public init(user: String, password: String) {
    self.user = user
    self.password = password
  }
}

extension EtcdLogin: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "a log-in" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
