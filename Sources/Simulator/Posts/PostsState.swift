internal import SyncProtocols
package import UpdateMachine

/// A post. Its author's number for it is unique among the author's posts, except for copies.
package struct Post: Hashable, Sendable {
  /// `nil`: an author without an outbox.
  package var author: ClientID?
  package var entry: Int64
  package var channel: Int
}

/// A client's own ID for a post, which the server echoes once.
package struct LocalID: Hashable, Sendable {
  package var client: ClientID
  package var ticket: MutationTicket
}

/// All posts in order of arrival, and the channels that are open.
package struct PostsState: Hashable, Sendable {
  package private(set) var posts: [Post] = []
  /// One bit per channel.
  private var closed: UInt64 = 0
  private var oddities: UInt64 = 0
  private var sum = StateDigest()

  static var channels: Int { 3 }

  package init() {}

  /// Restores a state from its posts and its ``marks``.
  init(posts: [Post], marks: [UInt64]) {
    for post in posts { add(post) }
    (closed, oddities) = (marks[0], marks[1])
  }

  /// Everything except the posts.
  var marks: [UInt64] { [closed, oddities] }

  func isOpen(_ channel: Int) -> Bool { closed & (1 << UInt64(channel)) == 0 }

  /// Stored, because it is read after every event.
  package var checksum: UInt64 {
    var digest = sum
    digest.fold(closed)
    digest.fold(oddities)
    return digest.value
  }

  mutating func add(_ post: Post) {
    posts.append(post)
    sum.fold(post.author?.number ?? 0)
    sum.fold(post.entry)
    sum.fold(Int64(post.channel))
  }

  mutating func apply(_ event: PostsEvent) {
    switch event {
    case .posted(let post, _): add(post)
    case .closed(let channel): closed |= 1 << UInt64(channel)
    case .opened(let channel): closed &= ~(1 << UInt64(channel))
    case .unreadable: oddities += 1
    }
  }
}

/// A change of the posts or channels, and the event for it.
package enum PostsEvent: Hashable, Sendable {
  /// `local`: the sender's ID for it, sent to all clients.
  case posted(Post, local: LocalID?)
  case closed(Int)
  case opened(Int)
  /// An event that every client refuses.
  case unreadable
}

/// The state as a register returns it. It does not say which posts are the client's own.
package struct PostsSnapshot: Hashable, Sendable {
  package var state: PostsState
  /// The client that it is for.
  package var client = ClientID(0)
  /// Whether clients accept it; `false` for the fault `refused-snapshot`.
  package var isReadable = true
}

/// A user's change: one post.
package struct PostChange: Mutation, Hashable {
  package var post: Post

  /// The channel was closed.
  package struct Closed: Error, Hashable, Sendable {}

  package var name: String { "post" }

  package var size: Int64 { 1 }

  /// Its channel.
  package var object: Int? { post.channel }

  package func apply(to state: inout PostsState) throws(Closed) {
    guard state.isOpen(post.channel) else { throw Closed() }
    state.add(post)
  }

  /// The arguments in a push.
  func arguments(_ ticket: MutationTicket) -> JSONValue {
    var object = JSONObject()
    object["entry"] = JSONValue(integerLiteral: post.entry)
    object["channel"] = JSONValue(integerLiteral: Int64(post.channel))
    object["local"] = JSONValue(integerLiteral: Int64(ticket.number))
    return .object(object)
  }
}

extension Post: CustomStringConvertible {
  /// A text like "7/3 in 2": the third post of author 7, in channel 2.
  package var description: String {
    "\(author.map { "\($0.number)" } ?? "somebody")/\(entry) in \(channel)"
  }
}

extension PostChange: MarkedChange {
  package var marks: [Int64] { [post.entry] }
}

extension PostChange: CustomStringConvertible {
  package var description: String { post.description }
}

extension PostsState: CustomStringConvertible {
  package var description: String {
    var text = ""
    for post in posts { text += "\(post), " }
    for channel in 0..<PostsState.channels where !isOpen(channel) { text += "\(channel) closed, " }
    return text + "\(oddities) odd"
  }
}

extension PostsEvent: CustomStringConvertible {
  package var description: String {
    switch self {
    case .posted(let post, nil): "\(post)"
    case .posted(let post, let local?): "\(post), \(local.ticket) of its author"
    case .closed(let channel): "\(channel) is closed"
    case .opened(let channel): "\(channel) is open"
    case .unreadable: "unreadable"
    }
  }
}
