/// From which state each state was first reached, in two bits for each.
///
/// Breadth first, states are numbered in the order of discovery and expanded in that order. So the
/// parents' numbers never fall, and a list of them is a row of bits: a one for each state, and
/// between two states a zero for each number by which the parent's grows. (Jacobson's
/// level-order representation of trees, "Space-efficient static trees and graphs", 1989.)
@usableFromInline
struct Lineage: ~Copyable {
  @usableFromInline var words = Pile<UInt64>()
  /// The bits that are not in `words` yet, from the lowest, and their number.
  @usableFromInline var last: UInt64 = 0
  @usableFromInline var lastCount = 0
  /// The number of states.
  @usableFromInline var count = 0
  /// The parent of the last state, counted from 1; 0: it has none.
  @usableFromInline var parent = 0

  /// Stands for the parent of an initial state.
  @inlinable static var nobody: Int { -1 }

  @inlinable
  init() {}

  @inlinable
  var bytes: UInt64 { words.bytes }

  /// Adds the next state.
  ///
  /// - Parameter parent: the number of the state it was reached from, at least that of the last
  ///   call; or ``nobody``.
  @inlinable
  @inline(__always)
  mutating func append(parent: Int) {
    precondition(parent + 1 >= self.parent, "states are expanded in the order of their numbers")
    while self.parent <= parent {
      put(0)
      self.parent &+= 1
    }
    put(1)
    count &+= 1
  }

  @inlinable
  @inline(__always)
  mutating func put(_ bit: UInt64) {
    last |= bit << UInt64(truncatingIfNeeded: lastCount)
    lastCount &+= 1
    if lastCount == 64 {
      words.append(last)
      last = 0
      lastCount = 0
    }
  }

  /// The numbers of the states on the path from an initial state to the last one. O(n / 64): one
  /// walk backwards through the bits.
  @inlinable
  func pathToLast() -> [Int] {
    var path: [Int] = []
    var wanted = count - 1
    // Before the bits of `word`, there are `ones` states and `zeros` parents.
    var index = words.count
    var word = last
    var ones = count - last.nonzeroBitCount
    var zeros = parent - (lastCount - last.nonzeroBitCount)
    while wanted >= 0 {
      while ones > wanted {
        index -= 1
        word = words[index]
        ones -= word.nonzeroBitCount
        zeros -= 64 - word.nonzeroBitCount
      }
      path.append(wanted)
      var rest = word
      for _ in ones..<wanted { rest &= rest - 1 }
      // Every bit below the state's own is a state or a parent.
      wanted = zeros + rest.trailingZeroBitCount - (wanted - ones) - 1
    }
    path.reverse()
    return path
  }
}
