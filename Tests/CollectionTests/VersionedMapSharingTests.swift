import TestSupport
import Testing

@testable import UpdateMachine

/// Tests what a copy and a change cost, counted in nodes.
@Suite struct VersionedMapSharingTests {
  typealias Map = VersionedMap<Int64, Int64>

  static func numbers(_ count: Int64) -> Map {
    Map(sorted: (0..<count).map { (key: $0 * 2, value: $0) })
  }

  @Test func `a copy shares all nodes`() {
    let map = Self.numbers(100_000)
    let copy = map
    #expect(copy.isIdentical(to: map))
    #expect(copy.nodes == map.nodes)
    #expect(copy == map)
  }

  @Test func `a map is as small as one reference`() {
    #expect(MemoryLayout<Map>.size == MemoryLayout<Int>.size)
  }

  @Test func `a change after a copy copies the nodes of one path and shares the others`() {
    let map = Self.numbers(100_000)
    #expect(map.height == 4)
    var fork = map
    fork[70_000] = -1
    #expect(fork.nodes.subtracting(map.nodes).count == map.height)
    #expect(map[70_000] == 35_000)
    #expect(fork[70_000] == -1)
    let nodes = fork.nodes
    fork[70_002] = -2  // It is in the same leaf, which is the fork's own by now.
    #expect(fork.nodes == nodes)
  }

  @Test func `a map that shares nothing is changed in place`() {
    var map = Self.numbers(100_000)
    var steps = SplitMix(1)
    let nodes = map.nodes
    for _ in 0..<1000 { map[Int64(steps.below(100_000)) * 2] = 7 }
    for _ in 0..<1000 { map.modifyValue(forKey: Int64(steps.below(100_000)) * 2) { $0 += 1 } }
    #expect(map.nodes == nodes)
    map.removeValue(forKey: 8)
    map[8] = 8
    #expect(map.nodes == nodes)
  }

  @Test func `a map owns its nodes alone once its fork is released`() {
    var map = Self.numbers(10_000)
    let nodes = map.nodes
    do {
      let fork = map
      #expect(fork.isIdentical(to: map))
    }
    map[6] = 0
    #expect(map.nodes == nodes)
  }

  @Test func `an operation without a change copies nothing`() {
    let map = Self.numbers(10_000)
    var fork = map
    #expect(fork.removeValue(forKey: 7) == nil)
    #expect(fork.modifyValue(forKey: 7) { $0 = 1 } == nil)
    #expect(fork.removeAll(in: 7..<8) == 0)
    #expect(fork.removeAll(in: 8..<8) == 0)
    #expect(fork.removeAll(in: 20_000...) == 0)
    #expect(fork.isIdentical(to: map))
  }

  @Test func `removing a range copies two paths and shares the rest`() {
    let map = Self.numbers(100_000)
    var fork = map
    #expect(fork.removeAll(in: 50_000..<150_000) == 50_000)
    #expect(fork.nodes.subtracting(map.nodes).count <= 4 * map.height)
    #expect(map.count == 100_000)
    #expect(fork.count == 50_000)
  }

  @Test func `values are released with the last version that has them`() {
    final class Token: Sendable {}
    weak var early: Token?
    weak var late: Token?
    var map = VersionedMap<Int64, Token>()
    do {
      let (one, other) = (Token(), Token())
      early = one
      late = other
      for key in 0..<500 as Range<Int64> { map[key] = key % 2 == 0 ? one : other }
    }
    var fork = map
    for key in 0..<500 as Range<Int64> where key % 2 == 0 { fork[key] = nil }
    #expect(early != nil)
    map = fork
    #expect(early == nil)
    #expect(late != nil)
    map.removeAll(in: 0...499)
    #expect(late != nil)
    fork.removeAll()
    #expect(late == nil)
  }

  @Test func `a change that throws leaves the value as its body left it`() {
    struct Refused: Error {}
    var map: Map = [1: 1, 2: 2]
    let before = map
    #expect(throws: Refused.self) {
      try map.modifyValue(forKey: 2) { (value: inout Int64) throws(Refused) in
        value = 5
        throw Refused()
      }
    }
    #expect(map[2] == 5)
    #expect(before[2] == 2)
  }

  @Test func `an iteration stays in the version in which it began`() {
    var map = Self.numbers(1000)
    var seen: Int64 = 0
    for (key, value) in map {
      #expect(value == seen)
      seen += 1
      map[key] = nil
    }
    #expect(seen == 1000)
    #expect(map.isEmpty)
  }

  @Test func `versions are read and changed in several threads at once`() async {
    let map = Self.numbers(5000)
    let sums = await withTaskGroup(of: Int64.self) { group in
      for task in 0..<8 as Range<Int64> {
        group.addTask {
          var fork = map
          for key in stride(from: task, to: 10_000, by: 8) { fork[key] = task }
          fork.removeAll(in: 4000..<6000)
          return fork.reduce(0) { $0 + $1.value } - task
        }
      }
      return await group.reduce(into: 0) { $0 += $1 }
    }
    #expect(sums != 0)
    #expect(map == Self.numbers(5000))
  }

  @Test func `a map that is made from entries out of order traps`() async {
    await #expect(processExitsWith: .failure) {
      _ = VersionedMap<Int64, Int64>(sorted: [(key: 2, value: 0), (key: 1, value: 0)])
    }
    await #expect(processExitsWith: .failure) {
      _ = VersionedMap<Int64, Int64>(sorted: [(key: 1, value: 0), (key: 1, value: 0)])
    }
    await #expect(processExitsWith: .failure) {
      let _: VersionedMap<Int64, Int64> = [1: 0, 1: 0]
    }
  }
}
