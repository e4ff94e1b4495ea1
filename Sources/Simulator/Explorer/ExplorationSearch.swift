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

  /// Whether this many more states fit; otherwise the exploration ends here.
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
