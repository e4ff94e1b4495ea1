public import UpdateMachine

// The lists of messages, as the planner and a client see them.

extension MessageStore: PartialLists {
  /// An empty store that follows no channels.
  @inlinable
  public static var none: MessageStore { MessageStore(following: []) }

  public typealias ID = MessageID
  public typealias Item = ChatMessage<Content>

  @inlinable
  public mutating func handle(_ input: ListInput<Narrow, MessageID>) {
    switch input {
    case .opened(let narrow): open(narrow)
    case .closed(let narrow): close(narrow)
    case .reconsidered(let narrow): reconsider(narrow)
    case .dropped(let id): drop(id)
    case .fetchBegan(let id, let request, let isAudit): begin(id, request, isAudit: isAudit)
    case .fetchAbandoned(let id): abandon(id)
    case .fetchesAbandoned: abandonFetches()
    case .asked: asked()
    case .answered: answered()
    case .answeredInPart: answeredInPart()
    case .restored: restored()
    }
  }

  @inlinable
  public mutating func open(_ narrow: Narrow, as copy: inout PartialList<MessageID>) -> Bool {
    guard let listKey = listKeys[narrow] else {
      open(narrow)
      copy = list(of: narrow) ?? PartialList()
      return true
    }
    var hasChanged = false
    lists.look(from: listKey) { _, listed in
      hasChanged = !copy.isIdentical(to: listed.list)
      if hasChanged { copy = listed.list }
      return true
    }
    return hasChanged
  }

  @inlinable
  public func item(_ id: MessageID) -> ChatMessage<Content>? { self[id] }

  @inlinable
  public func item(_ id: MessageID, in narrow: Narrow) -> ChatMessage<Content>? {
    message(id, in: narrow)
  }

  /// Whether a message is held and in memory; or, if it is of a place without events, whether each
  /// open list that certainly contains it has a copy. O(lists).
  @inlinable
  package func shows(_ message: PartialMessage<Content>) -> Bool {
    if held[message.id] != nil { return true }
    var isShown = false
    for (_, listed) in lists
    where !canBeKnown(listed.narrow) && listed.narrow.verdict(on: message) == .yes {
      guard listed.copies[message.id] != nil else { return false }
      isShown = true
    }
    return isShown
  }

  @inlinable
  public var revision: UInt64 { _revision }

  @inlinable
  public static func anchor(of page: Page) -> MessageID? { page.anchor }
}
