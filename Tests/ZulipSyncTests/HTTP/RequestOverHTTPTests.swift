import Foundation
import LoopbackServer
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests each request as the server gets it, and each answer as the client gets it.
@Suite(.timeLimit(.minutes(2))) struct RequestOverHTTPTests {
  typealias Connection = ZulipConnection

  private func parameters(_ form: LoopbackServer.Form?) -> [String] {
    (form?.items ?? []).map { "\($0.name)=\($0.value)" }
  }

  @Test func `a register asks for all that a state needs, and brings finger and terms`()
    async throws
  {
    let fields = """
      "queue_id":"q1","last_event_id":3,"zulip_feature_level":323,"alert_words":["a"],\
      "event_queue_longpoll_timeout_seconds":90,\
      "ignored_parameters_unsupported":["idle_queue_timeout"]
      """
    let (request, registered) = try await Ada.asked(.success(fields)) {
      connection throws(ZulipFailure) in
      try await connection.register(ZulipRegister(eventTypes: ["message"], lifetime: .seconds(700)))
    }
    #expect(request.description == "POST /api/v1/register")
    #expect(request.target == "/api/v1/register")
    let capabilities = """
      {"archived_channels":true,"bulk_message_deletion":true,"include_deactivated_groups":true,\
      "linkifier_url_template":true,"notification_settings_null":true,\
      "stream_typing_notifications":true,"user_avatar_url_field_optional":true,\
      "user_list_incomplete":true,"user_settings_object":true}
      """
    #expect(
      parameters(request.form) == [
        "apply_markdown=true", "client_gravatar=true", "slim_presence=true",
        "include_subscribers=false", "client_capabilities=\(capabilities)",
        #"event_types=["message"]"#, "queue_lifespan_secs=700", "idle_queue_timeout=700",
      ])
    #expect(registered.finger == QueueFinger(queue: QueueID("q1"), lastEventID: 3))
    #expect(registered.terms == ServerTerms(longDeadline: .seconds(100), lifetime: .seconds(700)))
    #expect(registered.snapshot.fields["alert_words"] == ["a"])
    #expect(try ZulipState(snapshot: registered.snapshot)["alert_words"] == ["a"])
    let login = Data("\(Ada.email):\(Ada.key)".utf8).base64EncodedString()
    #expect(request.headers["Authorization"] == "Basic \(login)")
    #expect(request.headers["User-Agent"] == "UpdateMachine/1.0")
    for name in ["Cookie", "If-None-Match", "If-Modified-Since"] {
      #expect(request.headers[name] == nil)
    }
  }

  @Test(arguments: [
    ("-1", 100), ("0", 11), ("1e9", 610), ("\"90\"", 100), ("90.5", 100), ("null", 100),
  ])
  func `absurd terms of a server are clamped`(said: String, seconds: Int64) throws {
    let json = #"{"event_queue_longpoll_timeout_seconds":\#(said)}"#
    let fields = try ZulipValue(json: Data(json.utf8)).fields ?? [:]
    let deadline = ZulipConnection.terms(fields, ZulipRegister()).longDeadline
    #expect(deadline == .seconds(seconds) || deadline == .milliseconds(100_500))
  }

  @Test(arguments: [
    #""last_event_id":-1,"zulip_feature_level":323"#, #""queue_id":"q","zulip_feature_level":323"#,
    #""queue_id":"","last_event_id":-1,"zulip_feature_level":323"#,
    #""queue_id":"q","last_event_id":"x","zulip_feature_level":323"#,
    #""queue_id":"q","last_event_id":-1,"zulip_feature_level":"x""#,
  ])
  func `a register without required fields is malformed`(fields: String) async throws {
    try await Ada.serve { _ in
      .success(fields)
    } while: { _, connection in
      let failure = await Ada.failure { () throws(ZulipFailure) in try await connection.register() }
      #expect(failure?.failure == .malformed)
      #expect(failure?.hasLeft == true)
    }
  }

  /// Such a server need not name its level, or what a newer one promises.
  @Test(arguments: [
    (#""queue_id":"q","last_event_id":-1,"zulip_feature_level":184"#, 184, "q"),
    (#""queue_id":"q","last_event_id":-1"#, 0, "q"), ("", 0, nil),
    (#""queue_id":7,"zulip_feature_level":3"#, 3, nil),
  ])
  func `a server that is too old is unsupported, and keeps no queue`(
    fields: String, level: Int64, queue: String?
  ) async throws {
    let released = Shared<[String?]>([])
    try await Ada.serve { request in
      guard request.method == "DELETE" else { return .success(fields) }
      released.change { $0.append(request.form?["queue_id"]) }
      return .success()
    } while: { _, connection in
      let failure = await Ada.failure { () throws(ZulipFailure) in try await connection.register() }
      #expect(failure == ZulipFailure(.unsupported, .tooOld(level), status: 200))
    }
    #expect(released.value == (queue.map { [$0] } ?? []))
  }

  @Test func `a poll names its queue and its place`() async throws {
    let events = #"{"id":7,"type":"heartbeat"},{"id":9,"type":"alert_words","alert_words":["b"]}"#
    let finger = QueueFinger(queue: QueueID("1:a&b=c+d é"), lastEventID: 6)
    let (request, batch) = try await Ada.asked(.events(events)) { connection throws(ZulipFailure) in
      try await connection.events(after: finger, waits: false)
    }
    #expect(request.method == "GET")
    #expect(
      request.target
        == "/api/v1/events?queue_id=1%3Aa%26b%3Dc%2Bd%20%C3%A9&last_event_id=6&dont_block=true")
    #expect(request.query["queue_id"] == "1:a&b=c+d é")
    #expect(request.body.isEmpty)
    #expect(batch.queue == nil)
    #expect(batch.events.map(\.id) == [7, 9])
    #expect(batch.events.map { $0.event?.type } == [nil, "alert_words"])
    let (waiting, _) = try await Ada.asked(.events()) { connection throws(ZulipFailure) in
      try await connection.events(after: finger, waits: true)
    }
    #expect(waiting.query["dont_block"] == nil)
  }

  @Test func `a queue is released`() async throws {
    let (request, _) = try await Ada.asked { connection throws(ZulipFailure) in
      try await connection.release(QueueID("q+1"))
    }
    #expect(request.description == "DELETE /api/v1/events")
    #expect(request.target == "/api/v1/events", "the parameters are not in the URL")
    #expect(parameters(request.form) == ["queue_id=q+1"])
  }

  @Test func `a page is asked for by narrow and anchor`() async throws {
    let page = """
      "messages":[],"anchor":17,"found_anchor":false,"found_oldest":true,"found_newest":true,\
      "history_limited":false
      """
    let narrow = ZulipNarrow([
      .init("channel", .number(4)), .init("topic", .text("déjà + vu"), isNegated: true),
      .init("dm", .numbers([7, 8])),
    ])
    let asked = ZulipPageRequest(narrow, .id(MessageID(17)), before: 10, after: 0)
    let (request, answer) = try await Ada.asked(.success(page)) { connection throws(ZulipFailure) in
      try await connection.messages(asked)
    }
    #expect(request.description == "GET /api/v1/messages")
    #expect(
      parameters(request.query) == [
        "anchor=17", "num_before=10", "num_after=0", "include_anchor=true", "apply_markdown=true",
        "client_gravatar=true",
        #"narrow=[{"negated":false,"operand":4,"operator":"channel"},"#
          + #"{"negated":true,"operand":"déjà + vu","operator":"topic"},"#
          + #"{"negated":false,"operand":[7,8],"operator":"dm"}]"#,
      ])
    let narrowText = try #require(request.query["narrow"])
    let again = try ZulipError.decode(ZulipNarrow.self, from: Data(narrowText.utf8))
    #expect(again == narrow)
    #expect(answer.foundOldest && answer.messages.isEmpty)
  }

  /// The server refuses both forms of `is:read`.
  @Test(arguments: [false, true])
  func `read messages are asked for as those that are not unread`(isNegated: Bool) {
    let narrow = ZulipNarrow([.init("is", .text("read"), isNegated: isNegated)])
    let wired: ZulipValue = [
      ["operator": "is", "operand": "unread", "negated": .bool(!isNegated)]
    ]
    #expect(narrow.value == wired)
    #expect(
      narrow.filter()
        == ZulipNarrow([.init("is", .text("unread"), isNegated: !isNegated)]).filter())
  }

  private static let message = """
    "message":{"id":5,"sender_id":8,"type":"stream","stream_id":4,"subject":"T","content":"hi",\
    "display_recipient":"general","content_type":"text/x-markdown","flags":["read"],"reactions":[]}
    """

  @Test func `one message is asked for by its ID`() async throws {
    let (request, message) = try await Ada.asked(.success(RequestOverHTTPTests.message)) {
      connection throws(ZulipFailure) in
      try await connection.message(MessageID(5), form: .raw)
    }
    #expect(request.target == "/api/v1/messages/5?apply_markdown=false")
    #expect(message.content == ZulipContent("hi", .raw))
    #expect(message.flags == .read)
    let answer = Response.success(
      RequestOverHTTPTests.message.replacing(#""flags":["read"],"#, with: ""))
    try await Ada.serve { _ in
      answer
    } while: { _, connection in
      let failure = await Ada.failure { () throws(ZulipFailure) in
        try await connection.message(MessageID(5))
      }
      #expect(failure?.reason == .malformed(.malformed(path: "message.flags")))
    }
  }

  @Test func `a message is sent with its echo`() async throws {
    let echo = Connection.Echo(queue: QueueID("q1"), localID: "100.01")
    let text = "a+b&c=d %41 \n\"é\" 👋🏽\u{0}"
    let (request, id) = try await Ada.asked(.success(#""id":2047"#)) {
      connection throws(ZulipFailure) in
      try await connection.send(.channel(ChannelID(4), topic: "x & y"), text, echo: echo)
    }
    #expect(id == MessageID(2047))
    #expect(request.description == "POST /api/v1/messages")
    #expect(
      parameters(request.form) == [
        "type=stream", "to=4", "topic=x & y", "content=\(text)", "read_by_sender=true",
        "queue_id=q1", "local_id=100.01",
      ])
    let (direct, _) = try await Ada.asked(.success(#""id":2"#)) { connection throws(ZulipFailure) in
      try await connection.send(.direct([UserID(8), UserID(9)]), "hi")
    }
    #expect(
      parameters(direct.form) == [
        "type=direct", "to=[8,9]", "content=hi", "read_by_sender=true",
      ])
  }

  @Test func `messages are edited, moved and deleted`() async throws {
    let (edited, _) = try await Ada.asked { connection throws(ZulipFailure) in
      try await connection.edit(MessageID(5), .init(content: "new"))
    }
    #expect(edited.description == "PATCH /api/v1/messages/5")
    #expect(parameters(edited.form) == ["content=new"])
    let (moved, _) = try await Ada.asked { connection throws(ZulipFailure) in
      var edit = Connection.Edit(topic: "t", channel: ChannelID(3))
      edit.moves = .later
      edit.notifiesNewTopic = true
      try await connection.edit(MessageID(5), edit)
    }
    #expect(
      parameters(moved.form) == [
        "topic=t", "stream_id=3", "propagate_mode=change_later",
        "send_notification_to_old_thread=false", "send_notification_to_new_thread=true",
      ])
    let (deleted, _) = try await Ada.asked { connection throws(ZulipFailure) in
      try await connection.delete(MessageID(5))
    }
    #expect(deleted.description == "DELETE /api/v1/messages/5")
  }

  @Test func `reactions and flags are set and cleared`() async throws {
    let (plain, _) = try await Ada.asked { connection throws(ZulipFailure) in
      try await connection.react(to: MessageID(5), with: .init("tada"))
    }
    #expect(plain.description == "POST /api/v1/messages/5/reactions")
    #expect(parameters(plain.form) == ["emoji_name=tada"])
    let (full, _) = try await Ada.asked { connection throws(ZulipFailure) in
      let emoji = Connection.Emoji("zulip", code: "zulip", type: "zulip_extra_emoji")
      try await connection.react(to: MessageID(5), with: emoji, isSet: false)
    }
    #expect(full.description == "DELETE /api/v1/messages/5/reactions")
    #expect(
      parameters(full.form) == [
        "emoji_name=zulip", "emoji_code=zulip", "reaction_type=zulip_extra_emoji",
      ])
    let (flags, done) = try await Ada.asked(.success(#""messages":[5]"#)) {
      connection throws(ZulipFailure) in
      try await connection.setFlag(.starred, of: [MessageID(5), MessageID(6)], isSet: false)
    }
    #expect(flags.description == "POST /api/v1/messages/flags")
    #expect(parameters(flags.form) == ["messages=[5,6]", "op=remove", "flag=starred"])
    #expect(done == [MessageID(5)])
  }
}
