public import UpdateMachine

// MessageStore: the room that keeps messages, and the lists of them, true while events and pages
// race (PartialKnowledge).
//
// MessageStore may use: Message.

/// The messages that a client holds and, for each open narrow, its list and the intervals of IDs in
/// which that list is complete (PartialKnowledge; R1 to R15 are its rules).
///
/// The store promises the following while the server keeps its contract. A held message shows the
/// state at the finger, field by field; a field that a page brought may show a later state of the
/// server. Where a list is known, it contains the messages that the server has there. The store
/// must be given every event, in order, each once, and every page that was fetched, however late. A
/// page is not atomic with the finger.
///
/// A message is *held* only if the store gets every event about it, so that it stays up to date.
/// Places without events are not followed, and copies from them are kept apart.
///
/// A copy of the store is O(1): everything large in it is shared until it is changed.
public struct MessageStore<Narrow: MessageNarrow>: Sendable {
  /// What a message says, as its narrows see it.
  public typealias Content = Narrow.Content
  /// What the store applies, in the log's order.
  public typealias Event = MessageEvent<Content>
  public typealias Page = MessagePage<Content>
  /// A request for a page, as the driver's source gets it.
  public typealias Request = PageRequest<Narrow, MessageID>

  @usableFromInline var held = VersionedMap<MessageID, Held>()
  /// The greatest ID of any message that was ever held.
  @usableFromInline package internal(set) var newest: MessageID?
  /// The flags of held messages whose values are in doubt (R10).
  @usableFromInline var doubts = VersionedMap<MessageID, MessageFlags>()
  /// Flags by which the model counts all messages, held or not, for example for a total of unread
  /// messages. If such a flag of an unheld message is in doubt, the message is fetched too. This is
  /// not saved, because the model sets it.
  public var countedFlags: MessageFlags = []
  /// The user whose messages they are; `nil` if unknown. A reaction of theirs brings a message into
  /// the feed (R14). This is not saved, because the model sets it.
  @usableFromInline package var reader: UserID?
  /// The counted flags in doubt of messages that are not held.
  @usableFromInline var unheldDoubts = VersionedMap<MessageID, MessageFlags>()
  @usableFromInline var lists = VersionedMap<ListKey, Listed>()
  /// The keys of the open narrows' lists. It is never iterated, because its order differs in each
  /// process.
  @usableFromInline var listKeys: [Narrow: ListKey] = [:]
  @usableFromInline var nextList: Int64 = 0
  /// The channels that send events, in ascending order.
  @usableFromInline var followed: [ChannelID]
  /// The messages held before the last register, kept only to be shown.
  @usableFromInline var former = VersionedMap<MessageID, Held>()

  /// Held messages that a page has changed, with the number of polls that had left by then. Each
  /// may be ahead of the finger until a poll that left later has been answered whole.
  @usableFromInline var ahead = VersionedMap<MessageID, UInt64>()

  @usableFromInline var journal = Journal()
  /// The open fetches, oldest first.
  @usableFromInline var fetches: [Fetch] = []
  /// Flag changes of the answer that is being applied.
  @usableFromInline var answer = AnswerFlags()
  @usableFromInline var audit = Audit()
  /// See ``takeMended()``.
  @usableFromInline var mended: [MessageID] = []

  /// The IDs whose messages may be saved but not in memory.
  @usableFromInline var unloaded = Knowledge<MessageID>()
  /// The tables in which the store is saved.
  @usableFromInline var tables = Tables(from: .firstOfModel)

  /// See ``revision``.
  @usableFromInline var _revision: UInt64 = 0

  /// A held message, with the origin of its fields.
  @usableFromInline
  struct Held: Hashable, Sendable {
    @usableFromInline var message: ChatMessage<Content>
    /// The version that an event gave with the content; `nil` if a page brought the content.
    @usableFromInline var contentEvent: Int64?
    /// The same for the place.
    @usableFromInline var placeEvent: Int64?
    /// Reactions that events have set or cleared.
    @usableFromInline var named: [MessageReaction] = []
  }

  /// The key of a list. Lists of one channel are adjacent. A change in a channel concerns only its
  /// lists and the lists without a channel.
  @usableFromInline
  struct ListKey: BitwiseCopyable, Hashable, Comparable, Sendable {
    @usableFromInline var channel: Int64
    /// Counts up in the order in which lists are opened.
    @usableFromInline var number: Int64

    @inlinable
    init(_ channel: ChannelID?, _ number: Int64) {
      self.channel = channel?.number ?? .min
      self.number = number
    }

    @inlinable
    static func < (one: ListKey, other: ListKey) -> Bool {
      one.channel == other.channel ? one.number < other.number : one.channel < other.channel
    }

    /// The keys of all lists of a channel, or for `nil` of all lists without a channel.
    @inlinable
    static func all(of channel: ChannelID?) -> ClosedRange<ListKey> {
      ListKey(channel, .min)...ListKey(channel, .max)
    }
  }

  /// An open narrow and its list.
  @usableFromInline
  struct Listed: Equatable, Sendable {
    @usableFromInline var narrow: Narrow
    /// A cached copy of `narrow.reads`.
    @usableFromInline var reads: MessageFields
    @usableFromInline var list = PartialList<MessageID>()
    /// Copies from pages of messages that are not held. They may be out of date.
    @usableFromInline var copies = VersionedMap<MessageID, ChatMessage<Content>>()
    /// The messages of `list.copied`: copies that are shown where the list is known (R15).
    @usableFromInline var beside = VersionedMap<MessageID, ChatMessage<Content>>()

    @inlinable
    init(narrow: Narrow) {
      self.narrow = narrow
      reads = narrow.reads
    }

    /// A list that knows nothing, and shows the messages of another one as former.
    @inlinable
    init(forgetting other: Listed) {
      self.init(narrow: other.narrow)
      list = PartialList(forgetting: other.list)
      copies = other.copies
      for (id, message) in other.beside { copies[id] = message }
    }
  }

  /// An open fetch.
  @usableFromInline
  struct Fetch: Sendable {
    @usableFromInline var id: RequestID
    @usableFromInline var request: Request
    /// The journal's position when the request left.
    @usableFromInline var begun: UInt64
    @usableFromInline var isAudit: Bool

    @inlinable
    init(id: RequestID, request: Request, begun: UInt64, isAudit: Bool) {
      self.id = id
      self.request = request
      self.begun = begun
      self.isAudit = isAudit
    }
  }

  /// Makes an empty store that knows nothing.
  /// - Parameter followed: the channels whose events the server sends to this user. Direct
  ///   conversations are always followed.
  @inlinable
  public init(following followed: [ChannelID]) { self.followed = followed.sorted() }

  /// Begins a new generation, after a register. The old messages, knowledge and open fetches become
  /// void (R11). The same lists are open, and remain readable as former. O(lists).
  @inlinable
  public init(following followed: [ChannelID], after old: MessageStore) {
    self.init(following: followed)
    _revision = old.revision + 1
    former = old.held.isEmpty ? old.former : old.held
    nextList = old.nextList
    listKeys = old.listKeys
    audit = Audit(counting: old.audit)
    lists = VersionedMap(
      sorted: old.lists.lazy.map { listKey, listed in
        (listKey, Listed(forgetting: listed))
      })
  }

  // MARK: Lists

  /// Opens the list of a narrow. It contains the held messages at once, and unloaded ones as they
  /// are loaded. Nothing is known yet. A list that is open already does not change. O(held
  /// messages).
  @inlinable
  package mutating func open(_ narrow: Narrow) {
    guard listKey(of: narrow) == nil else { return }
    _revision += 1
    var listed = Listed(narrow: narrow)
    if canBeKnown(narrow) {
      for (id, held) in held where narrow.verdict(on: partialMessage(of: held)) == .yes {
        listed.list.insert(id)
      }
    }
    let listKey = ListKey(narrow.channel, nextList)
    lists[listKey] = listed
    listKeys[narrow] = listKey
    nextList += 1
  }

  /// Closes the list of a narrow and forgets its knowledge.
  @inlinable
  package mutating func close(_ narrow: Narrow) {
    guard let listKey = listKeys.removeValue(forKey: narrow) else { return }
    _revision += 1
    lists.removeValue(forKey: listKey)
  }

  /// The list of a narrow; `nil` if it is not open. O(log n) in the number of open lists.
  @inlinable
  public func list(of narrow: Narrow) -> PartialList<MessageID>? {
    listKey(of: narrow).flatMap { lists[$0]?.list }
  }

  /// The narrows whose lists are open, in the order of opening. O(n log n).
  @inlinable
  public var narrows: [Narrow] {
    lists.sorted { $0.key.number < $1.key.number }.map { $0.value.narrow }
  }

  /// The message to show in a list of this narrow: the held one, or else a copy that may be out of
  /// date.
  @inlinable
  package func message(_ id: MessageID, in narrow: Narrow) -> ChatMessage<Content>? {
    if let message = held[id]?.message { return message }
    if let listKey = listKey(of: narrow), let listed = lists[listKey],
      let copy = listed.beside[id] ?? listed.copies[id]
    {
      return copy
    }
    return former[id]?.message
  }

  /// The held message of this ID, up to date with the finger; `nil` if it is not held, or if it is
  /// unloaded.
  @inlinable
  public subscript(id: MessageID) -> ChatMessage<Content>? { held[id]?.message }

  /// The number of held messages, not counting unloaded ones.
  @inlinable
  public var count: Int { held.count }

  /// The held messages in ascending order, without unloaded ones.
  @inlinable
  public var messages: some Sequence<ChatMessage<Content>> { held.lazy.map { $0.value.message } }

  /// The flags of a held message that are in doubt, because events contradicted each other.
  @inlinable
  package func doubt(about id: MessageID) -> MessageFlags { doubts[id] ?? [] }

  /// The messages with a flag in doubt, held or counted, each once, in ascending order. Each should
  /// be fetched by its ID. Whether a message is in the feed is not worth a request for itself: the
  /// lists that depend on it ask.
  @inlinable
  public var doubtful: [MessageID] {
    let held = doubts.filter { !$0.value.isSubset(of: .feedFlags) }.map { $0.key }
    if unheldDoubts.isEmpty { return held }
    return (held + unheldDoubts.map { $0.key }).sorted()
  }

  /// Whether a list of this narrow can ever be complete. If not, its pages are snapshots.
  @inlinable
  public func canBeKnown(_ narrow: Narrow) -> Bool { MessageStore.canBeKnown(narrow, followed) }

  @inlinable
  static func canBeKnown(_ narrow: Narrow, _ followed: [ChannelID]) -> Bool {
    guard narrow.isDecidable else { return false }
    guard let channel = narrow.channel else { return true }
    return followed.holds(channel)
  }

  /// Whether events come for this channel.
  @inlinable
  package func follows(_ channel: ChannelID) -> Bool { followed.holds(channel) }

  /// Forgets what is known of a list whose narrow has changed its meaning, as when a topic is
  /// muted. Its open fetches are abandoned, because their pages may follow the old meaning (R11).
  /// O(held messages).
  @inlinable
  package mutating func reconsider(_ narrow: Narrow) {
    for fetch in fetches where fetch.request.narrow == narrow { abandon(fetch.id) }
    audit.forgetEvidence(of: narrow)
    guard let listKey = listKey(of: narrow), var listed = lists[listKey] else { return }
    _revision += 1
    var ids = VersionedMap<MessageID, PartialList<MessageID>.Present>()
    for (id, held) in held where narrow.verdict(on: partialMessage(of: held)) == .yes {
      ids[id] = PartialList<MessageID>.Present()
    }
    listed.list.forgetAll()
    listed.beside = VersionedMap()
    listed.list.hold(ids)
    lists[listKey] = listed
  }

  /// Drops a held message to free memory. Its ID leaves every list's knowledge (R12).
  @inlinable
  package mutating func drop(_ id: MessageID) {
    _revision += 1
    forEachList(
      where: { $0.list.speaks(of: id) },
      { listed in
        listed.list.forget(id)
        listed.list.remove(id)
        listed.beside.removeValue(forKey: id)
      })
    release(id)
    guard hasUnloaded else { return }
    unloaded.remove(id)
    if unloaded.isEmpty { endUnloaded() }
  }

  /// Returns the messages mended since the last call: those whose flags in doubt a page has settled
  /// (R10; including unheld ones, see ``countedFlags``), and those that the audit has repaired or
  /// dropped (R13). No event announces these changes, so anything derived from messages must learn
  /// of them here. Not saved.
  @inlinable
  public mutating func takeMended() -> [MessageID] {
    guard !mended.isEmpty else { return [] }
    let ids = mended
    mended = []
    return ids
  }

  // MARK: Helpers

  @inlinable
  func follows(_ place: MessagePlace) -> Bool {
    guard let channel = place.channel else { return true }
    return follows(channel)
  }

  @inlinable
  func listKey(of narrow: Narrow) -> ListKey? { listKeys[narrow] }

  /// All fields of a held message, including flags in doubt.
  @inlinable
  func partialMessage(of held: Held) -> PartialMessage<Content> { PartialMessage(held.message) }

  /// Changes every list that can be known and that the change may concern. With `range`, only lists
  /// of one channel, or only those without a channel. `isConcerned` reads each list in place;
  /// changing a list copies what is shared.
  @inlinable
  mutating func forEachList(
    in range: ClosedRange<ListKey>? = nil, where isConcerned: (borrowing Listed) -> Bool,
    _ body: (inout Listed) -> Void
  ) {
    let followed = followed
    for listKey in lists.keys(in: range, where: isConcerned) {
      lists.modifyValue(forKey: listKey) {
        if MessageStore.canBeKnown($0.narrow, followed) { body(&$0) }
      }
    }
  }

  /// Removes a message from the store. The caller must update the lists.
  @inlinable
  mutating func release(_ id: MessageID) {
    held.removeValue(forKey: id)
    if let doubt = doubts.removeValue(forKey: id) { find(id, unheldDoubts: doubt) }
    ahead.removeValue(forKey: id)
    audit.end(id)
  }
}

extension [ChannelID] {
  /// Whether the channel is in this ascending array. O(log n).
  @inlinable
  func holds(_ channel: ChannelID) -> Bool {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < channel { low = middle + 1 } else { high = middle }
    }
    return low < count && self[low] == channel
  }
}
