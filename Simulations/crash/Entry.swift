import SyncProtocols
import UpdateMachine

/// The mutation of the child's user: it adds a number to the view.
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

  /// The key of a number in the view.
  static func key(_ number: Int64) -> ViewKey {
    let digits = "\(number)"
    return ViewKey("entry/" + String(repeating: "0", count: max(0, 10 - digits.count)) + digits)
  }

  func apply(to view: inout ViewMap<JSONValue>) -> JSONValue {
    view[Entry.key(number)] = .null  // The server will set its position.
    return .null
  }
}

extension Entry: Storable {
  func put(into bytes: inout ByteWriter) { bytes.put(number) }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    self = .add(try bytes.takeInt64())
  }
}

/// The server's mutator: it stores each number with the count of numbers before it.
struct EntryMutators: ViewMutators {
  typealias Value = JSONValue

  /// Whether the server always refuses this number.
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
