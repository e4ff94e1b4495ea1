public import MessageSync
internal import UpdateMachine

/// A message's content, in one of its two forms. A client requests all contents in the same form:
/// two forms of the same text cannot be compared.
public struct ZulipContent: Hashable, Sendable {
  /// The content, in this form.
  public var text: String
  /// The form of `text`.
  public var form: Form

  /// How a content is written.
  public enum Form: Hashable, Sendable {
    /// HTML (`apply_markdown` is true).
    case rendered
    /// The text as typed.
    case raw
  }

  package init(_ text: String, _ form: Form) {
    self.text = text
    self.form = form
  }
}

extension MessageFlags {
  /// The message names the user personally. ``mentioned`` is what Zulip's `is:mentioned` lists:
  /// this, or a wildcard that includes the user.
  public static var mentionedByName: MessageFlags { MessageFlags(rawValue: 128) }

  /// The flags that depend on a message's content: an edit states them again.
  package static var contentFlags: MessageFlags {
    [.mentioned, .mentionedByName, .wildcardMentioned, .hasAlertWord]
  }

  /// Reads Zulip's names. Unknown names are ignored. A wildcard mention has an old alias that pages
  /// carry and events may lack, so either name alone counts.
  package init(zulip names: [String]) {
    self = []
    for name in names { formUnion(MessageFlags(zulip: name)) }
  }

  /// Reads one of Zulip's names; empty if it is unknown.
  package init(zulip name: String) {
    self =
      switch name {
      case "read": .read
      case "starred": .starred
      case "mentioned": [.mentioned, .mentionedByName]
      case "wildcard_mentioned", "stream_wildcard_mentioned", "topic_wildcard_mentioned":
        [.mentioned, .wildcardMentioned]
      case "has_alert_word": .hasAlertWord
      case "historical": .historical
      case "collapsed": .collapsed
      default: []
      }
  }
}

extension ConversationID {
  /// The direct conversation of a set of users, which includes oneself. It is the same for the same
  /// set in any order, on every device. It is a 64-bit hash: two of a user's n conversations
  /// collide with a probability of about n² in 2⁶⁵.
  public init(zulip users: some Sequence<UserID>) {
    var digest = StateDigest()
    let members = Set(users).sorted()
    for user in members { digest.fold(user.number) }
    self.init(Int64(bitPattern: digest.value), members: members)
  }
}

extension MessageTopic {
  /// A topic as Zulip compares it: without regard to case.
  public init(zulip text: String) { self.init(text, key: text.lowercased()) }
}

extension MessagePlace {
  /// A place in a channel, under a topic in any spelling.
  public static func zulip(_ channel: ChannelID, topic: String) -> MessagePlace {
    .channel(channel, topic: MessageTopic(zulip: topic))
  }
}

extension MessageReaction {
  /// Codes are unique only within their type.
  init(user: UserID, zulip type: String, _ code: String) {
    self.init(user: user, emoji: "\(type):\(code)")
  }
}
