package import UpdateMachine

/// The name of an event, drawn by its maker at random (a UUID). An event that comes twice under one
/// name is one event.
package struct StreamEventID: Hashable, Comparable, Sendable {
  package var high: UInt64
  package var low: UInt64

  /// Creates the ID from 128 random bits.
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  package static func < (one: StreamEventID, other: StreamEventID) -> Bool {
    (one.high, one.low) < (other.high, other.low)
  }
}

/// The fields of an object, or those that an event sets.
package typealias StreamFields = VersionedMap<ViewKey, JSONValue>

/// A user's change of one object: what its maker writes, and what the others read.
package struct StreamChange: Hashable, Sendable {
  package var id: StreamEventID
  package var key: ViewKey
  package var kind: Kind
  /// What its maker had seen: everything up to this sequence, and its own earlier changes.
  package var preceding = EventSequence.none
  /// Counts its maker's changes: the number of the ticket. No two changes of a client have the
  /// same.
  package var clientSequence: UInt64 = 0

  /// What it does to its object.
  package enum Kind: Hashable, Sendable {
    /// Makes the object, with these fields.
    case insert(StreamFields)
    /// Sets these fields, and keeps the others.
    case update(StreamFields)
    /// Removes the object.
    case delete
  }

  /// Creates a change of the object with this key.
  ///
  /// - Parameter id: random bits that no other event has.
  package init(_ id: StreamEventID, _ key: ViewKey, _ kind: Kind) {
    self.id = id
    self.key = key
    self.kind = kind
  }
}

/// A change as it is on the stream.
package struct StreamEvent: Hashable, Sendable {
  package var sequence: EventSequence
  package var client: ClientID
  package var change: StreamChange
  /// Its maker's own name for it, which acknowledges it.
  package var ticket: MutationTicket?

  package init(
    sequence: EventSequence, client: ClientID, change: StreamChange, ticket: MutationTicket? = nil
  ) {
    self.sequence = sequence
    self.client = client
    self.change = change
    self.ticket = ticket
  }
}

// MARK: As JSON, for the transport and the saved form

extension StreamChange {
  /// The arguments of the pushed mutation, whose name is the kind.
  package func arguments(ticket: MutationTicket?) -> JSONValue {
    var object = JSONObject()
    object["id"] = [JSONValue(bits: id.high), JSONValue(bits: id.low)]
    object["key"] = .string(key.text)
    object["kind"] = .string(name)
    switch kind {
    case .insert(let fields), .update(let fields): object["fields"] = JSONValue(fields)
    case .delete: break
    }
    if preceding != .none { object["preceding"] = JSONValue(integerLiteral: preceding.number) }
    if clientSequence != ticket?.number ?? 0 { object["number"] = JSONValue(bits: clientSequence) }
    if let ticket { object["ticket"] = JSONValue(bits: ticket.number) }
    return .object(object)
  }

  /// `nil`: these are no arguments of a change.
  package init?(arguments: JSONValue) {
    guard let id = arguments["id"]?.array, id.count == 2, let high = id[0].bits,
      let low = id[1].bits, let key = arguments["key"]?.string,
      let kind = Kind(arguments["kind"]?.string, arguments["fields"]?.object)
    else { return nil }
    self.init(StreamEventID(high: high, low: low), ViewKey(key), kind)
    if let seen = arguments["preceding"] {
      guard let number = seen.int64, number >= 0 else { return nil }
      preceding = EventSequence(number)
    }
    clientSequence = arguments["number"]?.bits ?? arguments["ticket"]?.bits ?? 0
  }
}

extension StreamChange.Kind {
  fileprivate init?(_ name: String?, _ object: JSONObject?) {
    var fields = StreamFields()
    for member in object?.members ?? [] { fields[ViewKey(member.name)] = member.value }
    switch name {
    case "insert" where object != nil: self = .insert(fields)
    case "update" where object != nil: self = .update(fields)
    case "delete": self = .delete
    case _: return nil
    }
  }
}

extension StreamEvent {
  package var json: JSONValue {
    guard case .object(var object) = change.arguments(ticket: ticket) else { return .null }
    object["sequence"] = JSONValue(integerLiteral: sequence.number)
    object["client"] = JSONValue(bits: client.number)
    return .object(object)
  }

  /// `nil`: this is no event.
  package init?(_ json: JSONValue) {
    guard let change = StreamChange(arguments: json), let number = json["sequence"]?.int64,
      number >= 0, let client = json["client"]?.bits
    else { return nil }
    self.init(
      sequence: EventSequence(number), client: ClientID(client), change: change,
      ticket: json["ticket"]?.bits.map { MutationTicket($0) })
  }
}

extension MutationPush {
  /// Converts an outbox's push. The arguments carry the tickets.
  package init(_ push: PushRequest<StreamChange>) {
    self.init(
      client: push.client, knownRefusal: push.knownRefusal, voided: push.voided,
      mutations: push.mutations.map {
        NamedMutation(
          id: $0.id, name: $0.change.name, arguments: $0.change.arguments(ticket: $0.ticket))
      })
  }
}

extension JSONValue {
  /// The number with these bits: JSON's integers have 64, and a sign.
  fileprivate init(bits: UInt64) { self.init(integerLiteral: Int64(bitPattern: bits)) }

  package var bits: UInt64? { int64.map { UInt64(bitPattern: $0) } }

  fileprivate init(_ fields: StreamFields) {
    var object = JSONObject()
    for (key, value) in fields { object[key.text] = value }
    self = .object(object)
  }
}

extension StreamChange: Storable {
  package func put(into bytes: inout ByteWriter) { bytes.put(arguments(ticket: nil)) }

  package init(from bytes: inout ByteReader) throws(StoredFormError) {
    guard let change = StreamChange(arguments: try bytes.take()) else {
      throw StoredFormError(expected: "a change of a stream")
    }
    self = change
  }
}

extension StreamEvent: Storable {
  package func put(into bytes: inout ByteWriter) { bytes.put(json) }

  package init(from bytes: inout ByteReader) throws(StoredFormError) {
    guard let event = StreamEvent(try bytes.take()) else {
      throw StoredFormError(expected: "an event of a stream")
    }
    self = event
  }
}
