internal import SyncProtocols
internal import UpdateMachine

/// Items over Replicache's protocol: each is one value of the client view.
enum ComparedView: ComparedProtocol {
  typealias Model = ConfirmedView<ViewEdit>
  typealias Server = ViewServer<ItemMutators>

  static var spoken: LibraryWorld.SpokenProtocol { .clientView }
  static var cadence: Cadence { .every(.seconds(60)) }

  static func server(_ settings: ServerSettings) -> Server {
    Server(truth: ViewTruth(view: ViewMap()), settings: settings, at: Moment(milliseconds: 0))
  }

  static func change(_ edit: ItemEdit, number: UInt64) -> ViewEdit {
    .edit(edit)
  }

  static func request(_ push: PushRequest<ViewEdit>, at finger: ViewFinger?) -> MutationPush {
    MutationPush(push)
  }

  static func fields(of item: Int64, in state: ViewMap<JSONValue>) -> JSONObject? {
    state[ItemMutators.key(item)]?.object
  }

  static func fields(of item: Int64, on server: Server) -> JSONObject? {
    server.truth.view[ItemMutators.key(item)]?.object
  }

  static func json(_ place: ViewFinger) -> JSONValue {
    .object(
      JSONObject(
        of: ("clientID", JSONValue(integerLiteral: Int64(place.client.number))),
        ("serverStateID", .string(place.state.description))))
  }

  static func json(_ push: MutationPush) -> JSONValue { push.json }

  /// A snapshot and the batch of a poll are the same.
  static func json(_ pulled: PulledView<JSONValue>) -> JSONValue {
    var object = JSONObject(
      of: ("serverStateID", .string(pulled.state.description)),
      ("checksum", JSONValue(integerLiteral: Int64(bitPattern: pulled.checksum))),
      ("lastMutationID", JSONValue(integerLiteral: Int64(pulled.lastMutation.number))))
    switch pulled.content {
    case .delta(_, let changes):
      object["patch"] = .array(
        changes.map {
          .object(JSONObject(of: ("key", .string($0.key.text)), ("value", $0.value ?? .null)))
        })
    case .full(let map):
      var view = JSONObject()
      for (key, value) in map { view[key.text] = value }
      object["view"] = .object(view)
    }
    return .object(object)
  }
}

/// The mutators of items, the same for the server and for its clients.
struct ItemMutators: SimulatedMutators {
  typealias Value = JSONValue

  static func key(_ item: Int64) -> ViewKey { ViewKey("item/\(item)") }

  func run(
    _ name: String, _ arguments: JSONValue, in transaction: inout ViewTransaction<JSONValue>
  ) throws(ChangeRefusal) -> JSONValue {
    if name == "restore" { return try restore(arguments, in: &transaction) }
    guard let edit = ItemEdit(name: name, arguments: arguments) else {
      throw ChangeRefusal("no such edit")
    }
    let key = ItemMutators.key(edit.item)
    guard let new = edit.make(transaction.get(key)?.object) else {
      throw ChangeRefusal("no such item")
    }
    if let new { transaction.put(key, .object(new)) } else { transaction.del(key) }
    return .null
  }

  /// Puts an item back as it was, unless somebody has changed it since.
  private func restore(
    _ arguments: JSONValue, in transaction: inout ViewTransaction<JSONValue>
  ) throws(ChangeRefusal) -> JSONValue {
    guard let item = arguments["item"]?.int64 else { throw ChangeRefusal("no such edit") }
    let key = ItemMutators.key(item)
    guard transaction.get(key)?.object == arguments["ifIs"]?.object else {
      throw ChangeRefusal("changed since")
    }
    if let fields = arguments["to"]?.object {
      transaction.put(key, .object(fields))
    } else {
      transaction.del(key)
    }
    return .null
  }
}

/// A user's edit over Replicache's protocol, or what takes one back.
enum ViewEdit: ViewMutation, Storable {
  case edit(ItemEdit)
  /// Gives an item these fields in the place of others; `nil`: it is not there.
  case restore(Int64, JSONObject?, ifIs: JSONObject?)

  static var beginning: ViewMap<JSONValue>? { ViewMap() }

  var name: String {
    switch self {
    case .edit(let edit): edit.name
    case .restore: "restore"
    }
  }

  var arguments: JSONValue {
    switch self {
    case .edit(let edit): .object(edit.arguments)
    case .restore(let item, let fields, let expected):
      .object(
        JSONObject(
          of: ("item", JSONValue(integerLiteral: item)), ("to", fields.map { .object($0) }),
          ("ifIs", expected.map { .object($0) })))
    }
  }

  private var item: Int64 {
    switch self {
    case .edit(let edit): edit.item
    case .restore(let item, _, _): item
    }
  }

  func apply(to state: inout ViewMap<JSONValue>) throws(ChangeRefusal) -> JSONValue {
    var transaction = ViewTransaction(on: state)
    let value = try ItemMutators().run(name, arguments, in: &transaction)
    state = transaction.view
    return value
  }

  func inverse(from before: ViewMap<JSONValue>, to after: ViewMap<JSONValue>) -> ViewEdit? {
    let key = ItemMutators.key(item)
    guard before[key] != after[key] else { return nil }
    return .restore(item, before[key]?.object, ifIs: after[key]?.object)
  }

  func put(into bytes: inout ByteWriter) {
    bytes.put(name)
    bytes.put(arguments)
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    let name: String = try bytes.take()
    let arguments: JSONValue = try bytes.take()
    if let edit = ItemEdit(name: name, arguments: arguments) {
      self = .edit(edit)
    } else if name == "restore", let item = arguments["item"]?.int64 {
      self = .restore(item, arguments["to"]?.object, ifIs: arguments["ifIs"]?.object)
    } else {
      throw StoredFormError(expected: "an edit")
    }
  }
}
