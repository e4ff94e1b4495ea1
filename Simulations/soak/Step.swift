import EtcdSync
import SyncProtocols
import UpdateMachine

/// A change whose effect tells who has made it, which of that client's changes it is, and after
/// which other. So the keys alone show what is missing, done twice, or out of order.
enum Step: EtcdMutation, Equatable {
  /// Adds an entry at the end of a shelf, which all clients share.
  case add(Mark, shelf: Int)
  /// Takes a number, if it is free. Another client may have it by the time that it is sent.
  case claim(Mark, number: Int)
  /// Writes its number over the last one of its client, and reads nothing. So nothing but the
  /// library keeps a copy of it that comes late from having an effect.
  case write(Mark)

  /// A client, and the number of its change.
  struct Mark: Hashable {
    var client: Int
    var number: Int
  }

  /// All keys of a run are under it.
  static let prefix = "soak/"
  static let shelves = 4
  /// What the keys begin with that are only written.
  static let written = "written/"

  var mark: Mark {
    switch self {
    case .add(let mark, _), .claim(let mark, _), .write(let mark): mark
    }
  }

  var name: String {
    switch self {
    case .add: "add"
    case .claim: "claim"
    case .write: "write"
    }
  }

  func apply(to view: inout EtcdView) throws(ChangeRefusal) {
    if case .write = self {
      try view.put("\(mark.number)", for: EtcdKey(Step.written + "\(mark.client)"))
      return
    }
    let own = EtcdKey("last/\(mark.client)")
    let text = "\(mark.client) \(mark.number) \(view[own]?.text ?? "0")"
    switch self {
    case .add(_, let shelf):
      let length = EtcdKey("length/\(shelf)")
      let place = (view[length]?.text.flatMap { Int($0) } ?? 0) + 1
      try view.put("\(place)", for: length)
      try view.put(text, for: EtcdKey("entry/\(shelf)/\(Step.padded(place))"))
    case .claim(_, let number):
      let key = EtcdKey("claim/\(Step.padded(number))")
      guard view[key] == nil else { throw ChangeRefusal("TAKEN") }
      try view.put(text, for: key)
    case .write: break
    }
    try view.put("\(mark.number)", for: own)
  }

  /// The lowest number above all that are claimed in a client's view. Another client may have
  /// claimed it meanwhile.
  static func free(in view: EtcdView) -> Int {
    let last = view.entries(under: "claim/").last?.key.text?.dropFirst("claim/".count)
    return (last.flatMap { Int($0) } ?? 0) + 1
  }

  private static func padded(_ number: Int) -> String {
    let digits = "\(number)"
    return String(repeating: "0", count: max(0, 8 - digits.count)) + digits
  }
}

extension Step: Storable {
  func put(into bytes: inout ByteWriter) {
    let (kind, last) =
      switch self {
      case .add(_, let shelf): (0, shelf)
      case .claim(_, let number): (1, number)
      case .write: (2, 0)
      }
    for number in [kind, mark.client, mark.number, last] { bytes.put(Int64(number)) }
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    let kind = try bytes.takeInt64()
    let mark = Mark(client: Int(try bytes.takeInt64()), number: Int(try bytes.takeInt64()))
    let last = Int(try bytes.takeInt64())
    switch kind {
    case 0: self = .add(mark, shelf: last)
    case 1: self = .claim(mark, number: last)
    case 2: self = .write(mark)
    default: throw StoredFormError(expected: "a step")
    }
  }
}

/// A sum over all keys, their values and revisions, to compare what two hold.
struct ContentSum: Equatable {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func add(key: [UInt8], value: [UInt8], revision: Int64) {
    for part in [key, value] {
      add(UInt64(part.count))
      for byte in part { add(byte) }
    }
    add(UInt64(bitPattern: revision))
  }

  private mutating func add(_ byte: UInt8) {
    value = (value ^ UInt64(byte)) &* 0x100_0000_01B3
  }

  private mutating func add(_ number: UInt64) {
    for shift in stride(from: 0, to: 64, by: 8) { add(UInt8(truncatingIfNeeded: number >> shift)) }
  }

  init(_ pairs: [Pair]) {
    for pair in pairs { add(key: pair.key, value: pair.value, revision: pair.revision) }
  }

  init(_ entries: VersionedMap<EtcdKey, EtcdEntry>) {
    for (key, entry) in entries {
      add(key: key.bytes, value: entry.value, revision: entry.revision)
    }
  }
}
