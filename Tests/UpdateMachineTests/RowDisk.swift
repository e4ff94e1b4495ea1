@testable import UpdateMachine

/// A disk of rows, as a value.
struct RowDisk: Equatable {
  private(set) var map = VersionedMap<StoredKey, [UInt8]>()

  mutating func write(_ rows: [StoredRow]) {
    for row in rows { map[row.key] = row.value }
  }

  /// The written rows, as they are read back.
  var rows: RowReader { try! RowReader(map.map { (key: $0.key, value: $0.value) }) }
}

extension Outbox where Change: Storable {
  /// The rows that lead from an older state to this one; `nil` means from nothing.
  func rows(since old: Outbox?) -> [StoredRow] {
    var writer = RowWriter()
    store(since: old, into: &writer)
    return writer.rows
  }
}

extension BoardChange: Storable {
  func put(into bytes: inout ByteWriter) {
    bytes.put(name)
    switch self {
    case .set(let key, let value), .add(let key, let value):
      bytes.put(key)
      bytes.put(value)
    case .remove(let key): bytes.put(key)
    case .reserve(let hour, let user):
      bytes.put(hour)
      bytes.put(user)
    case .half: break
    }
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    switch try bytes.takeString() {
    case "set": self = .set(try bytes.takeString(), try bytes.takeInt64())
    case "add": self = .add(try bytes.takeString(), try bytes.takeInt64())
    case "remove": self = .remove(try bytes.takeString())
    case "reserve": self = .reserve(try bytes.takeInt64(), by: try bytes.takeString())
    case "half": self = .half
    default: throw StoredFormError(expected: "a change")
    }
  }
}
