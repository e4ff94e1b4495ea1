/// What to ask a server for, to learn more of a narrow, or of one message.
public struct PageRequest<Narrow: MessageNarrow>: Hashable, Sendable {
  /// `nil`: one message by its ID alone, whatever narrows it is in.
  public var narrow: Narrow?
  public var want: PageWant

  /// Messages of a narrow. What is about an ID includes that ID.
  @inlinable
  public init(_ narrow: Narrow, _ anchor: PageAnchor, before: Int64, after: Int64) {
    self.narrow = narrow
    want = .about(anchor, before: before, after: after)
  }

  /// One message.
  @inlinable
  public init(_ id: MessageID) { want = .message(id) }
}

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
  public var interval: Interval? {
    let beginsAtOldest = foundOldest && !isHistoryLimited
    var low: Interval.Point?
    var high: Interval.Point?
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

/// Names one fetch. Fetches of one life of a replica count up from 1; no other life shares one.
public struct FetchID: BitwiseCopyable, Hashable, Comparable, Sendable {
  public var life: Life
  public var number: UInt64

  @inlinable
  public init(life: Life, number: UInt64) {
    self.life = life
    self.number = number
  }

  @inlinable
  public static func < (one: FetchID, other: FetchID) -> Bool {
    one.life == other.life ? one.number < other.number : one.life.number < other.life.number
  }
}

extension FetchID: CustomStringConvertible {
  /// The number alone: within one machine every fetch is of one life.
  public var description: String { "\(number)" }
}

extension PageRequest: CustomStringConvertible where Narrow: CustomStringConvertible {
  /// "channel:7 about 12, 0 before, 20 after", "message 12".
  public var description: String { (narrow.map { "\($0) " } ?? "") + "\(want)" }
}
