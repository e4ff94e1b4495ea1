package import MessageSync
internal import UpdateMachine

/// A narrow in Zulip's terms: operators that must all hold.
public struct ZulipNarrow: Hashable, Sendable {
  /// The operators, in any order. With none, every message is in the narrow.
  public var terms: [Term]

  /// Creates a narrow. With no terms it contains every message.
  public init(_ terms: [Term]) { self.terms = terms }

  /// One operator with its operand.
  public struct Term: Hashable, Sendable {
    package var name: String
    package var operand: Operand
    package var isNegated: Bool

    /// Creates a term, such as `Term("channel", .number(7))`. Names are Zulip's and are not
    /// checked.
    public init(_ name: String, _ operand: Operand, isNegated: Bool = false) {
      self.name = name
      self.operand = operand
      self.isNegated = isNegated
    }
  }

  /// An operator's operand.
  public enum Operand: Hashable, Sendable {
    /// The ID of a channel, a user or a message.
    case number(Int64)
    /// The IDs of the users of a direct conversation.
    case numbers([Int64])
    /// A word such as "starred", a topic, or the words of a search.
    case text(String)
  }

  /// The facts needed to read legacy narrows and direct conversations.
  package struct Directory: Hashable, Sendable {
    /// The user's own ID; `nil` if unknown: direct conversations are then left to the server.
    package var me: UserID?
    /// Channel IDs by name.
    package var channels: [String: ChannelID]

    package init(me: UserID? = nil, channels: [String: ChannelID] = [:]) {
      self.me = me
      self.channels = channels
    }
  }

  /// The single message that the narrow asks for, whatever list it is in (`id`).
  package var message: MessageID? {
    guard terms.count == 1, terms[0].name == "id", !terms[0].isNegated else { return nil }
    switch terms[0].operand {
    case .number(let number): return MessageID(number)
    case .text(let text): return Int64(text).map { MessageID($0) }
    case .numbers: return nil
    }
  }

  /// Whether the server lists only what is the user's: messages that were sent to the user, and
  /// those that the user has done something with. A list of one channel also shows others, unless
  /// it asks for flags, which are the user's.
  package var isOfFeed: Bool {
    var isOfChannel = false
    for term in terms {
      if term.name == "is" { return true }
      if ["channel", "stream"].contains(term.name), !term.isNegated { isOfChannel = true }
    }
    return !isOfChannel
  }

  /// Returns the filter that the library can evaluate. Its terms have a fixed order, so equal
  /// narrows give equal filters. An operator that only the server can evaluate becomes a text, and
  /// its list is never called complete.
  package func filter(_ directory: Directory = Directory()) -> MessageFilter<ZulipContent> {
    var filter = MessageFilter<ZulipContent>()
    for term in terms {
      for (subject, isNegated) in term.subjects(directory) {
        let new = MessageFilter<ZulipContent>.Term(subject, isNegated: isNegated != term.isNegated)
        if !filter.terms.contains(new) { filter.terms.append(new) }
      }
    }
    if isOfFeed { filter.terms.append(.init(.flags(.outsideFeed), isNegated: true)) }
    filter.terms.sort { ZulipNarrow.rank($0) < ZulipNarrow.rank($1) }
    return filter
  }

  private static func rank(_ term: MessageFilter<ZulipContent>.Term) -> (Int, Int64, String, Int) {
    let last = term.isNegated ? 1 : 0
    switch term.subject {
    case .channel(let channel): return (0, channel.number, "", last)
    case .topic(let topic): return (1, 0, topic.key, last)
    case .direct(let conversation): return (2, conversation.number, "", last)
    case .anyDirect: return (3, 0, "", last)
    case .sender(let sender): return (4, sender.number, "", last)
    case .flags(let flags): return (5, Int64(flags.rawValue), "", last)
    case .text(let text): return (6, 0, text, last)
    }
  }
}

extension ZulipNarrow.Term {
  fileprivate typealias Subject = MessageFilter<ZulipContent>.Subject

  /// Returns the term's subjects, and whether each is negated.
  fileprivate func subjects(_ directory: ZulipNarrow.Directory) -> [(Subject, Bool)] {
    let onServer = [(Subject.text("\(name):\(operand)"), false)]
    switch (name, operand) {
    case ("channel", .number(let number)), ("stream", .number(let number)):
      return [(.channel(ChannelID(number)), false)]
    case ("channel", .text(let text)), ("stream", .text(let text)):
      return directory.channels[text].map { [(.channel($0), false)] } ?? onServer
    case ("topic", .text(let topic)), ("subject", .text(let topic)):
      return [(.topic(MessageTopic(zulip: topic)), false)]
    case ("dm", .numbers(let users)), ("pm-with", .numbers(let users)):
      guard let me = directory.me else { return onServer }
      return [(.direct(ConversationID(zulip: users.map { UserID($0) } + [me])), false)]
    case ("sender", .number(let user)): return [(.sender(UserID(user)), false)]
    case ("is", .text(let word)): return ZulipNarrow.Term.being(word).map { [$0] } ?? onServer
    default: return onServer
    }
  }

  private static func being(_ word: String) -> (Subject, Bool)? {
    switch word {
    case "dm", "private": (.anyDirect, false)
    case "starred": (.flags(.starred), false)
    case "mentioned": (.flags(.mentioned), false)
    case "alerted": (.flags(.hasAlertWord), false)
    case "read": (.flags(.read), false)
    case "unread": (.flags(.read), true)
    default: nil
    }
  }
}

extension ZulipNarrow.Operand: CustomStringConvertible {
  /// "4", "7,8", "lunch".
  public var description: String {
    switch self {
    case .number(let number): "\(number)"
    case .numbers(let numbers): numbers.map { "\($0)" }.joined(separator: ",")
    case .text(let text): text
    }
  }
}

extension ZulipNarrow: Decodable {
  /// Decodes a list of objects, or of legacy pairs.
  public init(from decoder: any Decoder) throws {
    terms = try decoder.singleValueContainer().decode([Term].self)
  }
}

extension ZulipNarrow.Term: Decodable {
  private enum Field: String, CodingKey {
    case `operator`, operand, negated
  }

  public init(from decoder: any Decoder) throws {
    if var pair = try? decoder.unkeyedContainer() {
      name = try pair.decode(String.self)
      operand = try pair.decode(ZulipNarrow.Operand.self)
      isNegated = false
      return
    }
    let fields = try decoder.container(keyedBy: Field.self)
    name = try fields.decode(String.self, forKey: .operator)
    operand = try fields.decode(ZulipNarrow.Operand.self, forKey: .operand)
    isNegated = try fields.decodeIfPresent(Bool.self, forKey: .negated) ?? false
  }
}

extension ZulipNarrow.Operand: Decodable {
  public init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if let number = try? value.decode(Int64.self) {
      self = .number(number)
    } else if let numbers = try? value.decode([Int64].self) {
      self = .numbers(numbers)
    } else {
      self = .text(try value.decode(String.self))
    }
  }
}
