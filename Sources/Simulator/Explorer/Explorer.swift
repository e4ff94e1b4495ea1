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
/// **Memory.** Each state costs a 64-bit fingerprint, 8 bytes at a load of a half to three
/// quarters, and the number of its parent, 4 bytes. The state itself is kept only until its
/// successors are known. If the fingerprint is exact (``PackedState/hasExactFingerprint``), as for
/// 64-bit states, nothing is missed. Otherwise two states may share one, and what only the second
/// leads to is missed. For n states the probability is at most n² / 2⁶⁵ (a union over the pairs,
/// for fingerprints as good as random): 3 in 100 million for a million states.
///
/// **Counts** follow TLC (Yu, Manolios and Lamport, "Model Checking TLA+ Specifications", 1999):
/// see ``ExplorationCounts``.
///
/// **A counterexample** costs nothing until there is one. The parents' numbers give the path, and a
/// second, identical run collects its states.
public struct Explorer<Model: ExplorableModel> {
  @usableFromInline package var model: Model
  /// The most memory to take, in bytes; the exploration ends well before it would exceed it. The
  /// second run for a counterexample takes no more than the first.
  @usableFromInline package var memoryLimit: UInt64
  /// The last level to visit; at least 1, the level of the initial states.
  @usableFromInline package var depthLimit: Int64

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
      let path = search.pathToLast()
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

/// The state of a search.
@usableFromInline
struct ExplorationSearch<Model: ExplorableModel>: ~Copyable {
  @usableFromInline let explorer: Explorer<Model>
  @usableFromInline var seen = FingerprintSet(capacity: 4096)
  /// For each state, the number of the state it was first reached from. States are numbered in the
  /// order of discovery.
  @usableFromInline var parents = Pile<UInt32>()
  /// The states by number, until their successors are known.
  @usableFromInline var states = Pile<Model.State>()
  @usableFromInline var batch = Batch<Model.State>()
  /// States from which the goal is known to be reached.
  @usableFromInline var convergence = Convergence<Model>()
  @usableFromInline var coverage: UInt64 = 0
  @usableFromInline var counts = ExplorationCounts()
  @usableFromInline var violation: String?
  @usableFromInline var ending: ExplorationEnding?
  /// The most memory taken so far, in bytes.
  @usableFromInline var peak: UInt64 = 0
  /// In a second run, the states found so far whose numbers are on the path.
  @usableFromInline var met: [Model.State] = []
  @usableFromInline var path: [UInt32] = []
  @usableFromInline var nextOnPath = UInt32.max
  @usableFromInline var nextWatch: Int64 = 0
  /// Keeps the optimiser from removing reads that only warm the cache.
  @usableFromInline var warmth: UInt64 = 0

  /// The parent of an initial state: a number that no state has.
  @inlinable static var nobody: UInt32 { .max }

  /// States to expand between two checks of whether the callback is due.
  @inlinable static var stride: Int { 1024 }

  /// Generated states between two callbacks: some milliseconds.
  @inlinable static var patience: Int64 { 65_536 }

  @inlinable
  init(_ explorer: Explorer<Model>) { self.explorer = explorer }

  @inlinable
  deinit { batch.deallocate() }

  @inlinable
  mutating func run(
    _ watch: (ExplorationProgress) -> ExplorationVerdict
  ) -> ExplorationEnding {
    for state in explorer.model.initialStates { batch.add(state, parent: Self.nobody) }
    lookUp()
    counts.waiting = counts.distinct
    var index = 0
    while counts.distinct > Int64(index) {
      counts.depth += 1
      if ending == nil, counts.depth >= explorer.depthLimit { ending = .depthLimit }
      guard ending == nil else { break }
      let levelEnd = Int(counts.distinct)
      while index < levelEnd, ending == nil {
        index = expand(from: index, to: min(levelEnd, index + Self.stride))
        if ending == nil, counts.generated >= nextWatch { ask(watch) }
      }
      if ending != nil, counts.distinct == Int64(levelEnd) { break }
    }
    note()
    return ending ?? .closed
  }

  /// Expands the states of these numbers, all of one level; returns the number of the first that
  /// was not expanded.
  @inlinable
  mutating func expand(from first: Int, to end: Int) -> Int {
    let model = explorer.model
    var index = first
    while index < end, ending == nil {
      let state = states.take(index)
      var gathered = batch
      let parent = UInt32(truncatingIfNeeded: index)
      var reached = coverage
      model.forEachSuccessor(of: state) { step, next in
        reached |= model.coverage(of: step)
        gathered.add(next, parent: parent)
      }
      batch = gathered
      coverage = reached
      index &+= 1
      if batch.count >= Batch<Model.State>.size { lookUp() }
    }
    lookUp()
    counts.waiting = counts.distinct - Int64(index)
    return index
  }

  /// Looks up the gathered states, and adds the new ones.
  @inlinable
  mutating func lookUp() {
    let found = batch
    batch.count = 0
    guard ending == nil, hasRoom(for: found.count) else { return }
    var warm: UInt64 = 0
    for index in 0..<found.count { warm |= seen.touch(unsafe found.fingerprints[index]) }
    warmth |= warm
    for index in 0..<found.count where seen.insert(unsafe found.fingerprints[index]) {
      take(unsafe found.states[index], from: unsafe found.parents[index])
      if ending != nil {
        counts.generated += Int64(index + 1)
        return
      }
    }
    counts.generated += Int64(found.count)
  }

  /// Adds a new state.
  @inlinable
  @inline(__always)
  mutating func take(_ state: Model.State, from parent: UInt32) {
    let number = UInt32(truncatingIfNeeded: counts.distinct)
    counts.distinct &+= 1
    parents.append(parent)
    states.append(state)
    if number == nextOnPath { meet(state) }
    if let violation = explorer.model.violation(of: state) ?? divergence(from: state) {
      self.violation = violation
      ending = .violated
    }
  }

  /// Describes how this state fails to reach the goal; `nil`: it reaches it.
  @inlinable
  @inline(__always)
  mutating func divergence(from state: Model.State) -> String? {
    // A second run only retraces: the first has checked all of these.
    guard path.isEmpty, !explorer.model.isSettled(state) else { return nil }
    return convergence.look(at: state, explorer.model)
  }

  @inlinable
  mutating func meet(_ state: Model.State) {
    met.append(state)
    nextOnPath = met.count < path.count ? path[met.count] : Self.nobody
    if met.count == path.count { ending = .violated }
  }

  /// Whether that many more states fit; otherwise the exploration ends here.
  @inlinable
  mutating func hasRoom(for more: Int) -> Bool {
    let others = parents.bytes + states.bytes + batch.bytes + convergence.bytes
    let limit = explorer.memoryLimit
    let isNumbered = counts.distinct + Int64(more) < Int64(Self.nobody)
    let before = seen.bytes
    if isNumbered, others + before <= limit, seen.makeRoom(for: more, within: limit - others) {
      // While the table grew, both the old and the new one were held.
      if seen.bytes != before { peak = max(peak, others + before + seen.bytes) }
      return true
    }
    ending = .memoryLimit
    return false
  }

  @inlinable
  mutating func note() {
    peak = max(
      peak, seen.bytes + parents.bytes + states.bytes + batch.bytes + convergence.bytes)
  }

  @inlinable
  @inline(never)
  mutating func ask(_ watch: (ExplorationProgress) -> ExplorationVerdict) {
    nextWatch = counts.generated + Self.patience
    note()
    let progress = ExplorationProgress(counts: counts, memory: peak, isSecondRun: !path.isEmpty)
    switch watch(progress) {
    case .goOn: return
    case .stop: ending = .stopped
    }
  }

  /// The numbers of the states on the path from an initial state to the last one found.
  @inlinable
  func pathToLast() -> [UInt32] {
    var path: [UInt32] = []
    var number = UInt32(truncatingIfNeeded: counts.distinct - 1)
    while number != Self.nobody {
      path.append(number)
      number = parents[Int(number)]
    }
    path.reverse()
    return path
  }

  /// Resets everything for a run that collects the states of these numbers.
  @inlinable
  mutating func restart(meeting path: [UInt32]) {
    seen.removeAll()
    parents = Pile()
    states = Pile()
    batch.count = 0
    convergence = Convergence()
    counts = ExplorationCounts()
    violation = nil
    ending = nil
    nextWatch = 0
    self.path = path
    nextOnPath = path.first ?? Self.nobody
  }
}
