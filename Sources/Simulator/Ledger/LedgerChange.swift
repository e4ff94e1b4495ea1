package import SyncProtocols
package import UpdateMachine

/// A change of a ledger's user. Each entry has a unique number, and is written into its client's
/// list wherever it runs. So a lost, repeated or reordered entry shows.
package struct LedgerChange: ViewMutation, Hashable {
  /// The outbox's client, or the one it was at first, whose list the entries go into.
  package var client: ClientID
  /// More than one, in order, if changes were coalesced.
  package var entries: [Int64]
  package var deed: Deed

  package init(by client: ClientID, _ entry: Int64, _ deed: Deed) {
    self.client = client
    entries = [entry]
    self.deed = deed
  }

  package enum Deed: Hashable, Sendable {
    /// Adds to a counter. Unsent additions to counter 0 are coalesced.
    case add(Int64, to: Int64)
    /// Moves an amount; throws if the account holds less.
    case transfer(Int64, from: Int64, to: Int64)
    /// Reserves an hour, or finds that it is taken.
    case reserve(hour: Int64)
    /// Gives up an hour that this client has reserved.
    case release(hour: Int64)
  }

  /// An entry that takes back another is so much greater.
  static var reversal: Int64 { 1 << 32 }

  package var name: String {
    switch deed {
    case .add: "add"
    case .transfer: "transfer"
    case .reserve: "reserve"
    case .release: "release"
    }
  }

  package var size: Int64 { Int64(entries.count) }

  /// The arguments in a push.
  package var arguments: JSONValue {
    var object = JSONObject()
    object["client"] = JSONValue(integerLiteral: Int64(client.number))
    object["entries"] = .array(entries.map { JSONValue(integerLiteral: $0) })
    switch deed {
    case .add(let amount, let counter):
      object["amount"] = JSONValue(integerLiteral: amount)
      object["to"] = JSONValue(integerLiteral: counter)
    case .transfer(let amount, let from, let to):
      object["amount"] = JSONValue(integerLiteral: amount)
      object["from"] = JSONValue(integerLiteral: from)
      object["to"] = JSONValue(integerLiteral: to)
    case .reserve(let hour), .release(let hour): object["hour"] = JSONValue(integerLiteral: hour)
    }
    return .object(object)
  }

  package func apply(to state: inout ViewMap<JSONValue>) throws(ChangeRefusal) -> JSONValue {
    var transaction = ViewTransaction(on: state)
    let value = try LedgerMutators(isServer: false).run(name, arguments, in: &transaction)
    state = transaction.view
    return value
  }

  package func inverse(
    from before: ViewMap<JSONValue>, to after: ViewMap<JSONValue>
  ) -> LedgerChange? {
    let undoing: Deed
    switch deed {
    case .add(let amount, let counter): undoing = .add(-amount, to: counter)
    case .transfer(let amount, let from, let to): undoing = .transfer(amount, from: to, to: from)
    case .reserve(let hour):
      let key = LedgerMutators.hour(hour)
      guard before[key] == nil, after[key] != nil else { return nil }
      undoing = .release(hour: hour)
    case .release(let hour): undoing = .reserve(hour: hour)
    }
    return LedgerChange(by: client, entries[entries.count - 1] + LedgerChange.reversal, undoing)
  }

  package func coalesced(with later: LedgerChange) -> LedgerChange? {
    guard client == later.client, case .add(let one, 0) = deed,
      case .add(let other, 0) = later.deed, one != LedgerMutators.unlucky,
      other != LedgerMutators.unlucky, one + other != LedgerMutators.unlucky
    else { return nil }
    var both = self
    both.entries += later.entries
    both.deed = .add(one + other, to: 0)
    return both
  }
}

extension LedgerChange: MarkedChange {
  package var marks: [Int64] { entries }
}

extension LedgerChange: CustomStringConvertible {
  package var description: String {
    var text = ""
    for entry in entries { text += "\(entry) " }
    switch deed {
    case .add(let amount, let counter): return text + "add \(amount) to counter \(counter)"
    case .transfer(let amount, let from, let to):
      return text + "transfer \(amount) from \(from) to \(to)"
    case .reserve(let hour): return text + "reserve hour \(hour)"
    case .release(let hour): return text + "release hour \(hour)"
    }
  }
}

extension LedgerChange: Storable {
  package func put(into bytes: inout ByteWriter) {
    bytes.put(client.number)
    bytes.put(entries)
    switch deed {
    case .add(let amount, let counter):
      bytes.put(UInt8(0))
      bytes.put(amount)
      bytes.put(counter)
    case .transfer(let amount, let source, let target):
      bytes.put(UInt8(1))
      bytes.put(amount)
      bytes.put(source)
      bytes.put(target)
    case .reserve(let hour):
      bytes.put(UInt8(2))
      bytes.put(hour)
    case .release(let hour):
      bytes.put(UInt8(3))
      bytes.put(hour)
    }
  }

  package init(from bytes: inout ByteReader) throws(StoredFormError) {
    client = ClientID(try bytes.takeUInt64())
    entries = try bytes.takeArray()
    switch try bytes.takeByte() {
    case 0: deed = .add(try bytes.takeInt64(), to: try bytes.takeInt64())
    case 1:
      deed = .transfer(
        try bytes.takeInt64(), from: try bytes.takeInt64(), to: try bytes.takeInt64())
    case 2: deed = .reserve(hour: try bytes.takeInt64())
    case 3: deed = .release(hour: try bytes.takeInt64())
    default: throw StoredFormError(expected: "a deed")
    }
  }
}
