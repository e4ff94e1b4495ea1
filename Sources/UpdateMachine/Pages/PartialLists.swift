/// The partial lists of a model: what it holds of the server's lists, and what is known of them.
///
/// ``PagePlanner`` asks it what is missing and tells it what is fetched. It must be a value: equal inputs
/// in an equal order lead to equal answers.
public protocol PartialLists: Sendable {
  /// Names a list: which part of the server's data it shows.
  associatedtype Narrow: Hashable & Sendable
  associatedtype ID: ListID
  /// What a row shows.
  associatedtype Item: Hashable & Sendable
  /// What a fetch is answered with.
  associatedtype Page: Sendable

  /// Whether there are any: not of ``NoLists``.
  static var arePartial: Bool { get }

  /// Lists of which nothing is held, for as long as there is no model.
  static var none: Self { get }

  // MARK: Lists

  /// Opens a list. One that is open already stays as it is.
  mutating func open(_ narrow: Narrow)

  /// Nobody looks at it any more. What it knew is forgotten.
  mutating func close(_ narrow: Narrow)

  /// What a narrow means has changed: nothing is known of its list any more, and its fetches that are out
  /// are given up.
  mutating func reconsider(_ narrow: Narrow)

  /// Gives the memory of a held item back. Its ID is known no more.
  mutating func drop(_ id: ID)

  /// The list of a narrow; `nil`: it is not open.
  func list(of narrow: Narrow) -> PartialList<ID>?

  /// Whether a list of this narrow can ever be complete. If not, its pages are snapshots.
  func canBeKnown(_ narrow: Narrow) -> Bool

  /// The held item of this ID, level with the finger; `nil`: none is held, or it is unloaded.
  func item(_ id: ID) -> Item?

  /// What is shown of an item in a list of this narrow: the held one, or else a copy that shows what once
  /// was.
  func item(_ id: ID, in narrow: Narrow) -> Item?

  // MARK: What to read again

  /// Items of which nobody knows the state for certain: each should be fetched by its ID. Ascending, each
  /// once.
  var doubtful: [ID] { get }

  /// Held items that a page has contradicted: each should be read once more by its ID, after a pause. In
  /// the order in which they were found.
  var suspects: [ID] { get }

  /// The items that pages have mended since this was last asked: no event will tell of it.
  mutating func takeMended() -> [ID]

  // MARK: Fetches

  /// A question for a page leaves now.
  mutating func begin(_ fetch: RequestID, _ request: PageRequest<Narrow, ID>, isAudit: Bool)

  /// Its answer is not awaited any more.
  mutating func abandon(_ fetch: RequestID)

  /// No answer is awaited any more.
  mutating func abandonFetches()

  /// The fetches whose answers count, oldest first.
  var openFetches: [RequestID] { get }

  /// An answer to a fetch. It is taken whole, or not at all.
  mutating func take(_ page: Page, for fetch: RequestID) -> PageOutcome

  /// The ID that a page is about, if it is about one.
  static func anchor(of page: Page) -> ID?

  // MARK: The log

  /// A poll has left.
  mutating func asked()

  /// The answer to the last poll has been applied, whole. It may have been empty.
  mutating func answered()

  /// It was loaded from a saved form: what was out then is answered no more.
  mutating func restored()

  // MARK: Rows of the saved form that are unloaded

  /// Which rows must be loaded before a page is taken.
  func unloaded(under page: Page, for fetch: RequestID) -> [RowQuery]

  /// Which rows must be loaded to show what is known of a part of a list.
  func unloaded(under window: ListWindow<ID>, of narrow: Narrow) -> [RowQuery]

  // MARK: Changes

  /// Counts up whenever a list or a held item may have changed, so that nobody need compare. It is not
  /// saved, and says nothing of two copies that went different ways.
  var revision: UInt64 { get }
}

extension PartialLists {
  @inlinable
  public static var arePartial: Bool { true }
}

/// The lists of a model that has none: everything is held.
public struct NoLists: PartialLists, Hashable {
  public typealias Narrow = Never
  public typealias Item = Never
  public typealias Page = Never

  /// Names nothing.
  public struct ID: ListID {
    public let number: Int64

    @inlinable
    public init(_ number: Int64) { self.number = Swift.min(Swift.max(number, .min + 1), .max - 1) }
  }

  @inlinable
  public init() {}

  @inlinable
  public static var arePartial: Bool { false }

  @inlinable
  public static var none: NoLists { NoLists() }

  @inlinable
  public mutating func open(_ narrow: Never) {}

  @inlinable
  public mutating func close(_ narrow: Never) {}

  @inlinable
  public mutating func reconsider(_ narrow: Never) {}

  @inlinable
  public mutating func drop(_ id: ID) {}

  @inlinable
  public func list(of narrow: Never) -> PartialList<ID>? {}

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
  public mutating func begin(
    _ fetch: RequestID, _ request: PageRequest<Never, ID>, isAudit: Bool
  ) {}

  @inlinable
  public mutating func abandon(_ fetch: RequestID) {}

  @inlinable
  public mutating func abandonFetches() {}

  @inlinable
  public var openFetches: [RequestID] { [] }

  @inlinable
  public mutating func take(_ page: Never, for fetch: RequestID) -> PageOutcome {}

  @inlinable
  public static func anchor(of page: Never) -> ID? {}

  @inlinable
  public mutating func asked() {}

  @inlinable
  public mutating func answered() {}

  @inlinable
  public mutating func restored() {}

  @inlinable
  public func unloaded(under page: Never, for fetch: RequestID) -> [RowQuery] {}

  @inlinable
  public func unloaded(under window: ListWindow<ID>, of narrow: Never) -> [RowQuery] {}

  @inlinable
  public var revision: UInt64 { 0 }
}
