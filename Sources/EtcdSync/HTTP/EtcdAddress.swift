// HTTP: the room of requests to a cluster: its members' addresses, the log-in, requests and streams
// over URLSession, what a failure means, and the source for the library's driver.
//
// HTTP may use: Log, State, Wire.

import Foundation
import HTTPSync

/// The address of one member of an etcd cluster: a scheme, a host and perhaps a port, and nothing
/// else.
///
/// The scheme is `https`, because requests carry a password or a token. `http` is allowed only to
/// this computer (`127.0.0.1`, `::1`, `localhost`). On Linux no request can go to an IPv6 address
/// (Swift 6.3); a name with IPv6 addresses works.
public struct EtcdAddress: Hashable, Sendable {
  /// "https://etcd-1.example.org:2379", "http://127.0.0.1:2379".
  public let text: String
  /// Whether it is this computer, without encryption.
  let isPlain: Bool
  /// The host without a port.
  let host: String

  private static let loopback = ["127.0.0.1", "::1", "localhost"]

  /// - Parameter text: as an administrator writes it; a slash at the end is ignored.
  public init(_ text: String) throws(EtcdConnectionError) {
    guard !text.contains("%"), let parts = URLComponents(string: text),
      let scheme = parts.scheme?.lowercased(), let given = parts.host?.lowercased(),
      parts.user == nil, parts.password == nil, parts.query == nil, parts.fragment == nil,
      ["", "/"].contains(parts.path)
    else { throw .malformedAddress }
    let isBracketed = given.hasPrefix("[") && given.hasSuffix("]")
    host = isBracketed ? String(given.dropFirst().dropLast()) : given
    // Only names and addresses remain, so nobody reads the URL in another way.
    let isNumber = host.contains(":")
    let letters = isNumber ? "0123456789abcdef:." : "0123456789abcdefghijklmnopqrstuvwxyz.-_"
    guard !host.isEmpty, host.allSatisfy({ letters.contains($0) }) else {
      throw .malformedAddress
    }
    if let port = parts.port, !(1...65_535).contains(port) { throw .malformedAddress }
    switch scheme {
    case "https": isPlain = false
    case "http":
      guard EtcdAddress.loopback.contains(host) else { throw .insecureAddress }
      isPlain = true
    default: throw .malformedAddress
    }
    let port = parts.port.map { ":\($0)" } ?? ""
    self.text = "\(scheme)://" + (isNumber ? "[\(host)]" : host) + port
  }

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
  /// The environment sends unencrypted requests for this computer to a proxy (`http_proxy` or
  /// `all_proxy`). Name the host in `no_proxy`.
  case proxiedAddress
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

extension EtcdAddress {
  /// Whether unencrypted requests would go to a proxy despite URLSession's configuration:
  /// FoundationNetworking obeys the environment, as libcurl reads it.
  func isProxied(_ environment: [String: String]) -> Bool {
    #if canImport(FoundationNetworking)
      guard isPlain else { return false }
      let proxies = ["http_proxy", "all_proxy", "ALL_PROXY"]
      guard proxies.contains(where: { !(environment[$0] ?? "").isEmpty }) else { return false }
      let names = ["no_proxy", "NO_PROXY"].compactMap { environment[$0] }
      guard let excepted = names.first(where: { !$0.isEmpty }) else { return true }
      if excepted == "*" { return false }
      return !excepted.split { $0 == "," || $0 == " " }.contains { $0.lowercased() == host }
    #else
      return false
    #endif
  }
}
