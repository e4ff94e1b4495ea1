import SyncProtocols
import UpdateMachine

/// What the child's user does: writes down one number after the other.
enum Entry: ViewMutation {
  case add(Int64)

  var name: String { "add" }

  var arguments: JSONValue {
    switch self {
    case .add(let number): ["number": JSONValue(integerLiteral: number)]
    }
  }

  var number: Int64 {
    switch self {
    case .add(let number): number
    }
  }

  /// Where a number stands in the view.
  static func key(_ number: Int64) -> ViewKey {
    let digits = "\(number)"
    return ViewKey("entry/" + String(repeating: "0", count: max(0, 10 - digits.count)) + digits)
  }

  func apply(to view: inout ViewMap<JSONValue>) -> JSONValue {
    view[Entry.key(number)] = .null  // Which one it is, the server will say.
    return .null
  }
}

extension Entry: Storable {
  func put(into bytes: inout ByteWriter) { bytes.put(number) }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    self = .add(try bytes.takeInt64())
  }
}

/// The server's side of it: each number is written down with how many were before it.
struct EntryMutators: ViewMutators {
  typealias Value = JSONValue

  /// A number that the server never takes.
  static func refuses(_ number: Int64) -> Bool { number % 37 == 0 }

  func run(
    _ name: String, _ arguments: JSONValue, in transaction: inout ViewTransaction<JSONValue>
  ) throws(ChangeRefusal) -> JSONValue {
    guard name == "add", let number = arguments["number"]?.int64 else {
      throw ChangeRefusal("UNKNOWN")
    }
    guard !EntryMutators.refuses(number) else { throw ChangeRefusal("UNWANTED") }
    let count = transaction.get("count")?.int64 ?? 0
    transaction.put("count", JSONValue(integerLiteral: count + 1))
    transaction.put(Entry.key(number), JSONValue(integerLiteral: count))
    return .null
  }
}
