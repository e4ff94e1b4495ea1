/// An app's mutators. The data layer has them, and the client has its own, which may guess. The
/// data layer's results count.
public protocol ViewMutators<Value>: Sendable {
  /// The values that the mutators read and write.
  associatedtype Value: ViewValue

  /// Runs the mutator with this name in a transaction, and returns its result. If it throws, its
  /// writes are undone, and the mutation is refused for good. It must read only its arguments and
  /// the transaction.
  func run(
    _ name: String, _ arguments: JSONValue, in transaction: inout ViewTransaction<Value>
  ) throws(ChangeRefusal) -> JSONValue
}
