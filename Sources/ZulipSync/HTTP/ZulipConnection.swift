// HTTP: the requests to a Zulip server and its answers: the connection, each request with its typed
// answer, and the source for the library's driver. ServerAnswer says what an answer means; the
// machine decides when to ask.
//
// HTTP may use: JSON, State, Wire.

import Foundation
import HTTPSync
public import UpdateMachine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A connection of one user to one Zulip server: requests as methods, with typed answers.
///
///     let site = try ZulipSite("https://chat.example.org")
///     let connection = try ZulipConnection(to: site, email: email, key: ZulipAPIKey(key))
///     let id = try await connection.send(.channel(general, topic: "lunch"), "At noon?")
///
/// Any other request of Zulip's API is made with ``ask(_:_:_:within:)``. The key comes from the
/// app, or from a ``ZulipLogin``.
///
/// **Failures.** Each request throws a ``ZulipFailure``, classified as in <doc:Answers>. It never
/// retries: that is up to the machine, or the app.
///
/// **Rate limits.** After the server has refused a request because there were too many, the next
/// ones leave one after the other, at the pace that it asked for. One that would have to wait
/// longer than 3 s (a waiting poll 20 s) is refused here, and does not leave.
///
/// **Time.** Each request has a deadline for its whole answer. At the deadline, or when the task is
/// cancelled, the connection is closed and the request ends at once.
///
/// **Work.** Answers are decoded off the caller's actor.
///
/// **Secrets.** The API key goes only to the site: redirections are not followed. There are no
/// cookies, no cache and no stored credentials. No description and no failure contains the key, or
/// any part of a request.
public final class ZulipConnection: Sendable {
  /// The server's address; the API key goes nowhere else.
  public let site: ZulipSite
  package let settings: ZulipSettings
  /// `nil` before the login, when there is no key yet.
  private let authorization: (@Sendable () -> String)?
  let transport: ZulipTransport
  private let clock: any DriverClock
  private let limits: ZulipRateLimits
  private let failures = LastFailure()

  /// The failure of the last request that failed and was not cancelled; `nil` if none has. It says
  /// more than the `SyncFailure` that a machine's state has of it.
  package var lastFailure: ZulipFailure? { failures.last }

  /// Creates a connection, and sends nothing.
  /// - Parameters:
  ///   - site: the server's address.
  ///   - email: the user's login.
  ///   - key: the user's key for this site.
  ///   - settings: limits and deadlines; the defaults suit most apps.
  ///   - clock: gives the current date, for answers that say until when to wait but have no `Date`,
  ///     and the pace of requests under a rate limit.
  public convenience init(
    to site: ZulipSite, email: String, key: ZulipAPIKey, settings: ZulipSettings = ZulipSettings(),
    clock: any DriverClock = SystemClock()
  ) throws(ZulipConnectionError) {
    let isName = email.unicodeScalars.allSatisfy {
      $0.value > 0x20 && $0 != ":" && $0.value != 0x7F
    }
    guard !email.isEmpty, isName else { throw .malformedEmail }
    try self.init(to: site, settings, clock) { key.authorization(of: email) }
  }

  /// Without an authorization, only what needs no login can be asked for.
  init(
    to site: ZulipSite, _ settings: ZulipSettings, _ clock: any DriverClock,
    authorization: (@Sendable () -> String)?
  ) throws(ZulipConnectionError) {
    if site.isPlain, ZulipConnection.isProxied(site.host, ProcessInfo.processInfo.environment) {
      throw .proxiedSite
    }
    self.site = site
    self.settings = settings
    self.clock = clock
    limits = ZulipRateLimits(clock)
    self.authorization = authorization
    transport = ZulipTransport(isPlain: site.isPlain)
  }

  /// Whether unencrypted requests would go to a proxy despite URLSession's configuration:
  /// FoundationNetworking obeys the environment, as libcurl reads it. Exceptions that only some
  /// versions of libcurl understand (networks, a point at a name's end) do not count.
  static func isProxied(_ host: String, _ environment: [String: String]) -> Bool {
    #if canImport(FoundationNetworking)
      // An empty variable counts as unset.
      func said(_ names: String...) -> String? {
        for name in names { if let text = environment[name], !text.isEmpty { return text } }
        return nil
      }
      guard said("http_proxy", "all_proxy", "ALL_PROXY") != nil else { return false }
      let excepted = said("no_proxy", "NO_PROXY") ?? ""
      // An asterisk means all hosts, but not within a list.
      if excepted == "*" { return false }
      let isName = host.contains { $0.isLetter }
      return !excepted.split { $0 == "," || $0 == " " }.contains { word in
        word.lowercased() == host || isName && word.lowercased() == "." + host
      }
    #else
      return false
    #endif
  }

  // MARK: Requests

  /// The method of a request. The parameters of a `get` are in the query, and those of all others
  /// in the body.
  public enum Method: String, Sendable {
    /// Reads, and changes nothing. A request that is lost with its connection may be sent again.
    case get = "GET"
    /// Creates or performs something.
    case post = "POST"
    /// Replaces something.
    case put = "PUT"
    /// Changes something.
    case patch = "PATCH"
    /// Removes something.
    case delete = "DELETE"
  }

  /// Sends a request, and reads the answer off the caller's actor.
  /// - Parameters:
  ///   - path: the path below `/api/v1/`.
  ///   - limit: the most bytes of the answer's body; `nil` means ``ZulipSettings/answerLimit``.
  ///   - patience: how long it may wait for a rate limit; `nil` means 3 s.
  ///   - read: decodes a success.
  @concurrent
  func ask<Value: Sendable>(
    _ method: Method, _ path: String, _ form: ZulipForm = ZulipForm(), limit: Int? = nil,
    within deadline: TimeSpan? = nil, patience: TimeSpan? = nil,
    _ read: @Sendable (ZulipReading) throws(ZulipError) -> Value
  ) async throws(ZulipFailure) -> Value {
    try await send(
      request(method, path, form), limit: limit, within: deadline, patience: patience, read)
  }

  /// Sends a request that is ready, and reads the answer off the caller's actor.
  /// - Parameters:
  ///   - patience: how long it may wait for a rate limit; `nil` means 3 s.
  ///   - progress: hears how much of the body was sent.
  @concurrent
  func send<Value: Sendable>(
    _ request: URLRequest, limit: Int? = nil, within deadline: TimeSpan? = nil,
    patience: TimeSpan? = nil, progress: ZulipProgress? = nil,
    _ read: @Sendable (ZulipReading) throws(ZulipError) -> Value
  ) async throws(ZulipFailure) -> Value {
    do throws(ZulipFailure) {
      return try await answer(
        to: request, limit: limit, within: deadline, patience: patience, progress, read)
    } catch {
      failures.note(error)
      throw error
    }
  }

  private func answer<Value: Sendable>(
    to request: URLRequest, limit: Int?, within deadline: TimeSpan?, patience: TimeSpan?,
    _ progress: ZulipProgress?, _ read: @Sendable (ZulipReading) throws(ZulipError) -> Value
  ) async throws(ZulipFailure) -> Value {
    guard !Task.isCancelled else { throw ZulipFailure(.unreachable, .cancelled, hasLeft: false) }
    let isPoll = request.url?.path.hasSuffix("/api/v1/events") ?? false
    let period = try await limits.enter(
      isPoll: isPoll, patience: patience ?? ZulipConnection.patience)
    let ending = await transport.send(
      request, limit: limit ?? settings.answerLimit, within: deadline ?? settings.deadline,
      progress: progress)
    switch ending {
    case .answered(let answer):
      let fields = try fields(of: answer, isPoll: isPoll, in: period)
      do throws(ZulipError) {
        return try read(ZulipReading(fields, path: ""))
      } catch {
        throw ZulipFailure(.malformed, .malformed(error), status: answer.status)
      }
    case .cancelled: throw ZulipFailure(.unreachable, .cancelled)
    case .timedOut: throw ZulipFailure(.timedOut, .timedOut)
    case .failed(let code, let sent): throw ZulipFailure(code, sent)
    }
  }

  /// How long a request may wait for a rate limit. All deadlines of a machine are longer, so that
  /// it never gives up what has not left.
  private static let patience: TimeSpan = .seconds(3)

  /// Returns the fields of a success, and notes what any answer says of a rate limit.
  private func fields(
    of answer: ZulipAnswer, isPoll: Bool, in period: UInt64
  ) throws(ZulipFailure) -> ZulipFields {
    do throws(ZulipFailure) {
      let fields = try answer.fields(at: clock.wallTime)
      limits.answered(isPoll: isPoll, in: period, nil, left: answer.left)
      return fields
    } catch {
      // A proxy's page tells nothing of what the server has left.
      let isSilent = error.reason == .noEnvelope && answer.left == nil
      limits.answered(
        isPoll: isPoll, in: period, error.failure, left: isSilent ? 0 : answer.left)
      throw error
    }
  }

  func request(_ method: Method, _ path: String, _ form: ZulipForm) -> URLRequest {
    guard method != .get else {
      return request(method, form.encoded.isEmpty ? path : "\(path)?\(form.encoded)")
    }
    let type = "application/x-www-form-urlencoded; charset=utf-8"
    return request(method, path, body: Data(form.encoded.utf8), type: type)
  }

  /// - Parameters:
  ///   - path: the path below `/api/v1/`, perhaps with a query.
  ///   - body: the body, of this content type.
  func request(
    _ method: Method, _ path: String, body: Data? = nil, type: String? = nil
  ) -> URLRequest {
    let text = "\(site.text)/api/v1/\(path)"
    guard let url = URL(string: text) else { preconditionFailure("a site or a path is no URL") }
    var request = URLRequest(url: url)
    // Otherwise URLSession's own 60 s might end the request first.
    request.timeoutInterval = ZulipTransport.sessionTime
    request.httpMethod = method.rawValue
    request.httpBody = body
    if let type { request.setValue(type, forHTTPHeaderField: "Content-Type") }
    if let authorization { request.setValue(authorization(), forHTTPHeaderField: "Authorization") }
    request.setValue(settings.userAgent, forHTTPHeaderField: "User-Agent")
    request.setValue("application/json", forHTTPHeaderField: "Accept")
    return request
  }
}

extension ZulipConnection: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
  /// "a connection to https://chat.example.org".
  public var description: String { "a connection to \(site)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["site": site.text]) }
}

/// Remembers the failure of a connection's last failed request.
private final class LastFailure: @unchecked Sendable {
  private let lock = NSLock()
  private var failure: ZulipFailure?

  var last: ZulipFailure? { lock.withLock { failure } }

  func note(_ failure: ZulipFailure) {
    guard failure.reason != .cancelled else { return }
    lock.withLock { self.failure = failure }
  }
}

/// The limits and deadlines of a connection.
public struct ZulipSettings: Hashable, Sendable {
  /// The time for the whole answer, unless the request has its own deadline. A page of messages
  /// with much history takes seconds.
  public var deadline: TimeSpan = .seconds(30)
  /// The same for a register, which is a server's slowest answer.
  package var registerDeadline: TimeSpan = .seconds(60)
  /// The same for a waiting poll, if the server has not said how long it waits. It answers by
  /// itself after about 50 s.
  package var pollDeadline: TimeSpan = .seconds(100)
  /// The most bytes of the answer to a register, uncompressed. A realm with 50,000 users
  /// sends 30 million.
  public var registerLimit = 64 << 20
  /// The same for every other answer. 5,000 messages of the greatest length would exceed it, but
  /// this library asks for no such page.
  public var answerLimit = 20 << 20
  /// The client's name in the server's logs: a name, a slash and a version.
  public var userAgent = "UpdateMachine/1.0"

  /// Creates settings with the defaults, which suit most apps.
  public init() {}
}

extension ZulipFailure {
  /// Translates an error of URLSession that came without an answer.
  ///
  /// With libcurl below, `cannotConnectToHost` can be wrong. If one of a host's addresses refuses
  /// the connection, libcurl reports that for any later failure, even if the request went out to
  /// another address. So the code is believed only of a request that certainly was not sent.
  init(_ code: URLError.Code, _ sent: ZulipTransport.Sent) {
    // FoundationNetworking cannot connect to an IPv6 address in a URL.
    let hasLeft = sent != .nothing && code != .badURL
    let fault = ConnectionFault(code)
    switch fault {
    case .timedOut: self.init(fault.failure, .timedOut)
    case .notConnected:
      let isUnknown = code == .cannotFindHost || code == .dnsLookupFailed
      let reason: Reason = isUnknown ? .unknownHost : .notConnected
      self.init(
        fault.failure, hasLeft && sent == .something ? .broken : reason, hasLeft: hasLeft)
    case .untrusted: self.init(fault.failure, .untrusted, hasLeft: hasLeft)
    case .notHTTP: self.init(fault.failure, .notHTTP)
    case .tooLarge: self.init(fault.failure, .tooLarge)
    case .broken: self.init(fault.failure, .broken)
    }
  }
}
