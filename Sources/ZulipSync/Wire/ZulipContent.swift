public import MessageSync
internal import UpdateMachine

/// What a message says, in the one of its two forms in which a client has asked for it. A client
/// asks for all of them in one form: two forms of the same text cannot be compared.
public struct ZulipContent: Hashable, Sendable {
  public var text: String
  public var form: Form

  public enum Form: Hashable, Sendable {
    /// HTML (`apply_markdown` is true).
    case rendered
    /// As it was typed.
    case raw
  }

  public init(_ text: String, _ form: Form) {
    self.text = text
    self.form = form
  }
}

extension MessageFlags {
  /// The message names the user himself. ``mentioned`` is what Zulip's `is:mentioned` lists: that,
  /// or he is one of all whom a wildcard names.
  public static var mentionedByName: MessageFlags { MessageFlags(rawValue: 128) }

  /// The flags that hang on a message's content: an edit tells them anew.
  public static var contentFlags: MessageFlags {
    [.mentioned, .mentionedByName, .wildcardMentioned, .hasAlertWord]
  }

  /// From Zulip's names. One that is not known here says nothing. A wildcard mention has an old alias
  /// that pages carry and events may lack, so the alias alone counts as well.
  public init(zulip names: [String]) {
    self = []
    for name in names { formUnion(MessageFlags(zulip: name)) }
  }

  /// From one of Zulip's names; empty: it is not known here.
  public init(zulip name: String) {
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
  /// The direct conversation of a set of users, oneself among them. The same for the same set in any
  /// order, on every device: a 64-bit hash, so that two of a user's conversations share one with a
  /// probability of about n² in 2⁶⁵.
  public init(zulip users: some Sequence<UserID>) {
    var digest = Digest()
    let members = Set(users).sorted()
    for user in members { digest.fold(user.number) }
    self.init(Int64(bitPattern: digest.value), members: members)
  }
}

extension Topic {
  /// As Zulip compares it, which does not tell capitals from small letters.
  public init(zulip text: String) { self.init(text, key: text.lowercased()) }
}

extension MessagePlace {
  /// In a channel, under a topic in whatever spelling.
  public static func zulip(_ channel: ChannelID, topic: String) -> MessagePlace {
    .channel(channel, topic: Topic(zulip: topic))
  }
}

extension Reaction {
  /// Codes are unique only within their type.
  init(user: UserID, zulip type: String, _ code: String) {
    self.init(user: user, emoji: "\(type):\(code)")
  }
}
