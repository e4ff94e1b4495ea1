import Foundation
import MessageSync
import Testing
import UpdateMachine
import ZulipSync

@Suite("Narrows in Zulip's words")
struct ZulipNarrowTests {
  private static let directory = ZulipNarrow.Directory(
    me: UserID(50), channels: ["Denmark": ChannelID(4)])

  private func filter(
    _ text: String, _ directory: ZulipNarrow.Directory = Self.directory
  ) throws -> MessageFilter<ZulipContent> {
    try ZulipError.decode(ZulipNarrow.self, from: Data(text.utf8)).filter(directory)
  }

  static let decided: [(text: String, terms: [MessageFilter<ZulipContent>.Term])] = [
    ("[]", []),
    (#"[{"operator":"channel","operand":4}]"#, [.channel(ChannelID(4))]),
    (#"[{"operator":"channel","operand":"Denmark"}]"#, [.channel(ChannelID(4))]),
    (#"[{"operator":"stream","operand":"Denmark"}]"#, [.channel(ChannelID(4))]),
    (
      #"[["topic","Castle"],["stream","Denmark"]]"#, [.channel(ChannelID(4)), .topic("castle")]
    ),
    (#"[{"operator":"channel","operand":4,"negated":true}]"#, [!.channel(ChannelID(4))]),
    (
      #"[{"operator":"dm","operand":[7,8]}]"#,
      [.direct(ConversationID(zulip: [UserID(50), UserID(8), UserID(7)]))]
    ),
    (#"[{"operator":"dm","operand":[50]}]"#, [.direct(ConversationID(zulip: [UserID(50)]))]),
    (#"[{"operator":"is","operand":"dm"}]"#, [.init(.anyDirect)]),
    (#"[{"operator":"is","operand":"starred"}]"#, [.starred]),
    (#"[{"operator":"is","operand":"mentioned"}]"#, [.mentioned]),
    (#"[{"operator":"is","operand":"unread"}]"#, [.unread]),
    (#"[{"operator":"is","operand":"unread","negated":true}]"#, [!.unread]),
    (#"[{"operator":"sender","operand":7}]"#, [.sender(UserID(7))]),
  ]

  @Test(arguments: decided.indices)
  func `a narrow that a client can decide is decidable`(_ index: Int) throws {
    let (text, terms) = Self.decided[index]
    let filter = try filter(text)
    // Only the list of a channel shows what is not in the user's feed.
    let feed = MessageFilter<ZulipContent>.Term(.flags(.outsideFeed), isNegated: true)
    #expect(filter.terms.filter { $0 != feed } == terms)
    #expect(filter.terms.contains(feed) == (terms.first != .channel(ChannelID(4))))
    #expect(filter.isDecidable)
  }

  @Test(arguments: [
    #"[{"operator":"search","operand":"storm"}]"#, #"[{"operator":"has","operand":"link"}]"#,
    #"[{"operator":"near","operand":"1500"}]"#, #"[{"operator":"is","operand":"followed"}]"#,
    #"[{"operator":"dm-including","operand":7}]"#, #"[{"operator":"channels","operand":"public"}]"#,
    #"[{"operator":"channel","operand":"Elsinore"}]"#,
    #"[{"operator":"channel","operand":4},{"operator":"with","operand":2058}]"#,
  ])
  func `a narrow that only the server can decide is not decidable`(_ text: String) throws {
    #expect(try !filter(text).isDecidable)
  }

  @Test func `equal narrows are equal filters, in any order and spelling`() throws {
    #expect(
      try filter(#"[["stream","Denmark"],["topic","CASTLE"]]"#)
        == filter(#"[{"operator":"topic","operand":"castle"},{"operator":"channel","operand":4}]"#))
  }

  @Test func `direct conversations are not decidable without the user's own ID`() throws {
    #expect(
      try !filter(#"[{"operator":"dm","operand":[7]}]"#, ZulipNarrow.Directory()).isDecidable)
  }

  @Test func `a conversation is the same for the same users in any order`() {
    let one = ConversationID(zulip: [UserID(7), UserID(50)])
    #expect(one == ConversationID(zulip: [UserID(50), UserID(7), UserID(50)]))
    #expect(one != ConversationID(zulip: [UserID(50)]))
    #expect(one != ConversationID(zulip: [UserID(7), UserID(50), UserID(8)]))
    // The ID may be stored, so it must be the same in every process, for ever.
    #expect(one == ConversationID(-8_199_556_920_411_925_600))
  }

  @Test func `a narrow of one message ID is recognised`() throws {
    func message(_ text: String) throws -> MessageID? {
      try ZulipError.decode(ZulipNarrow.self, from: Data(text.utf8)).message
    }
    #expect(try message(#"[{"operator":"id","operand":1500}]"#) == MessageID(1500))
    #expect(try message(#"[{"operator":"id","operand":"1500"}]"#) == MessageID(1500))
    #expect(try message(#"[{"operator":"id","operand":1500,"negated":true}]"#) == nil)
    #expect(try message("[]") == nil)
  }

  @Test func `a term without an operand is malformed`() {
    #expect(throws: ZulipError.malformed(path: "[0].operand")) {
      try filter(#"[{"operator":"channel"}]"#)
    }
    #expect(throws: ZulipError.malformed(path: "[0].operand")) {
      try filter(#"[{"operator":"channel","operand":{}}]"#)
    }
  }
}
