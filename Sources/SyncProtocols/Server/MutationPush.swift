public import UpdateMachine

// Server: the room of what all protocols' servers share: the true state of a server, its answer as
// the transport delivers it, the mutations that clients push, why a mutation is refused, and how a
// poll waits for news in a server in this process.
//
// Server may use: JSON.

/// A mutation as it is pushed: the intent, not its effects.
public struct NamedMutation: Hashable, Sendable {
  /// The client's number for the mutation; a second copy has the same.
  public var id: MutationID
  /// The mutator's name.
  public var name: String
  /// The mutator's arguments. It must read nothing but these and its transaction.
  public var arguments: JSONValue

  /// Creates a mutation for the mutator of this name.
  @inlinable
  public init(id: MutationID, name: String, arguments: JSONValue) {
    self.id = id
    self.name = name
    self.arguments = arguments
  }
}

/// A client's pending mutations, on their way to the server.
public struct MutationPush: Hashable, Sendable {
  /// The client that made the mutations and numbered them.
  public var client: ClientID
  /// The last refusal that the client has learned of; 0: none.
  public var knownRefusal: MutationID
  /// Mutations that were refused as part of a whole push. The server may never have heard of them.
  /// Ascending.
  public var voided: [MutationID]
  /// Ascending IDs.
  public var mutations: [NamedMutation]

  /// Creates a push. IDs must ascend, in `voided` and in `mutations`; they are not sorted here.
  @inlinable
  public init(
    client: ClientID, knownRefusal: MutationID, voided: [MutationID] = [],
    mutations: [NamedMutation]
  ) {
    self.client = client
    self.knownRefusal = knownRefusal
    self.voided = voided
    self.mutations = mutations
  }
}

/// A mutator's refusal: the mutation can never be run as it is.
public struct ChangeRefusal: Error, Hashable, Sendable {
  /// For the app. Equal codes mean equal reasons.
  public var code: RejectionCode

  /// Creates a refusal with this text as its code.
  @inlinable
  public init(_ text: String) { code = RejectionCode(text) }
}

extension ChangeRefusal: CustomStringConvertible {
  /// The text of the code.
  public var description: String { code.text }
}
