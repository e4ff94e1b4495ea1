import Testing
import UpdateMachine

@testable import Simulator

struct TimeWheelTests {
  /// Things in a wheel, and when each is due; `nil`: not at all.
  struct Bench {
    var wheel: TimeWheel
    var due: [UInt32?]

    init(things: Int, at now: UInt32) {
      wheel = TimeWheel(things: things, at: now)
      due = Array(repeating: nil, count: things)
    }

    mutating func make(_ thing: Int, due moment: UInt32) {
      due[thing] = moment
      wheel.add(Int32(thing), due: moment)
    }

    /// Takes what is due now, and goes on by a millisecond.
    mutating func pass() -> [Int] {
      var taken: [Int] = []
      var some: [Int32] = []
      while wheel.take(into: &some) {
        for thing in some.map(Int.init) where due[thing].map({ $0 <= wheel.now }) == true {
          due[thing] = nil
          taken.append(thing)
        }
      }
      wheel.advance(due) { $0 ?? .max }
      return taken
    }
  }

  @Test func `each thing comes at its moment, however often that changes`() {
    var random = SplitMix(7)
    var bench = Bench(things: 300, at: 1_000_003)
    var expected: [Int: UInt32] = [:]
    for _ in 0..<60_000 {
      let now = bench.wheel.now
      for _ in 0..<2 where random.below(10) < 3 {
        let thing = random.below(300)
        let far = [3, 90, 5000, 20_000][random.below(4)]
        let due = now + random.below(UInt32(far))
        bench.make(thing, due: due)
        expected[thing] = due
      }
      let taken = bench.pass().sorted()
      #expect(taken == expected.filter { $0.value == now }.map(\.key).sorted())
      for thing in taken { expected[thing] = nil }
    }
    #expect(expected.count < 300)
  }

  @Test func `what is hours ahead comes, too`() {
    var bench = Bench(things: 2, at: 4095)
    bench.make(0, due: 4096)
    bench.make(1, due: 4095 + 4 * 3_600_000)
    var found: [Int: UInt32] = [:]
    while found.count < 2, bench.wheel.now < 5 * 3_600_000 {
      let now = bench.wheel.now
      for thing in bench.pass() { found[thing] = now }
    }
    #expect(found == [0: 4096, 1: 4095 + 4 * 3_600_000])
  }

  @Test func `a skip takes everything along`() {
    var bench = Bench(things: 3, at: 4096)
    let due: [UInt32] = [4100, 9000, 4096 + 3_000_000]
    for (thing, moment) in due.enumerated() { bench.make(thing, due: moment) }
    let turns: UInt32 = 800
    bench.wheel.skip(turns: turns)
    let later = turns << 12
    for thing in due.indices { bench.due[thing] = due[thing] + later }
    var found: [Int: UInt32] = [:]
    while found.count < 3, bench.wheel.now < 8_000_000 {
      let now = bench.wheel.now
      for thing in bench.pass() { found[thing] = now }
    }
    #expect(found == [0: due[0] + later, 1: due[1] + later, 2: due[2] + later])
  }

  @Test func `blocks are used again`() {
    var bench = Bench(things: 100, at: 0)
    var bytes: [Int] = []
    for round in 0..<50 {
      for thing in 0..<100 { bench.make(thing, due: bench.wheel.now + UInt32(thing % 7)) }
      for _ in 0..<10 { _ = bench.pass() }
      if round > 0 { bytes.append(bench.wheel.bytes) }
    }
    #expect(Set(bytes).count == 1)
  }
}
