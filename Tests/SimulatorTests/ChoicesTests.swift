import Testing
import UpdateMachine

@testable import Simulator

struct ChoicesTests {
  private func draws(
    _ choices: inout Choices, _ stream: Choices.Stream, _ count: Int, below bound: UInt64 = 1000
  ) -> [UInt64] {
    (0..<count).map { _ in choices.draw(stream, below: bound) }
  }

  @Test func `equal seeds give equal draws, other seeds give others`() {
    var one = Choices(seed: 7)
    var same = Choices(seed: 7)
    var other = Choices(seed: 8)
    for stream in Choices.Stream.allCases {
      let drawn = draws(&one, stream, 50)
      #expect(drawn == draws(&same, stream, 50))
      #expect(drawn != draws(&other, stream, 50))
    }
    #expect(one.record == same.record)
  }

  @Test(arguments: Choices.Stream.allCases)
  func `one more draw in one stream changes nothing in the others`(stream: Choices.Stream) {
    var plain = Choices(seed: 3)
    var disturbed = Choices(seed: 3)
    _ = draws(&disturbed, stream, 1)
    for other in Choices.Stream.allCases where other != stream {
      #expect(draws(&disturbed, other, 20) == draws(&plain, other, 20))
    }
    #expect(draws(&disturbed, stream, 20) != draws(&plain, stream, 20))
  }

  @Test func `no two streams draw alike`() {
    var choices = Choices(seed: 1)
    let all = Choices.Stream.allCases.map { draws(&choices, $0, 10) }
    #expect(Set(all).count == Choices.Stream.allCases.count)
  }

  // MARK: Known values

  @Test func `the generator is SplitMix64`() {
    // The published output for seed 1234567.
    var generator = SplitMix(1_234_567)
    #expect(
      (1...5).map { _ in generator.next() } == [
        6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
        4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
      ])
  }

  // These values were computed by another program. If one of them changes, every seed noted so far
  // means another run.
  @Test(
    arguments: [
      (
        0,
        [
          652448, 276233, 930287, 305194, 275707, 77452, 416291, 915398, 57181, 829924, 839922,
          87280, 767505, 677067, 465258, 81402, 221515, 43070, 139185, 808776,
        ]
      ),
      (
        1,
        [
          368189, 466966, 651475, 245605, 250007, 993906, 957535, 920106, 887361, 171256, 875986,
          441377, 115372, 65225, 937518, 366602, 461696,
          871256, 120476, 962078,
        ]
      ),
      (
        0xDEAD_BEEF,
        [
          120441, 431791, 286387, 901285, 992463, 394407, 43630, 518450, 234925, 717059, 277153,
          620579, 877017, 632667, 587133, 330488, 209135, 428993, 57182, 880573,
        ]
      ),
    ] as [(UInt64, [UInt64])])
  func `the first draw of each stream never changes`(seed: UInt64, expected: [UInt64]) {
    var choices = Choices(seed: seed)
    let drawn = Choices.Stream.allCases.map { choices.draw($0, below: 1_000_000) }
    #expect(drawn == expected)
  }

  @Test func `the second draw of each stream never changes`() {
    var choices = Choices(seed: 1)
    let drawn = Choices.Stream.allCases.map { draws(&choices, $0, 2, below: 1_000_000)[1] }
    #expect(
      drawn == [
        943564, 34331, 427003, 750952, 464077, 146161, 452678, 273721, 756882, 272647, 287458,
        322454, 203027, 97662, 494653, 808028, 8411, 805703, 420336, 399468,
      ])
  }

  // MARK: Replaying

  /// Some draws of every kind.
  private func life(_ choices: inout Choices) -> [Int64] {
    var drawn: [Int64] = []
    for round in 1...30 {
      drawn.append(Int64(choices.draw(.network, below: UInt64(round))))
      drawn.append(choices.draw(.timers, in: -5...Int64(round)))
      drawn.append(choices.happens(.faults, 1, in: 3) ? 1 : 0)
      drawn.append(choices.pick(.users, [10, 20, 30]))
      var list: [Int64] = [1, 2, 3, 4, 5]
      choices.shuffle(.workload, &list)
      drawn += list
    }
    return drawn
  }

  @Test func `replaying a record gives the same values and the same record`() {
    var choices = Choices(seed: 99)
    let drawn = life(&choices)
    var again = Choices(replaying: choices.record)
    #expect(life(&again) == drawn)
    #expect(again.record == choices.record)
  }

  @Test func `a truncated record continues with zeros`() {
    var choices = Choices(seed: 99)
    _ = draws(&choices, .network, 10)
    _ = draws(&choices, .users, 10)
    var cut = Choices(replaying: Array(choices.record.prefix(15)))
    #expect(draws(&cut, .users, 10) == choices.record[10..<15].map(\.value) + [0, 0, 0, 0, 0])
    #expect(draws(&cut, .network, 12) == choices.record[..<10].map(\.value) + [0, 0])
    #expect(draws(&cut, .disks, 3) == [0, 0, 0])
  }

  @Test func `a truncated record can continue with a seed's draws, stream by stream`() {
    var choices = Choices(seed: 99)
    _ = draws(&choices, .network, 10)
    _ = draws(&choices, .users, 10)
    var cut = Choices(replaying: Array(choices.record.prefix(15)), then: 5)
    var fresh = Choices(seed: 5)
    #expect(
      draws(&cut, .users, 8) == choices.record[10..<15].map(\.value) + draws(&fresh, .users, 3))
    #expect(
      draws(&cut, .network, 12) == choices.record[..<10].map(\.value) + draws(&fresh, .network, 2))
    #expect(draws(&cut, .disks, 3) == draws(&fresh, .disks, 3))
  }

  @Test func `an empty record draws the tamest values`() {
    var choices = Choices(replaying: [])
    var list = [1, 2, 3, 4]
    choices.shuffle(.server, &list)
    #expect(list == [1, 2, 3, 4])
    #expect(choices.draw(.server, in: -7...7) == -7)
    #expect(choices.happens(.faults, 63, in: 64) == false)
    #expect(choices.pick(.users, ["calm", "storm"]) == "calm")
  }

  @Test func `a value too large for its draw is lowered to the largest that fits`() {
    var choices = Choices(replaying: [
      Choices.Choice(stream: .network, value: 900), Choices.Choice(stream: .network, value: .max),
      Choices.Choice(stream: .network, value: 2),
    ])
    #expect(choices.draw(.network, below: 10) == 9)
    #expect(choices.draw(.network, below: 1) == 0)
    #expect(choices.draw(.network, below: 10) == 2)
    #expect(choices.record.map(\.value) == [9, 0, 2])
  }

  // MARK: Bounds

  @Test(arguments: [1, 2, 3, 7, 64, 1000, 1 << 32, .max] as [UInt64])
  func `a draw stays below its bound`(bound: UInt64) {
    var choices = Choices(seed: bound)
    #expect(draws(&choices, .network, 500, below: bound).allSatisfy { $0 < bound })
  }

  @Test func `a small draw reaches every value, about equally often`() {
    var choices = Choices(seed: 5)
    var counts = [0, 0, 0, 0, 0, 0]
    for value in draws(&choices, .network, 6000, below: 6) { counts[Int(value)] += 1 }
    #expect(counts.allSatisfy { (850...1150).contains($0) }, "\(counts)")
  }

  @Test(
    arguments: [
      0...0, -3...3, 5...6, .min ... .min, .max ... .max, (.max - 1) ... .max, -1...(.max - 1),
    ] as [ClosedRange<Int64>])
  func `a draw from a range stays in it`(range: ClosedRange<Int64>) {
    var choices = Choices(seed: 1)
    for _ in 0..<200 { #expect(range.contains(choices.draw(.timers, in: range))) }
  }

  @Test func `a range of one value draws nothing`() {
    var choices = Choices(seed: 1)
    #expect(choices.draw(.timers, in: 4...4) == 4)
    #expect(choices.happens(.timers, 0, in: 4) == false)
    #expect(choices.record.isEmpty)
  }

  @Test func `an event of probability 1 always happens, one of one half about half the time`() {
    var choices = Choices(seed: 1)
    #expect((0..<100).allSatisfy { _ in choices.happens(.faults, 4, in: 4) })
    #expect((0..<100).allSatisfy { _ in choices.happens(.faults, 9, in: 4) })
    let half = (0..<1000).filter { _ in choices.happens(.faults, 2, in: 4) }.count
    #expect((430...570).contains(half))
  }

  @Test func `a pick reaches every element`() {
    var choices = Choices(seed: 1)
    let picked = (0..<100).map { _ in choices.pick(.users, ["a", "b", "c"]) }
    #expect(Set(picked) == ["a", "b", "c"])
  }

  @Test func `a shuffle is a permutation, and reaches every permutation`() {
    var choices = Choices(seed: 1)
    var seen: Set<[Int]> = []
    for _ in 0..<500 {
      var list = [1, 2, 3, 4]
      choices.shuffle(.workload, &list)
      #expect(list.sorted() == [1, 2, 3, 4])
      seen.insert(list)
    }
    #expect(seen.count == 24)
    var none: [Int] = []
    choices.shuffle(.workload, &none)
    #expect(none == [])
  }

  @Test func `a draw from an empty range is a programmer's mistake`() async {
    await #expect(processExitsWith: .failure) {
      var choices = Choices(seed: 1)
      _ = choices.draw(.network, below: 0)
    }
  }
}
