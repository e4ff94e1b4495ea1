import Foundation
public import UpdateMachine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One user's way to one Zulip server: requests as methods, with typed answers.
///
///     let site = try ZulipSite("https://chat.example.org")
///     let connection = try ZulipConnection(to: site, email: email, key: ZulipAPIKey(key))
///     let id = try await connection.send(.channel(general, topic: "lunch"), "At noon?")
///
/// **Failures.** Each request throws a ``ZulipFailure``, classified as <doc:Answers> tells. Nothing is
/// asked twice by itself: what to do next is the machine's to say, or the app's.
///
/// **Time.** Each request has a deadline for its whole answer. When it comes, or when the task is
/// cancelled, the connection is closed and the request is over at once.
///
/// **Work.** Answers are read where the caller is not: off its actor.
///
/// **Secrets.** The API key goes to the site and nowhere else: redirections are not followed. There are
/// no cookies, no cache and no stored credentials. No description and no failure has the key in it, nor
/// what was asked.
public final class ZulipConnection: Sendable {
  public let site: ZulipSite
  public let settings: ZulipSettings
  private let authorization: @Sendable () -> String
  let transport: ZulipTransport
  private let clock: any DriverClock

  /// Sends nothing.
  /// - Parameters:
  ///   - site: where the server is.
  ///   - email: by which the user logs in.
  ///   - key: the user's, for this site.
  ///   - settings: what is allowed; right as they are for most.
  ///   - clock: tells the date, where a server says until when to wait and not what time it has.
  public init(
    to site: ZulipSite, email: String, key: ZulipAPIKey, settings: ZulipSettings = ZulipSettings(),
    clock: any DriverClock = SystemClock()
  ) throws(ZulipConnectionError) {
    let isName = email.unicodeScalars.allSatisfy {
      $0.value > 0x20 && $0 != ":" && $0.value != 0x7F
    }
    guard !email.isEmpty, isName else { throw .malformedEmail }
    if site.isPlain, ZulipConnection.isProxied(site.host, ProcessInfo.processInfo.environment) {
      throw .proxiedSite
    }
    self.site = site
    self.settings = settings
    self.clock = clock
    authorization = { key.authorization(of: email) }
    transport = ZulipTransport(isPlain: site.isPlain)
  }

  /// Whether what is not encrypted goes to a proxy whatever URLSession is told: FoundationNetworking
  /// goes by the environment, as libcurl reads it. What only some versions of that read as an exception
  /// (networks, points at a name's end) is none here.
  static func isProxied(_ host: String, _ environment: [String: String]) -> Bool {
    #if canImport(FoundationNetworking)
      // What is set to nothing is not set.
      func said(_ names: String...) -> String? {
        for name in names { if let text = environment[name], !text.isEmpty { return text } }
        return nil
      }
      guard said("http_proxy", "all_proxy", "ALL_PROXY") != nil else { return false }
      let excepted = said("no_proxy", "NO_PROXY") ?? ""
      // An asterisk stands for all, but not in a list.
      if excepted == "*" { return false }
      let isName = host.contains { $0.isLetter }
      return !excepted.split { $0 == "," || $0 == " " }.contains { word in
        word.lowercased() == host || isName && word.lowercased() == "." + host
      }
    #else
      return false
    #endif
  }

  // MARK: Asking

  enum Method: String {
    case get = "GET"
    case post = "POST"
    case patch = "PATCH"
    case delete = "DELETE"
  }

  /// Asks, and reads what comes, off the caller's actor.
  /// - Parameters:
  ///   - path: below `/api/v1/`.
  ///   - limit: of the answer's body, in bytes; `nil`: what most may have.
  ///   - read: what is needed of a success.
  @concurrent
  func ask<Value: Sendable>(
    _ method: Method, _ path: String, _ form: ZulipForm = ZulipForm(), limit: Int? = nil,
    within deadline: TimeSpan? = nil,
    _ read: @Sendable (ZulipReading) throws(ZulipError) -> Value
  ) async throws(ZulipFailure) -> Value {
    guard !Task.isCancelled else { throw ZulipFailure(.unreachable, .cancelled, hasLeft: false) }
    let ending = await transport.send(
      request(method, path, form), limit: limit ?? settings.answerLimit,
      within: deadline ?? settings.deadline)
    switch ending {
    case .answered(let answer):
      let fields = try answer.fields(at: clock.wallTime)
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

  func request(_ method: Method, _ path: String, _ form: ZulipForm) -> URLRequest {
    var text = "\(site.text)/api/v1/\(path)"
    if method == .get, !form.encoded.isEmpty { text += "?\(form.encoded)" }
    guard let url = URL(string: text) else { preconditionFailure("a site or a path is no URL") }
    var request = URLRequest(url: url)
    // Or else it may be its own 60 s that end it.
    request.timeoutInterval = ZulipTransport.sessionTime
    request.httpMethod = method.rawValue
    if method != .get {
      request.httpBody = Data(form.encoded.utf8)
      request.setValue(
        "application/x-www-form-urlencoded; charset=utf-8", forHTTPHeaderField: "Content-Type")
    }
    request.setValue(authorization(), forHTTPHeaderField: "Authorization")
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

/// What a connection allows.
public struct ZulipSettings: Hashable, Sendable {
  /// How long the whole answer to a request may take that has no deadline of its own here. A page of
  /// messages with much history takes seconds.
  public var deadline: TimeSpan = .seconds(30)
  /// The same of a register, for which a server works longest.
  public var registerDeadline: TimeSpan = .seconds(60)
  /// The same of a poll that waits, where the server has not said how long it may: it answers by itself
  /// after some 50 s.
  public var pollDeadline: TimeSpan = .seconds(100)
  /// How many bytes the answer to a register may have, unpacked. One of a realm with 50,000 users has 30
  /// million.
  public var registerLimit = 64 << 20
  /// The same of every other answer: 5,000 messages as long as a server allows would be more, but no
  /// page of this library has so many.
  public var answerLimit = 20 << 20
  /// How the client is called in the server's logs: a name, a slash and a version.
  public var userAgent = "UpdateMachine/1.0"

  public init() {}
}

extension ZulipFailure {
  /// What URLSession says without an answer.
  ///
  /// Where libcurl is below, it says that it cannot connect to the host of whatever fails after the host
  /// was refused at one of its addresses, though the request went out to another. So what it says is
  /// believed only of a request that certainly was not sent.
  init(_ code: URLError.Code, _ sent: ZulipTransport.Sent) {
    let hasLeft = sent != .nothing
    switch code {
    case .timedOut: self.init(.timedOut, .timedOut)
    case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet,
      .internationalRoamingOff, .callIsActive, .dataNotAllowed:
      self.init(.unreachable, sent == .something ? .broken : .notConnected, hasLeft: hasLeft)
    // FoundationNetworking connects to no address of IPv6 that stands in the URL.
    case .badURL: self.init(.unreachable, .notConnected, hasLeft: false)
    case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
      .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
      .clientCertificateRequired, .appTransportSecurityRequiresSecureConnection:
      self.init(.unreachable, .untrusted, hasLeft: hasLeft)
    // Where FoundationNetworking sees an answer of no version of HTTP, it says that the URL's scheme is
    // not supported, and where it sees no answer, that it was bad.
    case .unsupportedURL, .cannotParseResponse, .cannotDecodeRawData, .cannotDecodeContentData,
      .httpTooManyRedirects, .redirectToNonExistentLocation:
      self.init(.serverFault, .notHTTP)
    case .dataLengthExceedsMaximum: self.init(.serverFault, .tooLarge)
    default: self.init(.unreachable, .broken)
    }
  }
}
