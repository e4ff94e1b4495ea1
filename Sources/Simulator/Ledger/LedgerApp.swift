package import SyncProtocols
package import UpdateMachine

// Ledger: the room of a world in which users change things over Replicache's protocol: its server,
// its app, its users, and what they are owed.
//
// Ledger may use: Changes, Choices, Disk, Run.

/// The simulator's third app: a ledger that every user writes into, online or offline. All clients
/// are devices of one user's data layer, which others change, too.
package enum LedgerApp: SimulatedApp {
  package typealias Model = ConfirmedView<LedgerChange>
  package typealias Truth = ViewTruth<JSONValue>
  package typealias Server = ViewServer<LedgerMutators>
  package typealias User = LedgerUser
  package typealias Disk = RowDisk<Model, ViewFinger>

  static var accounts: Int64 { 3 }
  /// The total of all accounts, constant under transfers: a transaction that is seen in part shows.
  static var wealth: Int64 { 30 }

  package static func beginning(_ choices: inout Choices) -> ViewTruth<JSONValue> {
    var view = ViewMap<JSONValue>()
    for account in 0..<accounts {
      view[LedgerMutators.account(account)] = JSONValue(integerLiteral: wealth / accounts)
    }
    return ViewTruth(view: view)
  }

  /// A change by others. Each is counted, so that no state occurs twice.
  package static func nextEvent(
    _ truth: ViewTruth<JSONValue>, _ choices: inout Choices
  ) -> [ViewChange<JSONValue>] {
    let view = truth.view
    func changed(_ key: ViewKey, by amount: Int64) -> ViewChange<JSONValue> {
      ViewChange(key: key, value: JSONValue(integerLiteral: (view[key]?.int64 ?? 0) + amount))
    }
    let counted = changed("outside", by: 1)
    let number = choices.draw(.workload, in: 0...2)
    switch choices.draw(.workload, below: 4) {
    case 0: return [changed(LedgerMutators.counter(number), by: 1000), counted]
    case 1:
      let source = LedgerMutators.account(number)
      let amount = (view[source]?.int64 ?? 0) / 2
      let target = LedgerMutators.account((number + 1) % accounts)
      return [changed(source, by: -amount), changed(target, by: amount), counted]
    case 2: return [ViewChange(key: LedgerMutators.hour(number), value: 0), counted]
    default: return [ViewChange(key: LedgerMutators.hour(number), value: nil), counted]
    }
  }

  /// A snapshot with a wrong checksum.
  package static func snapshotToRefuse(_ truth: ViewTruth<JSONValue>) -> PulledView<JSONValue>? {
    var snapshot = truth.snapshot
    snapshot.checksum &+= 1
    return snapshot
  }

  package static func request(
    _ push: PushRequest<LedgerChange>, at finger: Server.Place?
  ) -> MutationPush {
    MutationPush(push)
  }

  /// Computed from the confirmed state alone, which is what a finger stands for.
  package static func checksum(of model: Model) -> UInt64 {
    ViewTruth(view: model.state).checksum
  }

  package static func describe(_ model: Model) -> String {
    describe(ViewTruth(view: model.state))
  }

  package static func describe(_ truth: ViewTruth<JSONValue>) -> String {
    var text = ""
    for (key, value) in truth.view.map { text += "\(text.isEmpty ? "" : " ")\(key)=\(value)" }
    return text
  }

  package static func describe(_ change: [ViewChange<JSONValue>]) -> String {
    var text = ""
    for change in change {
      text += "\(text.isEmpty ? "" : " ")\(change.key)"
      if let value = change.value { text += "=\(value)" } else { text += " is gone" }
    }
    return text
  }
}

/// The state of a data layer.
package struct ViewTruth<Value: ViewValue>: ServerTruth {
  package typealias Event = PulledView<Value>
  package typealias Snapshot = PulledView<Value>
  /// A write by others, as one transaction.
  package typealias Change = [ViewChange<Value>]

  package var view: ViewMap<Value>

  package init(view: ViewMap<Value>) { self.view = view }

  /// The snapshot without a client's name, which a server adds.
  package var snapshot: PulledView<Value> {
    PulledView(
      client: ClientID(0), state: ServerStateID(epoch: 0, number: 0), checksum: view.checksum,
      lastMutation: .none, content: .full(view.map))
  }

  /// Computed from all entries, independently of the view's own checksum.
  package var checksum: UInt64 {
    var digest = StateDigest()
    for (key, value) in view.map {
      digest.fold(key.text)
      value.fold(into: &digest)
    }
    return digest.value
  }

  package mutating func apply(_ change: Change) {
    for change in change { view[change.key] = change.value }
  }

  package func announcement(of change: Change) -> PulledView<Value>? { nil }
}
