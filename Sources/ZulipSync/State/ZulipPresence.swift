public import MessageSync
package import SyncProtocols
public import UpdateMachine

/// Who is present, and who is typing: a model of its own, on a queue of its own (event types
/// `presence`, `typing` and `realm_user`). It is never stored, since it is worthless after minutes.
///
/// Its answers expire, so each question names a moment. Neither the model nor an event reads a
/// clock; the source records when an answer came (``ZulipHeard``).
public struct ZulipPresence: Hashable, Sendable {
  /// The last signs of a user, in the server's seconds since the epoch.
  package struct Person: Hashable, Sendable {
    /// When the user was last active.
    package var lastActive: Int64
    /// When one of the user's clients was last connected; not before `lastActive`.
    package var lastConnected: Int64
  }

  /// How present a user is at a moment.
  public enum Status: Hashable, Sendable {
    /// The user is active.
    case active
    /// One of the user's clients is connected.
    case idle
    /// No sign of the user is recent enough, or none is known.
    case offline
  }

  /// A user who is typing.
  package struct Typist: Hashable, Sendable {
    package var user: UserID
    package var place: MessagePlace
    /// When this expires, unless the server repeats it.
    package var until: Moment
  }

  /// The users that the server has reported.
  package private(set) var people: VersionedMap<UserID, Person> = [:]
  /// The signs of deactivated users, which hold again when the users are reactivated.
  private var gone: VersionedMap<UserID, Person> = [:]
  /// The users who are typing, in the order in which they began. Some may have expired.
  package private(set) var typists: [Typist] = []
  /// How long a status holds after its last sign.
  package let offlineAfter: TimeSpan
  /// How long a user counts as typing after the last sign.
  package let typingEndsAfter: TimeSpan
  /// The server's clock, in milliseconds since the epoch, at our moment `heardAt`.
  private var serverTime: Int64
  private var heardAt: Moment

  /// Zulip's defaults, for servers that do not say.
  private static let offlineAfterDefault: Int64 = 140
  private static let typingEndsAfterDefault: Int64 = 15_000
  /// The most typists that are kept. Beyond it the oldest are dropped; no app can show more.
  private static let typistsMaximum = 1_000
}

/// An event, and the moment when its answer came.
public struct ZulipHeard: Hashable, Sendable {
  package var event: ZulipEvent
  package var at: Moment

  package init(_ event: ZulipEvent, at moment: Moment) {
    self.event = event
    at = moment
  }
}

extension QueueBatch<ZulipEvent> {
  /// Returns the batch for a replica of a ``ZulipPresence``.
  package func heard(at moment: Moment) -> QueueBatch<ZulipHeard> {
    QueueBatch<ZulipHeard>(
      queue: queue,
      events: events.map { queued in
        QueuedEvent(id: queued.id, event: queued.event.map { ZulipHeard($0, at: moment) })
      })
  }
}

// MARK: Queries

extension ZulipPresence {
  /// Whether a user is present.
  public func status(of user: UserID, at now: Moment) -> Status {
    guard let person = people[user] else { return .offline }
    if now < end(of: person.lastActive) { return .active }
    return now < end(of: person.lastConnected) ? .idle : .offline
  }

  /// Returns the users typing in a conversation, in the order in which they began. O(all who are
  /// typing).
  public func typists(in place: MessagePlace, at now: Moment) -> [UserID] {
    typists.filter { $0.place == place && now < $0.until }.map(\.user)
  }

  /// Returns the next moment at which one of these answers changes by itself; `nil` for never.
  /// O(people).
  public func nextChange(after now: Moment) -> Moment? {
    let ends =
      typists.map(\.until)
      + people.flatMap { [end(of: $0.value.lastActive), end(of: $0.value.lastConnected)] }
    return ends.filter { $0 > now }.min()
  }

  /// Returns our moment at which a sign from this server second expires.
  private func end(of second: Int64) -> Moment {
    let sign = Moment(milliseconds: TimeSpan.seconds(second).milliseconds)
    return heardAt + (sign - Moment(milliseconds: serverTime)) + offlineAfter
  }
}

// MARK: The model

extension ZulipPresence: SyncModel {
  /// The answer to `/register` with `slim_presence`, and the moment when it came.
  public struct Snapshot: Hashable, Sendable {
    package var fields: ZulipFields
    package var at: Moment

    package init(_ fields: ZulipFields, at moment: Moment) {
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

  /// Reads the server's clock, in milliseconds.
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
      // The report of one of the user's clients.
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

  /// Keeps the fastest estimate of the server's clock. The time that an answer travelled, and the
  /// time that its events waited, make that clock seem slow.
  private mutating func compareClocks(_ time: Int64, at now: Moment) {
    let lead = Moment(milliseconds: time) - now
    guard lead > Moment(milliseconds: serverTime) - heardAt else { return }
    serverTime = time
    heardAt = now
  }

  /// Records the presence of many users, by their IDs.
  private mutating func note(_ presences: ZulipReading) throws(ZulipError) {
    for entry in presences.fields.entries {
      guard let number = Int64(entry.name) else { throw .malformed(path: presences.path + "user") }
      let presence = try presences.object(entry.name)
      let active = try ZulipPresence.second("active_timestamp", presence)
      let connected = try ZulipPresence.second("idle_timestamp", presence)
      note(UserID(number), lastActive: active, lastConnected: connected)
    }
  }

  /// A user who was never active has no such field.
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

  /// Removes a deactivated user, and restores a reactivated one.
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
