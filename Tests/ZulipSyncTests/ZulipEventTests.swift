import Foundation
import MessageSync
import Testing
import UpdateMachine
import ZulipSync

@Suite("Events of a Zulip server")
struct ZulipEventTests {
  private func changes(
    _ line: String, _ form: ZulipContent.Form = .rendered
  ) throws -> [MessageEvent<ZulipContent>] {
    try ZulipError.decode(ZulipEvents.self, from: RecordedLines.answer([line])).events
      .flatMap { $0.changes(form) }
  }

  private let verona = ChannelID(3)

  @Test func `a new message has its flags from the event`() throws {
    let new = ChatMessage(
      id: MessageID(2140), sender: UserID(7), sentAt: 1_795_220_766,
      place: .channel(verona, topic: "race"),
      content: ZulipContent("<p>r1 old</p>", .rendered), flags: .hasAlertWord)
    #expect(try changes(RecordedLines.message) == [.new(new)])
  }

  @Test func `an edit assigns the content in the queue's form, and the dependent flags`() throws {
    func edit(_ content: ZulipContent) -> MessageEvent<ZulipContent> {
      .updated(
        MessageUpdate(
          .init(
            MessageID(2141), content: content, flags: [.mentioned, .mentionedByName],
            of: [.mentioned, .mentionedByName, .wildcardMentioned, .hasAlertWord]),
          version: 1_795_220_767))
    }
    #expect(
      try changes(RecordedLines.edit) == [edit(ZulipContent("<p>r1 edited</p>", .rendered))])
    #expect(try changes(RecordedLines.edit, .raw) == [edit(ZulipContent("r1 edited", .raw))])
  }

  @Test func `a rendering update has no version`() throws {
    let line = RecordedLines.changed(
      RecordedLines.edit, #""rendering_only":false"#, #""rendering_only":true"#)
    guard case .updated(let update) = try #require(changes(line).first) else {
      Issue.record("no update")
      return
    }
    #expect(update.version == nil)
    #expect(update.edit?.content.text == "<p>r1 edited</p>")
  }

  @Test func `a move has both places in full, whichever half changed`() throws {
    let ids = [MessageID(2144), MessageID(2145)]
    #expect(
      try changes(RecordedLines.moveOfTopic) == [
        .updated(
          MessageUpdate(
            moving: ids,
            .init(
              from: .channel(verona, topic: "race move"),
              to: .channel(verona, topic: "race moved")),
            version: 1_795_220_768))
      ])
    #expect(
      try changes(RecordedLines.moveOfChannel) == [
        .updated(
          MessageUpdate(
            moving: ids,
            .init(
              from: .channel(verona, topic: "race moved"),
              to: .channel(ChannelID(6), topic: "race moved")),
            version: 1_795_220_769))
      ])
  }

  @Test func `an edit and a move in one event are one update`() throws {
    let line = RecordedLines.changed(
      RecordedLines.edit, #""stream_id":3"#,
      #""stream_id":3,"orig_subject":"a","subject":"b""#)
    guard case .updated(let update) = try #require(changes(line).first) else {
      Issue.record("no update")
      return
    }
    #expect(update.edit?.id == MessageID(2141))
    #expect(update.moved == [MessageID(2141)])
    #expect(update.move?.target == .channel(verona, topic: "b"))
  }

  @Test func `a deletion names one message or several`() throws {
    #expect(
      try changes(RecordedLines.deletion) == [
        .deleted([MessageID(2146), MessageID(2144), MessageID(2145)])
      ])
    #expect(
      try changes(#"{"type":"delete_message","message_id":2146,"message_type":"stream","id":1}"#)
        == [.deleted([MessageID(2146)])])
  }

  @Test func `flags are set or cleared on some messages or on all`() throws {
    #expect(
      try changes(RecordedLines.flags) == [
        .flagged([MessageID(2150), MessageID(2147)], .read, isSet: false)
      ])
    let all = RecordedLines.changed(RecordedLines.flags, #""all":false"#, #""all":true"#)
    #expect(try changes(all) == [.flaggedAll(.read, isSet: false)])
    let unknown = RecordedLines.changed(RecordedLines.flags, #""flag":"read""#, #""flag":"new""#)
    #expect(try changes(unknown) == [])
  }

  @Test func `a reaction is named by its type and code`() throws {
    #expect(
      try changes(RecordedLines.reaction) == [
        .reacted(
          MessageID(2147), MessageReaction(user: UserID(7), emoji: "unicode_emoji:1f389"),
          isSet: true)
      ])
    let other = RecordedLines.changed(RecordedLines.reaction, "unicode_emoji", "realm_emoji")
    #expect(try changes(other) != changes(RecordedLines.reaction))
  }

  @Test func `one subscription event may name several channels`() throws {
    #expect(
      try changes(RecordedLines.subscription) == [
        .covered(ChannelID(2), follows: true), .covered(ChannelID(25), follows: true),
      ])
    let left = RecordedLines.changed(RecordedLines.subscription, #""add""#, #""remove""#)
    #expect(try changes(left).first == .covered(ChannelID(2), follows: false))
  }

  @Test func `an event that changes no message is ignored`() throws {
    let lines = [
      #"{"type":"heartbeat","id":1}"#, #"{"type":"never heard of","id":2,"message":7}"#,
      #"{"type":"subscription","op":"peer_add","id":3}"#, RecordedLines.reaction,
    ]
    let answer = try ZulipError.decode(ZulipEvents.self, from: RecordedLines.answer(lines))
    #expect(answer.events.map { $0.kind == .ignored } == [true, true, true, false])
    #expect(answer.events.map(\.id) == [1, 2, 3, 23])
    #expect(answer.events.flatMap { $0.changes(.rendered) }.count == 1)
  }

  // MARK: What makes no sense

  /// A recorded line, a part of it, what replaces that part, and the path that the error names.
  static let malformed: [(line: String, old: String, new: String, path: String)] = [
    (RecordedLines.message, #","id":0"#, "", "id"),
    (RecordedLines.message, #","id":0"#, #","id":9223372036854775808"#, "id"),
    (RecordedLines.message, #"{"type":"message""#, #"{"type":7"#, "type"),
    (RecordedLines.message, #""id":2140"#, #""id":92233720368547758080"#, "message.id"),
    (RecordedLines.message, #""id":2140"#, #""id":1.5"#, "message.id"),
    (RecordedLines.message, #""sender_id":7"#, #""sender_id":"7""#, "message.sender_id"),
    (RecordedLines.message, #","stream_id":3"#, "", "message.stream_id"),
    (RecordedLines.message, #""type":"stream""#, #""type":"scream""#, "message.type"),
    (RecordedLines.message, #""subject":"Race","#, "", "message.subject"),
    (RecordedLines.message, "text/html", "text/secret", "message.content_type"),
    (RecordedLines.message, #""reactions":[]"#, #""reactions":[7]"#, "message.reactions[0]"),
    (RecordedLines.message, #""flags":["has_alert_word"],"#, "", "flags"),
    (RecordedLines.message, #"["has_alert_word"]"#, #"[7]"#, "flags[0]"),
    (RecordedLines.edit, #""message_id":2141,"#, "", "message_id"),
    (RecordedLines.edit, #""edit_timestamp":1795220767,"#, "", "edit_timestamp"),
    (RecordedLines.edit, #""content":"r1 edited","#, "", "content"),
    (RecordedLines.edit, #""rendered_content":"<p>r1 edited</p>","#, "", "rendered_content"),
    (RecordedLines.edit, #""rendering_only":false,"#, "", "rendering_only"),
    (RecordedLines.edit, #""flags":["read","starred","mentioned"],"#, "", "flags"),
    (RecordedLines.moveOfTopic, #""stream_id":3,"#, "", "stream_id"),
    (RecordedLines.moveOfTopic, #""orig_subject":"race move","#, "", "orig_subject"),
    (RecordedLines.moveOfTopic, #""message_ids":[2144,2145],"#, "", "message_ids"),
    (RecordedLines.moveOfChannel, #""new_stream_id":6"#, #""new_stream_id":"6""#, "new_stream_id"),
    (RecordedLines.deletion, "2145]", "null]", "message_ids[2]"),
    (RecordedLines.flags, #""op":"remove""#, #""op":7"#, "op"),
    (RecordedLines.flags, #""messages":[2150,2147],"#, "", "messages"),
    (RecordedLines.flags, #""flag":"read","#, "", "flag"),
    (RecordedLines.reaction, #""message_id":2147,"#, "", "message_id"),
    (RecordedLines.reaction, #""emoji_code":"1f389","#, "", "emoji_code"),
    (RecordedLines.reaction, #""user_id":7,"user""#, #""user""#, "user_id"),
    (RecordedLines.subscription, #""stream_id":25"#, #""id":25"#, "subscriptions[1].stream_id"),
    (RecordedLines.subscription, #""op":"add","#, "", "op"),
  ]

  @Test(arguments: malformed.indices)
  func `a missing or invalid field is reported only by its path`(_ index: Int) throws {
    let (line, old, new, path) = Self.malformed[index]
    let changed = RecordedLines.changed(line, old, new)
    #expect(changed != line, "\(old) is not in the line")
    // The event comes behind a good one, so that its index matters, too.
    let answer = RecordedLines.answer([RecordedLines.reaction, changed])
    #expect(throws: ZulipError.malformed(path: "events[1].\(path)")) {
      try ZulipError.decode(ZulipEvents.self, from: answer)
    }
  }

  @Test func `an event that is not an object has no path`() {
    for text in ["", "[]", "<html>", "{\"a\"", "7"] {
      #expect(throws: ZulipError.malformed(path: "")) {
        try ZulipError.decode(ZulipEvents.self, from: Data(text.utf8))
      }
    }
    #expect(throws: ZulipError.malformed(path: "events")) {
      try ZulipError.decode(ZulipEvents.self, from: Data("{}".utf8))
    }
    #expect("\(ZulipError.malformed(path: "events[1].id"))" == "malformed: events[1].id")
  }
}
