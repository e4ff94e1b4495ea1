import Foundation
import MessageSync
import Testing
import UpdateMachine
import ZulipSync

@Suite("A realm's state after a recorded session")
struct ZulipStateTests {
  /// The only places where a server keeps its clients from being right. `simulate check` says why.
  static let unlike: [String: [String]] = [
    "hamlet/modern": [
      "realm_non_active_users[64]", "starred_messages[2013]", "unsubscribed[13]",
    ],
    "hamlet/legacy": ["realm_non_active_users[64]", "subscriptions[16]", "unsubscribed[2]"],
    "iago/modern-admin": ["realm_non_active_users[64]"],
    "zoe/modern": ["realm_non_active_users[64]"],
    "polonius/guest": ["realm_non_active_users[64]"],
  ]

  @Test(arguments: unlike.keys.sorted())
  func `every row after all events equals a new register's, but for known exceptions`(
    _ name: String
  ) throws {
    let observer = RecordedObserver.named(name)
    var state = try ZulipState(snapshot: observer.start)
    for event in observer.events { try state.apply(event) }
    let closing = try ZulipState(snapshot: observer.closing)
    let changes = state.rows.difference(from: closing.rows).changes
    #expect(changes.map { "\($0.key)" } == Self.unlike[name], "\(state.differences(from: closing))")
    #expect(closing.rows.count > 400)
    #expect(state.counts == ZulipCounts())
    let count = observer.closing.fields["unread_msgs"]?.fields?["count"]?.number
    #expect(Int64(state.unreadCount) == count)
  }

  @Test func `typed accessors return what the server said`() throws {
    let observer = RecordedObserver.named("hamlet/modern")
    let state = try ZulipState(snapshot: observer.closing)
    #expect(state.myself == UserID(50))
    #expect(state.featureLevel == 323)
    #expect(state.user(UserID(7))?.name == "Zoe Q.")
    #expect(state.user(UserID(64))?.isActive == false)
    #expect(state.user(UserID(1))?.isBot == true)
    #expect(state.user(UserID(999)) == nil)
    #expect(state.users.count == 55)
    #expect(state.channel(ChannelID(3))?.name == "Verona")
    #expect(state.channel(ChannelID(2))?.isSubscribed == false)
    #expect(state.channel(ChannelID(27))?.isArchived == true)
    #expect(state.subscriptions.count == 19)
    #expect(state.channels.map(\.id).contains(ChannelID(2)))
    #expect(state.group(12)?.name == "role:moderators")
    #expect(state.group(12)?.members.isEmpty == false)
    #expect(state.groups.count == 10)
    #expect(state.realmSetting("name") == "Zulip Dev")
    #expect(state.setting("web_font_size_px") == 18)
    #expect(state.directory.channels["Verona"] == ChannelID(3))
    #expect(state.visibility(of: "LUNCH", in: ChannelID(3)) == .muted)
    #expect(state.visibility(of: "nothing", in: ChannelID(3)) == .inherited)
    #expect(state.unread.count == 88)
    #expect(state.unreadCount == 84)
    #expect(state.unread.filter(\.isMention).map(\.id) == [MessageID(2031), MessageID(2056)])
    #expect(state.isUnread(MessageID(2139)))
    #expect(state.starred == [2041, 2054, 2117, 2118, 2120].map { MessageID($0) })
    #expect(!state.hasMoreUnread)
    #expect(state.objects(of: "realm_emoji").map(\.key.text) == ["1", "2"])
    #expect(state[ZulipKey("realm_emoji", "1")]?.fields?["name"] == "green_tick")
    #expect(state["realm_emoji"] == nil)
    #expect(state["realm_url"] == "http://localhost:9991")
  }

  @Test func `keys are ordered by field, then number or text`() throws {
    let keys = [
      ZulipKey("a"), ZulipKey("a", -1), ZulipKey("a", ""), ZulipKey("a", "b"), ZulipKey("a", "bc"),
      ZulipKey("a", 1), ZulipKey("a", 1, "a"), ZulipKey("a", 256), ZulipKey("a_b"), ZulipKey("b"),
    ]
    #expect(keys.sorted() == keys)
    for key in keys {
      #expect(try ZulipKey(keyBytes: key.keyBytes) == key)
      #expect(try ZulipKey(storedBytes: key.storedBytes) == key)
    }
    #expect(keys.map(\.field) == Array(repeating: "a", count: 8) + ["a_b", "b"])
    #expect(keys.map(\.isWhole) == [true] + Array(repeating: false, count: 7) + [true, true])
    #expect(keys.map(\.number) == [0, -1, 0, 0, 0, 1, 1, 256, 0, 0])
    #expect(keys[6].text == "a")
    #expect("\(keys[6]) \(keys[3]) \(keys[5]) \(keys[0])" == "a[1 a] a[b] a[1] a")
    for bytes in [[], [0], [97], [97, 0, 1]] as [[UInt8]] {
      #expect(throws: StoredFormError.self) { try ZulipKey(keyBytes: bytes) }
    }
  }

  /// The unread messages of a channel, of another one, and of a direct conversation.
  private static let unread = """
    "unread_msgs":{"streams":[{"stream_id":4,"topic":"a","unread_message_ids":[1]},
      {"stream_id":5,"topic":"a","unread_message_ids":[2]}],
     "pms":[{"other_user_id":8,"unread_message_ids":[3]}],"huddles":[],"mentions":[],"count":3}
    """

  @Test func `unread messages of an ended subscription are left out until it begins again`() throws
  {
    var registration = ZulipRegistration()
    registration.keepsArchivedChannels = true
    var state = try ZulipState(
      #"{"user_id":7,"subscriptions":[{"stream_id":4},{"stream_id":5}],\#(Self.unread)}"#,
      registration)
    func ids() -> [Int64] {
      // The three answers must agree.
      #expect(state.unreadCount == state.unread.count)
      let isUnread = [1, 2, 3].filter { state.isUnread(MessageID($0)) }
      #expect(state.unread.map(\.id.number) == isUnread)
      return isUnread
    }
    #expect(ids() == [1, 2, 3])
    let old = state
    try state.apply(
      ZulipEvent(#"{"type":"subscription","op":"remove","subscriptions":[{"stream_id":4}]}"#))
    #expect(ids() == [2, 3])
    #expect(state.objects(of: "unread_msgs").count == 3, "the rows stay")
    try state.apply(
      ZulipEvent(#"{"type":"subscription","op":"add","subscriptions":[{"stream_id":4}]}"#))
    #expect(ids() == [1, 2, 3])
    #expect(state == old)
  }

  @Test(arguments: [true, false])
  func `unread messages of an archived channel count for a client that does not see it`(
    _ isModern: Bool
  ) throws {
    var registration = ZulipRegistration()
    registration.keepsArchivedChannels = isModern
    var state = try ZulipState(
      """
      {"user_id":7,"subscriptions":[{"stream_id":4},{"stream_id":5}],"unsubscribed":[],
       "never_subscribed":[],\(Self.unread)}
      """, registration)
    try state.apply(
      ZulipEvent(#"{"type":"subscription","op":"remove","subscriptions":[{"stream_id":5}]}"#))
    try state.apply(
      ZulipEvent(
        """
        {"type":"stream","op":"delete","streams":[{"stream_id":4,"is_archived":true}],
         "stream_ids":[4]}
        """))
    #expect(state.unread.map(\.id.number) == [1, 3])
    #expect(state.channel(ChannelID(4))?.isSubscribed == (isModern ? true : nil))
  }

  @Test func `a state without subscriptions has all unread messages`() throws {
    let state = try ZulipState("{\(Self.unread)}")
    #expect(state.unread.count == 3 && state.unreadCount == 3)
    #expect(state.isUnread(MessageID(1)) && !state.isUnread(MessageID(4)))
  }

  @Test func `the message after a subscription is not the first of an older channel`() throws {
    var state = try ZulipState(#"{"streams":[],"subscriptions":[],"never_subscribed":[]}"#)
    for event in [
      #"{"type":"stream","op":"create","streams":[{"stream_id":4,"first_message_id":null}]}"#,
      """
      {"type":"subscription","op":"add","subscriptions":[{"stream_id":4,"first_message_id":9}]}
      """,
      """
      {"type":"message","flags":["read"],"message":{"id":12,"sender_id":8,"type":"stream",
       "stream_id":4,"subject":"lunch","content":"","content_type":"text/html","reactions":[],
       "display_recipient":"general"}}
      """,
    ] { try state.apply(try ZulipEvent(event)) }
    for field in ["streams", "subscriptions"] {
      #expect(state[ZulipKey(field, 4)]?.fields?["first_message_id"] == 9, "\(field)")
    }
  }

  @Test func `an unread message has the same conversation as in pages`() throws {
    let state = try ZulipState(snapshot: RecordedObserver.named("hamlet/modern").closing)
    func place(_ id: Int64) -> MessagePlace? {
      state.unread.first { $0.id == MessageID(id) }?.place
    }
    func direct(_ users: Int64...) -> MessagePlace {
      .direct(ConversationID(zulip: users.map { UserID($0) }))
    }
    #expect(place(2091) == direct(4, 50))
    #expect(place(2045) == direct(50))
    #expect(place(2043) == direct(7, 8, 50))
    #expect(place(2093) == .channel(ChannelID(10), topic: "new channels"))
  }

  @Test func `omitted fields are not part of the state`() throws {
    for observer in RecordedObserver.all {
      let state = try ZulipState(snapshot: observer.start)
      for (field, _) in ZulipState.leftOut { #expect(!state.holds(field)) }
      for entry in observer.start.fields.entries where ZulipState.leftOut[entry.name] == nil {
        #expect(state.holds(entry.name))
      }
    }
  }

  @Test func `rows written in steps restore the state`() throws {
    let observer = RecordedObserver.named("zoe/modern")
    var state = try ZulipState(snapshot: observer.start)
    var disk: [StoredKey: [UInt8]] = [:]
    func write(since old: ZulipState?) -> Int {
      var writer = RowWriter()
      state.store(since: old, into: &writer)
      for row in writer.rows { disk[row.key] = row.value }
      return writer.rows.count
    }
    #expect(write(since: nil) == state.rows.count + 1)
    var most = 0
    for answer in observer.answers {
      let old = state
      for event in answer.events { try state.apply(event) }
      most = max(most, write(since: old))
    }
    // One event may change many rows, for example when a user is removed, but none changes most
    // rows.
    #expect((1...70).contains(most), "\(most)")
    let rows = try RowReader(
      disk.map { (key: $0.key, value: $0.value) }.sorted { $0.key < $1.key })
    let restored = try ZulipState(stored: rows)
    #expect(restored == state)
    #expect(restored.registration.keepsArchivedChannels)
    var other = RowWriter()
    state.store(since: nil, into: &other, from: .firstOfModel.advanced(by: 9))
    let moved = try RowReader(
      other.rows.compactMap { row in row.value.map { (key: row.key, value: $0) } })
    #expect(try ZulipState(stored: moved, from: .firstOfModel.advanced(by: 9)) == state)
    #expect(throws: StoredFormError.self) { try ZulipState(stored: moved) }
  }

  @Test func `rows that no state wrote are an error`() throws {
    let state = try ZulipState(#"{"realm_name": "a", "realm_users": [{"user_id": 7}]}"#)
    var writer = RowWriter()
    state.store(since: nil, into: &writer)
    let rows = writer.rows.compactMap { row in row.value.map { (key: row.key, value: $0) } }
    #expect(throws: Never.self) { try ZulipState(stored: RowReader(rows)) }
    for index in rows.indices {
      var fewer = rows
      fewer.remove(at: index)
      let isField = rows[index].key.bytes == ZulipKey("realm_users").keyBytes
      if index == 0 || isField {
        #expect(throws: StoredFormError.self) { try ZulipState(stored: RowReader(fewer)) }
      } else {
        #expect(throws: Never.self) { try ZulipState(stored: RowReader(fewer)) }
      }
    }
  }
}
