internal import SyncProtocols
internal import UpdateMachine

// The app of a small view: a list of numbers, where each change adds one number.

/// The model: what a client of Replicache's protocol holds, with the values of a small world.
struct SmallReplica: SyncModel {
  typealias Change = SmallEdit
  typealias Refusal = ClientViewRefusal

  var confirmed: ConfirmedView<SmallEdit>

  init(snapshot: PulledView<SmallList>) throws(ClientViewRefusal) {
    try self.init(snapshot: snapshot, replacing: nil)
  }

  init(
    snapshot: PulledView<SmallList>, replacing old: SmallReplica?
  ) throws(ClientViewRefusal) {
    confirmed = try ConfirmedView(snapshot: snapshot, replacing: old?.confirmed)
  }

  mutating func apply(_ event: PulledView<SmallList>) throws(ClientViewRefusal) {
    try confirmed.apply(event)
  }

  var client: ClientID? { confirmed.client }
  var confirmation: MutationConfirmation { confirmed.confirmation }
  var state: ViewMap<SmallList> { confirmed.state }

  static var outboxSettings: OutboxSettings { SmallView.outboxSettings }
}

/// Adds its number to the list. The user's changes are numbered from 1; the ticket has the same
/// number.
struct SmallEdit: ViewMutation, Equatable {
  typealias Content = SmallList

  var number: UInt64

  var name: String { "add \(number)" }
  var arguments: JSONValue { .init(integerLiteral: Int64(number)) }

  func apply(to state: inout ViewMap<SmallList>) throws(Never) {
    state[SmallList.key] = (state[SmallList.key] ?? SmallList()).adding(number)
  }
}

/// Numbers in the order of addition, two bits each.
struct SmallList: ViewValue, Hashable {
  var bits: UInt64 = 0

  static let key = ViewKey("list")

  func adding(_ number: UInt64) -> SmallList { SmallList(bits: bits << 2 | number) }

  /// Whether the numbers ascend: no duplicates, and in order.
  var ascends: Bool {
    var (rest, last) = (bits, UInt64(4))
    while rest > 0 {
      if rest & 3 >= last { return false }
      last = rest & 3
      rest >>= 2
    }
    return true
  }

  func contains(_ number: UInt64) -> Bool {
    var rest = bits
    while rest > 0 {
      if rest & 3 == number { return true }
      rest >>= 2
    }
    return false
  }

  func fold(into digest: inout StateDigest) { digest.fold(bits) }
  var byteCount: Int64 { 1 }
}

extension SmallList: CustomStringConvertible {
  var description: String {
    var (rest, text) = (bits, "")
    while rest > 0 {
      text = "\(rest & 3)" + text
      rest >>= 2
    }
    return text.isEmpty ? "nothing" : text
  }
}
