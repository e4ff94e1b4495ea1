// State: what a user's client knows of a realm, except messages.
//
// State may use: JSON, Wire.

public import UpdateMachine

/// A realm's and a user's state from `/register`, kept up to date by events: users, channels,
/// subscriptions, groups, settings, emoji, drafts, and which messages are unread.
///
/// It is a map of `rows`: a field of `/register` is one row, or has a row for each of its
/// objects. Many parts have Swift properties (``users``, ``channels``, ``unreadCount``, …); read
/// the rest by ``subscript(_:)-(String)``. Unknown fields are kept as they came. Copies cost
/// nothing, and a comparison costs only what differs.
///
/// An event that lacks a required field, or has one of another type, is refused (``ZulipError``)
/// and changes nothing. Anything unknown is not refused but counted (`counts`).
///
/// It holds neither messages nor presence, and no secrets: ZulipSync's documentation lists what is
/// left out.
public struct ZulipState: Sendable {
  /// The rows, in ascending order. The row of a whole field is its value. The row of a field with
  /// objects only says that the server gave the field.
  package internal(set) var rows: VersionedMap<ZulipKey, ZulipValue>
  /// The capabilities of the client's register.
  package let registration: ZulipRegistration
  /// Counts of what was ignored since the snapshot. They do not affect equality.
  package internal(set) var counts = ZulipCounts()
}

/// The answer to `/register`, and the client's capabilities.
public struct ZulipSnapshot: Hashable, Sendable {
  /// All fields of the answer.
  package var fields: ZulipFields
  package var registration: ZulipRegistration

  package init(_ fields: ZulipFields, _ registration: ZulipRegistration = ZulipRegistration()) {
    self.fields = fields
    self.registration = registration
  }
}

extension ZulipSnapshot: CustomStringConvertible, CustomReflectable {
  /// The size only: the contents are the user's, and include keys of the user's bots.
  public var description: String { "a register of \(fields.entries.count) fields" }
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// The capabilities that a client declares at `/register`, as far as they change the server's
/// answers. The answer does not repeat them.
public struct ZulipRegistration: Hashable, Sendable {
  /// `archived_channels`: an archived channel stays where it was.
  package var keepsArchivedChannels = false
  /// `linkifier_url_template`: without it there are no linkifiers, but their events come anyway.
  package var readsLinkifiers = false
  /// `notification_settings_null`: a setting of a subscription may be unset.
  package var readsUnsetNotifications = false
  /// `include_subscribers`: channels carry their subscribers.
  public var includesSubscribers = false

  package init() {}

  /// Reads the capabilities from a request's parameters.
  package init(parameters: ZulipFields) {
    let client = parameters["client_capabilities"]?.fields ?? ZulipFields()
    keepsArchivedChannels = client["archived_channels"]?.bool ?? false
    readsLinkifiers = client["linkifier_url_template"]?.bool ?? false
    readsUnsetNotifications = client["notification_settings_null"]?.bool ?? false
    includesSubscribers = parameters["include_subscribers"]?.bool ?? false
  }
}

/// Counts of what was ignored in a server's answers.
package struct ZulipCounts: Hashable, Sendable {
  /// Events of unknown types, by type.
  package private(set) var unknownTypes: [String: Int64] = [:]
  /// Unknown fields of events, by type and name: "message.mood".
  package private(set) var unknownFields: [String: Int64] = [:]
  /// Events with an unknown `op`, by type and `op`: "reaction.swap".
  package private(set) var unknownOps: [String: Int64] = [:]
  /// Events about fields that were not requested.
  package internal(set) var notHeld: Int64 = 0
  /// Changes of objects that are not there. Servers send them where a user cannot see everything.
  package internal(set) var strays: Int64 = 0

  /// The most names kept, since a server may invent them. Further ones are counted under "".
  private static let namesMaximum = 100

  package init() {}

  mutating func noteUnknown(type: String) { ZulipCounts.note(type, in: &unknownTypes) }

  mutating func noteUnknown(field: String, of type: String) {
    ZulipCounts.note("\(type).\(field)", in: &unknownFields)
  }

  mutating func noteUnknown(op: String, of type: String) {
    ZulipCounts.note("\(type).\(op)", in: &unknownOps)
  }

  private static func note(_ name: String, in counts: inout [String: Int64]) {
    let isCounted = counts[name] != nil || counts.count < namesMaximum
    counts[isCounted ? name : "", default: 0] += 1
  }
}

extension ZulipState: Equatable {
  /// Compares states without their `counts`.
  public static func == (one: ZulipState, other: ZulipState) -> Bool {
    one.registration == other.registration && one.rows == other.rows
  }
}

extension ZulipState: CustomStringConvertible {
  /// The size only: the contents are the user's.
  public var description: String { "a realm's state in \(rows.count) rows" }
}

extension ZulipState: CustomReflectable {
  /// Shows no rows either.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

// MARK: The model

extension ZulipState: SyncModel {
  public init(snapshot: ZulipSnapshot) throws(ZulipError) {
    rows = VersionedMap()
    registration = snapshot.registration
    let reading = ZulipReading(snapshot.fields, path: "")
    for entry in snapshot.fields.entries where ZulipTable.leftOut[entry.name] == nil {
      // No real server gives such a name.
      guard !entry.name.isEmpty, !entry.name.utf8.contains(0) else { continue }
      try load(entry.name, entry.value, path: reading.path + entry.name)
    }
  }

  public mutating func apply(_ event: ZulipEvent) throws(ZulipError) {
    // A copy costs nothing, and an error leaves `self` unchanged.
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
    let reading = ZulipReading(event.fields, path: "")
    if let ops = rule.ops, let op = event.fields[reading.name(.op)]?.text, !ops.contains(op) {
      counts.noteUnknown(op: op, of: type)
      return
    }
    do throws(ZulipError) {
      try perform(rule.effect, event.kind, reading)
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
