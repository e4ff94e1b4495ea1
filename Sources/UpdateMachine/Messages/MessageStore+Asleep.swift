// Messages that were saved in an earlier life, and are read when they are needed: asleep. So a start
// costs what is looked at, however much is held.
//
// A message that sleeps is held like others: every event about it comes here, and every page. So it is
// woken before an event names it, before a page brings it, and before somebody looks at it; then all
// goes on as if it had never slept. To wake changes nothing but where it is. What is named and was
// not woken is dropped (R12): nothing wrong is ever shown, only less is known.

extension MessageStore {
  /// Whether something that is saved is not in memory.
  @inlinable
  public var sleeps: Bool { !asleep.isEmpty }

  // MARK: What to wake

  /// Which rows must be awake before these events are applied.
  @inlinable
  public func asleep(under events: [Event]) -> [RowQuery] {
    guard sleeps else { return [] }
    var ids = idsInUse
    for event in events {
      switch event {
      case .flaggedAll, .covered: return everythingAsleep
      case .new, .updated, .deleted, .flagged, .reacted:
        for (id, _) in touches(of: event) { ids.append(id) }
      }
    }
    return queries(for: ids)
  }

  /// Which rows must be awake before a page is taken.
  @inlinable
  public func asleep(under page: Page, for fetch: FetchID) -> [RowQuery] {
    guard sleeps, let fetch = fetches.first(where: { $0.id == fetch }) else { return [] }
    var ids = idsInUse + page.messages.map { $0.id }
    if case .message(let id) = fetch.request.want { ids.append(id) }
    guard page.isInOrder, let narrow = fetch.request.narrow, let shelf = shelf(of: narrow),
      let list = lists[shelf]?.list, let interval = page.interval
    else { return queries(for: ids) }
    for (id, _) in list.ids.ascending(from: interval.lowerEnd.id ?? MessageID(.min)) {
      guard interval.contains(id) else { break }
      ids.append(id)
    }
    return queries(for: ids)
      + list.asleep.intersection(interval).intervals.map { query(shelf, $0) }
  }

  /// Which rows must be awake to show what is known of a part of a list.
  public func asleep(under window: ListWindow, of narrow: Narrow) -> [RowQuery] {
    guard sleeps, let shelf = shelf(of: narrow), let list = lists[shelf]?.list else { return [] }
    let excerpt = list.excerpt(of: window)
    var ids: [MessageID] = []
    for case .message(let id) in excerpt.rows { ids.append(id) }
    return queries(for: ids)
      + excerpt.asleep.map { part in
        query(
          shelf, part.interval, part.isFromEnd ? .descending : .ascending,
          limit: Int(min(part.count, Int64(RowQuery.limitMaximum))))
      }
  }

  /// Rows by which all of it is woken, some at a time.
  @inlinable
  public var everythingAsleep: [RowQuery] {
    asleep.intervals.map { RowQuery(MessageStore.range(of: $0, in: tables.messages)) }
  }

  /// Those of which something is remembered beside the message.
  @inlinable
  var idsInUse: [MessageID] { doubts.map { $0.key } + ahead.map { $0.key } }

  /// One more row is asked for than there can be: so an answer covers its ID.
  @inlinable
  func queries(for ids: [MessageID]) -> [RowQuery] {
    var queries: [RowQuery] = []
    var last: MessageID?
    for id in ids.sorted() where id != last && asleep.contains(id) {
      queries.append(RowQuery(MessageStore.range(of: Interval(id), in: tables.messages), limit: 2))
      last = id
    }
    return queries
  }

  @inlinable
  func query(
    _ shelf: Shelf, _ interval: Interval, _ order: RowOrder = .ascending,
    limit: Int = RowQuery.limitMaximum
  ) -> RowQuery {
    RowQuery(
      MessageStore.range(of: interval, in: tables.places, behind: shelf.keyBytes), order,
      limit: limit)
  }

  /// The keys of these IDs. The ends of the line have the least and the greatest.
  @inlinable
  static func range(
    of interval: Interval, in table: StoredTable, behind prefix: [UInt8] = []
  ) -> RowRange {
    RowRange(
      table, from: prefix + interval.low.keyBytes, through: prefix + interval.high.keyBytes)
  }

  @inlinable
  static func interval(of range: RowRange, behind count: Int = 0) throws(StoredFormError)
    -> Interval
  {
    let low = try Int64(keyBytes: Array(range.first.dropFirst(count)))
    let high = try Int64(keyBytes: Array(range.last.dropFirst(count)))
    guard low <= high else { throw StoredFormError(expected: "a range") }
    return Interval(low: low, high: high)
  }

  // MARK: What is given up

  /// What is asleep cannot be read, or somebody who could not wake it has changed all of it: it is held
  /// no more, and where the lists had it, nothing is known.
  @inlinable
  public mutating func forgetAsleep() {
    guard sleeps else { return }
    for id in idsInUse where asleep.contains(id) {
      doubts.removeValue(forKey: id)
      ahead.removeValue(forKey: id)
    }
    for shelf in lists.keys(where: { !$0.list.asleep.isEmpty || !$0.list.ids.isEmpty }) {
      lists.modifyValue(forKey: shelf) { listed in
        listed.list.forgetAsleep()
        for (id, _) in listed.list.ids where !held.contains(id) {
          listed.list.remove(id)
          listed.list.forget(id)
        }
      }
    }
    asleep = Knowledge()
  }

  /// Every message is awake, and decided in every list.
  @inlinable
  mutating func endSleep() {
    for shelf in lists.keys(where: { !$0.list.asleep.isEmpty }) {
      lists.modifyValue(forKey: shelf) { $0.list.wake(.everything, []) }
    }
  }

  /// Something has happened to one that was not woken.
  @inlinable
  mutating func dropAsleep(_ id: MessageID) {
    if asleep.contains(id) { drop(id) }
  }
}

extension MessageStore {
  /// It is of an earlier life: what was out then is answered no more. Of what is awake, each list has
  /// all that is in it. O(awake messages × lists of their channels).
  @inlinable
  public mutating func restored() {
    abandonFetches()
    for (_, one) in held { rouse(one) }
    for shelf in lists.keys(where: { !$0.list.ids.isEmpty }) {
      lookForLost(in: shelf, Knowledge(.everything).subtracting(asleep))
    }
  }

  /// It is in the lists from here on, as it would be if it had been awake when they were opened.
  @inlinable
  mutating func rouse(_ one: Held) {
    let (id, all) = (one.message.id, MessageGlimpse(one.message))
    rouse(id, all, in: nil)
    if let channel = one.message.place.channel { rouse(id, all, in: channel) }
  }

  /// In the lists of one channel, or of none.
  @inlinable
  mutating func rouse(
    _ id: MessageID, _ all: MessageGlimpse<Content>, in channel: ChannelID?
  ) {
    forEachList(
      in: Shelf.all(of: channel),
      where: { !$0.list.ids.contains(id) && $0.narrow.verdict(on: all) == .yes },
      { $0.list.wake(id) })
  }

  /// A list has what no row has: that is damage, and nothing is known of it.
  @inlinable
  mutating func lookForLost(in shelf: Shelf, _ woken: Knowledge) {
    var lost: [MessageID] = []
    guard let ids = lists[shelf]?.list.ids else { return }
    for interval in woken.intervals {
      for (id, _) in ids.ascending(from: interval.lowerEnd.id ?? MessageID(.min)) {
        guard interval.contains(id) else { break }
        if !held.contains(id) { lost.append(id) }
      }
    }
    guard !lost.isEmpty else { return }
    lists.modifyValue(forKey: shelf) { listed in
      for id in lost {
        listed.list.remove(id)
        listed.list.forget(id)
      }
    }
  }
}

extension MessageStore where Narrow: Storable, Content: Storable {
  /// Rows that were asked for. What is awake already is passed over: it may have changed since it was
  /// saved. Returns whether anything of the question's range was asleep. If it throws, nothing has
  /// changed.
  ///
  /// - Parameters:
  ///   - answer: what a question found.
  ///   - isSaved: whether this is the state that is saved, to which others are compared: a list that
  ///     was opened while messages slept has not got them on the disk.
  @inlinable
  @discardableResult
  public mutating func wake(
    _ answer: RowAnswer, isSaved: Bool = false
  ) throws(StoredFormError) -> Bool {
    guard sleeps else { return false }
    if answer.query.range.table == tables.messages { return try wakeMessages(answer, isSaved) }
    if answer.query.range.table == tables.places { return try wakeList(answer, isSaved) }
    return false
  }

  @inlinable
  mutating func wakeMessages(
    _ answer: RowAnswer, _ isSaved: Bool
  ) throws(StoredFormError) -> Bool {
    let interval = try MessageStore.interval(of: answer.covered)
    let woken = asleep.intersection(interval)
    guard !woken.isEmpty else { return false }
    var messages: [Held] = []
    for row in answer.rows {
      let id = try MessageID(keyBytes: row.key.bytes)
      guard woken.contains(id) else { continue }
      let one = try Held(storedBytes: row.value)
      guard one.message.id == id else {
        throw StoredFormError(expected: "a message in its own row")
      }
      messages.append(one)
    }
    asleep.remove(interval)
    for one in messages { held[one.message.id] = one }
    guard !isSaved else { return true }
    for one in messages { rouse(one) }
    for shelf in lists.keys(where: { !$0.list.ids.isEmpty }) { lookForLost(in: shelf, woken) }
    if asleep.isEmpty { endSleep() }
    return true
  }

  /// Which messages a list has. Those that are awake it has already, if it has them still.
  @inlinable
  mutating func wakeList(
    _ answer: RowAnswer, _ isSaved: Bool
  ) throws(StoredFormError) -> Bool {
    let shelf = try Shelf(keyBytes: Array(answer.query.range.first.prefix(Shelf.keyLength)))
    let interval = try MessageStore.interval(of: answer.covered, behind: Shelf.keyLength)
    guard let list = lists[shelf]?.list, !list.asleep.intersection(interval).isEmpty else {
      return false
    }
    let woken = list.asleep.intersection(interval)
    var there: [MessageID] = []
    for row in answer.rows {
      let id = try MessageID(keyBytes: Array(row.key.bytes.dropFirst(Shelf.keyLength)))
      if woken.contains(id), isSaved || asleep.contains(id) { there.append(id) }
    }
    lists.modifyValue(forKey: shelf) { $0.list.wake(interval, there) }
    return true
  }
}
