import LoopbackServer
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipServer

@Suite("Faults, lines and the page of `simulate serve`") struct ServedSiteTests {
  private static let wall = WallTime(milliseconds: 1_800_000_000_000)

  private static func site(
    seed: UInt64 = 1, _ set: (inout FaultSwitches) -> Void = { _ in }
  ) -> ServedSite {
    var faults = FaultSwitches()
    set(&faults)
    return ServedSite(faults: faults, seed: seed, at: Moment(milliseconds: 0), wall: wall)
  }

  private static func send(_ text: String) -> APIRequest {
    APIRequest(
      "POST", "messages",
      [
        .init("type", "stream"), .init("to", "general"), .init("topic", "t"),
        .init("content", text),
      ],
      as: ServerBench.login(0))
  }

  // MARK: Faults

  @Test func `a lost request does nothing, a lost answer comes after the deed`() {
    let now = Moment(milliseconds: 1_000)
    var deaf = ServedSiteTests.site { $0.lostRequests = 100 }
    guard case .lost(let late) = deaf.handle(ServedSiteTests.send("x"), at: now) else {
      Issue.record("it is answered")
      return
    }
    #expect(late == .zero)
    #expect(deaf.server.realm.messages.count == 3)
    var mute = ServedSiteTests.site {
      $0.lostAnswers = 100
      $0.latency = 70
    }
    guard case .lost(let later) = mute.handle(ServedSiteTests.send("x"), at: now) else {
      Issue.record("it is answered")
      return
    }
    #expect(later == .milliseconds(70))
    #expect(mute.server.realm.messages.count == 4)
    #expect(
      mute.lines(after: 0) == [
        "  0:01.000  server    commit 1: message 4 from Ada to general > t: x",
        "  0:01.000  Ada       send → message 4",
        "  0:01.000  fault     lost answer, Ada: send",
      ])
  }

  @Test func `errors are answers of the server or of a proxy, and the deed is not done`() {
    var site = ServedSiteTests.site { $0.errors = 100 }
    var statuses: [Int] = []
    for step in 0..<40 {
      let now = Moment(milliseconds: Int64(step))
      guard case .answered(let answer, _) = site.handle(ServedSiteTests.send("x"), at: now) else {
        Issue.record("no answer")
        return
      }
      statuses.append(answer.status)
      #expect((answer.json == nil) == (answer.status == 502))
    }
    #expect(Set(statuses) == [500, 502])
    #expect(site.server.realm.messages.count == 3)
  }

  @Test func `one seed gives each request the same luck, and percentages are about kept`() {
    func luck(_ seed: UInt64) -> [Bool] {
      var site = ServedSiteTests.site(seed: seed) { $0.lostRequests = 30 }
      return (0..<1_000).map { step in
        let request = APIRequest("GET", "users/me", as: ServerBench.login(0))
        if case .lost = site.handle(request, at: Moment(milliseconds: Int64(step))) { return true }
        return false
      }
    }
    #expect(luck(1) == luck(1))
    #expect(luck(1) != luck(2))
    #expect((250...350).contains(luck(1).count { $0 }))
  }

  @Test func `a rate limit says how long to wait, and counts polls apart`() throws {
    var site = ServedSiteTests.site {
      $0.rateRequests = 2
      $0.rateSeconds = 60
    }
    func ask(_ path: String, _ moment: Int64) -> APIAnswer? {
      let request = APIRequest("GET", path, as: ServerBench.login(0))
      guard case .answered(let answer, _) = site.handle(request, at: Moment(milliseconds: moment))
      else { return nil }
      return answer
    }
    #expect(ask("users/me", 0)?.status == 200)
    #expect(ask("users", 10)?.status == 200)
    let refused = try #require(ask("users", 5_500))
    #expect(refused.status == 429)
    #expect(refused.json?["code"]?.string == "RATE_LIMIT_HIT")
    #expect(refused.json?["retry-after"]?.number?.double == 54.5)
    #expect(refused.response.headers["Retry-After"] == "54.5")
    #expect(ask("events", 5_500)?.status == 400, "a poll without a queue")
    #expect(ask("users", 60_000)?.status == 200)
  }

  @Test func `all queues expire again and again`() {
    var site = ServedSiteTests.site { $0.expireEvery = 5 }
    func register(_ moment: Int64) {
      let request = APIRequest("POST", "register", as: ServerBench.login(0))
      _ = site.handle(request, at: Moment(milliseconds: moment))
    }
    register(100)
    site.advance(to: Moment(milliseconds: 4_999))
    #expect(site.server.queues.readings.count == 1)
    site.advance(to: Moment(milliseconds: 5_000))
    #expect(site.server.queues.readings.isEmpty)
    register(6_000)
    site.advance(to: Moment(milliseconds: 10_000))
    #expect(site.server.queues.readings.isEmpty)
  }

  @Test func `a poll whose client went away leaves the queue and its events`() {
    var site = ServedSiteTests.site()
    let now = Moment(milliseconds: 1)
    func ask(_ method: String, _ path: String, _ parameters: [APIRequest.Parameter] = [])
      -> ServedSite.Outcome
    {
      site.handle(APIRequest(method, path, parameters, as: ServerBench.login(0)), at: now)
    }
    _ = ask("POST", "register")
    let poll: [APIRequest.Parameter] = [.init("queue_id", "1-q1"), .init("last_event_id", "-1")]
    guard case .waits(let waiter) = ask("GET", "events", poll) else {
      Issue.record("it is answered")
      return
    }
    site.abandon(waiter: waiter, at: now)
    _ = site.handle(ServedSiteTests.send("x"), at: now)
    #expect(site.takeFinished(at: now).isEmpty)
    guard case .answered(let answer, _) = ask("GET", "events", poll) else {
      Issue.record("it waits")
      return
    }
    #expect(answer.json?["events"]?.array?.count == 1)
    #expect(site.lines(after: 2).first?.hasSuffix("→ the client went away") == true)
  }

  // MARK: Lines

  @Test func `no line contains a secret, a control character, or more than fits`() {
    var site = ServedSiteTests.site()
    let ada = site.server.realm.users[0]
    let text =
      "key \(ada.key)\u{1B}[2J\nand \(ada.password) \u{202E}" + String(repeating: "x", count: 900)
    _ = site.handle(ServedSiteTests.send(text), at: Moment(milliseconds: 1))
    let path = APIRequest(
      "GET", ["users", ada.key + "\n"], [], as: ServerBench.login(0), program: "x")
    _ = site.handle(path, at: Moment(milliseconds: 2))
    let lines = site.lines(after: 0)
    #expect(lines.count == 3)
    for line in lines {
      #expect(!line.contains(ada.key) && !line.contains(ada.password), "\(line)")
      #expect(line.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 0x202E })
      #expect(line.count < 240)
    }
    #expect(lines[0].contains("key …[2J and … "))
  }

  @Test func `the newest lines are kept, and can be asked for by number`() {
    var transcript = Transcript(secrets: [])
    for number in 0..<2_500 { transcript.add("a", "\(number)", at: Moment(milliseconds: 0)) }
    #expect(transcript.lines.count == Transcript.limit)
    #expect(transcript.count == 2_500)
    #expect(transcript.lines(after: 2_498).map { $0.suffix(4) } == ["2498", "2499"])
    #expect(transcript.lines(after: 0).count == Transcript.limit)
    #expect(transcript.lines(after: 9_999) == [])
    #expect(transcript.lines(after: .min).count == Transcript.limit)
  }

  // MARK: The page

  @Test func `what the page sends is done or refused with a reason`() throws {
    var site = ServedSiteTests.site()
    let faults = try site.command("faults", ["latency": 50, "errors": 10])
    site.perform(faults, at: Moment(milliseconds: 1))
    #expect(site.faults.latency == 50 && site.faults.errors == 10)
    site.perform(
      try site.command("send", ["user": 9, "channel": 1, "topic": "t", "text": "hi"]),
      at: Moment(milliseconds: 2))
    #expect(site.server.realm.messages.last?.text == "hi")
    let wrong: [(String, JSONValue?, String)] = [
      ("faults", ["errors": 101], "errors needs a whole number from 0 to 100"),
      ("faults", ["colour": 1], "there is no switch colour"),
      ("send", ["user": 99, "channel": 1, "topic": "t", "text": "x"], "choose a user"),
      ("send", ["user": 9, "channel": 1, "topic": " ", "text": "x"], "write a topic"),
      ("send", ["user": 9, "channel": 1, "topic": "t"], "Message must not be empty"),
      ("dance", nil, "there is no command dance"),
    ]
    for (name, body, words) in wrong {
      do throws(PageError) {
        _ = try site.command(name, body)
        Issue.record("\(name) is done")
      } catch {
        #expect(error.message == words)
      }
    }
    let state = site.state(after: 0, at: Moment(milliseconds: 3))
    #expect(state["faults"]?["latency"]?.int64 == 50)
    #expect(state["lines"]?.array?.count == 3)
    let keys = site.server.realm.users.flatMap { [$0.key, $0.password] }
    #expect(!keys.contains { state.description.contains($0) })
  }

  // MARK: What nobody should send

  private static let words = [
    "", "1", "-1", "0", "99999999999999999999", "9223372036854775807", "-9223372036854775808",
    "null", "true", "[]", "{}", "[1]", "[[\"is\",\"unread\"]]", "[{\"operator\":\"dm\"}]",
    "[{\"operator\":\"dm\",\"operand\":[]}]", "[{\"operator\":\"id\",\"operand\":1}]", "general",
    "stream", "direct", "add", "remove", "read", "starred", "start", "tada", "newest", "oldest",
    "first_unread", "1-q1", "1-q", "-q1", "change_all", "ada@example.com,", "\u{0}",
    "\u{FEFF}é\u{301}",
    "[9223372036854775807]", "[-1,1e400]", "[\"a\",1]", "{\"notification_settings_null\":true}",
    String(repeating: "[", count: 200), String(repeating: "ä", count: 300),
  ]
  private static let names = [
    "queue_id", "last_event_id", "dont_block", "event_types", "narrow", "client_capabilities",
    "queue_lifespan_secs", "anchor", "num_before", "num_after", "include_anchor", "type", "to",
    "topic", "content", "local_id", "messages", "op", "flag", "emoji_name", "stream_id",
    "propagate_mode", "subscriptions", "username", "password", "apply_markdown", "stream",
    "use_first_unread_anchor",
  ]
  private static let paths = [
    "register", "events", "messages", "messages/flags", "messages/1", "messages/2/reactions",
    "messages/-9223372036854775808", "users", "users/me", "users/x", "users/me/subscriptions",
    "users/me/1/topics", "users/me/x/topics", "users/me/presence", "typing", "streams", "render",
    "get_stream_id", "mark_all_as_read", "server_settings", "fetch_api_key", "", "a/b/c/d/e/f",
  ]

  @Test(arguments: 1...40 as ClosedRange<UInt64>)
  func `whatever is asked, each answer is JSON with a result, and nothing traps`(_ seed: UInt64) {
    var chance = SplitMix(seed)
    var server = ServerBench(lifetime: .seconds(2)).server
    var now = Moment(milliseconds: 0)
    var statuses: Set<Int> = []
    for _ in 0..<400 {
      let method = ["GET", "POST", "PATCH", "DELETE", "PUT"][chance.below(5)]
      let path = ServedSiteTests.paths[chance.below(ServedSiteTests.paths.count)]
      let parameters = (0..<chance.below(7)).map { _ in
        APIRequest.Parameter(
          ServedSiteTests.names[chance.below(ServedSiteTests.names.count)],
          ServedSiteTests.words[chance.below(ServedSiteTests.words.count)])
      }
      let user = chance.below(10)
      let login = user < 8 ? ServerBench.login(user % 4) : .none
      now = now + .milliseconds(chance.below(Int64(300)))
      let request = APIRequest(method, path, parameters, as: login)
      if case .answered(let answer) = server.handle(request, at: now) {
        statuses.insert(answer.status)
        #expect(["success", "error"].contains(answer.json?["result"]?.string))
      }
      for end in server.takeFinished() { #expect(end.answer.status == 200) }
    }
    #expect(statuses.isSuperset(of: [200, 400, 401, 404, 405]))
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `random bytes as target, header or body trap nothing`(_ seed: UInt64) async {
    var chance = SplitMix(seed)
    let driver = ServeDriver(ServeDriver.Options()) { _ in }
    let targets = [
      "/", "/api/v1/messages", "/api/v1/events?queue_id=%FF", "/api/v1/register?narrow=%5B",
      "/control/state?after=-9223372036854775808", "/control/faults", "/control/send",
      "/control/", "*", "/api/v1/", "/api/v1//messages//1", "/api/v1/users/%00",
    ]
    for _ in 0..<200 {
      let bytes = (0..<chance.below(80)).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
      let text = String(decoding: bytes, as: UTF8.self)
      let login = ["Basic \(text)", text, "Basic YWRhOg==", "Basic", "Bearer x"][chance.below(5)]
      guard
        let request = LoopbackServer.Request(
          method: ["GET", "POST", "DELETE", text][chance.below(4)],
          target: targets[chance.below(targets.count)],
          headers: [
            "Authorization": login, "Host": "127.0.0.1", "X-Serve": "1", "User-Agent": text,
            "Content-Type": "application/x-www-form-urlencoded",
          ], body: bytes)
      else { continue }
      let response = await driver.answer(request)
      #expect((200...502).contains(response.status))
    }
  }
}
