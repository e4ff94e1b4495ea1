import Testing

@testable import UpdateMachine

/// Pushes that a server finds too large: none is sent whole again and again, and nothing is lost.
@Suite struct OutboxTooLargeTests {
  private typealias Hand = ClientHand<BoardModel, BoardSync>

  /// A client that holds a state, with changes that are ready to leave.
  private func hand(changes: Int64) throws -> Hand {
    var hand = Hand()
    hand.put(.app(.started(foreground: true)))
    hand.put(
      .snapshotArrived(
        hand.request!, BoardNews(board: Board()), finger: Spot("a", 0), terms: testTerms))
    // Until the first push is answered, the others wait.
    for number in 1...changes { try hand.mutate(.set("v\(number)", number)) }
    hand.put(.pushAnswered(try #require(hand.pushes.last?.id), .acceptedOnly([])))
    hand.fire(.outbox)
    return hand
  }

  private func sent(_ hand: Hand) -> [MutationID] { hand.pushes.last?.mutations.map(\.id) ?? [] }

  private func answer(_ hand: inout Hand, _ answer: PushAnswer) throws {
    let count = hand.pushes.count
    hand.put(.pushAnswered(try #require(hand.pushes.last?.id), answer))
    if hand.pushes.count == count { hand.fire(.outbox) }
  }

  private func ids(_ range: ClosedRange<UInt64>) -> [MutationID] { range.map { MutationID($0) } }

  @Test func `it is sent in smaller ones, which grow again`() throws {
    var hand = try hand(changes: 9)
    #expect(sent(hand) == ids(1...9))
    try answer(&hand, .tooLarge)
    #expect(sent(hand) == ids(1...4))
    try answer(&hand, .tooLarge)
    #expect(sent(hand) == ids(1...2))
    try answer(&hand, .accepted)
    #expect(sent(hand) == ids(3...6))
    try answer(&hand, .tooLarge)
    #expect(sent(hand) == ids(3...4))
    try answer(&hand, .accepted)
    try answer(&hand, .accepted)
    #expect(sent(hand) == ids(9...9))
  }

  @Test func `one change that is too large alone is set aside, and the others go on`() throws {
    var hand = try hand(changes: 3)
    try answer(&hand, .tooLarge)
    #expect(sent(hand) == ids(1...1))
    try answer(&hand, .tooLarge)
    let refused = try #require(hand.client.setAside.first)
    guard case .refused(.tooLarge) = refused.reason else {
      Issue.record("set aside for another reason: \(refused)")
      return
    }
    #expect(hand.client.setAside.count == 1 && hand.client.pending.count == 2)
    hand.put(.mutation(.discarded(refused.ticket)))
    while hand.pushes.last?.mutations.first?.id == MutationID(1) { hand.fire(.outbox) }
    let push = try #require(hand.pushes.last)
    #expect(push.voided == ids(1...1), "the server must not wait for it")
    #expect(push.mutations.map(\.id) == ids(2...2))
  }

  /// A copy of the push that was too large may arrive later, where it is taken. Seed 1559 of the
  /// ledger, with real actors: the second change was made twice, because it had the first one's ID
  /// by then.
  @Test func `no ID of a push that was too large gets another meaning`() throws {
    var hand = try hand(changes: 2)
    try answer(&hand, .tooLarge)
    try answer(&hand, .tooLarge)
    let refused = try #require(hand.client.setAside.first)
    hand.put(.mutation(.edited(refused.ticket, .set("v1", 7))))
    #expect(hand.client.setAside.count == 1, "a copy may be made as it was")
    hand.put(.mutation(.retried(refused.ticket)))
    while hand.pushes.last?.mutations.first?.change != .set("v1", 1) { hand.fire(.outbox) }
    #expect(hand.pushes.last?.mutations.first?.id == MutationID(1))
  }
}
