internal import SyncProtocols
public import UpdateMachine

/// A post. Its author has given it a number that no other post of his has, unless it is a copy.
public struct Post: Hashable, Sendable {
  /// `nil`: somebody who has no outbox.
  public var author: ClientID?
  public var entry: Int64
  public var channel: Int
}

/// What a client calls a post of its own, and gets back with it once.
public struct LocalID: Hashable, Sendable {
  public var client: ClientID
  public var ticket: MutationTicket
}

/// Everything that was posted, in the order in which it came, and which channels can be posted into.
public struct Board: Hashable, Sendable {
  public private(set) var posts: [Post] = []
  /// A bit for each channel.
  private var closed: UInt64 = 0
  private var oddities: UInt64 = 0
  private var sum = Digest()

  static var channels: Int { 3 }

  public init() {}

  /// As it was: its posts, and its ``marks``.
  init(posts: [Post], marks: [UInt64]) {
    for post in posts { add(post) }
    (closed, oddities) = (marks[0], marks[1])
  }

  /// All of it but its posts.
  var marks: [UInt64] { [closed, oddities] }

  func isOpen(_ channel: Int) -> Bool { closed & (1 << UInt64(channel)) == 0 }

  /// Kept, for it is asked for after every event.
  public var checksum: UInt64 {
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

  mutating func apply(_ event: BoardEvent) {
    switch event {
    case .posted(let post, _): add(post)
    case .closed(let channel): closed |= 1 << UInt64(channel)
    case .opened(let channel): closed &= ~(1 << UInt64(channel))
    case .unreadable: oddities += 1
    }
  }
}

/// What happens to the board, and what clients are told of it.
public enum BoardEvent: Hashable, Sendable {
  /// `local`: what its sender calls it, told to everybody.
  case posted(Post, local: LocalID?)
  case closed(Int)
  case opened(Int)
  /// Of a kind that every client refuses.
  case unreadable
}

/// The board as a register's answer brings it: nothing in it says whose post was which of a client's.
public struct BoardSnapshot: Hashable, Sendable {
  public var board: Board
  /// Whom it is for.
  public var client = ClientID(0)
  /// The fault `refused-snapshot`: a client cannot take it.
  public var isReadable = true
}

/// What a user sends.
public struct PostChange: Mutation, Hashable {
  public var post: Post

  /// The channel was closed.
  public struct Closed: Error, Hashable, Sendable {}

  public var name: String { "post" }

  public var size: Int64 { 1 }

  public func apply(to board: inout Board) throws(Closed) {
    guard board.isOpen(post.channel) else { throw Closed() }
    board.add(post)
  }

  /// As it is pushed.
  func arguments(_ ticket: MutationTicket) -> JSON {
    var object = JSONObject()
    object["entry"] = JSON(integerLiteral: post.entry)
    object["channel"] = JSON(integerLiteral: Int64(post.channel))
    object["local"] = JSON(integerLiteral: Int64(ticket.number))
    return .object(object)
  }
}

/// The board as the server has told it to a client, which knows its own posts by what it called them.
public struct ConfirmedBoard: SyncModel {
  public typealias Change = PostChange

  /// Its client's name.
  public let name: ClientID
  public var client: ClientID? { name }
  public private(set) var state: Board

  /// Why it could not take something.
  public enum Refusal: Error, Hashable, Sendable {
    case unreadable
  }

  public static var knowsMutationsAgain: Bool { false }

  /// The server counts nothing: echoes and snapshots confirm.
  public var confirmation: MutationConfirmation { MutationConfirmation(last: .none) }

  public init(snapshot: BoardSnapshot) throws(Refusal) {
    guard snapshot.isReadable else { throw .unreadable }
    name = snapshot.client
    state = snapshot.board
  }

  init(of client: ClientID, _ board: Board) {
    name = client
    state = board
  }

  public mutating func apply(_ event: BoardEvent) throws(Refusal) {
    if case .unreadable = event { throw .unreadable }
    state.apply(event)
  }

  public func echo(in event: BoardEvent) -> MutationTicket? {
    guard case .posted(_, let local?) = event, local.client == name else { return nil }
    return local.ticket
  }
}

extension Post: CustomStringConvertible {
  /// "7/3 in 2": the third that author 7 wrote.
  public var description: String {
    "\(author.map { "\($0.number)" } ?? "somebody")/\(entry) in \(channel)"
  }
}

extension PostChange: CustomStringConvertible {
  public var description: String { post.description }
}

extension Board: CustomStringConvertible {
  public var description: String {
    var text = ""
    for post in posts { text += "\(post), " }
    for channel in 0..<Board.channels where !isOpen(channel) { text += "\(channel) closed, " }
    return text + "\(oddities) odd"
  }
}

extension BoardEvent: CustomStringConvertible {
  public var description: String {
    switch self {
    case .posted(let post, nil): "\(post)"
    case .posted(let post, let local?): "\(post), \(local.ticket) of its author"
    case .closed(let channel): "\(channel) is closed"
    case .opened(let channel): "\(channel) is open"
    case .unreadable: "unreadable"
    }
  }
}
