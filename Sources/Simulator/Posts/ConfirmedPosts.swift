package import UpdateMachine

/// The state as told to a client, which recognises its own posts by their local IDs.
package struct ConfirmedPosts: SyncModel {
  package typealias Change = PostChange

  /// Its client's name.
  package let name: ClientID
  package var client: ClientID? { name }
  package private(set) var state: PostsState

  /// Why the model could not take something.
  package enum Refusal: Error, Hashable, Sendable {
    case unreadable
  }

  package static var delivery: MutationDelivery { .atMostOnce }

  package static var outboxSettings: OutboxSettings { .ofWorlds }

  /// No posts, and every channel open.
  package static var beginning: ConfirmedPosts? { ConfirmedPosts(of: .nameless, PostsState()) }

  /// The server keeps no count: echoes and snapshots confirm.
  package var confirmation: MutationConfirmation { MutationConfirmation(last: .none) }

  package init(snapshot: PostsSnapshot) throws(Refusal) {
    guard snapshot.isReadable else { throw .unreadable }
    name = snapshot.client
    state = snapshot.state
  }

  init(of client: ClientID, _ state: PostsState) {
    name = client
    self.state = state
  }

  package mutating func apply(_ event: PostsEvent) throws(Refusal) {
    if case .unreadable = event { throw .unreadable }
    state.apply(event)
  }

  package func echo(in event: PostsEvent) -> MutationTicket? {
    guard case .posted(_, let local?) = event, local.client == name else { return nil }
    return local.ticket
  }
}
