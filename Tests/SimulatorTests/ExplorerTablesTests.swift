import Testing
import UpdateMachine

@testable import Simulator

/// Tests what an explorer remembers of its states: their fingerprints, and which came from which.
struct ExplorerTablesTests {
  @Test func `a fingerprint set grows and holds each fingerprint once`() {
    var set = FingerprintSet()
    for round in 0..<2 {
      for word: UInt64 in 0..<200_000 {
        let hasRoom = set.makeRoom(for: word.fingerprint, within: .max)
        let isNew = set.insert(word.fingerprint)
        #expect(hasRoom && isNew == (round == 0))
      }
    }
    // All of them lie at one end of a table, so that probes wrap around its end.
    for word: UInt64 in 0..<1000 {
      _ = set.makeRoom(for: .max - word, within: .max)
      let isNew = set.insert(.max - word)
      #expect(isNew)
    }
    let count = set.count
    #expect(count == 201_000)
    let held = (0..<1000 as Range<UInt64>).allSatisfy { set.contains(.max - $0) }
    let another = set.contains(.max - 1000)
    #expect(held && !another)
    let bytes = set.bytes
    #expect(bytes < 201_000 * 10)
  }

  @Test func `fingerprints that differ in any one bit are different`() {
    var set = FingerprintSet()
    let first: UInt64 = 0x0123_4567_89AB_CDEF
    var all = [first, 0] + (0..<64).map { 1 << UInt64($0) } + (0..<64).map { first ^ 1 << $0 }
    // Zeros in all seven bytes that are stored.
    all += (2..<256).filter { $0.nonzeroBitCount > 1 }.map { UInt64($0) << 56 }
    for fingerprint in all {
      let isThere = set.contains(fingerprint)
      #expect(!isThere)
      _ = set.makeRoom(for: fingerprint, within: .max)
      let isNew = set.insert(fingerprint)
      let again = set.insert(fingerprint)
      #expect(isNew && !again)
    }
    let count = set.count
    #expect(count == all.count)
  }

  @Test func `a fingerprint set that cannot grow fills up to seven eighths`() {
    var set = FingerprintSet()
    let bytes = set.bytes
    var held: UInt64 = 0
    // Each goes into the next of 256 tables, each of which has 16 slots.
    func another() -> UInt64 { held << 56 | (held + 1) << 40 }
    while set.makeRoom(for: another(), within: bytes) {
      let isNew = set.insert(another())
      #expect(isNew)
      held += 1
    }
    #expect(held == 256 * 14)
    let canGrow = set.makeRoom(for: another(), within: bytes * 2)
    let isNew = set.insert(another())
    let count = set.count
    #expect(canGrow && isNew && count == 256 * 14 + 1)
  }

  @Test func `a table that is full grows out of its turn, if there is memory`() {
    var set = FingerprintSet()
    let bytes = set.bytes
    // All go into one table, which has 16 slots, of which one stays free.
    for number: UInt64 in 1...15 {
      let hasRoom = set.makeRoom(for: number, within: bytes)
      let isNew = set.insert(number)
      #expect(hasRoom && isNew)
    }
    let hasRoom = set.makeRoom(for: 16, within: bytes)
    let canGrow = set.makeRoom(for: 16, within: .max)
    let isNew = set.insert(16)
    let areThere = (1...16 as ClosedRange<UInt64>).allSatisfy { set.contains($0) }
    #expect(!hasRoom && canGrow && isNew && areThere)
    let more = set.bytes - bytes
    #expect(more == 14)
  }

  @Test func `a lineage gives the path that a list of parents gives`() {
    var random = SplitMix(1)
    for round in 0..<50 {
      var lineage = Lineage()
      var parents: [Int] = []
      let first = 1 + random.below(3)
      for _ in 0..<first { parents.append(Lineage.nobody) }
      // Some states have hundreds of children, and others none.
      let jumps = [1, 3, 200][round % 3]
      var parent = 0
      while parents.count < 2000 * (round % 7) + 1, parent < parents.count {
        for _ in 0..<random.below(jumps * 2 + 2) { parents.append(parent) }
        parent += 1 + random.below(2)
      }
      for parent in parents { lineage.append(parent: parent) }
      var expected: [Int] = []
      var number = parents.count - 1
      while number != Lineage.nobody {
        expected.append(number)
        number = parents[number]
      }
      let path = lineage.pathToLast()
      #expect(path == expected.reversed())
    }
  }
}
