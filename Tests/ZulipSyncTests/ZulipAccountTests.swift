import Foundation
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine
import ZulipSync

/// Tests state and messages of one account in one model.
@Suite struct ZulipAccountTests {
  private static let message = """
    {"id":5,"sender_id":8,"type":"stream","stream_id":4,"subject":"Lunch","content":"hi",\
    "display_recipient":"general","content_type":"text/html","flags":[],"reactions":[]}
    """

  private static func snapshot(_ observer: RecordedObserver) -> ZulipAccount.Snapshot {
    ZulipAccount.Snapshot(observer.start, .rendered)
  }

  /// Opens a list, and takes a page that shows it to be empty.
  private static func learnAll(of list: ZulipMessageList, _ account: inout ZulipAccount) {
    account.lists.open(list)
    let fetch = RequestID(incarnation: Incarnation(1), part: .pages, number: 1)
    account.lists.begin(fetch, PageRequest(list, .newest, before: 1, after: 0))
    let nothing = MessagePage<ZulipContent>(messages: [], foundOldest: true, foundNewest: true)
    #expect(account.lists.take(nothing, for: fetch) == .taken)
  }

  @Test(arguments: RecordedObserver.all.map(\.name))
  func `state and messages get every event once`(_ name: String) throws {
    let observer = RecordedObserver.named(name)
    var account = try ZulipAccount(snapshot: ZulipAccountTests.snapshot(observer))
    var state = try ZulipState(snapshot: observer.start)
    Self.learnAll(of: account.list(ZulipNarrow([])), &account)
    var sent: Set<MessageID> = []
    for answer in observer.answers {
      account.lists.asked()
      for event in answer.events {
        try account.apply(event)
        try state.apply(event)
        if case .sent(let message) = event.kind { sent.insert(message.id) }
      }
      account.lists.answered()
    }
    #expect(account.realm == state)
    #expect(account.messages.count > 0)
    #expect(account.messages.messages.allSatisfy { sent.contains($0.id) })
    // The held messages and the state must agree on what is unread.
    let unread = Set(account.realm.unread.map(\.id)).intersection(sent)
    let held = account.messages.messages.filter {
      !$0.flags.contains(.read) && account.messages.doubt(about: $0.id).isEmpty
    }
    for message in held { #expect(unread.contains(message.id), "\(message.id)") }
  }

  @Test func `an account outlives the process, and its messages stay unloaded`() async throws {
    let observer = RecordedObserver.named("hamlet/modern")
    var account = try ZulipAccount(snapshot: ZulipAccountTests.snapshot(observer))
    Self.learnAll(of: account.list(ZulipNarrow([])), &account)
    let half = observer.events.count / 2
    for event in observer.events.prefix(half) { try account.apply(event) }
    let terms = ServerTerms(longDeadline: .seconds(100), lifetime: .seconds(600))
    let saved = SavedReplica(
      account, QueueFinger(queue: QueueID("q"), lastEventID: 7), terms)
    let store = MemoryStore()
    try await store.checkpoint(
      SavedRows(
        rows: saved.rows(since: nil).map { (key: $0.key, value: $0.value ?? []) },
        writtenAt: WallTime(milliseconds: 0)))
    let form = try #require(try await store.load(leaving: ZulipAccount.unloadedTables))
    let rows = try RowReader(form.rows, unloaded: form.unloaded)
    var read = try SavedReplica<ZulipAccount, QueueFinger>(stored: rows).model
    read.lists.restored()
    #expect(read.realm == account.realm)
    #expect(read.messages.hasUnloaded && read.messages.count == 0)
    // Messages that an event names are loaded.
    for event in observer.events.dropFirst(half) {
      while true {
        let queries = read.unloaded(under: [event])
        if queries.isEmpty { break }
        for (query, found) in zip(queries, try await store.rows(for: queries)) {
          try read.load(RowAnswer(query, found), isSaved: false)
        }
      }
      try account.apply(event)
      try read.apply(event)
    }
    #expect(read.realm == account.realm)
    // Leaving a channel names all messages in it.
    #expect(!read.messages.hasUnloaded)
    #expect(Array(read.messages.messages) == Array(account.messages.messages))
  }

  /// The account of user 7, who follows channel 4.
  private static func ofGeneral(client: ClientID = ClientID(0)) throws -> ZulipAccount {
    let fields = try #require(
      try ZulipValue(
        json: Data(
          #"{"user_id":7,"subscriptions":[{"stream_id":4,"name":"general"}],"max_message_id":0}"#
            .utf8)
      ).fields)
    return try ZulipAccount(
      snapshot: .init(ZulipSnapshot(fields, .full), .rendered, client: client))
  }

  @Test func `a change of a message on disk shows after a restart, once that is loaded`() throws {
    typealias Client = SyncClient<ZulipAccount, EventQueue<ZulipEvent>>
    var account = try Self.ofGeneral(client: ClientID(3))
    Self.learnAll(of: account.list(ZulipNarrow([])), &account)
    try account.apply(
      ZulipEvent(#"{"type":"message","flags":["read"],"message":\#(Self.message)}"#))
    let id = try #require(account.messages.messages.first { _ in true }?.id)
    let local = LocalChanges(
      Outbox<ZulipChange>(client: ClientID(3), delivery: ZulipAccount.delivery), over: account)
    var made = Client(incarnation: Incarnation(1))
    let finger = QueueFinger(queue: QueueID("q"), lastEventID: 0)
    let form = SavedReplica(account, finger, .unspoken, local.outbox)
    _ = made.handle(.app(.started(foreground: false)), at: Moment(milliseconds: 0))
    _ = made.handle(.loaded(form, age: nil), at: Moment(milliseconds: 0))
    _ = try made.mutate(.flag([id], .starred, isSet: true), at: Moment(milliseconds: 1))
    let rows = try SavedReplica(try #require(made.model), finger, .unspoken, made.outbox)
      .storedRows.rows
    let unloaded = ZulipAccount.unloadedTables
    let left = rows.filter { !unloaded.contains($0.key.table) }
    var again = Client(incarnation: Incarnation(2))
    _ = again.handle(.app(.started(foreground: false)), at: Moment(milliseconds: 2))
    let saved = try SavedReplica<ZulipAccount, QueueFinger>(
      stored: RowReader(left, unloaded: unloaded))
    let effects = again.handle(.loaded(saved, age: nil), at: Moment(milliseconds: 3))
    var reading: (RequestID, [RowQuery])?
    effects.each { if case .read(let id, let queries) = $0 { reading = (id, queries) } }
    let (request, queries) = try #require(reading, "the row is asked for")
    let answers = queries.map { query in
      RowAnswer(query, rows.filter { query.range.contains($0.key) })
    }
    let shown = again.handle(.rowsRead(request, answers), at: Moment(milliseconds: 4))
    #expect(shown.changes.contains(.view))
    #expect(again.local?.view.state.lists[id]?.flags.contains(.starred) == true)
    #expect(again.model?.lists[id]?.flags.contains(.starred) == false)
  }

  @Test func `an account is the same after saving and loading`() throws {
    var account = try Self.ofGeneral()
    let narrow = ZulipNarrow([
      .init("dm", .numbers([8, 9])), .init("sender", .number(8), isNegated: true),
      .init("search", .text("é")),
    ])
    let list = account.list(narrow)
    account.lists.open(list)
    Self.learnAll(of: account.list(ZulipNarrow([.init("channel", .number(4))])), &account)
    try account.apply(
      ZulipEvent(#"{"type":"message","flags":["read"],"message":\#(Self.message)}"#))
    let finger = QueueFinger(queue: QueueID("q"), lastEventID: 0)
    let saved = SavedReplica(account, finger, .unspoken)
    let again = try SavedReplica<ZulipAccount, QueueFinger>(
      stored: RowReader(
        saved.rows(since: nil).compactMap { row in row.value.map { (key: row.key, value: $0) } }))
    #expect(again.model.realm == account.realm)
    #expect(again.model.form == .rendered)
    #expect(again.model.messages.narrows == account.messages.narrows)
    #expect(again.model.messages.narrows.first?.narrow == narrow)
    #expect(again.model.messages[MessageID(5)] == account.messages[MessageID(5)])
    #expect(account.messages[MessageID(5)] != nil)
    #expect(again.rows(since: saved).isEmpty)
  }

  @Test func `an event that the state refuses changes no message either`() throws {
    let none: ZulipValue = ["streams": [], "huddles": [], "pms": [], "mentions": []]
    let snapshot = ZulipSnapshot(
      ["subscriptions": [["stream_id": 4, "name": "general"]], "unread_msgs": none], .full)
    var account = try ZulipAccount(snapshot: .init(snapshot, .rendered))
    Self.learnAll(of: account.list(ZulipNarrow([])), &account)
    try account.apply(
      ZulipEvent(#"{"type":"message","flags":["read"],"message":\#(Self.message)}"#))
    #expect(account.messages.count == 1)
    func unread(_ details: String) throws -> ZulipEvent {
      try ZulipEvent(
        #"{"type":"update_message_flags","op":"remove","flag":"read","messages":[5]\#(details)}"#)
    }
    let path = "update_message_flags.message_details"
    #expect(throws: ZulipError.malformed(path: path)) { try account.apply(unread("")) }
    #expect(account.messages[MessageID(5)]?.flags == .read)
    try account.apply(
      unread(
        #","message_details":{"5":{"type":"stream","stream_id":4,"topic":"lunch"}}"#))
    #expect(account.messages[MessageID(5)]?.flags == [])
    #expect(account.realm.unreadCount == 1)
  }
}
