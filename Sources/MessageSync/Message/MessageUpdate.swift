/// The changes of an edit, a move, or both.
public struct MessageUpdate<Content: Hashable & Sendable>: Hashable, Sendable {
  /// The messages that were moved; in any order.
  public var moved: [MessageID] = []
  /// The move of the messages in `moved`; `nil`: none moves.
  public var move: Move?
  /// The edit of one message's content; `nil`: only a move.
  public var edit: Edit?
  /// The new version of every message that it names; `nil`: versions do not change.
  public var version: Int64?

  /// A move from one place to another. An event gives both in full.
  public struct Move: Hashable, Sendable {
    /// The place that the messages leave.
    public var origin: MessagePlace
    /// The place that they come to.
    public var target: MessagePlace

    /// Creates a move from one place to another.
    @inlinable
    public init(from origin: MessagePlace, to target: MessagePlace) {
      self.origin = origin
      self.target = target
    }
  }

  /// An edit of one message.
  public struct Edit: Hashable, Sendable {
    /// The edited message.
    public var id: MessageID
    /// The whole new content.
    public var content: Content
    /// The new values of the flags in `flagsRead`, which are those that depend on the content.
    public var flags: MessageFlags
    /// The flags that the edit states, set or not; all others stay.
    public var flagsRead: MessageFlags

    /// Creates an edit that assigns the content, and those flags that are in `flagsRead`.
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

  /// Creates an update that moves messages; set `edit` too if one was also edited.
  @inlinable
  public init(moving moved: [MessageID], _ move: Move, version: Int64?) {
    self.moved = moved
    self.move = move
    self.version = version
  }

  /// Creates an update that edits one message and moves none.
  @inlinable
  public init(_ edit: Edit, version: Int64?) {
    self.edit = edit
    self.version = version
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
