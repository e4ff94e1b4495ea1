import Foundation
import LoopbackServer
import SyncProtocols
import Testing

@testable import EtcdSync
@testable import UpdateMachine

/// Members that answer what a real etcd has answered, and how a client goes from one to the next.
@Suite(.timeLimit(.minutes(2))) struct MembersOverHTTPTests {
  typealias Response = LoopbackServer.Response

  static let quick: EtcdSettings = {
    var settings = EtcdSettings()
    settings.memberDeadline = .seconds(1)
    settings.deadline = .seconds(5)
    settings.silence = .milliseconds(200)
    return settings
  }()

  /// The answer of a recorded exchange.
  static func recorded(_ name: String) throws -> Response {
    let exchange = try Recording.named(name)
    return Response.text(
      exchange.body, status: try #require(exchange.status), type: exchange.type ?? "")
  }

  /// A watch that goes on: what follows are empty lines, and then nothing more.
  static func watching(_ messages: String) -> Response {
    Response(
      headers: ["Content-Type": "application/json"],
      body: Array(messages.utf8) + [UInt8](repeating: UInt8(ascii: "\n"), count: 1000),
      chunk: 10_000
    ).with(.halfOpen(after: messages.utf8.count + 500))
  }

  static let header = #"{"cluster_id":"10144879847569953045","revision":"4","raft_term":"2"}"#
  static let created = "{\"result\":{\"header\":\(header),\"created\":true}}\n"

  /// Nothing is new since the range of revision 4.
  static func check(revision: Int64 = 4, changed: String = "", count: Int = 2) -> Response {
    .json(
      """
      {"header":{"cluster_id":"10144879847569953045","revision":"\(revision)","raft_term":"2"},\
      "succeeded":true,"responses":[{"response_range":{"kvs":[\(changed)],"count":"\(count)"}},\
      {"response_range":{"count":"2"}},{"response_range":{"kvs":[{"key":"YXBwL2I=",\
      "create_revision":"4","mod_revision":"4"}],"count":"1"}}]}
      """)
  }

  static let news = #"{"key":"YXBwL2E=","create_revision":"2","mod_revision":"6","value":"eA=="}"#

  /// Runs `body` with a client of several members.
  static func members(
    _ answers: [LoopbackServer.Answer], login: EtcdLogin? = nil, settings: EtcdSettings = quick,
    _ body: (EtcdSource<EtcdMap>, [LoopbackServer]) async throws -> Void
  ) async throws {
    var servers: [LoopbackServer] = []
    for answer in answers { servers.append(try LoopbackServer(answer: answer)) }
    let connection = try EtcdConnection(
      to: servers.map(\.address), login: login, settings: settings)
    let source = try EtcdSource(connection, prefix: "app/", for: EtcdMap.self)
    do {
      try await body(source, servers)
    } catch {
      for server in servers { await server.stop() }
      throw error
    }
    for server in servers { await server.stop() }
  }

  static func poll(
    _ source: EtcdSource<EtcdMap>, waits: Bool = false
  ) async -> Result<EtcdBatch, SyncFailure> {
    guard let finger = try? CheckTests.finger() else { return .failure(.unsupported) }
    do throws(SyncFailure) {
      return .success(try await source.poll(after: finger, waits: waits))
    } catch {
      return .failure(error)
    }
  }

  static func batch(
    _ source: EtcdSource<EtcdMap>, waits: Bool = false
  ) async throws -> EtcdBatch {
    try await source.poll(after: try CheckTests.finger(), waits: waits)
  }

  static func silent(_ request: LoopbackServer.Request) async -> Response {
    Response.text("").with(.halfOpen(after: 0))
  }

  @Test(arguments: [
    "no quorum: range", "no quorum: push", "leader killed: range at once", "anew: check",
    "request: no such path",
  ])
  func `a member that cannot answer is passed over, and the next one is asked first from then on`(
    name: String
  ) async throws {
    let bad = try MembersOverHTTPTests.recorded(name)
    try await MembersOverHTTPTests.members([
      { _ in bad }, { _ in MembersOverHTTPTests.check() },
    ]) { source, servers in
      for _ in 1...3 {
        let batch = try await MembersOverHTTPTests.batch(source)
        #expect(batch.events.isEmpty)
      }
      #expect(servers.map(\.counters.requests) == [1, 3])
    }
  }

  @Test func `a member that hangs is given up in time, and a closed one at once`() async throws {
    try await MembersOverHTTPTests.members([
      MembersOverHTTPTests.silent, MembersOverHTTPTests.silent,
      { _ in MembersOverHTTPTests.check() },
    ]) { source, servers in
      await servers[0].stop()
      let clock = SystemClock()
      let start = clock.now
      let batch = try await MembersOverHTTPTests.batch(source)
      #expect(batch.through == 4)
      #expect(clock.now.milliseconds - start.milliseconds < 3000)
    }
  }

  @Test func `a request that is given up is a reason to begin with the next member`() async throws {
    var settings = MembersOverHTTPTests.quick
    settings.memberDeadline = .seconds(60)
    settings.deadline = .seconds(60)
    try await MembersOverHTTPTests.members(
      [MembersOverHTTPTests.silent, { _ in MembersOverHTTPTests.check() }], settings: settings
    ) { source, servers in
      let given = Task { await MembersOverHTTPTests.poll(source) }
      _ = await servers[0].counters(within: .seconds(30)) { $0.requests == 1 }
      given.cancel()
      #expect(await given.value == .failure(.unreachable))
      let batch = try await MembersOverHTTPTests.batch(source)
      #expect(batch.events.isEmpty)
      #expect(servers.map(\.counters.requests) == [1, 1])
    }
  }

  @Test func `another history is believed when the last member has said so`() async throws {
    let foreign: LoopbackServer.Answer = { _ in
      Response.json(
        MembersOverHTTPTests.check().text.replacing("10144879847569953045", with: "1"))
    }
    try await MembersOverHTTPTests.members([foreign, foreign]) { source, _ in
      #expect(
        await MembersOverHTTPTests.poll(source) == .failure(.rejected(.otherHistory)))
    }
    try await MembersOverHTTPTests.members([foreign, foreign]) { source, servers in
      await servers[1].stop()
      #expect(await MembersOverHTTPTests.poll(source) == .failure(.unreachable))
    }
    try await MembersOverHTTPTests.members([
      foreign, { _ in MembersOverHTTPTests.check() },
    ]) { source, _ in
      let batch = try await MembersOverHTTPTests.batch(source)
      #expect(batch.through == 4)
    }
  }

  @Test(
    arguments: [
      (Response.text("<html>", status: 200, type: "text/html"), SyncFailure.serverFault),
      (.text("<html>", status: 401, type: "text/html"), .serverFault),
      (.text("", status: 429), .rateLimited(after: nil)), (.json("{"), .serverFault),
      (.json("{}"), .malformed), (Response.json("{}").with(.cut(after: 30)), .unreachable),
      (Response.json("{}").with(.reset(after: 30)), .unreachable),
      (Response.json("{}").with(.garbage([1, 2, 10, 10])), .serverFault),
      (.text("", status: 302), .serverFault),
    ] as [(Response, SyncFailure)])
  func `whatever one member says is one failure`(
    response: Response, failure: SyncFailure
  ) async throws {
    try await MembersOverHTTPTests.members([{ _ in response }]) { source, _ in
      #expect(await MembersOverHTTPTests.poll(source) == .failure(failure))
    }
  }

  /// Descriptors are closed and given anew all the time, and none may lose its events.
  @Test func `many connections that break at any moment each end at once`() async throws {
    let faults = Counter()
    try await MembersOverHTTPTests.members([
      { _ in
        switch faults.next() % 4 {
        case 0: MembersOverHTTPTests.check()
        case 1: MembersOverHTTPTests.check().with(.reset(after: 0))
        case 2: MembersOverHTTPTests.check().with(.reset(after: 200))
        default: MembersOverHTTPTests.check().with(.cut(after: 200))
        }
      }
    ]) { source, _ in
      let outcomes = await withTaskGroup(of: Int.self) { group in
        for _ in 1...8 {
          group.addTask {
            var timeouts = 0
            for _ in 1...100
            where await MembersOverHTTPTests.poll(source) == .failure(.timedOut) { timeouts += 1 }
            return timeouts
          }
        }
        return await group.reduce(0, +)
      }
      #expect(outcomes == 0)
    }
  }

  @Test func `a token appears in no text`() async throws {
    let login = EtcdLogin(user: "ada-who", password: "s3cret")
    let member: LoopbackServer.Answer = { request in
      guard request.path == "/v3/auth/authenticate" else {
        return request.headers["Authorization"] == "t0ken.19"
          ? MembersOverHTTPTests.check() : .text("", status: 500)
      }
      return .json("{\"header\":\(MembersOverHTTPTests.header),\"token\":\"t0ken.19\"}")
    }
    try await MembersOverHTTPTests.members([member], login: login) { source, _ in
      let batch = try await MembersOverHTTPTests.batch(source)
      var texts = ["\(batch)"]
      for value in [source, source.connection] as [Any] {
        var dumped = ""
        dump(value, to: &dumped)
        texts += [dumped, String(describing: value), String(reflecting: value)]
      }
      let secrets = ["t0ken", "s3cret", "ada-who"]
      #expect(texts.filter { text in secrets.contains { text.contains($0) } } == [])
    }
  }

  // MARK: Watches

  /// Answers a watch with some messages, and each question with an answer.
  static func member(
    _ messages: String, _ check: @escaping @Sendable () -> Response = { check() }
  ) -> LoopbackServer.Answer {
    { request in
      request.path == "/v3/watch" ? watching(messages) : check()
    }
  }

  @Test func `a watch that begins at a member that lags waits for what comes`() async throws {
    let lagging = MembersOverHTTPTests.created.replacing("\"4\"", with: "\"2\"")
    let event = """
      {"result":{"header":\(MembersOverHTTPTests.header.replacing("\"4\"", with: "\"3\"")),\
      "events":[{"kv":{"key":"YXBwL2E=","create_revision":"2","mod_revision":"3"}}]}}
      {"result":{"header":\(MembersOverHTTPTests.header.replacing("\"4\"", with: "\"6\"")),\
      "events":[{"kv":\(MembersOverHTTPTests.news)}]}}\n
      """
    try await MembersOverHTTPTests.members([
      MembersOverHTTPTests.member(lagging + event)
    ]) { source, _ in
      let batch = try await MembersOverHTTPTests.batch(source, waits: true)
      #expect(batch.through == 6)
      #expect(batch.events.map(\.event.key) == ["a"])
    }
  }

  @Test func `a silent watch is not believed: the question finds what it has not said`()
    async throws
  {
    let asked = Counter()
    try await MembersOverHTTPTests.members([
      MembersOverHTTPTests.member(MembersOverHTTPTests.created) {
        asked.next() == 1
          ? MembersOverHTTPTests.check()
          : MembersOverHTTPTests.check(revision: 6, changed: MembersOverHTTPTests.news)
      }
    ]) { source, servers in
      let batch = try await MembersOverHTTPTests.batch(source, waits: true)
      #expect(batch.through == 6)
      #expect(batch.events.map(\.event.value) == [[UInt8(ascii: "x")]])
      // The watch is ended.
      _ = await servers[0].counters(within: .seconds(10)) { $0.open == 0 }
      #expect(servers[0].counters.open == 0)
    }
  }

  /// The question has shown that its member is level, so it need not be opened anew.
  @Test func `a silent watch serves the next poll, too`() async throws {
    var settings = MembersOverHTTPTests.quick
    settings.silence = .milliseconds(1500)
    let opened = Counter()
    let member: LoopbackServer.Answer = { request in
      guard request.path == "/v3/watch" else { return MembersOverHTTPTests.check() }
      _ = opened.next()
      return MembersOverHTTPTests.watching(MembersOverHTTPTests.created)
    }
    try await MembersOverHTTPTests.members([member], settings: settings) { source, _ in
      for _ in 1...2 {
        let batch = try await MembersOverHTTPTests.batch(source, waits: true)
        #expect(batch.events.isEmpty)
      }
      #expect(opened.next() == 2, "it was opened once")
    }
  }

  /// Ten messages have come, and one poll takes them.
  @Test func `a client that asks slowly takes all that has come`() async throws {
    let messages = (5...14).map { revision in
      """
      {"result":{"header":\(MembersOverHTTPTests.header.replacing("\"4\"", with: "\"\(revision)\"")),\
      "events":[{"kv":{"key":"YXBwL2E=","create_revision":"2","mod_revision":"\(revision)"}}]}}\n
      """
    }
    try await MembersOverHTTPTests.members([
      MembersOverHTTPTests.member(MembersOverHTTPTests.created + messages.joined())
    ]) { source, _ in
      let batch = try await MembersOverHTTPTests.batch(source, waits: true)
      #expect(batch.through == 14 && batch.events.count == 10)
      #expect(batch.isCurrent)
    }
  }

  @Test(arguments: [
    ("quorum lost: watch that wants a leader", SyncFailure.serverFault),
    ("watch: compacted", .expired),
    ("token: not permitted, watch", .rejected(RejectionCode("PERMISSION_DENIED"))),
    ("token: none, watch", .unauthorized),
  ])
  func `a watch that etcd ends is a failure of its kind`(
    name: String, failure: SyncFailure
  ) async throws {
    let cluster = "10144879847569953045"
    let messages = try Recording.named(name).body.replacing(
      "14050359209041629581", with: cluster)
    try await MembersOverHTTPTests.members([MembersOverHTTPTests.member(messages)]) { source, _ in
      #expect(await MembersOverHTTPTests.poll(source, waits: true) == .failure(failure))
    }
  }

  @Test(arguments: [
    "{}\n", "no JSON\n", "{\"result\":{\"header\":{}}}\n", "\u{0}\n",
    "{\"result\":{\"header\":\(header),\"created\":true}}\n",
  ])
  func `a watch that says something else is malformed, and ended`(message: String) async throws {
    try await MembersOverHTTPTests.members([
      MembersOverHTTPTests.member(MembersOverHTTPTests.created + message)
    ]) { source, servers in
      #expect(await MembersOverHTTPTests.poll(source, waits: true) == .failure(.malformed))
      _ = await servers[0].counters(within: .seconds(10)) { $0.open == 0 }
      #expect(servers[0].counters.open == 0)
    }
  }

  @Test func `a log-out ends the watch that is kept for the next poll`() async throws {
    try await MembersOverHTTPTests.members([
      MembersOverHTTPTests.member(MembersOverHTTPTests.created)
    ]) { source, servers in
      let batch = try await MembersOverHTTPTests.batch(source, waits: true)
      #expect(batch.events.isEmpty)
      // The question's connection is closed soon, and the watch's is not.
      _ = await servers[0].counters(within: .seconds(10)) { $0.open == 1 }
      #expect(servers[0].counters.open == 1)
      await source.release(EtcdClusterID(1))
      _ = await servers[0].counters(within: .seconds(10)) { $0.open == 0 }
      #expect(servers[0].counters.open == 0)
    }
  }

  /// A member that has the push, and says nothing, may yet run it. What another member says of the
  /// present is then no promise.
  @Test(arguments: [true, false])
  func `a push that another member may have is not said to be undone`(
    takesPush: Bool
  ) async throws {
    let failed = Response.json("{\"header\":\(MembersOverHTTPTests.header),\"responses\":[{}]}")
    let first: LoopbackServer.Answer = { request in
      let isPush = String(decoding: request.body, as: UTF8.self).contains("put")
      return isPush == takesPush
        ? await MembersOverHTTPTests.silent(request) : MembersOverHTTPTests.check()
    }
    let second: LoopbackServer.Answer = { request in
      let isPush = String(decoding: request.body, as: UTF8.self).contains("put")
      return isPush ? failed : MembersOverHTTPTests.check()
    }
    let finger = try CheckTests.finger()
    let servers = [try LoopbackServer(answer: first), try LoopbackServer(answer: second)]
    let connection = try EtcdConnection(
      to: servers.map(\.address), settings: MembersOverHTTPTests.quick)
    let source = try EtcdSource(connection, prefix: "app/", for: Chores.self)
    let answer: Result<PushAnswer, PushFailure>
    do throws(PushFailure) {
      answer = .success(
        try await source.push(.of(.count("n"), client: 1), at: finger, over: EtcdView()))
    } catch {
      answer = .failure(error)
    }
    #expect(answer == (takesPush ? .failure(PushFailure(.serverFault)) : .success(.behind)))
    for server in servers { await server.stop() }
  }

  /// Neither a closed port nor a check without an answer has the push.
  @Test func `a push that was not sent has not left`() async throws {
    let server = try LoopbackServer(answer: MembersOverHTTPTests.silent)
    var settings = MembersOverHTTPTests.quick
    settings.deadline = .milliseconds(300)
    let finger = try CheckTests.finger()
    for isClosed in [false, true] {
      if isClosed { await server.stop() }
      let connection = try EtcdConnection(to: [server.address], settings: settings)
      let source = try EtcdSource(connection, prefix: "app/", for: Chores.self)
      await #expect(
        throws: PushFailure(isClosed ? .unreachable : .timedOut, hasLeft: false)
      ) {
        try await source.push(.of(.count("n"), client: 1), at: finger, over: EtcdView())
      }
    }
  }
}

/// Counts from several threads.
final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var count = 0

  func next() -> Int {
    lock.withLock {
      count += 1
      return count
    }
  }
}

extension LoopbackServer.Response {
  var text: String { String(decoding: body, as: UTF8.self) }
}
