/// The partial lists of a model: what it holds of the server's lists, and what is known of them.
///
/// `MessageStore`, in the product *MessageSync*, is one, and ``NoLists`` is none. An app does not
/// write another, because what it would be made of (`PartialList`, `Knowledge`) is not public.
///
/// `PagePlanner` asks it what is missing and tells it what is fetched. It must be a value: equal
/// inputs in equal order give equal answers.
public protocol PartialLists<Narrow, ID>: Sendable {
  /// A filter that says which items a list shows.
  associatedtype Narrow: Hashable & Sendable
  /// The ID of an item, which orders all lists.
  associatedtype ID: ListID
  /// What a row shows.
  associatedtype Item: Hashable & Sendable
  /// The answer to a fetch.
  associatedtype Page: Sendable

  /// Whether there are any lists. `false` only for ``NoLists``.
  static var arePartial: Bool { get }

  /// Empty lists, for as long as there is no model.
  static var none: Self { get }

  /// Takes what happens to the lists, apart from events and pages.
  mutating func handle(_ input: ListInput<Narrow, ID>)

  // MARK: Lists

  /// The list of a narrow; `nil`: it is not open.
  func list(of narrow: Narrow) -> PartialList<ID>?

  /// Opens the list of a narrow, unless it is open, and makes `copy` a copy of it. Returns `false`
  /// if it was that before: O(1) then, except for finding the list.
  mutating func open(_ narrow: Narrow, as copy: inout PartialList<ID>) -> Bool

  /// The narrows whose lists are open, in the order of opening. O(n log n). A start asks for them,
  /// so that lists which no window shows any more are bounded across starts, too.
  var narrows: [Narrow] { get }

  /// Whether a list of this narrow can ever be complete. If not, its pages are snapshots.
  func canBeKnown(_ narrow: Narrow) -> Bool

  /// The held item with this ID, up to date with the finger; `nil`: none is held, or it is
  /// unloaded.
  func item(_ id: ID) -> Item?

  /// The item to show in a list of this narrow: the held one, or else an outdated copy.
  func item(_ id: ID, in narrow: Narrow) -> Item?

  // MARK: Items to read again

  /// Items whose state is in doubt: each should be fetched by its ID. Ascending, each once.
  var doubtful: [ID] { get }

  /// Held items that a page has contradicted: each should be read once more by its ID, after a
  /// pause. In the order in which they were found.
  var suspects: [ID] { get }

  /// Returns the items that pages have mended since the last call. No event will tell of them.
  mutating func takeMended() -> [ID]

  // MARK: Fetches

  /// The fetches whose answers count, oldest first.
  var openFetches: [RequestID] { get }

  /// Takes the answer to a fetch, whole or not at all.
  mutating func take(_ page: Page, for fetch: RequestID) -> PageOutcome

  /// The ID that a page is about, if any.
  static func anchor(of page: Page) -> ID?

  // MARK: Rows of the saved form that are unloaded

  /// Returns the rows that must be loaded before a page is taken.
  func unloaded(under page: Page, for fetch: RequestID) -> [RowQuery]

  /// Returns the rows that must be loaded to show what is known of a part of a list.
  func unloaded(under window: ListWindow<ID>, of narrow: Narrow) -> [RowQuery]

  // MARK: Changes

  /// A counter that grows whenever a list or a held item may have changed, so that nothing need be
  /// compared. It is not saved, and cannot compare two copies that went different ways.
  var revision: UInt64 { get }
}

extension PartialLists {
  @inlinable
  public static var arePartial: Bool { true }
}

/// What happens to partial lists.
public enum ListInput<Narrow: Hashable & Sendable, ID: ListID>: Sendable {
  /// A list is opened. An open list stays as it is.
  case opened(Narrow)
  /// A list is no longer shown. What it knew is forgotten.
  case closed(Narrow)
  /// A narrow has changed its meaning. What is known of its list is forgotten, and its open fetches
  /// are given up.
  case reconsidered(Narrow)
  /// A held item is dropped to free memory. Its ID is no longer known.
  case dropped(ID)
  /// The request for a page leaves now.
  case fetchBegan(RequestID, PageRequest<Narrow, ID>, isAudit: Bool)
  /// A fetch is given up. Its answer is no longer awaited.
  case fetchAbandoned(RequestID)
  /// All fetches are given up.
  case fetchesAbandoned
  /// A poll has left.
  case asked
  /// The answer to the last poll, perhaps empty, has been applied as a whole.
  case answered
  /// An answer has been applied, but the server has more (``SyncAdvance``). So what was committed
  /// before the poll left may still be missing.
  case answeredInPart
  /// The lists come from a saved form: fetches of that time get no answer.
  case restored
}

/// The lists of a model that has none, because it holds everything.
public struct NoLists: PartialLists, Hashable {
  /// Names nothing.
  public struct ID: ListID {
    public let number: Int64

    @inlinable
    public init(_ number: Int64) { self.number = Swift.min(Swift.max(number, .min + 1), .max - 1) }
  }

  /// Creates the only value there is.
  @inlinable
  package init() {}

  @inlinable
  public static var arePartial: Bool { false }

  @inlinable
  public static var none: NoLists { NoLists() }

  @inlinable
  public mutating func handle(_ input: ListInput<Never, ID>) {}

  @inlinable
  public func list(of narrow: Never) -> PartialList<ID>? {}

  @inlinable
  public mutating func open(_ narrow: Never, as copy: inout PartialList<ID>) -> Bool {}

  @inlinable
  public var narrows: [Never] { [] }

  @inlinable
  public func canBeKnown(_ narrow: Never) -> Bool {}

  @inlinable
  public func item(_ id: ID) -> Never? { nil }

  @inlinable
  public func item(_ id: ID, in narrow: Never) -> Never? {}

  @inlinable
  public var doubtful: [ID] { [] }

  @inlinable
  public var suspects: [ID] { [] }

  @inlinable
  public mutating func takeMended() -> [ID] { [] }

  @inlinable
  public var openFetches: [RequestID] { [] }

  @inlinable
  public mutating func take(_ page: Never, for fetch: RequestID) -> PageOutcome {}

  @inlinable
  public static func anchor(of page: Never) -> ID? {}

  @inlinable
  public func unloaded(under page: Never, for fetch: RequestID) -> [RowQuery] {}

  @inlinable
  public func unloaded(under window: ListWindow<ID>, of narrow: Never) -> [RowQuery] {}

  @inlinable
  public var revision: UInt64 { 0 }
}
