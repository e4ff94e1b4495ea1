import Testing
import UpdateMachine

/// A model that is the list of what it was given, and refuses negative numbers.
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

/// Events numbered without holes; `nil` is a heartbeat.
struct LedgerBatch: EventBatch {
  var first: Int
  var events: [Int?]

  var count: Int { events.count }
  func event(at index: Int) -> Int? { events[index] }
}

enum LedgerSync: SyncProtocol {
  static func advance(_ finger: Spot, over batch: LedgerBatch) -> Advance<Spot> {
    if batch.first > finger.index + 1 { return .gap }
    let last = batch.first + batch.count - 1
    if last <= finger.index { return .seen }
    return .next(Spot(finger.log, last), first: finger.index + 1 - batch.first)
  }
}

typealias LedgerReplica = Replica<Ledger, LedgerSync>

@Suite struct ReplicaLoadingTests {
  static let saved = SavedReplica(
    model: Ledger(entries: [1]), finger: Spot("a", 7), terms: testTerms)

  @Test func `before it is loaded everything is unknown`() {
    let replica = LedgerReplica(life: Life(1))
    #expect(replica.holding == .unknown)
    #expect(replica.freshness(at: .ms(0)) == Freshness(.unknown, levelAsOf: nil))
    #expect(replica.saved == nil)
    #expect(replica.description == "not loaded, stale finger none not started")
  }

  @Test func `a start waits for the saved form`() {
    var replica = LedgerReplica(life: Life(1))
    #expect(replica.handle(.started(foreground: true), at: .ms(0)).isEmpty)
    #expect(replica.freshness(at: .ms(0)).claim == .unknown)
    #expect(
      replica.handle(.loaded(Self.saved, age: .seconds(60)), at: .ms(9)).texts(at: .ms(9)) == [
        "poll 1 from a:7, quick", "arm 1 in 10 s",
      ])
    #expect(replica.model == Ledger(entries: [1]))
    #expect(replica.violation() == nil)
  }

  @Test func `without a saved form there is nothing, and a start registers`() {
    var replica = LedgerReplica(life: Life(1))
    #expect(replica.handle(.loaded(nil, age: nil), at: .ms(0)).isEmpty)
    #expect(replica.holding == .nothing)
    #expect(
      replica.handle(.started(foreground: true), at: .ms(1)).texts(at: .ms(1)) == [
        "register 1", "arm 1 in 60 s",
      ])
  }

  @Test func `an empty model is not nothing`() {
    var replica = LedgerReplica(life: Life(1))
    var empty = Self.saved
    empty.model = Ledger(entries: [])
    _ = replica.handle(.loaded(empty, age: nil), at: .ms(0))
    #expect(replica.holding == .model(Ledger(entries: [])))
    #expect(replica.holding != .nothing)
    #expect(replica.freshness(at: .ms(0)).claim == .resting)
    #expect(replica.saved == empty)
  }

  @Test func `the foreground is remembered from before`() {
    var replica = LedgerReplica(life: Life(1))
    _ = replica.handle(.started(foreground: true), at: .ms(0))
    _ = replica.handle(.backgrounded, at: .ms(1))
    #expect(replica.handle(.loaded(Self.saved, age: nil), at: .ms(2)).isEmpty)
    #expect(replica.status == .idle)
    #expect(!replica.handle(.foregrounded, at: .ms(3)).isEmpty)
  }

  /// Found by seed 23593.
  @Test func `a user who left before it is loaded has left after, stopped or not`() {
    for isStopped in [false, true] {
      var replica = LedgerReplica(life: Life(1))
      _ = replica.handle(.backgrounded, at: .ms(1))
      if isStopped { _ = replica.handle(.stopped, at: .ms(2)) }
      _ = replica.handle(.loaded(Self.saved, age: .seconds(5)), at: .ms(3))
      #expect(!replica.machine.isInForeground)
      #expect(replica.status == (isStopped ? .halted(.stopped) : .idle))
    }
  }

  @Test func `stopped before it is loaded means stopped after`() {
    var replica = LedgerReplica(life: Life(1))
    _ = replica.handle(.started(foreground: true), at: .ms(0))
    #expect(replica.handle(.stopped, at: .ms(1)).isEmpty)
    #expect(replica.handle(.loaded(Self.saved, age: nil), at: .ms(2)).isEmpty)
    #expect(replica.status == .halted(.stopped))
    #expect(replica.model == Ledger(entries: [1]))
    #expect(
      replica.handle(.started(foreground: true), at: .ms(3)).texts(at: .ms(3)) == [
        "poll 1 from a:7, quick", "arm 1 in 10 s",
      ])
  }

  @Test func `logged out before it is loaded erases, and lets go of the log that is read`() {
    var replica = LedgerReplica(life: Life(1))
    _ = replica.handle(.started(foreground: true), at: .ms(0))
    #expect(replica.handle(.loggedOut, at: .ms(1)).texts(at: .ms(1)) == ["erase"])
    #expect(replica.holding == .nothing)
    #expect(
      replica.handle(.loaded(Self.saved, age: nil), at: .ms(2)).texts(at: .ms(2)) == ["release a"])
    #expect(replica.holding == .nothing)
    #expect(replica.finger == nil)
  }

  @Test func `so it does if it was started anew meanwhile`() {
    var replica = LedgerReplica(life: Life(1))
    _ = replica.handle(.loggedOut, at: .ms(1))
    #expect(!replica.handle(.started(foreground: true), at: .ms(2)).isEmpty)
    #expect(
      replica.handle(.loaded(Self.saved, age: nil), at: .ms(3)).texts(at: .ms(3)) == ["release a"])
    #expect(replica.holding == .nothing)
  }

  @Test func `a saved form that is read twice changes nothing`() {
    var replica = LedgerReplica(life: Life(1))
    _ = replica.handle(.loaded(Self.saved, age: nil), at: .ms(0))
    _ = replica.handle(.stopped, at: .ms(1))
    let before = replica
    #expect(replica.handle(.loaded(Self.saved, age: nil), at: .ms(2)).isEmpty)
    #expect(replica == before)
  }
}

@Suite struct ReplicaAnswerTests {
  /// A replica at a:7 that holds [1], with a waiting poll out.
  func polling() -> LedgerReplica {
    var replica = LedgerReplica(life: Life(1))
    _ = replica.handle(.loaded(ReplicaLoadingTests.saved, age: .seconds(60)), at: .ms(0))
    _ = replica.handle(.started(foreground: true), at: .ms(0))
    _ = replica.handle(.batchArrived(.of(1), LedgerBatch(first: 8, events: [])), at: .ms(50))
    #expect(replica.status.outstanding?.waits == true)
    return replica
  }

  @Test func `new events move model and finger together`() {
    var replica = polling()
    let effects = replica.handle(
      .batchArrived(.of(2), LedgerBatch(first: 8, events: [2, nil, 3])), at: .ms(20_000))
    #expect(effects.texts(at: .ms(20_000)) == ["disarm 2", "persist 1"])
    #expect(replica.model == Ledger(entries: [1, 2, 3]))
    #expect(replica.finger == Spot("a", 10))
    #expect(replica.saved?.finger == Spot("a", 10))
  }

  @Test func `of events that were given before only the new ones are applied`() {
    var replica = polling()
    _ = replica.handle(
      .batchArrived(.of(2), LedgerBatch(first: 6, events: [90, 91, 2])), at: .ms(20_000))
    #expect(replica.model == Ledger(entries: [1, 2]))
    #expect(replica.finger == Spot("a", 8))
  }

  @Test func `old events move nothing`() {
    var replica = polling()
    let effects = replica.handle(
      .batchArrived(.of(2), LedgerBatch(first: 6, events: [90, 91])), at: .ms(20_000))
    #expect(effects.texts(at: .ms(20_000)) == ["disarm 2", "poll 3 from a:7", "arm 3 in 100 s"])
    #expect(replica.model == Ledger(entries: [1]))
  }

  @Test func `a gap is malformed, and the model stays readable`() {
    var replica = polling()
    let effects = replica.handle(
      .batchArrived(.of(2), LedgerBatch(first: 9, events: [3])), at: .ms(20_000))
    #expect(
      effects.texts(at: .ms(20_000)) == [
        "disarm 2", "report malformed", "release a", "arm 3 in (0, 1 s]",
      ])
    #expect(replica.model == Ledger(entries: [1]))
    #expect(replica.finger == nil)
    #expect(replica.saved == nil)
  }

  @Test func `an event that the model refuses undoes its whole batch`() {
    var replica = polling()
    let effects = replica.handle(
      .batchArrived(.of(2), LedgerBatch(first: 8, events: [2, -1, 3])), at: .ms(20_000))
    #expect(
      effects.texts(at: .ms(20_000)) == [
        "disarm 2", "report modelRefused", "release a", "arm 3 in (0, 1 s]",
      ])
    #expect(replica.model == Ledger(entries: [1]))
    #expect(replica.finger == nil)
  }

  @Test func `late batches never reach the model`() {
    var replica = polling()
    let before = replica
    for id in [RequestID.of(1), .of(3), .of(2, life: 9)] {
      #expect(
        replica.handle(.batchArrived(id, LedgerBatch(first: 8, events: [2])), at: .ms(60)).isEmpty)
    }
    #expect(replica == before)
  }

  @Test func `a late snapshot never reaches the model, and its log is let go`() {
    var replica = polling()
    let before = replica
    let effects = replica.handle(
      .snapshotArrived(.of(1), [5], finger: Spot("b", 0), terms: testTerms), at: .ms(60))
    #expect(effects.texts(at: .ms(60)) == ["release b"])
    #expect(replica == before)
  }

  @Test func `a snapshot replaces the model in one step`() {
    var replica = polling()
    _ = replica.handle(.failed(.of(2), .expired), at: .ms(20_000))
    #expect(replica.model == Ledger(entries: [1]))
    _ = replica.handle(.fired(TimerID(3)), at: .ms(25_000))
    let effects = replica.handle(
      .snapshotArrived(.of(3), [5], finger: Spot("b", 0), terms: testTerms), at: .ms(25_050))
    #expect(effects.texts(at: .ms(25_050)) == ["disarm 4", "persist 1"])
    #expect(replica.model == Ledger(entries: [5]))
    #expect(replica.finger == Spot("b", 0))
  }

  @Test func `a snapshot that the model refuses leaves the old model and lets its log go`() {
    var replica = polling()
    _ = replica.handle(.failed(.of(2), .expired), at: .ms(20_000))
    _ = replica.handle(.fired(TimerID(3)), at: .ms(25_000))
    let effects = replica.handle(
      .snapshotArrived(.of(3), [-5], finger: Spot("b", 0), terms: testTerms), at: .ms(25_050))
    #expect(
      effects.texts(at: .ms(25_050)) == [
        "disarm 4", "report modelRefused", "release b", "arm 5 in (0, 1 s]",
      ])
    #expect(replica.model == Ledger(entries: [1]))
    #expect(replica.finger == nil)
    #expect(replica.violation() == nil)
  }

  @Test func `a batch in answer to a register is malformed`() {
    var replica = LedgerReplica(life: Life(1))
    _ = replica.handle(.loaded(nil, age: nil), at: .ms(0))
    _ = replica.handle(.started(foreground: true), at: .ms(0))
    let effects = replica.handle(
      .batchArrived(.of(1), LedgerBatch(first: 0, events: [1])), at: .ms(50))
    #expect(effects.texts(at: .ms(50)).contains("report malformed"))
    #expect(replica.holding == .nothing)
  }

  @Test func `stopped keeps the model, logged out does not`() {
    var replica = polling()
    _ = replica.handle(.stopped, at: .ms(60))
    #expect(replica.model == Ledger(entries: [1]))
    #expect(replica.handle(.loggedOut, at: .ms(70)).texts(at: .ms(70)) == ["release a", "erase"])
    #expect(replica.holding == .nothing)
    #expect(replica.saved == nil)
  }
}
