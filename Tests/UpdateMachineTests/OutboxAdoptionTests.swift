import TestSupport
import Testing

@testable import UpdateMachine

/// Tests what happens to the outbox and the view when a snapshot says whose it is.
@Suite struct OutboxAdoptionTests {
  private typealias Hand = ClientHand<BoardModel, BoardSync>

  /// A client that follows, up to date and saved.
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

  /// The log is lost, and the client registers.
  private static func expire<Model: SyncModel>(
    _ hand: inout ClientHand<Model, BoardSync>
  ) where Model.Event == BoardNews {
    hand.put(.failed(hand.request!, .expired, hasLeft: true), after: .seconds(60))
    if hand.request == nil { hand.fire(.machine) }
    #expect(hand.client.finger == nil)
  }

  @Test func `a view has a new version under a new client ID`() {
    var hand: Hand = Self.following(BoardNews(board: Board(["a": 1])))
    let version = hand.client.local!.view.version
    Self.expire(&hand)
    Self.snapshot(BoardNews(board: Board(["a": 2]), client: ClientID(8)), &hand)
    #expect(hand.client.local?.outbox.client == ClientID(8))
    #expect(hand.client.local!.view.version > version)
    #expect(hand.client.local?.view.state == Board(["a": 2]))
  }

  @Test func `a subscription reports changes under a new client ID`() {
    struct Whole: ViewQuery {
      func answer(in state: Board) -> Board { state }
    }
    var hand: Hand = Self.following(BoardNews(board: Board(["a": 1])))
    var subscription = ViewSubscription(Whole())
    #expect(subscription.update(hand.client.local!.view) == Board(["a": 1]))
    Self.expire(&hand)
    Self.snapshot(BoardNews(board: Board(["a": 2]), client: ClientID(8)), &hand)
    #expect(subscription.update(hand.client.local!.view) == Board(["a": 2]))
    // The same holds after a log-out.
    hand.put(.loggedOut)
    hand.put(.started(foreground: true))
    Self.snapshot(BoardNews(board: Board(["a": 3])), &hand)
    #expect(subscription.update(hand.client.local!.view) == Board(["a": 3]))
  }

  @Test func `accepted mutations are in the snapshot, also under a new client ID`() throws {
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

  @Test func `the server's floor holds under a new client ID`() throws {
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

  @Test func `a snapshot without a client ID is refused, and the outbox stays`() throws {
    var hand: Hand = Self.following(BoardNews(board: Board(["a": 1])))
    try hand.mutate(.set("a", 2))
    let push = try #require(hand.pushes.last)
    Self.expire(&hand)
    Self.snapshot(BoardNews(board: Board(["a": 1]), client: nil), &hand)
    #expect(hand.client.finger == nil)
    #expect(hand.client.local?.view.state == Board(["a": 2]))
    #expect(hand.client.local?.outbox.pending.count == 1)
    #expect(hand.pushes.last?.id == push.id, "the push that is out is still awaited")
  }

  @Test func `a snapshot without a client ID is refused even if nothing is pending`() {
    var hand: Hand = Self.following(BoardNews(board: Board(["a": 1])))
    Self.expire(&hand)
    Self.snapshot(BoardNews(board: Board(["a": 2]), client: nil), &hand)
    #expect(hand.client.finger == nil)
    #expect(hand.client.local?.view.state == Board(["a": 1]))
    // A later snapshot that names a client is taken. After a log-out, so is one that names none.
    hand.fire(.machine)
    Self.snapshot(BoardNews(board: Board(["a": 3])), &hand)
    #expect(hand.client.local?.view.state == Board(["a": 3]))
    hand.put(.loggedOut)
    hand.put(.started(foreground: true))
    Self.snapshot(BoardNews(board: Board(["a": 4]), client: nil), &hand)
    #expect(hand.client.finger != nil)
    #expect(hand.client.local == nil)
  }
}
