import SyncProtocols
import Testing
import UpdateMachine
import ZulipSync

/// State and messages of one account in one model.
@Suite struct ZulipAccountTests {
  private static func snapshot(_ observer: RecordedObserver) -> ZulipAccount.Snapshot {
    ZulipAccount.Snapshot(observer.start, .rendered)
  }

  /// A page that says that nothing is there yet, up to the end.
  private static func openEverything(_ account: inout ZulipAccount) {
    let everything = ZulipMessageList(ZulipNarrow([]), ZulipNarrow.Directory())
    account.messages.open(everything)
    let fetch = FetchID(life: Life(1), number: 1)
    account.messages.begin(fetch, PageRequest(everything, .newest, before: 1, after: 0))
    let nothing = MessagePage<ZulipContent>(messages: [], foundNewest: true)
    // Without an ID that it is about and without a message it says nothing of older ones.
    _ = account.messages.take(nothing, for: fetch)
    let beginning = FetchID(life: Life(1), number: 2)
    account.messages.begin(beginning, PageRequest(everything, .oldest, before: 0, after: 1))
    _ = account.messages.take(
      MessagePage(messages: [], foundOldest: true, foundNewest: true), for: beginning)
  }

  @Test(arguments: RecordedObserver.all.map(\.name))
  func `both hear every event, each once`(_ name: String) throws {
    let observer = RecordedObserver.named(name)
    var account = try ZulipAccount(snapshot: ZulipAccountTests.snapshot(observer))
    var state = try ZulipState(snapshot: observer.start)
    ZulipAccountTests.openEverything(&account)
    var sent: Set<MessageID> = []
    for answer in observer.answers {
      account.asked()
      for event in answer.events {
        try account.apply(event)
        try state.apply(event)
        if case .sent(let message) = event.kind { sent.insert(message.id) }
      }
      account.answered()
    }
    #expect(account.state == state)
    #expect(account.messages.count > 0)
    #expect(account.messages.messages.allSatisfy { sent.contains($0.id) })
    // What is held and what the state says is unread are two ways to the same.
    let unread = Set(account.state.unread.map(\.id)).intersection(sent)
    let held = account.messages.messages.filter {
      !$0.flags.contains(.read) && account.messages.doubt(about: $0.id).isEmpty
    }
    for message in held { #expect(unread.contains(message.id), "\(message.id)") }
  }

  @Test func `an event that the state refuses changes no message either`() throws {
    var account = try ZulipAccount(
      snapshot: ZulipAccountTests.snapshot(RecordedObserver.named("zoe/modern")))
    ZulipAccountTests.openEverything(&account)
    try account.apply(try ZulipEvent(RecordedLines.message))
    let count = account.messages.count
    #expect(count == 1)
    let wrong = RecordedLines.changed(
      RecordedLines.flags, #""op":"remove","operation":"remove""#, #""op":7"#)
    #expect(throws: ZulipError.self) { try account.apply(try ZulipEvent(wrong)) }
    #expect(account.messages.count == count)
  }

  @Test func `it outlives the process, and messages sleep`() async throws {
    let observer = RecordedObserver.named("hamlet/modern")
    var account = try ZulipAccount(snapshot: ZulipAccountTests.snapshot(observer))
    ZulipAccountTests.openEverything(&account)
    let half = observer.events.count / 2
    for event in observer.events.prefix(half) { try account.apply(event) }
    let terms = Terms(longDeadline: .seconds(100), lifetime: .seconds(600))
    let saved = SavedReplica(
      model: account, finger: QueueFinger(queue: QueueID("q"), lastEventID: 7), terms: terms)
    let store = MemoryStore()
    try await store.checkpoint(
      StoredForm(
        rows: saved.rows(since: nil).map { (key: $0.key, value: $0.value ?? []) },
        writtenAt: WallTime(milliseconds: 0)))
    let form = try #require(try await store.load(leaving: ZulipAccount.sleepingTables))
    let rows = try StoredRows(form.rows, asleep: form.asleep)
    var read = try SavedReplica<ZulipAccount, QueueFinger>(stored: rows).model
    read.restored()
    #expect(read.state == account.state)
    #expect(read.messages.sleeps && read.messages.count == 0)
    // An event wakes what it names.
    for event in observer.events.dropFirst(half) {
      while true {
        let queries = read.asleep(under: [event])
        if queries.isEmpty { break }
        for (query, found) in zip(queries, try await store.rows(for: queries)) {
          try read.wake(RowAnswer(query, found), isSaved: false)
        }
      }
      try account.apply(event)
      try read.apply(event)
    }
    #expect(read.state == account.state)
    // A channel was left, which names all that is in it.
    #expect(!read.messages.sleeps)
    #expect(Array(read.messages.messages) == Array(account.messages.messages))
  }
}
