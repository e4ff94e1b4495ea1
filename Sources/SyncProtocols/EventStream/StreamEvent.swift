public import UpdateMachine

/// The name of an event, drawn by its maker at random (a UUID). An event that comes twice under one
/// name is one event.
public struct StreamEventID: Hashable, Comparable, Sendable {
  /// The first 64 bits.
  public let high: UInt64
  /// The last 64 bits.
  public let low: UInt64

  /// Creates the ID from 128 bits that were drawn earlier, as an event on the stream has them.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Draws the ID of a new event.
  public init(using generator: inout some RandomNumberGenerator) {
    self.init(high: generator.next(), low: generator.next())
  }

  public static func < (one: StreamEventID, other: StreamEventID) -> Bool {
    (one.high, one.low) < (other.high, other.low)
  }
}

/// The fields of an object, or those that an event sets: values by name.
public typealias StreamFields = VersionedMap<ViewKey, JSONValue>

/// A user's change of one object: what its maker writes, and what the others read.
///
///     try await machine.mutate(StreamChange(id, "milk", .update(["done": true])))
public struct StreamChange: Hashable, Sendable {
  /// The event's name. Every copy that is sent has the same one.
  public var id: StreamEventID
  /// The object that it changes.
  public var key: ViewKey { didSet { expected = nil } }
  /// What it does to the object. Another kind, or another object, makes an undo a change like any
  /// other.
  public var kind: Kind { didSet { expected = nil } }
  /// What its maker had seen: everything up to this sequence, and its own earlier changes. The
  /// library sets it when a user makes the change.
  public var preceding = StreamSequence.none
  /// Counts its maker's changes: the number of the ticket. No two changes of a client have the
  /// same. The library sets it when a user makes the change.
  public var clientSequence: UInt64 = 0

  /// What it must find in its place of the causal order; `nil`: anything. Only what undoes or
  /// redoes a change expects something, so that it takes back nobody else's later work.
  package var expected: Expectation?

  /// What the inverse of a change must find.
  package enum Expectation: Hashable, Sendable {
    /// That the object is deleted, by its maker alone, and that no question is open.
    case nothing
    /// An object that has these fields, and none that the change would add. Those that the change
    /// does not set are removed.
    case fields(StreamFields)
    /// An object with these fields, and no others.
    case object(StreamFields)
  }

  /// What a change does to its object.
  public enum Kind: Hashable, Sendable {
    /// Makes the object, with these fields.
    case insert(StreamFields)
    /// Sets these fields, and keeps the others.
    case update(StreamFields)
    /// Removes the object.
    case delete
  }

  /// Creates a change of the object with this key.
  ///
  /// - Parameters:
  ///   - id: drawn anew for each change, except where an event from the server is decoded.
  ///   - key: the object. Keys are the app's own; two users who insert one key make one object.
  ///   - kind: what it does to the object.
  public init(_ id: StreamEventID, _ key: ViewKey, _ kind: Kind) {
    self.id = id
    self.key = key
    self.kind = kind
  }
}

/// A change as it is on the stream.
public struct StreamEvent: Hashable, Sendable {
  /// Its number, which never changes.
  public var sequence: StreamSequence
  /// The client that made it.
  public var client: ClientID
  /// What was made.
  public var change: StreamChange
  /// Its maker's handle for it, as it came with the push. With it, the event acknowledges the
  /// change once it is shown. `nil`: it has none, and a later answer of the server acknowledges it.
  public var ticket: MutationTicket?

  /// Creates an event as a server gives it.
  public init(
    sequence: StreamSequence, client: ClientID, change: StreamChange, ticket: MutationTicket? = nil
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
    switch expected {
    case .fields(let found), .object(let found): object["found"] = JSONValue(found)
    case .nothing, nil: break
    }
    if preceding != .none { object["preceding"] = JSONValue(integerLiteral: preceding.number) }
    if clientSequence != ticket?.number ?? 0 { object["number"] = JSONValue(bits: clientSequence) }
    if let ticket { object["ticket"] = JSONValue(bits: ticket.number) }
    return .object(object)
  }

  /// The prefix of the kind of a change that expects something. A version that does not know it
  /// refuses the event, and cannot take it for a change without a condition.
  static var mark: String { "undo-" }

  /// `nil`: these are no arguments of a change.
  package init?(arguments: JSONValue) {
    guard let id = arguments["id"]?.array, id.count == 2, let high = id[0].bits,
      let low = id[1].bits, let key = arguments["key"]?.string,
      var name = arguments["kind"]?.string
    else { return nil }
    let isExpecting = name.hasPrefix(StreamChange.mark)
    if isExpecting { name.removeFirst(StreamChange.mark.count) }
    guard let kind = Kind(name, arguments["fields"]?.object) else { return nil }
    self.init(StreamEventID(high: high, low: low), ViewKey(key), kind)
    if isExpecting {
      switch (kind, arguments["found"]?.object.map { StreamFields($0) }) {
      case (.insert, nil): expected = .nothing
      case (.update, let found?): expected = .fields(found)
      case (.delete, let found?): expected = .object(found)
      case _: return nil
      }
    }
    if let seen = arguments["preceding"] {
      guard let number = seen.int64, number >= 0 else { return nil }
      preceding = StreamSequence(number)
    }
    clientSequence = arguments["number"]?.bits ?? arguments["ticket"]?.bits ?? 0
  }
}

extension StreamChange.Kind {
  fileprivate init?(_ name: String?, _ object: JSONObject?) {
    let fields = object.map { StreamFields($0) } ?? StreamFields()
    switch name {
    case "insert" where object != nil: self = .insert(fields)
    case "update" where object != nil: self = .update(fields)
    case "delete": self = .delete
    case _: return nil
    }
  }
}

extension StreamFields {
  fileprivate init(_ object: JSONObject) {
    self.init()
    for member in object.members { self[ViewKey(member.name)] = member.value }
  }
}

extension StreamEvent {
  package var json: JSONValue {
    guard case .object(var object) = change.arguments(ticket: ticket) else { return .null }
    object["sequence"] = JSONValue(integerLiteral: sequence.number)
    object["client"] = JSONValue(bits: client.number)
    return .object(object)
  }

  /// Decodes an event: an object with the arguments of a pushed mutation as they came
  /// (``NamedMutation/arguments``), and the number `sequence` and the maker's number `client`.
  /// `nil`: it is no event.
  public init?(_ json: JSONValue) {
    guard let change = StreamChange(arguments: json), let number = json["sequence"]?.int64,
      number >= 0, let client = json["client"]?.bits
    else { return nil }
    self.init(
      sequence: StreamSequence(number), client: ClientID(client), change: change,
      ticket: json["ticket"]?.bits.map { MutationTicket($0) })
  }
}

extension StreamBatch {
  /// Decodes the answer to a client that follows all objects: an object with the numbers `stream`
  /// and `latest`, which is −1 if the stream is empty, and the array `events`, ascending. Throws
  /// `malformed` if it is no answer.
  public init(_ json: JSONValue) throws(SyncFailure) {
    guard let stream = json["stream"]?.bits, let latest = json["latest"]?.int64,
      let events = json["events"]?.array
    else { throw .malformed }
    self.init(stream: StreamID(stream), latest: StreamSequence(latest))
    for json in events {
      guard let event = StreamEvent(json) else { throw .malformed }
      steps.append(.event(event))
    }
  }
}

extension MutationPush {
  /// Converts an outbox's push, for a server that takes JSON. A server may keep the arguments as
  /// they are, without knowing what they mean: it needs `id` alone, to know an event again.
  ///
  ///     {"id": [7, 9], "key": "milk", "kind": "update", "fields": {"done": true},
  ///      "preceding": 41, "ticket": 3}
  ///
  /// The kinds are `insert`, `update` and `delete`, which has no fields; and each of them with
  /// `undo-` before it, for undo and redo, the last two with an object `found`. `preceding` is
  /// missing if the maker had seen nothing. `number` is there if the change counts as another one
  /// than its ticket.
  public init(_ push: PushRequest<StreamChange>) {
    self.init(
      client: push.client, knownRefusal: push.knownRefusal, voided: push.voided,
      mutations: push.mutations.map {
        NamedMutation(
          id: $0.id, name: $0.change.name, arguments: $0.change.arguments(ticket: $0.ticket))
      })
  }
}

extension JSONValue {
  /// The number with these bits: our integers have 64, and a sign.
  fileprivate init(bits: UInt64) { self.init(integerLiteral: Int64(bitPattern: bits)) }

  ///
  /// A server may write a large one without a sign.
  package var bits: UInt64? {
    if let int64 { return UInt64(bitPattern: int64) }
    guard case .number(let number) = self else { return nil }
    return UInt64(number.text)
  }

  fileprivate init(_ fields: StreamFields) {
    var object = JSONObject()
    for (key, value) in fields { object[key.text] = value }
    self = .object(object)
  }
}

extension StreamChange: Storable {
  public func put(into bytes: inout ByteWriter) { bytes.put(arguments(ticket: nil)) }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    guard let change = StreamChange(arguments: try bytes.take()) else {
      throw StoredFormError(expected: "a change of a stream")
    }
    self = change
  }
}

extension StreamEvent: Storable {
  public func put(into bytes: inout ByteWriter) { bytes.put(json) }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    guard let event = StreamEvent(try bytes.take()) else {
      throw StoredFormError(expected: "an event of a stream")
    }
    self = event
  }
}
