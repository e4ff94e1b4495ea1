/// What to ask a server for, to learn more of a list, or of one item.
public struct PageRequest<Narrow: Hashable & Sendable, ID: ListID>: Hashable, Sendable {
  /// `nil`: one item by its ID alone, whatever lists it is in.
  public var narrow: Narrow?
  public var want: PageWant<ID>

  /// A part of a list. What is about an ID includes that ID.
  @inlinable
  public init(_ narrow: Narrow, _ anchor: PageAnchor<ID>, before: Int64, after: Int64) {
    self.narrow = narrow
    want = .about(anchor, before: before, after: after)
  }

  /// One item.
  @inlinable
  public init(_ id: ID) { want = .item(id) }
}

/// What became of a page.
public enum PageOutcome: Hashable, Sendable {
  /// It was taken.
  case taken
  /// It was taken as a copy of what once was; nothing is known by it.
  case shown
  /// Nobody waits for it: its fetch was given up, or is of another generation.
  case absorbed
  /// It makes no sense; the fetch is over.
  case malformed
}

extension PageRequest: CustomStringConvertible where Narrow: CustomStringConvertible {
  /// "channel:7 about 12, 0 before, 20 after", "item 12".
  public var description: String { (narrow.map { "\($0) " } ?? "") + "\(want)" }
}
