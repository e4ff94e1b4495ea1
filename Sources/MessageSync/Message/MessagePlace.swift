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

extension MessagePlace: CustomStringConvertible {
  /// "7/lunch"; a direct conversation is "@12".
  public var description: String {
    switch self {
    case .channel(let channel, let topic): "\(channel)/\(topic.text)"
    case .direct(let conversation): "@\(conversation)"
    }
  }
}
