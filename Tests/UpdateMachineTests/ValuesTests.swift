import TestSupport
import Testing
import UpdateMachine

@Suite struct MomentTests {
  @Test func `moments saturate at both ends`() {
    let end = Moment(milliseconds: .max)
    #expect(end + .milliseconds(1) == end)
    #expect(end - .milliseconds(-1) == end)
    #expect(Moment.distantPast - .milliseconds(1) == .distantPast)
    #expect(Moment.distantPast + .milliseconds(-1) == .distantPast)
    #expect(end - Moment.distantPast == .forever)
    #expect(Moment.distantPast - end == TimeSpan(milliseconds: .min))
    #expect(Moment.ms(5) - Moment.ms(8) == .milliseconds(-3))
  }

  @Test func `spans saturate at both ends`() {
    #expect(TimeSpan.seconds(.max) == .forever)
    #expect(TimeSpan.seconds(.min) == TimeSpan(milliseconds: .min))
    #expect(TimeSpan.minutes(.max) == .forever)
    #expect(TimeSpan.forever + .milliseconds(1) == .forever)
    #expect(TimeSpan.forever * 2 == .forever)
    #expect(TimeSpan.forever * -2 == TimeSpan(milliseconds: .min))
    #expect(TimeSpan(milliseconds: .min) * -1 == .forever)
  }

  @Test func `doubling stops at the cap, whatever the exponent`() {
    #expect(TimeSpan.milliseconds(100).doubled(times: 0, cap: .seconds(10)) == .milliseconds(100))
    #expect(TimeSpan.milliseconds(100).doubled(times: 3, cap: .seconds(10)) == .milliseconds(800))
    #expect(TimeSpan.milliseconds(100).doubled(times: 7, cap: .seconds(10)) == .seconds(10))
    #expect(TimeSpan.milliseconds(100).doubled(times: .max, cap: .seconds(10)) == .seconds(10))
    #expect(TimeSpan.milliseconds(100).doubled(times: -1, cap: .seconds(10)) == .milliseconds(100))
    #expect(TimeSpan.seconds(20).doubled(times: 0, cap: .seconds(10)) == .seconds(10))
  }

  @Test(arguments: [
    (0, "0 s"), (1, "0.001 s"), (10, "0.01 s"), (800, "0.8 s"), (1000, "1 s"), (54_370, "54.37 s"),
    (60_000, "60 s"), (-1500, "-1.5 s"), (-1, "-0.001 s"), (Int64.max, "forever"),
    (Int64.min, "-9223372036854775.808 s"),
  ])
  func `a span reads in seconds`(milliseconds: Int64, text: String) {
    #expect(TimeSpan(milliseconds: milliseconds).description == text)
  }

  @Test func `a range reads relative to now`() {
    func text(_ earliest: Int64, _ latest: Int64, at now: Int64) -> String {
      MomentRange(from: .ms(earliest), to: .ms(latest)).text(at: .ms(now))
    }
    #expect(text(60_000, 60_000, at: 0) == "in 60 s")
    #expect(text(101, 900, at: 100) == "in (0, 0.8 s]")
    #expect(text(101, 101, at: 100) == "in 0.001 s")
    #expect(text(54_370, 59_800, at: 0) == "in [54.37 s, 59.8 s]")
    #expect(MomentRange(at: .ms(7)) == MomentRange(from: .ms(7), to: .ms(7)))
  }
}

@Suite struct BackoffTests {
  @Test func `waits double up to the cap and stay there`() {
    var backoff = Backoff()
    let waits = (0..<9).map { _ in backoff.take(first: .milliseconds(100), cap: .seconds(10)) }
    #expect(
      waits.map(\.milliseconds) == [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000])
  }

  @Test func `the exponent stops at 20`() {
    var backoff = Backoff()
    for _ in 0..<1000 { backoff.lengthen() }
    #expect(backoff.exponent == 20)
    #expect(Backoff(exponent: 255).exponent == 20)
    #expect(backoff.next(first: .milliseconds(1), cap: .forever) == .milliseconds(1 << 20))
  }

  @Test func `looking at the next wait does not count, and a reset starts anew`() {
    var backoff = Backoff()
    backoff.lengthen()
    #expect(backoff.next(first: .seconds(1), cap: .minutes(1)) == .seconds(2))
    #expect(backoff.next(first: .seconds(1), cap: .minutes(1)) == .seconds(2))
    backoff.reset()
    #expect(backoff == Backoff())
  }
}

@Suite struct TokenBucketTests {
  @Test func `burst and one more can be spent at once, then one per interval`() {
    var pace = TokenBucket()
    func spend(_ now: Int64) -> Bool {
      pace.trySpending(at: .ms(now), burst: 10, interval: .milliseconds(400))
    }
    let atOnce = (0..<12).map { _ in spend(0) }
    #expect(atOnce == [Bool](repeating: true, count: 11) + [false])
    #expect(!spend(399))
    #expect(spend(400))
    #expect(!spend(799))
    #expect(spend(800))
  }

  @Test func `a refused request costs nothing`() {
    var wakes = TokenBucket()
    for _ in 0..<3 { wakes.spend(at: .ms(0), interval: .seconds(10)) }
    let before = wakes
    let isPaid = wakes.trySpending(at: .ms(9_999), burst: 2, interval: .seconds(10))
    #expect(!isPaid)
    #expect(wakes == before)
    #expect(wakes.ready(burst: 2, interval: .seconds(10)) == .ms(10_000))
  }

  @Test func `a budget refills to the burst and no further`() {
    var pace = TokenBucket()
    pace.spend(at: .ms(0), interval: .milliseconds(400))
    let later = (0..<12).map { _ in
      pace.trySpending(at: .ms(1_000_000), burst: 10, interval: .milliseconds(400))
    }
    #expect(later.filter { $0 }.count == 11)
  }

  @Test func `any span of time has at most the burst, one more request and the span's share`() {
    var pace = TokenBucket()
    var steps = SplitMix(7)
    var spent: [Int64] = []
    var now: Int64 = 0
    for _ in 0..<2000 {
      now += Int64(steps.pick([0, 0, 1, 50, 399, 1000, 5000]))
      if pace.trySpending(at: .ms(now), burst: 10, interval: .milliseconds(400)) {
        spent.append(now)
      }
    }
    for first in spent.indices {
      for last in first..<min(first + 60, spent.count) {
        #expect(Int64(last - first + 1) <= 11 + (spent[last] - spent[first]) / 400)
      }
    }
  }
}

@Suite struct DigestTests {
  @Test func `equal words in equal order give equal digests, in every process`() {
    var one = StateDigest()
    one.fold(UInt64(1))
    one.fold(Int64(-1))
    one.fold("finger")
    var other = StateDigest()
    other.fold(UInt64(1))
    other.fold(Int64(-1))
    other.fold("finger")
    #expect(one == other)
    #expect(StateDigest().description == "9e3779b97f4a7c15")
  }

  @Test(arguments: 0...40)
  func `a text is folded in words of eight bytes, the first byte highest`(length: Int) {
    for text in [
      String(repeating: "aé\u{0}€", count: 8), "the quick brown fox jumps over the dogs",
    ] {
      let text = String(decoding: text.utf8.prefix(length), as: UTF8.self)
      var expected = StateDigest()
      var word: UInt64 = 0
      for (index, byte) in text.utf8.enumerated() {
        word = word << 8 | UInt64(byte)
        guard index % 8 == 7 else { continue }
        expected.fold(word)
        word = 0
      }
      expected.fold(word)
      expected.fold(UInt64(text.utf8.count))
      var digest = StateDigest()
      digest.fold(text)
      #expect(digest == expected)
    }
  }

  @Test func `a digest depends on the order, the length and every byte`() {
    func digest(_ texts: String...) -> StateDigest {
      var digest = StateDigest()
      for text in texts { digest.fold(text) }
      return digest
    }
    let all = [
      digest(), digest(""), digest("a"), digest("b"), digest("a", "b"), digest("b", "a"),
      digest("ab"), digest("\u{0}"), digest("\u{0}\u{0}"), digest("12345678"),
      digest("123456789"), digest("12345678", "9"),
    ]
    #expect(Set(all).count == all.count)
  }

  @Test func `mixing is the finaliser of SplitMix64`() {
    // These are the first two words of java.util.SplittableRandom's generator with seed 0.
    #expect(StateDigest.mixed(0x9E37_79B9_7F4A_7C15) == 0xE220_A839_7B1D_CDAF)
    #expect(StateDigest.mixed(0x9E37_79B9_7F4A_7C15 &* 2) == 0x6E78_9E6A_A1B9_65F4)
    #expect(StateDigest.mixed(0) == 0)
  }

  @Test func `a digest reads as sixteen digits`() {
    #expect(StateDigest(value: 0xABC).description == "0000000000000abc")
    #expect(StateDigest(value: .max).description == "ffffffffffffffff")
  }
}

@Suite struct IdentifierTests {
  @Test func `the same number in another incarnation is another request`() {
    #expect(RequestID.of(1, incarnation: 1) != RequestID.of(1, incarnation: 2))
    #expect(
      "\(RequestID.of(3)) \(TimerID(4)) \(WriteID(5)) \(Incarnation(6))" == "3 4 5 incarnation 6")
  }
}
