import TestSupport
import Testing

@testable import MessageSync
@testable import UpdateMachine

/// Tests unloaded messages on the actor: what is read, when, and what happens if it cannot be read.
@Suite struct DriverUnloadedTests {
  /// Runs a process that fetches and saves 60 messages. Returns the bench of the next process,
  /// which has not begun.
  private static func restarted(
    acknowledges: Acknowledgement = .afterSaving
  ) -> (PageBench, HandStore) {
    let store = HandStore()
    let (bench, run) = PageBench.following(store: store)
    let viewer = bench.look(PageBench.a, .newest(60))
    viewer.follow()
    bench.page()
    bench.batch([.new(PageBench.message(2000, in: 1))])
    // From here on the page is no longer ahead of the log.
    bench.batch([.new(PageBench.message(2001, in: 2))])
    #expect(viewer.seen.value.last?.items.count == 60)
    bench.tell { $0.stop() }
    #expect(run.isOver.value)
    store.state.change { $0.messagesRead = 0 }
    let next = PageBench(store: store, acknowledges: acknowledges, position: bench.position)
    next.messages = bench.messages
    return (next, store)
  }

  private static func started(
    acknowledges: Acknowledgement = .afterSaving
  ) -> (PageBench, HandStore, Started) {
    let (bench, store) = restarted(acknowledges: acknowledges)
    let run = bench.start { await $0.run() }
    bench.drain()
    return (bench, store, run)
  }

  @Test func `a start reads no messages, and a window reads those that it shows`() {
    let (bench, store, _) = DriverUnloadedTests.started()
    #expect(store.state.value.messagesRead == 0)
    #expect(bench.read { $0.state.model?.lists.count } == 0)
    let viewer = bench.look(PageBench.a, .newest(3))
    viewer.follow()
    #expect(viewer.rows == ["990 1000 2000"], "no gap is shown before the rows are read")
    #expect(viewer.seen.value.last?.isComplete == true)
    #expect(store.state.value.messagesRead == 3)
    let older = ListWindow(.id(MessageID(980)), before: 2, after: 2)
    bench.tell { $0.moveWindow(viewer.id, to: older) }
    #expect(viewer.rows.last == "960 970 980 990")
    #expect(store.state.value.messagesRead == 6)
    #expect(bench.source.pagesAsked.isEmpty)
    #expect(bench.reports.value == [])
  }

  @Test func `a window that reaches beyond what is saved fetches the rest`() {
    let (bench, _, _) = DriverUnloadedTests.started()
    let viewer = bench.look(PageBench.a, ListWindow(.id(MessageID(430)), before: 2, after: 1))
    viewer.follow()
    // The list is known from 410 on: 410 was the 60th newest message before 2000 came.
    #expect(viewer.rows == ["410 420 430"])
    let older = ListWindow(.id(MessageID(420)), before: 2, after: 1)
    bench.tell { $0.moveWindow(viewer.id, to: older) }
    #expect(viewer.rows.last == "gap 410 420")
    bench.page()
    #expect(viewer.rows.last == "400 410 420")
  }

  @Test func `an event about an unloaded message is applied to it and saved`() {
    let (bench, store, run) = DriverUnloadedTests.started()
    bench.batch([
      .flagged([MessageID(700), MessageID(710)], .read, isSet: true), .deleted([MessageID(720)]),
    ])
    #expect(store.state.value.messagesRead == 3)
    bench.tell { $0.stop() }
    #expect(run.isOver.value)

    let again = PageBench(store: store, position: bench.position)
    again.messages = bench.messages.filter { $0.id.number != 720 }
    _ = again.start { await $0.run() }
    again.drain()
    let viewer = again.look(PageBench.a, ListWindow(.id(MessageID(710)), before: 1, after: 2))
    viewer.follow()
    #expect(viewer.rows == ["700 710 730"])
    #expect(viewer.seen.value[0].items.map { $0.flags.contains(.read) } == [true, true, false])
    #expect(again.source.pagesAsked.isEmpty)
  }

  @Test func `a page about unloaded messages is taken as if they were loaded`() {
    let (bench, store, _) = DriverUnloadedTests.started()
    // A list of its own. One of its messages is held, and unloaded.
    let topic = ShelfNarrow([.sender(UserID(1))])
    let viewer = bench.look(topic, .newest(2))
    viewer.follow()
    bench.page()
    #expect(viewer.rows.last == "2000 2001")
    #expect(store.state.value.messagesRead == 2)
    #expect(bench.read { $0.state.model?.lists.auditCounts.suspects } == 0)
  }

  @Test func `unreadable rows are given up and fetched`() {
    let (bench, store, run) = DriverUnloadedTests.started()
    store.state.change { $0.failure = .failed("a bad block") }
    let viewer = bench.look(PageBench.a, .newest(3))
    viewer.follow()
    #expect(bench.reports.value == [.store(.failed("a bad block"))])
    // What came since the restart would be known, but nothing before.
    #expect(bench.asked == ["about 2002, 20 before, 0 after"])
    store.state.change { $0.failure = nil }
    bench.page()
    #expect(viewer.rows.last == "990 1000 2000")
    bench.batch([
      .reacted(MessageID(990), MessageReaction(user: UserID(2), emoji: "a"), isSet: true)
    ])
    bench.tell { $0.stop() }
    #expect(run.isOver.value)
    // What was given up is also gone from the store.
    #expect(store.state.value.rows.keysOfMessages == (82...100).map { $0 * 10 } + [2000])
  }

  @Test func `a form with a damaged row is set aside whole, and never overwritten`() {
    let (bench, store, run) = DriverUnloadedTests.started()
    store.state.change { $0.failure = .unreadable("a sum is wrong") }
    let viewer = bench.look(PageBench.a, .newest(3))
    viewer.follow()
    store.state.change { $0.failure = nil }
    bench.page()
    bench.batch([.deleted([MessageID(1000)])])
    bench.tell { $0.stop() }
    #expect(run.isOver.value)
    #expect(store.state.value.aside.count == 1)
    #expect(store.state.value.aside.first?.keysOfMessages.count == 62)
    #expect(store.state.value.rows.keysOfMessages == (82...99).map { $0 * 10 } + [2000])
  }

  @Test func `a read that is cut short gives up nothing`() {
    let (bench, store, run) = DriverUnloadedTests.started()
    store.state.change { $0.holds = true }
    bench.batch([.flagged([MessageID(700)], .read, isSet: true)])
    bench.tell { $0.stop() }
    #expect(!run.isOver.value)
    store.release(failing: .failed("cancelled"))
    bench.drain()
    #expect(run.isOver.value)
    // The batch was not taken, so the messages stay unloaded.
    #expect(store.state.value.rows.keysOfMessages.count == 62)
  }

  @Test func `a save from before a read does not lose the rows that were read`() {
    let (bench, store, run) = DriverUnloadedTests.started(acknowledges: .beforeSaving)
    let viewer = bench.look(PageBench.a, .newest(3))
    viewer.follow()
    store.state.change { $0.holds = true }
    bench.batch([.new(PageBench.message(2010, in: 1))])
    // The save is out. The read waits behind it, and behind the read waits another save of the
    // newest state.
    bench.tell { $0.moveWindow(viewer.id, to: .newest(7)) }
    bench.batch([.new(PageBench.message(2020, in: 1))])
    store.release()
    bench.drain()
    #expect(viewer.rows.last == "970 980 990 1000 2000 2010 2020")
    bench.batch([.deleted([MessageID(970), MessageID(440)])])
    bench.tell { $0.stop() }
    #expect(run.isOver.value)
    #expect(store.state.value.rows.keysOfMessages.count == 62)
    #expect(store.state.value.rowsCleared == 1, "where 440 stood in an unloaded list; no more")
  }

  @Test func `a snapshot clears unloaded rows`() {
    let (bench, store, run) = DriverUnloadedTests.started()
    bench.failPoll(.expired)
    bench.advance(.seconds(60))
    bench.register()
    #expect(bench.read { $0.state.model?.lists.hasUnloaded } == false)
    bench.tell { $0.stop() }
    #expect(run.isOver.value)
    #expect(store.state.value.rows.keysOfMessages == [])
  }
}

/// A store in memory that a test can inspect, delay and make fail.
final class HandStore: SyncStore {
  struct State: Sendable {
    var rows = VersionedMap<StoredKey, [UInt8]>()
    var aside: [VersionedMap<StoredKey, [UInt8]>] = []
    var writtenAt: WallTime?
    var messagesRead = 0
    var rowsCleared = 0
    /// The error with which reads fail, if any.
    var failure: StoreError?
    /// Whether reads and steps wait.
    var holds = false
    var held: [CheckedContinuation<StoreError?, Never>] = []
  }

  let state = Box(State())

  /// Lets what waits go on.
  func release(failing failure: StoreError? = nil) {
    let held = state.change { state in
      defer { state.held = [] }
      state.holds = false
      return state.held
    }
    for continuation in held { continuation.resume(returning: failure) }
  }

  func load(leaving tables: [StoredTable]) async throws(StoreError) -> SavedRows? {
    state.change { state in
      state.writtenAt.map { time in
        SavedRows(
          rows: state.rows.filter { !tables.contains($0.key.table) }
            .map { (key: $0.key, value: $0.value) }, writtenAt: time, unloaded: tables)
      }
    }
  }

  func rows(
    for queries: [RowQuery]
  ) async throws(StoreError) -> [[(key: StoredKey, value: [UInt8])]] {
    try await waits()
    if let failure = state.value.failure { throw failure }
    return state.change { state in
      let found = queries.map { state.rows.answer(to: $0) }
      state.messagesRead += found.joined().count { $0.key.table.isOfMessages }
      return found
    }
  }

  private func waits() async throws(StoreError) {
    guard state.value.holds else { return }
    let failure = await withCheckedContinuation { waiting in
      state.change { $0.held.append(waiting) }
    }
    if let failure { throw failure }
  }

  func append(_ entry: JournalEntry) async throws(StoreError) {
    try await waits()
    state.change { state in
      let count = state.rows.count
      for range in entry.cleared { state.rows.clear(range) }
      state.rowsCleared += count - state.rows.count
      for row in entry.rows { state.rows[row.key] = row.value }
      state.writtenAt = entry.writtenAt
    }
  }

  func checkpoint(_ form: SavedRows) async throws(StoreError) {
    state.change { state in
      state.rows = VersionedMap()
      for row in form.rows { state.rows[row.key] = row.value }
      state.writtenAt = form.writtenAt
    }
  }

  func replace(with form: SavedRows) async throws(StoreError) {
    state.change { if $0.writtenAt != nil { $0.aside.append($0.rows) } }
    try await checkpoint(form)
  }

  func erase() async throws(StoreError) {
    state.change { state in
      state.rows = VersionedMap()
      state.writtenAt = nil
    }
  }
}

extension StoredTable {
  /// Whether this is the table of a shelf's messages.
  fileprivate var isOfMessages: Bool { self == StoredTable.firstOfModel.advanced(by: 1) }
}

extension VersionedMap<StoredKey, [UInt8]> {
  /// The IDs of the messages in these rows.
  fileprivate var keysOfMessages: [Int64] {
    filter { $0.key.table.isOfMessages }.map { try! Int64(keyBytes: $0.key.bytes) }
  }
}

extension Spot: Storable {
  func put(into bytes: inout ByteWriter) {
    bytes.put(log)
    bytes.put(index)
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.takeString(), try bytes.take())
  }
}
