// State: the room of what a user's client knows of a realm beside messages.
//
// State may use: JSON, Wire.

public import UpdateMachine

/// All that `/register` gives of a realm and a user, kept level by events: users, channels,
/// subscriptions, groups, settings, emoji, drafts, and which messages are unread.
///
/// It is a map of rows: a field of `/register` is one row, or has a row for each of its objects, as
/// ``rows`` tells; what has a name of its own in Swift is read through it (``users``, ``channels``,
/// ``unreadCount``, …), the rest by ``subscript(_:)-(String)``. Fields that nobody here knows are kept
/// as they came. A copy costs nothing, and two states are compared at the price of what differs.
///
/// An event that lacks what it must have, or has it of another kind, is refused (``ZulipError``), and
/// changes nothing. What is not known is not refused but counted (``counts``).
///
/// Messages themselves are not in it, nor is presence: ZulipSync's documentation lists what is not.
public struct ZulipState: Sendable {
  /// Ascending. The row of a whole field is its value; that of a field with objects says only that the
  /// server gave it.
  public internal(set) var rows: VersionedMap<ZulipKey, ZulipValue>
  /// What the client asked for.
  public let registration: ZulipRegistration
  /// What was passed over since the snapshot. No part of what makes two states equal.
  public internal(set) var counts = ZulipCounts()
}

/// The answer to `/register`, and what was asked.
public struct ZulipSnapshot: Hashable, Sendable {
  /// All fields of the answer.
  public var fields: ZulipFields
  public var registration: ZulipRegistration

  public init(_ fields: ZulipFields, _ registration: ZulipRegistration = ZulipRegistration()) {
    self.fields = fields
    self.registration = registration
  }
}

/// What a client has told of itself at `/register`, as far as it changes what the server then says.
/// The answer does not repeat it.
public struct ZulipRegistration: Hashable, Sendable {
  /// `archived_channels`: a channel that is archived stays where it was.
  public var keepsArchivedChannels = false
  /// `linkifier_url_template`: without it there are no linkifiers, but their events come all the same.
  public var readsLinkifiers = false
  /// `notification_settings_null`: a setting of a subscription may be unset.
  public var readsUnsetNotifications = false
  /// `include_subscribers`: channels have their subscribers.
  public var includesSubscribers = false

  public init() {}

  /// From the parameters of a request.
  public init(parameters: ZulipFields) {
    let client = parameters["client_capabilities"]?.fields ?? ZulipFields()
    keepsArchivedChannels = client["archived_channels"]?.bool ?? false
    readsLinkifiers = client["linkifier_url_template"]?.bool ?? false
    readsUnsetNotifications = client["notification_settings_null"]?.bool ?? false
    includesSubscribers = parameters["include_subscribers"]?.bool ?? false
  }
}

/// How much of what a server said was passed over.
public struct ZulipCounts: Hashable, Sendable {
  /// Events by types that are not known here.
  public private(set) var unknownTypes: [String: Int64] = [:]
  /// Fields of events that are not known here, by type and name: "message.mood".
  public private(set) var unknownFields: [String: Int64] = [:]
  /// Events about fields that the server was not asked for.
  public internal(set) var notHeld: Int64 = 0
  /// Changes of objects that are not there. Servers announce them where a user cannot see all.
  public internal(set) var strays: Int64 = 0

  /// So many names, for a server may invent them. What is beyond is counted under an empty one.
  private static let namesMaximum = 100

  public init() {}

  mutating func noteUnknown(type: String) { ZulipCounts.note(type, in: &unknownTypes) }

  mutating func noteUnknown(field: String, of type: String) {
    ZulipCounts.note("\(type).\(field)", in: &unknownFields)
  }

  private static func note(_ name: String, in counts: inout [String: Int64]) {
    let isCounted = counts[name] != nil || counts.count < namesMaximum
    counts[isCounted ? name : "", default: 0] += 1
  }
}

extension ZulipState: Equatable {
  /// What was passed over on the way makes no difference.
  public static func == (one: ZulipState, other: ZulipState) -> Bool {
    one.registration == other.registration && one.rows == other.rows
  }
}

extension ZulipState: CustomStringConvertible {
  /// How much there is, and nothing of it: it is the user's, and of bots it has keys.
  public var description: String { "a realm's state in \(rows.count) rows" }
}

extension ZulipState: CustomReflectable {
  /// Not its rows either.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

// MARK: As the library's model

extension ZulipState: SyncModel {
  public init(snapshot: ZulipSnapshot) throws(ZulipError) {
    rows = VersionedMap()
    registration = snapshot.registration
    let reading = ZulipReading(snapshot.fields, path: "")
    for entry in snapshot.fields.entries where ZulipTable.leftOut[entry.name] == nil {
      // No name that a server of this world gives.
      guard !entry.name.isEmpty, !entry.name.utf8.contains(0) else { continue }
      try load(entry.name, entry.value, path: reading.path + entry.name)
    }
  }

  public mutating func apply(_ event: ZulipEvent) throws(ZulipError) {
    // A copy costs nothing, and what throws has changed only that.
    var new = self
    try new.take(event)
    self = new
  }

  private mutating func take(_ event: ZulipEvent) throws(ZulipError) {
    let type = event.type
    guard let rule = ZulipTable.rules[type] else {
      counts.noteUnknown(type: type)
      return
    }
    for entry in event.fields.entries where !rule.knows.contains(entry.name) {
      guard !["type", "id", "op"].contains(entry.name) else { continue }
      counts.noteUnknown(field: entry.name, of: type)
    }
    do throws(ZulipError) {
      try perform(rule.effect, event.kind, ZulipReading(event.fields, path: ""))
    } catch {
      guard case .malformed(let path) = error else { throw error }
      throw .malformed(path: "\(type).\(path)")
    }
  }

  private mutating func perform(
    _ effect: ZulipRule.Effect, _ kind: ZulipEvent.Kind, _ event: ZulipReading
  ) throws(ZulipError) {
    switch effect {
    case .nothing: break
    case .replace(let field, let name): try replace(field, with: name, event)
    case .entry(let field, let name, let value):
      try setEntry(of: field, try event.text(name), try event.value(value))
    case .properties(let prefix): try setProperties(prefix, event)
    case .settings(let name, let value):
      try setSetting(try event.text(name), try event.value(value))
    case .fields(let names): try setFields(names, event)
    case .objects(let objects): try change(objects, event)
    case .users: try changeUser(event)
    case .groups: try changeGroup(event)
    case .channels: try changeChannels(event)
    case .subscriptions: try changeSubscriptions(kind, event)
    case .topic: try changeTopic(event)
    case .status: try changeStatus(event)
    case .messages: try take(kind)
    }
  }
}
