public import UpdateMachine

/// What a server answered: some messages of a narrow, without a hole between the first and the last.
public struct MessagePage<Content: Hashable & Sendable>: Hashable, Sendable {
  /// In ascending order of their IDs, each once.
  public var messages: [Message<Content>]
  /// The ID that the page is about, if it is about one and that was to be included; a message of
  /// that ID need not be there.
  public var anchor: MessageID?
  /// Nothing of the narrow lies before the first message, or before the anchor if there is none.
  public var foundOldest: Bool
  /// Nothing of the narrow lies after the last message, or after the anchor if there is none.
  public var foundNewest: Bool
  /// The server hides what is older: the oldest message here need not be the oldest there is.
  public var isHistoryLimited: Bool

  @inlinable
  public init(
    messages: [Message<Content>], anchor: MessageID? = nil, foundOldest: Bool = false,
    foundNewest: Bool = false, isHistoryLimited: Bool = false
  ) {
    self.messages = messages
    self.anchor = anchor
    self.foundOldest = foundOldest
    self.foundNewest = foundNewest
    self.isHistoryLimited = isHistoryLimited
  }

  /// Whether the messages are in order.
  @inlinable
  public var isInOrder: Bool {
    for index in messages.indices.dropFirst() where messages[index - 1].id >= messages[index].id {
      return false
    }
    return true
  }

  /// Of which IDs the page says everything (KNOWLEDGE.md, R5): from the first to the last and the
  /// anchor's, to an end that was found; `nil`: of none.
  @inlinable
  public var interval: Interval<MessageID>? {
    let beginsAtOldest = foundOldest && !isHistoryLimited
    var low: Interval<MessageID>.Point?
    var high: Interval<MessageID>.Point?
    if let first = messages.first, let last = messages.last {
      low = .id(first.id)
      high = .id(last.id)
    }
    if let anchor {
      low = low.map { min($0, .id(anchor)) } ?? .id(anchor)
      high = high.map { max($0, .id(anchor)) } ?? .id(anchor)
    }
    if let low, let high {
      return Interval(
        from: beginsAtOldest ? .veryBeginning : low, to: foundNewest ? .veryEnd : high)
    }
    return beginsAtOldest && foundNewest ? .everything : nil
  }
}
