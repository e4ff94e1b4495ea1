/// A set of a message's fields.
public struct MessageFields: BitwiseCopyable, Hashable, Sendable {
  /// Whether the place is in the set.
  public var hasPlace: Bool
  /// Whether the content is in the set.
  public var hasContent: Bool
  /// Whether the reactions are in the set.
  public var hasReactions: Bool
  /// The flags in the set.
  public var flags: MessageFlags

  /// Creates a set of the named fields; by default it is empty.
  @inlinable
  public init(
    place: Bool = false, content: Bool = false, reactions: Bool = false, flags: MessageFlags = []
  ) {
    hasPlace = place
    hasContent = content
    hasReactions = reactions
    self.flags = flags
  }

  /// All fields.
  @inlinable
  public static var all: MessageFields {
    MessageFields(place: true, content: true, reactions: true, flags: .all)
  }

  @inlinable
  package static func | (one: MessageFields, other: MessageFields) -> MessageFields {
    MessageFields(
      place: one.hasPlace || other.hasPlace, content: one.hasContent || other.hasContent,
      reactions: one.hasReactions || other.hasReactions, flags: one.flags.union(other.flags))
  }

  /// Whether any field is in both.
  @inlinable
  package func overlaps(_ other: MessageFields) -> Bool {
    hasPlace && other.hasPlace || hasContent && other.hasContent
      || hasReactions && other.hasReactions || !flags.isDisjoint(with: other.flags)
  }
}

/// The known part of a message. For a held message this is everything except flags in doubt. For a
/// message that an event names, it is what the event says.
public struct PartialMessage<Content: Hashable & Sendable>: Sendable {
  /// The message's ID, which is always known.
  public var id: MessageID
  /// `nil`: unknown.
  public var sender: UserID?
  /// `nil`: unknown. The channel may be known all the same.
  public var place: MessagePlace?
  /// The channel. `nil`: unknown, or none because `place` is a direct conversation.
  public var channel: ChannelID?
  /// `nil`: unknown.
  public var content: Content?
  /// In ascending order.
  public var reactions: [MessageReaction]?
  /// The known flags that are set.
  public var flags: MessageFlags
  /// The flags that are known, set or not.
  public var flagsShown: MessageFlags

  /// Makes a message of which only the ID is known.
  @inlinable
  package init(_ id: MessageID) {
    self.id = id
    flags = []
    flagsShown = []
  }

  /// Makes a message of which everything is known except the flags in doubt.
  @inlinable
  public init(_ message: ChatMessage<Content>, doubt: MessageFlags = []) {
    id = message.id
    sender = message.sender
    place = message.place
    channel = message.place.channel
    content = message.content
    reactions = message.reactions
    flags = message.flags.subtracting(doubt)
    flagsShown = MessageFlags.all.subtracting(doubt)
  }

  /// Whether all of these flags are set.
  @inlinable
  public func has(_ wanted: MessageFlags) -> Verdict {
    if flags.isSuperset(of: wanted) { return .yes }
    let missing = wanted.subtracting(flags)
    return missing.isDisjoint(with: flagsShown) ? .unknown : .no
  }
}
