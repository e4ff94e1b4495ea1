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
  /// The server hides older history: the oldest message here is the oldest that it shows. If a
  /// request for one message is answered so, without a message, the server hides that message.
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

  /// The IDs about which the page, an answer to this request, is complete (PartialKnowledge R5);
  /// `nil`: none. It spans the messages and the anchor, and extends to each end that was found.
  ///
  /// If the server hides old messages, it begins with the first message that is shown. The answer
  /// to a request for one message is complete about its ID, whether the message is there or not,
  /// except if the server hides it: then it says nothing.
  ///
  /// - Parameter isListLimited: whether the server is known to hide messages of the list.
  @inlinable
  package func interval(
    for want: PageWant<MessageID>, isListLimited: Bool = false
  ) -> IDInterval<MessageID>? {
    if case .item(let id) = want { return hidesItem(want) ? nil : IDInterval(id) }
    var low: IDInterval<MessageID>.Point?
    var high: IDInterval<MessageID>.Point?
    if let first = messages.first, let last = messages.last {
      low = .id(first.id)
      high = .id(last.id)
    }
    if let anchor {
      high = high.map { max($0, .id(anchor)) } ?? .id(anchor)
    }
    if isHistoryLimited || isListLimited && mayHide(for: want) {
      guard let low, let high else { return nil }
      return IDInterval(from: low, to: isEnd(for: want) ? .veryEnd : high)
    }
    if let anchor { low = low.map { min($0, .id(anchor)) } ?? .id(anchor) }
    if let low, let high {
      return IDInterval(
        from: foundOldest ? .veryBeginning : low, to: foundNewest ? .veryEnd : high)
    }
    return foundOldest && foundNewest ? .everything : nil
  }

  /// Whether this answer to a request for one message says that the server hides it. That is no
  /// news of the message itself: what is held of it stays.
  @inlinable
  package func hidesItem(_ want: PageWant<MessageID>) -> Bool {
    guard case .item = want else { return false }
    return messages.isEmpty && isHistoryLimited
  }

  /// Whether the server may have hidden messages without saying so. A Zulip server begins at its
  /// limit if the anchor is older, and says that it hides something only if it hides a message
  /// before the anchor. A message up to the anchor shows that the anchor is not hidden.
  @inlinable
  package func mayHide(for want: PageWant<MessageID>) -> Bool {
    guard case .about(_, let before, let after) = want, after > 0 || before == 0, let anchor else {
      return false
    }
    return messages.first.map { $0.id > anchor } ?? true
  }

  /// Whether the page ends at the very end. From the very beginning a Zulip server takes as many
  /// messages as are wanted, and then leaves out those that it hides. So it may seem to have no
  /// more.
  @inlinable
  func isEnd(for want: PageWant<MessageID>) -> Bool {
    if case .about(.oldest, _, _) = want, isHistoryLimited { return false }
    return foundNewest
  }

  /// The oldest ID of the list that the server shows, according to this page; `nil`: it hides
  /// nothing. See ``PartialList/historyLimit``.
  ///
  /// - Parameter old: the limit that is known so far.
  @inlinable
  package func historyLimit(
    for want: PageWant<MessageID>, after old: MessageID?
  ) -> MessageID? {
    guard case .about(let about, let before, _) = want else { return old }
    let first = messages.first?.id
    if isHistoryLimited {
      if let first { return first }
      if isEnd(for: want) { return MessageID(.max) }
      // All that is known is that something is hidden. The least ID is 1.
      let known = max(old ?? MessageID(1), MessageID(1))
      guard about != .oldest, let anchor else { return known }
      return max(known, MessageID(min(anchor.number, .max - 1) + 1))
    }
    guard let old else { return nil }
    if mayHide(for: want) {
      // If nothing is shown before the anchor, the first message is the oldest that is shown.
      return before == 0 ? old : first ?? (foundNewest ? MessageID(.max) : old)
    }
    if interval(for: want, isListLimited: true)?.lowerEnd == .veryBeginning { return nil }
    return first.map { min($0, old) } ?? old
  }
}
