import CAllocations
import Foundation
import SyncProtocols
import UpdateMachine

// Local changes: a client view of JSON values, its user's mutations, and the rebase.

func benchmarkViews() {
  benchmarkViewThroughput()
  benchmarkRebase(over: "1,000 numbers", Change.add) { JSONValue(integerLiteral: $0) }
  benchmarkRebase(over: "1,000 values of 1 KB", Change.retitle) { JSONValue.item($0, bytes: 1024) }
  benchmarkMutates()
  benchmarkDeltas()
}

// MARK: What is in the views

extension JSONValue {
  /// Returns an object with a number, a title, and enough text to make it `bytes` bytes of JSON
  /// text. It shares nothing with any other.
  static func item(_ number: Int64, revision: Int64 = 0, bytes: Int64) -> JSONValue {
    func object(_ text: String) -> JSONValue {
      [
        "number": JSONValue(integerLiteral: number), "text": .string(text),
        "title": .string("revision \(revision) of item \(number)"),
      ]
    }
    return object(text(number, bytes - object("").byteCount))
  }

  /// Returns a text of `count` equal letters.
  static func text(_ number: Int64, _ count: Int64) -> String {
    String(decoding: [UInt8](repeating: 97 + UInt8(number % 26), count: Int(count)), as: UTF8.self)
  }
}

/// Returns a key of twelve bytes of JSON text. Keys are ordered as their numbers.
func itemKey(_ number: Int64) -> String {
  let digits = "\(number)"
  return "item " + String(repeating: "0", count: 5 - digits.utf8.count) + digits
}

/// Returns `count` items, numbered from 0, as a view and as a dictionary.
func items(
  _ count: Int64, _ value: (Int64) -> JSONValue
) -> (view: ViewMap<JSONValue>, dictionary: [String: JSONValue]) {
  var dictionary: [String: JSONValue] = [:]
  for number in 0..<count { dictionary[itemKey(number)] = value(number) }
  let sorted = (0..<count).map { number in
    (key: ViewKey(itemKey(number)), value: dictionary[itemKey(number)] ?? .null)
  }
  return (ViewMap(VersionedMap(sorted: sorted)), dictionary)
}

/// A user's mutation: it reads the value of one key, and writes another one there.
enum Change: ViewMutation {
  typealias State = ViewMap<JSONValue>
  typealias Refusal = Never

  /// Adds one to a number.
  case add(Int64)
  /// Gives an item another title.
  case retitle(Int64)

  var name: String {
    switch self {
    case .add: "add"
    case .retitle: "retitle"
    }
  }

  var number: Int64 {
    switch self {
    case .add(let number), .retitle(let number): number
    }
  }

  var arguments: JSONValue { JSONValue(integerLiteral: number) }

  /// Returns the new value for a key that has this one.
  func applied(to old: JSONValue?) -> JSONValue {
    switch self {
    case .add: return JSONValue(integerLiteral: (old?.int64 ?? 0) + 1)
    case .retitle:
      var object = old?.object ?? JSONObject()
      object["title"] = "another title"
      return .object(object)
    }
  }

  func apply(to state: inout ViewMap<JSONValue>) throws(Never) {
    let key = ViewKey(itemKey(number))
    state.transact { transaction in
      transaction.put(key, applied(to: transaction.get(key)))
    }
  }

  /// Applies the change to a dictionary.
  func apply(toDictionary state: inout [String: JSONValue]) {
    let key = itemKey(number)
    state[key] = applied(to: state[key])
  }
}

/// Returns how many bytes the result of `body` keeps allocated; -1: they cannot be counted here.
func bytesHeld<Result>(_ body: () -> Result) -> Int64 {
  let before = allocated_bytes()
  let result = body()
  return withExtendedLifetime(result) { before < 0 ? -1 : allocated_bytes() - before }
}

// MARK: Bytes a second

/// Measures bytes a second, in one transaction each. Every byte is written when a value is made,
/// digested when it is inserted, because a view has a checksum, and read in a scan.
func benchmarkViewThroughput() {
  func sum(_ value: JSONValue) -> UInt64 {
    unsafe value.string?.utf8.withContiguousStorageIfAvailable { bytes in
      unsafe bytes.reduce(0 as UInt64) { $0 &+ UInt64($1) }
    } ?? 0
  }
  let few = shuffled(1000).map { (key: itemKey($0), number: $0) }
  let many = shuffled(10_000).map { (key: itemKey($0), number: $0) }
  func value(_ number: Int64) -> JSONValue { .string(JSONValue.text(number, 1022)) }
  var view = ViewMap<JSONValue>()
  var map = VersionedMap<ViewKey, JSONValue>()
  var dictionary: [String: JSONValue] = [:]
  var seen: UInt64 = 0
  func fill(_ body: () -> Void) -> Figure { .rate(1000 * 1024 / seconds(body) / 1e6, "MB/s") }
  func scan(_ body: () -> Void) -> Figure { .rate(10_000 * 1024 / seconds(body) / 1e6, "MB/s") }
  func populate(_ entries: [(key: String, number: Int64)]) {
    view = ViewMap()
    view.transact { transaction in
      for (key, number) in entries { transaction.put(ViewKey(key), value(number)) }
    }
  }

  let fillView = fill { populate(few) }
  let fillMap = fill {
    map = VersionedMap()
    for (key, number) in few { map[ViewKey(key)] = value(number) }
  }
  let fillDictionary = fill {
    dictionary = [:]
    for (key, number) in few { dictionary[key] = value(number) }
  }
  populate(many)
  for (key, number) in many { dictionary[key] = value(number) }
  let transaction = ViewTransaction(on: view)
  let scanView = scan { for (_, value) in transaction.scan(from: "") { seen &+= sum(value) } }
  let scanDictionary = scan {
    for key in dictionary.keys.sorted() { seen &+= dictionary[key].map(sum) ?? 0 }
  }
  precondition(seen > 0 && view.count == 10_000, "values were read")
  row(
    "view: populate 1 MB of 1 KB values", fillView,
    beside: [
      "goal, 5 × Replicache": .rate(355, "MB/s"), "a map without a checksum": fillMap,
      "a dictionary": fillDictionary,
    ])
  row(
    "view: scan 10 MB of 1 KB values, every byte", scanView,
    beside: [
      "goal, 5 × Replicache": .rate(1410, "MB/s"), "a dictionary, sorted": scanDictionary,
    ])
}

// MARK: Rebase

/// Measures the replay of a thousand pending mutations, each of its own key, over a changed
/// confirmed state. Bytes are what the result takes in addition to the confirmed state.
///
/// The naive way copies a dictionary for each mutation, so that one that throws has no effect, and
/// sorts it once for display. A less naive way copies it once, and then no mutation may throw.
func benchmarkRebase(
  over things: String, _ change: (Int64) -> Change, _ value: (Int64) -> JSONValue
) {
  let count: Int64 = 1000
  let now = Moment(milliseconds: 0)
  let (confirmed, dictionary) = items(count, value)
  var newer = confirmed
  newer[ViewKey(itemKey(7))] = value(8)
  let changes = shuffled(Int(count)).map(change)
  var local = LocalChanges(Outbox<Change>(client: ClientID(1)), over: confirmed)
  for change in changes {
    precondition((try? local.mutate(change, at: now)) != nil, "there is room")
  }

  var seen = 0
  let replay = timed(
    { local.confirm(newer, through: .none, refusal: nil) },
    { _ = local.handle(.heldBack(false), at: now) })
  precondition(local.view.replays == 6 && local.view.state.count == Int(count), "all is shown")
  let bytes = bytesHeld {
    var other = local
    other.confirm(confirmed, through: .none, refusal: nil)
    _ = other.handle(.heldBack(false), at: now)
    return other
  }
  func naive(copiesEach: Bool) -> [(key: String, value: JSONValue)] {
    var state = dictionary
    for change in changes {
      let before = copiesEach ? state : [:]
      change.apply(toDictionary: &state)
      seen += before.count
    }
    return state.sorted { $0.key < $1.key }
  }
  let copied = seconds { seen += naive(copiesEach: true).count }
  let copiedOnce = seconds { seen += naive(copiesEach: false).count }
  let naiveBytes = bytesHeld { naive(copiesEach: false) }
  precondition(
    naive(copiesEach: false).allSatisfy { entry in
      entry.key == itemKey(7) || local.view.state[ViewKey(entry.key)] == entry.value
    }, "both make the same")
  row(
    "rebase: 1,000 pending mutations over \(things)", .time(replay),
    beside: [
      "goal": .time(0.02), "a dictionary, copied for each": .time(copied),
      "a dictionary, copied once": .time(copiedOnce),
    ])
  row("  held", .bytes(bytes), beside: ["a dictionary, sorted": .bytes(naiveBytes)])
}

// MARK: Mutate

typealias ViewClient = SyncClient<ConfirmedView<Change>, ClientView<JSONValue>>

/// Measures a user's change of one of 16,000 values of 1 KB, made through the outbox and its view
/// alone, and through a whole live client; with and without mutations pending already. The naive
/// way copies a dictionary, to have a state to go back to.
func benchmarkMutates() {
  let count: Int64 = 16_000
  let now = Moment(milliseconds: 0)
  let order = shuffled(Int(count))
  let (view, dictionary) = items(count) { JSONValue.item($0, bytes: 1024) }
  var bare = LocalChanges(Outbox<Change>(client: ClientID(1)), over: view)
  _ = bare.handle(.heldBack(false), at: now)
  let client = liveClient(of: view, at: now)
  var seen = 0

  var copies = Array(repeating: dictionary, count: 10)
  let naive = timed(
    { copies = Array(repeating: dictionary, count: 10) },
    {
      for index in copies.indices {
        Change.retitle(order[index]).apply(toDictionary: &copies[index])
      }
    })
  copies = []
  let naiveBytes = bytesHeld {
    var copy = dictionary
    Change.retitle(1).apply(toDictionary: &copy)
    return copy
  }
  /// Measures a mutation in each of ten values that have `pending` mutations already.
  func rows<Value>(
    _ name: String, _ value: Value, pending: Int, _ mutate: (inout Value, Change) -> Bool
  ) {
    var full = value
    for number in order[..<max(0, pending - 1)] { seen += mutate(&full, .retitle(number)) ? 1 : 0 }
    var values: [Value] = []
    func prepare() {
      values = Array(repeating: full, count: 10)
      guard pending > 0 else { return }
      // The last pending one makes each value the only owner of its queue.
      for index in values.indices {
        seen += mutate(&values[index], .retitle(order[pending])) ? 1 : 0
      }
    }
    func run() {
      for index in values.indices {
        seen += mutate(&values[index], .retitle(order[1000 + index])) ? 1 : 0
      }
    }
    let time = timed(prepare, run)
    prepare()
    let before = (allocation_count(), allocated_bytes())
    run()
    let allocations = (allocation_count() - before.0) / 10
    let bytes = before.1 < 0 ? -1 : (allocated_bytes() - before.1) / 10
    row(name, .time(time / 10), beside: ["a dictionary, copied": .time(naive / 10)])
    row("  held", .bytes(bytes), beside: ["a dictionary, copied": .bytes(naiveBytes)])
    counted("  allocations", before.0 < 0 ? -1 : allocations)
  }
  for pending in [0, 100] {
    rows("mutate: 16 MB, outbox and view, \(pending) pending", bare, pending: pending) {
      (try? $0.mutate($1, at: now)) != nil
    }
    rows("mutate: 16 MB, a whole client, \(pending) pending", client, pending: pending) {
      (try? $0.mutate($1, at: now)) != nil
    }
  }
  precondition(seen == 2 * (60 + 60 + 60 + 99), "every mutation was made")
}

/// Returns a client that has registered, received this view, and saved it.
func liveClient(of view: ViewMap<JSONValue>, at now: Moment) -> ViewClient {
  let pulled = PulledView(
    client: ClientID(1), state: ServerStateID(epoch: 1, number: 1), checksum: view.checksum,
    lastMutation: .none, content: .full(view.map))
  var client = ViewClient(incarnation: Incarnation(1))
  func take(_ input: ViewClient.Input) { _ = client.handle(input, at: now) }
  take(.app(.started(foreground: true)))
  take(.loaded(nil, age: nil))
  take(
    .snapshotArrived(
      RequestID(incarnation: Incarnation(1), part: .machine, number: 1), pulled,
      finger: pulled.finger,
      terms: .clientView()))
  take(.written(WriteID(1)))
  precondition(client.status.isLive, "the benchmark's client is healthy")
  return client
}
