/// What there is to see through a window, as one value: what is known, what was known formerly, and
/// where nobody knows what there is.
public struct WindowView<Lists: PartialLists>: Hashable, Sendable {
  public typealias Narrow = Lists.Narrow
  public typealias ID = Lists.ID
  public typealias Item = Lists.Item

  /// The list that is looked at.
  public var narrow: Narrow
  /// The part of it. *First unread* becomes the ID that it stands for as soon as a page has said which.
  public var window: ListWindow<ID>
  /// From the oldest to the newest.
  public var rows: [Row] = []
  /// The first row is the oldest that there is.
  public var reachesBeginning = false
  /// The last row is the newest that there is.
  public var reachesEnd = false
  /// All that was asked for is there, and held. Never so for a list that cannot be known (a search).
  public var isComplete = false

  /// One line of it.
  public enum Row: Hashable, Sendable {
    /// An item that is held. Between two of them without a gap there is no other.
    case item(Item)
    /// It was in the list formerly; now it is not known whether it still is. Only beside a gap. With
    /// what it was, if that is still there.
    case former(ID, Item?)
    /// Nobody knows what is there.
    case gap(Interval<ID>)
  }

  /// A view with nothing in it.
  @inlinable
  public init(_ narrow: Narrow, _ window: ListWindow<ID>) {
    self.narrow = narrow
    self.window = window
  }

  /// The items that are held, from the oldest to the newest.
  @inlinable
  public var items: [Item] {
    var items: [Item] = []
    for case .item(let item) in rows { items.append(item) }
    return items
  }
}

extension PagePlanner {
  /// What there is to see through a window now; `nil`: it is not open. Without lists nothing is known.
  /// O(rows + log *n*), besides finding the list.
  @inlinable
  public func view(_ id: WindowID, of lists: Lists?) -> WindowView<Lists>? {
    guard let (narrow, window) = window(id) else { return nil }
    var view = WindowView<Lists>(narrow, window)
    let excerpt = (lists?.list(of: narrow) ?? PartialList()).excerpt(of: window)
    for row in excerpt.rows {
      switch row {
      case .item(let id):
        // What a list shows is held; if it were not, nobody would know it.
        view.rows.append(lists?.item(id).map { .item($0) } ?? .gap(Interval(id)))
      case .former(let id): view.rows.append(.former(id, lists?.item(id, in: narrow)))
      case .gap(let interval): view.rows.append(.gap(interval))
      }
    }
    view.reachesBeginning = excerpt.reachesBeginning
    view.reachesEnd = excerpt.reachesEnd
    view.isComplete = excerpt.isComplete
    return view
  }
}

extension PagePlanner {
  /// What was seen through a window when it was last looked at; `nil`: it is not open.
  @inlinable
  public func shown(_ id: WindowID) -> WindowView<Lists>? {
    windows.first { $0.id == id }?.view
  }

  /// Looks through a window. Says whether something else is seen than before.
  @inlinable
  mutating func show(_ id: WindowID, of lists: Lists?) -> Bool {
    guard let index = windows.firstIndex(where: { $0.id == id }),
      let view = view(id, of: lists), view != windows[index].view
    else { return false }
    windows[index].view = view
    return true
  }
}
