import TestSupport
import Testing

@testable import UpdateMachine

/// A first start without a network: the user changes what the app begins with, and the first
/// snapshot takes its place.
@Suite struct BeginningTests {
  /// A board that begins empty. Its rows are its values, and it leaves them on the disk.
  struct Beginner: StorableModel, Equatable {
    typealias Change = BoardChange
    typealias Refusal = Never
    var news: BoardNews
    var hasUnloaded = false

    static var beginning: Beginner? { Beginner(snapshot: BoardNews(board: Board(["new": 1]))) }

    init(snapshot: BoardNews) { news = snapshot }
    mutating func apply(_ event: BoardNews) { news = event }
    var client: ClientID? { news.client }
    var confirmation: MutationConfirmation { news.confirmation }
    var state: Board { news.board }

    static var unloadedTables: [StoredTable] { [.firstOfModel] }

    func store(since old: Beginner?, into rows: inout RowWriter) {
      rows.put(.firstOfModel, values, since: old?.values)
      rows.put(.firstOfModel.advanced(by: 1), numbers, since: old?.numbers)
    }

    private var values: [String] { state.values.map { "\($0.key)=\($0.value)" } }
    private var numbers: [UInt64] { news.client.map { [$0.number] } ?? [] }

    init(stored rows: RowReader) throws(StoredFormError) {
      var board = Board()
      let values: [String]? = try rows.value(of: .firstOfModel)
      for value in values ?? [] {
        let pair = value.split(separator: "=")
        board.values[String(pair[0])] = Int64(pair[1])
      }
      let numbers: [UInt64]? = try rows.value(of: .firstOfModel.advanced(by: 1))
      news = BoardNews(board: board, client: numbers?.first.map { ClientID($0) })
      hasUnloaded = values == nil
    }

    mutating func forgetUnloaded() { hasUnloaded = false }
  }

  private typealias Hand = ClientHand<Beginner, BoardSync>
  private typealias Saved = SavedReplica<Beginner, Spot>

  /// A client that has started with nothing saved, and whose register fails.
  private func offline(settings: ClientSettings = ClientSettings()) -> Hand {
    var hand = Hand(settings: settings)
    hand.put(.app(.started(foreground: true)))
    fail(&hand)
    return hand
  }

  private func fail(_ hand: inout Hand) {
    hand.put(.failed(hand.request!, .unreachable, hasLeft: false), after: .milliseconds(50))
  }

  /// The register that is out, or the next one, is answered.
  private func snapshot(_ hand: inout Hand, _ news: BoardNews) {
    if hand.request == nil { hand.fire(.machine) }
    hand.put(
      .snapshotArrived(hand.request!, news, finger: Spot("a", 0), terms: testTerms),
      after: .milliseconds(50))
  }

  private func values(_ hand: Hand) -> VersionedMap<String, Int64>? { hand.client.view?.values }

  // MARK: Before the first answer

  @Test func `before the first answer the view is the beginning, and nothing is held`() {
    let hand = offline()
    #expect(values(hand) == ["new": 1])
    #expect(hand.client.holding == .nothing)
    #expect(hand.client.model == nil)
    #expect(hand.client.saved?.isBeginning == true)
    #expect(hand.client.freshness(at: hand.now).upToDateAsOf == nil)
  }

  @Test func `a change to the beginning is seen and saved, and not sent`() throws {
    var hand = offline()
    let texts = try hand.mutate(.set("a", 2))
    #expect(texts == ["save 1"])
    #expect(values(hand) == ["new": 1, "a": 2])
    #expect(hand.client.pending.map(\.stage) == [.unsent])
    #expect(hand.client.local?.outbox.isStored(MutationTicket(1)) == true)
    for _ in 0..<5 {
      hand.fire(.machine)
      fail(&hand)
    }
    #expect(hand.pushes.isEmpty, "the client has no name yet")
    #expect(hand.client.local?.outbox.block == .heldBack)
  }

  @Test func `a change that the beginning does not allow is refused`() {
    var hand = offline()
    #expect(throws: MutationError<BoardChange.Refusal>.refused(.missing)) {
      try hand.mutate(.remove("a"))
    }
  }

  @Test func `before the saved form is read no change is taken`() {
    var hand = Hand(store: nil)
    hand.put(.app(.started(foreground: true)))
    #expect(values(hand) == nil)
    #expect(throws: MutationError<BoardChange.Refusal>.nothingHeld) {
      try hand.mutate(.set("a", 1))
    }
  }

  @Test func `a form that cannot be read, and a client without a store, begin as well`() throws {
    var unreadable = Hand(store: nil)
    unreadable.put(.app(.started(foreground: true)))
    unreadable.put(.loadFailed(.unreadable))
    #expect(values(unreadable) == ["new": 1])
    var settings = ClientSettings()
    settings.hasStore = false
    var storeless = offline(settings: settings)
    try storeless.mutate(.set("a", 2))
    #expect(values(storeless) == ["new": 1, "a": 2])
    snapshot(&storeless, BoardNews(board: Board()))
    #expect(values(storeless) == ["a": 2])
    #expect(storeless.pushes.last?.mutations.map(\.change) == [.set("a", 2)])
  }

  // MARK: The first snapshot

  @Test func `the first snapshot replaces the beginning under the changes, which are sent`() throws
  {
    var hand = offline()
    try hand.mutate(.set("a", 2))
    try hand.mutate(.reserve(9, by: "me"))
    snapshot(&hand, BoardNews(board: Board(["b": 3])))
    #expect(hand.client.model?.state == Board(["b": 3]), "the beginning was never confirmed")
    #expect(values(hand) == ["b": 3, "a": 2])
    #expect(hand.client.view?.hours == [9: "me"])
    let push = try #require(hand.pushes.last)
    #expect(push.client == ClientID(7))
    #expect(push.mutations.map(\.id) == [MutationID(1), MutationID(2)])
    #expect(push.mutations.map(\.ticket) == [MutationTicket(1), MutationTicket(2)])
    #expect(hand.client.saved?.isBeginning == false)
    #expect(hand.client.saved?.outbox?.client == ClientID(7))
    #expect(hand.client.local?.outbox.block == nil)
  }

  @Test func `a change that the first snapshot does not allow is set aside`() throws {
    var hand = offline()
    try hand.mutate(.remove("new"))
    snapshot(&hand, BoardNews(board: Board(["b": 3])))
    #expect(hand.client.setAside.count == 1)
    #expect(values(hand) == ["b": 3])
  }

  @Test func `a first snapshot that names no client is refused, and the changes stay`() throws {
    var hand = offline()
    try hand.mutate(.set("a", 2))
    snapshot(&hand, BoardNews(board: Board(), client: nil))
    #expect(hand.client.holding == .nothing)
    #expect(values(hand) == ["new": 1, "a": 2])
  }

  @Test func `a snapshot of a client with the stand-in's number takes the changes as well`() throws
  {
    var hand = offline()
    try hand.mutate(.set("a", 2))
    snapshot(&hand, BoardNews(board: Board(), client: ClientID(0)))
    #expect(hand.pushes.last?.mutations.map(\.change) == [.set("a", 2)])
  }

  @Test func `a subscription to the view goes on from the beginning to the snapshot`() throws {
    struct Whole: ViewQuery {
      func answer(in state: Board) -> Board { state }
    }
    var hand = offline()
    var subscription = ViewSubscription(Whole())
    #expect(subscription.update(hand.client.local!.view) == Board(["new": 1]))
    snapshot(&hand, BoardNews(board: Board(["b": 3])))
    #expect(subscription.update(hand.client.local!.view) == Board(["b": 3]))
    #expect(hand.effects?.changes.contains(.view) == true)
  }

  // MARK: Restart and log-out

  /// The next start reads what the last one saved, through rows.
  private func restarted(_ saved: Saved, unloaded: Bool = false) throws -> Hand {
    var disk = RowDisk()
    disk.write(saved.rows(since: nil))
    let left = unloaded ? Beginner.unloadedTables : []
    let rows = disk.rows.rows.filter { !left.contains($0.key.table) }
    var hand = Hand(incarnation: 2, store: nil)
    hand.put(.app(.started(foreground: true)))
    let read = try Saved(stored: try RowReader(rows, unloaded: left))
    hand.put(.loaded(read, age: .seconds(5)))
    hand.store = .works
    return hand
  }

  @Test(arguments: [false, true])
  func `a restart before the first answer keeps the changes`(unloaded: Bool) throws {
    var first = offline()
    try first.mutate(.set("a", 2))
    var hand = try restarted(try #require(first.client.saved), unloaded: unloaded)
    #expect(hand.client.holding == .nothing)
    #expect(values(hand) == ["new": 1, "a": 2])
    #expect(hand.client.freshness(at: hand.now).upToDateAsOf == nil)
    try hand.mutate(.set("c", 4))
    #expect(hand.pushes.isEmpty)
    snapshot(&hand, BoardNews(board: Board(["b": 3])))
    #expect(values(hand) == ["b": 3, "a": 2, "c": 4])
    #expect(hand.pushes.last?.mutations.map(\.change) == [.set("a", 2), .set("c", 4)])
    let again = try restarted(try #require(hand.client.saved))
    #expect(again.client.model?.state.values == ["b": 3])
    #expect(again.client.pending.count == 2)
  }

  @Test func `a change before a stop can be read by the next start`() throws {
    var hand = offline()
    hand.put(.app(.stopped))
    try hand.mutate(.set("a", 2))
    #expect(values(try restarted(try #require(hand.client.saved))) == ["new": 1, "a": 2])
  }

  @Test func `a log-out drops the changes, and the next start begins anew`() throws {
    var hand = offline()
    try hand.mutate(.set("a", 2))
    let version = try #require(hand.client.local?.view.version)
    hand.put(.app(.loggedOut))
    #expect(hand.client.view == nil)
    #expect(hand.client.saved == nil)
    #expect(throws: MutationError<BoardChange.Refusal>.nothingHeld) {
      try hand.mutate(.set("a", 1))
    }
    hand.put(.app(.started(foreground: true)))
    #expect(values(hand) == ["new": 1])
    #expect(try #require(hand.client.local?.view.version) >= version)
    try hand.mutate(.set("b", 1))
    snapshot(&hand, BoardNews(board: Board(), client: ClientID(8)))
    #expect(hand.pushes.last?.mutations.map(\.change) == [.set("b", 1)])
  }

  /// What was saved of an outbox must be readable whatever the model's own rows say.
  @Test func `a beginning is not restored as a state that a server has told`() throws {
    var hand = offline()
    try hand.mutate(.set("a", 2))
    let saved = try #require(hand.client.saved)
    #expect(saved.isBeginning && saved.finger == nil && saved.upToDateAge == nil)
    var disk = RowDisk()
    disk.write(saved.rows(since: nil))
    let read = try Saved(stored: disk.rows)
    #expect(read.isBeginning && read.outbox?.pending.count == 1)
  }

  @Test func `a model without a beginning takes no change before the first snapshot`() {
    var hand = ClientHand<BoardModel, BoardSync>()
    hand.put(.app(.started(foreground: true)))
    #expect(hand.client.view == nil)
    #expect(throws: MutationError<BoardChange.Refusal>.nothingHeld) {
      try hand.mutate(.set("a", 1))
    }
  }

  // MARK: An update of the app

  /// A client of the next version of the app, which cannot read the saved model.
  private func updated(_ outbox: Outbox<BoardChange>?) throws -> Hand {
    var hand = Hand(store: nil)
    hand.put(.app(.started(foreground: true)))
    hand.store = .works
    hand.put(.changesLoaded(SavedChanges(outbox: try #require(outbox))))
    return hand
  }

  /// Over the beginning they would be about nothing: a change of a value that is missing throws,
  /// and ends as overruled.
  @Test func `changes of what the server had sent wait for its state`() throws {
    var old = offline()
    snapshot(&old, BoardNews(board: Board(["b": 3])))
    try old.mutate(.set("b", 4))
    var hand = try updated(old.client.saved?.outbox)
    #expect(hand.client.view == nil)
    #expect(hand.client.pending.count == 1)
    #expect(throws: MutationError<BoardChange.Refusal>.nothingHeld) {
      try hand.mutate(.set("a", 1))
    }
    snapshot(&hand, BoardNews(board: Board(["b": 3])))
    #expect(values(hand) == Board(["b": 4]).values)
    #expect(hand.client.pending.map(\.change) == [.set("b", 4)])
  }

  @Test func `changes of the beginning are shown over it after an update, too`() throws {
    var old = offline()
    try old.mutate(.set("a", 2))
    var hand = try updated(old.client.saved?.outbox)
    #expect(values(hand) == Board(["a": 2, "new": 1]).values)
    try hand.mutate(.set("c", 1))
    #expect(hand.client.pending.count == 2)
  }

  /// Otherwise what the user knows to be done would disappear again.
  /// Under another name it cannot even tell.
  @Test(arguments: [7, 8] as [UInt64])
  func `a replica that lags behind what was confirmed is not taken after an update`(
    name: UInt64
  ) throws {
    var old = offline()
    snapshot(&old, BoardNews(board: Board()))
    try old.mutate(.set("b", 4))
    var outbox = try #require(old.client.saved?.outbox)
    outbox.confirm(through: MutationID(1), refusal: nil)
    var hand = try updated(outbox)
    hand.put(
      .snapshotArrived(
        hand.request!, BoardNews(board: Board(), client: ClientID(name)), finger: Spot("a", 0),
        terms: testTerms, isComplete: false))
    #expect(hand.client.model == nil)
  }
}
