package import EtcdSync
internal import Simulator
package import SyncProtocols
package import UpdateMachine

/// A change of a user of the world `etcd`. Each entry has a unique number, and is written into its
/// client's list wherever it runs. So a lost, repeated or reordered entry shows. A change that
/// reads nothing leaves a mark instead: only the client's record tells a second copy of it.
package struct ItemChange: EtcdMutation, Hashable {
  /// The outbox's client, or the one it was at first, whose list the entry goes into.
  package var client: ClientID
  package var entry: Int64
  package var deed: Deed

  package enum Deed: Hashable, Sendable {
    /// Gives an item this text, whatever it was; `nil` deletes it.
    case put(Int64, String?)
    /// The same for a text, and reads nothing, not even the list.
    case write(Int64, String)
    /// Adds to a number.
    case add(Int64, to: Int64)
    /// Takes one of the seats, if so few are taken that one is free.
    case take(seat: Int64)
    /// Leaves a seat that is taken.
    case leave(seat: Int64)
  }

  package init(by client: ClientID, _ entry: Int64, _ deed: Deed) {
    self.client = client
    self.entry = entry
    self.deed = deed
  }

  /// An entry that takes back another is so much greater.
  static var reversal: Int64 { 1 << 32 }

  /// The most seats that may be taken. Who takes one depends on all others.
  static var seatMaximum: Int { 2 }

  static var lists: String { "list/" }
  static var marks: String { "mark/" }
  static var numbers: String { "number/" }
  static var seats: String { "seat/" }
  static func list(of client: ClientID) -> String { "\(lists)\(client.number)" }
  static func marks(of client: ClientID) -> String { "\(marks)\(client.number)/" }
  static func number(_ number: Int64) -> String { "\(numbers)\(number)" }
  static func seat(_ number: Int64) -> String { "\(seats)\(number)" }
  static func item(_ number: Int64) -> String { "item/\(number)" }

  package var name: String {
    switch deed {
    case .put: "put"
    case .write: "write"
    case .add: "add"
    case .take: "take"
    case .leave: "leave"
    }
  }

  package var size: Int64 { 1 }

  package func apply(to view: inout EtcdView) throws(ChangeRefusal) {
    if case .write(let number, let text) = deed {
      try view.put(text, for: EtcdKey(ItemChange.item(number)))
      try view.put("", for: EtcdKey("\(ItemChange.marks(of: client))\(entry)"))
      return
    }
    let list = EtcdKey(ItemChange.list(of: client))
    let entries = view[list]?.text ?? ""
    try view.put(entries.isEmpty ? "\(entry)" : "\(entries),\(entry)", for: list)
    switch deed {
    case .write: break
    case .put(let number, let text):
      let key = EtcdKey(ItemChange.item(number))
      if let text { try view.put(text, for: key) } else { try view.remove(key) }
    case .add(let amount, let number):
      let key = EtcdKey(ItemChange.number(number))
      let old = view[key]?.text.flatMap { Int64($0) } ?? 0
      try view.put("\(old + amount)", for: key)
    case .take(let number):
      let taken = view.entries(under: EtcdKey(ItemChange.seats))
      let key = EtcdKey(ItemChange.seat(number))
      if taken.contains(where: { $0.key == key }) { throw ChangeRefusal("TAKEN") }
      if taken.count >= ItemChange.seatMaximum { throw ChangeRefusal("FULL") }
      try view.put("\(client.number)", for: key)
    case .leave(let number):
      let key = EtcdKey(ItemChange.seat(number))
      guard view[key] != nil else { throw ChangeRefusal("FREE") }
      try view.remove(key)
    }
  }

  package func inverse(from before: EtcdView, to after: EtcdView) -> ItemChange? {
    let undoing: Deed
    switch deed {
    case .put(let number, _), .write(let number, _):
      undoing = .put(number, before[EtcdKey(ItemChange.item(number))]?.text)
    case .add(let amount, let number): undoing = .add(-amount, to: number)
    case .take(let number): undoing = .leave(seat: number)
    case .leave(let number): undoing = .take(seat: number)
    }
    return ItemChange(by: client, entry + ItemChange.reversal, undoing)
  }
}

extension ItemChange: MarkedChange {
  package var marks: [Int64] { [entry] }
}

extension ItemChange: CustomStringConvertible {
  package var description: String {
    switch deed {
    case .put(let number, let text?): "\(entry) put \(text) into item \(number)"
    case .put(let number, nil): "\(entry) delete item \(number)"
    case .write(let number, let text): "\(entry) write \(text) to item \(number)"
    case .add(let amount, let number): "\(entry) add \(amount) to number \(number)"
    case .take(let number): "\(entry) take seat \(number)"
    case .leave(let number): "\(entry) leave seat \(number)"
    }
  }
}

extension ItemChange: Storable {
  package func put(into bytes: inout ByteWriter) {
    bytes.put(client.number)
    bytes.put(entry)
    switch deed {
    case .put(let number, let text):
      bytes.put(UInt8(0))
      bytes.put(number)
      bytes.put(text)
    case .add(let amount, let number):
      bytes.put(UInt8(1))
      bytes.put(number)
      bytes.put(amount)
    case .take(let number):
      bytes.put(UInt8(2))
      bytes.put(number)
    case .leave(let number):
      bytes.put(UInt8(3))
      bytes.put(number)
    case .write(let number, let text):
      bytes.put(UInt8(4))
      bytes.put(number)
      bytes.put(text)
    }
  }

  package init(from bytes: inout ByteReader) throws(StoredFormError) {
    client = ClientID(try bytes.takeUInt64())
    entry = try bytes.takeInt64()
    let kind = try bytes.takeByte()
    let number = try bytes.takeInt64()
    switch kind {
    case 0: deed = .put(number, try bytes.takeOptional())
    case 1: deed = .add(try bytes.takeInt64(), to: number)
    case 2: deed = .take(seat: number)
    case 3: deed = .leave(seat: number)
    case 4: deed = .write(number, try bytes.take())
    default: throw StoredFormError(expected: "a deed")
    }
  }
}
