/// What there is to see through a window, as one value: what is known, what was known formerly, and
/// where nobody knows what there is.
public struct WindowView<Narrow: MessageNarrow>: Hashable, Sendable {
  public typealias Content = Narrow.Content

  /// The list that is looked at.
  public var narrow: Narrow
  /// The part of it. *First unread* becomes the ID that it stands for as soon as a page has said which.
  public var window: ListWindow
  /// From the oldest to the newest.
  public var rows: [Row] = []
  /// The first row is the oldest message that there is.
  public var reachesBeginning = false
  /// The last row is the newest message that there is.
  public var reachesEnd = false
  /// All that was asked for is there, and held. Never so for a list that cannot be known (a search).
  public var isComplete = false

  /// One line of it.
  public enum Row: Hashable, Sendable {
    /// A message that is held. Between two of them without a gap there is no other.
    case message(Message<Content>)
    /// It was in the list formerly; now it is not known whether it still is. Only beside a gap. With
    /// what it was, if that is still there.
    case former(MessageID, Message<Content>?)
    /// Nobody knows what is there.
    case gap(Interval)
  }

  /// A view with nothing in it.
  public init(_ narrow: Narrow, _ window: ListWindow) {
    self.narrow = narrow
    self.window = window
  }

  /// The messages that are held, from the oldest to the newest.
  public var messages: [Message<Content>] {
    var messages: [Message<Content>] = []
    for case .message(let message) in rows { messages.append(message) }
    return messages
  }
}

extension PagePlanner {
  /// What there is to see through a window now; `nil`: it is not open. Without a store nothing is
  /// known. O(rows + log *n*), besides finding the list.
  public func view(_ id: WindowID, of store: Store?) -> WindowView<Narrow>? {
    guard let (narrow, window) = window(id) else { return nil }
    var view = WindowView(narrow, window)
    let excerpt = (store?.list(of: narrow) ?? PartialList()).excerpt(of: window)
    for row in excerpt.rows {
      switch row {
      case .message(let id):
        // What a list shows is held; if it were not, nobody would know it.
        view.rows.append(store?[id].map { .message($0) } ?? .gap(Interval(id)))
      case .former(let id): view.rows.append(.former(id, store?.message(id, in: narrow)))
      case .gap(let interval): view.rows.append(.gap(interval))
      }
    }
    view.reachesBeginning = excerpt.reachesBeginning
    view.reachesEnd = excerpt.reachesEnd
    view.isComplete = excerpt.isComplete
    return view
  }
}
