import SyncProtocols
import Testing
import UpdateMachine
import ZulipSync

/// State and messages of one account in one model.
@Suite struct ZulipFeedTests {
  private static func snapshot(_ observer: RecordedObserver) -> ZulipSnapshot {
    var snapshot = observer.start
    snapshot.registration.rendersContents = true
    return snapshot
  }

  /// A page that says that nothing is there yet, up to the end.
  private static func openEverything(_ feed: inout ZulipFeed) {
    let everything = ZulipFeed.Narrow()
    feed.messages.open(everything)
    let fetch = FetchID(life: Life(1), number: 1)
    feed.messages.begin(fetch, PageRequest(everything, .newest, before: 1, after: 0))
    let nothing = MessagePage<ZulipContent>(messages: [], foundNewest: true)
    // Without an ID that it is about and without a message it says nothing of older ones.
    _ = feed.messages.take(nothing, for: fetch)
    let beginning = FetchID(life: Life(1), number: 2)
    feed.messages.begin(beginning, PageRequest(everything, .oldest, before: 0, after: 1))
    _ = feed.messages.take(
      MessagePage(messages: [], foundOldest: true, foundNewest: true), for: beginning)
  }

  @Test(arguments: RecordedObserver.all.map(\.name))
  func `both hear every event, each once`(_ name: String) throws {
    let observer = RecordedObserver.named(name)
    var feed = try ZulipFeed(snapshot: ZulipFeedTests.snapshot(observer))
    var state = try ZulipState(snapshot: ZulipFeedTests.snapshot(observer))
    ZulipFeedTests.openEverything(&feed)
    var sent: Set<MessageID> = []
    for answer in observer.answers {
      feed.asked()
      for event in answer.events {
        try feed.apply(event)
        try state.apply(event)
        if case .sent(let message) = event.kind { sent.insert(message.id) }
      }
      feed.answered()
    }
    #expect(feed.state == state)
    #expect(feed.messages.count > 0)
    #expect(feed.messages.messages.allSatisfy { sent.contains($0.id) })
    // What is held and what the state says is unread are two ways to the same.
    let unread = Set(feed.state.unread.map(\.id)).intersection(sent)
    let held = feed.messages.messages.filter {
      !$0.flags.contains(.read) && feed.messages.doubt(about: $0.id).isEmpty
    }
    for message in held { #expect(unread.contains(message.id), "\(message.id)") }
  }

  @Test func `an event that the state refuses changes no message either`() throws {
    var feed = try ZulipFeed(
      snapshot: ZulipFeedTests.snapshot(RecordedObserver.named("zoe/modern")))
    ZulipFeedTests.openEverything(&feed)
    try feed.apply(try ZulipEvent(RecordedLines.message))
    let count = feed.messages.count
    #expect(count == 1)
    let wrong = RecordedLines.changed(
      RecordedLines.flags, #""op":"remove","operation":"remove""#, #""op":7"#)
    #expect(throws: ZulipError.self) { try feed.apply(try ZulipEvent(wrong)) }
    #expect(feed.messages.count == count)
  }

  @Test func `it outlives the process, and messages sleep`() async throws {
    let observer = RecordedObserver.named("hamlet/modern")
    var feed = try ZulipFeed(snapshot: ZulipFeedTests.snapshot(observer))
    ZulipFeedTests.openEverything(&feed)
    let half = observer.events.count / 2
    for event in observer.events.prefix(half) { try feed.apply(event) }
    let terms = Terms(longDeadline: .seconds(100), lifetime: .seconds(600))
    let saved = SavedReplica(
      model: feed, finger: QueueFinger(queue: QueueID("q"), lastEventID: 7), terms: terms)
    let store = MemoryStore()
    try await store.checkpoint(
      StoredForm(
        rows: saved.rows(since: nil).map { (key: $0.key, value: $0.value ?? []) },
        writtenAt: WallTime(milliseconds: 0)))
    let form = try #require(try await store.load(leaving: ZulipFeed.sleepingTables))
    let rows = try StoredRows(form.rows, asleep: form.asleep)
    var read = try SavedReplica<ZulipFeed, QueueFinger>(stored: rows).model
    read.restored()
    #expect(read.state == feed.state)
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
      try feed.apply(event)
      try read.apply(event)
    }
    #expect(read.state == feed.state)
    // A channel was left, which names all that is in it.
    #expect(!read.messages.sleeps)
    #expect(Array(read.messages.messages) == Array(feed.messages.messages))
  }
}
