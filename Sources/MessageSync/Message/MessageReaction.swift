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
