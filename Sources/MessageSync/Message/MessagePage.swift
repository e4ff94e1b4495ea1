public import UpdateMachine

/// A server's answer: consecutive messages of a narrow, without a hole between the first and the
/// last.
public struct MessagePage<Content: Hashable & Sendable>: Hashable, Sendable {
  /// Ascending by ID, each once.
  public var messages: [ChatMessage<Content>]
  /// The ID that the page is about, if there is one and the request included it. The page need not
  /// contain a message of that ID.
  public var anchor: MessageID?
  /// Nothing of the narrow lies before the first message, or before the anchor if there is none.
  public var foundOldest: Bool
  /// Nothing of the narrow lies after the last message, or after the anchor if there is none.
  public var foundNewest: Bool
  /// The server hides older history: the oldest message here need not be the oldest there is.
  public var isHistoryLimited: Bool

  /// Creates a page. `messages` must be ascending by ID, each once; a page that is not is refused.
  @inlinable
  public init(
    messages: [ChatMessage<Content>], anchor: MessageID? = nil, foundOldest: Bool = false,
    foundNewest: Bool = false, isHistoryLimited: Bool = false
  ) {
    self.messages = messages
    self.anchor = anchor
    self.foundOldest = foundOldest
    self.foundNewest = foundNewest
    self.isHistoryLimited = isHistoryLimited
  }

  /// Whether the messages are ascending by ID, each once.
  @inlinable
  package var isInOrder: Bool {
    for index in messages.indices.dropFirst() where messages[index - 1].id >= messages[index].id {
      return false
    }
    return true
  }

  /// The IDs about which the page is complete (PartialKnowledge R5); `nil`: none. It spans the
  /// messages and the anchor, and extends to each end that was found.
  @inlinable
  package var interval: IDInterval<MessageID>? {
    let beginsAtOldest = foundOldest && !isHistoryLimited
    var low: IDInterval<MessageID>.Point?
    var high: IDInterval<MessageID>.Point?
    if let first = messages.first, let last = messages.last {
      low = .id(first.id)
      high = .id(last.id)
    }
    if let anchor {
      low = low.map { min($0, .id(anchor)) } ?? .id(anchor)
      high = high.map { max($0, .id(anchor)) } ?? .id(anchor)
    }
    if let low, let high {
      return IDInterval(
        from: beginsAtOldest ? .veryBeginning : low, to: foundNewest ? .veryEnd : high)
    }
    return beginsAtOldest && foundNewest ? .everything : nil
  }
}
