public import UpdateMachine

/// A mutation as it is pushed: the intent, not its effects.
public struct PushedMutation: Hashable, Sendable {
  public var id: MutationID
  /// The mutator's name.
  public var name: String
  public var arguments: JSON

  @inlinable
  public init(id: MutationID, name: String, arguments: JSON) {
    self.id = id
    self.name = name
    self.arguments = arguments
  }
}

/// A client's pending mutations, on their way to the data layer.
public struct PushRequest: Hashable, Sendable {
  public var client: ClientID
  /// The last refusal that the data layer has told the client of; 0: none.
  public var knownRefusal: MutationID
  /// Those that were refused together with the push that they came in: of them the data layer may never
  /// have heard. Ascending.
  public var voided: [MutationID]
  /// Ascending IDs.
  public var mutations: [PushedMutation]

  @inlinable
  public init(
    client: ClientID, knownRefusal: MutationID, voided: [MutationID] = [],
    mutations: [PushedMutation]
  ) {
    self.client = client
    self.knownRefusal = knownRefusal
    self.voided = voided
    self.mutations = mutations
  }
}

/// What the data layer says to a push. It saves the client a wait; what holds is what pulls say.
public enum PushAnswer: Hashable, Sendable {
  /// It was run, or will be.
  case accepted
  /// A mutation was refused that the client did not know of, and those above it were ignored.
  case refused(MutationRefusal)
}

/// A mutator's refusal: the mutation can never be made as it is.
public struct MutatorRefusal: Error, Hashable, Sendable {
  /// For the app; equal codes are equal reasons.
  public var code: RejectionCode

  @inlinable
  public init(_ text: String) { code = RejectionCode(text) }
}

/// An app's mutators. The data layer has them, and the client its own, which may guess: the
/// data layer's count.
public protocol ViewMutators: Sendable {
  associatedtype Value: ViewValue

  /// Runs the mutator of a name on a transaction; returns what it has to say. If it throws, what it
  /// wrote is undone, and the mutation is refused for good. It looks at nothing but its arguments and
  /// the transaction.
  func run(
    _ name: String, _ arguments: JSON, in transaction: inout ViewTransaction<Value>
  ) throws(MutatorRefusal) -> JSON
}
