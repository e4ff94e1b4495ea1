import LoopbackServer
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests drafts through the outbox, the driver, URLSession and a socket.
@Suite(.timeLimit(.minutes(3))) struct DraftsOverHTTPTests {
  private typealias Machine = UpdateMachine<ZulipAccountSource>

  private static func follow(
    _ desk: Drawer, _ body: (Machine) async throws -> Void
  ) async throws {
    try await Ada.follow({ await desk.answer($0) }, while: body)
  }

  private static let place = ZulipConnection.Recipient.channel(ChannelID(4), topic: "lunch")
  private static let one = ZulipDraft(place, "one", at: 1)
  private static let two = ZulipDraft(place, "two", at: 2)

  private static func json(_ content: String, _ time: Int) -> String {
    #"{"content":"\#(content)","timestamp":\#(time),"to":[4],"topic":"lunch","type":"stream"}"#
  }

  @Test func `a draft is created, edited and deleted, each in one request`() async throws {
    let desk = Drawer([])
    try await Self.follow(desk) { machine in
      let created = try await machine.mutate(.draft(nil, becomes: Self.one))
      #expect(await machine.state.view?.realm.drafts.map(\.content) == ["one"])
      #expect(await machine.acknowledged(created.ticket) == .acknowledged)
      let held = try #require(await machine.state.model?.realm.drafts.first)
      #expect(held.isSame(as: Self.one) && held.id.number == 1)
      // What the app has made is name enough.
      let edited = try await machine.mutate(.draft(Self.one, becomes: Self.two))
      #expect(await machine.acknowledged(edited.ticket) == .acknowledged)
      let deleted = try await machine.mutate(.draft(Self.two, becomes: nil))
      #expect(await machine.acknowledged(deleted.ticket) == .acknowledged)
      #expect(await machine.state.model?.realm.drafts == [])
      #expect(
        desk.requests == [
          "POST drafts [\(Self.json("one", 1))]", "PATCH drafts/1 \(Self.json("two", 2))",
          "DELETE drafts/1",
        ])
    }
  }

  @Test func `the article's draft is made, changed and deleted`() async throws {
    let (general, now) = (ChannelID(4), Int64(1_800_000_000))
    var shown: [String] = []
    func show(_ drafts: [ZulipDraft]) { shown = drafts.map(\.content) }
    try await Self.follow(Drawer([])) { machine in
      // Article example begins: drafts
      let first = ZulipDraft(.channel(general, topic: "lunch"), "At no", at: now)
      _ = try await machine.mutate(.draft(nil, becomes: first))  // Offline, too.
      let second = ZulipDraft(.channel(general, topic: "lunch"), "At noon?", at: now)
      _ = try await machine.mutate(.draft(first, becomes: second))
      show(await machine.state.view?.realm.drafts ?? [])
      _ = try await machine.mutate(.draft(second, becomes: nil))  // It was sent.
      // Article example ends
      #expect(shown == ["At noon?"])
      for await state in await machine.states() {
        if state.pending.isEmpty, state.model?.realm.drafts.isEmpty == true { break }
      }
    }
  }

  /// The event of the first copy comes.
  @Test func `a draft whose answer is lost is created once`() async throws {
    let desk = Drawer([.lost])
    try await Self.follow(desk) { machine in
      let created = try await machine.mutate(.draft(nil, becomes: Self.one))
      for await state in await machine.states() {
        if state.model?.realm.drafts.isEmpty == false, state.pending.isEmpty { break }
      }
      #expect(await machine.state(of: created.ticket) == .acknowledged)
      #expect(desk.requests.count == 1)
    }
  }

  @Test func `an edit of a draft whose ID has not come finds it by what it was`() async throws {
    let desk = Drawer([.silent])
    try await Self.follow(desk) { machine in
      let created = try await machine.mutate(.draft(nil, becomes: Self.one))
      #expect(await machine.accepted(created.ticket))
      let edited = try await machine.mutate(.draft(Self.one, becomes: Self.two))
      #expect(await machine.accepted(edited.ticket))
      #expect(
        desk.requests.suffix(2) == ["GET drafts", "PATCH drafts/1 \(Self.json("two", 2))"])
      #expect(await machine.state.view?.realm.drafts.map(\.content) == ["two"])
    }
  }

  /// Changes of drafts without IDs: a second copy, and one of a draft that is gone.
  @Test func `what is done already is no failure, and what cannot be done is one`() async throws {
    let desk = Drawer([])
    try await Ada.serve {
      await desk.answer($0)
    } while: { (_, connection) async throws in
      let source = ZulipAccountSource(connection)
      #expect(try await source.replace(nil, by: Self.one) == .created(1))
      #expect(try await source.replace(nil, by: nil) == .accepted)
      for _ in 1...2 { #expect(try await source.replace(Self.one, by: Self.two) == .accepted) }
      #expect(desk.requests.filter { $0.hasPrefix("PATCH") }.count == 1)
      #expect(try await source.replace(Self.two, by: nil) == .created(1), "which one it was")
      #expect(try await source.replace(Self.two, by: nil) == .accepted)
      #expect(desk.requests.filter { $0.hasPrefix("DELETE") }.count == 1)
      let failure = await #expect(throws: ZulipFailure.self) {
        _ = try await source.replace(Self.one, by: Self.two)
      }
      let words = RejectionCode("There is no such draft")
      #expect(failure?.failureOfChange == .rejected(words))
      // One of the server's that is gone: the server says so, and its list.
      var old = Self.one
      old.id = ZulipDraft.ID(number: 7)
      #expect(try await source.replace(old, by: nil) == .accepted)
      #expect(desk.requests.suffix(2) == ["DELETE drafts/7", "GET drafts"])
    }
  }

  @Test func `a refusal sets a draft aside with the server's words`() async throws {
    let desk = Drawer([.refused("User has disabled synchronizing drafts.")])
    try await Self.follow(desk) { machine in
      let created = try await machine.mutate(.draft(nil, becomes: Self.one))
      #expect(await machine.acknowledged(created.ticket) == .setAside)
      guard case .refused(let code)? = await machine.state.setAside.first?.reason else {
        Issue.record("it is set aside")
        return
      }
      #expect(code.text == "User has disabled synchronizing drafts.")
      #expect(await machine.state.view?.realm.drafts == [])
      #expect(await machine.retry(created.ticket))
      #expect(await machine.acknowledged(created.ticket) == .acknowledged)
    }
  }

  @Test(arguments: [#""ids":[]"#, #""ids":7"#, #""id":1"#])
  func `an answer without the draft's ID is malformed, and may have left`(
    fields: String
  ) async throws {
    try await Ada.serve { _ in
      .success(fields)
    } while: { _, connection in
      let failure = await #expect(throws: ZulipFailure.self) {
        _ = try await connection.createDraft(Self.one.fields)
      }
      #expect(failure?.failure == .malformed && failure?.hasLeft == true)
    }
  }
}

/// A server with a drawer of drafts, that does with a change what it is told to.
private final class Drawer: Sendable {
  enum Fate {
    /// The server makes it, but the connection breaks before the answer arrives.
    case lost
    /// No event comes.
    case silent
    case refused(String)
  }

  private struct State {
    var fates: [Fate]
    var requests: [String] = []
    var events: [String] = []
    var drafts: [(id: Int, json: String)] = []
    var isSilent = false

    mutating func tell(_ fields: String) {
      if !isSilent { events.append(#"{"id":\#(events.count),"type":"drafts",\#(fields)}"#) }
    }
  }

  private let state: Shared<State>

  init(_ fates: [Fate]) { state = Shared(State(fates: fates)) }

  var requests: [String] { state.value.requests }

  func answer(_ request: LoopbackServer.Request) async -> Response {
    switch (request.method, request.path) {
    case ("POST", "/api/v1/register"):
      return .success(
        """
        "queue_id":"q","last_event_id":-1,"zulip_feature_level":323,"user_id":7,\
        "subscriptions":[{"stream_id":4,"name":"general"}],"streams":[],"drafts":[]
        """)
    case ("GET", "/api/v1/events"): return await events(request)
    case ("DELETE", "/api/v1/events"): return .success()
    default: return change(request)
    }
  }

  /// A poll that waits gets no sign of life: nothing but events and answers confirms a change.
  private func events(_ request: LoopbackServer.Request) async -> Response {
    let last = request.query["last_event_id"].flatMap { Int($0) } ?? -1
    let clock = SystemClock()
    while true {
      let news = state.change { $0.events.dropFirst(last + 1).joined(separator: ",") }
      if !news.isEmpty { return .events(news) }
      if request.query["dont_block"] == "true" { return .events() }
      do { try await clock.sleep(until: clock.now + .milliseconds(20)) } catch { return .events() }
    }
  }

  private func change(_ request: LoopbackServer.Request) -> Response {
    let path = request.path.dropFirst("/api/v1/".count)
    let draft = request.form?["draft"]
    let list = request.form?["drafts"]
    let words = ["\(request.method) \(path)", draft ?? list].compactMap { $0 }
    return state.change { state in
      state.requests.append(words.joined(separator: " "))
      let fate = state.fates.isEmpty ? nil : state.fates.removeFirst()
      if case .refused(let words)? = fate {
        return .json(#"{"result":"error","msg":"\#(words)","code":"BAD_REQUEST"}"#, status: 400)
      }
      if case .silent? = fate { state.isSilent = true }
      let answer = Drawer.change(
        request.method, path.split(separator: "/").last.flatMap { Int($0) },
        draft ?? list.map { String($0.dropFirst().dropLast()) }, &state)
      if case .lost? = fate { return answer.with(.reset(after: 0)) }
      return answer
    }
  }

  private static func change(
    _ method: String, _ id: Int?, _ draft: String?, _ state: inout State
  ) -> Response {
    func json(_ id: Int, _ draft: String) -> String { #"{"id":\#(id),\#(draft.dropFirst())"# }
    let place = state.drafts.firstIndex { $0.id == id }
    switch (method, place, draft) {
    case ("POST", _, let draft?):
      let id = state.drafts.count + 1
      state.drafts.append((id, draft))
      state.tell(#""op":"add","drafts":[\#(json(id, draft))]"#)
      return .success(#""ids":[\#(id)]"#)
    case ("PATCH", let place?, let draft?):
      state.drafts[place].json = draft
      state.tell(#""op":"update","draft":\#(json(state.drafts[place].id, draft))"#)
      return .success()
    case ("DELETE", let place?, _):
      let id = state.drafts.remove(at: place).id
      state.tell(#""op":"remove","draft_id":\#(id)"#)
      return .success()
    case ("GET", _, _):
      let all = state.drafts.map { json($0.id, $0.json) }.joined(separator: ",")
      return .success(#""count":\#(state.drafts.count),"drafts":[\#(all)]"#)
    default:
      return .json(
        #"{"result":"error","msg":"Draft does not exist","code":"BAD_REQUEST"}"#, status: 404)
    }
  }
}
