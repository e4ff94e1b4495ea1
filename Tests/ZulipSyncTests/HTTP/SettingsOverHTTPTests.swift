import LoopbackServer
import MessageSync
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests the requests of changes that concern no single message, as the server gets them.
@Suite(.timeLimit(.minutes(2))) struct SettingsOverHTTPTests {
  /// Does something. Returns the requests; `answers` are given in their order.
  private func requests(
    _ answers: [Response], _ body: (ZulipConnection) async throws -> Void
  ) async throws -> [String] {
    let state = Shared((answers: answers, asked: [String]()))
    try await Ada.serve {
      request in
      state.change {
        let form = request.form?.items.map { " \($0.name)=\($0.value)" }.joined() ?? ""
        $0.asked.append(request.description + form)
        return $0.answers.isEmpty ? .error(400, "BAD_REQUEST") : $0.answers.removeFirst()
      }
    } while: { _, connection in
      try await body(connection)
    }
    return state.value.asked
  }

  private let narrow = ZulipNarrow([.init("channel", .number(4))])

  @Test func `a long narrow is read in several requests, each from where the last one ended`()
    async throws
  {
    let words = { (anchor: Int, isIncluded: Bool) in
      """
      POST /api/v1/messages/flags/narrow anchor=\(anchor) include_anchor=\(isIncluded) \
      num_before=5000 num_after=0 \
      narrow=[{"negated":false,"operand":4,"operator":"channel"},\
      {"negated":false,"operand":"unread","operator":"is"}] op=add flag=read
      """
    }
    let answer = { (first: String, isOldest: Bool) in
      Response.success(#""found_oldest":\#(isOldest),"first_processed_id":\#(first)"#)
    }
    let asked = try await requests([answer("70", false), answer("5", false), answer("null", true)])
    {
      try await $0.markRead(narrow, through: MessageID(99))
    }
    #expect(asked == [words(99, true), words(70, false), words(5, false)])
    // A server that goes no further is not asked for ever.
    for first in ["null", "99", "100"] {
      let asked = try await requests(
        [answer(first, false)] + (first == "99" ? [answer("99", false)] : [])
      ) {
        try await $0.markRead(narrow, through: MessageID(99))
      }
      #expect(asked.count == (first == "99" ? 2 : 1))
    }
  }

  @Test func `what was read before a failure has left, and reading ends`() async throws {
    let more = Response.success(#""found_oldest":false,"first_processed_id":50"#)
    _ = try await requests([more, .error(429, "RATE_LIMIT_HIT", #""retry-after":7"#)]) {
      connection in
      do throws(ZulipFailure) {
        try await connection.markRead(narrow, through: MessageID(99))
        Issue.record("it fails")
      } catch {
        #expect(error.failure == .rateLimited(after: .seconds(7)) && error.hasLeft)
      }
    }
    let endless = (1...60).map { number in
      Response.success(#""found_oldest":false,"first_processed_id":\#(99 - number)"#)
    }
    let asked = try await requests(endless) {
      try await $0.markRead(narrow, through: MessageID(99))
    }
    #expect(asked.count == 50)
  }

  @Test func `a subscription names the channel as it is called now`() async throws {
    let name = Response.success(#""stream":{"stream_id":4,"name":"Lunch & more"}"#)
    let joins = try await requests([name, .success()]) {
      try await $0.subscribe(to: ChannelID(4), isSet: true)
    }
    #expect(
      joins == [
        "GET /api/v1/streams/4",
        #"POST /api/v1/users/me/subscriptions subscriptions=[{"name":"Lunch & more"}]"#,
      ])
    let leaves = try await requests([name, .success()]) {
      try await $0.subscribe(to: ChannelID(4), isSet: false)
    }
    #expect(
      leaves.last == #"DELETE /api/v1/users/me/subscriptions subscriptions=["Lunch & more"]"#)
    let gone = try await requests([]) { connection in
      await #expect(throws: ZulipFailure.self) {
        try await connection.subscribe(to: ChannelID(4), isSet: true)
      }
    }
    #expect(gone.count == 1)
    // Who cannot see a channel is not subscribed to it.
    let left = try await requests([]) { try await $0.subscribe(to: ChannelID(4), isSet: false) }
    #expect(left == ["GET /api/v1/streams/4"])
  }

  @Test func `a topic and a status are set whole`() async throws {
    let emoji = ZulipConnection.Emoji("car", code: "1f697", type: "unicode_emoji")
    let asked = try await requests(Array(repeating: .success(), count: 4)) {
      try await $0.set(.followed, of: "Lunch", in: ChannelID(4))
      try await $0.setStatus("out", emoji)
      try await $0.setStatus("here", ZulipConnection.Emoji("car"))
      try await $0.setStatus("", nil)
    }
    #expect(
      asked == [
        "POST /api/v1/user_topics stream_id=4 topic=Lunch visibility_policy=3",
        """
        POST /api/v1/users/me/status status_text=out emoji_name=car emoji_code=1f697 \
        reaction_type=unicode_emoji
        """,
        "POST /api/v1/users/me/status status_text=here emoji_name=car",
        "POST /api/v1/users/me/status status_text= emoji_name=",
      ])
  }
}
