import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipServer

@Suite("The server of `simulate serve` as a value") struct APIServerTests {
  // MARK: Queues

  @Test func `a registered client gets what is sent, once it is acknowledged no more`() throws {
    var bench = ServerBench()
    let queue = try bench.register(0)
    let first = try bench.send(1, "one")
    try bench.send(1, "two")
    let events = try bench.events(0, queue, after: -1)
    #expect(events.map { $0["id"]?.int64 } == [0, 1])
    #expect(events[0]["type"]?.string == "message")
    #expect(events[0]["message"]?["id"]?.int64 == first)
    #expect(events[0]["message"]?["display_recipient"]?.string == "general")
    #expect(events[0]["flags"]?.array == [])
    #expect(try bench.events(0, queue, after: -1).count == 2, "not acknowledged: given again")
    #expect(try bench.events(0, queue, after: 0).count == 1)
    let old = try bench.answer(
      0, "GET", "events", [("queue_id", queue), ("last_event_id", "-1")])
    #expect(old.status == 400)
    #expect(old.json?["msg"]?.string == "An event newer than -1 has already been pruned!")
    let future = try bench.answer(
      0, "GET", "events", [("queue_id", queue), ("last_event_id", "9")])
    #expect(future.json?["msg"]?.string == "Event 9 was not in this queue")
  }

  @Test func `a poll waits for news, for a heartbeat, or for another poll`() throws {
    var bench = ServerBench()
    let queue = try bench.register(0)
    let poll = [("queue_id", queue), ("last_event_id", "-1")]
    #expect(bench.ask(0, "GET", "events", poll) == nil)
    #expect(bench.server.takeFinished().isEmpty)
    try bench.send(1, "news")
    let news = bench.server.takeFinished()
    #expect(news.count == 1)
    #expect(news.first?.answer.json?["queue_id"]?.string == queue)
    #expect(news.first?.answer.json?["events"]?.array?.count == 1)
    let next = [("queue_id", queue), ("last_event_id", "0")]
    #expect(bench.ask(0, "GET", "events", next) == nil)
    bench.server.advance(to: bench.now + .seconds(44))
    #expect(bench.server.takeFinished().isEmpty)
    bench.now = bench.now + .seconds(56)
    bench.server.advance(to: bench.now)
    let beat = bench.server.takeFinished().first?.answer.json?["events"]?.array
    #expect(beat == [["type": "heartbeat", "id": 1]])
    #expect(bench.ask(0, "GET", "events", [poll[0], ("last_event_id", "1")]) == nil)
    #expect(bench.ask(0, "GET", "events", [poll[0], ("last_event_id", "1")]) == nil)
    #expect(bench.server.takeFinished().map(\.answer.note) == ["no events"])
  }

  @Test func `queues expire, are released, belong to one user, and are forgotten by a restart`()
    throws
  {
    var bench = ServerBench(lifetime: .seconds(20))
    let queue = try bench.register(0)
    func refused(_ bench: inout ServerBench, _ user: Int) -> Bool {
      let answer = bench.ask(user, "GET", "events", [("queue_id", queue), ("last_event_id", "-1")])
      return answer?.json
        == [
          "result": "error", "msg": .string("Bad event queue ID: \(queue)"),
          "queue_id": .string(queue), "code": "BAD_EVENT_QUEUE_ID",
        ]
    }
    #expect(refused(&bench, 1), "another user's")
    bench.now = bench.now + .seconds(19)
    #expect(try bench.events(0, queue, after: -1) == [])
    bench.now = bench.now + .seconds(4)
    #expect(refused(&bench, 0), "its lifetime is over, though it was polled without waiting")
    let second = try bench.register(0)
    _ = try bench.get(0, "DELETE", "events", [("queue_id", second)])
    #expect(bench.ask(0, "DELETE", "events", [("queue_id", second)])?.status == 400)
    let third = try bench.register(0)
    #expect(bench.ask(0, "GET", "events", [("queue_id", third), ("last_event_id", "-1")]) == nil)
    bench.server.restart(at: bench.now, why: "test")
    #expect(bench.server.takeFinished().map(\.answer.status) == [502])
    #expect(bench.server.clients.isEmpty)
    let fourth = try bench.register(0)
    #expect(fourth != queue, "no name comes back")
    #expect(bench.server.realm.messages.count == 3, "messages stay")
  }

  @Test func `a client chooses types, a narrow and a form, and knows its own messages`() throws {
    var bench = ServerBench()
    let all = try bench.register(0, [("apply_markdown", "true")])
    let some = try bench.register(
      0,
      [("event_types", #"["message"]"#), ("narrow", #"[["channel","general"],["topic","a"]]"#)])
    let none = try bench.register(0, [("event_types", "[]")])
    let other = try bench.register(1)
    try bench.send(0, "x < y", topic: "A", [("queue_id", all), ("local_id", "7.1")])
    try bench.send(0, "z", topic: "b")
    _ = try bench.get(0, "POST", "typing", [("op", "start"), ("to", "[9]")])
    let events = try bench.events(0, all, after: -1)
    #expect(events.map { $0["type"]?.string } == ["message", "message", "typing"])
    #expect(events[0]["local_message_id"]?.string == "7.1")
    #expect(events[0]["message"]?["content"]?.string == "<p>x &lt; y</p>")
    let narrowed = try bench.events(0, some, after: -1)
    #expect(narrowed.map { $0["message"]?["content"]?.string } == ["x < y"])
    #expect(narrowed.map { $0["id"]?.int64 } == [0], "what a queue does not get takes no ID")
    #expect(narrowed[0]["local_message_id"] == nil)
    #expect(try bench.events(0, none, after: -1) == [])
    #expect(try bench.events(1, other, after: -1).count == 3)
  }

  @Test func `nobody hears of others' conversations or flags`() throws {
    var bench = ServerBench()
    let stranger = try bench.register(0)
    let member = try bench.register(2)
    let sent = try bench.get(
      1, "POST", "messages", [("type", "direct"), ("to", "[10]"), ("content", "for Cy")])
    let id = try #require(sent["id"]?.int64)
    _ = try bench.get(1, "PATCH", "messages/\(id)", [("content", "still for Cy")])
    _ = try bench.get(2, "POST", "messages/\(id)/reactions", [("emoji_name", "heart")])
    _ = try bench.get(
      2, "POST", "messages/flags", [("messages", "[\(id)]"), ("op", "add"), ("flag", "starred")])
    _ = try bench.get(1, "POST", "typing", [("op", "start"), ("to", "[10]")])
    _ = try bench.get(1, "DELETE", "messages/\(id)")
    #expect(try bench.events(0, stranger, after: -1) == [])
    #expect(
      try bench.events(2, member, after: -1).map { $0["type"]?.string } == [
        "message", "update_message", "reaction", "update_message_flags", "typing",
        "delete_message",
      ])
  }

  /// Seed 7474 of the world `zulip` starred such a message, and no client could know of it.
  @Test func `nobody stars what was sent to a private channel before they followed it`() throws {
    var realm = Realm(users: 3, wall: 1_767_225_600)
    let (ada, bo) = (realm.users[0].id, realm.users[1].id)
    realm.apply(
      realm.announcing(
        .channelMade(
          RealmChannel(id: 9, name: "vault", about: "", subscribers: [bo], isPrivate: true))))
    realm.apply(
      realm.sending("x", from: bo, to: .channel(9, topic: "t"), isRead: true, at: 1_767_225_601))
    realm.apply(realm.subscribing(ada, to: 9, isSet: true))
    let message = try #require(realm.messages.last)
    #expect(realm.flagging([message], .starred, isSet: true, of: ada) == nil)
    #expect(realm.flagging([message], .starred, isSet: true, of: bo) != nil)
  }

  @Test func `changes of one flag are merged while nobody has read them`() throws {
    var bench = ServerBench()
    let queue = try bench.register(0, [("event_types", #"["update_message_flags"]"#)])
    let ids = try (0..<3).map { _ in try bench.send(1, "m") }
    func set(_ op: String, _ id: Int64, _ bench: inout ServerBench) throws {
      _ = try bench.get(
        0, "POST", "messages/flags",
        [("messages", "[\(id)]"), ("op", op), ("flag", "read")])
    }
    try set("add", ids[0], &bench)
    try set("remove", ids[0], &bench)
    try set("add", ids[1], &bench)
    let events = try bench.events(0, queue, after: -1)
    // The recorded server does this, too: the truth is that the first one is unread.
    #expect(events.map { $0["id"]?.int64 } == [1, 2])
    #expect(events[0]["op"]?.string == "remove")
    #expect(events[0]["message_details"]?["\(ids[0])"]?["topic"]?.string == "t")
    #expect(events[1]["messages"]?.array == [.integer(ids[0]), .integer(ids[1])])
    try set("add", ids[2], &bench)
    let next = try bench.events(0, queue, after: 2)
    #expect(next.map { $0["messages"]?.array } == [[.integer(ids[2])]])
  }

  // MARK: Pages

  @Test func `pages are cut as the real server cuts them`() throws {
    var bench = ServerBench()
    for number in 4...9 { try bench.send(1, "\(number)", topic: "T\(number % 2)") }
    func page(
      _ anchor: String, _ before: Int, _ after: Int, _ more: [(String, String)] = []
    ) throws -> JSONValue {
      try bench.page(0, anchor: anchor, before: before, after: after, more)
    }
    #expect(try page("newest", 2, 0).ids == [8, 9])
    #expect(try page("newest", 2, 0).found == "--n")
    #expect(try page("newest", 9, 0).found == "--n", "exactly as many as were asked for")
    #expect(try page("newest", 10, 0).found == "-on")
    #expect(try page("oldest", 0, 2).ids == [1, 2])
    #expect(try page("oldest", 0, 2).found == "-o-")
    #expect(try page("6", 1, 1).ids == [5, 6, 7])
    #expect(try page("6", 1, 1).found == "a--")
    #expect(try page("6", 1, 0, [("include_anchor", "false")]).ids == [5])
    #expect(try page("first_unread", 0, 1)["anchor"]?.int64 == 1)
    #expect(try page("newest", 1, 0)["anchor"]?.int64 == 10_000_000_000_000_000)
    let unknown = ("narrow", #"[{"operator":"topic","operand":"none"}]"#)
    #expect(try page("newest", 1, 0, [unknown]).found == "-on")
    let narrow = #"[{"operator":"channel","operand":1},{"operator":"topic","operand":"t1"}]"#
    #expect(try page("oldest", 0, 9, [("narrow", narrow)]).ids == [5, 7, 9])
    let negated = #"[{"operator":"topic","operand":"t1","negated":true}]"#
    #expect(try page("oldest", 0, 9, [("narrow", negated)]).ids == [1, 2, 3, 4, 6, 8])
  }

  @Test func `what only the server can decide is found`() throws {
    var bench = ServerBench()
    let link = try bench.send(0, "see https://example.org/a.PNG", topic: "Plans")
    let upload = try bench.send(0, "[a](/user_uploads/1/a.txt)", topic: "✔ done")
    let plain = try bench.send(0, "A plain Word", topic: "Words")
    _ = try bench.get(
      1, "POST", "messages/\(plain)/reactions",
      [("emoji_name", "tada"), ("emoji_code", "1f389"), ("reaction_type", "unicode_emoji")])
    _ = try bench.get(
      1, "POST", "user_topics",
      [("stream_id", "1"), ("topic", "plans"), ("visibility_policy", "3")])
    let direct = try bench.get(
      0, "POST", "messages", [("type", "direct"), ("to", "[9]"), ("content", "between us")])
    func found(_ name: String, _ operand: String, by user: Int = 1) throws -> [Int64] {
      let narrow = #"[{"operator":"\#(name)","operand":\#(operand)}]"#
      return try bench.page(user, anchor: "newest", before: 9, [("narrow", narrow)]).ids
    }
    #expect(try found("has", #""link""#) == [link, upload])
    #expect(try found("has", #""image""#) == [link])
    #expect(try found("has", #""attachment""#) == [upload])
    #expect(try found("has", #""reaction""#) == [plain])
    #expect(try found("is", #""resolved""#) == [upload])
    #expect(try found("is", #""followed""#) == [link])
    #expect(try found("is", #""followed""#, by: 0) == [], "by somebody else")
    #expect(try found("search", #""word  PLAIN""#) == [plain])
    #expect(try found("search", #""plans""#) == [link])
    #expect(try found("dm-including", "8") == [try #require(direct["id"]?.int64)])
    let wrong = ("narrow", #"[{"operator":"has","operand":"hope"}]"#)
    #expect(
      bench.ask(1, "GET", "messages", [("anchor", "newest"), wrong])?.json?["msg"]?.string
        == "Invalid narrow operator: unknown 'has' operand hope")
  }

  @Test func `a channel that is not followed can be read, and sends no events`() throws {
    var bench = ServerBench()
    let queue = try bench.register(1)
    let id = try bench.send(0, "a book", channel: "library")
    #expect(try bench.events(1, queue, after: -1) == [])
    #expect(!(try bench.page(1, anchor: "newest", before: 9).ids).contains(id))
    let narrow = ("narrow", #"[{"operator":"channel","operand":"library"}]"#)
    let page = try bench.page(1, anchor: "newest", before: 9, [narrow])
    #expect(page.ids == [id])
    #expect(page["messages"]?.array?.first?["flags"]?.array == ["read", "historical"])
    let direct = try bench.get(
      0, "POST", "messages", [("type", "direct"), ("to", "[10]"), ("content", "for Cy")])
    let number = try #require(direct["id"]?.int64)
    #expect(bench.ask(1, "GET", "messages/\(number)")?.json?["msg"]?.string == "Invalid message(s)")
    #expect(try bench.get(2, "GET", "messages/\(number)")["raw_content"]?.string == "for Cy")
  }

  // MARK: Refusals, in the words of the recordings

  static let refusals: [(String, String, [(String, String)], Int, String, String?)] = [
    ("GET", "no_such_endpoint", [], 404, "Not found", nil),
    ("PUT", "messages", [], 405, "Method Not Allowed", nil),
    (
      "POST", "register", [("event_types", "x")], 400, "event_types is not valid JSON",
      "BAD_REQUEST"
    ),
    (
      "POST", "register", [("client_capabilities", #"{"bulk_message_deletion":true}"#)], 400,
      #"client_capabilities["notification_settings_null"] field is missing: Field required"#,
      "BAD_REQUEST"
    ),
    ("GET", "messages", [("num_before", "1")], 400, "Missing 'anchor' argument.", "BAD_REQUEST"),
    ("GET", "messages", [("anchor", "middle")], 400, "Invalid anchor", "BAD_REQUEST"),
    (
      "GET", "messages", [("anchor", "newest"), ("num_before", "5001")], 400,
      "Too many messages requested (maximum 5000).", "BAD_REQUEST"
    ),
    (
      "GET", "messages", [("anchor", "newest"), ("num_before", "-1")], 400,
      "num_before is too small", "BAD_REQUEST"
    ),
    (
      "GET", "messages", [("anchor", "newest"), ("narrow", #"[{"operator":"x","operand":"y"}]"#)],
      400, "Invalid narrow operator: unknown operator x", "BAD_NARROW"
    ),
    ("GET", "messages/999", [], 400, "Invalid message(s)", "BAD_REQUEST"),
    (
      "POST", "messages",
      [("type", "stream"), ("to", "nope"), ("topic", "t"), ("content", "c")], 400,
      "Channel 'nope' does not exist", "STREAM_DOES_NOT_EXIST"
    ),
    (
      "POST", "messages", [("type", "stream"), ("to", "general"), ("content", "c")], 400,
      "Missing topic", "BAD_REQUEST"
    ),
    (
      "POST", "messages",
      [("type", "stream"), ("to", "general"), ("topic", "t"), ("content", " ")],
      400, "Message must not be empty", "BAD_REQUEST"
    ),
    (
      "POST", "messages", [("type", "stream"), ("to", "general")], 400,
      "Missing 'content' argument", "REQUEST_VARIABLE_MISSING"
    ),
    (
      "POST", "messages", [("type", "direct"), ("to", "[99]"), ("content", "c")], 400,
      "Invalid user ID 99", "BAD_REQUEST"
    ),
    (
      "POST", "messages", [("type", "direct"), ("to", "[]"), ("content", "c")], 400,
      "Message must have recipients", "BAD_REQUEST"
    ),
    ("PATCH", "messages/1", [], 400, "Nothing to change", "BAD_REQUEST"),
    (
      "PATCH", "messages/1", [("content", "x")], 400,
      "You don't have permission to edit this message", "BAD_REQUEST"
    ),
    (
      "DELETE", "messages/1", [], 400, "You don't have permission to delete this message",
      "BAD_REQUEST"
    ),
    (
      "POST", "messages/1/reactions", [("emoji_name", "no_such")], 400,
      "Emoji 'no_such' does not exist", "BAD_REQUEST"
    ),
    (
      "DELETE", "messages/1/reactions", [("emoji_name", "tada")], 400, "Reaction doesn't exist.",
      "REACTION_DOES_NOT_EXIST"
    ),
    (
      "POST", "messages/flags", [("messages", "[1]"), ("op", "add"), ("flag", "mentioned")], 400,
      "Flag not editable: 'mentioned'", "BAD_REQUEST"
    ),
    ("GET", "events", [("last_event_id", "-1")], 400, "Missing 'queue_id' argument", "BAD_REQUEST"),
    (
      "DELETE", "events", [], 400, "Missing 'queue_id' argument", "REQUEST_VARIABLE_MISSING"
    ),
  ]

  @Test(arguments: refusals.indices)
  func `what cannot be done is refused with the real server's words`(_ index: Int) throws {
    let (method, path, parameters, status, words, code) = APIServerTests.refusals[index]
    var bench = ServerBench()
    let answer = try bench.answer(0, method, path, parameters)
    #expect(answer.status == status)
    #expect(answer.json?["result"]?.string == "error")
    #expect(answer.json?["msg"]?.string == words)
    #expect(answer.json?["code"]?.string == code)
  }

  @Test func `only a right key opens the door`() throws {
    let ada = RealmUser(number: 0)
    let cases: [(APIRequest.Credentials, Int, String)] = [
      (.none, 401, "Not logged in: API authentication or user session required"),
      (.malformed, 401, "Invalid authorization header for basic auth"),
      (.notBasic, 400, "This endpoint requires HTTP basic authentication."),
      (.basic(email: ada.email, key: ""), 401, "Malformed API key"),
      (.basic(email: ada.email, key: RealmUser(number: 1).key), 401, "Invalid API key"),
      (.basic(email: "nobody@example.com", key: ada.key), 401, "Invalid API key"),
    ]
    var bench = ServerBench()
    for (credentials, status, words) in cases {
      for path in ["users/me", "register", "events", "messages"] {
        let method = path == "register" ? "POST" : "GET"
        let request = APIRequest(method, path, as: credentials)
        guard case .answered(let answer) = bench.server.handle(request, at: bench.now) else {
          Issue.record("it waits")
          continue
        }
        #expect(answer.status == status)
        #expect(answer.json?["msg"]?.string == words)
      }
    }
    let login = { (password: String) in
      APIRequest(
        "POST", "fetch_api_key", [.init("username", ada.email), .init("password", password)])
    }
    guard case .answered(let right) = bench.server.handle(login(ada.password), at: bench.now),
      case .answered(let wrong) = bench.server.handle(login("wrong"), at: bench.now)
    else {
      Issue.record("it waits")
      return
    }
    #expect(right.json?["api_key"]?.string == ada.key)
    #expect(wrong.status == 401 && wrong.json?["code"]?.string == "AUTHENTICATION_FAILED")
  }

  // MARK: Bounds

  @Test func `one queue too many ends the oldest`() throws {
    var bench = ServerBench()
    let first = try bench.register(0)
    for _ in 0..<APIServer.queueLimit { _ = try bench.register(1) }
    #expect(bench.server.queues.readings.count == APIServer.queueLimit)
    #expect(
      bench.ask(0, "GET", "events", [("queue_id", first), ("last_event_id", "-1")])?.status == 400)
  }

  @Test func `old messages are forgotten, and after many changes all queues are`() throws {
    var bench = ServerBench(users: 1)
    var queue = ""
    let user = bench.server.realm.users[0]
    for number in 0..<Realm.messageLimit {
      if number == Realm.messageLimit - 5 { queue = try bench.register(0) }
      _ = bench.server.post(
        "x", from: user, to: .direct([user.id]), isRead: true, program: "", at: bench.now)
    }
    #expect(bench.server.realm.messages.count == Realm.messageLimit)
    let page = try bench.page(0, anchor: "oldest", after: 1)
    #expect(page.ids == [4])
    #expect(page["history_limited"]?.bool == true)
    #expect(
      bench.ask(0, "GET", "events", [("queue_id", queue), ("last_event_id", "-1")])?.json?["code"]
        == "BAD_EVENT_QUEUE_ID")
    #expect(bench.server.queues.position < 10)
  }

  @Test func `too long a text is cut, and too long a topic`() throws {
    var bench = ServerBench()
    let id = try bench.send(
      0, String(repeating: "ä", count: 20_000), topic: String(repeating: "t", count: 100))
    let answer = try bench.get(0, "GET", "messages/\(id)")
    let message = try #require(answer["message"])
    #expect(message["subject"]?.string == String(repeating: "t", count: 57) + "...")
    let text = try #require(bench.server.realm.message(id)?.text)
    #expect(text.unicodeScalars.count == APIServer.textLimit)
    #expect(text.hasSuffix("\n[message truncated]"))
  }
}
