import SyncProtocols
import TestSupport
import Testing
import UpdateMachine

@testable import Simulator

/// Tests what the checker sees beyond the single oracles: histories in which no single value is
/// wrong.
@Suite struct CheckerTests {
  private typealias Body = Checker<DirectoryApp>.Body

  private static func at(_ milliseconds: Int64) -> Moment { Moment(milliseconds: milliseconds) }

  /// A server, a client that has registered and waits for news, and the checker that has seen all
  /// of it.
  private struct Court {
    var server = EventQueueServer(truth: DirectoryState(), at: CheckerTests.at(0))
    var client = Body(incarnation: Incarnation(1))
    var checker: Checker<DirectoryApp>

    init() throws {
      checker = Checker(
        machines: [MachineSettings()], latency: .milliseconds(50), seed: 1)
      give(.app(.started(foreground: true)), at: 0)
      give(.loaded(nil, age: nil), at: 0)
      let queue = try server.beginRegister(at: CheckerTests.at(10)).get()
      guard
        case .registered(let snapshot, let finger, let terms) = server.finishRegister(
          queue, at: CheckerTests.at(20)), let request = client.status.outstanding
      else { return }
      give(.snapshotArrived(request.id, snapshot, finger: finger, terms: terms), at: 50)
      give(.written(WriteID(1)), at: 60)
    }

    mutating func give(_ input: Body.Input, at milliseconds: Int64) {
      let now = CheckerTests.at(milliseconds)
      checker.look(0, client, server, at: now)
      let effects = client.handle(input, at: now)
      checker.judge(input, effects, 0, client, server, at: now)
    }

    /// Shows the checker another client in place of this one, as if the input had had no effects.
    mutating func replace(with other: Body, after input: Body.Input, at milliseconds: Int64) {
      let now = CheckerTests.at(milliseconds)
      checker.look(0, client, server, at: now)
      checker.judge(input, Body.Effects(), 0, other, server, at: now)
    }

    /// What the checker remembers of the machine before the network changes.
    func before(at milliseconds: Int64) -> Checker<DirectoryApp>.Before {
      Checker<DirectoryApp>.Before(
        .input(.app(.networkChanged)), client.machine, at: CheckerTests.at(milliseconds))
    }
  }

  @Test func `the checker accepts a correct client`() throws {
    var court = try Court()
    court.server.commit(.setting(key: 1, value: 7), at: CheckerTests.at(1000))
    let request = try #require(court.client.status.outstanding)
    court.checker.noteAnswer(for: 0, left: CheckerTests.at(1000))
    let batch = QueueBatch<DirectoryEvent>(
      events: [QueuedEvent(id: 0, event: .setting(key: 1, value: 7))])
    court.give(.batchArrived(request.id, batch), at: 1050)
    #expect(court.checker.result.finding == nil)
    #expect(court.client.finger?.lastEventID == 0)
  }

  @Test func `giving up a finger whose log is alive is found`() throws {
    var court = try Court()
    var loggedOut = court.client
    _ = loggedOut.handle(.app(.loggedOut), at: CheckerTests.at(100))
    var gone = court
    let before = court.before(at: 100)
    court.checker.judgeDrop(before, 0, loggedOut.machine, court.server, at: CheckerTests.at(100))
    let finding = try #require(court.checker.result.finding)
    #expect(finding.oracle == .budget)
    #expect(finding.expected == "a finger is given up unasked only when its log is gone")

    gone.server.expire(try #require(gone.client.finger).queue)
    gone.checker.judgeDrop(before, 0, loggedOut.machine, gone.server, at: CheckerTests.at(100))
    #expect(gone.checker.result.finding == nil)
  }

  @Test func `a machine that differs from the replayed inputs is found`() throws {
    var court = try Court()
    var other = court.client
    _ = other.handle(.app(.networkChanged), at: CheckerTests.at(100))
    court.replace(with: other, after: .app(.networkChanged), at: 100)
    let finding = try #require(court.checker.result.finding)
    #expect(finding.oracle == .walls)
    #expect(finding.expected.hasPrefix("the machine is what it was told"))
  }

  @Test func `an answer that left the server long ago does not count as fresh`() throws {
    for (left, isWrong) in [(Int64(-200_000), true), (1000, false)] {
      var court = try Court()
      let request = try #require(court.client.status.outstanding)
      court.checker.noteAnswer(for: 0, left: CheckerTests.at(left))
      court.give(.batchArrived(request.id, QueueBatch(events: [])), at: 7000)
      #expect((court.checker.result.finding?.oracle == .honesty) == isWrong)
    }
  }

  @Test(arguments: [true, false])
  func `an answer that counts as up to date but lacks an earlier change is found`(isWrong: Bool)
    throws
  {
    var court = try Court()
    court.give(.app(.networkChanged), at: 2000)
    let change = isWrong ? Int64(1999) : 2000
    court.server.commit(.setting(key: 1, value: 7), at: CheckerTests.at(change))
    let request = try #require(court.client.status.outstanding)
    #expect(!request.waits)
    court.checker.noteAnswer(for: 0, left: CheckerTests.at(2010))
    court.give(.batchArrived(request.id, QueueBatch(events: [])), at: 2020)
    let finding = court.checker.result.finding
    #expect(finding?.oracle == (isWrong ? .honesty : nil))
    #expect(finding?.expected.hasPrefix("up to date as of 1999 at most") ?? !isWrong)
  }

  @Test(arguments: [true, false])
  func `an incomplete answer that counts as up to date is found`(isWrong: Bool) throws {
    var court = try Court()
    let now = CheckerTests.at(7000)
    let request = try #require(court.client.status.outstanding)
    var machine = court.client.machine
    let level = machine.freshness(at: now).upToDateAsOf
    let before = Checker<DirectoryApp>.Before(
      .input(.polled(request.id, movedTo: nil, isComplete: false)), machine, at: now)
    let effects = machine.handle(
      .polled(request.id, movedTo: nil, isComplete: isWrong), at: now)
    court.checker.judgeLevel(before, effects, from: level, to: level, 0, machine, at: now)
    let expected = court.checker.result.finding?.expected
    #expect(expected == (isWrong ? "not connected after an answer that was not all there is" : nil))
  }

  @Test func `a model that changes without an answer is found`() throws {
    var court = try Court()
    court.server.commit(.setting(key: 1, value: 7), at: CheckerTests.at(100))
    var other = court.client
    var model = try #require(other.model)
    try model.apply(.setting(key: 1, value: 7))
    other.withModel { $0 = model }
    court.replace(with: other, after: .fired(TimerID(99)), at: 100)
    let finding = try #require(court.checker.result.finding)
    #expect(finding.oracle == .replica)
    #expect(finding.expected == "a model changes only by what it took whole")
  }

  @Test func `a finger that goes back in its queue is found`() throws {
    var court = try Court()
    // A client that has heard nothing, and whose request has the same number.
    var behind = court.client
    let request = try #require(court.client.status.outstanding)
    _ = behind.handle(
      .batchArrived(request.id, QueueBatch(events: [])), at: CheckerTests.at(7000))
    court.server.commit(.setting(key: 1, value: 7), at: CheckerTests.at(7000))
    court.checker.noteAnswer(for: 0, left: CheckerTests.at(7000))
    let batch = QueueBatch<DirectoryEvent>(
      events: [QueuedEvent(id: 0, event: .setting(key: 1, value: 7))])
    court.give(.batchArrived(request.id, batch), at: 7050)
    court.give(.written(WriteID(2)), at: 7060)
    #expect(court.checker.result.finding == nil)
    #expect(behind.status.outstanding?.id == court.client.status.outstanding?.id)
    court.checker.judgeFinger(court.before(at: 7070), 0, behind.machine, at: CheckerTests.at(7070))
    #expect(court.checker.result.finding?.expected == "a finger at or after q1:0")
  }
}
