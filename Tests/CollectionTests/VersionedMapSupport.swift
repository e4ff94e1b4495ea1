import Testing

@testable import UpdateMachine

/// The expected content of a map, kept in the simplest way.
struct NaiveMap<Key: Hashable & Comparable, Value> {
  var values: [Key: Value] = [:]

  var sorted: [(key: Key, value: Value)] { values.sorted { $0.key < $1.key } }

  mutating func removeAll(where isGone: (Key) -> Bool) -> Int {
    let gone = values.keys.filter(isGone)
    for key in gone { values[key] = nil }
    return gone.count
  }
}

extension VersionedMap {
  /// The first rule of the tree that is broken; `nil` if none is.
  var brokenRule: String? {
    guard let root else { return nil }
    if root.level == 0, root.count < 1 { return "an empty map has no root" }
    if root.level > 0, root.count < 2 { return "a root has two children at least" }
    return root.brokenRule(isRoot: true)
  }

  /// Every node, by identity.
  var nodes: Set<ObjectIdentifier> {
    var found: Set<ObjectIdentifier> = []
    root?.collect(into: &found)
    return found
  }

  var height: Int { root.map { $0.level + 1 } ?? 0 }
}

extension MapNode {
  func brokenRule(isRoot: Bool) -> String? {
    let keys = (0..<count).map { unsafe self.keys[$0] }
    if !isRoot, count < MapNode.minimum(level: level) { return "\(count) at level \(level)" }
    if count > limit || limit > MapNode.maximum(level: level) { return "\(count) in \(limit)" }
    for (key, next) in zip(keys, keys.dropFirst()) where key >= next { return "keys ascend" }
    guard level > 0 else { return total == count ? nil : "\(total) for \(count) in a leaf" }
    var sum = 0
    for index in 0..<count {
      let child = unsafe children[index]
      if child.level != level - 1 { return "level \(child.level) below level \(level)" }
      if child.first != keys[index] { return "a child's first key is the key it has" }
      if let last = child.last, index + 1 < count, last >= keys[index + 1] {
        return "a child ends before the next begins"
      }
      if let broken = child.brokenRule(isRoot: false) { return broken }
      sum += child.total
    }
    return sum == total ? nil : "\(total) entries said, \(sum) there"
  }

  /// The last key below this node.
  var last: Key? {
    unsafe level == 0 ? keys[count - 1] : children[count - 1].last
  }

  func collect(into found: inout Set<ObjectIdentifier>) {
    found.insert(ObjectIdentifier(self))
    guard level > 0 else { return }
    for index in 0..<count { unsafe children[index].collect(into: &found) }
  }
}

/// A type of keys or values that can be drawn at random.
protocol Drawn: Hashable {
  static func drawn(_ number: Int) -> Self
}

extension Int64: Drawn {
  static func drawn(_ number: Int) -> Int64 { Int64(number) }
}

extension String: Drawn {
  /// Texts short and long, which are not in the order of their numbers.
  static func drawn(_ number: Int) -> String {
    number % 3 == 0 ? "\(number)" : "key that is not kept within the string itself \(number)"
  }
}

/// The largest value that is kept within the node. Its alignment is greater than a key's.
struct Wide: Drawn, Sendable {
  var high: UInt128
  var low: UInt64

  static func drawn(_ number: Int) -> Wide { Wide(high: UInt128(number) << 70, low: 7) }
}
