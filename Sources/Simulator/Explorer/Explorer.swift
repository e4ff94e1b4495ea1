// Explorer: the room that visits every state of a small world. It uses nothing but Values. It knows
// nothing of clients and servers, so that a page of TLA+ can be explored, too.
//
// Explorer may use: no other room.

/// Visits and checks every reachable state of a model once, breadth first.
///
/// Levels are visited one after the other, so the first violation found is one with the fewest
/// steps. Its ``Counterexample`` is therefore a shortest one.
///
/// A complete model, Lamport's *Die Hard*: measure four gallons with jugs of three and five.
///
/// ```swift
/// struct Jugs: ExplorableModel {
///   enum Step: String {
///     case fillSmall, fillBig, emptySmall, emptyBig, pourSmall, pourBig
///   }
///
///   /// Gallons in the small jug, and above them those in the big one.
///   func pack(_ small: UInt64, _ big: UInt64) -> UInt64 { small | big << 8 }
///
///   var initialStates: [UInt64] { [pack(0, 0)] }
///
///   func forEachSuccessor(of state: UInt64, _ visit: (Step, UInt64) -> Void) {
///     let small = state & 255
///     let big = state >> 8
///     let up = min(small, 5 - big)
///     let down = min(big, 3 - small)
///     visit(.fillSmall, pack(3, big))
///     visit(.fillBig, pack(small, 5))
///     visit(.emptySmall, pack(0, big))
///     visit(.emptyBig, pack(small, 0))
///     visit(.pourSmall, pack(small - up, big + up))
///     visit(.pourBig, pack(small + down, big - down))
///   }
///
///   func violation(of state: UInt64) -> String? {
///     state >> 8 == 4 ? "four gallons are in the big jug" : nil
///   }
///
///   func description(of state: UInt64) -> String {
///     "small \(state & 255), big \(state >> 8)"
///   }
///
///   func description(ofStep step: Step) -> String { step.rawValue }
/// }
///
/// let exploration = Explorer(Jugs()).run()
/// for line in exploration.counterexample?.lines ?? [] { print(line) }
/// ```
///
/// **Memory.** Each state costs a 64-bit fingerprint in some 8.6 bytes, and two bits that say from
/// which state it came. The state itself is kept only until its successors are known. So a closed
/// exploration of states of 8 or 16 bytes costs 9 to 11 bytes for each. If the fingerprint is exact
/// (``PackedState/hasExactFingerprint``), as for 64-bit states, nothing is missed. Otherwise two
/// states may share one, and what only the second leads to is missed. For n states the probability
/// is at most n² / 2⁶⁵ (a union over the pairs, for fingerprints as good as random): 3 in 100
/// million for a million states, and 3 in 10,000 for a hundred million.
///
/// **Counts** follow TLC (Yu, Manolios and Lamport, "Model Checking TLA+ Specifications", 1999):
/// see ``ExplorationCounts``.
///
/// **A counterexample** costs nothing until there is one. The two bits of each state give the path,
/// and a second, identical run collects its states.
public struct Explorer<Model: ExplorableModel> {
  @usableFromInline package var model: Model
  /// The most memory to take, in bytes; the exploration ends well before it would exceed it. The
  /// second run for a counterexample needs no more than the first.
  @usableFromInline package var memoryLimit: UInt64
  /// The last level to visit; at least 1, the level of the initial states.
  @usableFromInline package var depthLimit: Int64
  /// Returns the bytes that the model itself has taken, for a model that remembers something. They
  /// count towards the limit.
  @usableFromInline package var memoryOfModel: () -> UInt64 = { 0 }

  /// Creates an explorer, and explores nothing yet.
  ///
  /// - Parameters:
  ///   - model: the model to explore.
  ///   - memoryLimit: the most memory to take, in bytes; by default 1 GiB.
  ///   - depthLimit: the last level to visit, from 1, the initial states; by default there is no
  /// limit.
  @inlinable
  public init(_ model: Model, memoryLimit: UInt64 = 1 << 30, depthLimit: Int64 = .max) {
    self.model = model
    self.memoryLimit = memoryLimit
    self.depthLimit = depthLimit
  }

  /// Explores until there is nothing new, something does not hold, or a limit is reached.
  ///
  /// `watch` is called about every 65,536 generated states and returns whether to continue. Use it
  /// for a progress line and for Ctrl-C.
  @inlinable
  public func run(
    watch: (ExplorationProgress) -> ExplorationVerdict = { _ in .goOn }
  ) -> Exploration<Model> {
    var search = ExplorationSearch(self)
    let ending = search.run(watch)
    var exploration = Exploration<Model>(
      ending: ending, counts: search.counts, memory: search.peak, coverage: search.coverage,
      counterexample: nil)
    if let violation = search.violation {
      let path = search.lineage.pathToLast()
      let calm = search.convergence.path
      search.restart(meeting: path)
      _ = search.run(watch)
      if search.met.count == path.count {
        exploration.counterexample = Counterexample(model, search.met, calm: calm, violation)
      }
      exploration.memory = max(exploration.memory, search.peak)
    }
    return exploration
  }
}

/// The caller's answer to a progress callback.
public enum ExplorationVerdict: Hashable, Sendable {
  /// The exploration continues.
  case goOn
  /// The exploration ends here.
  case stop
}
