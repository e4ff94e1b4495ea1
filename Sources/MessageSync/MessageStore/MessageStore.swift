public import UpdateMachine

// MessageStore: the room of how messages and the lists of them are kept true while events and pages
// race (DESIGN §6, KNOWLEDGE.md).
//
// MessageStore may use: Message.

/// The messages that a client holds, and for each of some narrows the list of those in it and the
/// IDs of which that is everything (KNOWLEDGE.md; R1 to R13 are its rules).
///
/// What it promises, as long as the server keeps its contract: a held message shows the state at the
/// finger, field by field, or for what a page brought, a state that the server has had since; and
/// where a list is known, it holds what the server has there. It hears every event, in order, each
/// once, and every page that was asked for, whenever it comes: a page is not atomic with the finger.
///
/// A message is *held* only if every event about it comes here, so that it stays level. Places that
/// send none are not followed; what is seen of them is kept apart.
///
/// A copy costs nothing: everything large in it is shared until it is changed.
public struct MessageStore<Narrow: MessageNarrow>: Sendable {
  public typealias Content = Narrow.Content
  public typealias Event = MessageEvent<Content>
  public typealias Page = MessagePage<Content>
  public typealias Request = PageRequest<Narrow, MessageID>

  @usableFromInline var held = VersionedMap<MessageID, Held>()
  /// The greatest ID of which a message was ever held.
  @usableFromInline var newest: MessageID?
  /// Of held messages, the flags of which nobody can tell whether they are set (R10).
  @usableFromInline var doubts = VersionedMap<MessageID, MessageFlags>()
  /// Flags by which the model counts all messages, held or not (how many are unread, say). If one of
  /// them is in doubt of a message that is not held, that is asked for, too. Not saved: the model says it.
  public var countedFlags: MessageFlags = []
  /// Of messages that are not held, the counted flags that are in doubt.
  @usableFromInline var strange = VersionedMap<MessageID, MessageFlags>()
  @usableFromInline var lists = VersionedMap<Shelf, Listed>()
  /// Where the open narrows are. Nobody walks through it: its order is another in each process.
  @usableFromInline var shelves: [Narrow: Shelf] = [:]
  @usableFromInline var nextList: Int64 = 0
  /// The channels that send events; ascending.
  @usableFromInline var followed: [ChannelID]
  /// What was held before everything was forgotten; for reading only.
  @usableFromInline var former = VersionedMap<MessageID, Held>()

  /// Held messages of which a page brought something, and how many polls had left by then: they may
  /// be ahead of the finger until a poll that left later is answered, whole.
  @usableFromInline var ahead = VersionedMap<MessageID, UInt64>()

  @usableFromInline var journal = Journal()
  /// The fetches that are out, oldest first.
  @usableFromInline var fetches: [Fetch] = []
  /// Flag changes of the answer that is being applied.
  @usableFromInline var answer = AnswerFlags()
  @usableFromInline var audit = Audit()
  /// See ``takeMended()``.
  @usableFromInline var mended: [MessageID] = []

  /// The IDs of which a message may be held that is saved and not in memory.
  @usableFromInline var unloaded = Knowledge<MessageID>()
  /// Where it is saved.
  @usableFromInline var tables = Tables(from: .firstOfModel)

  /// See ``revision``.
  @usableFromInline var _revision: UInt64 = 0

  /// A held message, and what is known of where its fields come from.
  @usableFromInline
  struct Held: Hashable, Sendable {
    @usableFromInline var message: Message<Content>
    /// The version that an event gave with the content; `nil`: the content is from a page.
    @usableFromInline var contentEvent: Int64?
    /// The same of the place.
    @usableFromInline var placeEvent: Int64?
    /// Reactions that events have set or cleared.
    @usableFromInline var named: [Reaction] = []
  }

  /// Where a list is kept. Lists of one channel are side by side: what happens there concerns those,
  /// and the lists that are of no channel, and no others.
  @usableFromInline
  struct Shelf: BitwiseCopyable, Hashable, Comparable, Sendable {
    @usableFromInline var channel: Int64
    /// They count up in the order in which they are opened.
    @usableFromInline var number: Int64

    @inlinable
    init(_ channel: ChannelID?, _ number: Int64) {
      self.channel = channel?.number ?? .min
      self.number = number
    }

    @inlinable
    static func < (one: Shelf, other: Shelf) -> Bool {
      one.channel == other.channel ? one.number < other.number : one.channel < other.channel
    }

    /// Of a channel; `nil`: of none.
    @inlinable
    static func all(of channel: ChannelID?) -> ClosedRange<Shelf> {
      Shelf(channel, .min)...Shelf(channel, .max)
    }
  }

  /// A narrow that somebody looks at.
  @usableFromInline
  struct Listed: Equatable, Sendable {
    @usableFromInline var narrow: Narrow
    /// The narrow's own, at hand.
    @usableFromInline var reads: MessageFields
    @usableFromInline var list = PartialList<MessageID>()
    /// Copies from pages, of messages that are not held: they show what once was.
    @usableFromInline var copies = VersionedMap<MessageID, Message<Content>>()

    @inlinable
    init(narrow: Narrow) {
      self.narrow = narrow
      reads = narrow.reads
    }
  }

  /// A question for a page, since it left.
  @usableFromInline
  struct Fetch: Sendable {
    @usableFromInline var id: RequestID
    @usableFromInline var request: Request
    /// The position in the journal when it left.
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

  /// Nothing is held, nothing is known.
  /// - Parameter followed: the channels of which the server sends events to this user; direct
  ///   conversations always are.
  @inlinable
  public init(following followed: [ChannelID]) { self.followed = followed.sorted() }

  /// A new generation, after a register: nothing of the old one is believed, and no page that was
  /// asked for in it (R11). Its lists are open again, and can be read as what was known formerly.
  /// O(lists).
  @inlinable
  public init(following followed: [ChannelID], after old: MessageStore) {
    self.init(following: followed)
    _revision = old.revision + 1
    former = old.held.isEmpty ? old.former : old.held
    nextList = old.nextList
    shelves = old.shelves
    audit = Audit(counting: old.audit)
    lists = VersionedMap(
      sorted: old.lists.lazy.map { shelf, listed in
        var next = Listed(narrow: listed.narrow)
        next.list = PartialList(forgetting: listed.list)
        next.copies = listed.copies
        return (shelf, next)
      })
  }

  // MARK: Lists

  /// Opens the list of a narrow. What is held is in it at once, what is unloaded as soon as it is loaded;
  /// nothing is known yet. One that is open already stays as it is. O(held messages).
  @inlinable
  public mutating func open(_ narrow: Narrow) {
    guard shelf(of: narrow) == nil else { return }
    _revision += 1
    var listed = Listed(narrow: narrow)
    if canBeKnown(narrow) {
      for (id, held) in held where narrow.verdict(on: glimpse(of: held)) == .yes {
        listed.list.insert(id)
      }
    }
    let shelf = Shelf(narrow.channel, nextList)
    lists[shelf] = listed
    shelves[narrow] = shelf
    nextList += 1
  }

  /// Nobody looks at it any more. What it knew is forgotten.
  @inlinable
  public mutating func close(_ narrow: Narrow) {
    guard let shelf = shelves.removeValue(forKey: narrow) else { return }
    _revision += 1
    lists.removeValue(forKey: shelf)
  }

  /// The list of a narrow; `nil`: it is not open. O(1), however many lists are open.
  @inlinable
  public func list(of narrow: Narrow) -> PartialList<MessageID>? {
    shelf(of: narrow).flatMap { lists[$0]?.list }
  }

  /// The narrows whose lists are open, in the order in which they were opened. O(n log n).
  @inlinable
  public var narrows: [Narrow] {
    lists.sorted { $0.key.number < $1.key.number }.map { $0.value.narrow }
  }

  /// What is shown of a message in a list of this narrow: the held one, or else a copy that shows
  /// what once was.
  @inlinable
  public func message(_ id: MessageID, in narrow: Narrow) -> Message<Content>? {
    if let message = held[id]?.message { return message }
    if let shelf = shelf(of: narrow), let copy = lists[shelf]?.copies[id] { return copy }
    return former[id]?.message
  }

  /// The held message of this ID, level with the finger; `nil`: none is held, or it is unloaded.
  @inlinable
  public subscript(id: MessageID) -> Message<Content>? { held[id]?.message }

  /// How many messages are held, without those that are unloaded.
  @inlinable
  public var count: Int { held.count }

  /// The held messages in ascending order, without those that are unloaded.
  @inlinable
  public var messages: some Sequence<Message<Content>> { held.lazy.map { $0.value.message } }

  /// The flags of a held message that are in doubt: events have contradicted each other.
  @inlinable
  public func doubt(about id: MessageID) -> MessageFlags { doubts[id] ?? [] }

  /// The messages with a flag in doubt, held or counted; ascending, each once: each should be fetched by
  /// its ID.
  @inlinable
  public var doubtful: [MessageID] {
    if strange.isEmpty { return doubts.map { $0.key } }
    return (doubts.map { $0.key } + strange.map { $0.key }).sorted()
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
  public func follows(_ channel: ChannelID) -> Bool { followed.holds(channel) }

  /// What a narrow means has changed outside of all messages (a topic was muted, say): nothing is
  /// known of its list any more, and its pages that are out may be of what it meant before: they are
  /// given up (R11). O(held messages).
  @inlinable
  public mutating func reconsider(_ narrow: Narrow) {
    for fetch in fetches where fetch.request.narrow == narrow { abandon(fetch.id) }
    audit.forgetLacks(of: narrow)
    guard let shelf = shelf(of: narrow), var listed = lists[shelf] else { return }
    _revision += 1
    var ids = VersionedMap<MessageID, PartialList<MessageID>.Present>()
    for (id, held) in held where narrow.verdict(on: glimpse(of: held)) == .yes {
      ids[id] = PartialList<MessageID>.Present()
    }
    listed.list.forgetAll()
    listed.list.hold(ids)
    lists[shelf] = listed
  }

  /// Gives the memory of a held message back. Its ID is known no more (R12).
  @inlinable
  public mutating func drop(_ id: MessageID) {
    _revision += 1
    forEachList(
      where: { $0.list.speaks(of: id) },
      { listed in
        listed.list.forget(id)
        listed.list.remove(id)
      })
    release(id)
    guard hasUnloaded else { return }
    unloaded.remove(id)
    if unloaded.isEmpty { endUnloaded() }
  }

  /// The messages, since this was last asked, whose flags in doubt a page has settled (R10; also of ones
  /// that were not held, see ``countedFlags``), or that the audit has repaired or dropped (R13). The log tells nobody of it: what else follows from messages
  /// must hear it from here. Not saved.
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
  func shelf(of narrow: Narrow) -> Shelf? { shelves[narrow] }

  /// All that is held of it, whether in doubt or not.
  @inlinable
  func glimpse(of held: Held) -> MessageGlimpse<Content> { MessageGlimpse(held.message) }

  /// Changes every list that can be known, and that the change may concern; of one channel alone, or
  /// of none, if shelves are given. All there are asked: to ask is to look at a list where it is,
  /// while to change it copies what is shared.
  @inlinable
  mutating func forEachList(
    in range: ClosedRange<Shelf>? = nil, where isConcerned: (borrowing Listed) -> Bool,
    _ body: (inout Listed) -> Void
  ) {
    let followed = followed
    for shelf in lists.keys(in: range, where: isConcerned) {
      lists.modifyValue(forKey: shelf) {
        if MessageStore.canBeKnown($0.narrow, followed) { body(&$0) }
      }
    }
  }

  /// It is held no more; what the lists say of it is the caller's to see to.
  @inlinable
  mutating func release(_ id: MessageID) {
    held.removeValue(forKey: id)
    if let doubt = doubts.removeValue(forKey: id) { find(id, strange: doubt) }
    ahead.removeValue(forKey: id)
    audit.end(id)
  }
}

extension [ChannelID] {
  /// Whether it is one of these, which are ascending.
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
