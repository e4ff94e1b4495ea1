import LoopbackServer
import MessageSync
import SyncProtocols
import Testing
@testable import UpdateMachine
@testable import ZulipSync

/// Tests the pace of requests once the server has refused one because there were too many.
@Suite(.timeLimit(.minutes(2))) struct RateLimitTests {
  /// A server that lets one request of each kind through in four seconds.
  private final class Turnstile: Sendable {
    private let clock: LeapClock
    private let free = Shared([String: Moment]())
    let answered = Shared([String]())

    init(_ clock: LeapClock) { self.clock = clock }

    func answer(_ request: LoopbackServer.Request) -> Response {
      let kind = request.path.hasSuffix("/events") ? "polls" : "others"
      let now = clock.now
      let wait = free.change { free -> TimeSpan? in
        if let next = free[kind], next > now { return next - now }
        free[kind] = now + .seconds(4)
        return nil
      }
      answered.change { $0.append("\(kind) at \(now): \(wait == nil ? "200" : "429")") }
      var response = wait.map {
        Response.error(429, "RATE_LIMIT_HIT", #""retry-after":\#(Double($0.milliseconds) / 1000)"#)
      }
      response = response ?? .success(#""events":[],"id":7"#)
      response?.headers["X-RateLimit-Remaining"] = "0"
      return response!
    }
  }

  private let finger = QueueFinger(queue: QueueID("q"), lastEventID: 1)

  private func serve(
    _ clock: any DriverClock, _ answer: @escaping LoopbackServer.Answer,
    while body: (ZulipConnection) async throws -> Void
  ) async throws {
    try await LoopbackServer.serving(answer: answer) { server in
      try await body(
        try ZulipConnection(
          to: try ZulipSite(server.address), email: Ada.email, key: try ZulipAPIKey(Ada.key),
          clock: clock))
    }
  }

  @Test func `the waiting poll behind a quick one is not refused a second time`() async throws {
    let clock = LeapClock()
    let turnstile = Turnstile(clock)
    let answer: LoopbackServer.Answer = { turnstile.answer($0) }
    try await serve(clock, answer) { connection in
      _ = try await connection.events(after: finger, waits: false)
      let failure = await Ada.failure { () async throws(ZulipFailure) in
        try await connection.events(after: finger, waits: true)
      }
      #expect(failure?.failure == .rateLimited(after: .seconds(4)))
      #expect(failure?.hasLeft == true)
      // The machine waits as long as it was told, and then asks twice.
      try await clock.sleep(until: clock.now + .seconds(4))
      _ = try await connection.events(after: finger, waits: false)
      _ = try await connection.events(after: finger, waits: true)
      // What is counted apart does not wait.
      _ = try await connection.send(.channel(ChannelID(1), topic: "t"), "hello")
    }
    #expect(
      turnstile.answered.value == [
        "polls at 0: 200", "polls at 0: 429", "polls at 4000: 200", "polls at 8000: 200",
        "others at 8000: 200",
      ])
  }

  @Test func `a proxy's page does not end the pace`() async throws {
    let clock = LeapClock()
    let count = Shared(0)
    let answer: LoopbackServer.Answer = { _ in
      let number = count.change { count -> Int in
        count += 1
        return count
      }
      switch number {
      case 1: return .error(429, "RATE_LIMIT_HIT", #""retry-after":2"#)
      case 2: return .badGateway
      default: return .events()
      }
    }
    try await serve(clock, answer) { connection in
      for moment in [0, 2_000, 4_000, 4_000] as [Int64] {
        _ = await Ada.failure { () async throws(ZulipFailure) in
          try await connection.events(after: finger, waits: true)
        }
        #expect(clock.now == .ms(moment))
      }
    }
    #expect(count.value == 4)
  }

  @Test func `what would have to wait for long is refused here, and has not left`() async throws {
    let clock = LeapClock()
    let asked = Shared(0)
    let answer: LoopbackServer.Answer = { _ in
      asked.change { $0 += 1 }
      return .error(429, "RATE_LIMIT_HIT", #""retry-after":50"#)
    }
    try await serve(clock, answer) { connection in
      for isFirst in [true, false] {
        let failure = await Ada.failure { () async throws(ZulipFailure) in
          try await connection.send(.channel(ChannelID(1), topic: "t"), "hello")
        }
        #expect(failure?.failure == .rateLimited(after: .seconds(50)))
        #expect(failure?.reason == .refused(RejectionCode("RATE_LIMIT_HIT")))
        #expect(failure?.hasLeft == isFirst)
      }
    }
    #expect(asked.value == 1)
  }

  @Test func `a request that waits for its turn ends when its task is cancelled`() async throws {
    /// A clock on which nobody wakes.
    struct Still: DriverClock {
      let asleep: Shared<Bool>
      var now: Moment { Moment(milliseconds: 0) }
      var wallTime: WallTime { WallTime(milliseconds: 1_000_000) }

      func sleep(until later: Moment) async throws(CancellationError) {
        asleep.change { $0 = true }
        await untilCancelled()
        throw CancellationError()
      }
    }
    let asleep = Shared(false)
    let answer: LoopbackServer.Answer = { _ in
      .error(429, "RATE_LIMIT_HIT", #""retry-after":2"#)
    }
    try await serve(Still(asleep: asleep), answer) { connection in
      _ = await Ada.failure { () async throws(ZulipFailure) in
        try await connection.events(after: finger, waits: true)
      }
      let waiting = Task {
        await Ada.failure { () async throws(ZulipFailure) in
          try await connection.events(after: finger, waits: true)
        }
      }
      while !asleep.value { await Task.yield() }
      waiting.cancel()
      let failure = await waiting.value
      #expect(failure?.reason == .cancelled && failure?.hasLeft == false)
    }
  }

  /// Lets a request through, which must be its turn. Returns its period.
  private func enter(_ limit: inout ZulipRateLimit, at moment: Int64) -> UInt64 {
    guard case .now(let period) = limit.enter(at: .ms(moment)) else {
      Issue.record("not yet at \(moment)")
      return 0
    }
    return period
  }

  @Test func `the pace ends when more requests are left, or the server does not say`() {
    for left in [1, nil] {
      var limit = ZulipRateLimit()
      let first = enter(&limit, at: 0)
      limit.refused(for: .seconds(3), in: first, at: .ms(0))
      #expect(limit.enter(at: .ms(0)) == .later(.ms(3_000)))
      let second = enter(&limit, at: 3_000)
      #expect(limit.enter(at: .ms(3_000)) == .later(.ms(6_000)), "one after the other")
      limit.answered(left: 0, in: second)
      #expect(limit.enter(at: .ms(5_999)) == .later(.ms(6_000)))
      // What left before the refusal tells nothing, however late its answer is.
      limit.answered(left: left, in: first)
      #expect(limit.enter(at: .ms(5_999)) == .later(.ms(6_000)))
      limit.answered(left: left, in: second)
      _ = enter(&limit, at: 5_999)
    }
  }

  @Test func `no wait of a server is kept to for ever`() {
    for (wait, opens, pace) in [
      (TimeSpan?.none, 1_000, 1_000), (.seconds(54), 54_000, 10_000), (.forever, 60_000, 10_000),
      (.milliseconds(-5), 0, 1_000), (.milliseconds(182), 182, 1_000),
    ] as [(TimeSpan?, Int64, Int64)] {
      var limit = ZulipRateLimit()
      limit.refused(for: wait, in: enter(&limit, at: 0), at: .ms(0))
      if opens > 0 { #expect(limit.enter(at: .ms(0)) == .later(.ms(opens))) }
      #expect(limit.pace == .milliseconds(pace))
    }
  }

  @Test func `a pace that is too quick is doubled, once for each that kept to it`() {
    var limit = ZulipRateLimit()
    let burst = enter(&limit, at: 0)
    for _ in 0..<5 { limit.refused(for: .milliseconds(200), in: burst, at: .ms(0)) }
    #expect(limit.pace == .seconds(1))
    limit.refused(for: .milliseconds(200), in: enter(&limit, at: 200), at: .ms(300))
    #expect(limit.pace == .seconds(2))
    limit.refused(for: .seconds(3), in: enter(&limit, at: 1_200), at: .ms(1_300))
    #expect(limit.pace == .seconds(4))
    for moment in [20_000, 40_000] as [Int64] {
      limit.refused(for: .seconds(3), in: enter(&limit, at: moment), at: .ms(moment))
    }
    #expect(limit.pace == .seconds(10))
  }

  /// Otherwise the machine would give up a message that has not left, and would not know whether it
  /// has.
  @Test func `a message behind a refused page has not left, and is refused at once`() async throws {
    let clock = LeapClock()
    let answer: LoopbackServer.Answer = { _ in
      .error(429, "RATE_LIMIT_HIT", #""retry-after":50"#)
    }
    try await serve(clock, answer) { connection in
      let source = ZulipAccountSource(connection)
      _ = await Ada.failure { () async throws(ZulipFailure) in
        try await connection.message(MessageID(1), form: .raw)
      }
      let letter = ZulipChange.send(ZulipOutgoing(.channel(ChannelID(1), topic: "t"), "hello"))
      let id = RequestID(incarnation: Incarnation(1), part: .outbox, number: 1)
      let item = PushRequest<ZulipChange>.Item(
        id: MutationID(1), ticket: MutationTicket(1), change: letter)
      let push = PushRequest(
        id: id, client: ClientID(1), knownRefusal: .none, voided: [], mutations: [item])
      do throws(PushFailure) {
        _ = try await source.push(push, at: nil)
        Issue.record("it is refused")
      } catch {
        #expect(error.failure == .rateLimited(after: .seconds(50)) && !error.hasLeft)
      }
      #expect(clock.now == .ms(0), "nobody has waited")
    }
  }
}

extension Moment {
  fileprivate static func ms(_ count: Int64) -> Moment { Moment(milliseconds: count) }
}
