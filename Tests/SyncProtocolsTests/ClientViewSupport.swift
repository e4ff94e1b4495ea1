import SyncProtocols
import UpdateMachine

/// The mutators of the tests' data layer.
struct Ledger: ViewMutators {
  func run(
    _ name: String, _ arguments: JSONValue, in transaction: inout ViewTransaction<JSONValue>
  ) throws(ChangeRefusal) -> JSONValue {
    switch name {
    case "put":
      transaction.put(ViewKey(arguments["key"]?.string ?? ""), arguments["value"] ?? .null)
      return .null
    case "add":
      let sum = (transaction.get("sum")?.int64 ?? 0) + (arguments.int64 ?? 0)
      transaction.put("sum", JSONValue(integerLiteral: sum))
      return JSONValue(integerLiteral: sum)
    case "note":
      // Appends what a client wrote to a list. The list shows what took effect, how often, and in
      // which order.
      let key = ViewKey("log/\(arguments["client"]?.int64 ?? 0)")
      transaction.put(
        key, .array((transaction.get(key)?.array ?? []) + [arguments["token"] ?? .null]))
      transaction.put("newest", arguments["token"] ?? .null)
      if transaction.has("closed") { throw ChangeRefusal("closed") }
      return .null
    case "nothing": return .null
    case _: throw ChangeRefusal("no mutator \(name)")
    }
  }
}

/// A server, with short ways to send it requests.
struct ViewDesk {
  var server = ClientViewServer(
    DataLayer(Ledger()), DiffServer(epoch: 1), pushCredential: PushCredential("up"),
    pullCredential: PullCredential("down"))

  static let one = ClientID(1)
  static let two = ClientID(2)

  var dataLayer: DataLayer<Ledger> {
    get { server.dataLayer }
    set { server.dataLayer = newValue }
  }

  /// Somebody else sets values.
  mutating func put(_ values: KeyValuePairs<ViewKey, JSONValue>) {
    dataLayer.change { transaction in
      for (key, value) in values { transaction.put(key, value) }
    }
  }

  /// Pushes mutations with IDs from `first` on. Returns the answer.
  @discardableResult
  mutating func push(
    _ client: ClientID = one, from first: UInt64, knowing refusal: UInt64 = 0,
    without voided: [UInt64] = [], _ mutations: (String, JSONValue)...
  ) throws -> String {
    let numbered = mutations.enumerated().map {
      NamedMutation(
        id: MutationID(first + UInt64($0.offset)), name: $0.element.0, arguments: $0.element.1)
    }
    let push = MutationPush(
      client: client, knownRefusal: MutationID(refusal), voided: voided.map { MutationID($0) },
      mutations: numbered)
    return "\(try server.push(push, with: PushCredential("up")))"
  }

  mutating func pull(
    _ client: ClientID = one, from state: ServerStateID? = nil, asOf commit: UInt64? = nil
  ) throws -> PulledView<JSONValue> {
    try server.pull(
      PullRequest(client: client, state: state), with: PullCredential("down"),
      asOf: commit.map { CommitNumber($0) })
  }

  /// The model of a client that has just registered.
  mutating func model(_ client: ClientID = one) throws -> ClientViewModel<JSONValue> {
    try ClientViewModel(snapshot: try pull(client))
  }

  /// The newest state, and a client's last mutation in it, like "a=1 sum=3, last 2".
  func text(_ client: ClientID = one) -> String {
    let record = dataLayer.last.record(of: client)
    return dataLayer.last.view.text + ", last \(record.lastMutation)"
      + (record.refusal.map { " \($0)" } ?? "")
  }
}

extension ViewMap<JSONValue> {
  /// The map as text, like "a=1 b=[2]".
  var text: String { map.map { "\($0.key)=\($0.value)" }.joined(separator: " ") }
}

extension PulledView<JSONValue> {
  /// The view as text, like "1.2:0 from 1.1: a=1 b-" or "1.2:0 full: a=1".
  var text: String {
    switch content {
    case .full(let view):
      "\(finger) full: \(view.map { "\($0.key)=\($0.value)" }.joined(separator: " "))"
    case .delta(let base, let changes):
      "\(finger) from \(base): "
        + changes.map { change in "\(change.key)" + (change.value.map { "=\($0)" } ?? "-") }
        .joined(separator: " ")
    }
  }
}

/// Draws random numbers from a seed.
struct Draws {
  private var digest: StateDigest

  init(seed: UInt64) {
    digest = StateDigest()
    digest.fold(seed)
  }

  /// Draws a number from 0 up to, but not including, `count`.
  mutating func below(_ count: Int) -> Int {
    digest.fold(1 as UInt64)
    return Int(digest.value % UInt64(count))
  }

  mutating func happens(_ part: Int, in whole: Int) -> Bool { below(whole) < part }
}
