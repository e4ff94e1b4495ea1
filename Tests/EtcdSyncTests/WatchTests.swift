import Foundation
import Testing
import UpdateMachine

@testable import EtcdSync

/// A watch from one poll to the next, and what a source remembers besides, without a connection.
@Suite struct WatchTests {
  /// Any moment.
  static let now = Moment(milliseconds: 3_600_000)

  static func member() throws -> EtcdAddress { try EtcdAddress("http://127.0.0.1:2379") }

  /// The answer to a watch in which these revisions have come, each with one event.
  static func exchange(_ revisions: ClosedRange<Int64> = 5...6) -> EtcdExchange {
    let exchange = EtcdExchange(limit: 1 << 20)
    exchange.began(EtcdExchange.Head(status: 200, type: "application/json"))
    for revision in revisions {
      let header = MembersOverHTTPTests.header.replacing("\"4\"", with: "\"\(revision)\"")
      let pair = #"{"key":"YXBwL2E=","create_revision":"2","mod_revision":"\#(revision)"}"#
      exchange.received(
        Data("{\"result\":{\"header\":\(header),\"events\":[{\"kv\":\(pair)}]}}\n".utf8))
    }
    return exchange
  }

  static func watch(_ exchange: EtcdExchange, checkedAt moment: Moment) throws -> EtcdWatch {
    EtcdWatch(exchange: exchange, member: try member(), checkedAt: moment)
  }

  static func batch(
    _ exchange: EtcdExchange, after finger: EtcdFinger
  ) async throws -> EtcdBatch {
    let watch = try watch(exchange, checkedAt: WatchTests.now)
    return try #require(
      try await watch.batch(after: finger, prefix: CheckTests.app, within: .seconds(10)))
  }

  // MARK: Batches

  @Test func `a batch is up to date if the watch goes on`() async throws {
    let finger = try CheckTests.finger()
    let exchange = WatchTests.exchange()
    let batch = try await WatchTests.batch(exchange, after: finger)
    #expect(batch.through == 6 && batch.isCurrent)
    let ended = WatchTests.exchange()
    ended.completed(nil, hasLeft: true)
    let last = try await WatchTests.batch(ended, after: finger)
    #expect(last.through == 6 && !last.isCurrent)
  }

  @Test func `a batch is up to date if it has all that has come`() async throws {
    var finger = try CheckTests.finger()
    let exchange = WatchTests.exchange(5...1010)
    let first = try await WatchTests.batch(exchange, after: finger)
    #expect(first.count == 1000 && !first.isCurrent)
    guard case .next(let next, first: 0, isComplete: false) = EtcdLog.advance(finger, over: first)
    else {
      Issue.record("does not follow, or claims that nothing is missing")
      return
    }
    finger = next
    let rest = try await WatchTests.batch(exchange, after: finger)
    #expect(rest.count == 6 && rest.isCurrent)
  }

  // MARK: What is remembered

  @Test func `a watch is taken again where it has come to, if it goes on and was checked lately`()
    throws
  {
    let memory = EtcdMemory()
    let now = WatchTests.now
    func isTaken(at revision: Int64 = 4, over: Bool = false, age: TimeSpan) throws -> Bool {
      let exchange = EtcdExchange(limit: 100)
      memory.keep(try WatchTests.watch(exchange, checkedAt: now - age), at: 4)
      if over { exchange.completed(nil, hasLeft: true) }
      let taken = memory.takeWatch(at: revision, checkedAfter: now - .seconds(50))
      // What is not taken is ended, and nothing is left for the next poll.
      #expect(exchange.hasEnded == (taken == nil))
      #expect(memory.takeWatch(at: 4, checkedAfter: now - .seconds(50)) == nil)
      return taken != nil
    }
    #expect(try isTaken(age: .seconds(49)))
    #expect(try isTaken(age: .seconds(51)) == false)
    #expect(try isTaken(at: 5, age: .zero) == false)
    #expect(try isTaken(over: true, age: .zero) == false)
  }

  /// The history that a client registers in may be another one, with smaller revisions.
  @Test func `a client that begins anew remembers nothing`() throws {
    let memory = EtcdMemory()
    let member = try WatchTests.member()
    let exchange = EtcdExchange(limit: 100)
    memory.keep(try WatchTests.watch(exchange, checkedAt: WatchTests.now), at: 4)
    memory.trust(member)
    memory.notePush(at: 9)
    memory.notePush(at: 8)
    #expect(memory.trusts(member) && memory.pushedAt == 9)
    memory.forget()
    #expect(!memory.trusts(member) && memory.pushedAt == 0 && exchange.hasEnded)
  }
}
