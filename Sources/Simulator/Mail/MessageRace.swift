public import MessageSync
public import UpdateMachine

/// One client, one server, and every order in which events and pages can reach the client: the
/// message store alone, without a machine around it.
///
/// It is where the rules of partial knowledge are tried: each step is said by whoever drives it, a
/// test that tells a history or a list of choices.
public struct MessageRace: Sendable {
  public typealias Narrow = Mailbox.Narrow
  public typealias Store = MessageStore<Narrow>

  /// The truth at every position; position *p* is after *p* changes.
  public private(set) var history: [Mailbox]
  /// What the client was told of the change that led to each position but the first.
  var announcements: [Mailbox.Event?] = []
  public private(set) var store: Store
  /// The position that the client's finger stands for.
  public private(set) var finger: Int64 = 0
  /// How many messages came back into sight of which nobody was told.
  public private(set) var silentReturnCount = 0
  private var oracle = IntervalOracle()
  var fetches: [Fetch] = []
  private var fetchCount: UInt64 = 0
  /// Where the server was when the poll that is out left; `nil`: none is out.
  private var polled: Int64?
  private var disk: Disk?

  /// What was saved, as rows and as what they are of.
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

  public init(_ mailbox: Mailbox) {
    history = [mailbox]
    store = Store(following: mailbox.followed)
  }

  /// Where the server is.
  public var position: Int64 { Int64(history.count) - 1 }
  public var truth: Mailbox { history[history.count - 1] }
  /// The fetches that are out, by number.
  public var openFetches: [UInt64] { fetches.map { $0.id.number } }

  // MARK: Steps

  /// Something happens on the server.
  public mutating func commit(_ change: Mailbox.Change) {
    var next = truth
    announcements.append(next.announcement(of: change))
    oracle.note(change, from: next, at: position + 1)
    silentReturnCount += next.returnsSilently(change).count
    next.apply(change)
    history.append(next)
  }

  /// A poll leaves.
  public mutating func poll() {
    guard polled == nil else { return }
    polled = position
    store.asked()
  }

  /// Its answer comes, with everything up to a position; at least all that there was when it left.
  /// If it is merged, flag changes of one kind are one event, at the place of the newest.
  public mutating func answerPoll(through last: Int64? = nil, isMerged: Bool = false) {
    guard let polled else { return }
    self.polled = nil
    let end = min(position, max(polled, last ?? position, finger))
    var events: [Mailbox.Event] = []
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

  static func merge(_ event: Mailbox.Event, into events: inout [Mailbox.Event]) {
    guard case .flagged(let ids, let flags, let isSet) = event else { return events.append(event) }
    for index in events.indices {
      guard case .flagged(let older, flags, isSet) = events[index] else { continue }
      events.remove(at: index)
      return events.append(.flagged(older + ids, flags, isSet: isSet))
    }
    events.append(event)
  }

  /// A fetch leaves. Returns its number.
  @discardableResult
  public mutating func fetch(_ request: PageRequest<Narrow, MessageID>, isAudit: Bool = false)
    -> UInt64
  {
    fetchCount += 1
    let id = RequestID(life: Life(0), part: .pages, number: fetchCount)
    store.begin(id, request, isAudit: isAudit)
    fetches.append(Fetch(id: id, request: request, begun: finger))
    return fetchCount
  }

  /// The server looks the IDs up as they were at one position, and reads the rows at a later one; not
  /// before the fetch left.
  public mutating func read(_ number: UInt64, at first: Int64? = nil, rowsAt second: Int64? = nil) {
    guard let index = fetches.firstIndex(where: { $0.id.number == number }) else { return }
    let ids = min(position, max(first ?? position, fetches[index].begun))
    let rows = min(position, max(second ?? ids, ids))
    let page = history[Int(ids)].page(fetches[index].request, later: history[Int(rows)])
    fetches[index].answer = (page, rows)
  }

  /// Its page comes.
  @discardableResult
  public mutating func answer(_ number: UInt64) -> PageOutcome {
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

  public mutating func abandon(_ number: UInt64) {
    fetches.removeAll { $0.id.number == number }
    store.abandon(RequestID(life: Life(0), part: .pages, number: number))
  }

  public mutating func open(_ narrow: Narrow) { store.open(narrow) }

  public mutating func close(_ narrow: Narrow) { store.close(narrow) }

  public mutating func drop(_ id: MessageID) { store.drop(id) }

  /// The client was away for too long, and registers: a snapshot of now, and no event before.
  public mutating func register() {
    finger = position
    polled = nil
    store = Store(following: truth.followed, after: store)
    oracle.forget()
  }

  // MARK: The disk

  /// What is held is saved, as a step from what was saved before.
  public mutating func save() {
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

  /// The process ends, and the next begins with what was saved last. Throws if that cannot be read,
  /// or if the steps do not lead to where all at once would; nothing was saved: nothing happens.
  ///
  /// - Parameter left: whether messages and what is in the lists stay on the disk until they are
  ///   needed.
  public mutating func restart(leaving left: Bool = false) throws(StoredFormError) {
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
    store = try Store(stored: try StoredRows(rows, unloaded: tables), from: .firstOfModel)
    disk.store = store
    store.restored()
    (finger, polled, fetches) = (disk.finger, nil, [])
    oracle.goBack(to: disk.oracle)
    self.disk = disk
  }

  /// The rows are those of the whole; but a list that was opened while messages were unloaded may lack some.
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

  /// Whether what is unloaded is loaded before it is named, as a driver does. Else it is given up then.
  public var loads = true

  /// Reads what is asked for until nothing is.
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

  /// Somebody looks at a part of a list: what of it is known is in memory from here on.
  public mutating func look(at window: ListWindow<MessageID>, of narrow: Narrow) -> ListExcerpt<
    MessageID
  > {
    load { $0.unloaded(under: window, of: narrow) }
    return store.list(of: narrow)?.excerpt(of: window) ?? ListExcerpt()
  }

  /// All that is held, in memory or on the disk.
  public var whole: Store { disk.map { MessageRace.whole(store, on: $0) } ?? store }

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

  /// What is wrong with what the client holds; `nil`: nothing.
  public var objection: IntervalOracle.Objection? {
    oracle.objection(to: whole, at: finger, history)
  }

  // MARK: A small world

  /// The poll that is out is lost.
  mutating func losePoll() { polled = nil }

  /// Whether a poll is out.
  var isPolling: Bool { polled != nil }

  /// Where the server was when the poll that is out left, and when the fetch that is out was begun, at the
  /// earliest.
  var sinceWhen: (poll: Int64, fetch: Int64) {
    (polled ?? position, fetches.first?.begun ?? position)
  }

  /// A plant: what has been applied since a page was asked for is forgotten.
  mutating func forgetWhatHasHappened() {
    for fetch in fetches {
      store.abandon(fetch.id)
      store.begin(fetch.id, fetch.request)
    }
  }

  /// Takes in all that anything hangs on, positions as seen from the present one. Nothing was saved.
  func fold(into digest: inout Digest) {
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
