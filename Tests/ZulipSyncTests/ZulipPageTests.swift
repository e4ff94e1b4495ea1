import Foundation
import MessageSync
import Testing
import UpdateMachine
import ZulipSync

@Suite("Pages of a Zulip server")
struct ZulipPageTests {
  private func page(_ text: String = RecordedLines.page) throws -> ZulipPage {
    try ZulipError.decode(ZulipPage.self, from: Data(text.utf8))
  }

  private func request(
    _ anchor: PageAnchor<MessageID>, before: Int64 = 5, after: Int64 = 5,
    includesAnchor: Bool = true
  ) -> ZulipPageRequest {
    ZulipPageRequest(
      ZulipNarrow([]), anchor, before: before, after: after, includesAnchor: includesAnchor)
  }

  @Test func `a page has messages of channels and direct conversations, in both forms`() throws {
    let taken = try #require(page().page(for: request(.id(MessageID(1000)))))
    let conversation = ConversationID(zulip: [UserID(50), UserID(7)])
    #expect(
      taken.messages == [
        ChatMessage(
          id: MessageID(998), sender: UserID(8), place: .channel(ChannelID(4), topic: "b"),
          content: ZulipContent("a", .raw), version: 1_795_220_699,
          flags: [.read, .mentioned, .wildcardMentioned],
          reactions: [
            MessageReaction(user: UserID(6), emoji: "unicode_emoji:2764"),
            MessageReaction(user: UserID(7), emoji: "unicode_emoji:2764"),
          ]),
        ChatMessage(
          id: MessageID(1000), sender: UserID(50), place: .direct(conversation),
          content: ZulipContent("<p>x</p>", .rendered)),
      ])
    #expect(taken.anchor == MessageID(1000))
    #expect(try page().messages.map(\.channelName) == ["Denmark", nil])
    #expect(try page().messages[1].participants == [UserID(7), UserID(50)])
  }

  @Test func `a newer server's time of a move counts as the version`() throws {
    let moved = RecordedLines.changed(
      RecordedLines.page, #""last_edit_timestamp":1795220699"#,
      #""last_edit_timestamp":5,"last_moved_timestamp":9"#)
    #expect(try page(moved).messages[0].version == 9)
  }

  @Test func `a page proves something about its anchor only if the request includes it`() throws {
    let page = try page()
    let id = MessageID(1000)
    #expect(page.page(for: request(.id(id)))?.anchor == id)
    #expect(page.page(for: request(.firstUnread))?.anchor == id)
    #expect(page.page(for: request(.newest))?.anchor == nil)
    #expect(page.page(for: request(.oldest))?.anchor == nil)
    // If the anchor is left out, the page says everything up to the anchor's neighbour. With
    // messages on both sides, the anchor is a hole.
    #expect(
      page.page(for: request(.id(id), after: 0, includesAnchor: false))?.anchor == MessageID(999))
    #expect(
      page.page(for: request(.id(id), before: 0, includesAnchor: false))?.anchor == MessageID(1001))
    #expect(page.page(for: request(.id(id), includesAnchor: false)) == nil)
  }

  @Test func `a page without an unread message has no anchor`() throws {
    let none = RecordedLines.changed(
      RecordedLines.changed(RecordedLines.page, #""anchor":1000"#, #""anchor":10000000000000000"#),
      #""found_anchor":true"#, #""found_anchor":false"#)
    #expect(try page(none).page(for: request(.firstUnread))?.anchor == nil)
  }

  @Test func `a first unread message that is not on the page is hidden`() throws {
    let hidden = RecordedLines.changed(
      RecordedLines.changed(RecordedLines.page, #""anchor":1000"#, #""anchor":5"#),
      #""found_anchor":true"#, #""found_anchor":false"#)
    let page = try page(hidden).page(for: request(.firstUnread))
    #expect(page?.anchor == nil && page?.isHistoryLimited == true)
  }

  static let malformed: [(old: String, new: String, path: String)] = [
    (#""anchor":1000,"#, "", "anchor"),
    (#""anchor":1000"#, #""anchor":10000000000000000000"#, "anchor"),
    (#""found_anchor":true,"#, "", "found_anchor"),
    (#""found_oldest":false"#, #""found_oldest":0"#, "found_oldest"),
    (#""found_newest":false"#, #""found_newest":null"#, "found_newest"),
    (#""history_limited":false,"#, "", "history_limited"),
    (#""messages":["#, #""massages":["#, "messages"),
    (#""flags":[],"#, "", "messages[1].flags"),
    (#""sender_id":50"#, #""sender_id":null"#, "messages[1].sender_id"),
    (#"{"id":50,"#, "{", "messages[1].display_recipient[1].id"),
    (
      #""display_recipient":"Denmark""#, #""display_recipient":[]"#, "messages[0].display_recipient"
    ),
    (
      #""last_edit_timestamp":1795220699"#, #""last_edit_timestamp":"now""#,
      "messages[0].last_edit_timestamp"
    ),
    (
      #""reaction_type":"unicode_emoji","user_id":6"#, #""user_id":6"#,
      "messages[0].reactions[1].reaction_type"
    ),
  ]

  @Test(arguments: malformed.indices)
  func `a missing or invalid field is reported by its path`(_ index: Int) throws {
    let (old, new, path) = Self.malformed[index]
    let changed = RecordedLines.changed(RecordedLines.page, old, new)
    #expect(changed != RecordedLines.page, "\(old) is not on the page")
    #expect(throws: ZulipError.malformed(path: path)) { try page(changed) }
  }

  @Test func `a page request is decoded from its parameters`() throws {
    func request(_ text: String) throws -> ZulipPageRequest {
      try ZulipError.decode(ZulipPageRequest.self, from: Data(text.utf8))
    }
    let all = ZulipNarrow([])
    #expect(
      try request(#"{"anchor":"newest","num_before":20,"num_after":0}"#)
        == ZulipPageRequest(all, .newest, before: 20, after: 0))
    #expect(
      try request(
        #"""
        {"anchor":"283","num_before":0,"num_after":5,"include_anchor":false,"apply_markdown":false,
         "narrow":[["stream","Denmark"]]}
        """#)
        == ZulipPageRequest(
          ZulipNarrow([.init("stream", .text("Denmark"))]), .id(MessageID(283)), before: 0,
          after: 5, includesAnchor: false, form: .raw))
    #expect(
      try request(#"{"anchor":7,"num_before":1,"num_after":1}"#).anchor == .id(MessageID(7)))
    #expect(
      try request(#"{"anchor":"newest","num_after":1}"#)
        == ZulipPageRequest(ZulipNarrow([]), .newest, before: 0, after: 1))
    #expect(throws: ZulipError.malformed(path: "anchor")) {
      try request(#"{"anchor":"last","num_before":1,"num_after":1}"#)
    }
  }
}
