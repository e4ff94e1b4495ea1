internal import SyncProtocols
internal import UpdateMachine

/// The mutators of the data layer in the walls' program.
private struct Sums: ViewMutators {
  func run(
    _ name: String, _ arguments: JSONValue, in transaction: inout ViewTransaction<JSONValue>
  ) throws(ChangeRefusal) -> JSONValue {
    guard name == "add", let number = arguments["number"]?.int64 else {
      throw ChangeRefusal("no mutator \(name)")
    }
    let key = ViewKey("sum/\(number % 7)")
    let sum = (transaction.get(key)?.int64 ?? 0) + number
    if sum % 5 == 0 {
      transaction.del(key)
    } else {
      transaction.put(key, .init(integerLiteral: sum))
    }
    return .null
  }
}

/// One run of a client view. It has pushes, some of them refused, and pulls of deltas and of full
/// views. Returns what the client holds at the end.
func lifeOfClientView() -> String {
  var server = ClientViewServer(
    DataLayer(Sums()), DiffServer(epoch: 1, historyMaximum: 3), pushCredential: PushCredential("a"),
    pullCredential: PullCredential("b"))
  let client = ClientID(1)
  var model: ClientViewModel<JSONValue>?
  var answers = StateDigest()
  for step in 0..<2000 as Range<UInt64> {
    let chance = StateDigest.mixed(step)
    let last = server.dataLayer.last.record(of: client)
    if chance % 3 > 0 {
      let push = MutationPush(
        client: client, knownRefusal: last.refusal?.id ?? .none,
        mutations: [
          NamedMutation(
            id: MutationID(last.lastMutation.number + 1), name: chance % 50 == 1 ? "fly" : "add",
            arguments: ["number": .init(integerLiteral: Int64(chance % 1000))])
        ])
      _ = try? server.push(push, with: PushCredential("a"))
      continue
    }
    if chance % 90 == 0 { server.diffServer.forget() }
    let request = PullRequest(client: client, state: model?.finger.state)
    guard let pulled = try? server.pull(request, with: PullCredential("b")) else {
      return "no answer"
    }
    answers.fold("\(pulled.finger), \(pulled.content.byteCount)")
    if var held = model {
      guard case .next = ClientView.advance(held.finger, over: pulled) else { continue }
      try? held.apply(pulled)
      model = held
    } else {
      model = try? ClientViewModel(snapshot: pulled)
    }
  }
  guard let model else { return "no model" }
  let text = "{\"é\\u00e9\\n\":[1.50,-0,1e21,\(model.view["sum/1"] ?? .null)],\"a\":{}}"
  let json = (try? JSONValue(parsing: text)).map { "\($0) \($0.byteCount)" } ?? "not JSON"
  return "view \(model.finger) \(StateDigest(value: model.view.checksum)), \(answers), \(json)"
}
