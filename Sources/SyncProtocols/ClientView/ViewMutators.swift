/// An app's mutators. The data layer has them, and the client its own, which may guess: the
/// data layer's count.
public protocol ViewMutators: Sendable {
  associatedtype Value: ViewValue

  /// Runs the mutator of a name on a transaction; returns what it has to say. If it throws, what it
  /// wrote is undone, and the mutation is refused for good. It looks at nothing but its arguments and
  /// the transaction.
  func run(
    _ name: String, _ arguments: JSON, in transaction: inout ViewTransaction<Value>
  ) throws(ChangeRefusal) -> JSON
}
