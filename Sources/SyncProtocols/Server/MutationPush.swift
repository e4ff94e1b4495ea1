public import UpdateMachine

// Server: the room of what servers say and hear whatever they speak: an answer as the transport brings it,
// the changes that are pushed to them, and why they refuse one.
//
// Server may use: JSON.

/// A mutation as it is pushed: the intent, not its effects.
public struct NamedMutation: Hashable, Sendable {
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

/// A client's pending mutations, on their way to the server.
public struct MutationPush: Hashable, Sendable {
  public var client: ClientID
  /// The last refusal that the server has told the client of; 0: none.
  public var knownRefusal: MutationID
  /// Those that were refused together with the push that they came in: of them the server may never have
  /// heard. Ascending.
  public var voided: [MutationID]
  /// Ascending IDs.
  public var mutations: [NamedMutation]

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

/// A mutator's refusal: the mutation can never be made as it is.
public struct ChangeRefusal: Error, Hashable, Sendable {
  /// For the app; equal codes are equal reasons.
  public var code: RejectionCode

  @inlinable
  public init(_ text: String) { code = RejectionCode(text) }
}
