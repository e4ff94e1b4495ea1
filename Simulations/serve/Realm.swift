internal import SyncProtocols
internal import UpdateMachine

/// The truth that the server serves: an organisation with its users, channels and messages. It is a
/// plain value. ``RealmEvent`` changes it.
///
/// A user has a *row* for each message that was sent to the user; it holds the user's flags. A
/// message of a public channel that the user did not follow then can be read without one. A private
/// channel's messages can be read only by those who follow it and have a row (in Zulip's words, its
/// history is protected). Everybody knows of every channel, as administrators do.
package struct Realm: ServerTruth {
  package typealias Event = RealmEvent
  package typealias Snapshot = Realm
  package typealias Change = RealmEvent

  /// Ascending by ID.
  package private(set) var users: [RealmUser]
  /// Ascending by ID.
  package private(set) var channels: [RealmChannel]
  /// Ascending by ID.
  package private(set) var messages: [RealmMessage] = []
  /// The ID of the newest message that there ever was.
  package private(set) var lastMessageID: Int64 = 0
  /// Whether old messages were dropped, because there were too many.
  package private(set) var isHistoryLimited = false
  /// When the users were last seen, by their place in `users`, in seconds of 1970; 0: never.
  private(set) var lastSeen: [Int64]
  /// What users have set.
  package private(set) var settings = RealmSettings()
  private var version: UInt64 = 0

  /// The most messages that are kept. Beyond it the oldest goes, and pages that would show it say
  /// that the history is limited.
  package static var messageLimit: Int { 10_000 }

  package var snapshot: Realm { self }

  /// No two states of one server have the same version.
  package var checksum: UInt64 { StateDigest.mixed(version) }

  /// An organisation with this many users, who follow the first two channels; the first user
  /// follows all. There are three messages.
  package init(users count: Int, wall: Int64) {
    users = (0..<count).map { RealmUser(number: $0) }
    lastSeen = Array(repeating: 0, count: count)
    let everybody = users.map(\.id)
    channels = [
      RealmChannel(
        id: 1, name: "general", about: "What everybody should know", subscribers: everybody),
      RealmChannel(id: 2, name: "kitchen", about: "Food", subscribers: everybody),
      RealmChannel(
        id: 3, name: "library", about: "Books. Only one user follows it",
        subscribers: [everybody[0]]),
    ]
    let first = users[0].id
    let last = users[count - 1].id
    for (sender, channel, topic, text) in [
      (last, Int64(1), "welcome", "Hello! This server forgets everything when it ends."),
      (first, Int64(1), "welcome", "Faults can be switched on at its page."),
      (last, Int64(2), "lunch", "Soup at noon?"),
    ] {
      let message = newMessage(
        from: sender, to: .channel(channel, topic: topic), text, at: wall, isReadBySender: true)
      apply(RealmEvent(.message(message, echo: nil), to: []))
    }
  }

  // MARK: Reading

  package func user(_ id: Int64) -> RealmUser? { users.first { $0.id == id } }

  func user(withEmail email: String) -> RealmUser? {
    let email = email.lowercased()
    return users.first { $0.email == email }
  }

  package func channel(_ id: Int64) -> RealmChannel? { channels.first { $0.id == id } }

  func channel(named name: String) -> RealmChannel? {
    let name = name.lowercased()
    return channels.first { $0.name.lowercased() == name }
  }

  /// The place of the message, or of the first one after it.
  func index(of id: Int64) -> Int {
    var (low, high) = (0, messages.count)
    while low < high {
      let middle = (low + high) / 2
      if messages[middle].id < id { low = middle + 1 } else { high = middle }
    }
    return low
  }

  package func message(_ id: Int64) -> RealmMessage? {
    let index = index(of: id)
    return index < messages.count && messages[index].id == id ? messages[index] : nil
  }

  /// The message, if the user may see it.
  func message(_ id: Int64, for user: Int64) throws(APIError) -> RealmMessage {
    guard let message = message(id), isVisible(message, to: user) else {
      throw .noSuchMessage
    }
    return message
  }

  package func isVisible(_ message: RealmMessage, to user: Int64) -> Bool {
    guard case .channel(let id, _) = message.place, let channel = channel(id) else {
      return message.flags(of: user) != nil
    }
    guard channel.isPrivate else { return true }
    return channel.subscribers.contains(user) && message.flags(of: user) != nil
  }

  /// Those who are told of what becomes of a message: those who have a row, and those who follow
  /// its channel; in a private channel, those to whom both applies.
  func audience(of message: RealmMessage) -> [Int64] {
    var audience = message.rows.map(\.user)
    if case .channel(let id, _) = message.place, let channel = channel(id), channel.isPrivate {
      return audience.filter { channel.subscribers.contains($0) }
    }
    if case .channel(let id, _) = message.place, let channel = channel(id) {
      audience += channel.subscribers.filter { !audience.contains($0) }
    }
    return audience
  }

  /// A message that is not sent yet. Its ID is the next one.
  func newMessage(
    from sender: Int64, to place: MessageLocation, _ text: String, at wall: Int64,
    isReadBySender: Bool, program: String = "serve"
  ) -> RealmMessage {
    let readers: [Int64]
    switch place {
    case .channel(let id, _): readers = channel(id)?.subscribers ?? []
    case .direct(let users): readers = users
    }
    let rows = readers.map { reader in
      var flags: RowFlags = []
      if reader == sender, isReadBySender { flags.insert(.read) }
      if mentions(reader, in: text) { flags.insert(.mentioned) }
      return RealmMessage.Row(user: reader, flags: flags)
    }
    return RealmMessage(
      id: lastMessageID + 1, sender: sender, place: place, text: text, sentAt: wall,
      program: program, rows: rows)
  }

  func mentions(_ user: Int64, in text: String) -> Bool {
    self.user(user).map { text.contains("@**\($0.name)**") } ?? false
  }

  // MARK: Changing

  package mutating func apply(_ event: RealmEvent) {
    version += 1
    switch event.kind {
    case .message(let message, _):
      messages.append(message)
      lastMessageID = message.id
      if messages.count > Realm.messageLimit {
        messages.removeFirst()
        isHistoryLimited = true
      }
    case .edited(let edit): apply(edit)
    case .deleted(let ids, _):
      messages.removeAll { ids.contains($0.id) }
    case .flagged(let flagging):
      for id in flagging.ids {
        change(id) { $0.set(flagging.flag, flagging.isSet, of: flagging.user) }
      }
    case .reacted(let id, let reaction, let isSet):
      change(id) { message in
        message.reactions.removeAll { $0 == reaction }
        guard isSet else { return }
        message.reactions.append(reaction)
        message.makeRow(of: reaction.user)
      }
    case .subscribed(let user, let channel, let isSet):
      guard let index = channels.firstIndex(where: { $0.id == channel }) else { return }
      channels[index].set(user, isSet)
    case .userNamed(let user, let name):
      if let index = users.firstIndex(where: { $0.id == user }) { users[index].name = name }
    case .userActive(let user, let isActive): apply(isActive, to: user)
    case .channelMade(let channel): channels.append(channel)
    case .channelNamed(let id, _, let name):
      if let index = channels.firstIndex(where: { $0.id == id }) { channels[index].name = name }
    case .channelDescribed(let id, let about):
      if let index = channels.firstIndex(where: { $0.id == id }) { channels[index].about = about }
    case .present(let user, let wall):
      if let index = users.firstIndex(where: { $0.id == user }) { lastSeen[index] = wall }
    case .topicSet(let setting): settings.set(setting)
    case .statusSet(let user, let status): settings.set(status, of: user)
    case .draftsMade(let drafts): for draft in drafts { settings.set(draft) }
    case .draftEdited(let draft): settings.set(draft)
    case .draftDeleted(let id): settings.deleteDraft(id)
    case .typing: break
    }
  }

  /// A user who is deactivated leaves every channel. Here a return does not undo that.
  private mutating func apply(_ isActive: Bool, to user: Int64) {
    guard let index = users.firstIndex(where: { $0.id == user }) else { return }
    users[index].isActive = isActive
    guard !isActive else { return }
    for index in channels.indices { channels[index].set(user, false) }
  }

  private mutating func apply(_ edit: RealmEvent.Edit) {
    if let text = edit.text {
      change(edit.message) { message in
        message.text = text.new
        message.editedAt = edit.time
        for row in edit.rows {
          message.set(.mentioned, row.flags.contains(.mentioned), ofRowOf: row.user)
        }
      }
    }
    guard let move = edit.move else { return }
    let target = channel(move.newChannel)
    let followers = target?.subscribers ?? []
    for id in move.ids {
      change(id) { message in
        message.place = .channel(move.newChannel, topic: move.newTopic)
        message.editedAt = edit.time
        guard move.newChannel != move.channel else { return }
        // Those who do not follow the new channel lose their rows. In a private channel, those who
        // do follow it gain one.
        message.rows.removeAll { !followers.contains($0.user) }
        guard target?.isPrivate == true else { return }
        for user in followers where message.flags(of: user) == nil {
          message.rows.append(RealmMessage.Row(user: user, flags: .read))
        }
      }
    }
  }

  private mutating func change(_ id: Int64, _ body: (inout RealmMessage) -> Void) {
    let index = index(of: id)
    guard index < messages.count, messages[index].id == id else { return }
    body(&messages[index])
  }

  /// As at the real server, read flags that are taken back are not merged: each has details.
  package static func merged(_ pending: RealmEvent, _ newer: RealmEvent) -> RealmEvent? {
    guard case .flagged(var one) = pending.kind, case .flagged(let other) = newer.kind,
      one.user == other.user, one.flag == other.flag, one.isSet == other.isSet,
      one.isSet || one.flag != .read
    else { return nil }
    one.ids += other.ids
    return RealmEvent(.flagged(one), to: newer.audience)
  }

  package static func isDeletion(_ event: RealmEvent) -> Bool {
    if case .deleted = event.kind { true } else { false }
  }
}

/// A user. Everything about users is made up, and the same in every server.
package struct RealmUser: Sendable {
  package var id: Int64
  package var name: String
  package var email: String
  package var key: String
  package var password: String
  package var isActive = true

  /// The most users of a server.
  package static var limit: Int { 100 }

  private static let names = [
    "Ada", "Bo", "Cy", "Di", "Eve", "Fay", "Gus", "Hal", "Ida", "Jo", "Kit", "Lou",
  ]

  init(number: Int) {
    id = Int64(number) + 8
    name = number < RealmUser.names.count ? RealmUser.names[number] : "User \(number + 1)"
    let short = name.lowercased().filter { $0 != " " }
    email = "\(short)@example.com"
    // Keys are 32 letters and digits. These belong to nobody, so they may be known.
    let letters = Array("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789")
    var chance = SplitMix(UInt64(number) + 1)
    key = String((0..<32).map { _ in letters[chance.below(letters.count)] })
    password = String((0..<12).map { _ in letters[chance.below(letters.count)] })
  }
}

/// A channel.
package struct RealmChannel: Sendable {
  package var id: Int64
  package var name: String
  package var about: String
  /// Ascending.
  package var subscribers: [Int64]
  /// Whether only those who follow it can read its messages, and only those sent to them.
  package var isPrivate = false

  package init(
    id: Int64, name: String, about: String, subscribers: [Int64], isPrivate: Bool = false
  ) {
    self.id = id
    self.name = name
    self.about = about
    self.subscribers = subscribers
    self.isPrivate = isPrivate
  }

  mutating func set(_ user: Int64, _ isSubscribed: Bool) {
    subscribers.removeAll { $0 == user }
    guard isSubscribed else { return }
    subscribers.append(user)
    subscribers.sort()
  }
}

/// Where a message is.
package enum MessageLocation: Hashable, Sendable {
  case channel(Int64, topic: String)
  /// All participants, the sender included, ascending.
  case direct([Int64])
}

/// The flags of one user's row.
package struct RowFlags: OptionSet, Hashable, Sendable {
  package var rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let read = RowFlags(rawValue: 1)
  package static let starred = RowFlags(rawValue: 2)
  package static let collapsed = RowFlags(rawValue: 4)
  package static let mentioned = RowFlags(rawValue: 8)
  package static let historical = RowFlags(rawValue: 16)

  /// In the order in which the server lists them.
  static let names: [(name: String, flag: RowFlags)] = [
    ("read", .read), ("starred", .starred), ("collapsed", .collapsed), ("mentioned", .mentioned),
    ("historical", .historical),
  ]

  var names: [String] { RowFlags.names.filter { contains($0.flag) }.map(\.name) }
}

/// A message, with everybody's flags and reactions.
package struct RealmMessage: Sendable {
  package struct Row: Sendable {
    package var user: Int64
    package var flags: RowFlags
  }

  package struct Reaction: Hashable, Sendable {
    package var user: Int64
    package var emoji: Emoji

    package init(user: Int64, emoji: Emoji) {
      self.user = user
      self.emoji = emoji
    }
  }

  package var id: Int64
  package var sender: Int64
  package var place: MessageLocation
  package var text: String
  /// In seconds of 1970.
  package var sentAt: Int64
  /// In seconds of 1970; `nil`: never.
  var editedAt: Int64?
  /// The program that sent it.
  var program: String
  /// One for each user to whom it was sent, and for those who have starred it or reacted.
  package var rows: [Row]
  package var reactions: [Reaction] = []

  package func flags(of user: Int64) -> RowFlags? { rows.first { $0.user == user }?.flags }

  /// Sets or clears a flag of a user who has a row.
  fileprivate mutating func set(_ flag: RowFlags, _ isSet: Bool, ofRowOf user: Int64) {
    if flags(of: user) != nil { set(flag, isSet, of: user) }
  }

  mutating func set(_ flag: RowFlags, _ isSet: Bool, of user: Int64) {
    let index = makeRow(of: user)
    if isSet { rows[index].flags.insert(flag) } else { rows[index].flags.remove(flag) }
  }

  /// Makes a row for a user who does something with a message that was not sent to them. Returns
  /// where the user's row is.
  @discardableResult
  mutating func makeRow(of user: Int64) -> Int {
    if let index = rows.firstIndex(where: { $0.user == user }) { return index }
    rows.append(Row(user: user, flags: [.read, .historical]))
    return rows.count - 1
  }
}
