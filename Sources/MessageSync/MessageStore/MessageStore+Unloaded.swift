public import UpdateMachine

// *Unloaded* messages come from an earlier run, and are read only when they are needed. So the cost
// of a start depends on what is looked at, not on how much is held.
//
// An unloaded message counts as held, so every event about it and every page of it comes here. It
// is loaded before an event names it, before a page brings it, and before a window shows it. Then
// everything goes on as if it had always been in memory. Loading changes nothing else. A message
// that is named but was not loaded is dropped (R12). So nothing wrong is shown; there is only less
// that is known.

extension MessageStore {
  /// Whether anything saved is not in memory.
  @inlinable
  public var hasUnloaded: Bool { !unloaded.isEmpty }

  // MARK: Rows to load

  /// The rows to load before these events are applied.
  @inlinable
  public func unloaded(under events: [Event]) -> [RowQuery] {
    guard hasUnloaded else { return [] }
    var ids = idsInUse
    for event in events {
      switch event {
      case .flaggedAll, .covered: return everythingUnloaded
      case .new, .updated, .deleted, .flagged, .reacted:
        for (id, _) in touches(of: event) { ids.append(id) }
      }
    }
    return queries(for: ids)
  }

  /// The rows to load of these messages.
  @inlinable
  package func unloaded(in ids: [MessageID]) -> [RowQuery] { hasUnloaded ? queries(for: ids) : [] }

  /// The rows to load before a page is taken.
  @inlinable
  public func unloaded(under page: Page, for fetch: RequestID) -> [RowQuery] {
    guard hasUnloaded, let fetch = fetches.first(where: { $0.id == fetch }) else { return [] }
    var ids = idsInUse + page.messages.map { $0.id }
    if case .item(let id) = fetch.request.want { ids.append(id) }
    guard page.isInOrder, let narrow = fetch.request.narrow, let listKey = listKey(of: narrow),
      let list = lists[listKey]?.list,
      let interval = page.interval(
        for: fetch.request.want, isListLimited: list.historyLimit != nil)
    else { return queries(for: ids) }
    for (id, _) in list.ids.ascending(from: interval.lowerEnd.id ?? MessageID(.min)) {
      guard interval.contains(id) else { break }
      ids.append(id)
    }
    return queries(for: ids + doubtedIDs(in: interval))
      + list.unloaded.intersection(interval).intervals.map { query(listKey, $0) }
  }

  /// The rows to load to show the known part of a window.
  public func unloaded(under window: ListWindow<MessageID>, of narrow: Narrow) -> [RowQuery] {
    guard hasUnloaded, let listKey = listKey(of: narrow), let list = lists[listKey]?.list else {
      return []
    }
    let excerpt = list.excerpt(of: window)
    var ids: [MessageID] = []
    for case .item(let id) in excerpt.rows { ids.append(id) }
    return queries(for: ids)
      + excerpt.unloaded.map { part in
        query(
          listKey, part.interval, part.isFromEnd ? .descending : .ascending,
          limit: Int(min(part.count, Int64(RowQuery.limitMaximum))))
      }
  }

  /// Queries that load all unloaded messages, a few at a time.
  @inlinable
  package var everythingUnloaded: [RowQuery] {
    unloaded.intervals.map { RowQuery(MessageStore.range(of: $0, in: tables.messages)) }
  }

  /// The messages with a flag in doubt that an answer may settle, and those that may be ahead.
  @inlinable
  var idsInUse: [MessageID] {
    doubts.filter { !$0.value.isSubset(of: .feedFlags) }.map { $0.key } + ahead.map { $0.key }
  }

  /// The messages of an interval with a flag in doubt, which a page of the interval may settle.
  @inlinable
  func doubtedIDs(in interval: IDInterval<MessageID>) -> [MessageID] {
    doubts.map { $0.key }.filter { interval.contains($0) }
  }

  /// Queries for single messages. Each asks for one row more than there can be, so that its answer
  /// covers the ID.
  @inlinable
  func queries(for ids: [MessageID]) -> [RowQuery] {
    var queries: [RowQuery] = []
    var last: MessageID?
    for id in ids.sorted() where id != last && unloaded.contains(id) {
      queries.append(
        RowQuery(MessageStore.range(of: IDInterval(id), in: tables.messages), limit: 2))
      last = id
    }
    return queries
  }

  @inlinable
  func query(
    _ listKey: ListKey, _ interval: IDInterval<MessageID>, _ order: RowOrder = .ascending,
    limit: Int = RowQuery.limitMaximum
  ) -> RowQuery {
    RowQuery(
      MessageStore.range(of: interval, in: tables.places, behind: listKey.keyBytes), order,
      limit: limit)
  }

  /// The keys of these IDs. The ends of the ID line have the least and the greatest key.
  @inlinable
  static func range(
    of interval: IDInterval<MessageID>, in table: StoredTable, behind prefix: [UInt8] = []
  ) -> RowRange {
    RowRange(
      table, from: prefix + interval.low.keyBytes, through: prefix + interval.high.keyBytes)
  }

  @inlinable
  static func interval(of range: RowRange, behind count: Int = 0) throws(StoredFormError)
    -> IDInterval<MessageID>
  {
    let low = try Int64(keyBytes: Array(range.first.dropFirst(count)))
    let high = try Int64(keyBytes: Array(range.last.dropFirst(count)))
    guard low <= high else { throw StoredFormError(expected: "a range") }
    return IDInterval(low: low, high: high)
  }

  // MARK: Giving up

  /// Gives up the unloaded messages, because they cannot be read, or because an event has changed
  /// all of them. They are no longer held, and the lists no longer know their IDs.
  @inlinable
  public mutating func forgetUnloaded() {
    guard hasUnloaded else { return }
    _revision += 1
    for id in doubts.map({ $0.key }) + ahead.map({ $0.key }) where unloaded.contains(id) {
      doubts.removeValue(forKey: id)
      ahead.removeValue(forKey: id)
    }
    for listKey in lists.keys(where: { !$0.list.unloaded.isEmpty || !$0.list.ids.isEmpty }) {
      lists.modifyValue(forKey: listKey) { listed in
        listed.list.forgetUnloaded()
        for (id, _) in listed.list.ids where !held.contains(id) {
          listed.list.remove(id)
          listed.list.forget(id)
        }
      }
    }
    unloaded = Knowledge()
  }

  /// Ends loading in the lists: every message is loaded, and every list has decided about it.
  @inlinable
  mutating func endUnloaded() {
    for listKey in lists.keys(where: { !$0.list.unloaded.isEmpty }) {
      lists.modifyValue(forKey: listKey) { $0.list.load(.everything, []) }
    }
  }

  /// Drops a message that changed before it was loaded.
  @inlinable
  mutating func dropUnloaded(_ id: MessageID) {
    if unloaded.contains(id) { drop(id) }
  }
}

extension MessageStore {
  /// Begins a new run of a restored store. Fetches of the earlier run are abandoned. Each loaded
  /// message enters every list that it belongs to. O(loaded messages × lists of their channels).
  @inlinable
  package mutating func restored() {
    abandonFetches()
    _revision += 1
    for (_, one) in held { enlist(one) }
    for listKey in lists.keys(where: { !$0.list.ids.isEmpty }) {
      lookForLost(in: listKey, Knowledge(.everything).subtracting(unloaded))
    }
  }

  /// Adds a message to its lists, as if it had been loaded when they were opened.
  @inlinable
  mutating func enlist(_ one: Held) {
    let (id, all) = (one.message.id, PartialMessage(one.message))
    enlist(id, all, in: nil)
    if let channel = one.message.place.channel { enlist(id, all, in: channel) }
  }

  /// Adds a message to the lists of one channel, or to those without a channel.
  @inlinable
  mutating func enlist(
    _ id: MessageID, _ all: PartialMessage<Content>, in channel: ChannelID?
  ) {
    forEachList(
      in: ListKey.all(of: channel),
      where: { !$0.list.ids.contains(id) && $0.narrow.verdict(on: all) == .yes },
      { $0.list.load(id) })
  }

  /// Looks for IDs in a list that have no row. Such IDs are damage, and leave the list and its
  /// knowledge.
  @inlinable
  mutating func lookForLost(in listKey: ListKey, _ loaded: Knowledge<MessageID>) {
    var lost: [MessageID] = []
    guard let ids = lists[listKey]?.list.ids else { return }
    for interval in loaded.intervals {
      for (id, _) in ids.ascending(from: interval.lowerEnd.id ?? MessageID(.min)) {
        guard interval.contains(id) else { break }
        if !held.contains(id) { lost.append(id) }
      }
    }
    guard !lost.isEmpty else { return }
    lists.modifyValue(forKey: listKey) { listed in
      for id in lost {
        listed.list.remove(id)
        listed.list.forget(id)
      }
    }
  }
}

extension MessageStore where Narrow: Storable, Content: Storable {
  /// Loads rows that a query asked for. Messages that are loaded already are skipped, since they
  /// may have changed after they were saved. Returns whether anything in the query's range was
  /// unloaded. If it throws, nothing has changed.
  ///
  /// - Parameters:
  ///   - answer: the rows that a query found.
  ///   - isSaved: whether this is the saved state, against which others are compared. A list that
  ///     was opened while messages were unloaded does not have them on disk.
  @inlinable
  @discardableResult
  public mutating func load(
    _ answer: RowAnswer, isSaved: Bool = false
  ) throws(StoredFormError) -> Bool {
    guard hasUnloaded else { return false }
    if answer.query.range.table == tables.messages { return try loadMessages(answer, isSaved) }
    if answer.query.range.table == tables.places { return try loadList(answer, isSaved) }
    return false
  }

  @inlinable
  mutating func loadMessages(
    _ answer: RowAnswer, _ isSaved: Bool
  ) throws(StoredFormError) -> Bool {
    let interval = try MessageStore.interval(of: answer.covered)
    let loaded = unloaded.intersection(interval)
    guard !loaded.isEmpty else { return false }
    var messages: [Held] = []
    for row in answer.rows {
      let id = try MessageID(keyBytes: row.key.bytes)
      guard loaded.contains(id) else { continue }
      let one = try Held(storedBytes: row.value)
      guard one.message.id == id else {
        throw StoredFormError(expected: "a message in its own row")
      }
      messages.append(one)
    }
    _revision += 1
    unloaded.remove(interval)
    for one in messages { held[one.message.id] = one }
    guard !isSaved else { return true }
    for one in messages { enlist(one) }
    for listKey in lists.keys(where: { !$0.list.ids.isEmpty }) { lookForLost(in: listKey, loaded) }
    if unloaded.isEmpty { endUnloaded() }
    return true
  }

  /// Loads the IDs of a list. Loaded messages are in it already, if they still belong to it.
  @inlinable
  mutating func loadList(
    _ answer: RowAnswer, _ isSaved: Bool
  ) throws(StoredFormError) -> Bool {
    let listKey = try ListKey(keyBytes: Array(answer.query.range.first.prefix(ListKey.keyLength)))
    let interval = try MessageStore.interval(of: answer.covered, behind: ListKey.keyLength)
    guard let list = lists[listKey]?.list, !list.unloaded.intersection(interval).isEmpty else {
      return false
    }
    let loaded = list.unloaded.intersection(interval)
    var there: [MessageID] = []
    for row in answer.rows {
      let id = try MessageID(keyBytes: Array(row.key.bytes.dropFirst(ListKey.keyLength)))
      if loaded.contains(id), isSaved || unloaded.contains(id) { there.append(id) }
    }
    _revision += 1
    lists.modifyValue(forKey: listKey) { $0.list.load(interval, there) }
    return true
  }
}
