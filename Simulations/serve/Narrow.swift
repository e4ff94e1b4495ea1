internal import SyncProtocols

/// Which messages: terms that must all hold.
struct Narrow: Sendable {
  struct Term: Sendable {
    var subject: Subject
    var isNegated: Bool
  }

  enum Subject: Sendable {
    case channel(Int64)
    /// In lower case.
    case topic(String)
    case sender(Int64)
    /// All participants, ascending.
    case direct([Int64])
    case anyDirect
    case flag(RowFlags, isSet: Bool)
    case id(Int64)
    case resolved
    /// In one of these topics, which the user follows: channel, and name in lower case.
    case followed([FollowedTopic])
    case has(Part)
    /// In a direct conversation with this user.
    case directWith(Int64)
    /// All of these words, in lower case, are in the text or the topic.
    case search([String])
  }

  /// A topic, by its name in lower case.
  struct FollowedTopic: Hashable, Sendable {
    var channel: Int64
    var topic: String
  }

  /// What a message can have.
  enum Part: String, Sendable {
    case link, image, attachment, reaction
  }

  var terms: [Term]

  init(_ terms: [Term]) { self.terms = terms }

  /// Whether it asks for one channel, and not for flags. Then messages are shown for which the user
  /// has no row, too.
  var isOfChannel: Bool {
    var isOfChannel = false
    for term in terms {
      switch term.subject {
      case .channel: isOfChannel = isOfChannel || !term.isNegated
      case .flag, .anyDirect, .resolved, .followed: return false
      case .topic, .sender, .direct, .id, .has, .directWith, .search: break
      }
    }
    return isOfChannel
  }

  func contains(_ message: RealmMessage, for user: Int64) -> Bool {
    terms.allSatisfy { $0.subject.holds(of: message, for: user) != $0.isNegated }
  }

  // MARK: Reading

  /// The most terms that are read. A real server has no such bound, but each is looked up.
  static let limit = 50

  /// Reads the parameter: a list of objects, or of pairs.
  init(_ value: JSONValue?, for user: Int64, in realm: Realm) throws(APIError) {
    terms = []
    guard let value else { return }
    guard let list = value.array else { throw APIError("narrow is not a list") }
    guard list.count <= Narrow.limit else {
      throw APIError("narrow has more than \(Narrow.limit) terms")
    }
    for (index, element) in list.enumerated() {
      let name: String
      let operand: JSONValue
      var isNegated = false
      if let pair = element.array {
        guard pair.count == 2, let first = pair[0].string, pair[1].string != nil else {
          throw APIError("Invalid narrow[\(index)]: Value error, element is not a string pair")
        }
        (name, operand) = (first, pair[1])
      } else {
        guard let text = element["operator"]?.string, let value = element["operand"] else {
          throw APIError("Invalid narrow[\(index)]: operator or operand is missing")
        }
        (name, operand) = (text, value)
        isNegated = element["negated"]?.bool ?? false
      }
      let subject = try Subject(name, operand, for: user, in: realm)
      terms.append(Term(subject: subject, isNegated: isNegated))
    }
  }
}

extension Narrow.Subject {
  func holds(of message: RealmMessage, for user: Int64) -> Bool {
    switch self {
    case .channel(let wanted):
      if case .channel(wanted, _) = message.place { return true }
      return false
    case .topic(let wanted):
      if case .channel(_, let topic) = message.place { return topic.lowercased() == wanted }
      return false
    case .sender(let wanted): return message.sender == wanted
    case .direct(let wanted): return message.place == .direct(wanted)
    case .anyDirect:
      if case .direct = message.place { return true }
      return false
    case .flag(let flag, let isSet):
      guard let flags = message.flags(of: user) else { return false }
      return flags.contains(flag) == isSet
    case .id(let wanted): return message.id == wanted
    case .resolved:
      if case .channel(_, let topic) = message.place { return topic.hasPrefix("✔ ") }
      return false
    case .followed(let topics):
      guard case .channel(let channel, let topic) = message.place else { return false }
      return topics.contains { $0.channel == channel && $0.topic == topic.lowercased() }
    case .has(let part): return part.isPart(of: message)
    case .directWith(let wanted):
      if case .direct(let members) = message.place { return members.contains(wanted) }
      return false
    case .search(let words):
      let text = message.text.lowercased()
      var topic = ""
      if case .channel(_, let name) = message.place { topic = name.lowercased() }
      return words.allSatisfy { text.contains($0) || topic.contains($0) }
    }
  }

  init(
    _ name: String, _ operand: JSONValue, for user: Int64, in realm: Realm
  ) throws(APIError) {
    switch name {
    case "channel", "stream":
      let channel =
        operand.int64.flatMap { realm.channel($0) }
        ?? operand.string.flatMap { realm.channel(named: $0) }
      guard let channel else {
        throw .narrow("unknown channel \(operand.string ?? "\(operand)")")
      }
      self = .channel(channel.id)
    case "topic", "subject":
      guard let topic = operand.string else { throw APIError("operand is not a string") }
      self = .topic(topic.lowercased())
    case "sender", "from":
      guard let sender = realm.person(operand) else {
        throw .narrow("unknown user \(operand.string ?? "\(operand)")")
      }
      self = .sender(sender.id)
    case "dm", "pm-with":
      let words = operand.string?.split(separator: ",").map { JSONValue.string(String($0)) }
      var members: [Int64] = [user]
      for one in operand.array ?? words ?? [operand] {
        guard let person = realm.person(one) else {
          throw .narrow("unknown user in \(operand.string ?? "\(operand)")")
        }
        if !members.contains(person.id) { members.append(person.id) }
      }
      self = .direct(members.sorted())
    case "is":
      switch operand.string {
      case "unread": self = .flag(.read, isSet: false)
      case "starred": self = .flag(.starred, isSet: true)
      case "mentioned": self = .flag(.mentioned, isSet: true)
      case "dm", "private": self = .anyDirect
      case "resolved": self = .resolved
      case "followed": self = .followed(realm.settings.followed(by: user))
      case let other: throw .narrow("unknown 'is' operand \(other ?? "\(operand)")")
      }
    case "id":
      guard let id = operand.int64 ?? operand.string.flatMap({ Int64($0) }) else {
        throw .narrow("invalid message id")
      }
      self = .id(id)
    case "has":
      let word = operand.string ?? "\(operand)"
      guard let part = Narrow.Part(rawValue: word) else {
        throw .narrow("unknown 'has' operand \(word)")
      }
      self = .has(part)
    case "dm-including":
      guard let person = realm.person(operand) else {
        throw .narrow("unknown user \(operand.string ?? "\(operand)")")
      }
      self = .directWith(person.id)
    case "search":
      guard let text = operand.string else { throw APIError("operand is not a string") }
      self = .search(text.lowercased().split(whereSeparator: \.isWhitespace).map { String($0) })
    default: throw .narrow("unknown operator \(name)")
    }
  }
}

extension Narrow.Part {
  /// As far as the text shows it. A real server looks at what it renders.
  func isPart(of message: RealmMessage) -> Bool {
    switch self {
    case .reaction: return !message.reactions.isEmpty
    case .attachment: return message.text.contains("/user_uploads/")
    case .link:
      return ["http://", "https://", "/user_uploads/"].contains { message.text.contains($0) }
    case .image:
      let text = message.text.lowercased()
      return Narrow.Part.link.isPart(of: message)
        && [".png", ".jpg", ".jpeg", ".gif", ".webp"].contains { text.contains($0) }
    }
  }
}

extension RealmSettings {
  /// The topics that a user follows.
  func followed(by user: Int64) -> [Narrow.FollowedTopic] {
    topics.filter { $0.user == user && $0.policy == 3 }
      .map { Narrow.FollowedTopic(channel: $0.channel, topic: $0.topic.lowercased()) }
  }
}

extension Realm {
  /// The user with this ID or e-mail address.
  func person(_ value: JSONValue) -> RealmUser? {
    if let id = value.int64 { return user(id) }
    guard let text = value.string else { return nil }
    let word = text.drop { $0 == " " }
    return user(withEmail: String(word)) ?? Int64(word).flatMap { user($0) }
  }
}
