package import SyncProtocols
package import UpdateMachine

// Posts: the room of a world in which users send posts over Zulip's protocol, to a server that
// cannot tell a second copy from the first: its app, its users, and what they are owed.
//
// Posts may use: Changes, Choices, Disk, Run.

/// The simulator's fourth app: a few channels, into which users post online or
/// offline.
package enum PostsApp: SimulatedApp {
  package typealias Model = ConfirmedPosts
  package typealias Truth = PostsTruth
  package typealias Server = EventQueueServer<PostsTruth>
  package typealias User = PostsUser
  package typealias Disk = RowDisk<Model, QueueFinger>

  package static func beginning(_ choices: inout Choices) -> PostsTruth { PostsTruth() }

  /// A change by others.
  package static func nextEvent(_ truth: PostsTruth, _ choices: inout Choices) -> PostsEvent {
    let channel = Int(choices.draw(.workload, below: UInt64(PostsState.channels)))
    switch choices.draw(.workload, below: 6) {
    case 0, 1, 2:
      let entry = Int64(truth.state.posts.count)
      return .posted(Post(author: nil, entry: entry, channel: channel), local: nil)
    case 3: return .closed(channel)
    default: return .opened(channel)
    }
  }

  package static func eventToRefuse(_ truth: PostsTruth) -> PostsEvent? { .unreadable }

  package static func snapshotToRefuse(_ truth: PostsTruth) -> PostsSnapshot? {
    var snapshot = truth.snapshot
    snapshot.isReadable = false
    return snapshot
  }

  package static func request(
    _ push: PushRequest<PostChange>, at finger: Server.Place?
  ) -> MutationPush {
    MutationPush(
      client: push.client, knownRefusal: push.knownRefusal, voided: push.voided,
      mutations: push.mutations.map {
        NamedMutation(
          id: $0.id, name: $0.change.name, arguments: $0.change.arguments($0.ticket))
      })
  }

  /// Computed from the confirmed state alone, which is what a finger stands for.
  package static func checksum(of model: Model) -> UInt64 { model.state.checksum }

  package static func describe(_ model: Model) -> String { model.state.description }

  package static func describe(_ truth: PostsTruth) -> String { truth.state.description }

  package static func describe(_ event: PostsEvent) -> String {
    switch event {
    case .posted(let post, _):
      let author = post.author.map { "of client \($0.number)" } ?? "of another author"
      return "post \(post.entry) \(author) in channel \(post.channel)"
    case .closed(let channel): return "channel \(channel) closed"
    case .opened(let channel): return "channel \(channel) opened"
    case .unreadable: return "something that no client can read"
    }
  }
}

/// The server's state.
package struct PostsTruth: ServerTruth {
  package internal(set) var state = PostsState()

  package init() {}

  package var snapshot: PostsSnapshot { PostsSnapshot(state: state) }

  package static func addressed(_ snapshot: PostsSnapshot, to client: ClientID) -> PostsSnapshot {
    var snapshot = snapshot
    snapshot.client = client
    return snapshot
  }

  package var checksum: UInt64 { state.checksum }

  package mutating func apply(_ event: PostsEvent) { state.apply(event) }

  package static func isDeletion(_ event: PostsEvent) -> Bool {
    if case .closed = event { true } else { false }
  }

  /// Two arrivals are two posts: the ID is ignored.
  package func change(
    by mutation: NamedMutation, of client: ClientID
  ) throws(ChangeRefusal) -> PostsEvent? {
    guard let entry = mutation.arguments["entry"]?.int64,
      let channel = mutation.arguments["channel"]?.int64,
      let ticket = mutation.arguments["local"]?.int64
    else { throw ChangeRefusal("no such post") }
    if entry % PostsTruth.unlucky == 0 { throw ChangeRefusal("unlucky") }
    guard state.isOpen(Int(channel)) else { throw ChangeRefusal("closed") }
    let post = Post(author: client, entry: entry, channel: Int(channel))
    let local = LocalID(client: client, ticket: MutationTicket(UInt64(ticket)))
    return .posted(post, local: local)
  }

  /// The server refuses entries divisible by this; clients do not know that.
  static var unlucky: Int64 { 11 }
}
