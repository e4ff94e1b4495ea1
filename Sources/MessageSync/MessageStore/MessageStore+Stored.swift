public import UpdateMachine

// Saves messages and lists as rows, so that writing a batch costs what the batch changed.
//
// What is useless after a restart is not written: open fetches, snapshots and former messages (they
// are only shown until something better comes), and the audit's cases (the next page finds them
// again). List contents follow from the held messages, but are written all the same, so that a list
// can be read without loading the messages of all others.

extension StoredTable {
  /// How many tables a message store uses.
  public static var ofMessages: UInt8 { 7 }
}

extension MessageStore {
  /// The tables in which a store is saved.
  @usableFromInline
  struct Tables: BitwiseCopyable, Sendable {
    @usableFromInline var first: StoredTable

    @inlinable
    init(from first: StoredTable) { self.first = first }

    @inlinable var head: StoredTable { first }
    @inlinable var messages: StoredTable { first.advanced(by: 1) }
    @inlinable var doubts: StoredTable { first.advanced(by: 2) }
    @inlinable var ahead: StoredTable { first.advanced(by: 3) }
    @inlinable var lists: StoredTable { first.advanced(by: 4) }
    /// One row for each message of each list, without a value.
    @inlinable var places: StoredTable { first.advanced(by: 5) }
    /// One row for each copy that a list shows of a place without events.
    @inlinable var copies: StoredTable { first.advanced(by: 6) }
  }

  /// The tables whose rows may stay unloaded.
  @inlinable
  public static func unloadedTables(from first: StoredTable) -> [StoredTable] {
    [Tables(from: first).messages, Tables(from: first).places]
  }
}

extension MessageStore.Held: Storable where Narrow.Content: Storable {
  @inlinable
  func put(into bytes: inout ByteWriter) {
    bytes.put(message)
    bytes.put(contentEvent)
    bytes.put(placeEvent)
    bytes.put(named)
  }

  @inlinable
  init(from bytes: inout ByteReader) throws(StoredFormError) {
    message = try bytes.take()
    contentEvent = try bytes.takeOptional()
    placeEvent = try bytes.takeOptional()
    named = try bytes.takeReactions()
  }
}

/// A list without its contents.
@usableFromInline
struct StoredList<Narrow: MessageNarrow & Storable>: Storable {
  @usableFromInline var narrow: Narrow
  @usableFromInline var knowledge: Knowledge<MessageID>
  @usableFromInline var historyLimit: MessageID?

  @inlinable
  init(_ narrow: Narrow, _ list: PartialList<MessageID>) {
    self.narrow = narrow
    knowledge = list.knowledge
    historyLimit = list.historyLimit
  }

  @inlinable
  func put(into bytes: inout ByteWriter) {
    bytes.put(narrow)
    bytes.put(knowledge)
    bytes.put(historyLimit)
  }

  @inlinable
  init(from bytes: inout ByteReader) throws(StoredFormError) {
    narrow = try bytes.take()
    knowledge = try bytes.take()
    historyLimit = try bytes.takeOptional()
  }
}

/// The parts of a store that are in no other table.
@usableFromInline
struct StoredMessagesHead: Storable, Equatable {
  @usableFromInline var followed: [ChannelID]
  @usableFromInline var polls: UInt64
  @usableFromInline var nextList: Int64
  /// No message with a greater ID was ever held.
  @usableFromInline var newest: MessageID?
  /// The messages in `MessageStore.unheldDoubts`, ascending. `unheldDoubtFlags` has their flags in
  /// doubt.
  @usableFromInline var unheldDoubts: [MessageID]
  @usableFromInline var unheldDoubtFlags: [MessageFlags]

  @inlinable
  init<Narrow>(_ store: MessageStore<Narrow>) {
    followed = store.followed
    polls = store.audit.polls
    nextList = store.nextList
    newest = store.newest
    unheldDoubts = store.unheldDoubts.map { $0.key }
    unheldDoubtFlags = store.unheldDoubts.map { $0.value }
  }

  @inlinable
  func put(into bytes: inout ByteWriter) {
    bytes.put(followed)
    bytes.put(polls)
    bytes.put(nextList)
    bytes.put(newest)
    bytes.put(unheldDoubts)
    bytes.put(unheldDoubtFlags)
  }

  @inlinable
  init(from bytes: inout ByteReader) throws(StoredFormError) {
    followed = try bytes.takeArray()
    polls = try bytes.takeUInt64()
    nextList = try bytes.takeInt64()
    newest = try bytes.takeOptional()
    unheldDoubts = try bytes.takeArray()
    unheldDoubtFlags = try bytes.takeArray()
    guard polls < 1 << 62, nextList < 1 << 62, nextList >= 0,
      zip(followed, followed.dropFirst()).allSatisfy({ $0 < $1 }),
      zip(unheldDoubts, unheldDoubts.dropFirst()).allSatisfy({ $0 < $1 }),
      unheldDoubts.count == unheldDoubtFlags.count
    else { throw StoredFormError(expected: "the head of a store of messages") }
  }
}

extension MessageStore where Narrow: Storable, Content: Storable {
  /// Writes the rows that differ from `old`, or all rows if `old` is `nil`. Uses
  /// `StoredTable.ofMessages` tables, beginning with `first`. Unloaded rows stay as they are saved.
  /// What is unloaded in `old` and not here was either loaded in both, or is void.
  @inlinable
  public func store(
    since old: MessageStore?, into rows: inout RowWriter, from first: StoredTable
  ) {
    let tables = Tables(from: first)
    rows.put(tables.head, head, since: old?.head)
    if let old, old.hasUnloaded {
      for interval in old.unloaded.subtracting(unloaded).intervals {
        rows.clear(MessageStore.range(of: interval, in: tables.messages))
      }
    }
    rows.put(tables.messages, held, since: old?.held)
    rows.put(tables.doubts, doubts, since: old?.doubts)
    rows.put(tables.ahead, ahead, since: old?.ahead)
    rows.put(
      tables.lists, lists, since: old?.lists,
      where: {
        $0.list.knowledge != $1.list.knowledge || $0.list.historyLimit != $1.list.historyLimit
      },
      key: { $0.keyBytes }, value: { StoredList($0.narrow, $0.list).put(into: &$1) })
    storePlaces(since: old, into: &rows, tables.places)
    storeCopies(since: old, into: &rows, tables.copies)
  }

  /// Writes the copies that lists show beside what is held (R15).
  @inlinable
  func storeCopies(since old: MessageStore?, into rows: inout RowWriter, _ table: StoredTable) {
    let differ = { (one: Listed, other: Listed) in !one.beside.isIdentical(to: other.beside) }
    (old?.lists ?? VersionedMap()).compare(with: lists, where: differ) { listKey, old, new in
      let prefix = listKey.keyBytes
      rows.put(
        table, new?.beside ?? VersionedMap(), since: old?.beside ?? VersionedMap(),
        where: { $0.storedBytes != $1.storedBytes }, key: { prefix + $0.keyBytes },
        value: { $0.put(into: &$1) })
      return true
    }
  }

  /// Writes which messages are in which lists.
  @inlinable
  func storePlaces(since old: MessageStore?, into rows: inout RowWriter, _ table: StoredTable) {
    guard let old else {
      for (listKey, listed) in lists {
        MessageStore.storePlaces(listKey, listed.list, since: nil, into: &rows, table)
      }
      return
    }
    let differ = { (one: Listed, other: Listed) in
      !one.list.ids.isIdentical(to: other.list.ids) || one.list.unloaded != other.list.unloaded
    }
    old.lists.compare(with: lists, where: differ) { listKey, old, new in
      if let new {
        MessageStore.storePlaces(listKey, new.list, since: old?.list, into: &rows, table)
      } else {
        rows.clear(MessageStore.range(of: .everything, in: table, behind: listKey.keyBytes))
      }
      return true
    }
  }

  @inlinable
  static func storePlaces(
    _ listKey: ListKey, _ list: PartialList<MessageID>, since old: PartialList<MessageID>?,
    into rows: inout RowWriter,
    _ table: StoredTable
  ) {
    let prefix = listKey.keyBytes
    var before = old?.ids
    if let old, !old.unloaded.isEmpty {
      for interval in old.unloaded.subtracting(list.unloaded).intervals {
        rows.clear(range(of: interval, in: table, behind: prefix))
        // Part of it may have been loaded.
        before?.removeAll(in: MessageID(interval.low)...MessageID(interval.high))
      }
    }
    rows.put(
      table, list.ids, since: before, where: { _, _ in false },
      key: { id in
        var key: [UInt8] = []
        key.reserveCapacity(prefix.count + MessageID.keyLength)
        key += prefix
        id.number.putKey(into: &key)
        return key
      }, value: { _, _ in })
  }

  @inlinable
  var head: StoredMessagesHead { StoredMessagesHead(self) }

  /// Restores the store from its rows, with its lists open. O(lists) if messages and places were
  /// left unloaded, else O(messages + places).
  @inlinable
  public init(stored rows: RowReader, from first: StoredTable) throws(StoredFormError) {
    let head: StoredMessagesHead? = try rows.value(of: first)
    guard let head else { throw StoredFormError(expected: "a store of messages") }
    self.init(following: head.followed)
    audit.polls = head.polls
    nextList = head.nextList
    newest = head.newest
    unheldDoubts = VersionedMap(
      sorted: zip(head.unheldDoubts, head.unheldDoubtFlags).map { (key: $0.0, value: $0.1) })
    tables = Tables(from: first)
    let hasUnloaded =
      rows.unloaded.contains(tables.messages) && rows.unloaded.contains(tables.places)
    held = try rows.map(of: tables.messages)
    doubts = try rows.map(of: tables.doubts)
    ahead = try rows.map(of: tables.ahead)
    var places = rows[tables.places]
    var lists: [VersionedMap<ListKey, Listed>.Element] = []
    for row in rows[tables.lists] {
      let listKey = try ListKey(keyBytes: row.key.bytes)
      var listed = try MessageStore.listed(row.value, on: listKey)
      guard listKey.number < nextList, listKeys.updateValue(listKey, forKey: listed.narrow) == nil
      else { throw StoredFormError(expected: "a list in its place") }
      if hasUnloaded, let newest {
        listed.list.unload(IDInterval(from: .veryBeginning, to: .id(newest)))
      } else {
        try listed.list.hold(MessageStore.ids(on: listKey, from: &places))
      }
      lists.append((key: listKey, value: listed))
    }
    self.lists = VersionedMap(sorted: lists)
    try loadCopies(rows[tables.copies])
    if hasUnloaded, let newest {
      unloaded = Knowledge(IDInterval(from: .veryBeginning, to: .id(newest)))
    } else {
      try check()
      guard places.isEmpty else { throw StoredFormError(expected: "the places of open lists") }
    }
  }

  @inlinable
  mutating func loadCopies(
    _ rows: ArraySlice<(key: StoredKey, value: [UInt8])>
  ) throws(StoredFormError) {
    for row in rows {
      let listKey = try ListKey(keyBytes: Array(row.key.bytes.prefix(ListKey.keyLength)))
      let id = try MessageID(keyBytes: Array(row.key.bytes.dropFirst(ListKey.keyLength)))
      let message = try ChatMessage<Content>(storedBytes: row.value)
      guard message.id == id, lists.contains(listKey) else {
        throw StoredFormError(expected: "a copy in its own row")
      }
      lists.modifyValue(forKey: listKey) { listed in
        listed.beside[id] = message
        listed.list.insertCopy(id)
      }
    }
  }

  @inlinable
  static func listed(_ bytes: [UInt8], on listKey: ListKey) throws(StoredFormError) -> Listed {
    let stored = try StoredList<Narrow>(storedBytes: bytes)
    guard listKey == ListKey(stored.narrow.channel, listKey.number) else {
      throw StoredFormError(expected: "a list in its place")
    }
    var listed = Listed(narrow: stored.narrow)
    listed.list.learn(stored.knowledge)
    if let limit = stored.historyLimit { listed.list.limitHistory(to: limit) }
    return listed
  }

  /// Takes the contents of one list from the front of the rows.
  @inlinable
  static func ids(
    on listKey: ListKey, from places: inout ArraySlice<(key: StoredKey, value: [UInt8])>
  ) throws(StoredFormError) -> VersionedMap<MessageID, PartialList<MessageID>.Present> {
    let prefix = listKey.keyBytes
    var ids: [VersionedMap<MessageID, PartialList<MessageID>.Present>.Element] = []
    while let row = places.first, row.key.bytes.starts(with: prefix) {
      let id = try MessageID(keyBytes: Array(row.key.bytes.dropFirst(prefix.count)))
      if let last = ids.last, last.key >= id { throw StoredFormError(expected: "an order") }
      ids.append((key: id, value: PartialList<MessageID>.Present()))
      places.removeFirst()
    }
    return VersionedMap(sorted: ids)
  }

  @inlinable
  func check() throws(StoredFormError) {
    for (id, held) in held where held.message.id != id {
      throw StoredFormError(expected: "a message in its own row")
    }
    for (id, _) in doubts where !held.contains(id) {
      throw StoredFormError(expected: "doubts about what is held")
    }
  }
}

extension MessageStore where Narrow: Storable, Content: Storable {
  /// Migrates rows of an older version, which took every message for one of the feed (R14): it is
  /// open which of these messages are. Lists are closed, and what they knew is forgotten. The
  /// messages stay.
  package static func openingFeed(
    _ rows: RowReader, from first: StoredTable, about isOpen: (ChatMessage<Content>) -> Bool
  ) throws(StoredFormError) -> RowReader {
    let tables = Tables(from: first)
    var doubts: VersionedMap<MessageID, MessageFlags> = try rows.map(of: tables.doubts)
    var messages: [(key: [UInt8], value: [UInt8])] = []
    for row in rows[tables.messages] {
      var held = try Held(storedBytes: row.value)
      if isOpen(held.message) {
        held.message.flags.insert(.outsideFeed)
        doubts[held.message.id] = .outsideFeed.union(doubts[held.message.id] ?? [])
      }
      messages.append((row.key.bytes, held.storedBytes))
    }
    let opened = try rows.replacing(tables.messages, with: messages)
      .replacing(tables.doubts, with: doubts.map { ($0.key.keyBytes, $0.value.storedBytes) })
    return try closingLists(opened, from: first)
  }

  /// Migrates rows whose lists lack something. They are closed, and what they knew is forgotten.
  /// The messages stay.
  package static func closingLists(
    _ rows: RowReader, from first: StoredTable
  ) throws(StoredFormError) -> RowReader {
    let tables = Tables(from: first)
    return try rows.replacing(tables.lists, with: []).replacing(tables.places, with: [])
  }
}

extension MessageID {
  /// The length of a key in bytes.
  @inlinable static var keyLength: Int { 8 }
}

extension MessageStore.ListKey {
  /// The length of a key in bytes.
  @inlinable static var keyLength: Int { 16 }

  @inlinable
  var keyBytes: [UInt8] { channel.keyBytes + number.keyBytes }

  @inlinable
  init(keyBytes: [UInt8]) throws(StoredFormError) {
    guard keyBytes.count == 16 else { throw StoredFormError(expected: "a key of 16 bytes") }
    channel = try Int64(keyBytes: Array(keyBytes[..<8]))
    number = try Int64(keyBytes: Array(keyBytes[8...]))
  }
}
