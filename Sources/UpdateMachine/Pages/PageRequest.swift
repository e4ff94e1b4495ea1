/// A request for a part of a list, or for one item.
public struct PageRequest<Narrow: Hashable & Sendable, ID: ListID>: Hashable, Sendable {
  /// `nil`: one item by its ID alone, whatever lists contain it.
  public var narrow: Narrow?
  /// Which part of the list, or which item.
  public var want: PageWant<ID>

  /// Asks for a part of a list. A part about an ID includes that ID.
  @inlinable
  public init(_ narrow: Narrow, _ anchor: PageAnchor<ID>, before: Int64, after: Int64) {
    self.narrow = narrow
    want = .about(anchor, before: before, after: after)
  }

  /// Asks for one item.
  @inlinable
  public init(_ id: ID) { want = .item(id) }
}

/// The outcome of a page.
public enum PageOutcome: Hashable, Sendable {
  /// It was taken.
  case taken
  /// It was taken as an outdated copy, for display. Nothing is known by it.
  case shown
  /// It is no longer awaited: its fetch was given up, or is of another generation.
  case absorbed
  /// It makes no sense; the fetch is over.
  case malformed
}

extension PageRequest: CustomStringConvertible where Narrow: CustomStringConvertible {
  /// "channel:7 about 12, 0 before, 20 after", "item 12".
  public var description: String { (narrow.map { "\($0) " } ?? "") + "\(want)" }
}
