/// A narrow that suits most apps: it lists the messages that meet all of some terms.
///
///     MessageFilter([.channel(general), .topic("lunch"), .unread])
///
/// Filters with the same terms in a different order are unequal, so always use one order.
public struct MessageFilter<Content: Hashable & Sendable>: MessageNarrow {
  /// The conditions. A message must meet all of them. With none, every message is listed.
  public var terms: [Term]

  /// One condition.
  public struct Term: Hashable, Sendable {
    /// What the condition tests.
    public var subject: Subject
    /// Whether a message must fail the test.
    public var isNegated: Bool

    /// Creates a condition; by default it is not negated.
    @inlinable
    public init(_ subject: Subject, isNegated: Bool = false) {
      self.subject = subject
      self.isNegated = isNegated
    }
  }

  /// What a condition tests.
  public enum Subject: Hashable, Sendable {
    /// In this channel, in any topic.
    case channel(ChannelID)
    /// In any channel.
    case topic(MessageTopic)
    /// In this direct conversation.
    case direct(ConversationID)
    /// In any direct conversation.
    case anyDirect
    /// From this user.
    case sender(UserID)
    /// All of these flags are set.
    case flags(MessageFlags)
    /// A search, which only the server can evaluate.
    case text(String)
  }

  /// Creates a filter of these terms; with none, it lists every message.
  @inlinable
  public init(_ terms: [Term] = []) { self.terms = terms }

  @inlinable
  public var reads: MessageFields {
    var fields = MessageFields()
    for term in terms {
      switch term.subject {
      case .channel, .topic, .direct, .anyDirect: fields.hasPlace = true
      case .sender: break
      case .flags(let flags): fields.flags.formUnion(flags)
      case .text: fields.hasContent = true
      }
    }
    return fields
  }

  @inlinable
  public var isDecidable: Bool {
    for term in terms { if case .text = term.subject { return false } }
    return true
  }

  @inlinable
  public var channel: ChannelID? {
    for term in terms {
      if !term.isNegated, case .channel(let channel) = term.subject { return channel }
    }
    return nil
  }

  @inlinable
  public func verdict(on partialMessage: PartialMessage<Content>) -> Verdict {
    var verdict = Verdict.yes
    for term in terms {
      let plain = MessageFilter.verdict(of: term.subject, on: partialMessage)
      verdict = verdict && (term.isNegated ? !plain : plain)
      if verdict == .no { return .no }
    }
    return verdict
  }

  @inlinable
  static func verdict(of subject: Subject, on partialMessage: PartialMessage<Content>) -> Verdict {
    switch subject {
    case .channel(let channel):
      if partialMessage.place == nil, partialMessage.channel == nil { return .unknown }
      return Verdict(partialMessage.channel == channel)
    case .topic(let topic):
      guard let place = partialMessage.place else { return .unknown }
      guard case .channel(_, let shown) = place else { return .no }
      return Verdict(shown == topic)
    case .direct(let conversation):
      guard let place = partialMessage.place else {
        return partialMessage.channel == nil ? .unknown : .no
      }
      return Verdict(place == .direct(conversation))
    case .anyDirect:
      guard let place = partialMessage.place else {
        return partialMessage.channel == nil ? .unknown : .no
      }
      return Verdict(place.channel == nil)
    case .sender(let sender):
      guard let shown = partialMessage.sender else { return .unknown }
      return Verdict(shown == sender)
    case .flags(let flags): return partialMessage.has(flags)
    case .text: return .unknown
    }
  }
}

extension MessageFilter.Term {
  /// Only messages of this channel.
  @inlinable
  public static func channel(_ channel: ChannelID) -> Self { Self(.channel(channel)) }

  /// Only messages of this topic, in any channel.
  @inlinable
  public static func topic(_ topic: MessageTopic) -> Self { Self(.topic(topic)) }

  /// Only messages of this direct conversation.
  @inlinable
  public static func direct(_ conversation: ConversationID) -> Self { Self(.direct(conversation)) }

  /// Only messages from this user.
  @inlinable
  public static func sender(_ sender: UserID) -> Self { Self(.sender(sender)) }

  /// Only messages that the user has starred.
  @inlinable
  public static var starred: Self { Self(.flags(.starred)) }

  /// Only messages that mention the user.
  @inlinable
  public static var mentioned: Self { Self(.flags(.mentioned)) }

  /// Only messages that the user has not read.
  @inlinable
  public static var unread: Self { Self(.flags(.read), isNegated: true) }

  /// Only messages that a search finds. The server alone decides, so the list is never complete.
  @inlinable
  public static func text(_ words: String) -> Self { Self(.text(words)) }

  /// Negates a term.
  @inlinable
  public static prefix func ! (term: Self) -> Self {
    Self(term.subject, isNegated: !term.isNegated)
  }
}

extension MessageFilter: CustomStringConvertible {
  /// "channel:7 topic:lunch -flags:1"; "all" without terms.
  public var description: String {
    var text = ""
    for term in terms where term.subject != .flags(.outsideFeed) {
      if !text.isEmpty { text += " " }
      if term.isNegated { text += "-" }
      switch term.subject {
      case .channel(let channel): text += "channel:\(channel)"
      case .topic(let topic): text += "topic:\(topic.key)"
      case .direct(let conversation): text += "direct:\(conversation)"
      case .anyDirect: text += "direct"
      case .sender(let sender): text += "sender:\(sender)"
      case .flags(let flags): text += "flags:\(flags.rawValue)"
      case .text(let words): text += "text:\(words)"
      }
    }
    return text.isEmpty ? "all" : text
  }
}
