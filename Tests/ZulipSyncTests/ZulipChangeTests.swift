import Foundation
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests what changes of messages show before the server has confirmed them, and how they are
/// merged, undone and saved.
@Suite struct ZulipChangeTests {
  typealias Edit = ZulipConnection.Edit

  /// User 7 follows channels 3 and 4. Messages 8 and 9 are in channel 3, topic "Lunch", 10 is from
  /// user 50. Message 9 is unread.
  private static func account(
    _ form: ZulipContent.Form = .rendered
  ) throws -> ZulipAccount {
    let state = try ZulipValue(
      json: Data(
        """
        {"user_id":7,"max_message_id":10,"max_message_length":20,"starred_messages":[],
         "subscriptions":[{"stream_id":3,"name":"a","is_muted":false},
          {"stream_id":4,"name":"b","is_muted":false}],"user_topics":[],
         "unread_msgs":{"count":1,"streams":[{"stream_id":3,"topic":"Lunch",
          "unread_message_ids":[9]}],"huddles":[],"pms":[],"mentions":[]}}
        """.utf8))
    var account = try ZulipAccount(
      snapshot: ZulipAccount.Snapshot(
        ZulipSnapshot(state.fields ?? [:]), form, client: ClientID(5)))
    let lists = [[], [("channel", "3")], [("is", "starred")], [("is", "unread")]].map { terms in
      account.list(
        ZulipNarrow(terms.map { .init($0.0, Int64($0.1).map { .number($0) } ?? .text($0.1)) }))
    }
    for list in lists { account.lists.open(list) }
    var messages: [ChatMessage<ZulipContent>] = []
    for (id, place) in [
      (8, MessagePlace.zulip(ChannelID(3), topic: "Lunch")),
      (9, MessagePlace.zulip(ChannelID(3), topic: "lunch")),
      (10, .direct(ConversationID(zulip: [UserID(7), UserID(50)]))),
    ] {
      messages.append(
        ChatMessage(
          id: MessageID(Int64(id)), sender: UserID(50), sentAt: 0, place: place,
          content: ZulipContent("<p>\(id)</p>", form), flags: id == 9 ? [] : .read,
          reactions: []))
    }
    for (number, list) in lists.enumerated() {
      let fetch = RequestID(
        incarnation: Incarnation(1), part: .pages, number: UInt64(number + 1))
      account.lists.begin(
        fetch, PageRequest(list, .newest, before: 10, after: 0), isAudit: false)
      let page = MessagePage(
        messages: messages.filter { list.verdict(on: PartialMessage($0)) == .yes },
        foundOldest: true, foundNewest: true)
      #expect(account.lists.take(page, for: fetch) == .taken)
    }
    return account
  }

  /// The account as its user sees it after the changes.
  static func shown(
    _ changes: ZulipChange..., in account: ZulipAccount
  ) throws -> ZulipAccount {
    var account = account
    for change in changes { try change.apply(to: &account) }
    return account
  }

  private static func ids(_ name: String, _ value: String, in account: ZulipAccount) -> [Int64] {
    let operand = Int64(value).map { ZulipNarrow.Operand.number($0) } ?? .text(value)
    let list = account.lists.list(of: account.list(ZulipNarrow([.init(name, operand)])))
    return list?.ids.map { $0.key.number } ?? []
  }

  private static let nine = MessageID(9)

  @Test func `a star shows at once, in its list and in the realm`() throws {
    let account = try Self.account()
    let starred = try Self.shown(.flag([Self.nine], .starred, isSet: true), in: account)
    #expect(starred.lists[Self.nine]?.flags == .starred)
    #expect(Self.ids("is", "starred", in: starred) == [9])
    #expect(starred.realm.starred == [Self.nine])
    #expect(Self.ids("is", "starred", in: account) == [], "the confirmed state has not changed")
    let cleared = try Self.shown(.flag([Self.nine], .starred, isSet: false), in: starred)
    #expect(cleared.realm.starred == [] && Self.ids("is", "starred", in: cleared) == [])
  }

  @Test func `reading changes the list of unread messages and the counts`() throws {
    let account = try Self.account()
    let read = try Self.shown(.flag([Self.nine], .read, isSet: true), in: account)
    #expect(Self.ids("is", "unread", in: read) == [] && read.realm.unreadCount == 0)
    let all = [8, 9, 10].map { MessageID($0) }
    let unread = try Self.shown(.flag(all, .read, isSet: false), in: read)
    #expect(Self.ids("is", "unread", in: unread) == [8, 9, 10])
    #expect(
      unread.realm[ZulipKey("unread_msgs", 9)] == ["stream_id": 3, "topic": "lunch"])
    #expect(unread.realm[ZulipKey("unread_msgs", 10)] == ["user_ids": [50]])
  }

  @Test func `an edit shows as text, and keeps what it cannot know`() throws {
    let account = try Self.account()
    let edited = try Self.shown(.edit(Self.nine, Edit(content: "a < b\nc & d")), in: account)
    #expect(
      edited.lists[Self.nine]?.content
        == ZulipContent("<p>a &lt; b<br>\nc &amp; d</p>", .rendered))
    #expect(edited.lists[Self.nine]?.flags == account.lists[Self.nine]?.flags)
    let gone = try Self.shown(.edit(MessageID(77), Edit(content: "x")), in: account)
    #expect(gone.lists[MessageID(77)] == nil)
  }

  @Test(arguments: [(Edit.Moves.one, [9]), (.later, [9]), (.all, [8, 9])])
  func `a move takes those along that are held`(moves: Edit.Moves, moved: [Int64]) throws {
    var edit = Edit(topic: "Supper", channel: ChannelID(4))
    edit.moves = moves
    let account = try Self.account()
    let after = try Self.shown(.edit(Self.nine, edit), in: account)
    let target = MessagePlace.zulip(ChannelID(4), topic: "Supper")
    #expect(after.lists.messages.filter { $0.place == target }.map(\.id.number) == moved)
    #expect(Self.ids("channel", "3", in: after) == [8, 9].filter { !moved.contains($0) })
    #expect(
      after.realm[ZulipKey("unread_msgs", 9)] == ["stream_id": 4, "topic": "Supper"])
  }

  @Test func `a deleted message is gone at once`() throws {
    let after = try Self.shown(.delete(Self.nine), in: try Self.account())
    #expect(after.lists.messages.map(\.id.number) == [8, 10] && after.realm.unreadCount == 0)
  }

  @Test func `a reaction shows at once if its code is known`() throws {
    let account = try Self.account()
    let wave = ZulipConnection.Emoji("wave", code: "1f44b", type: "unicode_emoji")
    let after = try Self.shown(.react(Self.nine, wave, isSet: true), in: account)
    #expect(
      after.lists[Self.nine]?.reactions
        == [MessageReaction(user: UserID(7), emoji: "unicode_emoji:1f44b")])
    let back = try Self.shown(.react(Self.nine, wave, isSet: false), in: after)
    #expect(back.lists[Self.nine]?.reactions == [])
    let unknown = ZulipConnection.Emoji("wave")
    #expect(
      try Self.shown(.react(Self.nine, unknown, isSet: true), in: account)
        .lists[Self.nine]?.reactions == [])
  }

  @Test func `what the server would refuse is refused at once`() throws {
    let account = try Self.account()
    func refusal(_ edit: Edit) -> ZulipOutgoing.Refusal? {
      do throws(ZulipOutgoing.Refusal) {
        var account = account
        try ZulipChange.edit(Self.nine, edit).apply(to: &account)
        return nil
      } catch {
        return error
      }
    }
    #expect(refusal(Edit(content: " ")) == .empty)
    #expect(refusal(Edit(content: String(repeating: "x", count: 21))) == .tooLong(limit: 20))
    #expect(refusal(Edit(channel: ChannelID(9))) == .noChannel)
    #expect(refusal(Edit(content: "x", topic: "y")) == nil)
  }

  @Test func `of a message that is not held, the lists hear nothing`() throws {
    let account = try Self.account()
    let other = MessageID(5)
    let wave = ZulipConnection.Emoji("wave", code: "1f44b", type: "unicode_emoji")
    let after = try Self.shown(
      .flag([other], .starred, isSet: true), .react(other, wave, isSet: true), .delete(other),
      in: account)
    let list = account.list(ZulipNarrow([.init("is", .text("starred"))]))
    #expect(after.lists.list(of: list)?.knowledge.contains(other) == true)
  }

  // MARK: Confirming

  @Test func `an event that says what was wanted confirms it`() throws {
    let account = try Self.account()
    func shows(_ change: ZulipChange, _ event: String) throws -> Bool {
      account.shows(change, after: try ZulipEvent(event))
    }
    let edited =
      #"{"type":"update_message","message_id":9,"message_ids":[9],"rendering_only":false,"#
      + #""edit_timestamp":1,"flags":[],"content":"new","rendered_content":"<p>new</p>"}"#
    #expect(try shows(.edit(Self.nine, Edit(content: "new \n")), edited))
    #expect(try !shows(.edit(Self.nine, Edit(content: "old")), edited))
    #expect(try !shows(.edit(MessageID(8), Edit(content: "new")), edited))
    let moved =
      #"{"type":"update_message","message_id":9,"message_ids":[9],"rendering_only":false,"#
      + #""edit_timestamp":1,"flags":[],"stream_id":3,"orig_subject":"lunch","subject":"Soup"}"#
    #expect(try shows(.edit(Self.nine, Edit(topic: "Soup")), moved))
    #expect(try !shows(.edit(Self.nine, Edit(topic: "Soup", channel: ChannelID(4))), moved))
    #expect(try !shows(.edit(Self.nine, Edit(content: "x", topic: "Soup")), moved))
    let starred = #"{"type":"update_message_flags","op":"add","flag":"starred","messages":[9]}"#
    #expect(try shows(.flag([Self.nine], .starred, isSet: true), starred))
    #expect(try !shows(.flag([Self.nine], .starred, isSet: false), starred))
    #expect(try !shows(.flag([Self.nine, MessageID(8)], .starred, isSet: true), starred))
    let deleted = #"{"type":"delete_message","message_ids":[9]}"#
    #expect(try shows(.delete(Self.nine), deleted) && !shows(.delete(MessageID(8)), deleted))
    let wave = ZulipConnection.Emoji("wave", code: "1f44b", type: "unicode_emoji")
    for (user, isMine) in [(7, true), (50, false)] {
      let reacted =
        #"{"type":"reaction","op":"add","message_id":9,"user_id":\#(user),"#
        + #""emoji_name":"wave","emoji_code":"1f44b","reaction_type":"unicode_emoji"}"#
      #expect(try shows(.react(Self.nine, wave, isSet: true), reacted) == isMine)
      #expect(try !shows(.react(Self.nine, wave, isSet: false), reacted))
    }
  }

  // MARK: Merging and undoing

  @Test func `what comes later counts, and flags are set together`() {
    typealias Change = ZulipChange
    let (a, b) = (MessageID(1), MessageID(2))
    let wave = ZulipConnection.Emoji("wave")
    let pairs: [(Change, Change, Change?)] = [
      (
        .flag([a], .read, isSet: true), .flag([a], .read, isSet: true),
        .flag([a], .read, isSet: true)
      ),
      (
        .flag([a], .read, isSet: true), .flag([b, a], .read, isSet: true),
        .flag([a, b], .read, isSet: true)
      ),
      (
        .flag([a], .read, isSet: true), .flag([a], .read, isSet: false),
        .flag([a], .read, isSet: false)
      ),
      (.flag([a], .read, isSet: true), .flag([b], .read, isSet: false), nil),
      (.flag([a], .read, isSet: true), .flag([a], .starred, isSet: true), nil),
      (.react(a, wave, isSet: true), .react(a, wave, isSet: false), .react(a, wave, isSet: false)),
      (.react(a, wave, isSet: true), .react(b, wave, isSet: true), nil),
      (.edit(a, Edit(content: "x")), .edit(a, Edit(content: "y")), .edit(a, Edit(content: "y"))),
      (.edit(a, Edit(content: "x")), .delete(a), .delete(a)),
      (.edit(a, Edit(content: "x")), .edit(a, Edit()), .edit(a, Edit(content: "x"))),
      (.edit(a, Edit(content: "x", topic: "y")), .edit(a, Edit(content: "x", topic: "y")), nil),
      (.edit(a, Edit(topic: "x")), .edit(a, Edit(topic: "y")), nil),
      (.edit(a, Edit(content: "x")), .edit(b, Edit(content: "y")), nil),
    ]
    for (one, other, both) in pairs {
      #expect(one.coalesced(with: other) == both, "\(one), \(other)")
      if both != nil { #expect(one.object == other.object, "\(one), \(other)") }
    }
    let letter = ZulipChange.send(ZulipOutgoing(.direct([]), "x"))
    #expect(letter.coalesced(with: letter) == nil)
  }

  @Test func `messages of one conversation keep their order, and no others wait for them`() {
    func object(_ recipient: ZulipConnection.Recipient) -> String? {
      ZulipChange.send(ZulipOutgoing(recipient, "x")).object
    }
    #expect(
      object(.channel(ChannelID(4), topic: "Lunch"))
        == object(.channel(ChannelID(4), topic: "lunch")))
    #expect(
      object(.channel(ChannelID(4), topic: "Lunch"))
        != object(.channel(ChannelID(4), topic: "Soup")))
    #expect(object(.direct([UserID(8), UserID(9)])) == object(.direct([UserID(9), UserID(8)])))
    let sends = ZulipChange.send(ZulipOutgoing(.direct([]), "x"))
    #expect(!sends.isIdempotent && ZulipChange.delete(Self.nine).isIdempotent)
    var move = Edit(topic: "Soup")
    #expect(ZulipChange.edit(Self.nine, move).isIdempotent)
    move.moves = .all  // A second copy may find others there.
    #expect(!ZulipChange.edit(Self.nine, move).isIdempotent)
  }

  @Test func `only what has changed is taken back`() throws {
    let account = try Self.account()
    let read = ZulipChange.flag([8, 9, 10].map { MessageID($0) }, .read, isSet: true)
    #expect(
      read.inverse(from: account, to: try Self.shown(read, in: account))
        == .flag([Self.nine], .read, isSet: false))
    let unread = ZulipChange.flag([Self.nine], .read, isSet: false)
    #expect(unread.inverse(from: account, to: try Self.shown(unread, in: account)) == nil)
    let wave = ZulipConnection.Emoji("wave", code: "1f44b", type: "unicode_emoji")
    let reaction = ZulipChange.react(Self.nine, wave, isSet: true)
    #expect(
      reaction.inverse(from: account, to: try Self.shown(reaction, in: account))
        == .react(Self.nine, wave, isSet: false))
  }

  @Test func `an edit is taken back where what was written is known, and a move of one`() throws {
    func inverse(_ edit: Edit, _ form: ZulipContent.Form = .raw) throws -> Edit? {
      let account = try Self.account(form)
      let change = ZulipChange.edit(Self.nine, edit)
      let undo = change.inverse(from: account, to: try Self.shown(change, in: account))
      guard case .edit(Self.nine, let inverse) = undo else {
        #expect(undo == nil)
        return nil
      }
      let shown = try Self.shown(try #require(undo), in: try Self.shown(change, in: account))
      #expect(shown.lists[Self.nine]?.place == account.lists[Self.nine]?.place)
      #expect(shown.lists[Self.nine]?.content == account.lists[Self.nine]?.content)
      return inverse
    }
    #expect(try inverse(Edit(content: "x")) == Edit(content: "<p>9</p>"))
    #expect(try inverse(Edit(content: "x"), .rendered) == nil)
    #expect(try inverse(Edit(content: "<p>9</p>")) == nil, "nothing has changed")
    #expect(try inverse(Edit(topic: "Soup"), .rendered) == Edit(topic: "lunch"))
    #expect(try inverse(Edit(topic: "LUNCH")) == Edit(topic: "lunch"))
    #expect(
      try inverse(Edit(topic: "Soup", channel: ChannelID(4)))
        == Edit(topic: "lunch", channel: ChannelID(3)))
    #expect(
      try inverse(Edit(content: "x", topic: "Soup"))
        == Edit(content: "<p>9</p>", topic: "lunch"))
    // It does not matter what is left in sight of it.
    let account = try Self.account()
    #expect(
      ZulipChange.edit(Self.nine, Edit(channel: ChannelID(9))).inverse(from: account, to: account)
        == .edit(Self.nine, Edit(channel: ChannelID(3))))
    #expect(try inverse(Edit(content: "x", topic: "Soup"), .rendered) == nil)
    for moves in [Edit.Moves.later, .all] {
      var move = Edit(topic: "Soup")
      move.moves = moves
      #expect(try inverse(move) == nil)
    }
  }

  // MARK: Rows

  private static var all: [ZulipChange] {
    var move = Edit(content: nil, topic: "secret", channel: ChannelID(4))
    move.moves = .later
    move.notifiesNewTopic = true
    return [
      .send(ZulipOutgoing(.channel(ChannelID(4), topic: "secret"), "secret")),
      .send(ZulipOutgoing(.direct([UserID(8), UserID(9)]), "secret")),
      .send(ZulipOutgoing(.direct([]), "")), .edit(MessageID(7), Edit(content: "secret")),
      .edit(MessageID(7), move), .delete(MessageID(.max)),
      .flag([MessageID(7), MessageID(8)], .collapsed, isSet: false),
      .react(MessageID(7), ZulipConnection.Emoji("secret"), isSet: true),
      .react(
        MessageID(7), ZulipConnection.Emoji("secret", code: "1", type: "realm_emoji"),
        isSet: false),
    ]
  }

  @Test func `a change is the same after saving and loading, and shows no content`() throws {
    for change in Self.all {
      var reader = ByteReader(change.storedBytes)
      #expect(try ZulipChange(from: &reader) == change)
      #expect(!"\(change) \(String(reflecting: change)) \(change.name)".contains("secret"))
    }
    for bytes: [UInt8] in [[], [9], [4, 0], [5]] {
      #expect(throws: StoredFormError.self) {
        var reader = ByteReader(bytes)
        _ = try ZulipChange(from: &reader)
      }
    }
  }

  @Test func `a message saved by an older version is read`() throws {
    // The bytes that the version before changes wrote for "hi" to channel 4, topic "a".
    var writer = ByteWriter()
    writer.put(UInt8(0))
    writer.put(Int64(4))
    writer.put("a")
    writer.put("hi")
    var reader = ByteReader(writer.bytes)
    #expect(
      try ZulipChange(from: &reader)
        == .send(ZulipOutgoing(.channel(ChannelID(4), topic: "a"), "hi")))
  }
}
