import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// The laws of `advance`, for the library's protocols and for protocols that break one each.
@Suite struct ProtocolLawsTests {
  /// A feed with numbers, and the mistakes that its author may make.
  private enum MistakenFeed<Mistake: FeedMistake>: SyncProtocol {
    static func advance(_ place: FeedPlace, over batch: FeedBatch) -> SyncAdvance<FeedPlace> {
      if batch.log != place.log, Mistake.kind != .anyLog { return .gap }
      var next = FeedPlace(log: place.log, last: batch.entries.last ?? place.last)
      if batch.entries.isEmpty { return Mistake.kind == .nothingIsAFailure ? .gap : .seen }
      let first = batch.entries.first ?? 0
      if first > place.last + 1, Mistake.kind != .takesAnything { return .gap }
      if next.last <= place.last {
        if Mistake.kind == .goesBack { return .next(next, first: 0) }
        return .seen
      }
      if Mistake.kind == .offByOne { next.last -= 1 }
      return .next(next, first: Mistake.kind == .appliesTwice ? 0 : max(0, place.last + 1 - first))
    }
  }

  private func laws<Mistake: FeedMistake>(_ mistake: Mistake.Type) -> LawObjection? {
    let laws = ProtocolLaws<MistakenFeed<Mistake>>(
      entries: 5, place: { FeedPlace(log: 1, last: $0) },
      batch: { FeedBatch(log: 1, entries: $0.map { $0 + 1 }) })
    return laws.objection(inOtherLog: FeedPlace(log: 2, last: 0))
  }

  @Test func `a feed with numbers breaks no law`() { #expect(laws(NoMistake.self) == nil) }

  @Test func `each mistake is found, and told`() {
    #expect(
      laws(TakesAnything.self)?.description
        == "A client that has 0 entries is given entries 1..<2. Expected: a refusal: entries between "
        + "the two are missing. Found: next(1:2, first: 0, isComplete: true).")
    #expect(laws(GoesBack.self)?.expected == "that nothing moves: nothing is new")
    #expect(
      laws(AppliesTwice.self)?.situation.contains("has 1 entries is given entries 0..<2") == true)
    #expect(laws(OffByOne.self)?.situation.contains("given entries 0..<1") == true)
    #expect(laws(NothingIsAFailure.self)?.expected == "seen")
    #expect(laws(AnyLog.self)?.situation == "A client of another log is given entries 0..<5.")
  }

  // MARK: The library's protocols

  /// IDs may have holes, so only the server's word says that nothing is missing.
  @Test func `event queues break no law`() {
    let queue = QueueID("q")
    let laws = ProtocolLaws<EventQueue<Int>>(
      entries: 6, seesGaps: false,
      place: { QueueFinger(queue: queue, lastEventID: Int64($0) - 1) },
      batch: { entries in
        QueueBatch(queue: queue, events: entries.map { QueuedEvent(id: Int64($0), event: $0) })
      })
    let other = QueueFinger(queue: QueueID("r"), lastEventID: -1)
    #expect(laws.objection(inOtherLog: other) == nil)
  }

  @Test func `logs of changes break no law`() {
    let (epoch, other) = (ChangeLogEpoch("a"), ChangeLogEpoch("b"))
    let laws = ProtocolLaws<ChangeLog<Int>>(
      entries: 6, place: { ChangeLogPlace(epoch: epoch, number: Int64($0)) },
      batch: { entries in
        ChangeLogBatch(
          epoch: epoch, after: Int64(entries.lowerBound), through: Int64(entries.upperBound),
          hasMore: false, changes: entries.map { LoggedChange(number: Int64($0) + 1, event: $0) })
      })
    #expect(laws.objection(inOtherLog: ChangeLogPlace(epoch: other, number: 0)) == nil)
  }

  @Test func `records break no law`() {
    func pulled(_ entries: Range<Int>, epoch: UInt64 = 1) -> PulledRecords {
      PulledRecords(
        client: ClientID(1), epoch: epoch, pulledAt: RecordStamp(UInt64(entries.upperBound) + 1),
        content: .changes(since: RecordStamp(UInt64(entries.lowerBound) + 1)),
        updated: entries.isEmpty
          ? [] : [RecordRow(RecordKey("t", "1"), JSONObject(of: ("a", "1")))])
    }
    let laws = ProtocolLaws<RecordSync>(
      entries: 6, place: { pulled($0..<$0).finger }, batch: { pulled($0) })
    #expect(laws.objection(inOtherLog: pulled(0..<0, epoch: 2).finger) == nil)
  }
}

private struct FeedPlace: Finger {
  var log: Int
  var last: Int
  var description: String { "\(log):\(last)" }
}

private struct FeedBatch: EventBatch {
  var log: Int
  var entries: [Int]
  var count: Int { entries.count }
  func event(at index: Int) -> Int? { entries[index] }
}

private enum FeedMistakeKind {
  case none, takesAnything, goesBack, appliesTwice, offByOne, nothingIsAFailure, anyLog
}

private protocol FeedMistake: Sendable { static var kind: FeedMistakeKind { get } }
private enum NoMistake: FeedMistake { static var kind: FeedMistakeKind { .none } }
private enum TakesAnything: FeedMistake { static var kind: FeedMistakeKind { .takesAnything } }
private enum GoesBack: FeedMistake { static var kind: FeedMistakeKind { .goesBack } }
private enum AppliesTwice: FeedMistake { static var kind: FeedMistakeKind { .appliesTwice } }
private enum OffByOne: FeedMistake { static var kind: FeedMistakeKind { .offByOne } }
private enum NothingIsAFailure: FeedMistake {
  static var kind: FeedMistakeKind { .nothingIsAFailure }
}
private enum AnyLog: FeedMistake { static var kind: FeedMistakeKind { .anyLog } }
