import Foundation
import MessageSync
import SyncProtocols
import Testing

@testable import UpdateMachine
@testable import ZulipSync

/// Tests drafts: how a change finds the draft that it is about, what it shows, and how changes of
/// one draft become one.
@Suite struct ZulipDraftTests {
  private static let general = ZulipConnection.Recipient.channel(ChannelID(3), topic: "Lunch")

  private static func draft(_ content: String, at time: Int64 = 1) -> ZulipDraft {
    ZulipDraft(general, content, at: time)
  }

  /// User 7 has the drafts 57 and 58.
  private static func account(_ more: String = "") throws -> ZulipAccount {
    let state = try ZulipValue(
      json: Data(
        """
        {"user_id":7,"max_message_length":20,"max_topic_length":9,
         "subscriptions":[{"stream_id":3,"name":"a"}],
         "drafts":[{"id":57,"type":"stream","to":[3],"topic":"Lunch","content":"old","timestamp":5},
          {"id":58,"type":"private","to":[50],"topic":"","content":"you","timestamp":9}]\(more)}
        """.utf8))
    return try ZulipAccount(
      snapshot: ZulipAccount.Snapshot(
        ZulipSnapshot(state.fields ?? [:]), .rendered, client: ClientID(5)))
  }

  private static func event(_ json: String) throws -> ZulipEvent {
    try ZulipEvent(#"{"type":"drafts",\#(json)}"#)
  }

  private static func created(_ id: Int, _ content: String, at time: Int = 1) throws -> ZulipEvent {
    try event(
      """
      "op":"add","drafts":[{"id":\(id),"type":"stream","to":[3],"topic":"Lunch",\
      "content":"\(content)","timestamp":\(time)}]
      """)
  }

  /// An account and its outbox, without a driver.
  private struct Desk {
    var account: ZulipAccount
    var local: LocalChanges<ZulipChange>
    var now = Moment(milliseconds: 0)

    init(_ account: ZulipAccount) {
      self.account = account
      var outbox = Outbox<ZulipChange>(client: ClientID(5), delivery: ZulipAccount.delivery)
      outbox.settings.machine.isDurable = false
      local = LocalChanges(outbox, over: account.state)
    }

    @discardableResult
    mutating func make(
      _ old: ZulipDraft?, _ new: ZulipDraft?
    ) throws -> MutationTicket {
      try local.mutate(.draft(old, becomes: new), at: now).ticket
    }

    mutating func take(_ event: ZulipEvent) throws {
      try account.apply(event)
      let ticket = local.outbox.ticket { account.shows($0, after: event) }
      local.confirm(account.state, echo: ticket)
      replay()
    }

    mutating func replay() {
      var effects = Outbox<ZulipChange>.Effects()
      local.replay(at: now, &effects)
    }

    /// Begins to send. Returns the push.
    mutating func start() -> PushRequest<ZulipChange>? {
      local.handle(.app(.started(foreground: true)), at: now).push
    }

    /// What its user sees.
    var shown: [String] { local.view.state.realm.drafts.map(\.content) }
    var pending: [ZulipChange] { local.outbox.pending.map(\.change) }
    var states: [MutationState?] {
      (1...local.outbox.newestTicket.number).map { local.outbox.state(of: MutationTicket($0)) }
    }
  }

  private typealias Change = ZulipChange

  // MARK: What shows

  @Test func `the drafts of a register are read, the last one first`() throws {
    let drafts = try Self.account().realm.drafts
    #expect(drafts.map(\.content) == ["you", "old"] && drafts.map(\.editedAt) == [9, 5])
    #expect(drafts.map(\.recipient) == [.direct([UserID(50)]), Self.general])
    #expect(Set(drafts.map(\.id)).count == 2)
  }

  @Test func `what cannot be read of a draft is not there`() throws {
    var account = try Self.account()
    try account.apply(
      Self.event(
        #""op":"add","drafts":[{"id":1,"type":"stream","to":[],"timestamp":"x"},"#
          + #"{"id":2,"type":"new","to":["a"],"content":7},{"id":3,"type":"private","to":[]}]"#))
    let odd = account.realm.drafts.filter { $0.content.isEmpty }
    #expect(odd.map(\.recipient) == [.direct([UserID(7)]), nil, nil])
    #expect(odd.allSatisfy { $0.editedAt == 0 })
  }

  @Test func `a draft is created, edited and deleted at once, by what it was`() throws {
    var desk = Desk(try Self.account())
    let (first, second) = (Self.draft("new"), Self.draft("newer", at: 20))
    try desk.make(nil, first)
    #expect(desk.shown == ["you", "old", "new"])
    try desk.make(first, second)
    #expect(desk.shown == ["newer", "you", "old"])
    let seen = try #require(desk.local.view.state.realm.drafts.first)
    try desk.make(seen, Self.draft("newest", at: 21))
    #expect(desk.shown == ["newest", "you", "old"])
    // Ten edits offline are one request.
    #expect(desk.pending.count == 1 && desk.pending[0].name == "draft")
    try desk.make(Self.draft("newest", at: 21), nil)
    #expect(desk.shown == ["you", "old"])
    // It never left, and asks for nothing any more.
    #expect(desk.pending == [.draft(nil, becomes: nil)])
    #expect(desk.account.realm.drafts.map(\.content) == ["you", "old"])
  }

  @Test func `a draft of the server's is found by its ID, or by what it says`() throws {
    let account = try Self.account()
    let old = try #require(account.realm.drafts.last)
    for named in [old, Self.draft("old \n", at: 5)] {
      var desk = Desk(account)
      try desk.make(named, Self.draft("new", at: 6))
      #expect(desk.shown == ["you", "new"])
      guard case .draft(let former?, becomes: let draft?) = desk.pending[0] else {
        Issue.record("it is an edit")
        return
      }
      #expect(former == old && draft.id == old.id)
    }
    // The later change counts, whatever another device has made of it.
    var desk = Desk(account)
    try desk.take(
      Self.event(
        #""op":"update","draft":{"id":57,"type":"","to":[],"topic":"","content":"theirs","#
          + #""timestamp":6}"#))
    try desk.make(old, Self.draft("mine", at: 7))
    #expect(desk.shown == ["you", "mine"])
  }

  @Test func `what cannot be done is refused at once`() throws {
    func refusal(
      _ old: ZulipDraft?, _ new: ZulipDraft?, _ more: String = ""
    ) throws -> ZulipOutgoing.Refusal? {
      var desk = Desk(try Self.account(more))
      do throws(MutationError<ZulipOutgoing.Refusal>) {
        _ = try desk.local.mutate(.draft(old, becomes: new), at: desk.now)
        return nil
      } catch {
        guard case .refused(let refusal) = error else { throw error }
        return refusal
      }
    }
    #expect(try refusal(nil, Self.draft(" ")) == .empty)
    #expect(try refusal(nil, Self.draft(String(repeating: "x", count: 21))) == .tooLong(limit: 20))
    let elsewhere = ZulipConnection.Recipient.channel(ChannelID(4), topic: "")
    #expect(try refusal(nil, ZulipDraft(elsewhere, "x", at: 1)) == .noChannel)
    #expect(try refusal(Self.draft("gone"), Self.draft("x")) == .draftGone)
    #expect(try refusal(nil, Self.draft(" old ", at: 5)) == .draftExists)
    let off = #","user_settings":{"enable_drafts_synchronization":false}"#
    #expect(try refusal(nil, Self.draft("x"), off) == .draftsOff)
    #expect(try refusal(Self.draft("gone"), nil) == nil, "nothing is left to delete")
    #expect(try refusal(nil, ZulipDraft(nil, "x", at: 1)) == nil)
  }

  @Test func `who switches drafts off has none, though no event says so`() throws {
    var account = try Self.account(#","user_settings":{"enable_drafts_synchronization":true}"#)
    #expect(!account.realm.drafts.isEmpty)
    try account.apply(
      ZulipEvent(
        #"{"type":"user_settings","op":"update","property":"enable_drafts_synchronization","#
          + #""value":false}"#))
    #expect(account.realm.drafts.isEmpty && account.realm.counts.strays == 0)
  }

  /// The answer to a deletion was lost. While the user takes it back, a snapshot shows that the
  /// draft is gone: it is made again all the same.
  @Test func `an undone deletion makes the draft again, though the deletion was done`() throws {
    var desk = Desk(try Self.account())
    let old = try #require(desk.account.realm.drafts.last)
    try desk.make(old, nil)
    let sent = desk.start()
    let push = try #require(sent)
    _ = desk.local.handle(.failed(push.id, .timedOut, hasLeft: true), at: desk.now)
    var effects = Outbox<ZulipChange>.Effects()
    _ = try desk.local.takeBack(newestOf: .undo, at: desk.now, &effects)
    #expect(desk.shown.contains("old"))
    try desk.account.apply(Self.event(#""op":"remove","draft_id":\#(old.id.number)"#))
    desk.local.confirm(desk.account.state, through: .none, refusal: nil)
    desk.replay()
    #expect(desk.shown.contains("old"), "the creation waits to be sent")
  }

  @Test func `a server that tells of no drafts shows none`() throws {
    let account = try ZulipAccount(
      snapshot: ZulipAccount.Snapshot(ZulipSnapshot(["user_id": 7]), .rendered))
    var desk = Desk(account)
    try desk.make(nil, Self.draft("x"))
    #expect(desk.shown == [] && desk.pending.count == 1)
  }

  @Test func `a conversation is named without its user`() throws {
    var desk = Desk(try Self.account())
    for users: [Int64] in [[7, 9, 8], [7], []] {
      try desk.make(nil, ZulipDraft(.direct(users.map { UserID($0) }), "\(users.count)", at: 99))
    }
    let recipients = desk.local.view.state.realm.drafts.prefix(3).map(\.recipient)
    let note = ZulipConnection.Recipient.direct([UserID(7)])
    #expect(recipients == [note, note, .direct([UserID(8), UserID(9)])])
  }

  // MARK: What the server says

  @Test func `the event of a draft confirms it, and what was made of it since finds it`() throws {
    var desk = Desk(try Self.account())
    try desk.make(nil, Self.draft("one"))
    let sent = desk.start()
    let push = try #require(sent)
    try desk.make(Self.draft("one"), Self.draft("two", at: 2))
    #expect(desk.pending.count == 2)
    #expect(desk.shown == ["you", "old", "two"])
    try desk.take(Self.created(60, "one"))
    #expect(desk.states == [.acknowledged, .queued])
    #expect(desk.shown == ["you", "old", "two"] && desk.account.realm.holdsDraft(60))
    // Further edits become one with it.
    try desk.make(Self.draft("two", at: 2), Self.draft("three", at: 3))
    #expect(desk.pending.count == 1 && desk.shown == ["you", "old", "three"])
    _ = desk.local.handle(.answered(push.id, .created(60)), at: desk.now)
    #expect(desk.states == [.acknowledged, .sent, .sent])
    try desk.take(
      Self.event(
        #""op":"update","draft":{"id":60,"type":"stream","to":[3],"topic":"Lunch","#
          + #""content":"three","timestamp":3}"#))
    #expect(desk.states == Array(repeating: .acknowledged, count: 3))
    #expect(desk.shown == ["you", "old", "three"])
  }

  /// The server may have put another text into it.
  @Test func `an answer with the ID of a draft that is there confirms it`() throws {
    var desk = Desk(try Self.account())
    try desk.make(nil, Self.draft("one"))
    let change = desk.pending[0]
    #expect(!desk.account.holds(change, created: 60))
    try desk.take(Self.created(60, "One, in other words"))
    #expect(desk.states == [.queued] && desk.account.holds(change, created: 60))
  }

  @Test func `only what was wanted confirms a change`() throws {
    let account = try Self.account()
    let old = try #require(account.realm.drafts.last)
    let update =
      #""op":"update","draft":{"id":57,"type":"stream","to":[3],"topic":"Lunch","#
      + #""content":"new","timestamp":6}"#
    let cases: [(ZulipDraft?, ZulipDraft?, String, Bool)] = [
      (old, Self.draft("new", at: 6), update, true),
      (Self.draft("old", at: 5), Self.draft("new", at: 6), update, true),
      (old, Self.draft("new", at: 7), update, false), (old, nil, update, false),
      (account.realm.drafts[0], Self.draft("new", at: 6), update, false),
      (nil, Self.draft("new", at: 6), update, false),
      (old, nil, #""op":"remove","draft_id":57"#, true),
      (old, nil, #""op":"remove","draft_id":58"#, false),
      (Self.draft("one"), nil, #""op":"remove","draft_id":60"#, false),
      (Self.draft("old", at: 5), nil, #""op":"remove","draft_id":60"#, false),
      (old, Self.draft("new", at: 6), #""op":"remove","draft_id":57"#, false),
      (nil, nil, #""op":"remove","draft_id":0"#, false),
      (nil, old, #""op":"add","drafts":[]"#, false),
    ]
    for (former, draft, event, isShown) in cases {
      #expect(
        account.shows(.draft(former, becomes: draft), after: try Self.event(event)) == isShown,
        "\(former?.content ?? "") \(draft?.content ?? "") \(event)")
    }
  }

  /// The answer was lost, and no event came: the queue had expired.
  @Test func `a draft that a snapshot has is not created again`() throws {
    var desk = Desk(try Self.account())
    try desk.make(nil, Self.draft("one"))
    let sent = desk.start()
    let push = try #require(sent)
    _ = desk.local.handle(.failed(push.id, .timedOut, hasLeft: true), at: desk.now)
    #expect(desk.states.first == .uncertain)
    try desk.account.apply(Self.created(60, "one"))
    desk.local.confirm(desk.account.state, through: .none, refusal: nil)
    desk.replay()
    #expect(desk.states.first == .overruled)
    #expect(desk.shown == ["you", "old", "one"])
  }

  @Test func `an uncertain draft holds up its own changes, and no others`() throws {
    var desk = Desk(try Self.account())
    try desk.make(nil, Self.draft("one"))
    let sent = desk.start()
    let push = try #require(sent)
    try desk.make(Self.draft("one"), Self.draft("two", at: 2))
    try desk.make(Self.draft("old", at: 5), nil)
    _ = desk.local.handle(.failed(push.id, .timedOut, hasLeft: true), at: desk.now)
    #expect(desk.local.outbox.uncertain.count == 1)
    #expect(desk.local.outbox.nextAlone == 2)
    // Its event ends the doubt.
    try desk.take(Self.created(60, "one"))
    #expect(desk.states.first == .acknowledged && desk.local.outbox.nextAlone == 0)
  }

  @Test func `an edit of a draft that is deleted elsewhere is set aside, and its text is kept`()
    throws
  {
    var desk = Desk(try Self.account())
    let old = try #require(desk.account.realm.drafts.last)
    let ticket = try desk.make(old, Self.draft("mine", at: 6))
    try desk.take(Self.event(#""op":"remove","draft_id":57"#))
    #expect(desk.states == [.setAside] && desk.shown == ["you"])
    // Its user makes it a draft of its own.
    _ = desk.local.handle(
      .edited(ticket, .draft(nil, becomes: Self.draft("mine", at: 6))), at: desk.now)
    #expect(desk.states == [.queued] && desk.shown == ["you", "mine"])
  }

  // MARK: Undoing

  @Test func `a creation, an edit and a deletion are undone and redone`() throws {
    var desk = Desk(try Self.account())
    func take(back stack: UndoStack) throws {
      var effects = Outbox<ZulipChange>.Effects()
      _ = try desk.local.takeBack(newestOf: stack, at: desk.now, &effects)
    }
    let old = try #require(desk.account.realm.drafts.last)
    try desk.make(old, Self.draft("new", at: 20))
    try desk.make(ZulipDraft(.direct([UserID(50)]), "you", at: 9), nil)
    try desk.make(nil, Self.draft("third", at: 30))
    #expect(desk.shown == ["third", "new"])
    try take(back: .undo)
    #expect(desk.shown == ["new"])
    try take(back: .undo)
    #expect(desk.shown == ["new", "you"])
    try take(back: .undo)
    #expect(desk.shown == ["you", "old"])
    for _ in 1...3 { try take(back: .redo) }
    #expect(desk.shown == ["third", "new"])
    // What another device has changed since is left alone.
    try take(back: .undo)
    try take(back: .undo)
    try desk.account.apply(
      Self.event(
        #""op":"update","draft":{"id":57,"type":"","to":[],"topic":"","content":"theirs","#
          + #""timestamp":40}"#))
    desk.local.confirm(desk.account.state, through: .none, refusal: nil)
    desk.replay()
    #expect(desk.shown == ["new", "you"], "the edit still counts")
  }

  @Test func `what was changed elsewhere is not taken back`() throws {
    let account = try Self.account()
    let change = ZulipChange.draft(nil, becomes: Self.draft("one"))
    var after = account
    try after.apply(Self.created(60, "one"))
    let undo = try #require(change.inverse(from: account, to: after))
    #expect(undo == .draft(Self.draft("one"), becomes: nil))
    #expect(change.inverse(from: after, to: after) == nil)
    let edit = ZulipChange.draft(Self.draft("one"), becomes: Self.draft("two"))
    var edited = account
    try edited.apply(Self.created(60, "two"))
    #expect(
      edit.inverse(from: after, to: edited)
        == .draft(Self.draft("two"), becomes: Self.draft("one")))
    #expect(edit.inverse(from: after, to: account) == nil)
    var desk = Desk(account)
    #expect(throws: MutationError.refused(ZulipOutgoing.Refusal.draftGone)) {
      try desk.make(Self.draft("two"), Self.draft("one"))
    }
  }

  // MARK: Merging and saving

  @Test func `changes of one draft become one, and those of two do not`() {
    func draft(_ id: Int64, _ content: String) -> ZulipDraft {
      var draft = Self.draft(content)
      draft.id = ZulipDraft.ID(number: id)
      return draft
    }
    let (a, b, c) = (draft(57, "a"), draft(57, "b"), draft(57, "c"))
    let other = draft(58, "a")
    let pairs: [(Change, Change, Change?)] = [
      (.draft(nil, becomes: a), .draft(a, becomes: b), .draft(nil, becomes: b)),
      (.draft(nil, becomes: a), .draft(a, becomes: nil), .draft(nil, becomes: nil)),
      (.draft(a, becomes: b), .draft(b, becomes: c), .draft(a, becomes: c)),
      (.draft(a, becomes: b), .draft(b, becomes: nil), .draft(a, becomes: nil)),
      (.draft(a, becomes: nil), .draft(a, becomes: b), nil),
      (.draft(nil, becomes: a), .draft(nil, becomes: a), nil),
      (.draft(nil, becomes: a), .draft(other, becomes: nil), nil),
      (.draft(nil, becomes: nil), .draft(nil, becomes: nil), nil),
    ]
    for (one, later, both) in pairs { #expect(one.coalesced(with: later) == both) }
    #expect(!Change.draft(nil, becomes: a).isIdempotent)
    #expect(Change.draft(nil, becomes: a).isOverruled(by: .draftExists))
    let (edit, deletion) = (Change.draft(a, becomes: b), Change.draft(a, becomes: nil))
    #expect(edit.isIdempotent && !edit.isOverruled(by: .draftGone))
    #expect(deletion.isIdempotent && !deletion.isOverruled(by: .draftGone))
  }

  @Test func `it is the same after saving and loading, and shows no content`() throws {
    var saved = ZulipDraft(.channel(ChannelID(3), topic: "secret"), "secret", at: 5)
    saved.id = ZulipDraft.ID(number: -4)
    let note = ZulipDraft(.direct([UserID(8), UserID(9)]), "secret", at: .max)
    let unaddressed = ZulipDraft(nil, "secret", at: 0)
    for change in [
      Change.draft(nil, becomes: saved), .draft(saved, becomes: note),
      .draft(unaddressed, becomes: nil),
      .draft(nil, becomes: nil),
    ] {
      let bytes = change.storedBytes
      #expect(try ZulipChange(storedBytes: bytes) == change && bytes.first == 10)
      #expect(!"\(change) \(String(reflecting: change)) \(change.name)".contains("secret"))
      #expect(change.size > 0)
      for count in 0..<bytes.count {
        #expect(throws: StoredFormError.self) {
          _ = try ZulipChange(storedBytes: Array(bytes.prefix(count)))
        }
      }
    }
    #expect(!"\(saved) \(String(reflecting: saved))".contains("secret"))
  }

  @Test func `it is pending again after a restart`() throws {
    var desk = Desk(try Self.account())
    try desk.make(nil, Self.draft("one"))
    let finger = QueueFinger(queue: QueueID("q"), lastEventID: 7)
    let saved = SavedReplica(desk.account, finger, .unspoken, desk.local.outbox)
    let again = try SavedReplica<ZulipAccount, QueueFinger>(stored: saved.storedRows)
    var next = Desk(again.model)
    next.local = LocalChanges(try #require(again.outbox), over: again.model.state)
    next.local.restored(over: again.model.state)
    next.replay()
    #expect(next.shown == ["you", "old", "one"])
    try next.make(Self.draft("one"), Self.draft("two", at: 2))
    #expect(next.shown == ["you", "old", "two"] && next.pending.count == 1)
  }
}
