import TestSupport
import Testing

@testable import UpdateMachine

@Suite struct ChecksummedMapTests {
  typealias Map = ChecksummedMap<Int64, String>

  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `the maintained checksum equals the checksum of the entries`(seed: UInt64) {
    var steps = SplitMix(seed)
    var forks = [Map()]
    for _ in 0..<3000 {
      let index = steps.below(forks.count)
      let key = Int64(steps.below(400))
      switch steps.below(40) {
      case 0..<20: forks[index][key] = "\(steps.below(3))"
      case 20..<30: forks[index][key] = nil
      case 30..<34: forks[index].updateValue("\(steps.below(3))", forKey: key)
      case 34..<37: forks[index].removeValue(forKey: key)
      case 37: forks[index].removeAll(in: key..<(key + Int64(steps.below(40))))
      case 38: forks[index].removeAll(in: key...(key + Int64(steps.below(40))))
      default:
        let fork = forks[index]
        if forks.count < 5 { forks.append(fork) } else { forks[steps.below(5)] = fork }
      }
    }
    forks.append(Map(forks[0].map))
    for fork in forks {
      #expect(fork.checksum == fork.map.checksum)
      for other in forks {
        // With so few contents, two that differ must not have equal checksums.
        #expect((fork.checksum == other.checksum) == (fork == other))
        var applied = other
        applied.apply(fork.map.difference(from: other.map))
        #expect(applied == fork)
        #expect(applied.checksum == fork.checksum)
      }
    }
    var emptied = forks[0]
    emptied.removeAll(in: -1...1000)
    #expect(emptied.checksum == 0)
    #expect(forks[0].map.brokenRule == nil)
  }

  @Test func `the checksum does not depend on the order of changes`() {
    var up = Map()
    var down = Map()
    for key in 0..<2000 as Range<Int64> { up[key] = "\(key)" }
    for key in (0..<4000 as Range<Int64>).reversed() { down[key] = key % 2 == 0 ? "\(key)" : "" }
    for key in 0..<2000 as Range<Int64> where key % 2 == 1 { down[key] = "\(key)" }
    #expect(up.checksum != down.checksum)
    down.removeAll(in: 2000..<4000)
    let built = VersionedMap(sorted: (0..<2000).map { (key: Int64($0), value: "\($0)") })
    #expect(up.checksum == down.checksum)
    #expect(up.checksum == built.checksum)
    #expect(up == down)
  }

  @Test func `the checksum is the same in every process`() {
    var map = ChecksummedMap<String, Int64?>()
    map["one"] = .some(1)
    map["two"] = .some(nil)
    #expect(map.count == 2)
    #expect(map.checksum == 11_885_245_753_196_233_420)
    map.removeAll()
    #expect(map.checksum == 0)
  }

  @Test func `nearly equal contents have different checksums`() {
    var seen: Set<UInt64> = [0]
    var count = 1
    for key in 0..<60 as Range<Int64> {
      for value in ["", "0", "1", "10", "\0", "\0\0\0\0\0\0\0\0", "long enough for two words"] {
        var map = Map()
        map[key] = value
        seen.insert(map.checksum)
        map[key + 100] = value
        seen.insert(map.checksum)
        count += 2
      }
    }
    #expect(seen.count == count)
  }

  @Test func `a key that is spelled differently keeps its first spelling, in the checksum too`() {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    var map = ChecksummedMap<String, Int64>()
    map[composed] = 1
    map[decomposed] = 2
    #expect(map.count == 1)
    #expect(map.checksum == map.map.checksum)
    map[decomposed] = nil
    #expect(map.checksum == 0)
  }

  @Test func `different values have different digests`() {
    func digest(_ value: some Digestible) -> UInt64 {
      var digest = StateDigest()
      value.fold(into: &digest)
      return digest.value
    }
    #expect(digest([1, 2] as [Int64]) != digest([2, 1] as [Int64]))
    #expect(digest([] as [Int64]) != digest([0] as [Int64]))
    #expect(digest([[], [1]] as [[Int64]]) != digest([[1], []] as [[Int64]]))
    #expect(digest(nil as Int64?) != digest(.some(0) as Int64?))
    #expect(digest(nil as Int64??) != digest(.some(nil) as Int64??))
    #expect(digest(true) != digest(false))
    #expect(digest(-1 as Int64) == digest(-1 as Int))
    #expect(digest(7 as UInt8) == digest(7 as UInt64))
    #expect(digest(["a", ""]) != digest(["", "a"]))
  }
}
