import Foundation
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests changes that are about more than one message, or about none: reading a narrow, topics,
/// subscriptions and the status. Beside our own fixture, the events of a real server say what is to
/// be expected.
@Suite struct ZulipSettingChangeTests {
  private static let me: Int64 = 7

  /// User 7 follows channels 3 and 4, and not 5 and 6, which is private. There are unread messages
  /// in two topics of channel 3, in channel 4, and directly from user 50.
  private static func account() throws -> ZulipAccount {
    let state = try ZulipValue(
      json: Data(
        """
        {"user_id":7,"max_message_id":14,
         "subscriptions":[{"stream_id":3,"name":"a","is_muted":false},
          {"stream_id":4,"name":"b","is_muted":false,"invite_only":true}],
         "unsubscribed":[],"never_subscribed":[{"stream_id":5,"name":"c"}],
         "user_topics":[{"stream_id":3,"topic_name":"Soup","visibility_policy":1}],
         "user_status":{"7":{"status_text":"out","emoji_name":"car","emoji_code":"1f697",
          "reaction_type":"unicode_emoji"}},
         "unread_msgs":{"count":5,"streams":[
           {"stream_id":3,"topic":"Lunch","unread_message_ids":[9,11]},
           {"stream_id":3,"topic":"soup","unread_message_ids":[10]},
           {"stream_id":4,"topic":"x","unread_message_ids":[12]}],
          "huddles":[],"pms":[{"other_user_id":50,"unread_message_ids":[13]}],"mentions":[]}}
        """.utf8))
    return try ZulipAccount(
      snapshot: ZulipAccount.Snapshot(
        ZulipSnapshot(state.fields ?? [:]), .rendered, client: ClientID(5)))
  }

  private static func narrow(_ terms: (String, ZulipNarrow.Operand)...) -> ZulipNarrow {
    ZulipNarrow(terms.map { .init($0.0, $0.1) })
  }

  private static let channel = narrow(("channel", .number(3)))
  private static let lunch = narrow(("channel", .number(3)), ("topic", .text("lunch")))

  private static let parts: [(narrow: ZulipNarrow, last: Int64, left: [Int64])] = [
    (channel, 99, [12, 13]), (channel, 10, [11, 12, 13]), (lunch, 99, [10, 12, 13]),
    (narrow(), 12, [13]), (narrow(("is", .text("dm"))), 99, [9, 10, 11, 12]),
    (narrow(("dm", .numbers([50]))), 99, [9, 10, 11, 12]),
    // Nobody here knows who has sent them, or what is in them.
    (narrow(("sender", .number(50))), 99, [9, 10, 11, 12, 13]),
    (narrow(("search", .text("x"))), 99, [9, 10, 11, 12, 13]),
  ]

  @Test(arguments: parts)
  func `a narrow is read as far as it is known`(
    narrow: ZulipNarrow, last: Int64, left: [Int64]
  ) throws {
    let account = try Self.account()
    let change = ZulipChange.read(narrow, through: MessageID(last))
    let read = try ZulipChangeTests.shown(change, in: account)
    #expect(read.realm.unread.map(\.id.number) == left)
    let undone = change.inverse(from: account, to: read)
    let gone = [9, 10, 11, 12, 13].filter { !left.contains($0) }.map { MessageID($0) }
    #expect(undone == (gone.isEmpty ? nil : .flag(gone, .read, isSet: false)))
  }

  /// What another device has read confirms only what it shows for certain.
  @Test(
    arguments: [
      (narrow(("search", .text("x"))), 99, false), (narrow(("sender", .number(50))), 99, false),
      (lunch, 99, false), (lunch, 9, true), (channel, 9, true), (channel, 10, false),
    ])
  func `an event confirms what it leaves nothing unread of`(
    narrow: ZulipNarrow, last: Int64, isConfirmed: Bool
  ) throws {
    var account = try Self.account()
    let line =
      #"{"id":1,"type":"update_message_flags","op":"add","flag":"read","messages":[9],"#
      + #""all":false}"#
    let event = try ZulipError.decode(ZulipEvent.self, from: Data(line.utf8))
    try account.apply(event)
    #expect(account.shows(.read(narrow, through: MessageID(last)), after: event) == isConfirmed)
  }

  /// The server merges the events of two devices.
  @Test func `what another device has read is not taken back`() throws {
    let account = try Self.account()
    let read = ZulipChange.read(Self.lunch, through: MessageID(99))
    let both = try ZulipChangeTests.shown(.read(Self.narrow(), through: MessageID(99)), in: account)
    #expect(
      read.inverse(from: account, to: both)
        == .flag([MessageID(9), MessageID(11)], .read, isSet: false))
  }

  @Test func `a held message's sender decides`() throws {
    var account = try Self.account()
    let list = account.list(Self.channel)
    account.lists.open(list)
    let fetch = RequestID(incarnation: Incarnation(1), part: .pages, number: 1)
    account.lists.begin(fetch, PageRequest(list, .newest, before: 10, after: 0), isAudit: false)
    let message = ChatMessage(
      id: MessageID(9), sender: UserID(50), sentAt: 0,
      place: .zulip(ChannelID(3), topic: "Lunch"), content: ZulipContent("", .rendered), flags: [],
      reactions: [])
    #expect(account.lists.take(MessagePage(messages: [message]), for: fetch) == .taken)
    let sender = Self.narrow(("sender", .number(50)))
    let read = try ZulipChangeTests.shown(.read(sender, through: MessageID(99)), in: account)
    #expect(read.realm.unread.map(\.id.number) == [10, 11, 12, 13])
    #expect(read.lists[MessageID(9)]?.flags == .read)
  }

  @Test func `a topic is set in any spelling, and taken back`() throws {
    let account = try Self.account()
    let change = ZulipChange.topic(ChannelID(3), "SOUP", .followed)
    let set = try ZulipChangeTests.shown(change, in: account)
    #expect(set.realm.visibility(of: "soup", in: ChannelID(3)) == .followed)
    let undo = try #require(change.inverse(from: account, to: set))
    #expect(
      try ZulipChangeTests.shown(undo, in: set).realm.visibility(of: "soup", in: ChannelID(3))
        == .muted)
    let cleared = try ZulipChangeTests.shown(.topic(ChannelID(3), "soup", .inherited), in: account)
    #expect(cleared.realm.visibility(of: "Soup", in: ChannelID(3)) == .inherited)
    #expect(change.inverse(from: set, to: set) == nil)
  }

  @Test func `a subscription shows in the realm, and its messages come when it is confirmed`()
    throws
  {
    let account = try Self.account()
    let change = ZulipChange.subscribe(ChannelID(5), isSet: true)
    let set = try ZulipChangeTests.shown(change, in: account)
    #expect(set.realm.subscriptions.map(\.id.number) == [3, 4, 5])
    #expect(set.realm.channel(ChannelID(5))?.name == "c")
    #expect(!set.lists.canBeKnown(set.list(Self.narrow(("channel", .number(5))))))
    #expect(change.inverse(from: account, to: set) == .subscribe(ChannelID(5), isSet: false))
    let left = try ZulipChangeTests.shown(.subscribe(ChannelID(3), isSet: false), in: account)
    #expect(left.realm.subscriptions.map(\.id.number) == [4])
    #expect(left.realm.unread.map(\.id.number) == [12, 13])
    // Only an invitation brings the user back.
    let vault = ZulipChange.subscribe(ChannelID(4), isSet: false)
    #expect(vault.inverse(from: account, to: try ZulipChangeTests.shown(vault, in: account)) == nil)
    #expect(throws: ZulipOutgoing.Refusal.noChannel) {
      try ZulipChangeTests.shown(.subscribe(ChannelID(77), isSet: true), in: account)
    }
  }

  @Test func `a status replaces the one before, and is taken back whole`() throws {
    let account = try Self.account()
    let change = ZulipChange.status("in", nil)
    let set = try ZulipChangeTests.shown(change, in: account)
    #expect(set.realm[ZulipKey("user_status", "7")] == ["status_text": "in"])
    let undo = try #require(change.inverse(from: account, to: set))
    let back = try ZulipChangeTests.shown(undo, in: set)
    #expect(back.realm == account.realm)
    let none = try ZulipChangeTests.shown(.status("", nil), in: account)
    #expect(none.realm[ZulipKey("user_status", "7")] == nil)
  }

  @Test func `of two the later counts`() {
    let ten = ZulipChange.read(Self.channel, through: MessageID(10))
    let nine = ZulipChange.read(Self.channel, through: MessageID(9))
    #expect(ten.coalesced(with: nine) == ten && nine.coalesced(with: ten) == ten)
    #expect(ten.coalesced(with: .read(Self.lunch, through: MessageID(10))) == nil)
    let muted = ZulipChange.topic(ChannelID(3), "Soup", .muted)
    let followed = ZulipChange.topic(ChannelID(3), "soup", .followed)
    #expect(muted.coalesced(with: followed) == followed)
    #expect(muted.coalesced(with: .topic(ChannelID(4), "soup", .muted)) == nil)
    let joins = ZulipChange.subscribe(ChannelID(3), isSet: true)
    let leaves = ZulipChange.subscribe(ChannelID(3), isSet: false)
    #expect(joins.coalesced(with: leaves) == leaves)
    #expect(joins.coalesced(with: .subscribe(ChannelID(4), isSet: false)) == nil)
    #expect(ZulipChange.status("a", nil).coalesced(with: .status("b", nil)) == .status("b", nil))
    // Reading again what was read must come after what makes it unread.
    #expect(ten.object == ZulipChange.flag([MessageID(9)], .read, isSet: false).object)
    #expect(ten.object != ZulipChange.flag([MessageID(9)], .starred, isSet: false).object)
  }

  @Test(
    arguments: [
      ZulipChange.read(lunch, through: MessageID(9)), .topic(ChannelID(3), "Soup", .unmuted),
      .subscribe(ChannelID(3), isSet: true), .subscribe(ChannelID(3), isSet: false),
      .status("secret", nil), .status("", ZulipConnection.Emoji("car", code: "1", type: "x")),
    ])
  func `it is the same after saving and loading, and shows no content`(change: ZulipChange) throws {
    var reader = ByteReader(change.storedBytes)
    #expect(try ZulipChange(from: &reader) == change)
    for text in ["\(change)", String(reflecting: change)] {
      #expect(!text.contains("secret") && !text.contains("Soup"))
    }
    #expect(change.isIdempotent && change.size > 0)
  }

  /// What we expect is what a real server told, and its event confirms the change.
  @Test(arguments: RecordedObserver.all.map(\.name))
  func `a real server's events are as expected`(name: String) throws {
    let observer = RecordedObserver.named(name)
    var account = try ZulipAccount(
      snapshot: ZulipAccount.Snapshot(observer.start, .rendered, client: ClientID(1)))
    var confirmed: [String] = []
    for event in observer.events {
      let change = Self.change(behind: event, in: account)
      var expected = account
      try change?.apply(to: &expected)
      try account.apply(event)
      guard let change else { continue }
      confirmed.append(change.name)
      #expect(account.shows(change, after: event), "\(event)")
      switch change {
      case .topic(let channel, let topic, let visibility):
        #expect(expected.realm.visibility(of: topic, in: channel) == visibility)
        #expect(account.realm.visibility(of: topic, in: channel) == visibility)
      case .subscribe:
        let ids = account.realm.subscriptions.map(\.id)
        #expect(expected.realm.subscriptions.map(\.id) == ids)
        #expect(expected.realm.unread == account.realm.unread)
      default:
        #expect(expected.myStatus == account.myStatus)
      }
    }
    if name == "hamlet/modern" {
      #expect(Set(confirmed) == ["topic", "subscribe", "unsubscribe", "status"], "\(confirmed)")
    }
  }

  /// The change of the user's that makes such an event.
  private static func change(behind event: ZulipEvent, in account: ZulipAccount) -> ZulipChange? {
    let fields = event.fields
    switch event.type {
    case "user_topic":
      guard let channel = fields["stream_id"]?.number, let topic = fields["topic_name"]?.text,
        let policy = fields["visibility_policy"]?.number.flatMap({ ZulipVisibility(rawValue: $0) })
      else { return nil }
      return .topic(ChannelID(channel), topic, policy)
    case "subscription":
      guard case .covered(let channels, let follows) = event.kind, channels.count == 1,
        account.realm.channel(channels[0]) != nil
      else { return nil }
      return .subscribe(channels[0], isSet: follows)
    case "user_status":
      guard fields["user_id"]?.number == account.realm.myself?.number,
        let text = fields["status_text"]?.text, let emoji = fields["emoji_name"]?.text
      else { return nil }
      let named = ZulipConnection.Emoji(
        emoji, code: fields["emoji_code"]?.text, type: fields["reaction_type"]?.text)
      return .status(text, emoji.isEmpty ? nil : named)
    default: return nil
    }
  }
}
