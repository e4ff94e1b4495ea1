import Foundation
import LoopbackServer
import MessageSync
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests the history of a message, rendering, and what is told of the user's presence.
@Suite(.timeLimit(.minutes(2))) struct MoreRequestsOverHTTPTests {
  private func parameters(_ request: LoopbackServer.Request) -> [String] {
    (request.form?.items ?? []).map { "\($0.name)=\($0.value)" }
  }

  @Test func `the revisions of a message come in order`() async throws {
    let history = """
      "message_history":[\
      {"timestamp":100,"user_id":8,"topic":"t","content":"a","rendered_content":"<p>a</p>"},\
      {"timestamp":200,"user_id":9,"topic":"t","content":"b","rendered_content":"<p>b</p>",\
      "prev_content":"a","prev_rendered_content":"<p>a</p>","content_html_diff":"<p>…</p>"},\
      {"timestamp":300,"user_id":null,"topic":"u","prev_topic":"t","stream":5,"prev_stream":4,\
      "content":"b","rendered_content":"<p>b</p>"},\
      {"timestamp":400,"content":"","rendered_content":""}]
      """
    let (request, revisions) = try await Ada.asked(.success(history)) {
      connection throws(ZulipFailure) in
      try await connection.editHistory(of: MessageID(17))
    }
    #expect(request.target == "/api/v1/messages/17/history")
    #expect(request.method == "GET")
    #expect(revisions.map(\.time) == [100, 200, 300, 400])
    #expect(revisions.map(\.user) == [UserID(8), UserID(9), nil, nil])
    #expect(revisions.map(\.content) == ["a", "b", "b", ""])
    #expect(revisions.map(\.html) == ["<p>a</p>", "<p>b</p>", "<p>b</p>", ""])
    #expect(revisions.map(\.previousContent) == [nil, "a", nil, nil])
    #expect(revisions.map(\.topic) == ["t", "t", "u", nil])
    #expect(revisions.map(\.previousTopic) == [nil, nil, "t", nil])
    #expect(revisions.map(\.channel) == [nil, nil, ChannelID(5), nil])
    #expect(revisions.map(\.previousChannel) == [nil, nil, ChannelID(4), nil])
  }

  @Test(arguments: [
    ("", "message_history"), (#""message_history":[7]"#, "message_history[0]"),
    (
      #""message_history":[{"timestamp":1,"content":"","rendered_content":""},{}]"#,
      "message_history[1].timestamp"
    ),
    (#""message_history":[{"timestamp":1}]"#, "message_history[0].content"),
    (#""message_history":[{"timestamp":1,"content":2}]"#, "message_history[0].content"),
    (
      #""message_history":[{"timestamp":1,"content":""}]"#, "message_history[0].rendered_content"
    ),
  ])
  func `a history that is not as the protocol says is malformed`(
    fields: String, path: String
  ) async throws {
    try await Ada.serve { _ in
      .success(fields)
    } while: { _, connection in
      let failure = await Ada.failure { () throws(ZulipFailure) in
        try await connection.editHistory(of: MessageID(1))
      }
      #expect(failure?.reason == .malformed(.malformed(path: path)))
    }
  }

  @Test func `a text is rendered`() async throws {
    let (request, html) = try await Ada.asked(.success(#""rendered":"<p><b>é</b></p>""#)) {
      connection throws(ZulipFailure) in
      try await connection.render("**é** & +")
    }
    #expect(request.description == "POST /api/v1/messages/render")
    #expect(parameters(request) == ["content=**é** & +"])
    #expect(html == "<p><b>é</b></p>")
  }

  @Test func `typing is told to the users or the topic`() async throws {
    let (direct, _) = try await Ada.asked { connection throws(ZulipFailure) in
      try await connection.sendTyping(to: .direct([UserID(8), UserID(9)]))
    }
    #expect(direct.description == "POST /api/v1/typing")
    #expect(parameters(direct) == ["op=start", "type=direct", "to=[8,9]"])
    let (topic, _) = try await Ada.asked { connection throws(ZulipFailure) in
      try await connection.sendTyping(to: .channel(ChannelID(4), topic: "x & y"), isTyping: false)
    }
    #expect(
      parameters(topic) == ["op=stop", "type=stream", "stream_id=4", "to=[4]", "topic=x & y"])
  }

  @Test(arguments: [(true, true, "active"), (true, false, "active"), (false, false, "idle")])
  func `presence is told, and nobody's presence asked for`(
    isActive: Bool, hasNewInput: Bool, status: String
  ) async throws {
    let (request, _) = try await Ada.asked { connection throws(ZulipFailure) in
      try await connection.sendPresence(isActive: isActive, hasNewInput: hasNewInput)
    }
    #expect(request.description == "POST /api/v1/users/me/presence")
    #expect(
      parameters(request) == [
        "status=\(status)", "new_user_input=\(hasNewInput)", "ping_only=true",
      ])
  }
}
