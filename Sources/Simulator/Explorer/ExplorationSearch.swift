/// The state of a search.
@usableFromInline
struct ExplorationSearch<Model: ExplorableModel>: ~Copyable {
  @usableFromInline let explorer: Explorer<Model>
  @usableFromInline var seen = FingerprintSet()
  /// From which state each was first reached. States are numbered in the order of discovery.
  @usableFromInline var lineage = Lineage()
  /// The states by number, until their successors are known. Those of the last level that is
  /// allowed are never expanded, and not held.
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
  @usableFromInline var path: [Int] = []
  @usableFromInline var nextOnPath = Lineage.nobody
  @usableFromInline var nextWatch: Int64 = 0
  /// Keeps the optimiser from removing reads that only warm the cache.
  @usableFromInline var warmth: UInt64 = 0

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
    for state in explorer.model.initialStates { batch.add(state, parent: Lineage.nobody) }
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
      let parent = index
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
    guard ending == nil else { return }
    let others = bytesOfOthers
    guard others + seen.bytes <= memoryLimit else {
      ending = .memoryLimit
      return
    }
    var warm: UInt64 = 0
    for index in 0..<found.count { warm |= seen.touch(unsafe found.fingerprints[index]) }
    warmth |= warm
    for index in 0..<found.count {
      let fingerprint = unsafe found.fingerprints[index]
      guard seen.makeRoom(for: fingerprint, within: memoryLimit - others) else {
        counts.generated += Int64(index)
        ending = .memoryLimit
        return
      }
      guard seen.insert(fingerprint) else { continue }
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
  mutating func take(_ state: Model.State, from parent: Int) {
    let number = Int(counts.distinct)
    counts.distinct &+= 1
    lineage.append(parent: parent)
    if counts.depth + 1 < explorer.depthLimit { states.append(state) }
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
    convergence.makeRoom(forStates: counts.distinct)
    return convergence.look(at: state, explorer.model)
  }

  @inlinable
  mutating func meet(_ state: Model.State) {
    met.append(state)
    nextOnPath = met.count < path.count ? path[met.count] : Lineage.nobody
    if met.count == path.count { ending = .violated }
  }

  /// A second run needs what the first had room for.
  @inlinable
  var memoryLimit: UInt64 { path.isEmpty ? explorer.memoryLimit : .max }

  /// All memory but the set's.
  @inlinable
  var bytesOfOthers: UInt64 {
    lineage.bytes + states.bytes + batch.bytes + convergence.bytes + explorer.memoryOfModel()
  }

  @inlinable
  mutating func note() {
    peak = max(peak, seen.bytes + bytesOfOthers)
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

  /// Resets everything for a run that collects the states of these numbers.
  @inlinable
  mutating func restart(meeting path: [Int]) {
    seen = FingerprintSet()
    lineage = Lineage()
    states = Pile()
    batch.count = 0
    convergence = Convergence()
    counts = ExplorationCounts()
    violation = nil
    ending = nil
    nextWatch = 0
    self.path = path
    nextOnPath = path.first ?? Lineage.nobody
  }
}
