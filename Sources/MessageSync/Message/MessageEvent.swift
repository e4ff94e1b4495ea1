/// One change of the messages that a user can see, as the server announces it.
public enum MessageEvent<Content: Hashable & Sendable>: Hashable, Sendable {
  /// A message was sent. Assigns every field, even of one that is held already.
  case new(Message<Content>)
  /// Content, place or both were changed.
  case updated(MessageUpdate<Content>)
  /// Gone, or out of the user's sight. In any order.
  case deleted([MessageID])
  /// Flags were set or cleared on some messages. In any order; an ID may be named twice, or none.
  case flagged([MessageID], MessageFlags, isSet: Bool)
  /// Flags were set or cleared on every message there is.
  case flaggedAll(MessageFlags, isSet: Bool)
  case reacted(MessageID, Reaction, isSet: Bool)
  /// From here on events come for the messages of this channel, or none any more: the user has
  /// subscribed, or has lost access. What is known of it is void (KNOWLEDGE.md, R11).
  case covered(ChannelID, follows: Bool)
}

/// What an edit and a move change. Both may come in one.
public struct MessageUpdate<Content: Hashable & Sendable>: Hashable, Sendable {
  /// The messages that were moved; in any order.
  public var moved: [MessageID] = []
  public var move: Move?
  public var edit: Edit?
  /// The version that it gives to every message it names; `nil`: it leaves them as they are.
  public var version: Int64?

  /// From one place to another. An event tells both in full.
  public struct Move: Hashable, Sendable {
    public var origin: MessagePlace
    public var target: MessagePlace

    @inlinable
    public init(from origin: MessagePlace, to target: MessagePlace) {
      self.origin = origin
      self.target = target
    }
  }

  /// Of one message.
  public struct Edit: Hashable, Sendable {
    public var id: MessageID
    public var content: Content
    /// Its flags from now on, as far as they hang on the content; which those are, `flagsRead` says.
    public var flags: MessageFlags
    public var flagsRead: MessageFlags

    @inlinable
    public init(
      _ id: MessageID, content: Content, flags: MessageFlags = [], of flagsRead: MessageFlags = []
    ) {
      self.id = id
      self.content = content
      self.flags = flags
      self.flagsRead = flagsRead
    }
  }

  @inlinable
  public init(moving moved: [MessageID], _ move: Move, version: Int64?) {
    self.moved = moved
    self.move = move
    self.version = version
  }

  @inlinable
  public init(_ edit: Edit, version: Int64?) {
    self.edit = edit
    self.version = version
  }
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

extension MessageUpdate: CustomStringConvertible {
  public var description: String {
    var text = ""
    if let edit { text += "edit \(edit.id)" }
    if let move {
      if !text.isEmpty { text += ", " }
      text += "move\(MessageEvent<Content>.list(moved)): \(move.origin) → \(move.target)"
    }
    return text
  }
}
