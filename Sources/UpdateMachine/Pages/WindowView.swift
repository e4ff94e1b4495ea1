/// The view through a window, as one value: what is known, what was known formerly, and the gaps.
public struct WindowView<Lists: PartialLists>: Hashable, Sendable {
  /// The list that the window shows.
  public var narrow: Lists.Narrow
  /// The part of the list. *First unread* becomes an ID as soon as a page has said which.
  public var window: ListWindow<Lists.ID>
  /// From the oldest to the newest.
  public var rows: [Row] = []
  /// Whether the first row is the oldest there is.
  public var reachesBeginning = false
  /// Whether the last row is the newest there is.
  public var reachesEnd = false
  /// Whether all that was asked for is there, and held, as far as the server shows it: it may hide
  /// old rows (``PartialList/historyLimit``). Never true for a list that cannot be known (a
  /// search).
  public var isComplete = false

  /// Whether the list cannot be known, as a search cannot: it shows what a page has said, and
  /// hardly any event changes it. A window that is moved to where it is reads it again.
  public var isSnapshot = false

  /// One line of a view.
  public enum Row: Hashable, Sendable {
    /// A held item. Between two of them without a gap there is no other.
    case item(Lists.Item)
    /// An item that was in the list formerly, is in a snapshot, or is one of which no events come,
    /// and so may no longer be in the list. With its content, if that is still there.
    case former(Lists.ID, Lists.Item?)
    /// A span that is not known.
    case gap(IDInterval<Lists.ID>)
  }

  /// A view with nothing in it.
  @inlinable
  package init(_ narrow: Lists.Narrow, _ window: ListWindow<Lists.ID>) {
    self.narrow = narrow
    self.window = window
  }

  /// The view of a list as it is held now, whether or not a window is open on it. Without lists, or
  /// if the list is not open, nothing is known. O(rows + log *n*), besides finding the list.
  @inlinable
  public init(_ narrow: Lists.Narrow, _ window: ListWindow<Lists.ID>, of lists: Lists?) {
    self.init(narrow, window)
    let excerpt = (lists?.list(of: narrow) ?? PartialList()).excerpt(of: window)
    for row in excerpt.rows {
      switch row {
      case .item(let id):
        // A listed item is always held. If it were not, it would not be known.
        rows.append(lists?.item(id).map { .item($0) } ?? .gap(IDInterval(id)))
      case .former(let id): rows.append(.former(id, lists?.item(id, in: narrow)))
      case .gap(let interval): rows.append(.gap(interval))
      }
    }
    reachesBeginning = excerpt.reachesBeginning
    reachesEnd = excerpt.reachesEnd
    isComplete = excerpt.isComplete
    isSnapshot = lists.map { !$0.canBeKnown(narrow) } ?? false
  }

  /// The items that there are to show, from the oldest to the newest: those that are held, those
  /// of a snapshot or without events, and those that were in the list before the log was lost.
  /// ``rows`` tells them apart, and has the gaps.
  @inlinable
  public var items: [Lists.Item] {
    var items: [Lists.Item] = []
    for row in rows {
      switch row {
      case .item(let item): items.append(item)
      case .former(_, let item): if let item { items.append(item) }
      case .gap: break
      }
    }
    return items
  }
}

extension PagePlanner {
  /// The present view through a window; `nil`: the window is not open. Without lists nothing is
  /// known. O(rows + log *n*), besides finding the list.
  @inlinable
  package func view(_ id: WindowID, of lists: Lists?) -> WindowView<Lists>? {
    guard let (narrow, window) = window(id) else { return nil }
    return WindowView(narrow, window, of: lists)
  }
}

extension PagePlanner {
  /// The view last shown through a window; `nil`: the window is not open.
  @inlinable
  package func shown(_ id: WindowID) -> WindowView<Lists>? {
    windows.first { $0.id == id }?.view
  }

  /// Updates the view through a window. Returns whether it changed.
  @inlinable
  mutating func show(_ id: WindowID, of lists: Lists?) -> Bool {
    guard let index = windows.firstIndex(where: { $0.id == id }),
      let view = view(id, of: lists), view != windows[index].view
    else { return false }
    windows[index].view = view
    return true
  }
}
