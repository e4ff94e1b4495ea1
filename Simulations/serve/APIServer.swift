// ZulipServer: a server that speaks the part of Zulip's API that clients need to follow an account,
// and to send. Its main value is `APIServer`: requests and the time go in, answers come out.
// `ServeDriver` runs it on sockets, in real time.

package import SyncProtocols
package import UpdateMachine

/// The whole server as a value, without clock and sockets. The event queues are those of
/// ``EventQueueServer``; this adds users, messages, and the words of Zulip's API.
///
/// **Bounds.** Everything that clients could let grow:
///
/// | what | most | beyond it |
/// | --- | --- | --- |
/// | live queues | 100 | the oldest expires |
/// | messages | 10,000 | the oldest is forgotten; pages say that the history is limited |
/// | changes since the last restart | 10,000 | it restarts, and forgets its queues |
/// | events put into queues since then | 1,000,000 | the same |
/// | letters of a text; of a topic | 10,000; 60 | they are cut, as at the real server |
/// | drafts of all users | 1,000 | a new one is refused |
/// | requests that wait | one for each queue | the older one ends, without events |
package struct APIServer: Sendable {
  /// What `handle` says of a request.
  package enum Handled: Sendable {
    case answered(APIAnswer)
    /// The client waits. ``takeFinished()`` will have the answer under this number.
    case waits(UInt64)
  }

  /// The answer to a request that waited.
  package struct Finished: Sendable {
    package var waiter: UInt64
    package var answer: APIAnswer
  }

  struct Wait: Sendable {
    var queue: QueueID
    var user: Int64
  }

  package static var queueLimit: Int { 100 }
  static var changeLimit: Int64 { 10_000 }
  static var pushLimit: Int64 { 1_000_000 }

  package internal(set) var queues: EventQueueServer<Realm>
  /// What each live queue's client said.
  package internal(set) var clients: [QueueID: QueueClient] = [:]
  /// Which start of the server this is. It is part of the names of queues, so that a forgotten
  /// queue's name never comes back.
  var life: Int64 = 1
  /// An upper bound of the events put into queues since the last restart.
  var pushes: Int64 = 0
  var waits: [UInt64: Wait] = [:]
  /// Waits that a restart has ended, until they are taken.
  var ended: [EventQueueServer<Realm>.Finished] = []
  var nextWaiter: UInt64 = 1
  /// Lines about what happened beside requests, until they are taken.
  var told: [String] = []
  var limits = RequestLimits()
  /// `nil`: as long as the client asks for; if it does not, 600 s.
  var lifetime: TimeSpan?
  let wallOffset: Int64
  /// Draws when heartbeats come.
  var chance: SplitMix

  package var realm: Realm { queues.truth }

  /// - Parameters:
  ///   - lifetime: how long queues live; `nil`: as Zulip's, 600 s, or what the client asks for.
  ///   - wall: the wall clock's time at `now`.
  package init(
    users: Int = 4, lifetime: TimeSpan? = nil, seed: UInt64 = 1, at now: Moment, wall: WallTime
  ) {
    wallOffset = wall.milliseconds - now.milliseconds
    self.lifetime = lifetime
    chance = SplitMix(seed)
    let realm = Realm(users: users, wall: wall.milliseconds / 1000)
    queues = APIServer.queues(of: realm, lifetime, at: now)
  }

  static func queues(
    of realm: Realm, _ lifetime: TimeSpan?, at now: Moment
  ) -> EventQueueServer<Realm> {
    var configuration = QueueServerConfiguration()
    configuration.reordersMerged = true
    if let lifetime {
      configuration.lifetime = lifetime
      // A shorter lifetime would mean little if the collector came once a minute.
      let tenth = TimeSpan.milliseconds(max(lifetime.milliseconds / 10, 200))
      configuration.collectorPeriod = min(configuration.collectorPeriod, tenth)
    }
    return EventQueueServer(truth: realm, configuration: configuration, at: now)
  }

  /// The wall clock's seconds since 1970.
  func wall(at now: Moment) -> Int64 { (now.milliseconds + wallOffset) / 1000 }

  // MARK: Requests

  /// Handles one request. Time must not go back.
  package mutating func handle(_ request: APIRequest, at now: Moment) -> Handled {
    advance(to: now)
    do throws(APIError) {
      return try route(request, at: now)
    } catch {
      return .answered(.refusal(error))
    }
  }

  private mutating func route(_ request: APIRequest, at now: Moment) throws(APIError) -> Handled {
    switch (request.method, request.path) {
    case ("GET", ["server_settings"]): return .answered(settings())
    case ("POST", ["fetch_api_key"]): return .answered(try fetchKey(request))
    default: break
    }
    guard let allowed = APIServer.methods(of: request.path) else {
      throw APIError("Not found", code: nil, status: 404)
    }
    guard allowed.contains(request.method) else {
      throw APIError(
        "Method Not Allowed", code: nil, status: 405,
        [.init("allowed_methods", .array(allowed.map { .string($0) }))])
    }
    let user = try authenticated(request)
    if let wait = limits.wait(user.id, isPoll: request.path == ["events"], at: now) {
      throw APIServer.tooMany(wait)
    }
    switch (request.method, request.path[0]) {
    case ("GET", "events"): return try poll(request, user, at: now)
    case ("POST", "register"): return .answered(try register(request, user, at: now))
    case ("DELETE", "events"): return .answered(try release(request, user))
    case (_, "messages"): return .answered(try messages(request, user, at: now))
    default: return .answered(try people(request, user, at: now))
    }
  }

  /// The methods that a path has; `nil`: there is no such path.
  private static func methods(of path: [String]) -> [String]? {
    let number = { (place: Int) in Int64(path[place]) != nil }
    switch path.first {
    case "server_settings" where path.count == 1: return ["GET"]
    case "fetch_api_key", "register", "typing", "mark_all_as_read":
      return path.count == 1 ? ["POST"] : nil
    case "events" where path.count == 1: return ["GET", "DELETE"]
    case "streams" where path.count == 2 && number(1): return ["GET"]
    case "streams", "get_stream_id": return path.count == 1 ? ["GET"] : nil
    case "user_topics": return path.count == 1 ? ["POST"] : nil
    case "drafts" where path.count == 1: return ["GET", "POST"]
    case "drafts" where path.count == 2 && number(1): return ["PATCH", "DELETE"]
    case "messages":
      switch path.count {
      case 1: return ["GET", "POST"]
      case 2 where path[1] == "flags": return ["POST"]
      case 2 where number(1): return ["GET", "PATCH", "DELETE"]
      case 3 where path[1] == "flags" && path[2] == "narrow": return ["POST"]
      case 3 where number(1) && path[2] == "reactions": return ["POST", "DELETE"]
      default: return nil
      }
    case "users":
      switch path.dropFirst() {
      case []: return ["GET"]
      case ["me", "subscriptions"]: return ["GET", "POST", "DELETE"]
      case ["me", "presence"], ["me", "status"]: return ["POST"]
      case let rest where rest.count == 1: return ["GET"]
      case let rest where rest.count == 3 && path[1] == "me" && number(2) && path[3] == "topics":
        return ["GET"]
      default: return nil
      }
    default: return nil
    }
  }

  /// The user who asks.
  private func authenticated(_ request: APIRequest) throws(APIError) -> RealmUser {
    let why: String
    switch request.credentials {
    case .none: why = "Not logged in: API authentication or user session required"
    case .malformed: why = "Invalid authorization header for basic auth"
    case .notBasic: throw APIError("This endpoint requires HTTP basic authentication.")
    case .basic(let email, let key):
      if let user = realm.user(withEmail: email), user.key == key { return user }
      why = key.utf8.count == 32 ? "Invalid API key" : "Malformed API key"
    }
    throw APIError(why, code: "UNAUTHORIZED", status: 401)
  }

  private static func tooMany(_ wait: TimeSpan) -> APIError {
    APIError(
      "API usage exceeded rate limit", code: "RATE_LIMIT_HIT", status: 429,
      [.init("retry-after", .number(seconds(wait)))])
  }

  /// Seconds with milliseconds: `0.182`.
  static func seconds(_ span: TimeSpan) -> JSONNumber {
    JSONNumber(Double(span.milliseconds) / 1000) ?? JSONNumber(span.milliseconds / 1000)
  }

  // MARK: Without a user

  private func settings() -> APIAnswer {
    .success(
      [
        "zulip_version": .string(APIServer.version),
        "zulip_feature_level": .integer(APIServer.featureLevel), "zulip_merge_base": "",
        "authentication_methods": ["password": true, "dev": false], "email_auth_enabled": true,
        "external_authentication_methods": [], "is_incompatible": false,
        "push_notifications_enabled": false, "require_email_format_usernames": true,
        "realm_name": .string(APIServer.realmName), "realm_description": "", "realm_icon": "",
        "realm_url": "", "realm_uri": "", "realm_web_public_access_enabled": false,
      ], note: "\(APIServer.version)")
  }

  private func fetchKey(_ request: APIRequest) throws(APIError) -> APIAnswer {
    let name = try request.required("username")
    let password = try request.required("password")
    guard let user = realm.user(withEmail: name), user.password == password else {
      throw APIError(
        "Your username or password is incorrect", code: "AUTHENTICATION_FAILED", status: 401)
    }
    return .success(
      [
        "api_key": .string(user.key), "email": .string(user.email), "user_id": .integer(user.id),
      ], note: "the key of \(user.name)")
  }

  static let version = "10.0"
  /// That of the server whose recordings this project has.
  static let featureLevel: Int64 = 323
  static let realmName = "simulate serve"
}

/// Zulip's rate limits: so many requests of a user in a window. Polls are counted apart.
package struct RequestLimits: Sendable {
  /// So many requests in so long a time.
  package struct Rate: Equatable, Sendable {
    package var requests: Int64
    package var window: TimeSpan

    package init(requests: Int64, window: TimeSpan) {
      self.requests = requests
      self.window = window
    }
  }

  private struct Place: Hashable {
    var user: Int64
    var isPoll: Bool
  }

  private struct Window {
    var start: Moment
    var count: Int64
  }

  /// `nil`: no limit.
  var rate: Rate?
  private var windows: [Place: Window] = [:]

  init() {}

  /// Counts a request. If it is one too many, returns how long to wait.
  mutating func wait(_ user: Int64, isPoll: Bool, at now: Moment) -> TimeSpan? {
    guard let rate else { return nil }
    let place = Place(user: user, isPoll: isPoll)
    var window = windows[place] ?? Window(start: now, count: 0)
    if now - window.start >= rate.window { window = Window(start: now, count: 0) }
    window.count += 1
    windows[place] = window
    return window.count > rate.requests ? window.start + rate.window - now : nil
  }
}
