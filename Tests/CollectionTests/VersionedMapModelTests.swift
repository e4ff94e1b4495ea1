import TestSupport
import Testing

@testable import UpdateMachine

/// Compares a map and its forks with the simplest possible map, in long random runs.
@Suite struct VersionedMapModelTests {
  /// One map, and its expected content.
  struct Pair<Key: Drawn & Comparable, Value: Drawn> {
    var map = VersionedMap<Key, Value>()
    var model = NaiveMap<Key, Value>()

    /// Performs a random operation. Returns the difference if the two maps answer differently.
    mutating func step(_ steps: inout SplitMix, keys: Int) -> String? {
      let key = Key.drawn(steps.below(keys))
      let value = Value.drawn(steps.below(1000))
      switch steps.below(24) {
      case 0..<11:
        let old = model.values.updateValue(value, forKey: key)
        return map.updateValue(value, forKey: key) == old ? nil : "update \(key)"
      case 11..<20:
        let old = model.values.removeValue(forKey: key)
        return map.removeValue(forKey: key) == old ? nil : "remove \(key)"
      case 20:
        let isThere = model.values[key] != nil
        if isThere { model.values[key] = value }
        let told: Bool? = map.modifyValue(forKey: key) {
          $0 = value
          return true
        }
        return told == (isThere ? true : nil) ? nil : "modify \(key)"
      case 21:
        map[key] = value
        model.values[key] = value
        return map[key] == value ? nil : "set \(key)"
      default: return removeRange(&steps, from: key, keys: keys)
      }
    }

    mutating func removeRange(_ steps: inout SplitMix, from key: Key, keys: Int) -> String? {
      let other = Key.drawn(steps.below(keys))
      let (lower, upper) = (min(key, other), max(key, other))
      let (first, last) = (map.first?.key ?? key, map.last?.key ?? key)
      // Most ranges are short, or the map would always be nearly empty.
      let isShort = map.count(in: lower...upper) < 40 || steps.below(20) == 0
      let (told, expected) =
        switch (steps.below(5), isShort) {
        case (0, true): (map.removeAll(in: lower..<upper), gone { $0 >= lower && $0 < upper })
        case (1, true): (map.removeAll(in: lower...upper), gone { $0 >= lower && $0 <= upper })
        case (2, _): (map.removeAll(in: last...), gone { $0 >= last })
        case (3, _): (map.removeAll(in: ...first), gone { $0 <= first })
        case (4, _): (map.removeAll(in: ..<first), gone { $0 < first })
        default: (map.removeAll(in: lower..<lower), 0)
        }
      return told == expected ? nil : "removed \(told), not \(expected)"
    }

    mutating func gone(_ isGone: (Key) -> Bool) -> Int { model.removeAll(where: isGone) }

    /// Compares everything.
    var difference: String? {
      if let broken = map.brokenRule { return broken }
      let expected = model.sorted
      if map.count != expected.count { return "count \(map.count)" }
      let isEqual = map.elementsEqual(expected) { $0 == $1 }
      let isEqualDown = map.descending().elementsEqual(expected.reversed()) { $0 == $1 }
      return isEqual && isEqualDown ? nil : "entries"
    }

    /// Compares what can be asked about one key.
    func difference(at key: Key) -> String? {
      let sorted = model.sorted
      let below = sorted.prefix { $0.key < key }
      let above = sorted.drop { $0.key <= key }
      let value = model.values[key]
      func same(_ one: (key: Key, value: Value)?, _ other: (key: Key, value: Value)?) -> Bool {
        one?.key == other?.key && one?.value == other?.value
      }
      guard map[key] == value, map.contains(key) == (value != nil) else { return "get" }
      let entry = value.map { (key: key, value: $0) }
      guard same(map.first, sorted.first), same(map.last, sorted.last) else { return "ends" }
      guard same(map.first(from: key), entry ?? above.first) else { return "first from" }
      guard same(map.first(after: key), above.first) else { return "first after" }
      guard same(map.last(through: key), entry ?? below.last) else { return "last through" }
      guard same(map.last(before: key), below.last) else { return "last before" }
      let up = map.ascending(after: key).elementsEqual(above) { $0 == $1 }
      let down = map.descending(before: key).elementsEqual(below.reversed()) { $0 == $1 }
      let fromKey = map.ascending(from: key).reduce(0) { sum, _ in sum + 1 }
      let fromKeyDown = map.descending(from: key).reduce(0) { sum, _ in sum + 1 }
      guard up, fromKey == above.count + (value == nil ? 0 : 1) else { return "ascending" }
      guard down, fromKeyDown == below.count + (value == nil ? 0 : 1) else { return "descending" }
      return nil
    }
  }

  /// Changes several forks side by side. None may notice the changes of others.
  func live<Key: Drawn & Comparable, Value: Drawn>(
    _ type: Pair<Key, Value>.Type, seed: UInt64, keys: Int, steps count: Int
  ) -> String? {
    var steps = SplitMix(seed)
    var forks = [Pair<Key, Value>()]
    for step in 0..<count {
      let index = steps.below(forks.count)
      if let wrong = forks[index].step(&steps, keys: keys) { return "step \(step): \(wrong)" }
      if steps.below(40) == 0 {
        let fork = forks[index]
        let place = steps.below(6)
        if place < forks.count { forks[place] = fork } else { forks.append(fork) }
      }
      // Checking a large tree takes long, so it is done now and then.
      if step % (keys / 200 + 1) == 0, let broken = forks[index].map.brokenRule {
        return "step \(step): \(broken)"
      }
      if step % 61 == 0 {
        let key = Key.drawn(steps.below(keys))
        for fork in forks {
          if let wrong = fork.difference ?? fork.difference(at: key) {
            return "step \(step): \(wrong)"
          }
        }
      }
    }
    return nil
  }

  @Test(arguments: [(1, 8), (2, 200), (3, 3000), (4, 20_000)])
  func `a map of numbers and its forks behave like simple maps`(seed: UInt64, keys: Int) {
    #expect(live(Pair<Int64, Int64>.self, seed: seed, keys: keys, steps: 6000) == nil)
  }

  @Test(arguments: [(5, 200), (6, 2000)])
  func `a map of texts and its forks behave like simple maps`(seed: UInt64, keys: Int) {
    #expect(live(Pair<String, String>.self, seed: seed, keys: keys, steps: 4000) == nil)
  }

  @Test func `a map may hold values that are wider than its keys, and aligned to more`() {
    #expect(live(Pair<Int64, Wide>.self, seed: 7, keys: 2000, steps: 3000) == nil)
  }

  @Test(arguments: [0, 1, 4, 5, 63, 64, 65, 80, 127, 128, 129, 1000, 2048, 2049, 40_000])
  func `a map that was built from sorted entries can be changed`(count: Int) {
    var pair = Pair<Int64, Int64>()
    let entries = (0..<count).map { (key: Int64($0) * 3, value: Int64($0)) }
    pair.map = VersionedMap(sorted: entries)
    pair.model.values = Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0.value) })
    #expect(pair.difference == nil)
    var steps = SplitMix(UInt64(count))
    for _ in 0..<200 { #expect(pair.step(&steps, keys: count * 3 + 1) == nil) }
    #expect(pair.difference == nil)
  }

  @Test(arguments: [true, false])
  func `a map that grows at one end fills its nodes to three quarters`(isAscending: Bool) {
    var map = VersionedMap<Int64, Int64>()
    for number in 0..<Int64(20_000) { map[isAscending ? number : -number] = number }
    #expect(map.brokenRule == nil)
    let leaves = 20_000 / (MapNode<Int64, Int64>.leafMaximum / 4 * 3)
    #expect(map.nodes.count < leaves + leaves / 8)
  }

  @Test func `a range is removed from a large map wherever it lies`() {
    let whole = VersionedMap(sorted: (0..<30_000).map { (key: Int64($0), value: Int64($0)) })
    var steps = SplitMix(9)
    for _ in 0..<300 {
      let lower = Int64(steps.below(30_000))
      let upper = lower + Int64(steps.below(steps.pick([10, 1000, 30_000])))
      var map = whole
      #expect(map.removeAll(in: lower..<upper) == Int(min(upper, 30_000) - lower))
      #expect(map.brokenRule == nil)
      #expect(map.last(before: upper)?.key == (lower == 0 ? nil : lower - 1))
      #expect(map.first(from: lower)?.key == (upper >= 30_000 ? nil : upper))
    }
    #expect(whole.count == 30_000)
    #expect(whole.brokenRule == nil)
  }
}
