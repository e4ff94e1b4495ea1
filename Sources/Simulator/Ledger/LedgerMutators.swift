package import SyncProtocols
internal import UpdateMachine

/// The ledger's mutators, for the server and for its clients. On the server they refuse some
/// changes that they accept on a client.
package struct LedgerMutators: SimulatedMutators {
  package typealias Value = JSONValue

  var isServer = true

  package init() {}

  init(isServer: Bool) { self.isServer = isServer }

  /// An amount that the server refuses to add.
  static var unlucky: Int64 { 13 }

  static func list(of client: ClientID) -> ViewKey { ViewKey("list/\(client.number)") }
  static func counter(_ number: Int64) -> ViewKey { ViewKey("counter/\(number)") }
  static func account(_ number: Int64) -> ViewKey { ViewKey("account/\(number)") }
  static func hour(_ number: Int64) -> ViewKey { ViewKey("hour/\(number)") }
  static func status(of client: ClientID) -> ViewKey { ViewKey("status/\(client.number)") }

  package func run(
    _ name: String, _ arguments: JSONValue, in transaction: inout ViewTransaction<JSONValue>
  ) throws(ChangeRefusal) -> JSONValue {
    guard let number = arguments["client"]?.int64, let entries = arguments["entries"]?.array else {
      throw ChangeRefusal("who, and what")
    }
    let client = ClientID(UInt64(number))
    let key = LedgerMutators.list(of: client)
    transaction.put(key, .array((transaction.get(key)?.array ?? []) + entries))
    let amount = arguments["amount"]?.int64 ?? 0
    let target = arguments["to"]?.int64 ?? 0
    switch name {
    case "add":
      if isServer, amount == LedgerMutators.unlucky { throw ChangeRefusal("unlucky") }
      return add(amount, to: LedgerMutators.counter(target), in: &transaction)
    case "transfer":
      let source = LedgerMutators.account(arguments["from"]?.int64 ?? 0)
      guard (transaction.get(source)?.int64 ?? 0) >= amount else {
        throw ChangeRefusal("not so much")
      }
      _ = add(-amount, to: source, in: &transaction)
      return add(amount, to: LedgerMutators.account(target), in: &transaction)
    case "reserve":
      let hour = LedgerMutators.hour(arguments["hour"]?.int64 ?? 0)
      let isFree = !transaction.has(hour)
      if isFree { transaction.put(hour, JSONValue(integerLiteral: number)) }
      let status: JSONValue = isFree ? "RESERVED" : "UNAVAILABLE"
      transaction.put(LedgerMutators.status(of: client), status)
      return status
    case "release":
      let hour = LedgerMutators.hour(arguments["hour"]?.int64 ?? 0)
      guard transaction.get(hour)?.int64 == number else { throw ChangeRefusal("not yours") }
      _ = transaction.del(hour)
      transaction.put(LedgerMutators.status(of: client), "RELEASED")
      return "RELEASED"
    default: throw ChangeRefusal("no such mutator")
    }
  }

  private func add(
    _ amount: Int64, to key: ViewKey, in transaction: inout ViewTransaction<JSONValue>
  ) -> JSONValue {
    let sum = JSONValue(integerLiteral: (transaction.get(key)?.int64 ?? 0) + amount)
    transaction.put(key, sum)
    return sum
  }
}
