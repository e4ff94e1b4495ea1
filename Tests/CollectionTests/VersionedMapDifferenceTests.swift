import Foundation
import TestSupport
import Testing

@testable import UpdateMachine

@Suite struct VersionedMapDifferenceTests {
  typealias Map = VersionedMap<Int64, Int64>

  static func numbers(_ count: Int64) -> Map { VersionedMapSharingTests.numbers(count) }

  /// How many nodes are read to find what changed.
  static func cost(_ new: Map, from old: Map) -> Int {
    old.compare(with: new) { _, _, _ in true }
  }

  /// The changes, found in the simplest way.
  static func naive(_ new: Map, from old: Map) -> [Map.Difference.Change] {
    let keys = Set(new.map(\.key)).union(old.map(\.key))
    return keys.sorted().filter { new[$0] != old[$0] }.map {
      Map.Difference.Change(key: $0, old: old[$0], new: new[$0])
    }
  }

  @Test func `a difference lists added, removed and changed keys in order`() {
    let old: Map = [1: 1, 2: 2, 3: 3]
    let new: Map = [0: 0, 1: 1, 3: 4]
    let difference = new.difference(from: old)
    #expect(
      difference.changes == [
        Map.Difference.Change(key: 0, old: nil, new: 0),
        Map.Difference.Change(key: 2, old: 2, new: nil),
        Map.Difference.Change(key: 3, old: 3, new: 4),
      ])
    #expect(difference.inverted == old.difference(from: new))
    #expect(new.difference(from: new).isEmpty)
  }

  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func `applying a difference gives the other map`(seed: UInt64) {
    var steps = SplitMix(seed)
    let keys = [20, 500, 8000][Int(seed % 3)]
    var forks = [Self.numbers(Int64(keys / 2))]
    for _ in 0..<60 {
      var fork = steps.pick(forks)
      for _ in 0..<steps.below(40) {
        let key = Int64(steps.below(keys))
        fork[key] = steps.below(2) == 0 ? nil : Int64(steps.below(4))
      }
      if steps.below(5) == 0 {
        let key = Int64(steps.below(keys))
        fork.removeAll(in: key..<(key + Int64(steps.below(keys))))
      }
      if steps.below(10) == 0 { fork = Map(sorted: fork) }  // Shares no node.
      if forks.count == 8 { forks.removeFirst() }
      forks.append(fork)
      let (old, new) = (steps.pick(forks), steps.pick(forks))
      let difference = new.difference(from: old)
      #expect(difference.changes == Self.naive(new, from: old))
      var applied = old
      applied.apply(difference)
      #expect(applied == new)
      applied.apply(difference.inverted)
      #expect(applied == old)
      #expect((old == new) == difference.isEmpty)
      #expect(applied.brokenRule == nil)
    }
  }

  @Test(arguments: [true, false])
  func `bug 78: a bulk change puts no key into the map or a difference twice`(
    isShared: Bool
  ) {
    let old = Self.numbers(2_000)
    var new = isShared ? old : Map(sorted: old)
    // These go into the middle of full nodes, so that many are split at once.
    for key in 0..<5_000 { new[Int64(key) * 7 % 5_000] = -1 }
    new.removeAll(in: 1_000..<1_500)
    #expect(new.map(\.key) == Array(0..<1_000) + Array(1_500..<5_000))
    #expect(new.brokenRule == nil)
    let difference = new.difference(from: old)
    #expect(difference.changes == Self.naive(new, from: old))
    var applied = old
    applied.apply(difference)
    #expect(applied == new)
  }

  @Test func `the difference of a map from itself opens no node`() {
    let map = Self.numbers(100_000)
    let copy = map
    #expect(Self.cost(copy, from: map) == 0)
    #expect(Self.cost([:], from: [:]) == 0)
  }

  @Test(arguments: [1, 10, 100])
  func `a difference opens only the changed paths`(changes: Int) {
    let old = Self.numbers(100_000)
    var new = old
    var steps = SplitMix(UInt64(changes))
    var changed: Set<Int64> = []
    while changed.count < changes { changed.insert(Int64(steps.below(200_000))) }
    for key in changed { new[key] = new[key] == nil || key % 3 > 0 ? -1 : nil }
    #expect(new.difference(from: old).changes.map(\.key) == changed.sorted())
    // It reads exactly the nodes that the two do not share. On either side these are at most one
    // path for each change, and now and then a neighbour.
    let unshared = old.nodes.symmetricDifference(new.nodes).count
    #expect(Self.cost(new, from: old) == unshared)
    #expect(unshared <= 2 * changes * old.height + 2)
    #expect(Self.cost(old, from: new) == unshared)
  }

  @Test func `a difference after removing a range opens only the unshared nodes`() {
    let old = Self.numbers(100_000)
    var new = old
    new.removeAll(in: 100_000..<101_000)
    let unshared = old.nodes.symmetricDifference(new.nodes).count
    #expect(new.difference(from: old).changes.count == 500)
    #expect(Self.cost(new, from: old) == unshared)
    #expect(unshared < 50)
  }

  @Test func `a difference opens no shared nodes, whatever the heights`() {
    let old = Self.numbers(100_000)
    for (lower, upper) in [(0, 199_000), (500, 199_900), (3000, 100_000), (190_000, 200_000)] {
      var new = old
      new.removeAll(in: Int64(lower)..<Int64(upper))
      let unshared = old.nodes.symmetricDifference(new.nodes).count
      #expect(Self.cost(new, from: old) == unshared)
      #expect(Self.cost(old, from: new) == unshared)
    }
  }

  @Test func `a comparison of maps stops at the first difference`() {
    let one = Self.numbers(50_000)
    var other = Map(sorted: one)
    #expect(one == other)
    #expect(one.hashValue == other.hashValue)
    other[0] = 5
    #expect(one != other)
    var asked = 0
    one.compare(with: other) { _, _, _ in
      asked += 1
      return false
    }
    #expect(asked == 1)
    other[0] = nil
    #expect(one != other)
  }

  // MARK: Saved form

  @Test func `a map is decoded as it was encoded`() throws {
    let map = Self.numbers(1000)
    let data = try JSONEncoder().encode(map)
    let read = try JSONDecoder().decode(Map.self, from: data)
    #expect(read == map)
    #expect(read.brokenRule == nil)
    let small = try JSONEncoder().encode([1: 2, 3: 4] as Map)
    #expect(String(decoding: small, as: UTF8.self) == "[1,2,3,4]")
    #expect(try JSONDecoder().decode(Map.self, from: Data("[]".utf8)).isEmpty)
  }

  @Test(arguments: ["[3,4,1,2]", "[1,2,1,2]", "[1,2,3]", "{}"])
  func `a text that no map encodes cannot be decoded`(text: String) {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Map.self, from: Data(text.utf8))
    }
  }
}
