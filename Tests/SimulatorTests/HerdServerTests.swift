import Testing

@testable import Simulator

struct HerdServerTests {
  /// A server that can answer `capacity` registers a second, with a backlog of a second.
  private func server(
    _ shedding: HerdServerSettings.Shedding = .refuse, capacity: Int64 = 100
  ) -> HerdServer {
    var settings = HerdServerSettings()
    settings.capacity = capacity
    settings.backlog = 1000
    settings.shedding = shedding
    var server = HerdServer(settings)
    server.advance()
    return server
  }

  @Test(arguments: [1, 7, 100, 30_000] as [Int64])
  func `it does as many registers a second as its capacity says`(capacity: Int64) {
    var server = server(.hang, capacity: capacity)
    var done: Int64 = 0
    for millisecond in 1...10_000 as ClosedRange<Int64> {
      // More than it can do.
      for number in 0...capacity / 500 {
        let verdict = server.take(1, of: Int32(number), log: nil, at: millisecond)
        if verdict == .served { done += 1 }
      }
      server.advance()
      while server.next() != nil { done += 1 }
    }
    #expect(abs(done - capacity * 10) <= 1 + capacity / 50, "\(done)")
  }

  @Test func `twenty polls cost as much as a register`() {
    var server = server()
    let log = server.makeLog()
    var verdicts: [HerdServer.Verdict] = []
    // Ten milliseconds have room for one register, so for twenty polls.
    for millisecond in 1...10 as ClosedRange<Int64> {
      for client in 0..<2 as Range<Int32> {
        verdicts.append(server.take(1, of: client, log: log, at: millisecond))
      }
      server.advance()
      while let waiting = server.next() { verdicts.append(waiting.number > 0 ? .served : .gone) }
    }
    #expect(verdicts.count { $0 == .served } == 20)
    #expect(server.waiting == 0)
  }

  @Test func `what waits is done in order, and what would wait for more than a second is shed`() {
    var server = server()
    let verdicts = (0..<400).map { server.take(7, of: $0, log: nil, at: 0) }
    #expect(verdicts.first == .served)
    let waiting = verdicts.count { $0 == .waits }
    #expect((98...102).contains(waiting))
    #expect(verdicts.last == .refused(after: nil))
    var order: [Int32] = []
    for _ in 0..<3000 {
      server.advance()
      while let next = server.next() { order.append(next.client) }
    }
    #expect(order == (1...Int32(waiting)).map { $0 })
    #expect(server.backlogWork == 0)
  }

  @Test func `each slot is later than the one before, at nine tenths of the capacity`() {
    var server = server(.slots)
    var slots: [Int64] = []
    for client in 0..<1000 as Range<Int32> {
      guard case .refused(let after?) = server.take(1, of: client, log: nil, at: 0) else {
        continue
      }
      slots.append(after)
    }
    #expect(slots.count > 800)
    #expect(slots == slots.sorted())
    let rate = Double(slots.count - 1) * 1000 / Double((slots.last ?? 0) - (slots.first ?? 0))
    #expect((89...91).contains(rate), "\(rate)")
  }

  @Test func `the other ways to shed`() {
    func last(_ shedding: HerdServerSettings.Shedding) -> HerdServer.Verdict? {
      var server = server(shedding)
      return (0..<400).map { server.take(1, of: $0, log: nil, at: 0) }.last
    }
    #expect(last(.refuse) == .refused(after: nil))
    #expect(last(.fixed) == .refused(after: 30_000))
    #expect(last(.hang) == .hangs)
  }

  @Test func `a restart forgets logs and all that waited`() {
    var server = server()
    let log = server.makeLog()
    for client in 0..<50 as Range<Int32> { _ = server.take(1, of: client, log: nil, at: 0) }
    server.isUp = false
    let away = server.take(2, of: 60, log: log, at: 1)
    #expect(away == .unreachable)
    server.restart()
    server.isUp = true
    server.advance()
    #expect(server.waiting == 0)
    let gone = server.take(2, of: 60, log: log, at: 2)
    #expect(gone == .gone)
    let new = server.makeLog()
    #expect(server.has(log: new) && !server.has(log: log))
  }
}
