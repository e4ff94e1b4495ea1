import TestSupport
import Testing

@testable import UpdateMachine

/// A model that lists what it was given, and refuses negative numbers.
struct Ledger: SyncModel, Equatable {
  struct Negative: Error {}
  var entries: [Int]

  init(entries: [Int]) { self.entries = entries }

  init(snapshot: [Int]) throws(Negative) {
    if snapshot.contains(where: { $0 < 0 }) { throw Negative() }
    entries = snapshot
  }

  mutating func apply(_ event: Int) throws(Negative) {
    if event < 0 { throw Negative() }
    entries.append(event)
  }
}

/// A batch of events that are numbered without holes. `nil` stands for a heartbeat.
struct LedgerBatch: EventBatch {
  var first: Int
  var events: [Int?]

  var count: Int { events.count }
  func event(at index: Int) -> Int? { events[index] }
}

enum LedgerSync: SyncProtocol {
  static func advance(_ finger: Spot, over batch: LedgerBatch) -> SyncAdvance<Spot> {
    if batch.first > finger.index + 1 { return .gap }
    let last = batch.first + batch.count - 1
    if last <= finger.index { return .seen }
    return .next(Spot(finger.log, last), first: finger.index + 1 - batch.first)
  }
}

typealias LedgerClient = SyncClient<Ledger, LedgerSync>

extension SyncClient where Model: Equatable {
  /// Whether both clients are equal in every respect.
  func isSame(as other: SyncClient) -> Bool {
    machine == other.machine && holding == other.holding && storage == other.storage
  }
}

@Suite struct ClientLoadingTests {
  static let saved = SavedReplica(
    model: Ledger(entries: [1]), finger: Spot("a", 7), terms: testTerms)

  @Test func `everything is unknown before the load`() {
    let client = LedgerClient(incarnation: Incarnation(1))
    #expect(client.holding == .unknown)
    #expect(client.freshness(at: .ms(0)) == Freshness(.unknown, upToDateAsOf: nil))
    #expect(client.saved == nil)
    #expect(client.description == "not loaded, stale finger none not started")
  }

  @Test func `a start waits for the saved form`() {
    var client = LedgerClient(incarnation: Incarnation(1))
    #expect(client.handle(.started(foreground: true), at: .ms(0)).texts(at: .ms(0)) == ["load"])
    #expect(client.freshness(at: .ms(0)).claim == .unknown)
    #expect(
      client.handle(.loaded(Self.saved, age: .seconds(60)), at: .ms(9)).texts(at: .ms(9)) == [
        "poll 1 from a:7, quick", "arm 1 in 10 s",
      ])
    #expect(client.model == Ledger(entries: [1]))
    #expect(client.violation() == nil)
  }

  @Test func `a client without a saved form holds nothing, and its start registers`() {
    var client = LedgerClient(incarnation: Incarnation(1))
    _ = client.handle(.started(foreground: true), at: .ms(0))
    #expect(
      client.handle(.loaded(nil, age: nil), at: .ms(1)).texts(at: .ms(1)) == [
        "register 1", "arm 1 in 60 s",
      ])
    #expect(client.holding == .nothing)
  }

  @Test func `an empty model differs from none`() {
    var client = LedgerClient(incarnation: Incarnation(1))
    var empty = Self.saved
    empty.model = Ledger(entries: [])
    _ = client.handle(.started(foreground: false), at: .ms(0))
    _ = client.handle(.loaded(empty, age: nil), at: .ms(0))
    #expect(client.holding == .model(Ledger(entries: [])))
    #expect(client.holding != .nothing)
    #expect(client.freshness(at: .ms(0)).claim == .resting)
    #expect(client.saved == empty)
  }

  @Test func `the foreground from before the load is remembered`() {
    var client = LedgerClient(incarnation: Incarnation(1))
    _ = client.handle(.started(foreground: true), at: .ms(0))
    _ = client.handle(.backgrounded, at: .ms(1))
    #expect(client.handle(.loaded(Self.saved, age: nil), at: .ms(2)).isEmpty)
    #expect(client.status == .idle)
    #expect(!client.handle(.foregrounded, at: .ms(3)).isEmpty)
  }

  /// Found by seed 23593.
  @Test func `a client whose user left before the load is in the background, stopped or not`() {
    for isStopped in [false, true] {
      var client = LedgerClient(incarnation: Incarnation(1))
      _ = client.handle(.started(foreground: true), at: .ms(0))
      _ = client.handle(.backgrounded, at: .ms(1))
      if isStopped { _ = client.handle(.stopped, at: .ms(2)) }
      _ = client.handle(.loaded(Self.saved, age: .seconds(5)), at: .ms(3))
      #expect(!client.machine.isInForeground)
      #expect(client.status == (isStopped ? .halted(.stopped) : .idle))
    }
  }

  @Test func `a stop before the load holds after it`() {
    var client = LedgerClient(incarnation: Incarnation(1))
    _ = client.handle(.started(foreground: true), at: .ms(0))
    #expect(client.handle(.stopped, at: .ms(1)).isEmpty)
    #expect(client.handle(.loaded(Self.saved, age: nil), at: .ms(2)).isEmpty)
    #expect(client.status == .halted(.stopped))
    #expect(client.model == Ledger(entries: [1]))
    #expect(
      client.handle(.started(foreground: true), at: .ms(3)).texts(at: .ms(3)) == [
        "poll 1 from a:7, quick", "arm 1 in 10 s",
      ])
  }

  @Test func `a log-out before the load erases, and releases the log that is read`() {
    var client = LedgerClient(incarnation: Incarnation(1))
    _ = client.handle(.started(foreground: true), at: .ms(0))
    #expect(client.handle(.loggedOut, at: .ms(1)).isEmpty, "the saved form is being read")
    #expect(client.holding == .nothing)
    #expect(
      client.handle(.loaded(Self.saved, age: nil), at: .ms(2)).texts(at: .ms(2)) == [
        "release a", "erase",
      ])
    #expect(client.holding == .nothing)
    #expect(client.finger == nil)
  }

  @Test func `a log-out before the load erases even after another start`() {
    var client = LedgerClient(incarnation: Incarnation(1))
    #expect(client.handle(.loggedOut, at: .ms(1)).texts(at: .ms(1)) == ["load"])
    #expect(
      client.handle(.started(foreground: true), at: .ms(2)).texts(at: .ms(2)) == [
        "register 1", "arm 1 in 60 s",
      ])
    #expect(
      client.handle(.loaded(Self.saved, age: nil), at: .ms(3)).texts(at: .ms(3)) == [
        "release a", "erase",
      ])
    #expect(client.holding == .nothing)
  }

  /// Found by seed 2429 of all worlds. The logs of a protocol may all have the same name.
  @Test func `a log that is followed again is not released by a late load`() {
    var client = LedgerClient(incarnation: Incarnation(1))
    _ = client.handle(.loggedOut, at: .ms(1))
    _ = client.handle(.started(foreground: true), at: .ms(2))
    _ = client.handle(
      .snapshotArrived(.of(1), [1], finger: Spot("a", 9), terms: testTerms), at: .ms(50))
    #expect(client.finger == Spot("a", 9))
    let texts = client.handle(.loaded(Self.saved, age: nil), at: .ms(60)).texts(at: .ms(60))
    #expect(!texts.contains("release a"))
    #expect(client.finger == Spot("a", 9))
  }

  @Test func `a saved form that is read twice changes nothing`() {
    var client = LedgerClient(incarnation: Incarnation(1))
    _ = client.handle(.started(foreground: true), at: .ms(0))
    _ = client.handle(.loaded(Self.saved, age: nil), at: .ms(0))
    _ = client.handle(.stopped, at: .ms(1))
    let before = client
    #expect(client.handle(.loaded(Self.saved, age: nil), at: .ms(2)).isEmpty)
    #expect(client.isSame(as: before))
  }

  @Test func `unrequested answers of the store are ignored`() {
    var client = LedgerClient(incarnation: Incarnation(1))
    let before = client
    for answer: LedgerClient.Input in [
      .loaded(Self.saved, age: nil), .loadFailed(.failed), .erased(succeeded: false),
      .written(WriteID(1)),
      .rowsFailed(RequestID(incarnation: Incarnation(1), part: .storage, number: 1), .failed),
    ] {
      #expect(client.handle(answer, at: .ms(0)).isEmpty)
      #expect(client.isSame(as: before))
    }
  }
}

@Suite struct ClientAnswerTests {
  /// A client at a:7 that holds [1], with a waiting poll out.
  func polling() -> LedgerClient {
    var client = LedgerClient(incarnation: Incarnation(1))
    _ = client.handle(.started(foreground: true), at: .ms(0))
    _ = client.handle(.loaded(ClientLoadingTests.saved, age: .seconds(60)), at: .ms(0))
    _ = client.handle(.batchArrived(.of(1), LedgerBatch(first: 8, events: [])), at: .ms(50))
    #expect(client.status.outstanding?.waits == true)
    return client
  }

  @Test func `new events move model and finger together`() {
    var client = polling()
    let effects = client.handle(
      .batchArrived(.of(2), LedgerBatch(first: 8, events: [2, nil, 3])), at: .ms(20_000))
    #expect(effects.texts(at: .ms(20_000)) == ["disarm 2", "save 1"])
    #expect(client.model == Ledger(entries: [1, 2, 3]))
    #expect(client.finger == Spot("a", 10))
    #expect(client.saved?.finger == Spot("a", 10))
  }

  @Test func `only the new events of a repeated batch are applied`() {
    var client = polling()
    _ = client.handle(
      .batchArrived(.of(2), LedgerBatch(first: 6, events: [90, 91, 2])), at: .ms(20_000))
    #expect(client.model == Ledger(entries: [1, 2]))
    #expect(client.finger == Spot("a", 8))
  }

  @Test func `old events move neither model nor finger`() {
    var client = polling()
    let effects = client.handle(
      .batchArrived(.of(2), LedgerBatch(first: 6, events: [90, 91])), at: .ms(20_000))
    #expect(effects.texts(at: .ms(20_000)) == ["disarm 2", "poll 3 from a:7", "arm 3 in 100 s"])
    #expect(client.model == Ledger(entries: [1]))
  }

  @Test func `a gap is malformed, and the model stays readable`() {
    var client = polling()
    let effects = client.handle(
      .batchArrived(.of(2), LedgerBatch(first: 9, events: [3])), at: .ms(20_000))
    #expect(
      effects.texts(at: .ms(20_000)) == [
        "disarm 2", "report malformed", "release a", "arm 3 in (0, 1 s]",
      ])
    #expect(client.model == Ledger(entries: [1]))
    #expect(client.finger == nil)
    #expect(client.saved == nil)
  }

  @Test func `an event that the model refuses undoes its whole batch`() {
    var client = polling()
    let effects = client.handle(
      .batchArrived(.of(2), LedgerBatch(first: 8, events: [2, -1, 3])), at: .ms(20_000))
    #expect(
      effects.texts(at: .ms(20_000)) == [
        "disarm 2", "report modelRefused", "release a", "arm 3 in (0, 1 s]",
      ])
    #expect(client.model == Ledger(entries: [1]))
    #expect(client.finger == nil)
  }

  @Test func `a late batch never reaches the model`() {
    var client = polling()
    let before = client
    for id in [RequestID.of(1), .of(3), .of(2, incarnation: 9)] {
      #expect(
        client.handle(.batchArrived(id, LedgerBatch(first: 8, events: [2])), at: .ms(60)).isEmpty)
    }
    #expect(client.isSame(as: before))
  }

  @Test func `a late snapshot never reaches the model, and its log is released`() {
    var client = polling()
    let before = client
    let effects = client.handle(
      .snapshotArrived(.of(1), [5], finger: Spot("b", 0), terms: testTerms), at: .ms(60))
    #expect(effects.texts(at: .ms(60)) == ["release b"])
    #expect(client.isSame(as: before))
  }

  @Test func `a snapshot replaces the model in one step`() {
    var client = polling()
    _ = client.handle(.failed(.of(2), .expired), at: .ms(20_000))
    #expect(client.model == Ledger(entries: [1]))
    _ = client.handle(.fired(TimerID(3)), at: .ms(25_000))
    let effects = client.handle(
      .snapshotArrived(.of(3), [5], finger: Spot("b", 0), terms: testTerms), at: .ms(25_050))
    #expect(effects.texts(at: .ms(25_050)) == ["disarm 4", "save 1"])
    #expect(client.model == Ledger(entries: [5]))
    #expect(client.finger == Spot("b", 0))
  }

  @Test func `a refused snapshot leaves the old model, and its log is released`() {
    var client = polling()
    _ = client.handle(.failed(.of(2), .expired), at: .ms(20_000))
    _ = client.handle(.fired(TimerID(3)), at: .ms(25_000))
    let effects = client.handle(
      .snapshotArrived(.of(3), [-5], finger: Spot("b", 0), terms: testTerms), at: .ms(25_050))
    #expect(
      effects.texts(at: .ms(25_050)) == [
        "disarm 4", "report modelRefused", "release b", "arm 5 in (0, 1 s]",
      ])
    #expect(client.model == Ledger(entries: [1]))
    #expect(client.finger == nil)
    #expect(client.violation() == nil)
  }

  @Test func `a batch in answer to a register is malformed`() {
    var client = LedgerClient(incarnation: Incarnation(1))
    _ = client.handle(.started(foreground: true), at: .ms(0))
    _ = client.handle(.loaded(nil, age: nil), at: .ms(0))
    let effects = client.handle(
      .batchArrived(.of(1), LedgerBatch(first: 0, events: [1])), at: .ms(50))
    #expect(effects.texts(at: .ms(50)).contains("report malformed"))
    #expect(client.holding == .nothing)
  }

  @Test func `a stop keeps the model, a log-out does not`() {
    var client = polling()
    _ = client.handle(.stopped, at: .ms(60))
    #expect(client.model == Ledger(entries: [1]))
    #expect(client.handle(.loggedOut, at: .ms(70)).texts(at: .ms(70)) == ["release a", "erase"])
    #expect(client.holding == .nothing)
    #expect(client.saved == nil)
  }
}

/// Tests the effects of one input as a host gets them.
@Suite struct ClientEffectTests {
  private static let saved = ClientLoadingTests.saved

  @Test func `effects of all parts come in one order`() throws {
    var hand = ClientHand<BoardModel, BoardSync>()
    let news = BoardNews(board: Board())
    hand.put(.started(foreground: true))
    hand.put(.snapshotArrived(hand.request!, news, finger: Spot("a", 0), terms: testTerms))
    try hand.mutate(.set("a", 1))
    hand.store = nil
    // The machine's effects come first, then the outbox's. Both have a request out, and a timer.
    #expect(
      hand.put(.stopped) == ["cancel 2", "cancel outbox 1", "disarm 2", "disarm outbox 1"])
    #expect(
      hand.put(.started(foreground: true)) == [
        "poll 3 from a:0, quick", "push 2: 1 set", "arm 3 in 10 s", "arm outbox 2 in 30 s",
      ])
    #expect(
      hand.put(.loggedOut) == [
        "cancel 3", "cancel outbox 2", "disarm 3", "disarm outbox 2", "release a", "erase",
      ])
  }

  @Test func `effects record the machine's inputs for a checker`() {
    var hand = ClientHand<Ledger, LedgerSync>(store: nil)
    _ = hand.put(.started(foreground: true))
    _ = hand.put(.stopped)
    #expect(hand.put(.loaded(Self.saved, age: .seconds(60))) == [])
    #expect(
      hand.heard == [
        .restored(Spot("a", 7), testTerms, age: .seconds(60)), .input(.foregrounded),
        .input(.stopped),
      ])
    _ = hand.put(.started(foreground: true))
    #expect(hand.heard == [.input(.started(foreground: true))])
    _ = hand.put(.batchArrived(.of(1), LedgerBatch(first: 8, events: [2])))
    #expect(hand.heard == [.input(.polled(.of(1), movedTo: Spot("a", 8)))])
    _ = hand.put(.written(WriteID(1)))
    #expect(hand.heard == [.input(.written(WriteID(1)))])
    _ = hand.put(.batchArrived(.of(2), LedgerBatch(first: 9, events: [-1])))
    #expect(hand.heard == [.input(.failed(.of(2), .modelRefused))])
    _ = hand.put(.fired(TimerID(part: .storage, 1)))
    #expect(hand.heard == [])
  }

  @Test func `an answered push is an input of the machine if the client pushes first`() throws {
    var hand = ClientHand<BoardModel, BoardSync>()
    var terms = testTerms
    terms.cadence = .every(.seconds(60))
    hand.put(.started(foreground: true))
    let news = BoardNews(board: Board())
    hand.put(.snapshotArrived(hand.request!, news, finger: Spot("a", 0), terms: terms))
    try hand.mutate(.set("a", 1))
    #expect(hand.request == nil)
    hand.put(.pushAnswered(hand.pushes[0].id, .accepted))
    #expect(hand.heard == [.input(.networkChanged)])
    #expect(hand.request != nil)
  }

  @Test func `effects name what changed`() throws {
    var hand = ClientHand<BoardModel, BoardSync>(store: nil)
    _ = hand.put(.started(foreground: true))
    #expect(hand.changes == [])
    _ = hand.put(.loaded(nil, age: nil))
    #expect(hand.changes == [.model, .status])
    let news = BoardNews(board: Board())
    _ = hand.put(.snapshotArrived(hand.request!, news, finger: Spot("a", 0), terms: testTerms))
    #expect(hand.changes == [.model, .view, .outbox, .status])
    _ = hand.put(.written(WriteID(1)))
    #expect(hand.changes.isSuperset(of: .status))
    _ = try hand.mutate(.set("a", 1))
    #expect(hand.changes == [.view, .outbox])
    _ = hand.put(.written(WriteID(2)))
    #expect(hand.changes == .outbox)
    _ = hand.put(.fired(TimerID(99)))
    #expect(hand.changes == [])
    _ = hand.put(.mutation(.discarded(MutationTicket(99))))
    #expect(hand.changes == [])
    _ = hand.put(.loggedOut)
    #expect(hand.changes == [.model, .view, .outbox, .status])
  }

  @Test func `a refused change changes nothing`() throws {
    var hand = ClientHand<BoardModel, BoardSync>(store: nil)
    #expect(throws: MutationError<BoardChange.Refusal>.self) { try hand.mutate(.set("a", 1)) }
    _ = hand.put(.started(foreground: true))
    _ = hand.put(.loaded(nil, age: nil))
    #expect(throws: MutationError<BoardChange.Refusal>.self) { try hand.mutate(.set("a", 1)) }
    let news = BoardNews(board: Board())
    _ = hand.put(.snapshotArrived(hand.request!, news, finger: Spot("a", 0), terms: testTerms))
    let before = hand.client.description
    #expect(throws: MutationError<BoardChange.Refusal>.self) { try hand.mutate(.half) }
    #expect(hand.client.description == before)
  }
}

extension ClientHand {
  /// What the machine heard of an input.
  var heard: [MachineHeard<Sync.Place>] {
    var heard: [MachineHeard<Sync.Place>] = []
    func note(_ one: MachineHeard<Sync.Place>) { heard.append(one) }
    effects?.heard.each(note)
    return heard
  }
  var changes: ClientChanges { effects?.changes ?? [] }
}
