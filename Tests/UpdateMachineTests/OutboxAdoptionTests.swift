import TestSupport
import Testing

@testable import UpdateMachine

/// A snapshot says whose it is: what becomes of the outbox and of the view.
@Suite struct OutboxAdoptionTests {
  private typealias Hand = ClientHand<BoardModel, BoardSync>

  /// A client that follows, level and with everything saved.
  private static func following<Model: SyncModel>(
    _ news: Model.Snapshot
  ) -> ClientHand<Model, BoardSync> where Model.Event == BoardNews {
    var hand = ClientHand<Model, BoardSync>()
    hand.put(.started(foreground: true))
    snapshot(news, &hand)
    return hand
  }

  private static func snapshot<Model: SyncModel>(
    _ news: Model.Snapshot, _ hand: inout ClientHand<Model, BoardSync>
  ) where Model.Event == BoardNews {
    hand.put(
      .snapshotArrived(hand.request!, news, finger: Spot("b", 1), terms: testTerms),
      after: .seconds(1))
  }

  /// The log has gone: the client registers.
  private static func expire<Model: SyncModel>(
    _ hand: inout ClientHand<Model, BoardSync>
  ) where Model.Event == BoardNews {
    hand.put(.failed(hand.request!, .expired, hasLeft: true), after: .seconds(60))
    if hand.request == nil { hand.fire(.machine) }
    #expect(hand.client.finger == nil)
  }

  @Test func `in another name the view has another version, and is told`() {
    var hand: Hand = Self.following(BoardNews(board: Board(["a": 1])))
    let version = hand.client.local!.view.version
    Self.expire(&hand)
    Self.snapshot(BoardNews(board: Board(["a": 2]), client: ClientID(8)), &hand)
    #expect(hand.client.local?.outbox.client == ClientID(8))
    #expect(hand.client.local!.view.version > version)
    #expect(hand.client.local?.view.state == Board(["a": 2]))
  }

  @Test func `a subscription hears of what another name sees`() {
    struct Whole: ViewQuery {
      func answer(in state: Board) -> Board { state }
    }
    var hand: Hand = Self.following(BoardNews(board: Board(["a": 1])))
    var subscription = ViewSubscription(Whole())
    #expect(subscription.update(hand.client.local!.view) == Board(["a": 1]))
    Self.expire(&hand)
    Self.snapshot(BoardNews(board: Board(["a": 2]), client: ClientID(8)), &hand)
    #expect(subscription.update(hand.client.local!.view) == Board(["a": 2]))
    // The same after a log-out.
    hand.put(.loggedOut)
    hand.put(.started(foreground: true))
    Self.snapshot(BoardNews(board: Board(["a": 3])), &hand)
    #expect(subscription.update(hand.client.local!.view) == Board(["a": 3]))
  }

  @Test func `what the server had accepted is in its snapshot, whatever it calls us`() throws {
    var hand: ClientHand<UncountedModel, BoardSync> = Self.following(
      BoardNews(board: Board(["a": 1])))
    try hand.mutate(.set("a", 2))
    let push = try #require(hand.pushes.last)
    hand.put(.pushAnswered(push.id, .accepted), after: .seconds(1))
    Self.expire(&hand)
    Self.snapshot(BoardNews(board: Board(["a": 2]), client: ClientID(8)), &hand)
    let outbox = try #require(hand.client.local?.outbox)
    #expect(outbox.client == ClientID(8))
    #expect(outbox.isEmpty, "it is not set aside")
  }

  @Test func `the server's floor holds in another name, too`() throws {
    var hand: Hand = Self.following(BoardNews(board: Board(["a": 1])))
    try hand.mutate(.set("a", 2))
    let push = try #require(hand.pushes.last)
    hand.put(.failed(push.id, .rateLimited(after: .seconds(500)), hasLeft: false))
    let floor = try #require(hand.client.local?.outbox.sending.retry.notBefore)
    #expect(floor > hand.now)
    Self.expire(&hand)
    Self.snapshot(BoardNews(board: Board(["a": 1]), client: ClientID(8)), &hand)
    #expect(hand.client.local?.outbox.sending.retry.notBefore == floor)
    #expect(hand.pushes.count == 1)
  }

  @Test func `a snapshot that names nobody is refused while something is pending`() throws {
    var hand: Hand = Self.following(BoardNews(board: Board(["a": 1])))
    try hand.mutate(.set("a", 2))
    Self.expire(&hand)
    Self.snapshot(BoardNews(board: Board(["a": 1]), client: nil), &hand)
    #expect(hand.client.finger == nil)
    #expect(hand.client.local?.view.state == Board(["a": 2]))
    #expect(hand.client.local?.outbox.pending.count == 1)
  }

  @Test func `a snapshot that names nobody gives up the push that is out`() throws {
    var hand: Hand = Self.following(BoardNews(board: Board(["a": 1])))
    try hand.mutate(.set("a", 2))
    let push = try #require(hand.pushes.last)
    let news = BoardNews(
      board: Board(["a": 2]), confirmation: MutationConfirmation(last: MutationID(1)))
    hand.put(.batchArrived(hand.request!, BoardBatch(first: 2, events: [news])))
    #expect(hand.client.local?.outbox.isEmpty == true, "the log has told of it before the answer")
    Self.expire(&hand)
    let request = hand.request!
    let nobody = BoardNews(board: Board(["a": 2]), client: nil)
    let effects = hand.client.handle(
      .snapshotArrived(request, nobody, finger: Spot("c", 1), terms: testTerms), at: hand.now)
    #expect(hand.client.local == nil)
    #expect(
      effects.list.contains { if case .cancel(let id) = $0 { id == push.id } else { false } })
    #expect(hand.client.timersArmed <= 1, "the machine's own")
  }

  @Test func `a snapshot that names nobody ends an outbox with nothing in it`() throws {
    var hand: Hand = Self.following(BoardNews(board: Board(["a": 1])))
    Self.expire(&hand)
    Self.snapshot(BoardNews(board: Board(["a": 1]), client: nil), &hand)
    #expect(hand.client.finger != nil)
    #expect(hand.client.local == nil)
  }
}

/// A board whose server knows no IDs.
private struct UncountedModel: SyncModel {
  typealias Change = BoardChange
  typealias Refusal = Never
  private var news: BoardNews

  init(snapshot: BoardNews) { news = snapshot }
  mutating func apply(_ event: BoardNews) { news = event }

  var client: ClientID? { news.client }
  var confirmation: MutationConfirmation { news.confirmation }
  var state: Board { news.board }
  static var knowsMutationsAgain: Bool { false }
}
