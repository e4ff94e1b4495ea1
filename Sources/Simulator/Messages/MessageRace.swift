package import MessageSync
package import UpdateMachine

/// One client, one server, and every order in which events and pages can reach the client. It
/// contains only the message store, without a machine.
///
/// It tests the rules of partial knowledge. The caller chooses each step: a test that follows a
/// history, or a list of choices.
package struct MessageRace: Sendable {
  package typealias Narrow = ServerMessages.Narrow
  package typealias Store = MessageStore<Narrow>

  /// The truth at every position; position *p* is after *p* changes.
  package private(set) var history: [ServerMessages]
  /// What the client is told of the change that led to each position except the first.
  var announcements: [ServerMessages.Event?] = []
  package private(set) var store: Store
  /// The position of the client's finger.
  package private(set) var finger: Int64 = 0
  /// The number of messages that became visible again without an event.
  package private(set) var silentReturnCount = 0
  private var oracle = IntervalOracle()
  var fetches: [Fetch] = []
  private var fetchCount: UInt64 = 0
  /// The server's position when the open poll left; `nil`: none is open.
  private var polled: Int64?
  private var disk: Disk?

  /// What was saved, as rows and as values.
  private struct Disk: Sendable {
    var rows = VersionedMap<StoredKey, [UInt8]>()
    var store: Store
    var finger: Int64
    var oracle: IntervalOracle
  }

  struct Fetch: Sendable {
    var id: RequestID
    var request: PageRequest<Narrow, MessageID>
    var begun: Int64
    var answer: (page: MessagePage<UInt32>, position: Int64)?
  }

  package init(_ serverMessages: ServerMessages) {
    history = [serverMessages]
    store = Store(following: serverMessages.followed)
  }

  /// The server's position.
  package var position: Int64 { Int64(history.count) - 1 }
  package var truth: ServerMessages { history[history.count - 1] }
  /// The open fetches, by number.
  package var openFetches: [UInt64] { fetches.map { $0.id.number } }

  // MARK: Steps

  /// Commits a change on the server.
  package mutating func commit(_ change: ServerMessages.Change) {
    var next = truth
    announcements.append(next.announcement(of: change))
    oracle.note(change, from: next, at: position + 1)
    silentReturnCount += next.returnsSilently(change).count
    next.apply(change)
    history.append(next)
  }

  /// Sends a poll.
  package mutating func poll() {
    guard polled == nil else { return }
    polled = position
    store.asked()
  }

  /// Delivers the open poll's answer, with everything up to a position, and at least everything
  /// committed before the poll left. If `isMerged`, flag changes of one kind become one event in
  /// the place of the newest.
  package mutating func answerPoll(through last: Int64? = nil, isMerged: Bool = false) {
    guard let polled else { return }
    self.polled = nil
    let end = min(position, max(polled, last ?? position, finger))
    var events: [ServerMessages.Event] = []
    for index in Int(finger)..<Int(end) {
      guard let event = announcements[index] else { continue }
      if isMerged { MessageRace.merge(event, into: &events) } else { events.append(event) }
    }
    load { $0.unloaded(under: events) }
    for event in events {
      store.apply(event)
      if case .new(let message) = event { oracle.noteNew(message.id) }
    }
    store.answered()
    oracle.noteHeld(by: whole)
    finger = end
  }

  static func merge(_ event: ServerMessages.Event, into events: inout [ServerMessages.Event]) {
    guard case .flagged(let ids, let flags, let isSet) = event else { return events.append(event) }
    for index in events.indices {
      guard case .flagged(let older, flags, isSet) = events[index] else { continue }
      events.remove(at: index)
      return events.append(.flagged(older + ids, flags, isSet: isSet))
    }
    events.append(event)
  }

  /// Sends a fetch. Returns its number.
  @discardableResult
  package mutating func fetch(_ request: PageRequest<Narrow, MessageID>, isAudit: Bool = false)
    -> UInt64
  {
    fetchCount += 1
    let id = RequestID(incarnation: Incarnation(0), part: .pages, number: fetchCount)
    store.begin(id, request, isAudit: isAudit)
    fetches.append(Fetch(id: id, request: request, begun: finger))
    return fetchCount
  }

  /// The server looks up the IDs at one position and reads the rows at a later one, neither before
  /// the fetch left.
  package mutating func read(_ number: UInt64, at first: Int64? = nil, rowsAt second: Int64? = nil)
  {
    guard let index = fetches.firstIndex(where: { $0.id.number == number }) else { return }
    let ids = min(position, max(first ?? position, fetches[index].begun))
    let rows = min(position, max(second ?? ids, ids))
    let page = history[Int(ids)].page(fetches[index].request, later: history[Int(rows)])
    fetches[index].answer = (page, rows)
  }

  /// Delivers the page of an open fetch.
  @discardableResult
  package mutating func answer(_ number: UInt64) -> PageOutcome {
    if fetches.first(where: { $0.id.number == number })?.answer == nil { read(number) }
    guard let index = fetches.firstIndex(where: { $0.id.number == number }),
      let (page, read) = fetches[index].answer
    else { return .absorbed }
    let fetch = fetches.remove(at: index)
    load { $0.unloaded(under: page, for: fetch.id) }
    let before = whole
    let outcome = store.take(page, for: fetch.id)
    guard outcome == .taken else { return outcome }
    oracle.notePage(page, for: fetch.request, at: read, from: before, to: whole)
    return outcome
  }

  package mutating func abandon(_ number: UInt64) {
    fetches.removeAll { $0.id.number == number }
    store.abandon(RequestID(incarnation: Incarnation(0), part: .pages, number: number))
  }

  package mutating func open(_ narrow: Narrow) { store.open(narrow) }

  package mutating func close(_ narrow: Narrow) { store.close(narrow) }

  package mutating func drop(_ id: MessageID) { store.drop(id) }

  /// The client was away too long and registers: it gets a snapshot of now, and no earlier events.
  package mutating func register() {
    finger = position
    polled = nil
    store = Store(following: truth.followed, after: store)
    oracle.forget()
  }

  // MARK: The disk

  /// Saves what is held, as a step from the previous save.
  package mutating func save() {
    var writer = RowWriter()
    store.store(since: disk?.store, into: &writer, from: .firstOfModel)
    var disk = disk ?? Disk(store: store, finger: finger, oracle: oracle)
    for range in writer.cleared { disk.rows.clear(range) }
    for row in writer.rows { disk.rows[row.key] = row.value }
    disk.store = store
    disk.finger = finger
    disk.oracle = oracle
    self.disk = disk
  }

  /// Ends the process and begins the next with the last save; without a save, does nothing. Throws
  /// if it cannot be read, or if the steps do not lead to the same result as a full save.
  ///
  /// - Parameter left: whether messages and the lists' contents stay on the disk until they are
  ///   needed.
  package mutating func restart(leaving left: Bool = false) throws(StoredFormError) {
    guard var disk else { return }
    var saved = MessageRace.whole(disk.store, on: disk)
    saved.restored()
    var whole = RowWriter()
    saved.store(since: nil, into: &whole, from: .firstOfModel)
    var rows: [(key: StoredKey, value: [UInt8])] = []
    for (key, value) in disk.rows { rows.append((key, value)) }
    try MessageRace.check(rows, saved, whole.rows)
    let tables = left ? Store.unloadedTables(from: .firstOfModel) : []
    rows.removeAll { tables.contains($0.key.table) }
    store = try Store(stored: try RowReader(rows, unloaded: tables), from: .firstOfModel)
    disk.store = store
    store.restored()
    (finger, polled, fetches) = (disk.finger, nil, [])
    oracle.goBack(to: disk.oracle)
    self.disk = disk
  }

  /// Checks that the rows are those of the whole. A list that was opened while messages were
  /// unloaded may lack some.
  private static func check(
    _ rows: [(key: StoredKey, value: [UInt8])], _ store: Store, _ whole: [StoredRow]
  ) throws(StoredFormError) {
    var missing = VersionedMap<StoredKey, [UInt8]>()
    for row in whole { missing[row.key] = row.value }
    for row in rows where missing.removeValue(forKey: row.key) != row.value {
      throw StoredFormError(expected: "the rows of the whole, and not \(row.key)")
    }
    for (key, _) in missing where !Store.unloadedTables(from: .firstOfModel).contains(key.table) {
      throw StoredFormError(expected: "the rows of the whole, with \(key)")
    }
  }

  // MARK: What is unloaded

  /// Whether unloaded rows are loaded before they are named, as a driver does. Otherwise they are
  /// dropped.
  package var loads = true

  /// Reads the requested rows until none are requested.
  private mutating func load(_ unloaded: (Store) -> [RowQuery]) {
    guard loads, var disk else { return }
    while true {
      let queries = unloaded(store)
      if queries.isEmpty { break }
      for query in queries {
        let answer = RowAnswer(query, disk.rows.answer(to: query))
        _ = try! store.load(answer)
        _ = try! disk.store.load(answer, isSaved: true)
      }
    }
    self.disk = disk
  }

  /// Shows a part of a list: its known part is in memory from here on.
  package mutating func look(at window: ListWindow<MessageID>, of narrow: Narrow) -> ListExcerpt<
    MessageID
  > {
    load { $0.unloaded(under: window, of: narrow) }
    return store.list(of: narrow)?.excerpt(of: window) ?? ListExcerpt()
  }

  /// Everything held, in memory or on the disk.
  package var whole: Store { disk.map { MessageRace.whole(store, on: $0) } ?? store }

  private static func whole(_ store: Store, on disk: Disk) -> Store {
    var store = store
    while store.hasUnloaded {
      for query in store.everythingUnloaded {
        _ = try! store.load(RowAnswer(query, disk.rows.answer(to: query)))
      }
    }
    return store
  }

  // MARK: Judgement

  /// The objection to what the client holds; `nil`: none.
  package var objection: IntervalOracle.Objection? {
    oracle.objection(to: whole, at: finger, history)
  }

  // MARK: A small world

  /// Loses the open poll.
  mutating func losePoll() { polled = nil }

  /// Whether a poll is open.
  var isPolling: Bool { polled != nil }

  /// The server's position when the open poll left, and its earliest position for the open fetch.
  var sinceWhen: (poll: Int64, fetch: Int64) {
    (polled ?? position, fetches.first?.begun ?? position)
  }

  /// A plant: forgets what has been applied since a page was requested.
  mutating func forgetWhatHasHappened() {
    for fetch in fetches {
      store.abandon(fetch.id)
      store.begin(fetch.id, fetch.request)
    }
  }

  /// Hashes everything that later behaviour depends on, with positions relative to the present one.
  /// Call it only while nothing is saved.
  func fold(into digest: inout StateDigest) {
    digest.fold(position - finger)
    digest.fold(polled.map { position - $0 + 1 } ?? 0)
    digest.fold(UInt64(fetches.count))
    for fetch in fetches { digest.fold(position - fetch.begun) }
    for index in Int(min(finger, sinceWhen.poll, sinceWhen.fetch))...Int(position) {
      for message in history[index].messages {
        digest.fold(message.id.number)
        digest.fold("\(message.place)")
        digest.fold(message.version)
      }
      digest.fold(-1 as Int64)
    }
    store.fold(into: &digest)
    oracle.fold(into: &digest, from: finger)
  }
}
