/// One change of the messages that a user can see, as the server announces it.
public enum MessageEvent<Content: Hashable & Sendable>: Hashable, Sendable {
  /// A message was sent. Assigns every field, even if the message is held already.
  case new(ChatMessage<Content>)
  /// Content, place or both were changed.
  case updated(MessageUpdate<Content>)
  /// The messages were deleted, or the user can no longer see them. In any order.
  case deleted([MessageID])
  /// Flags were set or cleared on some messages. In any order. The list may repeat an ID or be
  /// empty.
  case flagged([MessageID], MessageFlags, isSet: Bool)
  /// Flags were set or cleared on every message.
  case flaggedAll(MessageFlags, isSet: Bool)
  /// A user's reaction was added or removed. It assigns: adding one that is there changes nothing.
  case reacted(MessageID, MessageReaction, isSet: Bool)
  /// From now on the server sends events for this channel, or none any more: the user has
  /// subscribed or lost access. All knowledge of the channel becomes void (PartialKnowledge R11).
  case covered(ChannelID, follows: Bool)
}

extension MessageEvent: CustomStringConvertible {
  /// "new 7 in 1/a", "move 7 8: 1/a → 2/b", "edit 7", "delete 7", "flags +2 of 7 8", …
  public var description: String {
    switch self {
    case .new(let message): "new \(message.id) in \(message.place)"
    case .updated(let update): update.description
    case .deleted(let ids): "delete\(MessageEvent.list(ids))"
    case .flagged(let ids, let flags, let isSet):
      "flags \(isSet ? "+" : "-")\(flags.rawValue) of\(MessageEvent.list(ids))"
    case .flaggedAll(let flags, let isSet): "flags \(isSet ? "+" : "-")\(flags.rawValue) of all"
    case .reacted(let id, let reaction, let isSet):
      "reaction \(isSet ? "+" : "-")\(reaction.emoji) of \(reaction.user) on \(id)"
    case .covered(let channel, let follows): "\(follows ? "follows" : "leaves") channel \(channel)"
    }
  }

  static func list(_ ids: [MessageID]) -> String {
    var text = ""
    for id in ids { text += " \(id)" }
    return text
  }
}
