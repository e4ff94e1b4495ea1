import Foundation
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests R14 of PartialKnowledge: which lists have a message that was not sent to the user.
@Suite struct FeedTests {
  /// User 7's account, with channels 3 and 4 followed. Channel 5 is not.
  struct Desk {
    var account: ZulipAccount
    private var fetches: UInt64 = 0

    static let everything = ZulipNarrow([])
    static let three = ZulipNarrow([.init("channel", .number(3))])
    static let four = ZulipNarrow([.init("channel", .number(4))])
    static let five = ZulipNarrow([.init("channel", .number(5))])
    static let starred = ZulipNarrow([.init("is", .text("starred"))])
    static let byEight = ZulipNarrow([.init("sender", .number(8))])

    init() throws {
      let state = try ZulipValue(
        json: Data(
          """
          {"user_id":7,"subscriptions":[{"stream_id":3},{"stream_id":4}],"starred_messages":[],
           "unread_msgs":{"streams":[],"huddles":[],"pms":[],"mentions":[]}}
          """.utf8))
      account = try ZulipAccount(
        snapshot: ZulipAccount.Snapshot(ZulipSnapshot(state.fields ?? [:]), .rendered))
    }

    static func message(
      _ id: Int64, in channel: Int64 = 3, flags: [String] = ["read"]
    ) -> ZulipMessage {
      let names = flags.map { "\"\($0)\"" }.joined(separator: ",")
      let text = """
        {"id":\(id),"sender_id":8,"type":"stream","stream_id":\(channel),"subject":"t",
         "display_recipient":"x","content":"","content_type":"text/html","reactions":[],
         "flags":[\(names)]}
        """
      do throws(ZulipError) {
        return try ZulipError.decode(ZulipMessage.self, from: Data(text.utf8))
      } catch {
        preconditionFailure("\(error)")
      }
    }

    static func historical(_ id: Int64, in channel: Int64 = 3) -> ZulipMessage {
      message(id, in: channel, flags: ["read", "historical"])
    }

    mutating func hear(_ events: String...) throws {
      account.lists.asked()
      for event in events { try account.apply(try ZulipEvent(event)) }
      account.lists.answered()
    }

    mutating func ask(_ narrow: ZulipNarrow) -> RequestID {
      let list = account.list(narrow)
      account.lists.open(list)
      return begin(PageRequest(list, .newest, before: 20, after: 0))
    }

    private mutating func begin(
      _ request: PageRequest<ZulipMessageList, MessageID>, isAudit: Bool = false
    ) -> RequestID {
      fetches += 1
      let id = RequestID(incarnation: Incarnation(1), part: .pages, number: fetches)
      account.lists.begin(id, request, isAudit: isAudit)
      return id
    }

    mutating func answer(_ fetch: RequestID, _ narrow: ZulipNarrow, _ messages: [ZulipMessage]) {
      let asked = ZulipPageRequest(narrow, .newest, before: 20, after: 0)
      let page = ZulipPage(
        messages: messages, anchor: 0, foundAnchor: false, foundOldest: true, foundNewest: true,
        isHistoryLimited: false)
      guard let page = page.page(for: asked) else { preconditionFailure("a page with a hole") }
      #expect(account.lists.take(page, for: fetch) != .malformed)
    }

    mutating func look(_ narrow: ZulipNarrow, _ messages: [ZulipMessage]) {
      answer(ask(narrow), narrow, messages)
    }

    /// Asks for one message, and gets what the source makes of both answers.
    mutating func look(at id: Int64, isAudit: Bool = false, _ found: ChatMessage<ZulipContent>?) {
      let fetch = begin(PageRequest(MessageID(id)), isAudit: isAudit)
      #expect(
        account.lists.take(MessagePage(messages: found.map { [$0] } ?? []), for: fetch) == .taken)
    }

    /// Starts again with what was saved. With `unloading`, the messages stay on the disk.
    mutating func restart(unloading: Bool = false) throws {
      let saved = SavedReplica(account, QueueFinger(queue: QueueID("q"), lastEventID: 7), .unspoken)
      let tables = unloading ? ZulipAccount.unloadedTables : []
      let rows = try saved.storedRows.rows.filter { !tables.contains($0.key.table) }
      account = try SavedReplica<ZulipAccount, QueueFinger>(
        stored: RowReader(rows, unloaded: tables)
      ).model
      account.lists.handle(.restored)
    }

    /// A poll explains nothing, so the message is read again. Now it is in channel 3.
    mutating func readTwice(_ id: Int64) throws {
      try hear()
      #expect(account.lists.suspects == [MessageID(id)])
      var now = Desk.message(id).message
      now.version = 9
      look(at: id, isAudit: true, now)
    }

    /// "1 2 of [begin…end]".
    func list(_ narrow: ZulipNarrow) -> String {
      guard let list = account.lists.list(of: account.list(narrow)) else { return "closed" }
      return list.ids.map { "\($0.key) " }.joined() + "of \(list.knowledge)"
    }

    func wants(_ narrow: ZulipNarrow) -> [PageWant<MessageID>] {
      let list = account.lists.list(of: account.list(narrow))
      return list?.excerpt(of: .newest(20)).wants ?? []
    }

    /// Nothing of what a server that keeps its contract says may look like a mistake.
    var isQuiet: Bool {
      account.lists.suspects.isEmpty && account.lists.openAudits == 0
        && account.lists.doubtful.isEmpty
    }
  }

  static let star = """
    {"type":"update_message_flags","op":"add","flag":"starred","messages":[2],"all":false}
    """

  static func reaction(of user: Int64, _ op: String = "add") -> String {
    """
    {"type":"reaction","op":"\(op)","message_id":2,"user_id":\(user),"emoji_code":"1f389",
     "emoji_name":"tada","reaction_type":"unicode_emoji"}
    """
  }

  // MARK: Which lists show it

  /// The user has left channel 3 and come back. Meanwhile message 2 was sent.
  @Test func `a historical message is in its channel's list, and in no other`() throws {
    var desk = try Desk()
    desk.look(Desk.three, [Desk.message(1), Desk.historical(2), Desk.message(3)])
    #expect(desk.list(Desk.three) == "1 2 3 of [begin…end]")
    for narrow in [Desk.everything, Desk.byEight] {
      desk.look(narrow, [Desk.message(1), Desk.message(3)])
      try desk.hear()
      try desk.hear()
      #expect(desk.list(narrow) == "1 3 of [begin…end]")
      #expect(desk.wants(narrow).isEmpty)
    }
    desk.look(Desk.starred, [])
    #expect(desk.list(Desk.starred) == "of [begin…end]")
    #expect(desk.isQuiet)
  }

  @Test func `where the other list is known, a historical message is known to be outside`() throws {
    var desk = try Desk()
    desk.look(Desk.everything, [Desk.message(1), Desk.message(3)])
    desk.look(Desk.three, [Desk.message(1), Desk.historical(2), Desk.message(3)])
    #expect(desk.list(Desk.everything) == "1 3 of [begin…end]")
    #expect(desk.list(Desk.three) == "1 2 3 of [begin…end]")
    #expect(desk.account.lists.doubt(about: MessageID(2)).isEmpty)
  }

  /// The flag alone decides nothing: the user may have starred the message since.
  @Test func `a historical message that another list shows is in all of them`() throws {
    var desk = try Desk()
    desk.look(Desk.three, [Desk.historical(1), Desk.historical(2)])
    desk.look(Desk.everything, [Desk.historical(2)])
    #expect(desk.list(Desk.everything) == "2 of [begin…end]")
    desk.look(Desk.three, [Desk.historical(1), Desk.historical(2)])
    #expect(desk.list(Desk.everything) == "2 of [begin…end]")
    #expect(desk.isQuiet)
  }

  @Test func `before another list was asked, it does not say that it lacks the message`() throws {
    var desk = try Desk()
    let fetch = desk.ask(Desk.everything)
    // Names message 2, so the page may be older than what the event has done.
    try desk.hear(Self.star)
    desk.answer(fetch, Desk.everything, [Desk.message(1)])
    #expect(desk.list(Desk.everything) == "1 of [begin…1] [3…end]")
    desk.look(Desk.three, [Desk.message(1), Desk.historical(2)])
    #expect(desk.list(Desk.everything) == "1 of [begin…1] [3…end]")
    #expect(desk.wants(Desk.everything) == [.item(MessageID(2))])
    // A list that has only what was sent to the user lacks it. Channel and ID have it.
    desk.look(at: 2, Desk.historical(2).messageOfChannel)
    #expect(desk.list(Desk.everything) == "1 of [begin…end]")
    #expect(desk.isQuiet)
  }

  // MARK: How it comes in

  @Test(arguments: [
    (FeedTests.star, true), (FeedTests.reaction(of: 7), true), (FeedTests.reaction(of: 8), false),
    (FeedTests.reaction(of: 7, "remove"), false),
  ])
  func `the user's own star or reaction brings it into all lists`(
    event: String, comes: Bool
  ) throws {
    var desk = try Desk()
    desk.look(Desk.everything, [Desk.message(1)])
    desk.look(Desk.byEight, [Desk.message(1)])
    desk.look(Desk.three, [Desk.message(1), Desk.historical(2)])
    try desk.hear(event)
    let all = comes ? "1 2 of [begin…end]" : "1 of [begin…end]"
    #expect(desk.list(Desk.everything) == all)
    #expect(desk.list(Desk.byEight) == all)
    #expect(desk.isQuiet)
  }

  @Test(arguments: [FeedTests.star, FeedTests.reaction(of: 7)])
  func `the same of a message that is not held makes a hole`(event: String) throws {
    var desk = try Desk()
    desk.look(Desk.everything, [Desk.message(1)])
    try desk.hear(event)
    #expect(desk.list(Desk.everything) == "1 of [begin…1] [3…end]")
    try desk.hear(Self.reaction(of: 8))
    desk.look(at: 2, Desk.historical(2).message)
    #expect(desk.list(Desk.everything) == "1 2 of [begin…end]")
  }

  @Test func `a page that is older than the star does not take the message out`() throws {
    var desk = try Desk()
    desk.look(Desk.three, [Desk.historical(2)])
    let fetch = desk.ask(Desk.everything)
    try desk.hear(Self.star)
    desk.answer(fetch, Desk.everything, [])
    #expect(desk.list(Desk.everything) == "2 of [begin…end]")
    let old = desk.ask(Desk.three)
    try desk.hear(Self.reaction(of: 7))
    desk.answer(old, Desk.three, [Desk.historical(2)])
    #expect(desk.list(Desk.everything) == "2 of [begin…end]")
    #expect(desk.isQuiet)
  }

  /// Some channels give their followers whatever is moved there.
  @Test func `a move may bring it in, so it is asked for`() throws {
    var desk = try Desk()
    desk.look(Desk.everything, [Desk.message(1)])
    desk.look(Desk.three, [Desk.message(1), Desk.historical(2)])
    let move = """
      {"type":"update_message","message_id":2,"message_ids":[2],"rendering_only":false,
       "edit_timestamp":9,"stream_id":3,"orig_subject":"t","new_stream_id":4,"propagate_mode":
       "change_one","user_id":8,"flags":["read"]}
      """
    try desk.hear(move)
    #expect(desk.list(Desk.everything) == "1 of [begin…1] [3…end]")
    desk.look(at: 2, Desk.message(2, in: 4).message)
    #expect(desk.list(Desk.everything) == "1 2 of [begin…end]")
    // Not held, and in no list before.
    try desk.hear(move.replacing("2]", with: "5]").replacing(":2,", with: ":5,"))
    #expect(desk.list(Desk.everything) == "1 2 of [begin…4] [6…end]")
  }

  // MARK: Kept, and audited

  @Test func `what is open stays open through a restart`() throws {
    var desk = try Desk()
    desk.look(Desk.three, [Desk.historical(2)])
    #expect(desk.account.lists.doubt(about: MessageID(2)) == .outsideFeed)
    try desk.restart()
    desk.look(Desk.everything, [])
    #expect(desk.list(Desk.everything) == "of [begin…end]")
    try desk.hear(Self.reaction(of: 7))
    #expect(desk.list(Desk.everything) == "2 of [begin…end]")
  }

  /// The page spans a message in doubt that is still on the disk.
  @Test func `a doubt about an unloaded message is settled by no page before it is loaded`() throws
  {
    var desk = try Desk()
    desk.look(Desk.three, [Desk.message(1), Desk.historical(2), Desk.message(3)])
    try desk.hear()
    try desk.restart(unloading: true)
    #expect(desk.account.lists.hasUnloaded)
    let list = desk.account.list(Desk.everything)
    let fetch = desk.ask(Desk.everything)
    let page = MessagePage(
      messages: [Desk.message(1).message, Desk.message(3).message], foundOldest: true,
      foundNewest: true)
    // Messages 1 to 3.
    #expect(desk.account.lists.unloaded(under: page, for: fetch).count >= 3)
    #expect(desk.account.lists.take(page, for: fetch) == .taken)
    #expect(desk.account.lists.list(of: list)?.ids.map(\.key.number) == [1, 3])
    #expect(desk.account.lists.doubt(about: MessageID(2)).isEmpty)
    // Rows that cannot be read take their doubts with them.
    var other = try Desk()
    other.look(Desk.three, [Desk.historical(2)])
    try other.hear()
    try other.restart(unloading: true)
    other.account.lists.forgetUnloaded()
    #expect(other.account.lists.doubt(about: MessageID(2)).isEmpty)
    try other.restart()
    other.look(Desk.four, [])
    #expect(other.list(Desk.four) == "of [begin…end]")
  }

  /// A page that was read ahead of the finger lacks the message for another reason.
  @Test func `what a page ahead of a move or an edit lacks is not outside for good`() throws {
    let elsewhere = ZulipNarrow([.init("topic", .text("t"), isNegated: true)])
    var soup = Desk.historical(2)
    soup.place = .zulip(ChannelID(3), topic: "soup")
    var other = try Desk()
    other.look(Desk.three, [soup])
    // On the server it is in topic "t" now, and the event is still to come.
    other.look(elsewhere, [])
    #expect(other.account.lists.doubt(about: MessageID(2)).isEmpty)
    try other.hear(
      """
      {"type":"update_message","message_id":2,"message_ids":[2],"rendering_only":false,
       "edit_timestamp":9,"stream_id":3,"orig_subject":"soup","subject":"t","propagate_mode":
       "change_one","user_id":8,"flags":["read","historical"]}
      """)
    #expect(other.account.lists.doubt(about: MessageID(2)) == .outsideFeed)
    other.look(Desk.everything, [Desk.historical(2)])
    #expect(other.list(Desk.everything) == "2 of [begin…end]")
  }

  @Test func `a historical message with a flag of the user's is in the feed`() throws {
    var desk = try Desk()
    desk.look(Desk.everything, [])
    desk.look(Desk.three, [Desk.message(2, flags: ["read", "historical", "starred"])])
    #expect(desk.list(Desk.three) == "2 of [begin…end]")
    #expect(desk.account.lists[MessageID(2)]?.flags.contains(.outsideFeed) == false)
  }

  /// An older version listed historical messages everywhere.
  @Test func `an older version's messages are kept, and its lists are asked for anew`() throws {
    var desk = try Desk()
    desk.look(Desk.three, [Desk.message(1), Desk.historical(2)])
    desk.look(Desk.everything, [Desk.message(1), Desk.historical(2)])
    #expect(desk.list(Desk.everything) == "1 2 of [begin…end]")
    let saved = SavedReplica(
      desk.account, QueueFinger(queue: QueueID("q"), lastEventID: 7), .unspoken)
    var rows = try saved.storedRows.rows
    #expect(rows[0].value[1] == UInt8(ZulipAccount.storedVersion), "the model's version")
    rows[0].value[1] = 2
    desk.account = try SavedReplica<ZulipAccount, QueueFinger>(stored: RowReader(rows)).model
    #expect(desk.account.lists.narrows.isEmpty)
    #expect(desk.account.lists.doubt(about: MessageID(2)) == .outsideFeed)
    desk.account.lists.open(desk.account.list(Desk.everything))
    #expect(desk.list(Desk.everything) == "1 of nothing")
    desk.look(Desk.everything, [Desk.message(1)])
    #expect(desk.list(Desk.everything) == "1 of [begin…end]")
    desk.look(Desk.three, [Desk.message(1), Desk.historical(2)])
    #expect(desk.list(Desk.three) == "1 2 of [begin…end]")
    #expect(desk.isQuiet)
  }

  /// Version 3 did not show what is in channels that the user has left.
  @Test func `lists of version 3 are asked for anew, and nothing else is lost`() throws {
    var desk = try Desk()
    desk.look(Desk.three, [Desk.message(1), Desk.historical(2)])
    desk.look(Desk.everything, [Desk.message(1)])
    let before = desk.account
    let saved = SavedReplica(
      before, QueueFinger(queue: QueueID("q"), lastEventID: 7), .unspoken)
    var rows = try saved.storedRows.rows
    rows[0].value[1] = 3
    desk.account = try SavedReplica<ZulipAccount, QueueFinger>(stored: RowReader(rows)).model
    #expect(desk.account.lists.narrows.isEmpty)
    #expect(Array(desk.account.lists.messages) == Array(before.lists.messages))
    let doubt = before.lists.doubt(about: MessageID(2))
    #expect(desk.account.lists.doubt(about: MessageID(2)) == doubt)
    #expect(desk.account.realm == before.realm)
    desk.look(Desk.everything, [Desk.message(1)])
    #expect(desk.list(Desk.everything) == "1 of [begin…end]")
  }

  @Test func `a message that came in without a word is mended by the audit`() throws {
    var desk = try Desk()
    desk.look(Desk.everything, [])
    desk.look(Desk.three, [Desk.historical(2)])
    desk.look(Desk.byEight, [Desk.historical(2)])
    try desk.hear()
    #expect(desk.account.lists.suspects == [MessageID(2)])
    desk.look(at: 2, isAudit: true, Desk.historical(2).message)
    #expect(desk.list(Desk.everything) == "2 of [begin…end]")
    #expect(desk.account.lists.auditCounts.repairs == 1)
  }

  // MARK: Pages that contradict themselves

  /// A copy from an old cache: the list is right, and the copy is not.
  @Test func `a page that lists a message of elsewhere is not believed about it`() throws {
    var desk = try Desk()
    desk.look(Desk.three, [Desk.message(1), Desk.message(2, in: 4)])
    #expect(desk.list(Desk.three) == "1 of [begin…1] [3…end]")
    #expect(desk.account.lists[MessageID(2)] == nil)
    desk.look(at: 2, Desk.message(2).message)
    #expect(desk.list(Desk.three) == "1 2 of [begin…end]")
  }

  @Test func `if the message is held, it is read a second time`() throws {
    var desk = try Desk()
    desk.look(Desk.four, [Desk.message(2, in: 4)])
    desk.look(Desk.three, [Desk.message(1), Desk.message(2, in: 4)])
    #expect(desk.list(Desk.three) == "1 of [begin…1] [3…end]")
    #expect(desk.list(Desk.four) == "2 of [begin…end]")
    try desk.readTwice(2)
    #expect(desk.list(Desk.three) == "1 2 of [begin…end]")
    #expect(desk.list(Desk.four) == "of [begin…end]")
  }

  /// The cache is as old when the message is asked for alone.
  @Test func `what the old cache says twice is read once more`() throws {
    var desk = try Desk()
    desk.look(Desk.three, [Desk.message(1), Desk.message(2, in: 4)])
    desk.look(at: 2, Desk.message(2, in: 4).message)
    #expect(desk.list(Desk.three) == "1 of [begin…end]")
    try desk.readTwice(2)
    #expect(desk.list(Desk.three) == "1 2 of [begin…end]")
  }

  @Test func `an event about something else does not make an old copy right`() throws {
    var desk = try Desk()
    let fetch = desk.ask(Desk.three)
    try desk.hear(Self.reaction(of: 8))
    desk.answer(fetch, Desk.three, [Desk.message(1), Desk.message(2, in: 4)])
    #expect(desk.list(Desk.three) == "1 of [begin…1] [3…end]")
    #expect(desk.account.lists[MessageID(2)] == nil)
  }

  @Test func `a held message that belongs there stays, whatever its old copy says`() throws {
    var desk = try Desk()
    desk.look(Desk.three, [Desk.message(1), Desk.message(2)])
    desk.look(Desk.three, [Desk.message(1), Desk.message(2, in: 4)])
    #expect(desk.list(Desk.three) == "1 2 of [begin…end]")
  }

  // MARK: A place that is not followed

  @Test func `a channel's snapshot keeps a message that an event moves into it`() throws {
    var desk = try Desk()
    desk.look(Desk.three, [Desk.message(1), Desk.message(2)])
    desk.look(Desk.five, [Desk.message(2, in: 5)])
    try desk.hear(
      """
      {"type":"update_message","message_id":2,"message_ids":[2],"rendering_only":false,
       "edit_timestamp":9,"stream_id":3,"orig_subject":"t","new_stream_id":5,"propagate_mode":
       "change_one","user_id":8,"flags":["read"]}
      """)
    #expect(desk.list(Desk.three) == "1 of [begin…end]")
    let five = desk.account.list(Desk.five)
    #expect(desk.account.lists.message(MessageID(2), in: five)?.place.channel == ChannelID(5))
    try desk.hear(#"{"type":"delete_message","message_ids":[2]}"#)
    #expect(desk.account.lists.message(MessageID(2), in: five) == nil)
  }
}
