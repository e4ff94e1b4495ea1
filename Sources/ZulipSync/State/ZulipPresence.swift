public import MessageSync
public import SyncProtocols
public import UpdateMachine

/// Who is there, and who is typing: a model of its own, on a queue of its own (event types `presence`,
/// `typing` and `realm_user`), without a disk, for after minutes it is worth nothing.
///
/// What it says ends by itself: whoever asks gives the moment at which it is to hold. Neither the model
/// nor an event looks at a clock; the source notes when an answer came (``ZulipHeard``).
public struct ZulipPresence: Hashable, Sendable {
  /// What the server knows of a user, in its seconds since the epoch.
  public struct Person: Hashable, Sendable {
    /// When he did something last.
    public var lastActive: Int64
    /// When one of his programs was last connected; not before ``lastActive``.
    public var lastConnected: Int64
  }

  public enum Status: Hashable, Sendable {
    /// He does something.
    case active
    /// One of his programs is connected.
    case idle
    case offline
  }

  /// Somebody who is typing.
  public struct Typist: Hashable, Sendable {
    public var user: UserID
    public var place: MessagePlace
    /// From then on he is not, unless the server says so again.
    public var until: Moment
  }

  /// Those of whom the server has something.
  public private(set) var people: VersionedMap<UserID, Person> = [:]
  /// The same of those who are deactivated: it holds again when they come back.
  private var gone: VersionedMap<UserID, Person> = [:]
  /// In the order in which they began; some may have ended by themselves.
  public private(set) var typists: [Typist] = []
  /// How long after its last sign a status holds.
  public let offlineAfter: TimeSpan
  /// How long after its last sign somebody is still said to be typing.
  public let typingEndsAfter: TimeSpan
  /// What the server's clock showed, in milliseconds since the epoch, at which moment of ours.
  private var serverTime: Int64
  private var heardAt: Moment

  /// What Zulip says by default, where a server says nothing.
  private static let offlineAfterDefault: Int64 = 140
  private static let typingEndsAfterDefault: Int64 = 15_000
  /// More at once nobody can show; of those beyond the oldest are forgotten.
  private static let typistsMaximum = 1_000
}

/// An event, and when the answer came in which it was.
public struct ZulipHeard: Hashable, Sendable {
  public var event: ZulipEvent
  public var at: Moment

  public init(_ event: ZulipEvent, at moment: Moment) {
    self.event = event
    at = moment
  }
}

extension QueueBatch<ZulipEvent> {
  /// For a replica of a ``ZulipPresence``.
  public func heard(at moment: Moment) -> QueueBatch<ZulipHeard> {
    QueueBatch<ZulipHeard>(
      queue: queue,
      events: events.map { queued in
        QueuedEvent(id: queued.id, event: queued.event.map { ZulipHeard($0, at: moment) })
      })
  }
}

// MARK: What it says

extension ZulipPresence {
  /// Whether a user is there.
  public func status(of user: UserID, at now: Moment) -> Status {
    guard let person = people[user] else { return .offline }
    if now < end(of: person.lastActive) { return .active }
    return now < end(of: person.lastConnected) ? .idle : .offline
  }

  /// Who is typing in a conversation, those who began first at the front. O(all who are typing).
  public func typists(in place: MessagePlace, at now: Moment) -> [UserID] {
    typists.filter { $0.place == place && now < $0.until }.map(\.user)
  }

  /// When one of these answers will next be another by itself; `nil`: never. O(people).
  public func nextChange(after now: Moment) -> Moment? {
    let ends =
      typists.map(\.until)
      + people.flatMap { [end(of: $0.value.lastActive), end(of: $0.value.lastConnected)] }
    return ends.filter { $0 > now }.min()
  }

  /// The moment of ours at which a sign that the server had at this second holds no longer.
  private func end(of second: Int64) -> Moment {
    let sign = Moment(milliseconds: TimeSpan.seconds(second).milliseconds)
    return heardAt + (sign - Moment(milliseconds: serverTime)) + offlineAfter
  }
}

// MARK: As the library's model

extension ZulipPresence: SyncModel {
  /// An answer to `/register` with `slim_presence`, and when it came.
  public struct Snapshot: Hashable, Sendable {
    public var fields: ZulipFields
    public var at: Moment

    public init(_ fields: ZulipFields, at moment: Moment) {
      self.fields = fields
      at = moment
    }
  }

  public init(snapshot: Snapshot) throws(ZulipError) {
    let answer = ZulipReading(snapshot.fields, path: "")
    offlineAfter = .seconds(
      try ZulipPresence.span(
        "server_presence_offline_threshold_seconds", answer, ZulipPresence.offlineAfterDefault))
    typingEndsAfter = .milliseconds(
      try ZulipPresence.span(
        "server_typing_started_expiry_period_milliseconds", answer,
        ZulipPresence.typingEndsAfterDefault))
    serverTime = try ZulipPresence.time(answer)
    heardAt = snapshot.at
    try note(try answer.object("presences"))
  }

  private static func span(
    _ name: String, _ answer: ZulipReading, _ unsaid: Int64
  ) throws(ZulipError) -> Int64 {
    answer.fields[name] == nil ? unsaid : try answer.number(name)
  }

  /// The server's clock, in milliseconds.
  private static func time(_ event: ZulipReading) throws(ZulipError) -> Int64 {
    switch try event.value("server_timestamp") {
    case .number(let seconds): return TimeSpan.seconds(seconds).milliseconds
    case .fraction(let seconds):
      guard let time = Int64(exactly: (seconds * 1_000).rounded()) else { break }
      return time
    case .null, .bool, .text, .list, .fields: break
    }
    throw event.malformed("server_timestamp")
  }

  public mutating func apply(_ heard: ZulipHeard) throws(ZulipError) {
    var new = self
    let event = ZulipReading(heard.event.fields, path: heard.event.type + ".")
    switch heard.event.type {
    case "presence": try new.takePresence(event, at: heard.at)
    case "typing": try new.takeTyping(event, at: heard.at)
    case "realm_user": try new.takeUser(event)
    default: return
    }
    self = new
  }

  private mutating func takePresence(_ event: ZulipReading, at now: Moment) throws(ZulipError) {
    if event.fields["presences"] != nil {
      try note(try event.object("presences"))
    } else {
      // One of a user's programs says what he does.
      let user = UserID(try event.number("user_id"))
      let programs = try event.object("presence")
      for entry in programs.fields.entries {
        let program = try programs.object(entry.name)
        let second = try program.number("timestamp")
        let isActive = try program.text("status") == "active"
        note(user, lastActive: isActive ? second : nil, lastConnected: second)
      }
    }
    if event.fields["server_timestamp"] != nil {
      compareClocks(try ZulipPresence.time(event), at: now)
    }
  }

  /// What an answer took on its way, and how long its events had waited, makes the server's clock seem
  /// slow. So of all that was heard that counts which makes it the fastest.
  private mutating func compareClocks(_ time: Int64, at now: Moment) {
    let lead = Moment(milliseconds: time) - now
    guard lead > Moment(milliseconds: serverTime) - heardAt else { return }
    serverTime = time
    heardAt = now
  }

  /// Many at once, by their numbers.
  private mutating func note(_ presences: ZulipReading) throws(ZulipError) {
    for entry in presences.fields.entries {
      guard let number = Int64(entry.name) else { throw .malformed(path: presences.path + "user") }
      let presence = try presences.object(entry.name)
      let active = try ZulipPresence.second("active_timestamp", presence)
      let connected = try ZulipPresence.second("idle_timestamp", presence)
      note(UserID(number), lastActive: active, lastConnected: connected)
    }
  }

  /// Who was never active has none.
  private static func second(
    _ name: String, _ presence: ZulipReading
  ) throws(ZulipError) -> Int64? {
    presence.fields[name] == nil ? nil : try presence.number(name)
  }

  private mutating func note(_ user: UserID, lastActive: Int64?, lastConnected: Int64?) {
    var person = people[user] ?? Person(lastActive: .min, lastConnected: .min)
    person.lastActive = max(person.lastActive, lastActive ?? .min)
    person.lastConnected = max(person.lastConnected, lastConnected ?? .min, person.lastActive)
    people[user] = person
  }

  private mutating func takeTyping(_ event: ZulipReading, at now: Moment) throws(ZulipError) {
    let user = UserID(try event.object("sender").number("user_id"))
    var place: MessagePlace
    switch ZulipMessageType(rawValue: try event.text("message_type")) {
    case .channel:
      place = .zulip(ChannelID(try event.number("stream_id")), topic: try event.text("topic"))
    case .direct:
      var users: [UserID] = []
      for recipient in try event.objects("recipients") {
        users.append(UserID(try recipient.number("user_id")))
      }
      place = .direct(ConversationID(zulip: users))
    case nil: throw event.malformed("message_type")
    }
    let until = now + typingEndsAfter
    let op = try event.text("op")
    let known = typists.firstIndex { $0.user == user && $0.place == place }
    switch (op, known) {
    case ("start", let index?): typists[index].until = until
    case ("start", nil):
      typists.removeAll { $0.until <= now }
      if typists.count == ZulipPresence.typistsMaximum { typists.removeFirst() }
      typists.append(Typist(user: user, place: place, until: until))
    case ("stop", let index?): typists.remove(at: index)
    case ("stop", nil): break
    default: throw event.malformed("op")
    }
  }

  /// One who is deactivated is not there.
  private mutating func takeUser(_ event: ZulipReading) throws(ZulipError) {
    let person = try event.object("person")
    guard person.fields["is_active"] != nil else { return }
    let user = UserID(try person.number("user_id"))
    if try person.bool("is_active") {
      if let person = gone.removeValue(forKey: user) { people[user] = person }
    } else {
      if let person = people.removeValue(forKey: user) { gone[user] = person }
      typists.removeAll { $0.user == user }
    }
  }
}
