/// A user's flags on a message, set by the user or by the server. Bits without a name are the
/// app's, except the highest, which is the library's.
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

  /// The server keeps nothing of the user's about this message, so only lists of its channel show
  /// it (PartialKnowledge R14). It may be in doubt: a list of a channel does not say it.
  @inlinable
  package static var outsideFeed: MessageFlags { MessageFlags(rawValue: 1 << 15) }

  /// The flags that say whether a message is in the feed, and how it came there. In doubt, they are
  /// not worth a request of their own.
  @inlinable
  package static var feedFlags: MessageFlags { [.outsideFeed, .historical] }

  /// All flags, named or not.
  @inlinable
  package static var all: MessageFlags { MessageFlags(rawValue: .max) }

  /// Sets or clears these flags.
  @inlinable
  package mutating func assign(_ flags: MessageFlags, _ isSet: Bool) {
    if isSet { formUnion(flags) } else { subtract(flags) }
  }
}
