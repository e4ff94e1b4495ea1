import Foundation
import HTTPSync
import SyncProtocols
public import UpdateMachine

/// The limits and deadlines of a connection to a cluster.
public struct EtcdSettings: Hashable, Sendable {
  /// The most time that one member gets for an answer while there are others to ask; the last one
  /// gets ``deadline``. A member without a quorum would take 7 s to say so.
  public var memberDeadline: TimeSpan = .seconds(3)
  /// The most time that a member gets for an answer if no other is left to ask.
  public var deadline: TimeSpan = .seconds(30)
  /// How long a watch may be silent before the cluster is asked whether there is anything new. So
  /// long may a member go unnoticed that is cut off from the others.
  public var silence: TimeSpan = .seconds(50)
  /// The most keys that are read at once when a client registers.
  public var pageCount: Int64 = 1000
  /// The most bytes of one answer, and of a watch's messages that nobody has read yet.
  public var answerLimit = 64 << 20

  /// Creates settings with the defaults, which suit most apps.
  public init() {}
}

/// A connection of one user to an etcd cluster.
///
///     let cluster = try EtcdConnection(
///       to: ["https://etcd-1.example.org:2379", "https://etcd-2.example.org:2379"],
///       login: EtcdLogin(user: user, password: password))
///
/// Any member answers for the whole cluster. A request goes to the member that answered last. If
/// that does not answer, has no quorum, or is of another cluster, the next one is asked, and is the
/// first to be asked from then on.
///
/// **Secrets.** The password and the token that etcd gives for it go only to the addresses that are
/// named here: redirections are not followed. There are no cookies, no cache and no stored
/// credentials. No description and no failure contains them, or any part of a request.
public final class EtcdConnection: Sendable {
  let members: [EtcdAddress]
  let settings: EtcdSettings
  private let login: EtcdLogin?
  private let shared = EtcdShared()

  /// Creates a connection, and sends nothing.
  ///
  /// - Parameters:
  ///   - addresses: the members' addresses, at least one. The first is asked first.
  ///   - login: the user; `nil`: the cluster asks for none.
  ///   - settings: limits and deadlines; the defaults suit most apps.
  public init(
    to addresses: [String], login: EtcdLogin? = nil, settings: EtcdSettings = EtcdSettings()
  ) throws(EtcdConnectionError) {
    var members: [EtcdAddress] = []
    for address in addresses { members.append(try EtcdAddress(address)) }
    guard !members.isEmpty else { throw .noAddress }
    #if canImport(FoundationNetworking)
      guard members.allSatisfy(\.isPlain) else { throw .unsupportedAddress }
    #endif
    self.members = members
    self.login = login
    self.settings = settings
  }

  // MARK: Members

  /// Asks one member after the other, until one does not fail for a reason of its own. Each is
  /// asked once.
  ///
  /// - Parameter ask: asks a member, within a time for each request.
  func first<Value>(
    _ ask: (EtcdAddress, TimeSpan) async throws(EtcdFailure) -> Value
  ) async throws(EtcdFailure) -> Value { try await firstOfAll(ask).value }

  /// The same, and whether a member that was asked in vain may have received the request: it may
  /// yet do what it was asked.
  func firstOfAll<Value>(
    _ ask: (EtcdAddress, TimeSpan) async throws(EtcdFailure) -> Value
  ) async throws(EtcdFailure) -> (value: Value, isWithOthers: Bool) {
    var failures: [EtcdFailure] = []
    let start = shared.preferred
    for offset in members.indices {
      let index = (start + offset) % members.count
      let isLast = offset == members.count - 1
      do throws(EtcdFailure) {
        let value = try await ask(
          members[index],
          isLast ? settings.deadline : min(settings.memberDeadline, settings.deadline))
        shared.prefer(index)
        return (value, failures.contains(where: \.hasLeft))
      } catch {
        // Should the whole be given up, the next try does not begin with the same member.
        if error.isOfMember || Task.isCancelled { shared.prefer((index + 1) % members.count) }
        if Task.isCancelled { throw .cancelled }
        guard error.isOfMember else {
          var error = error
          error.hasLeft = error.hasLeft || failures.contains(where: \.hasLeft)
          throw error
        }
        failures.append(error)
      }
    }
    throw EtcdFailure.of(failures)
  }

  // MARK: Requests

  /// Asks a member, and reads the answer. Logs in first, if that is needed.
  func ask(
    _ member: EtcdAddress, _ path: String, _ body: JSONValue, within span: TimeSpan
  ) async throws(EtcdFailure) -> EtcdFields {
    try await loggedIn(at: member, within: span) { token throws(EtcdFailure) in
      try await send(member, path, body, token: token, within: span)
    }
  }

  /// Opens a stream of lines. Returns it once the first has come, which is not part of it any more.
  func open(
    _ member: EtcdAddress, _ request: EtcdWatchRequest, within span: TimeSpan
  ) async throws(EtcdFailure) -> (exchange: EtcdExchange, created: EtcdHeader) {
    try await loggedIn(at: member, within: span) { token throws(EtcdFailure) in
      let exchange = begin(member, "/v3/watch", request.json, token: token, wantsLeader: true)
      do throws(EtcdFailure) {
        guard case .created(let header) = try await exchange.message(within: span) else {
          throw EtcdFailure(EtcdWireError(field: "created"))
        }
        return (exchange, header)
      } catch {
        exchange.end(.cancelled)
        throw error
      }
    }
  }

  private func send(
    _ member: EtcdAddress, _ path: String, _ body: JSONValue, token: String?,
    within span: TimeSpan
  ) async throws(EtcdFailure) -> EtcdFields {
    guard !Task.isCancelled else { throw EtcdFailure(.unreachable, .cancelled, hasLeft: false) }
    let exchange = begin(member, path, body, token: token)
    let (head, data, ending) = await exchange.whole(within: span)
    return try EtcdFailure.fields(of: head, data, ending)
  }

  /// Begins a request.
  private func begin(
    _ member: EtcdAddress, _ path: String, _ body: JSONValue, token: String?,
    wantsLeader: Bool = false
  ) -> EtcdExchange {
    var head = [("Content-Type", "application/json"), ("Accept", "application/json")]
    if let token { head.append(("Authorization", token)) }
    // A member that loses its leader then ends the watch. Without this it would be silent.
    if wantsLeader { head.append(("Grpc-Metadata-Hasleader", "true")) }
    let bytes = Array(body.description.utf8)
    return member.isPlain
      ? EtcdSocket.begin(member, path, head, bytes, limit: settings.answerLimit)
      : EtcdTransport.begin(member, path, head, bytes, limit: settings.answerLimit)
  }

  // MARK: Logging in

  /// Runs a request with a token. If etcd does not know it, logs in once more, because tokens
  /// expire, and end with the member that gave them.
  private func loggedIn<Value>(
    at member: EtcdAddress, within span: TimeSpan,
    _ request: (String?) async throws(EtcdFailure) -> Value
  ) async throws(EtcdFailure) -> Value {
    guard let login else { return try await request(nil) }
    var session = shared.session
    if case .none = session { session = try await logIn(login, member, within: span) }
    do throws(EtcdFailure) {
      return try await request(session.token)
    } catch {
      guard error.reason == .refused(.noToken) else { throw error }
    }
    shared.forget(session)
    session = try await logIn(login, member, within: span)
    do throws(EtcdFailure) {
      return try await request(session.token)
    } catch {
      // A log-in that has just succeeded is not the user's fault.
      throw error.reason == .refused(.noToken) ? EtcdFailure(.unavailable) : error
    }
  }

  private func logIn(
    _ login: EtcdLogin, _ member: EtcdAddress, within span: TimeSpan
  ) async throws(EtcdFailure) -> EtcdShared.Session {
    let body: JSONValue = [
      "name": .string(login.user), "password": .string(login.password),
    ]
    var session = EtcdShared.Session.notNeeded
    do throws(EtcdFailure) {
      let fields = try await send(
        member, "/v3/auth/authenticate", body, token: nil, within: span)
      guard let token = try? fields.text("token"), !token.isEmpty,
        token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
      else { throw EtcdFailure(EtcdWireError(field: "token")) }
      session = .token(token)
    } catch {
      guard error.reason == .refused(.authIsOff) else {
        var error = error
        error.hasLeft = false  // The request itself was not sent.
        throw error
      }
    }
    shared.keep(session)
    return session
  }
}

extension EtcdConnection: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// "a connection to 3 members of etcd".
  public var description: String { "a connection to \(members.count) members of etcd" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["members": members.map(\.text)]) }
}

/// What all requests of a connection share.
private final class EtcdShared: @unchecked Sendable {
  /// Whether the user is logged in.
  enum Session: Equatable {
    case none
    case token(String)
    /// The cluster asks nobody who it is.
    case notNeeded

    var token: String? { if case .token(let token) = self { token } else { nil } }
  }

  private let lock = NSLock()
  private var index = 0
  private var current = Session.none

  /// The member that answered last.
  var preferred: Int { lock.withLock { index } }
  var session: Session { lock.withLock { current } }

  func prefer(_ index: Int) { lock.withLock { self.index = index } }
  func keep(_ session: Session) { lock.withLock { current = session } }

  /// Forgets a session, unless it was replaced meanwhile.
  func forget(_ session: Session) {
    lock.withLock { if current == session { current = .none } }
  }
}

extension EtcdExchange {
  /// Waits for the next message of a watch, which must come in time.
  func message(within span: TimeSpan) async throws(EtcdFailure) -> EtcdWatchMessage {
    guard let message = try await messageIfAny(within: span) else {
      throw EtcdFailure(.timedOut, .timedOut)
    }
    return message
  }

  /// Waits for the next message of a watch; `nil`: none has come. Throws if the watch is over.
  func messageIfAny(within span: TimeSpan) async throws(EtcdFailure) -> EtcdWatchMessage? {
    let clock = SystemClock()
    let end = clock.now + span
    while true {
      // An empty line is no message, and does not begin the wait anew.
      switch await line(within: end - clock.now) {
      case .line(let data):
        if let head = beginning, head.status != 200 || !head.isJSON {
          _ = try EtcdFailure.fields(of: head, data, .whole)
        }
        // A proxy may send empty lines to keep a connection open.
        if data.isEmpty || data == Data([UInt8(ascii: "\r")]) { continue }
        let message = try EtcdFailure.reading { () throws(EtcdWireError) in
          try EtcdWatchMessage(line: data)
        }
        guard case .canceled(let refusal) = message else { return message }
        throw EtcdFailure(refusal)
      case .silent: return nil
      case .ended(.whole):
        // A refusal has no end of a line. A stream that ends by itself does so because the member
        // does.
        if let head = beginning, head.status != 200 || !rest.isEmpty {
          _ = try EtcdFailure.fields(of: head, rest, .whole)
        }
        throw EtcdFailure(.unreachable, .broken)
      case .ended(let ending):
        _ = try EtcdFailure.fields(of: nil, Data(), ending)
        throw EtcdFailure(.unreachable, .broken)
      }
    }
  }
}

extension EtcdFailure {
  /// Returns the fields of a success. Anything else is a failure.
  static func fields(
    of head: EtcdExchange.Head?, _ body: Data, _ ending: EtcdExchange.Ending
  ) throws(EtcdFailure) -> EtcdFields {
    switch ending {
    case .whole: break
    case .failed(let code, let hasLeft): throw EtcdFailure(code, hasLeft: hasLeft)
    case .tooLarge: throw EtcdFailure(.malformed, .tooLarge)
    case .cancelled: throw .cancelled
    }
    guard let head else { throw EtcdFailure(.unreachable, .broken) }
    let fields = head.isJSON ? (try? EtcdFields(body: body)) : nil
    if head.status == 200, let fields, !fields.has("error") { return fields }
    // A body that cannot be read as a refusal is no error of its own: its status is judged below.
    if let fields, let refusal = try? EtcdRefusal(fields) { throw EtcdFailure(refusal) }
    // Not etcd's. Only a request for patience is believed of anybody.
    let known = SyncFailure(
      status: head.status, retryAfter: head.retryAfter, date: head.date)
    if case .rateLimited? = known {
      throw EtcdFailure(known ?? .serverFault, .notEtcd)
    }
    if head.status == 413 { throw EtcdFailure(.tooLarge) }
    throw EtcdFailure(.serverFault, .notEtcd)
  }
}
