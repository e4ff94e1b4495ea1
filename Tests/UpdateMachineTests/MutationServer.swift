@testable import UpdateMachine

// A server that takes mutations, as a value, and the model of a client.

/// What the server tells of its state: the whole board, and the client's last mutation in it.
struct BoardNews: Equatable, Sendable {
  var board: Board
  var confirmation = MutationConfirmation(last: .none)
  /// The client it is for.
  var client: ClientID? = ClientID(7)
}

typealias BoardModel = BoardOf<KnownIDs>
/// The same model for a server that does not know IDs.
typealias UncountedModel = BoardOf<UnknownIDs>

struct BoardOf<IDs: ServerIDs>: SyncModel, Equatable {
  typealias Change = BoardChange
  typealias Refusal = Never
  private var news: BoardNews

  init(snapshot: BoardNews) { news = snapshot }
  mutating func apply(_ event: BoardNews) { news = event }

  var client: ClientID? { news.client }
  var confirmation: MutationConfirmation { news.confirmation }
  var state: Board { news.board }
  static var delivery: MutationDelivery { IDs.areKnown ? .exactlyOnce : .atMostOnce }
}

/// Says whether the server recognises a mutation by its ID.
protocol ServerIDs: Sendable {
  static var areKnown: Bool { get }
}

enum KnownIDs: ServerIDs {
  static var areKnown: Bool { true }
}

enum UnknownIDs: ServerIDs {
  static var areKnown: Bool { false }
}

struct BoardBatch: EventBatch {
  var first: Int
  var events: [BoardNews]

  var count: Int { events.count }
  func event(at index: Int) -> BoardNews? { events[index] }
}

enum BoardSync: SyncProtocol {
  static var order: PushOrder { .pushFirst }

  static func advance(_ finger: Spot, over batch: BoardBatch) -> SyncAdvance<Spot> {
    if batch.first > finger.index + 1 { return .gap }
    let last = batch.first + batch.count - 1
    if last <= finger.index { return .seen }
    return .next(Spot(finger.log, last), first: finger.index + 1 - batch.first)
  }
}

/// The server. It runs each mutation once and in order, or refuses it.
struct BoardServer: Sendable {
  var board = Board()
  var last = MutationID.none
  var refusal: MutationRefusal?
  /// The names of mutations that it refuses.
  var refuses: Set<String> = []
  /// What it says then.
  var code = RejectionCode("NO")
  /// What it has run, in order.
  var ran: [String] = []
  var spot = Spot("a", 0)
  var client = ClientID(7)

  var news: BoardNews {
    BoardNews(
      board: board, confirmation: MutationConfirmation(last: last, refusal: refusal), client: client
    )
  }

  mutating func run(_ push: PushRequest<BoardChange>) -> PushAnswer {
    for item in push.mutations {
      if let refusal, refusal.id > push.knownRefusal { return .refused(refusal) }
      guard item.id == last.next else { continue }
      last = item.id
      var board = board
      if !refuses.contains(item.change.name), (try? item.change.apply(to: &board)) != nil {
        self.board = board
        ran.append(item.change.name)
      } else {
        refusal = MutationRefusal(item.id, code)
      }
    }
    if let refusal, refusal.id > push.knownRefusal { return .refused(refusal) }
    return .accepted
  }
}
