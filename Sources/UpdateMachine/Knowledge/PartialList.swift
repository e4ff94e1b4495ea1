/// The held rows of one narrow, and the IDs for which they are everything.
///
/// A list decides nothing: its owner says which rows are in it and what is known. The list answers
/// what a window shows, and what to fetch for it.
public struct PartialList<ID: ListID>: Equatable, Sendable {
  @usableFromInline var _ids = VersionedMap<ID, Present>()
  @usableFromInline var _knowledge = Knowledge<ID>()
  @usableFromInline var _copied = VersionedMap<ID, Present>()
  @usableFromInline var _former: Former?
  @usableFromInline var _historyLimit: ID?
  @usableFromInline var _unloaded = Knowledge<ID>()

  /// The held rows of the narrow, known or not; ascending.
  @inlinable
  package var ids: VersionedMap<ID, Present> { _ids }

  /// Where ``ids``, together with what is ``unloaded``, is everything that the server has.
  @inlinable
  package var knowledge: Knowledge<ID> { _knowledge }

  /// Rows that the server lists and that are not held, because no events come of them. A page
  /// brought copies. They are shown as former ones, and ``knowledge`` says nothing of them.
  @inlinable
  package var copied: VersionedMap<ID, Present> { _copied }

  /// The list as it was before all of it was forgotten; for reading only.
  @inlinable
  package var former: Former? { _former }

  /// The server shows nothing of the list that is older than this ID, because it hides old rows. So
  /// nothing older is asked for, and there may be more than is held. The greatest ID: it shows
  /// nothing at all. Rows that were held before the server hid them stay.
  @inlinable
  public var historyLimit: ID? { _historyLimit }

  /// Where ``ids`` was saved by an earlier process and has not been read yet. IDs there may be
  /// known, but are not in memory.
  @inlinable
  package var unloaded: Knowledge<ID> { _unloaded }

  /// An earlier state of a list, and where it was complete then.
  @usableFromInline
  package struct Former: Equatable, Sendable {
    @usableFromInline package var ids: VersionedMap<ID, Present>
    @usableFromInline package var knowledge: Knowledge<ID>

    @inlinable
    init(ids: VersionedMap<ID, Present>, knowledge: Knowledge<ID>) {
      self.ids = ids
      self.knowledge = knowledge
    }

    @inlinable
    static func areIdentical(_ one: Former?, _ other: Former?) -> Bool {
      guard let one, let other else { return one == nil && other == nil }
      return one.ids.isIdentical(to: other.ids) && one.knowledge.isIdentical(to: other.knowledge)
    }
  }

  /// An empty value: only the presence of its ID counts.
  @usableFromInline
  package struct Present: BitwiseCopyable, Hashable, Sendable {
    @inlinable
    package init() {}
  }

  /// Creates an empty list that knows nothing.
  @inlinable
  package init() {}

  /// Creates a list that knows nothing and keeps another as former. If the other knew nothing, its
  /// own former list is kept instead.
  @inlinable
  package init(forgetting other: PartialList) {
    let isWorthMore = !other.knowledge.isEmpty || other.former == nil
    _former = isWorthMore ? Former(ids: other.ids, knowledge: other.knowledge) : other.former
    for (id, _) in other.copied { _former?.ids[id] = Present() }
  }

  /// Creates a list that never knows anything, and shows these rows as former.
  @inlinable
  package init(showing ids: VersionedMap<ID, Present>) {
    _former = Former(ids: ids, knowledge: Knowledge())
  }

  /// Whether the other is an unchanged copy of this one. O(1). Two lists with equal rows may still
  /// be none.
  @inlinable
  package func isIdentical(to other: PartialList) -> Bool {
    _ids.isIdentical(to: other._ids) && _knowledge.isIdentical(to: other._knowledge)
      && _copied.isIdentical(to: other._copied) && _unloaded.isIdentical(to: other._unloaded)
      && _historyLimit == other._historyLimit && Former.areIdentical(_former, other._former)
  }

  // MARK: Changes

  /// Adds a held row. O(log *n*), like all changes here.
  @inlinable
  package mutating func insert(_ id: ID) {
    if hides(id), !_ids.contains(id) { noteVisible(id) }
    _ids[id] = Present()
    _copied.removeValue(forKey: id)
  }

  /// Adds a row that is not held and of which a page brought a copy.
  @inlinable
  package mutating func insertCopy(_ id: ID) { _copied[id] = Present() }

  /// Removes a row that is no longer held, or no longer in the narrow. What is known stays.
  @inlinable
  package mutating func remove(_ id: ID) {
    _ids.removeValue(forKey: id)
    _copied.removeValue(forKey: id)
    if !_unloaded.isEmpty { _unloaded.remove(id) }
  }

  /// Removes a row that is gone, also from the former list.
  @inlinable
  package mutating func erase(_ id: ID) {
    remove(id)
    _former?.ids.removeValue(forKey: id)
  }

  /// Replaces all held rows.
  @inlinable
  package mutating func hold(_ all: VersionedMap<ID, Present>) {
    _ids = all
    _unloaded = Knowledge()
  }

  /// Notes that everything that the server has in an interval is held.
  @inlinable
  package mutating func learn(_ interval: IDInterval<ID>) { _knowledge.insert(interval) }

  /// The same for several intervals.
  @inlinable
  package mutating func learn(_ intervals: Knowledge<ID>) { _knowledge.formUnion(intervals) }

  /// Forgets what is known of an ID.
  @inlinable
  package mutating func forget(_ id: ID) { _knowledge.remove(id) }

  /// Forgets everything that is known. It is not kept as former, because it was wrong, or means
  /// something else now.
  @inlinable
  package mutating func forgetAll() {
    _knowledge = Knowledge()
    _historyLimit = nil
    _copied = VersionedMap()
  }

  /// Notes that what was saved of these IDs is not in memory, and is read when it is needed.
  @inlinable
  package mutating func unload(_ interval: IDInterval<ID>) { _unloaded.insert(interval) }

  /// Adds the IDs that were saved in an interval and have been read.
  @inlinable
  package mutating func load(_ interval: IDInterval<ID>, _ there: [ID]) {
    _unloaded.remove(interval)
    for id in there { _ids[id] = Present() }
  }

  /// Adds a row that was unloaded.
  @inlinable
  package mutating func load(_ id: ID) { _ids[id] = Present() }

  /// Gives up the unloaded rows, which cannot be read or are of no use. Nothing is known there.
  @inlinable
  package mutating func forgetUnloaded() {
    for interval in _unloaded.intervals { _knowledge.remove(interval) }
    _unloaded = Knowledge()
  }

  /// Notes that the server shows nothing older than this ID; `nil`: it hides nothing.
  @inlinable
  package mutating func limitHistory(to id: ID?) { _historyLimit = id }

  /// Notes that the server may show a row of this ID, although the limit says that it does not. The
  /// limit is lowered, and what is newer is asked for again.
  @inlinable
  package mutating func noteVisible(_ id: ID) {
    if hides(id) { _historyLimit = id }
  }

  /// Whether the server is known to hide this ID.
  @inlinable
  package func hides(_ id: ID) -> Bool { historyLimit.map { id < $0 } ?? false }

  /// Whether the list claims anything about an ID: it is held, known, unloaded or copied.
  @inlinable
  package func speaks(of id: ID) -> Bool {
    ids.contains(id) || knowledge.contains(id) || unloaded.contains(id) || copied.contains(id)
  }

  /// Whether the server hides everything there is.
  @inlinable
  var hidesEverything: Bool { historyLimit == ID(.max) }
}

/// A part of a list: some rows before an anchor, and some from it on.
public struct ListWindow<ID: ListID>: BitwiseCopyable, Hashable, Sendable {
  /// The place that the two counts are counted from.
  public var anchor: PageAnchor<ID>
  /// How many rows before the anchor are wanted.
  public var before: Int64
  /// How many rows from the anchor on are wanted, including the anchor's own.
  public var after: Int64

  /// Negative counts become 0.
  @inlinable
  public init(_ anchor: PageAnchor<ID>, before: Int64, after: Int64) {
    self.anchor = anchor
    self.before = max(0, before)
    self.after = max(0, after)
  }

  /// The newest `count` rows.
  @inlinable
  public static func newest(_ count: Int64) -> ListWindow {
    ListWindow(.newest, before: count, after: 0)
  }
}

/// The place in a list that a window or a page is about.
public enum PageAnchor<ID: ListID>: BitwiseCopyable, Hashable, Sendable {
  /// The very beginning of the list.
  case oldest
  /// The very end of the list.
  case newest
  /// A place that only the server knows, for example the first unread message. The answer says
  /// which ID it is.
  case serverChosen
  /// The place of an ID, whether or not the list has a row of it.
  case id(ID)

  /// The anchor's point on the line of IDs; `nil`: only the server knows.
  @inlinable
  package var point: IDInterval<ID>.Point? {
    switch self {
    case .oldest: .veryBeginning
    case .newest: .veryEnd
    case .serverChosen: nil
    case .id(let id): .id(id)
    }
  }
}

/// What to ask for, so that a list knows more. A part about an ID includes that ID.
public enum PageWant<ID: ListID>: BitwiseCopyable, Hashable, Sendable {
  /// Rows around an anchor: `before` it, and `after` from it on.
  case about(PageAnchor<ID>, before: Int64, after: Int64)
  /// One row, which is all that is missing between two others.
  case item(ID)
}

/// What a window shows of a list.
@usableFromInline package struct ListExcerpt<ID: ListID>: Hashable, Sendable {
  /// From the oldest to the newest. Before the first row that is no gap and after the last one
  /// nothing is claimed, except by ``reachesBeginning`` and ``reachesEnd``.
  @usableFromInline package var rows: [Row] = []
  /// Whether the first row is the oldest there is.
  @usableFromInline package var reachesBeginning = false
  /// Whether the last row is the newest there is.
  @usableFromInline package var reachesEnd = false
  /// Requests that would fill the gaps, the most urgent first; at most one per gap.
  @usableFromInline package var wants: [PageWant<ID>] = []
  /// Parts that are known but unloaded: to be read, not fetched.
  @usableFromInline package var unloaded: [Unloaded] = []

  /// A part of a list that is saved but not in memory.
  @usableFromInline
  package struct Unloaded: BitwiseCopyable, Hashable, Sendable {
    @usableFromInline package var interval: IDInterval<ID>
    /// Whether to read from its end, not from its beginning.
    @usableFromInline package var isFromEnd: Bool
    /// How many rows are wanted.
    @usableFromInline package var count: Int64

    @inlinable
    init(interval: IDInterval<ID>, isFromEnd: Bool, count: Int64) {
      self.interval = interval
      self.isFromEnd = isFromEnd
      self.count = count
    }
  }

  /// Nothing to show, and nothing to fetch.
  @inlinable
  package init() {}

  /// One line of an excerpt.
  @usableFromInline package enum Row: BitwiseCopyable, Hashable, Sendable {
    /// A held row. Between two of them without a gap there is no other.
    case item(ID)
    /// A row that was in the list formerly, and may no longer be, beside a gap; or one of which no
    /// events come (``PartialList/copied``).
    case former(ID)
    /// A span that is not known.
    case gap(IDInterval<ID>)
  }

  /// Whether all that was asked for is there, as far as the server shows it: a gap whose rows the
  /// server hides is filled by no request.
  @inlinable
  package var isComplete: Bool {
    wants.isEmpty
      && !rows.contains { row in
        guard case .gap(let gap) = row else { return false }
        return unloaded.contains { $0.interval == gap }
      }
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
