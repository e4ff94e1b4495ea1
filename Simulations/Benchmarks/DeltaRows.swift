import Foundation
import SyncProtocols
import UpdateMachine

// The diff server: what its answers cost to make, to send and to apply.

/// Nothing is pushed here: the view is changed from outside.
struct NoMutators: ViewMutators {
  func run(
    _ name: String, _ arguments: JSONValue, in transaction: inout ViewTransaction<JSONValue>
  ) throws(ChangeRefusal) -> JSONValue {
    throw ChangeRefusal("no mutator \(name)")
  }
}

/// A view of 20 MB of JSON text: 19,999 items, of which 100 change. Holds what both servers and a
/// client have before and after the change.
struct Deltas {
  static let count: Int64 = 19_999
  static let client = ClientID(1)
  static let pullCredential = PullCredential("pull")

  /// An item takes 1,000 bytes with its key, a colon and a comma.
  static func item(_ number: Int64, revision: Int64 = 0) -> JSONValue {
    .item(number, revision: revision, bytes: 986)
  }

  /// Has given the view to the client. A hundred changes have been made since.
  let server: ClientViewServer<NoMutators>
  /// The answer that the client was given.
  let first: PulledView<JSONValue>
  /// The client's model before the changes.
  let model: ClientViewModel<JSONValue>
  /// The data layer's view before and after the changes, in copies that share nothing with it.
  let (before, after): (VersionedMap<ViewKey, JSONValue>, VersionedMap<ViewKey, JSONValue>)

  init() {
    let changed = shuffled(Int(Deltas.count)).prefix(100)
    var server = ClientViewServer(
      DataLayer(NoMutators()), DiffServer(epoch: 1), pushCredential: PushCredential("push"),
      pullCredential: Deltas.pullCredential)
    server.dataLayer.change { transaction in
      for number in 0..<Deltas.count {
        transaction.put(ViewKey(itemKey(number)), Deltas.item(number))
      }
    }
    let pulled = try? server.pull(
      PullRequest(client: Deltas.client, state: nil), with: Deltas.pullCredential)
    guard let first = pulled, let model = try? ClientViewModel(snapshot: first) else {
      preconditionFailure("a view of 20 MB is taken")
    }
    server.dataLayer.change { transaction in
      for number in changed {
        transaction.put(ViewKey(itemKey(number)), Deltas.item(number, revision: 1))
      }
    }
    let revised = Set(changed)
    func read(_ isNew: Bool) -> VersionedMap<ViewKey, JSONValue> {
      VersionedMap(
        sorted: (0..<Deltas.count).lazy.map { number in
          let revision: Int64 = isNew && revised.contains(number) ? 1 : 0
          return (ViewKey(itemKey(number)), Deltas.item(number, revision: revision))
        })
    }
    self.server = server
    self.first = first
    self.model = model
    before = read(false)
    after = read(true)
  }

  /// Answers a pull from that state. The data layer is in this process, so its view is a fork of
  /// the one fetched before.
  func answer(from state: ServerStateID?, _ server: inout ClientViewServer<NoMutators>)
    -> PulledView<JSONValue>
  {
    let pulled = try? server.pull(
      PullRequest(client: Deltas.client, state: state), with: Deltas.pullCredential)
    guard let pulled else { preconditionFailure("a view of 20 MB is given") }
    return pulled
  }
}

func benchmarkDeltas() {
  let deltas = Deltas()
  let (delta, full) = benchmarkDiffServer(deltas)
  benchmarkPulled(deltas, delta, full)
}

/// Measures a pull without its JSON text: once with a view that shares nodes with the one fetched
/// before, and once with a view read anew, which shares nothing. The naive way compares a
/// dictionary read anew with the last one, key by key.
func benchmarkDiffServer(_ deltas: Deltas) -> (
  delta: PulledView<JSONValue>, full: PulledView<JSONValue>
) {
  var server = deltas.server
  var delta = deltas.first
  let fork = timed(
    { server = deltas.server },
    { delta = deltas.answer(from: deltas.first.state, &server) })
  var diffServer = deltas.server.diffServer
  var deltaAnew = deltas.first
  let anew = timed(
    { diffServer = deltas.server.diffServer },
    {
      let fetched = FetchedView(
        client: Deltas.client, view: deltas.after, lastMutation: .none,
        commit: deltas.server.dataLayer.lastNumber)
      deltaAnew = (try? diffServer.pull(deltas.first.state, fetched)) ?? deltas.first
    })
  precondition(deltaAnew == delta, "shared nodes save time, and nothing else")
  let old = Dictionary(uniqueKeysWithValues: deltas.before.map { ($0.text, $1) })
  let new = Dictionary(uniqueKeysWithValues: deltas.after.map { ($0.text, $1) })
  var changes: [(String, JSONValue?)] = []
  let naive = timed(
    { changes = [] },
    {
      for (key, value) in new where old[key] != value { changes.append((key, value)) }
      for key in old.keys where new[key] == nil { changes.append((key, nil)) }
    })
  let full = deltas.answer(from: nil, &server)
  precondition(changes.count == 100 && full.state == delta.state, "a hundred changes")
  row(
    "diff: 100 changes in 20 MB, a fork", .time(fork), beside: ["two dictionaries": .time(naive)])
  row(
    "diff: 100 changes in 20 MB, read anew", .time(anew), beside: ["two dictionaries": .time(naive)]
  )
  return (delta, full)
}

/// Measures the size of both answers as JSON text, the time to print and parse that text, and the
/// time for a client to apply a parsed answer. The naive way prints and parses the full view, and
/// compares it with the client's state key by key.
func benchmarkPulled(
  _ deltas: Deltas, _ delta: PulledView<JSONValue>, _ full: PulledView<JSONValue>
) {
  var (deltaText, fullText) = ("", "")
  let printing = seconds { deltaText = delta.content.json.description }
  let printingFull = seconds { fullText = full.content.json.description }
  precondition(Int64(deltaText.utf8.count) == delta.content.byteCount, "sizes are reckoned so")
  precondition(Int64(fullText.utf8.count) == full.content.byteCount, "sizes are reckoned so")
  row(
    "  its JSON text", .bytes(delta.content.byteCount),
    beside: ["the full view": .bytes(full.content.byteCount)])
  row("  printed", .time(printing), beside: ["the full view": .time(printingFull)])
  var (readDelta, read) = (JSONValue.null, JSONValue.null)
  let parsing = seconds { readDelta = (try? JSONValue(parsing: deltaText)) ?? .null }
  let parsingFull = seconds { read = (try? JSONValue(parsing: fullText)) ?? .null }
  precondition(readDelta == delta.content.json, "what was printed is read")
  precondition(read == full.content.json, "what was printed is read")
  row("  parsed", .time(parsing), beside: ["the full view": .time(parsingFull)])

  let held = Dictionary(uniqueKeysWithValues: deltas.before.map { ($0.text, $1) })
  var changes: [String] = []
  let naive = timed(
    { changes = [] },
    {
      for member in read.object?.members ?? [] where held[member.name] != member.value {
        changes.append(member.name)
      }
    })
  precondition(changes.count == 100, "a hundred changes")
  var (replaced, begun) = (full, full)
  replaced.content = .full(deltas.after)
  begun.content = .full(deltas.before)
  begun.checksum = deltas.first.checksum
  var model = deltas.model
  func apply(_ pulled: PulledView<JSONValue>) -> Double {
    timed(
      { model = deltas.model },
      { precondition((try? model.apply(pulled)) != nil, "what was pulled is taken") })
  }
  let (delta, full) = (apply(delta), apply(replaced))
  precondition(model.view.map == deltas.after, "the client is up to date")
  let first = seconds {
    precondition((try? ClientViewModel(snapshot: begun)) != nil, "what was pulled is taken")
  }
  row(
    "client: applies the delta", .time(delta),
    beside: [
      "the full view, where 100 differ": .time(full), "compared with a dictionary": .time(naive),
    ])
  row("client: takes its first full view of 20 MB", .time(first))
}

extension ViewContent where Value == JSONValue {
  /// The JSON value that is sent, whose size is ``byteCount``.
  var json: JSONValue {
    switch self {
    case .delta(_, let changes):
      .array(
        changes.map { change in
          .array([.string(change.key.text)] + (change.value.map { [$0] } ?? []))
        })
    case .full(let view):
      .object(JSONObject(view.map { JSONObject.Member($0.text, $1) }) ?? JSONObject())
    }
  }
}
