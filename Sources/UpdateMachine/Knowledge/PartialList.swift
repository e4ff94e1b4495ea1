/// The rows of one narrow, as far as they are held, and of which IDs that is everything.
///
/// A list decides nothing: its owner says which rows are in it and what is known. It answers what
/// there is to show of a window, and what to fetch for it.
public struct PartialList<ID: ListID>: Equatable, Sendable {
  @usableFromInline var _ids = VersionedMap<ID, Present>()
  @usableFromInline var _knowledge = Knowledge<ID>()
  @usableFromInline var _former: Former?
  @usableFromInline var _historyLimit: ID?
  @usableFromInline var _unloaded = Knowledge<ID>()

  /// The rows of the narrow that are held, known or not; ascending.
  @inlinable
  public var ids: VersionedMap<ID, Present> { _ids }

  /// Where ``ids`` is everything that the server has, with what is ``unloaded``.
  @inlinable
  public var knowledge: Knowledge<ID> { _knowledge }

  /// The list as it was before it was all forgotten; for reading only.
  @inlinable
  public var former: Former? { _former }

  /// The server hides what is older than this ID: there is no asking on. The greatest ID: it hides
  /// everything.
  @inlinable
  public var historyLimit: ID? { _historyLimit }

  /// Where ``ids`` was saved in an earlier life and has not been read yet: what is there may be known,
  /// and is not here.
  @inlinable
  public var unloaded: Knowledge<ID> { _unloaded }

  /// A list of former times, and where it was complete then.
  public struct Former: Equatable, Sendable {
    public var ids: VersionedMap<ID, Present>
    public var knowledge: Knowledge<ID>

    @inlinable
    init(ids: VersionedMap<ID, Present>, knowledge: Knowledge<ID>) {
      self.ids = ids
      self.knowledge = knowledge
    }
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
  @inlinable
  public init(forgetting other: PartialList) {
    let isWorthMore = !other.knowledge.isEmpty || other.former == nil
    _former = isWorthMore ? Former(ids: other.ids, knowledge: other.knowledge) : other.former
  }

  /// A list in which nothing is ever known: it shows these rows as former.
  @inlinable
  public init(showing ids: VersionedMap<ID, Present>) {
    _former = Former(ids: ids, knowledge: Knowledge())
  }

  // MARK: Changes

  /// A row of the narrow is held. O(log *n*), as are all changes here.
  @inlinable
  public mutating func insert(_ id: ID) {
    _ids[id] = Present()
    // Something older is there to be seen, so the limit was not one.
    if hides(id) { _historyLimit = nil }
  }

  /// A row is held no more, or is of the narrow no more. What is known stays.
  @inlinable
  public mutating func remove(_ id: ID) {
    _ids.removeValue(forKey: id)
    if !_unloaded.isEmpty { _unloaded.remove(id) }
  }

  /// A row is gone: it is not even shown as former.
  @inlinable
  public mutating func erase(_ id: ID) {
    remove(id)
    _former?.ids.removeValue(forKey: id)
  }

  /// These rows of the narrow are held, and no others.
  @inlinable
  public mutating func hold(_ all: VersionedMap<ID, Present>) {
    _ids = all
    _unloaded = Knowledge()
  }

  /// Everything that the server has there is held now.
  @inlinable
  public mutating func learn(_ interval: Interval<ID>) { _knowledge.insert(interval) }

  /// The same of several spans.
  @inlinable
  public mutating func learn(_ intervals: Knowledge<ID>) { _knowledge.formUnion(intervals) }

  /// Nothing is known any more of an ID.
  @inlinable
  public mutating func forget(_ id: ID) { _knowledge.remove(id) }

  /// Nothing is known any more. What was, is not kept as former: it was wrong, or means something
  /// else now.
  @inlinable
  public mutating func forgetAll() {
    _knowledge = Knowledge()
    _historyLimit = nil
  }

  /// What was saved of these IDs is to be read when it is needed. Nothing is here.
  @inlinable
  public mutating func unload(_ interval: Interval<ID>) { _unloaded.insert(interval) }

  /// What was saved there has been read: these IDs are in the list, as they were.
  @inlinable
  public mutating func load(_ interval: Interval<ID>, _ there: [ID]) {
    _unloaded.remove(interval)
    for id in there { _ids[id] = Present() }
  }

  /// A row that was unloaded is in the list, as it was.
  @inlinable
  public mutating func load(_ id: ID) { _ids[id] = Present() }

  /// What is unloaded cannot be read, or is of no use any more; nothing is known of it.
  @inlinable
  public mutating func forgetUnloaded() {
    for interval in _unloaded.intervals { _knowledge.remove(interval) }
    _unloaded = Knowledge()
  }

  /// The server shows nothing older than this.
  @inlinable
  public mutating func limitHistory(to id: ID) { _historyLimit = id }

  /// Whether the server is said to hide this ID.
  @inlinable
  public func hides(_ id: ID) -> Bool { historyLimit.map { id < $0 } ?? false }

  /// Whether it says anything of an ID, if only of what is unloaded: that it is held, or that it would
  /// be.
  @inlinable
  public func speaks(of id: ID) -> Bool {
    ids.contains(id) || knowledge.contains(id) || unloaded.contains(id)
  }

  /// Whether the server hides everything there is.
  @inlinable
  var hidesEverything: Bool { historyLimit == ID(.max) }
}

/// Of a list: so many rows before an anchor, and so many from it on.
public struct ListWindow<ID: ListID>: BitwiseCopyable, Hashable, Sendable {
  public var anchor: PageAnchor<ID>
  /// How many rows before the anchor are wanted.
  public var before: Int64
  /// How many after it, with the anchor's own row.
  public var after: Int64

  /// Less than no row is none.
  @inlinable
  public init(_ anchor: PageAnchor<ID>, before: Int64, after: Int64) {
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
public enum PageAnchor<ID: ListID>: BitwiseCopyable, Hashable, Sendable {
  case oldest
  case newest
  /// A place that only the server knows, as the first message that its user has not read. The answer says
  /// which ID it is.
  case serverChosen
  case id(ID)

  /// Where it is on the line of IDs; `nil`: only the server knows.
  @inlinable
  public var point: Interval<ID>.Point? {
    switch self {
    case .oldest: .veryBeginning
    case .newest: .veryEnd
    case .serverChosen: nil
    case .id(let id): .id(id)
    }
  }
}

/// What to ask for, so that a list knows more. What is about an ID includes that ID.
public enum PageWant<ID: ListID>: BitwiseCopyable, Hashable, Sendable {
  case about(PageAnchor<ID>, before: Int64, after: Int64)
  /// One row that is all that is missing between two others.
  case item(ID)
}

/// What there is to show of a window.
public struct ListExcerpt<ID: ListID>: Hashable, Sendable {
  /// From the oldest to the newest. Before the first row that is no gap and after the last, nothing
  /// is said, but for ``reachesBeginning`` and ``reachesEnd``.
  public var rows: [Row] = []
  /// The first row is the oldest that there is.
  public var reachesBeginning = false
  /// The last row is the newest that there is.
  public var reachesEnd = false
  /// What would fill its gaps, the most urgent first; at most one want for a gap.
  public var wants: [PageWant<ID>] = []
  /// What of it is known, but unloaded: it is to be read, not fetched.
  public var unloaded: [Unloaded] = []

  /// A part of a list that was saved and is not in memory.
  public struct Unloaded: BitwiseCopyable, Hashable, Sendable {
    public var interval: Interval<ID>
    /// From its end on, and not from its beginning.
    public var isFromEnd: Bool
    /// So many are wanted.
    public var count: Int64

    @inlinable
    init(interval: Interval<ID>, isFromEnd: Bool, count: Int64) {
      self.interval = interval
      self.isFromEnd = isFromEnd
      self.count = count
    }
  }

  /// Nothing to show, and nothing to fetch.
  @inlinable
  public init() {}

  /// One line of it.
  public enum Row: BitwiseCopyable, Hashable, Sendable {
    /// A row that is held. Between two of them without a gap there is no other.
    case item(ID)
    /// It was in the list formerly; now it is not known whether it still is. Only beside a gap.
    case former(ID)
    /// Nobody knows what is there.
    case gap(Interval<ID>)
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
    case .serverChosen: "the server's choice"
    case .id(let id): "\(id)"
    }
  }
}

extension PageWant: CustomStringConvertible {
  /// "about 12, 0 before, 20 after", "item 12".
  public var description: String {
    switch self {
    case .about(let anchor, let before, let after):
      "about \(anchor), \(before) before, \(after) after"
    case .item(let id): "item \(id)"
    }
  }
}

extension PartialList: CustomStringConvertible {
  /// "4 of [begin…9] [12…end]": how many rows, and where they are everything.
  public var description: String { "\(ids.count) of \(knowledge)" }
}
