import Foundation
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine
import ZulipSync

/// Tests that what a page mends in a message it also mends in the realm's state.
@Suite struct ZulipMendingTests {
  /// An account with message 9 in channel 3, topic "Lunch", and message 10 between users 7 and 50.
  private static func account() throws -> ZulipAccount {
    let state = try ZulipValue(
      json: Data(
        """
        {"user_id":50,"max_message_id":8,"subscriptions":[{"stream_id":3,"is_muted":false}],
         "user_topics":[],"recent_private_conversations":[],"starred_messages":[8],
         "unread_msgs":{"count":1,"streams":[{"stream_id":3,"topic":"Lunch",
          "unread_message_ids":[8]}],"huddles":[],"pms":[],"mentions":[]}}
        """.utf8))
    var account = try ZulipAccount(
      snapshot: ZulipAccount.Snapshot(ZulipSnapshot(state.fields ?? [:]), .rendered))
    let all = account.list(ZulipNarrow([]))
    account.lists.open(all)
    take([], &account, PageRequest(all, .newest, before: 1, after: 0), isWhole: true)
    try hear(
      [
        """
        {"type":"message","flags":[],"message":{"id":9,"sender_id":7,"type":"stream","stream_id":3,
         "subject":"Lunch","display_recipient":"x","content":"","content_type":"text/html",
         "reactions":[]}}
        """,
        """
        {"type":"message","flags":["mentioned"],"message":{"id":10,"sender_id":7,"type":"private",
         "display_recipient":[{"id":7},{"id":50}],"content":"","content_type":"text/html",
         "reactions":[]}}
        """,
      ], &account)
    #expect(account.messages.count == 2)
    return account
  }

  private static func hear(_ events: [String], _ account: inout ZulipAccount) throws {
    account.lists.asked()
    for event in events { try account.apply(try ZulipEvent(event)) }
    account.lists.answered()
  }

  /// Takes a page, as a client does.
  private static func take(
    _ messages: [ChatMessage<ZulipContent>], _ account: inout ZulipAccount,
    _ request: PageRequest<ZulipMessageList, MessageID>, isWhole: Bool = false,
    isAudit: Bool = false
  ) {
    let fetch = RequestID(incarnation: Incarnation(1), part: .pages, number: 1)
    account.lists.begin(fetch, request, isAudit: isAudit)
    let page = MessagePage(messages: messages, foundOldest: isWhole, foundNewest: isWhole)
    #expect(account.lists.take(page, for: fetch) == .taken)
    account.mended(account.lists.takeMended())
  }

  private static func page(
    of id: Int64, _ account: inout ZulipAccount, _ change: (inout ChatMessage<ZulipContent>) -> Void
  ) throws {
    var copy = try #require(account.messages[MessageID(id)])
    change(&copy)
    take([copy], &account, PageRequest(copy.id))
  }

  /// Flag events as the server merges them, so that a set and a clear come in the wrong order.
  private static func merged(
    _ flag: String, _ ops: [String], _ ids: String, _ details: String = "{}"
  ) -> [String] {
    ops.map { op in
      """
      {"type":"update_message_flags","op":"\(op)","flag":"\(flag)","messages":[\(ids)],"all":false,
       "message_details":\(details)}
      """
    }
  }

  @Test func `a star that merging left wrong is repaired by a page with the message`() throws {
    var account = try Self.account()
    try Self.hear(Self.merged("starred", ["remove", "add"], "9,8"), &account)
    #expect(account.realm.starred == [8, 9].map { MessageID($0) })
    #expect(account.messages.doubtful == [MessageID(9)])
    try Self.page(of: 9, &account) { $0.flags.remove(.starred) }
    #expect(account.realm.starred == [MessageID(8)])
    // Now the other way round.
    try Self.hear(Self.merged("starred", ["add", "remove"], "9,8"), &account)
    #expect(account.realm.starred == [])
    try Self.page(of: 9, &account) { $0.flags.insert(.starred) }
    #expect(account.realm.starred == [MessageID(9)])
  }

  @Test func `an unheld message in doubt is fetched, also after a restart`() throws {
    var account = try Self.account()
    try Self.hear(Self.merged("read", ["remove", "add"], "5,8", Self.detailsOfFive), &account)
    #expect(account.realm.unread.map(\.id.number) == [9, 10])
    #expect(account.messages.doubtful == [MessageID(5)])
    let finger = QueueFinger(queue: QueueID("q"), lastEventID: 7)
    let saved = SavedReplica(account, finger, .unspoken)
    let rows = saved.rows(since: nil).compactMap { row in
      row.value.map { (key: row.key, value: $0) }
    }
    account = try SavedReplica<ZulipAccount, QueueFinger>(stored: RowReader(rows)).model
    #expect(account.messages.doubtful == [MessageID(5)])
    var copy = try #require(account.messages[MessageID(9)])
    copy.id = MessageID(5)
    copy.flags = []
    Self.take([copy], &account, PageRequest(copy.id))
    #expect(account.realm.unread.map(\.id.number) == [5, 9, 10])
    #expect(account.messages.doubtful == [])
    // One that is not shown may be out of the user's sight, and counts as before.
    try Self.hear(Self.merged("read", ["add", "remove"], "4,8", Self.detailsOfFive), &account)
    Self.take([], &account, PageRequest(MessageID(4)))
    #expect(account.messages.doubtful == [])
    #expect(account.realm.unread.map(\.id.number) == [4, 5, 8, 9, 10])
  }

  private static let detailsOfFive = #"""
    {"5":{"type":"stream","stream_id":3,"topic":"Lunch"},
     "4":{"type":"stream","stream_id":3,"topic":"Lunch"},
     "8":{"type":"stream","stream_id":3,"topic":"Lunch"}}
    """#

  private static let details = #"{"9":{"type":"stream","stream_id":3,"topic":"Lunch"}}"#

  @Test func `a read flag that merging left wrong is repaired, with the unread count`() throws {
    var account = try Self.account()
    #expect(account.realm.unreadCount == 3)
    let before = account.realm
    try Self.hear(Self.merged("read", ["remove", "add"], "9,8", Self.details), &account)
    #expect(account.realm.unreadCount == 1)
    try Self.page(of: 9, &account) { $0.flags.remove(.read) }
    #expect(account.realm.unreadCount == 2)
    // The topic is spelled as in the message.
    #expect(
      account.realm[ZulipKey("unread_msgs", 9)] == ["stream_id": 3, "topic": "Lunch"])
    #expect(before[ZulipKey("unread_msgs", 9)] == ["stream_id": 3, "topic": "Lunch"])
    try Self.hear(Self.merged("read", ["add", "remove"], "9,8", Self.details), &account)
    #expect(account.realm.unreadCount == 2)
    try Self.page(of: 9, &account) { $0.flags.insert(.read) }
    #expect(account.realm.unreadCount == 1)
    #expect(!account.realm.isUnread(MessageID(9)))
  }

  @Test func `a direct message becomes unread in its conversation, with its mention`() throws {
    var account = try Self.account()
    let row: ZulipValue = ["user_ids": [7], "mentioned": true]
    #expect(account.realm[ZulipKey("unread_msgs", 10)] == row)
    let details = #"{"10":{"type":"private","user_ids":[7],"mentioned":true}}"#
    try Self.hear(Self.merged("read", ["remove", "add"], "10,8", details), &account)
    #expect(account.realm[ZulipKey("unread_msgs", 10)] == nil)
    try Self.page(of: 10, &account) { $0.flags.remove(.read) }
    #expect(account.realm[ZulipKey("unread_msgs", 10)] == row)
  }

  @Test(arguments: [true, false])
  func `a wildcard mention counts except in muted channels and topics`(_ isMuted: Bool) throws {
    var account = try Self.account()
    if isMuted {
      try Self.hear(
        [
          """
          {"type":"user_topic","stream_id":3,"topic_name":"lunch","visibility_policy":1,
           "last_updated":1}
          """
        ], &account)
    }
    try Self.hear(Self.merged("read", ["remove", "add"], "9,1", Self.details), &account)
    try Self.page(of: 9, &account) { $0.flags = [.mentioned, .wildcardMentioned] }
    // Only flags in doubt are taken from a page.
    #expect(account.realm.unread.last { $0.id == MessageID(9) }?.isMention == false)
    // A second reading of what no event explains is taken.
    let all = account.list(ZulipNarrow([]))
    var copy = try #require(account.messages[MessageID(9)])
    copy.flags = [.mentioned, .wildcardMentioned]
    let whole = Array(account.messages.messages).map { $0.id == copy.id ? copy : $0 }
    Self.take(
      whole, &account, PageRequest(all, .newest, before: 9, after: 0), isWhole: true)
    try Self.hear([], &account)
    Self.take([copy], &account, PageRequest(copy.id), isAudit: true)
    #expect(account.messages.auditCounts.repairs == 1)
    #expect(account.realm.unread.last { $0.id == MessageID(9) }?.isMention == !isMuted)
  }

  @Test func `a message that is gone without an event loses its row`() throws {
    var account = try Self.account()
    try Self.hear(Self.merged("starred", ["add"], "9"), &account)
    let all = account.list(ZulipNarrow([]))
    let rest = account.messages.messages.filter { $0.id != MessageID(9) }
    Self.take(
      rest, &account, PageRequest(all, .newest, before: 9, after: 0), isWhole: true)
    try Self.hear([], &account)
    #expect(account.messages.suspects == [MessageID(9)])
    #expect(account.realm.starred.count == 2)
    Self.take([], &account, PageRequest(MessageID(9)), isAudit: true)
    #expect(account.messages[MessageID(9)] == nil)
    #expect(account.realm.starred == [MessageID(8)])
    #expect(!account.realm.isUnread(MessageID(9)))
  }

  @Test func `rows that were not requested are not created`() throws {
    var account = try ZulipAccount(
      snapshot: ZulipAccount.Snapshot(ZulipSnapshot(["user_id": 50]), .rendered))
    let all = account.list(ZulipNarrow([.init("is", .text("dm"))]))
    account.lists.open(all)
    let message = ChatMessage(
      id: MessageID(9), sender: UserID(7),
      place: .direct(ConversationID(zulip: [7, 50].map { UserID($0) })),
      content: ZulipContent("", .rendered))
    Self.take([message], &account, PageRequest(all, .newest, before: 1, after: 0))
    try Self.hear(Self.merged("starred", ["add", "remove"], "9,8"), &account)
    try Self.page(of: 9, &account) { $0.flags = .starred }
    #expect(account.messages.doubtful == [])
    #expect(account.realm.starred == [])
    #expect(account.realm.rows.count == 1)
  }
}
