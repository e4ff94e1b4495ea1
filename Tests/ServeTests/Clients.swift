import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipServer

/// A server in a test, whose time passes as the test says.
struct ServerBench {
  var server: APIServer
  var now = Moment(milliseconds: 0)

  init(users: Int = 4, lifetime: TimeSpan? = nil) {
    let wall = WallTime(milliseconds: 1_800_000_000_000)
    server = APIServer(users: users, lifetime: lifetime, at: now, wall: wall)
  }

  static func login(_ user: Int) -> APIRequest.Credentials {
    let user = RealmUser(number: user)
    return .basic(email: user.email, key: user.key)
  }

  /// Asks as a user, counted from 0. Returns `nil` if the request waits.
  mutating func ask(
    _ user: Int, _ method: String, _ path: String, _ parameters: [(String, String)] = []
  ) -> APIAnswer? {
    let request = APIRequest(
      method, path, parameters.map { .init($0.0, $0.1) }, as: ServerBench.login(user))
    switch server.handle(request, at: now) {
    case .answered(let answer): return answer
    case .waits: return nil
    }
  }

  /// Asks for what is answered at once.
  mutating func answer(
    _ user: Int, _ method: String, _ path: String, _ parameters: [(String, String)] = [],
    at place: SourceLocation = #_sourceLocation
  ) throws -> APIAnswer {
    let answer = ask(user, method, path, parameters)
    return try #require(answer, "it waits", sourceLocation: place)
  }

  /// Asks for what must succeed, and returns the fields.
  mutating func get(
    _ user: Int, _ method: String, _ path: String, _ parameters: [(String, String)] = [],
    at place: SourceLocation = #_sourceLocation
  ) throws -> JSONValue {
    let answer = try answer(user, method, path, parameters, at: place)
    #expect(answer.status == 200, "\(answer.note)", sourceLocation: place)
    return try #require(answer.json, sourceLocation: place)
  }

  /// Registers. Returns the queue's name.
  mutating func register(_ user: Int, _ parameters: [(String, String)] = []) throws -> String {
    let fields = try get(user, "POST", "register", parameters)
    return try #require(fields["queue_id"]?.string)
  }

  /// Polls without waiting, and returns the events.
  mutating func events(
    _ user: Int, _ queue: String, after id: Int64,
    at place: SourceLocation = #_sourceLocation
  ) throws -> [JSONValue] {
    let answer = try get(
      user, "GET", "events",
      [("queue_id", queue), ("last_event_id", "\(id)"), ("dont_block", "true")], at: place)
    return try #require(answer["events"]?.array, sourceLocation: place)
  }

  @discardableResult
  mutating func send(
    _ user: Int, _ text: String, topic: String = "t", channel: String = "general",
    _ more: [(String, String)] = []
  ) throws -> Int64 {
    let answer = try get(
      user, "POST", "messages",
      [("type", "stream"), ("to", channel), ("topic", topic), ("content", text)] + more)
    return try #require(answer["id"]?.int64)
  }

  mutating func page(
    _ user: Int, anchor: String, before: Int = 0, after: Int = 0, _ more: [(String, String)] = []
  ) throws -> JSONValue {
    try get(
      user, "GET", "messages",
      [("anchor", anchor), ("num_before", "\(before)"), ("num_after", "\(after)")] + more)
  }
}

extension JSONValue {
  /// The IDs of a page's messages.
  var ids: [Int64] { self["messages"]?.array?.compactMap { $0["id"]?.int64 } ?? [] }

  /// `found_anchor`, `found_oldest`, `found_newest`, as letters.
  var found: String {
    (self["found_anchor"]?.bool == true ? "a" : "-")
      + (self["found_oldest"]?.bool == true ? "o" : "-")
      + (self["found_newest"]?.bool == true ? "n" : "-")
  }
}
