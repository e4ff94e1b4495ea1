// Message: the room of messages, of the events that change them, of the narrows that list them, and
// of the pages that bring them.
//
// Message may use: no other room.

/// One message, as a server shows it to one user.
///
/// It consists of *fields* that change independently: its place, its content, each flag, each
/// reaction. Every event assigns fields. None counts or toggles.
public struct ChatMessage<Content: Hashable & Sendable>: Hashable, Sendable {
  /// Given by the server, growing with time. It never changes.
  public var id: MessageID
  /// Who sent it; never changes.
  public var sender: UserID
  /// When it was sent, in seconds since the epoch by the server's clock; never changes. 0: unknown.
  public var sentAt: Int64
  /// Where it is; a move changes it.
  public var place: MessagePlace
  /// What it says; an edit changes it.
  public var content: Content
  /// The version of content and place, in the server's own unit. It grows with edits and moves, but
  /// may stay equal through several of them. 0: never edited.
  public var version: Int64
  /// The user's own flags on it; each changes independently.
  public var flags: MessageFlags
  /// In ascending order, each once.
  public var reactions: [MessageReaction]

  /// Creates a message. `reactions` must be ascending, each once: they are not sorted here.
  @inlinable
  public init(
    id: MessageID, sender: UserID, sentAt: Int64 = 0, place: MessagePlace, content: Content,
    version: Int64 = 0, flags: MessageFlags = [], reactions: [MessageReaction] = []
  ) {
    self.id = id
    self.sender = sender
    self.sentAt = sentAt
    self.place = place
    self.content = content
    self.version = version
    self.flags = flags
    self.reactions = reactions
  }
}

/// The ID of a user.
public struct UserID: BitwiseCopyable, Hashable, Comparable, Sendable {
  /// The number that the server gave.
  public var number: Int64

  /// Creates an ID from the server's number.
  @inlinable
  public init(_ number: Int64) { self.number = number }

  @inlinable
  public static func < (one: UserID, other: UserID) -> Bool { one.number < other.number }
}

/// The ID of a channel.
public struct ChannelID: BitwiseCopyable, Hashable, Comparable, Sendable {
  /// The number that the server gave.
  public var number: Int64

  /// Creates an ID from the server's number.
  @inlinable
  public init(_ number: Int64) { self.number = number }

  @inlinable
  public static func < (one: ChannelID, other: ChannelID) -> Bool { one.number < other.number }
}

/// The ID of a direct conversation: a fixed set of users who write to each other.
public struct ConversationID: Hashable, Comparable, Sendable {
  /// The only part that is compared.
  public var number: Int64
  /// The users, if the source says who they are. Equal numbers imply equal members.
  public var members: [UserID]

  /// Creates an ID from its number; `members` stays empty if the source does not name the users.
  @inlinable
  public init(_ number: Int64, members: [UserID] = []) {
    self.number = number
    self.members = members
  }

  @inlinable
  public static func == (one: ConversationID, other: ConversationID) -> Bool {
    one.number == other.number
  }

  @inlinable
  public func hash(into hasher: inout Hasher) { hasher.combine(number) }

  @inlinable
  public static func < (one: ConversationID, other: ConversationID) -> Bool {
    one.number < other.number
  }
}

extension UserID: CustomStringConvertible {
  public var description: String { "\(number)" }
}

extension ChannelID: CustomStringConvertible {
  public var description: String { "\(number)" }
}

extension ConversationID: CustomStringConvertible {
  public var description: String { "\(number)" }
}
