// Message: the room of messages, of the events that change them, of the narrows that list them, and of
// the pages that bring them.
//
// Message may use: no other room.

/// One message, as a server shows it to one user.
///
/// It is a number of *fields* that change each by itself: its place, its content, each flag, each
/// reaction. An event assigns some of them; none counts or toggles.
public struct Message<Content: Hashable & Sendable>: Hashable, Sendable {
  /// Given by the server, growing with time. A message keeps it for ever.
  public var id: MessageID
  /// Who sent it; never changes.
  public var sender: UserID
  /// When it was sent, in the server's seconds since the epoch; never changes. 0: the server did not tell.
  public var sentAt: Int64
  public var place: MessagePlace
  public var content: Content
  /// Of its content and its place: grows with each edit and each move, in the server's own unit, and
  /// may stay equal through several of them; 0: never edited.
  public var version: Int64
  public var flags: MessageFlags
  /// In ascending order, each once.
  public var reactions: [Reaction]

  @inlinable
  public init(
    id: MessageID, sender: UserID, sentAt: Int64 = 0, place: MessagePlace, content: Content,
    version: Int64 = 0, flags: MessageFlags = [], reactions: [Reaction] = []
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

/// Names a user.
public struct UserID: BitwiseCopyable, Hashable, Comparable, Sendable {
  public var number: Int64

  @inlinable
  public init(_ number: Int64) { self.number = number }

  @inlinable
  public static func < (one: UserID, other: UserID) -> Bool { one.number < other.number }
}

/// Names a channel.
public struct ChannelID: BitwiseCopyable, Hashable, Comparable, Sendable {
  public var number: Int64

  @inlinable
  public init(_ number: Int64) { self.number = number }

  @inlinable
  public static func < (one: ChannelID, other: ChannelID) -> Bool { one.number < other.number }
}

/// Names a direct conversation: one set of users who write to each other.
public struct ConversationID: Hashable, Comparable, Sendable {
  /// By which it is compared.
  public var number: Int64
  /// Who they are, where the source says it. Two that have the same number have the same.
  public var members: [UserID]

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

/// What a part of a channel's messages is about.
///
/// It is shown as ``text`` and compared by ``key``: where a server does not tell capitals apart, both
/// "Lunch" and "lunch" are the same topic, and each message keeps the spelling that it was sent with.
public struct Topic: Hashable, Sendable {
  /// As it was written.
  public var text: String
  /// The spelling of all that are the same.
  public var key: String

  @inlinable
  public init(_ text: String, key: String) {
    self.text = text
    self.key = key
  }

  /// Compared letter by letter.
  @inlinable
  public init(_ text: String) { self.init(text, key: text) }

  @inlinable
  public static func == (one: Topic, other: Topic) -> Bool { one.key == other.key }

  @inlinable
  public func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension Topic: ExpressibleByStringLiteral {
  @inlinable
  public init(stringLiteral text: String) { self.init(text) }
}

/// Where a message stands.
public enum MessagePlace: Hashable, Sendable {
  case channel(ChannelID, topic: Topic)
  case direct(ConversationID)

  /// `nil`: in no channel.
  @inlinable
  public var channel: ChannelID? {
    if case .channel(let channel, _) = self { channel } else { nil }
  }
}

/// What a user has marked a message with, or the server for him. Bits without a name are the app's.
public struct MessageFlags: OptionSet, BitwiseCopyable, Hashable, Sendable {
  public var rawValue: UInt16

  @inlinable
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  @inlinable
  public static var read: MessageFlags { MessageFlags(rawValue: 1) }

  @inlinable
  public static var starred: MessageFlags { MessageFlags(rawValue: 2) }

  @inlinable
  public static var mentioned: MessageFlags { MessageFlags(rawValue: 4) }

  @inlinable
  public static var wildcardMentioned: MessageFlags { MessageFlags(rawValue: 8) }

  @inlinable
  public static var hasAlertWord: MessageFlags { MessageFlags(rawValue: 16) }

  /// It was never sent to this user; he found it.
  @inlinable
  public static var historical: MessageFlags { MessageFlags(rawValue: 32) }

  @inlinable
  public static var collapsed: MessageFlags { MessageFlags(rawValue: 64) }

  /// Every flag there can be.
  @inlinable
  public static var all: MessageFlags { MessageFlags(rawValue: .max) }

  /// Sets or clears.
  @inlinable
  public mutating func assign(_ flags: MessageFlags, _ isSet: Bool) {
    if isSet { formUnion(flags) } else { subtract(flags) }
  }
}

/// One user's reaction to a message.
public struct Reaction: Hashable, Comparable, Sendable {
  public var user: UserID
  /// Which: a code that is the same for the same sign.
  public var emoji: String

  @inlinable
  public init(user: UserID, emoji: String) {
    self.user = user
    self.emoji = emoji
  }

  @inlinable
  public static func < (one: Reaction, other: Reaction) -> Bool {
    one.user == other.user ? one.emoji < other.emoji : one.user < other.user
  }
}

extension Array where Element == Reaction {
  /// Adds one or takes it out; the order stays. A reaction that is there already is not added twice.
  @inlinable
  mutating func assign(_ reaction: Reaction, _ isSet: Bool) {
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
