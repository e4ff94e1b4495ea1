// Messages and lists in rows, so that a batch is written at the price of the batch.
//
// What is in a list follows from what is held, and is not written. Nor is what is worth nothing after
// a restart: fetches that are out, copies and former messages, which are only shown until there is
// something better, and contradictions, which the next page finds again.

extension StoredTable {
  /// How many tables a store of messages takes.
  public static var ofMessages: UInt8 { 5 }
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

/// A list without what is in it.
@usableFromInline
struct StoredList<Narrow: MessageNarrow & Storable>: Storable {
  @usableFromInline var narrow: Narrow
  @usableFromInline var knowledge: Knowledge
  @usableFromInline var historyLimit: MessageID?

  @inlinable
  init(_ narrow: Narrow, _ list: PartialList) {
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

/// The rest.
@usableFromInline
struct StoredMessagesHead: Storable, Equatable {
  @usableFromInline var followed: [ChannelID]
  @usableFromInline var polls: UInt64
  @usableFromInline var nextList: Int64

  @inlinable
  init(followed: [ChannelID], polls: UInt64, nextList: Int64) {
    self.followed = followed
    self.polls = polls
    self.nextList = nextList
  }

  @inlinable
  func put(into bytes: inout ByteWriter) {
    bytes.put(followed)
    bytes.put(polls)
    bytes.put(nextList)
  }

  @inlinable
  init(from bytes: inout ByteReader) throws(StoredFormError) {
    followed = try bytes.takeArray()
    polls = try bytes.takeUInt64()
    nextList = try bytes.takeInt64()
    guard polls < 1 << 62, nextList < 1 << 62, nextList >= 0,
      zip(followed, followed.dropFirst()).allSatisfy({ $0 < $1 })
    else { throw StoredFormError(expected: "the head of a store of messages") }
  }
}

extension MessageStore where Narrow: Storable, Content: Storable {
  /// Writes what is otherwise than in an older state of it; `nil`: everything. Takes
  /// ``StoredTable/ofMessages`` tables from the first on.
  @inlinable
  public func store(
    since old: MessageStore?, into rows: inout RowWriter, from first: StoredTable
  ) {
    rows.put(first, head, since: old?.head)
    rows.put(first.advanced(by: 1), held, since: old?.held)
    rows.put(first.advanced(by: 2), doubts, since: old?.doubts)
    rows.put(first.advanced(by: 3), ahead, since: old?.ahead)
    rows.put(
      first.advanced(by: 4), lists, since: old?.lists,
      where: {
        $0.list.knowledge != $1.list.knowledge || $0.list.historyLimit != $1.list.historyLimit
      },
      key: { $0.channel.keyBytes + $0.number.keyBytes },
      value: { StoredList($0.narrow, $0.list).storedBytes })
  }

  @inlinable
  var head: StoredMessagesHead {
    StoredMessagesHead(followed: followed, polls: audit.polls, nextList: nextList)
  }

  /// The store that these rows are of. Its lists are open, and what is held is in them. O(held
  /// messages × lists of their channels).
  @inlinable
  public init(stored rows: StoredRows, from first: StoredTable) throws(StoredFormError) {
    let head: StoredMessagesHead? = try rows.value(of: first)
    guard let head else { throw StoredFormError(expected: "a store of messages") }
    self.init(following: head.followed)
    audit.polls = head.polls
    nextList = head.nextList
    held = try rows.map(of: first.advanced(by: 1))
    doubts = try rows.map(of: first.advanced(by: 2))
    ahead = try rows.map(of: first.advanced(by: 3))
    var lists: [VersionedMap<Shelf, Listed>.Element] = []
    for row in rows[first.advanced(by: 4)] {
      let shelf = try Shelf(keyBytes: row.key.bytes)
      let stored = try StoredList<Narrow>(storedBytes: row.value)
      guard shelf == Shelf(stored.narrow.channel, shelf.number), shelf.number < nextList,
        shelves.updateValue(shelf, forKey: stored.narrow) == nil
      else { throw StoredFormError(expected: "a list in its place") }
      var listed = Listed(narrow: stored.narrow)
      listed.list.learn(stored.knowledge)
      if let limit = stored.historyLimit { listed.list.limitHistory(to: limit) }
      lists.append((key: shelf, value: listed))
    }
    try check()
    fill(&lists)
    self.lists = VersionedMap(sorted: lists)
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

  /// Puts into each list what of the held messages is in it.
  @inlinable
  func fill(_ lists: inout [VersionedMap<Shelf, Listed>.Element]) {
    // By channel, and in each ascending: a list of a channel looks at what stands there alone.
    var places: [(channel: Int64, id: MessageID)] = []
    places.reserveCapacity(held.count)
    for (id, held) in held {
      places.append((held.message.place.channel?.number ?? .min, id))
    }
    places.sort { $0.channel == $1.channel ? $0.id < $1.id : $0.channel < $1.channel }
    for index in lists.indices {
      let narrow = lists[index].value.narrow
      guard canBeKnown(narrow) else { continue }
      var ids: [VersionedMap<MessageID, PartialList.Present>.Element] = []
      if let channel = narrow.channel {
        var place = MessageStore.firstIndex(of: channel.number, in: places)
        while place < places.count, places[place].channel == channel.number {
          let id = places[place].id
          if isIn(id, narrow) { ids.append((key: id, value: PartialList.Present())) }
          place += 1
        }
      } else {
        for (id, held) in held where narrow.verdict(on: glimpse(of: held)) == .yes {
          ids.append((key: id, value: PartialList.Present()))
        }
      }
      lists[index].value.list.hold(VersionedMap(sorted: ids))
    }
  }

  @inlinable
  func isIn(_ id: MessageID, _ narrow: Narrow) -> Bool {
    guard let held = held[id] else { return false }
    return narrow.verdict(on: glimpse(of: held)) == .yes
  }

  @inlinable
  static func firstIndex(
    of channel: Int64, in places: [(channel: Int64, id: MessageID)]
  ) -> Int {
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      if places[middle].channel < channel { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension MessageStore.Shelf {
  @inlinable
  init(keyBytes: [UInt8]) throws(StoredFormError) {
    guard keyBytes.count == 16 else { throw StoredFormError(expected: "a key of 16 bytes") }
    channel = try Int64(keyBytes: Array(keyBytes[..<8]))
    number = try Int64(keyBytes: Array(keyBytes[8...]))
  }
}
