internal import SyncProtocols
internal import UpdateMachine

/// Items over Zulip's protocol: each edit is an event, and a second copy of a push is a second
/// edit.
enum ComparedQueue: ComparedProtocol {
  typealias Model = QueuedItems
  typealias Server = EventQueueServer<ItemsTruth>

  static var spoken: LibraryWorld.SpokenProtocol { .eventQueue }
  static var cadence: Cadence { .waits }

  static func server(_ settings: ServerSettings) -> Server {
    Server(truth: ItemsTruth(), settings: settings, at: Moment(milliseconds: 0))
  }

  static func change(_ edit: ItemEdit, number: UInt64) -> QueuedEdit {
    QueuedEdit(edit: edit)
  }

  static func request(_ push: PushRequest<QueuedEdit>, at finger: QueueFinger?) -> MutationPush {
    MutationPush(
      client: push.client, knownRefusal: push.knownRefusal, voided: push.voided,
      mutations: push.mutations.map {
        var arguments = $0.change.edit.arguments
        arguments["local"] = JSONValue(integerLiteral: Int64($0.ticket.number))
        return NamedMutation(id: $0.id, name: $0.change.name, arguments: .object(arguments))
      })
  }

  static func fields(of item: Int64, in state: VersionedMap<Int64, JSONObject>) -> JSONObject? {
    state[item]
  }

  static func fields(of item: Int64, on server: Server) -> JSONObject? { server.truth.items[item] }

  static func json(_ place: QueueFinger) -> JSONValue {
    .object(
      JSONObject(
        of: ("queue_id", .string(place.queue.text)),
        ("last_event_id", JSONValue(integerLiteral: place.lastEventID))))
  }

  static func json(_ push: MutationPush) -> JSONValue { push.json }

  static func json(_ snapshot: ItemsSnapshot) -> JSONValue {
    .array(
      snapshot.items.map {
        .object(
          JSONObject(of: ("item", JSONValue(integerLiteral: $0.key)), ("fields", .object($0.value)))
        )
      })
  }

  static func json(_ batch: QueueBatch<ItemsEvent>) -> JSONValue {
    .array(
      batch.events.map { queued in
        var object = queued.event?.edit.arguments ?? JSONObject()
        object["id"] = JSONValue(integerLiteral: queued.id)
        object["type"] = .string(queued.event?.edit.name ?? "heartbeat")
        if let local = queued.event?.local {
          object["client"] = JSONValue(integerLiteral: Int64(local.client.number))
          object["local"] = JSONValue(integerLiteral: Int64(local.ticket.number))
        }
        return .object(object)
      })
  }
}

/// An edit of an item, and who made it.
struct ItemsEvent: Sendable {
  var edit: ItemEdit
  var local: (client: ClientID, ticket: MutationTicket)?
}

/// The state as a register returns it.
struct ItemsSnapshot: Sendable {
  var items: VersionedMap<Int64, JSONObject>
  var client = ClientID(0)
}

/// The items of a server.
struct ItemsTruth: ServerTruth {
  typealias Event = ItemsEvent

  private(set) var items = VersionedMap<Int64, JSONObject>()

  var snapshot: ItemsSnapshot { ItemsSnapshot(items: items) }

  static func addressed(_ snapshot: ItemsSnapshot, to client: ClientID) -> ItemsSnapshot {
    ItemsSnapshot(items: snapshot.items, client: client)
  }

  var checksum: UInt64 {
    var digest = StateDigest()
    for (item, fields) in items {
      digest.fold(item)
      JSONValue.object(fields).fold(into: &digest)
    }
    return digest.value
  }

  mutating func apply(_ event: ItemsEvent) {
    if let new = event.edit.make(items[event.edit.item]) { items[event.edit.item] = new }
  }

  func change(
    by mutation: NamedMutation, of client: ClientID
  ) throws(ChangeRefusal) -> ItemsEvent? {
    guard let edit = ItemEdit(name: mutation.name, arguments: mutation.arguments),
      let ticket = mutation.arguments["local"]?.int64
    else { throw ChangeRefusal("no such edit") }
    guard edit.make(items[edit.item]) != nil else { throw ChangeRefusal("no such item") }
    return ItemsEvent(edit: edit, local: (client, MutationTicket(UInt64(ticket))))
  }
}

/// The items as told to a client, which recognises its own edits by their tickets.
struct QueuedItems: StorableModel {
  typealias Change = QueuedEdit

  private let name: ClientID
  var client: ClientID? { name }
  private(set) var state: VersionedMap<Int64, JSONObject>

  static var delivery: MutationDelivery { .atMostOnce }

  static var beginning: QueuedItems? { QueuedItems(.nameless, VersionedMap()) }

  /// The server keeps no count: echoes and snapshots confirm.
  var confirmation: MutationConfirmation { MutationConfirmation(last: .none) }

  private init(_ name: ClientID, _ state: VersionedMap<Int64, JSONObject>) {
    self.name = name
    self.state = state
  }

  init(snapshot: ItemsSnapshot) { self.init(snapshot.client, snapshot.items) }

  mutating func apply(_ event: ItemsEvent) {
    if let new = event.edit.make(state[event.edit.item]) { state[event.edit.item] = new }
  }

  func echo(in event: ItemsEvent) -> MutationTicket? {
    guard let local = event.local, local.client == name else { return nil }
    return local.ticket
  }

  func store(since old: QueuedItems?, into rows: inout RowWriter) {
    rows.put(.firstOfModel, [name.number], since: old.map { [$0.name.number] })
    for change in state.difference(from: old?.state ?? VersionedMap()).changes {
      let table = StoredTable.firstOfModel.advanced(by: 1)
      if let new = change.new {
        rows.put(table, change.key.keyBytes, JSONValue.object(new).storedBytes)
      } else {
        rows.remove(table, change.key.keyBytes)
      }
    }
  }

  init(stored rows: RowReader) throws(StoredFormError) {
    let head: [UInt64]? = try rows.value(of: .firstOfModel)
    guard let number = head?.first else { throw StoredFormError(expected: "items") }
    let all: VersionedMap<Int64, JSONValue> = try rows.map(of: .firstOfModel.advanced(by: 1))
    var state = VersionedMap<Int64, JSONObject>()
    for (item, value) in all { state[item] = value.object }
    self.init(ClientID(number), state)
  }
}

/// A user's edit over Zulip's protocol.
struct QueuedEdit: Mutation, Storable {
  let edit: ItemEdit

  /// The item is not there.
  struct Missing: Error, Hashable, Sendable {}

  init(edit: ItemEdit) { self.edit = edit }

  var name: String { edit.name }

  func apply(to state: inout VersionedMap<Int64, JSONObject>) throws(Missing) {
    guard let new = edit.make(state[edit.item]) else { throw Missing() }
    state[edit.item] = new
  }

  func put(into bytes: inout ByteWriter) {
    bytes.put(edit.name)
    bytes.put(JSONValue.object(edit.arguments))
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    let name: String = try bytes.take()
    guard let edit = ItemEdit(name: name, arguments: try bytes.take()) else {
      throw StoredFormError(expected: "an edit")
    }
    self.edit = edit
  }
}
