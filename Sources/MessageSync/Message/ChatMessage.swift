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

/// The topic of some of a channel's messages.
///
/// It is shown as ``text`` and compared by ``key``. On a server that ignores case, "Lunch" and
/// "lunch" are the same topic, and each message keeps the spelling that it was sent with.
public struct MessageTopic: Hashable, Sendable {
  /// The spelling to show.
  public var text: String
  /// The same for all spellings of one topic.
  public var key: String

  /// Creates a topic shown as `text` and compared by `key`.
  @inlinable
  public init(_ text: String, key: String) {
    self.text = text
    self.key = key
  }

  /// Makes a topic that is compared by its exact spelling.
  @inlinable
  public init(_ text: String) { self.init(text, key: text) }

  @inlinable
  public static func == (one: MessageTopic, other: MessageTopic) -> Bool { one.key == other.key }

  @inlinable
  public func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension MessageTopic: ExpressibleByStringLiteral {
  @inlinable
  public init(stringLiteral text: String) { self.init(text) }
}

/// Where a message was sent: a topic of a channel, or a direct conversation.
public enum MessagePlace: Hashable, Sendable {
  /// A topic of a channel. Two spellings with the same key are the same place.
  case channel(ChannelID, topic: MessageTopic)
  /// A direct conversation.
  case direct(ConversationID)

  /// The channel; `nil` for a direct conversation.
  @inlinable
  public var channel: ChannelID? {
    if case .channel(let channel, _) = self { channel } else { nil }
  }
}

/// A user's flags on a message, set by the user or by the server. Bits without a name are the
/// app's.
public struct MessageFlags: OptionSet, BitwiseCopyable, Hashable, Sendable {
  public var rawValue: UInt16

  @inlinable
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// The user has read the message; without this flag, it is unread.
  @inlinable
  public static var read: MessageFlags { MessageFlags(rawValue: 1) }

  /// The user has starred the message.
  @inlinable
  public static var starred: MessageFlags { MessageFlags(rawValue: 2) }

  /// The message mentions the user. An edit can change that.
  @inlinable
  public static var mentioned: MessageFlags { MessageFlags(rawValue: 4) }

  /// The message mentions a group of readers that includes the user, as "@all" does.
  @inlinable
  public static var wildcardMentioned: MessageFlags { MessageFlags(rawValue: 8) }

  /// The message contains one of the user's alert words.
  @inlinable
  public static var hasAlertWord: MessageFlags { MessageFlags(rawValue: 16) }

  /// The user was never sent this message, and found it later.
  @inlinable
  public static var historical: MessageFlags { MessageFlags(rawValue: 32) }

  /// The user has collapsed the message.
  @inlinable
  public static var collapsed: MessageFlags { MessageFlags(rawValue: 64) }

  /// All flags, named or not.
  @inlinable
  package static var all: MessageFlags { MessageFlags(rawValue: .max) }

  /// Sets or clears these flags.
  @inlinable
  package mutating func assign(_ flags: MessageFlags, _ isSet: Bool) {
    if isSet { formUnion(flags) } else { subtract(flags) }
  }
}

/// One user's reaction to a message.
public struct MessageReaction: Hashable, Comparable, Sendable {
  /// Who reacted.
  public var user: UserID
  /// The emoji's code, the same in every reaction with that emoji.
  public var emoji: String

  /// Creates a user's reaction with the emoji of this code.
  @inlinable
  public init(user: UserID, emoji: String) {
    self.user = user
    self.emoji = emoji
  }

  @inlinable
  public static func < (one: MessageReaction, other: MessageReaction) -> Bool {
    one.user == other.user ? one.emoji < other.emoji : one.user < other.user
  }
}

extension Array where Element == MessageReaction {
  /// Adds or removes a reaction, and keeps the order. Adding one that is present has no effect.
  @inlinable
  mutating func assign(_ reaction: MessageReaction, _ isSet: Bool) {
    let index = firstIndex { $0 >= reaction } ?? count
    let isThere = index < count && self[index] == reaction
    if isSet, !isThere { insert(reaction, at: index) }
    if !isSet, isThere { remove(at: index) }
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

extension MessagePlace: CustomStringConvertible {
  /// "7/lunch"; a direct conversation is "@12".
  public var description: String {
    switch self {
    case .channel(let channel, let topic): "\(channel)/\(topic.text)"
    case .direct(let conversation): "@\(conversation)"
    }
  }
}
