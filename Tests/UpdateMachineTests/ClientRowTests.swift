import TestSupport
import Testing

@testable import UpdateMachine

/// Tests unloaded rows of the saved form. Whatever needs them waits until they are loaded.
@Suite struct ClientRowTests {
  private typealias Hand = ClientHand<Drawer, DrawerSync>

  private static let answer = RowAnswer(
    Drawer.query, [(key: StoredKey(.firstOfModel, []), value: [1])])

  /// A client at a:7 with an unloaded row, and a waiting poll out.
  private static func following(_ cadence: Cadence = .waits) -> Hand {
    var terms = testTerms
    terms.cadence = cadence
    var hand = Hand(store: nil)
    let saved = SavedReplica(model: Drawer(isLoaded: false), finger: Spot("a", 7), terms: terms)
    _ = hand.put(.started(foreground: true))
    _ = hand.put(.loaded(saved, age: .seconds(60)))
    _ = hand.put(.batchArrived(hand.request!, LedgerBatch(first: 8, events: [])))
    #expect(hand.client.machine.status.outstanding?.waits == true)
    return hand
  }

  private static func batch(_ number: Int) -> LedgerBatch {
    LedgerBatch(first: number, events: [number])
  }

  @Test func `rows are read before a batch is taken`() {
    var hand = Self.following()
    let poll = hand.request!
    #expect(hand.put(.batchArrived(poll, Self.batch(8))) == ["read storage 1, queries: 1"])
    #expect(hand.client.finger == Spot("a", 7))
    #expect(hand.heard == [])
    let texts = hand.put(.rowsRead(hand.reading!, [Self.answer]))
    #expect(texts == ["disarm 2", "save 1"])
    #expect(hand.client.finger == Spot("a", 8))
    #expect(hand.client.model == Drawer(entries: [8], isLoaded: true))
    #expect(hand.changes.contains(.model))
  }

  @Test func `a batch that involves no unloaded rows is taken at once`() {
    var hand = Self.following()
    #expect(
      hand.put(.batchArrived(hand.request!, LedgerBatch(first: 8, events: [0]))) == [
        "disarm 2", "save 1",
      ])
  }

  @Test func `a read waits for the save that is out`() {
    var hand = Self.following(.pushed)
    let poll = hand.request!
    #expect(hand.put(.batchArrived(poll, LedgerBatch(first: 8, events: [0]))).contains("save 1"))
    #expect(hand.put(.batchArrived(poll, Self.batch(9))) == ["poll 2 from a:9"])
    #expect(hand.put(.written(WriteID(1))) == ["read storage 1, queries: 1"])
    #expect(hand.client.finger == Spot("a", 8))
    #expect(hand.put(.rowsRead(hand.reading!, [Self.answer])).contains("save 2"))
    #expect(hand.client.finger == Spot("a", 9))
  }

  /// A subscription brings more while rows are read.
  @Test(arguments: [1, 4, 5, 40])
  func `batches pushed during a read are taken in order, however many`(count: Int) {
    var hand = Self.following(.pushed)
    let poll = hand.request!
    for number in 8..<(8 + count) {
      let texts = hand.put(.batchArrived(poll, Self.batch(number)))
      let reading = number == 8 ? ["read storage 1, queries: 1"] : []
      #expect(texts == reading + ["poll 2 from a:\(number)"])
    }
    let texts = hand.put(.rowsRead(hand.reading!, [Self.answer]))
    #expect(texts.filter { $0.hasPrefix("save") } == ["save 1"])
    #expect(hand.client.model?.entries == Array(8..<(8 + count)))
    #expect(hand.client.finger == Spot("a", 7 + count))
    #expect(hand.heard.count == count)
    // The effects describe the end of the step: there is one timer, and it is armed.
    #expect(texts.filter { $0.hasPrefix("arm") }.count == 1)
    #expect(hand.timers[.machine]?.timer == hand.client.machine.retry.timer?.id)
  }

  @Test func `rows that cannot be read are given up, and the batch is taken without them`() {
    for failure in [StoreFailure.failed, .unreadable] {
      var hand = Self.following()
      _ = hand.put(.batchArrived(hand.request!, Self.batch(8)))
      let texts = hand.put(.rowsFailed(hand.reading!, failure))
      #expect(texts == ["disarm 2", "report store", "save 1"])
      #expect(hand.client.model == Drawer(entries: [8], isLoaded: true, isForgotten: true))
    }
  }

  @Test func `malformed rows count as unreadable`() {
    var hand = Self.following()
    _ = hand.put(.batchArrived(hand.request!, Self.batch(8)))
    let bad = RowAnswer(Drawer.query, [(key: StoredKey(.firstOfModel, []), value: [9])])
    #expect(hand.put(.rowsRead(hand.reading!, [bad])).contains("report store"))
    #expect(hand.client.model == Drawer(entries: [8], isLoaded: true, isForgotten: true))
  }

  @Test func `a batch is dropped if a stop cuts its read short`() {
    var hand = Self.following()
    _ = hand.put(.batchArrived(hand.request!, Self.batch(8)))
    _ = hand.put(.stopped)
    #expect(hand.put(.rowsFailed(hand.reading!, .cutShort)) == [])
    #expect(hand.client.model == Drawer(isLoaded: false))
    #expect(hand.client.finger == Spot("a", 7))
    _ = hand.put(.started(foreground: true))
    let texts = hand.put(.batchArrived(hand.request!, Self.batch(8)))
    #expect(texts == ["read storage 2, queries: 1"])
  }

  @Test func `a newer batch waits for another read after one that was cut short`() {
    var hand = Self.following()
    _ = hand.put(.batchArrived(hand.request!, Self.batch(8)))
    _ = hand.put(.stopped)
    _ = hand.put(.started(foreground: true))
    #expect(hand.put(.batchArrived(hand.request!, Self.batch(8))) == [], "a read is out")
    #expect(hand.put(.rowsFailed(hand.reading!, .cutShort)) == ["read storage 2, queries: 1"])
    _ = hand.put(.rowsRead(hand.reading!, [Self.answer]))
    #expect(hand.client.model == Drawer(entries: [8], isLoaded: true))
  }

  @Test func `a read that was cut short before the stop is not repeated`() {
    var hand = Self.following()
    _ = hand.put(.batchArrived(hand.request!, Self.batch(8)))
    #expect(hand.put(.rowsFailed(hand.reading!, .cutShort)) == [])
    _ = hand.put(.stopped)
    _ = hand.put(.started(foreground: true))
    #expect(hand.client.model == Drawer(isLoaded: false))
    #expect(
      hand.put(.batchArrived(hand.request!, Self.batch(8))) == ["read storage 2, queries: 1"])
  }

  @Test func `a subscription continues after batches that still wait`() {
    var hand = Self.following(.pushed)
    let poll = hand.request!
    #expect(hand.client.nextFinger(of: poll) == Spot("a", 7))
    _ = hand.put(.batchArrived(poll, Self.batch(8)))
    _ = hand.put(.batchArrived(poll, Self.batch(9)))
    #expect(hand.client.finger == Spot("a", 7))
    #expect(hand.client.nextFinger(of: poll) == Spot("a", 9))
    #expect(hand.client.nextFinger(of: .of(1)) == nil)
  }

  @Test func `a quick poll is no subscription`() {
    var hand = Self.following(.pushed)
    _ = hand.put(.backgrounded)
    _ = hand.put(.foregrounded)
    let poll = hand.request!
    #expect(hand.client.machine.status.outstanding?.waits == false)
    _ = hand.put(.batchArrived(poll, Self.batch(8)))
    #expect(hand.client.nextFinger(of: poll) == nil)
    #expect(hand.client.status.outstanding?.id == poll, "the poll is out until its rows are read")
  }

  @Test func `a batch whose poll was given up is never taken`() {
    var hand = Self.following()
    _ = hand.put(.batchArrived(hand.request!, Self.batch(8)))
    #expect(hand.put(.backgrounded).contains("cancel 2"))
    _ = hand.put(.rowsRead(hand.reading!, [Self.answer]))
    #expect(hand.client.finger == Spot("a", 7))
    #expect(hand.client.model == Drawer(isLoaded: true))
  }

  @Test func `an answer to another read is ignored`() {
    var hand = Self.following()
    _ = hand.put(.batchArrived(hand.request!, Self.batch(8)))
    #expect(hand.put(.rowsRead(.of(1), [Self.answer])) == [])
    #expect(hand.put(.rowsFailed(.of(9), .failed)) == [])
    #expect(hand.client.finger == Spot("a", 7))
  }
}

/// A model with one row that may be unloaded. Every event except 0 needs that row.
private struct Drawer: SyncModel, Equatable {
  typealias Refusal = Never
  static let query = RowQuery(RowRange(.firstOfModel, from: [], through: [9]))

  var entries: [Int] = []
  var isLoaded: Bool
  var isForgotten = false

  init(entries: [Int] = [], isLoaded: Bool, isForgotten: Bool = false) {
    self.entries = entries
    self.isLoaded = isLoaded
    self.isForgotten = isForgotten
  }

  init(snapshot: [Int]) { self.init(entries: snapshot, isLoaded: true) }
  mutating func apply(_ event: Int) { entries.append(event) }

  var hasUnloaded: Bool { !isLoaded }

  func unloaded(under events: [Int]) -> [RowQuery] {
    isLoaded || events.allSatisfy { $0 == 0 } ? [] : [Drawer.query]
  }

  mutating func load(_ answer: RowAnswer, isSaved: Bool) throws(StoredFormError) -> Bool {
    guard answer.rows.first?.value == [1] else { throw StoredFormError(expected: "a one") }
    defer { isLoaded = true }
    return !isLoaded
  }

  mutating func forgetUnloaded() { (isLoaded, isForgotten) = (true, true) }
}

private enum DrawerSync: SyncProtocol {
  static func advance(_ finger: Spot, over batch: LedgerBatch) -> SyncAdvance<Spot> {
    LedgerSync.advance(finger, over: batch)
  }
}
