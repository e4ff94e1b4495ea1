import Testing

@testable import MessageSync
@testable import Simulator
@testable import UpdateMachine

/// Tests that oracle D for pages objects to every broken bound, and to nothing else.
@Suite struct PageBudgetOracleTests {
  typealias Narrow = MessageFilter<Int>
  typealias Request = PageRequest<Narrow, MessageID>

  private static let a = Narrow([.channel(ChannelID(1))])
  private static let b = Narrow([.channel(ChannelID(2))])
  private static let rejection = SyncFailure.rejected(RejectionCode("NO"))

  /// An oracle, and a count of the fetches.
  private struct Desk {
    var oracle = PageBudgetOracle<Narrow>()
    var count: UInt64 = 0

    mutating func fetch(_ request: Request, at now: Int64) -> String? {
      count += 1
      return oracle.noteFetch(id, request, at: Moment(milliseconds: now))
    }

    /// The ID of the newest fetch.
    var id: RequestID { RequestID(incarnation: Incarnation(1), part: .pages, number: count) }

    mutating func fail(_ failure: SyncFailure, at now: Int64) {
      oracle.noteFailure(id, failure, at: Moment(milliseconds: now))
    }
  }

  private func older(_ anchor: Int64, _ narrow: Narrow = a) -> Request {
    Request(narrow, .id(MessageID(anchor)), before: 10, after: 0)
  }

  // MARK: The window of time

  @Test func `the pace allows sixteen fetches at once, then one per interval`() {
    var desk = Desk()
    for number in 1...16 {
      #expect(desk.fetch(older(Int64(number)), at: 0) == nil)
      desk.oracle.noteTaken(desk.id)
    }
    for number in 1...200 {
      #expect(desk.fetch(older(Int64(number)), at: Int64(number) * 500) == nil)
      desk.oracle.noteTaken(desk.id)
    }
  }

  @Test func `a seventeenth fetch within an interval is refused`() {
    var desk = Desk()
    for number in 1...16 {
      #expect(desk.fetch(older(Int64(number)), at: 0) == nil)
      desk.oracle.noteTaken(desk.id)
    }
    #expect(desk.fetch(older(17), at: 499) == "at most 16 fetches in 499 ms, found 17")
  }

  @Test func `a pace that is a little too fast is found in time`() {
    var desk = Desk()
    var found: String?
    for number in 1...60 where found == nil {
      found = desk.fetch(older(Int64(number)), at: Int64(number) * 300)
      desk.oracle.noteTaken(desk.id)
    }
    #expect(found != nil)
  }

  // MARK: At once

  @Test func `a fifth open fetch is refused`() {
    var desk = Desk()
    for number in 1...4 { #expect(desk.fetch(older(Int64(number)), at: 0) == nil) }
    #expect(desk.fetch(older(5), at: 0) == "at most 4 fetches out, found 5")
  }

  @Test func `one page is fetched once at a time, whatever its size`() {
    for other in [10, 3, 50] as [Int64] {
      var desk = Desk()
      #expect(desk.fetch(older(7), at: 0) == nil)
      let second = Request(Self.a, .id(MessageID(7)), before: other, after: 0)
      #expect(desk.fetch(second, at: 10)?.hasPrefix("one fetch for a page") == true)
    }
    var desk = Desk()
    #expect(desk.fetch(Request(MessageID(7)), at: 0) == nil)
    #expect(desk.fetch(Request(MessageID(7)), at: 0) != nil)
  }

  @Test func `pages of another side, narrow or anchor are different pages`() {
    var desk = Desk()
    #expect(desk.fetch(older(7), at: 0) == nil)
    #expect(desk.fetch(Request(Self.a, .id(MessageID(7)), before: 5, after: 5), at: 0) == nil)
    #expect(desk.fetch(older(7, Self.b), at: 0) == nil)
    #expect(desk.fetch(older(8), at: 0) == nil)
  }

  @Test func `an answered or abandoned page may be fetched again`() {
    var desk = Desk()
    #expect(desk.fetch(older(7), at: 0) == nil)
    desk.oracle.noteTaken(desk.id)
    #expect(desk.fetch(older(7), at: 1) == nil)
    desk.oracle.noteGivenUp(desk.id, at: Moment(milliseconds: 2))
    #expect(desk.fetch(older(7), at: 2) == nil)
  }

  // MARK: Failures

  @Test func `waits grow after failures until an answer`() {
    var desk = Desk()
    var now: Int64 = 0
    for wait in [250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000] as [Int64] {
      #expect(desk.fetch(older(now), at: now) == nil)
      desk.fail(.unreachable, at: now)
      var early = desk
      #expect(early.fetch(older(now + 1), at: now + wait - 1)?.hasPrefix("no fetch before") == true)
      now += wait
    }
    #expect(desk.fetch(older(now), at: now) == nil)
    desk.oracle.noteTaken(desk.id)
    #expect(desk.fetch(older(now + 1), at: now + 1) == nil)
    desk.fail(.serverFault, at: now + 1)
    #expect(desk.fetch(older(now + 2), at: now + 251) == nil)
  }

  @Test func `fetches that were out together and fail count as one failure`() {
    var desk = Desk()
    for number in 1...3 { #expect(desk.fetch(older(Int64(number)), at: 0) == nil) }
    for number in 1...3 {
      let id = RequestID(incarnation: Incarnation(1), part: .pages, number: UInt64(number))
      desk.oracle.noteFailure(id, .unreachable, at: Moment(milliseconds: 100))
    }
    #expect(desk.fetch(older(4), at: 350) == nil)
  }

  @Test func `a failed fetch is not repeated within a second`() {
    var desk = Desk()
    #expect(desk.fetch(older(7), at: 0) == nil)
    desk.fail(.unreachable, at: 100)
    var early = desk
    #expect(early.fetch(older(7), at: 999)?.hasPrefix("nothing like") == true)
    #expect(desk.fetch(older(7), at: 1000) == nil)
  }

  @Test(arguments: [true, false])
  func `a rate limit's wait is kept, whatever is answered meanwhile`(isAnswered: Bool) {
    var desk = Desk()
    #expect(desk.fetch(older(7), at: 0) == nil)
    let other = desk.id
    #expect(desk.fetch(older(8), at: 0) == nil)
    desk.fail(.rateLimited(after: .seconds(20)), at: 100)
    if isAnswered { desk.oracle.noteTaken(other) }
    var early = desk
    #expect(early.fetch(older(9), at: 20_099)?.contains("as the server asked") == true)
    #expect(desk.fetch(older(9), at: 20_100) == nil)
  }

  @Test func `a rejected narrow is not asked for within a minute`() {
    var desk = Desk()
    #expect(desk.fetch(older(7), at: 0) == nil)
    desk.fail(Self.rejection, at: 100)
    for request in [older(7), older(8), Request(Self.a, .newest, before: 1, after: 0)] {
      var early = desk
      #expect(early.fetch(request, at: 60_099)?.hasPrefix("nothing like") == true)
    }
    #expect(desk.fetch(older(7, Self.b), at: 101) == nil)
    #expect(desk.fetch(Request(MessageID(7)), at: 101) == nil)
    #expect(desk.fetch(older(7), at: 60_100) == nil)
  }

  // MARK: At rest

  @Test func `a deadline ends a fetch, and is a failure`() {
    var desk = Desk()
    #expect(desk.fetch(older(7), at: 0) == nil)
    let late = Moment(milliseconds: 30_000)
    #expect(desk.oracle.objection(atRest: Moment(milliseconds: 29_999), isLive: true) == nil)
    #expect(desk.oracle.objection(atRest: late, isLive: true)?.contains("deadline") == true)
    desk.oracle.noteGivenUp(desk.id, at: late)
    #expect(desk.oracle.objection(atRest: late, isLive: true) == nil)
    #expect(desk.fetch(older(8), at: 30_249) != nil)
  }

  @Test func `losing the finger ends every fetch`() {
    var desk = Desk()
    #expect(desk.fetch(older(7), at: 0) == nil)
    let now = Moment(milliseconds: 1)
    #expect(desk.oracle.objection(atRest: now, isLive: true) == nil)
    #expect(desk.oracle.objection(atRest: now, isLive: false) != nil)
    desk.oracle.noteGivenUp(desk.id, at: now)
    #expect(desk.oracle.objection(atRest: now, isLive: false) == nil)
  }

  @Test func `a fetch that ends with the finger has not failed`() {
    var desk = Desk()
    #expect(desk.fetch(older(7), at: 0) == nil)
    desk.oracle.noteGivenUp(desk.id, isLive: false, at: Moment(milliseconds: 30_000))
    #expect(desk.fetch(older(8), at: 30_050) == nil)
  }
}
