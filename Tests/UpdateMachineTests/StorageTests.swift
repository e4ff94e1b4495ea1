import TestSupport
import Testing

@testable import UpdateMachine

/// Tests when the store is asked, and for what: one operation at a time.
@Suite struct StorageTests {
  private typealias Hand = ClientHand<BoardModel, BoardSync>

  /// A client at a:0, up to date and saved, with a waiting poll out. From here on the test acts as
  /// the store.
  private static func following() -> Hand {
    var hand = Hand()
    hand.put(.started(foreground: true))
    hand.put(
      .snapshotArrived(
        hand.request!, BoardNews(board: Board()), finger: Spot("a", 0), terms: testTerms))
    #expect(hand.client.machine.status.outstanding?.waits == true)
    #expect(hand.write == WriteID(1))
    hand.store = nil
    return hand
  }

  private static func outboxIsDurable(_ hand: Hand) -> Bool {
    guard let outbox = hand.client.local?.outbox else { return false }
    return outbox.storedVersion == outbox.currentVersion
  }

  // MARK: For the outbox

  @Test func `a requested save begins at once, and only once`() throws {
    var hand = Self.following()
    #expect(try hand.mutate(.set("a", 1)) == ["save 2"])
    #expect(!Self.outboxIsDurable(hand))
    #expect(hand.put(.written(WriteID(2))).contains { $0.hasPrefix("push") })
    #expect(Self.outboxIsDurable(hand))
    #expect(hand.put(.written(WriteID(2))) == [], "a second copy is absorbed")
    #expect(hand.put(.writeFailed(WriteID(2))) == [])
    #expect(hand.put(.fired(TimerID(part: .storage, 1))) == [])
  }

  @Test func `saves run one at a time, and later requests share the next one`() throws {
    var hand = Self.following()
    #expect(try hand.mutate(.set("a", 1)) == ["save 2"])
    #expect(try hand.mutate(.set("b", 2)) == [])
    let batch = BoardBatch(first: 1, events: [BoardNews(board: Board(["c": 3]))])
    let texts = hand.put(.batchArrived(hand.request!, batch))
    #expect(texts == ["disarm 2"], "the machine waits for the write after this one")
    let next = hand.put(.written(WriteID(2)))
    #expect(next.filter { $0.hasPrefix("save") } == ["save 3"])
    #expect(hand.client.status == .live(.writing))
    #expect(hand.client.saved?.finger == Spot("a", 1))
    #expect(hand.client.saved?.outbox?.count == 2)
    #expect(hand.put(.written(WriteID(3))).contains { $0.hasPrefix("poll") })
    #expect(Self.outboxIsDurable(hand))
  }

  @Test func `a failed save is repeated with growing waits until it is durable`() throws {
    var hand = Self.following()
    #expect(try hand.mutate(.set("a", 1)) == ["save 2"])
    #expect(
      hand.put(.writeFailed(WriteID(2))) == ["report store", "arm storage 1 in (0, 0.1 s]"])
    #expect(try hand.mutate(.set("b", 2)) == [], "the wait also holds for this change")
    #expect(hand.put(.fired(TimerID(part: .storage, 9))) == [])
    #expect(hand.put(.fired(TimerID(part: .storage, 1))) == ["save 3"])
    #expect(
      hand.put(.writeFailed(WriteID(3))) == ["report store", "arm storage 2 in (0, 0.2 s]"])
    #expect(hand.put(.fired(TimerID(part: .storage, 1))) == [], "late")
    for _ in 0..<30 {
      #expect(hand.fire(.storage).count == 1)
      _ = hand.put(.writeFailed(hand.write!))
    }
    #expect(hand.fire(.storage).count == 1)
    #expect(hand.put(.writeFailed(hand.write!)).last?.hasSuffix("in (0, 10 s]") == true)
    #expect(hand.fire(.storage).count == 1)
    _ = hand.put(.written(hand.write!))
    #expect(Self.outboxIsDurable(hand))
    #expect(hand.timers[.storage] == nil)
    // The wait is short again.
    _ = try hand.mutate(.set("c", 3))
    #expect(hand.put(.writeFailed(hand.write!)).last?.hasSuffix("in (0, 0.1 s]") == true)
  }

  @Test func `a successful save for the machine ends the wait`() throws {
    var hand = Self.following()
    _ = try hand.mutate(.set("a", 1))
    _ = hand.put(.writeFailed(WriteID(2)))
    let batch = BoardBatch(first: 1, events: [BoardNews(board: Board(["c": 3]))])
    #expect(hand.put(.batchArrived(hand.request!, batch)).last == "save 3")
    // What came after this save began goes into the next save, which begins at once.
    #expect(try hand.mutate(.set("b", 2)) == [])
    let texts = hand.put(.written(WriteID(3)))
    #expect(texts.contains("disarm storage 1"))
    #expect(texts.contains("save 4"))
    #expect(hand.put(.written(WriteID(4))).allSatisfy { !$0.hasPrefix("save") })
    #expect(Self.outboxIsDurable(hand))
  }

  @Test func `a failed save for the machine is reported once, and repeated at its request`() {
    var hand = Self.following()
    let batch = BoardBatch(first: 1, events: [BoardNews(board: Board(["c": 3]))])
    #expect(hand.put(.batchArrived(hand.request!, batch)) == ["disarm 2", "save 2"])
    let texts = hand.put(.writeFailed(WriteID(2)))
    #expect(texts.filter { $0.hasPrefix("report") } == ["report store"])
    #expect(texts.allSatisfy { !$0.hasPrefix("arm storage") })
    #expect(hand.timers[.storage] == nil)
    #expect(hand.client.saved?.finger == Spot("a", 1), "the finger is held all the same")
    #expect(hand.fire(.machine).contains("save 3"))
  }

  @Test func `each save request before the start tries once, without a timer`() throws {
    var hand = Self.following()
    _ = hand.put(.stopped)
    #expect(try hand.mutate(.set("a", 1)) == ["save 2"])
    #expect(hand.put(.writeFailed(WriteID(2))) == ["report store"])
    #expect(try hand.mutate(.set("b", 1)) == ["save 3"])
    #expect(hand.put(.writeFailed(WriteID(3))) == ["report store"])
    #expect(hand.put(.saveRequested) == ["save 4"])
    #expect(hand.put(.writeFailed(WriteID(4))) == ["report store"])
    #expect(hand.put(.started(foreground: true)).contains("save 5"))
    #expect(hand.put(.writeFailed(WriteID(5))).last == "arm storage 1 in (0, 0.1 s]")
    #expect(hand.put(.stopped).contains("disarm storage 1"))
    #expect(hand.put(.fired(TimerID(part: .storage, 1))) == [])
    #expect(hand.put(.started(foreground: true)).contains("save 6"))
    _ = hand.put(.written(WriteID(6)))
    #expect(Self.outboxIsDurable(hand))
  }

  // MARK: For the machine

  /// The machine's write is out when the user logs out. Nothing is left to save, and the machine
  /// must not wait for ever.
  @Test func `a write with nothing to save is answered at once`() throws {
    var hand = ClientHand<Ledger, LedgerSync>(store: nil)
    _ = hand.put(.started(foreground: true))
    _ = hand.put(.loaded(nil, age: nil))
    _ = hand.put(
      .snapshotArrived(hand.request!, [1], finger: Spot("a", 0), terms: testTerms))
    #expect(hand.write == WriteID(1))
    #expect(hand.client.machine.status == .live(.writing))
    // The log-out comes while the write is out. Afterwards the machine awaits no write.
    #expect(hand.put(.loggedOut) == ["release a"])
    #expect(hand.put(.written(WriteID(1))) == ["erase"])
    #expect(hand.client.saved == nil)
    #expect(hand.put(.erased(succeeded: true)) == [])
    #expect(hand.client.machine.writing == nil)
  }

  @Test func `a client without a store requests no operation`() throws {
    var settings = ClientSettings()
    settings.hasStore = false
    var hand = Hand(settings: settings, store: nil)
    #expect(hand.put(.started(foreground: true)) == ["register 1", "arm 1 in 60 s"])
    _ = hand.put(
      .snapshotArrived(
        hand.request!, BoardNews(board: Board()), finger: Spot("a", 0), terms: testTerms))
    #expect(try hand.mutate(.set("a", 1)).contains { $0.hasPrefix("push") })
    #expect(hand.put(.loggedOut).allSatisfy { $0 != "erase" })
    #expect(hand.write == nil)
  }

  @Test func `several batches share one save with acknowledgement before saving`() {
    var settings = ClientSettings()
    settings.acknowledges = .beforeSaving
    var hand = ClientHand<Ledger, LedgerSync>(settings: settings, store: nil)
    _ = hand.put(.started(foreground: true))
    _ = hand.put(.loaded(nil, age: nil))
    let texts = hand.put(
      .snapshotArrived(hand.request!, [1], finger: Spot("a", 0), terms: testTerms))
    #expect(texts.contains("save 1") && texts.contains("poll 2 from a:0"))
    for index in 1...3 {
      let texts = hand.put(
        .batchArrived(hand.request!, LedgerBatch(first: index, events: [index])),
        after: .seconds(1))
      #expect(texts.allSatisfy { !$0.hasPrefix("save") }, "the first save is out")
    }
    #expect(hand.put(.written(WriteID(1))) == ["save 2"])
    #expect(hand.client.saved?.model == Ledger(entries: [1, 1, 2, 3]))
    #expect(hand.put(.writeFailed(WriteID(2))) == ["report store"])
    let next = hand.put(
      .batchArrived(hand.request!, LedgerBatch(first: 4, events: [4])), after: .seconds(1))
    #expect(next.contains("save 3"), "a failed save is repeated with the next batch")
    #expect(hand.put(.written(WriteID(3))) == [])
  }

  // MARK: Reading

  @Test func `a form that may contain changes is read again with growing waits`() {
    var hand = Hand(store: nil)
    #expect(hand.put(.started(foreground: true)) == ["load"])
    #expect(hand.put(.loadFailed(.failed)) == ["report store", "arm storage 1 in (0, 0.1 s]"])
    #expect(!hand.client.isLoaded)
    #expect(hand.fire(.storage) == ["load"])
    #expect(hand.put(.loadFailed(.failed)) == ["report store", "arm storage 2 in (0, 0.2 s]"])
    #expect(hand.put(.networkChanged) == [])
    #expect(hand.fire(.storage) == ["load"])
    #expect(hand.put(.loaded(nil, age: nil)) == ["register 1", "arm 1 in 60 s"])
    #expect(hand.client.holding == .nothing)
  }

  @Test func `a load that waits during a stop is repeated at the next start`() {
    var hand = Hand(store: nil)
    _ = hand.put(.started(foreground: true))
    _ = hand.put(.loadFailed(.failed))
    #expect(hand.put(.stopped) == ["disarm storage 1"])
    #expect(hand.put(.fired(TimerID(part: .storage, 1))) == [])
    #expect(hand.put(.started(foreground: true)) == ["load"])
  }

  @Test func `a load that was cut short is repeated at the next start, without a report`() {
    var hand = Hand(store: nil)
    _ = hand.put(.started(foreground: true))
    _ = hand.put(.stopped)
    #expect(hand.put(.loadFailed(.cutShort)) == [])
    #expect(!hand.client.isLoaded)
    #expect(hand.put(.started(foreground: true)) == ["load"])
  }

  @Test func `a load that was cut short after the next start is repeated at once`() {
    var hand = Hand(store: nil)
    _ = hand.put(.started(foreground: true))
    _ = hand.put(.stopped)
    #expect(hand.put(.started(foreground: true)) == [], "the first read is out")
    #expect(hand.put(.loadFailed(.cutShort)) == ["load"])
    #expect(hand.put(.loaded(nil, age: nil)) == ["register 1", "arm 1 in 60 s"])
  }

  @Test(arguments: [StoreFailure.unreadable, .failed])
  func `an unreadable form counts as nothing saved`(failure: StoreFailure) {
    // This holds if the form can have no changes, or if nobody can read them.
    var ledger = ClientHand<Ledger, LedgerSync>(store: nil)
    _ = ledger.put(.started(foreground: true))
    #expect(
      ledger.put(.loadFailed(failure)) == ["report store", "register 1", "arm 1 in 60 s"])
    var board = Hand(store: nil)
    _ = board.put(.started(foreground: true))
    guard failure == .unreadable else { return }
    #expect(
      board.put(.loadFailed(failure)) == ["report store", "register 1", "arm 1 in 60 s"])
  }

  // MARK: Erasing

  @Test func `an erase follows the write under way, and nothing older is saved after it`() throws {
    var hand = Self.following()
    _ = try hand.mutate(.set("a", 1))
    _ = try hand.mutate(.set("b", 2))
    #expect(hand.put(.loggedOut) == ["cancel 2", "disarm 2", "release a"])
    #expect(hand.client.saved == nil)
    #expect(hand.put(.written(WriteID(2))) == ["erase"])
    #expect(hand.put(.erased(succeeded: true)) == [])
  }

  @Test func `a failed erase is reported`() {
    var hand = Self.following()
    #expect(hand.put(.loggedOut).last == "erase")
    #expect(hand.put(.erased(succeeded: false)) == ["report store"])
    #expect(hand.put(.loggedOut) == ["erase"], "the app may try again")
  }

  @Test func `a log-out before the load reads first, then releases and erases`() {
    let saved = SavedReplica(
      model: Ledger(entries: [1]), finger: Spot("a", 7), terms: testTerms)
    var hand = ClientHand<Ledger, LedgerSync>(store: nil)
    #expect(hand.put(.loggedOut) == ["load"])
    #expect(hand.client.holding == .nothing)
    #expect(hand.put(.loaded(saved, age: nil)) == ["release a", "erase"])
    // An unreadable form names no log.
    hand = ClientHand(store: nil)
    _ = hand.put(.loggedOut)
    #expect(hand.put(.loadFailed(.failed)) == ["report store", "erase"])
  }

  /// If an unreadable form may contain changes, it is read again after a wait. A log-out once
  /// disarmed the timer but left the wait in place. Nothing was erased before the next start, which
  /// then showed everything.
  @Test func `a log-out ends the wait of a failed load`() {
    var hand = Hand(store: nil)
    #expect(hand.put(.started(foreground: true)) == ["load"])
    #expect(hand.put(.loadFailed(.failed)).contains { $0.hasPrefix("arm storage") })
    #expect(hand.put(.loggedOut).last == "load", "it may name a log to release")
    #expect(hand.put(.loadFailed(.failed)).last == "erase")
  }

  /// The form that is being written holds the previous outbox, which has the same client ID and
  /// higher versions.
  @Test func `a save from before a log-out does not count for the next outbox`() throws {
    var hand = Self.following()
    #expect(try hand.mutate(.set("a", 1)) == ["save 2"])
    hand.put(.loggedOut)
    hand.put(.started(foreground: true))
    hand.put(
      .snapshotArrived(
        hand.request!, BoardNews(board: Board()), finger: Spot("b", 0), terms: testTerms))
    _ = try hand.mutate(.set("b", 2))
    #expect(!hand.put(.written(WriteID(2))).contains { $0.hasPrefix("push") })
    #expect(!Self.outboxIsDurable(hand))
  }
}
