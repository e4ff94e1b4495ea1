/// The messages of one narrow, as far as they are held, and of which IDs that is everything.
///
/// A list decides nothing: whoever keeps it says which messages are in it and what is known. It
/// answers what there is to show of a window, and what to fetch for it.
public struct PartialList: Sendable {
  /// The messages of the narrow that are held, known or not; ascending.
  public private(set) var ids = VersionedMap<MessageID, Present>()
  /// Where ``ids`` is everything that the server has, with what is ``asleep``.
  public private(set) var knowledge = Knowledge()
  /// The list as it was before it was all forgotten; for reading only.
  public private(set) var former: Former?
  /// The server hides what is older than this ID: there is no asking on. The greatest ID: it hides
  /// everything.
  public private(set) var historyLimit: MessageID?
  /// Where ``ids`` was saved in an earlier life and has not been read yet: what is there may be known,
  /// and is not here.
  public private(set) var asleep = Knowledge()

  /// A list of former times, and where it was complete then.
  public struct Former: Sendable {
    public fileprivate(set) var ids: VersionedMap<MessageID, Present>
    public let knowledge: Knowledge
  }

  /// Nothing: an ID is there, and that is all.
  public struct Present: BitwiseCopyable, Hashable, Sendable {
    @inlinable
    public init() {}
  }

  @inlinable
  public init() {}

  /// A list with nothing known in it, that remembers another as former. If that knew nothing, what
  /// it remembered itself stays.
  public init(forgetting other: PartialList) {
    let isWorthMore = !other.knowledge.isEmpty || other.former == nil
    former = isWorthMore ? Former(ids: other.ids, knowledge: other.knowledge) : other.former
  }

  /// A list in which nothing is ever known: it shows these messages as former.
  public init(showing ids: VersionedMap<MessageID, Present>) {
    former = Former(ids: ids, knowledge: Knowledge())
  }

  // MARK: Changes

  /// A message of the narrow is held. O(log *n*), as are all changes here.
  public mutating func insert(_ id: MessageID) {
    ids[id] = Present()
    // Something older is there to be seen, so the limit was not one.
    if hides(id) { historyLimit = nil }
  }

  /// A message is held no more, or is of the narrow no more. What is known stays.
  public mutating func remove(_ id: MessageID) {
    ids.removeValue(forKey: id)
    if !asleep.isEmpty { asleep.remove(id) }
  }

  /// A message is gone: it is not even shown as former.
  public mutating func erase(_ id: MessageID) {
    remove(id)
    former?.ids.removeValue(forKey: id)
  }

  /// These messages of the narrow are held, and no others.
  public mutating func hold(_ all: VersionedMap<MessageID, Present>) {
    ids = all
    asleep = Knowledge()
  }

  /// Everything that the server has there is held now.
  public mutating func learn(_ interval: Interval) { knowledge.insert(interval) }

  /// The same of several spans.
  public mutating func learn(_ intervals: Knowledge) { knowledge.formUnion(intervals) }

  /// Nothing is known any more of an ID.
  public mutating func forget(_ id: MessageID) { knowledge.remove(id) }

  /// Nothing is known any more. What was, is not kept as former: it was wrong, or means something
  /// else now.
  public mutating func forgetAll() {
    knowledge = Knowledge()
    historyLimit = nil
  }

  /// What was saved of these IDs is to be read when it is needed. Nothing is here.
  public mutating func sleep(_ interval: Interval) { asleep.insert(interval) }

  /// What was saved there has been read: these IDs are in the list, as they were.
  public mutating func wake(_ interval: Interval, _ there: [MessageID]) {
    asleep.remove(interval)
    for id in there { ids[id] = Present() }
  }

  /// A message that was asleep is in the list, as it was.
  @usableFromInline
  mutating func wake(_ id: MessageID) { ids[id] = Present() }

  /// What is asleep cannot be read, or is of no use any more; nothing is known of it.
  public mutating func forgetAsleep() {
    for interval in asleep.intervals { knowledge.remove(interval) }
    asleep = Knowledge()
  }

  /// The server shows nothing older than this.
  public mutating func limitHistory(to id: MessageID) { historyLimit = id }

  /// Whether the server is said to hide this ID.
  public func hides(_ id: MessageID) -> Bool { historyLimit.map { id < $0 } ?? false }

  /// Whether it says anything of an ID, if only in its sleep: that it is held, or that it would be.
  @inlinable
  func speaks(of id: MessageID) -> Bool {
    ids.contains(id) || knowledge.contains(id) || asleep.contains(id)
  }

  /// Whether the server hides everything there is.
  var hidesEverything: Bool { historyLimit == MessageID(.max) }
}

/// Of a list: so many messages before an anchor, and so many from it on.
public struct ListWindow: BitwiseCopyable, Hashable, Sendable {
  public var anchor: PageAnchor
  /// How many messages before the anchor are wanted.
  public var before: Int64
  /// How many after it, with the anchor's own message.
  public var after: Int64

  /// Less than no message is none.
  @inlinable
  public init(_ anchor: PageAnchor, before: Int64, after: Int64) {
    self.anchor = anchor
    self.before = max(0, before)
    self.after = max(0, after)
  }

  /// The newest so many.
  @inlinable
  public static func newest(_ count: Int64) -> ListWindow {
    ListWindow(.newest, before: count, after: 0)
  }
}

/// About which place of a list a window, or a page, is.
public enum PageAnchor: BitwiseCopyable, Hashable, Sendable {
  case oldest
  case newest
  /// Where the server thinks that the user should go on reading; its answer says which ID that is.
  case firstUnread
  case id(MessageID)

  /// Where it is on the line of IDs; `nil`: only the server knows.
  @inlinable
  public var point: Interval.Point? {
    switch self {
    case .oldest: .veryBeginning
    case .newest: .veryEnd
    case .firstUnread: nil
    case .id(let id): .id(id)
    }
  }
}

/// What to ask for, so that a list knows more. What is about an ID includes that ID.
public enum PageWant: BitwiseCopyable, Hashable, Sendable {
  case about(PageAnchor, before: Int64, after: Int64)
  /// One message that is all that is missing between two others.
  case message(MessageID)
}

/// What there is to show of a window.
public struct ListExcerpt: Hashable, Sendable {
  /// From the oldest to the newest. Before the first row that is no gap and after the last, nothing
  /// is said, but for ``reachesBeginning`` and ``reachesEnd``.
  public var rows: [Row] = []
  /// The first row is the oldest message that there is.
  public var reachesBeginning = false
  /// The last row is the newest message that there is.
  public var reachesEnd = false
  /// What would fill its gaps, the most urgent first; at most one want for a gap.
  public var wants: [PageWant] = []
  /// What of it is known, but asleep: it is to be read, not fetched.
  public var asleep: [Sleeping] = []

  /// A part of a list that was saved and is not in memory.
  public struct Sleeping: BitwiseCopyable, Hashable, Sendable {
    public var interval: Interval
    /// From its end on, and not from its beginning.
    public var isFromEnd: Bool
    /// So many are wanted.
    public var count: Int64
  }

  /// Nothing to show, and nothing to fetch.
  @inlinable
  public init() {}

  /// One line of it.
  public enum Row: BitwiseCopyable, Hashable, Sendable {
    /// A message that is held. Between two of them without a gap there is no other.
    case message(MessageID)
    /// It was in the list formerly; now it is not known whether it still is. Only beside a gap.
    case former(MessageID)
    /// Nobody knows what is there.
    case gap(Interval)
  }

  /// Whether all that was asked for is there.
  @inlinable
  public var isComplete: Bool { wants.isEmpty && !rows.contains { $0.isGap } }
}

extension ListExcerpt.Row {
  @inlinable
  var isGap: Bool {
    if case .gap = self { true } else { false }
  }
}

extension PageAnchor: CustomStringConvertible {
  public var description: String {
    switch self {
    case .oldest: "oldest"
    case .newest: "newest"
    case .firstUnread: "first unread"
    case .id(let id): "\(id)"
    }
  }
}

extension PageWant: CustomStringConvertible {
  /// "about 12, 0 before, 20 after", "message 12".
  public var description: String {
    switch self {
    case .about(let anchor, let before, let after):
      "about \(anchor), \(before) before, \(after) after"
    case .message(let id): "message \(id)"
    }
  }
}

extension PartialList: CustomStringConvertible {
  /// "4 of [begin…9] [12…end]": how many messages, and where they are everything.
  public var description: String { "\(ids.count) of \(knowledge)" }
}
