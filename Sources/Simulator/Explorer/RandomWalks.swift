package import UpdateMachine

/// Walks through a model at random, and counts the different states that it comes to.
///
/// An ``Explorer`` knows how many states there are. So this says which share of them chance
/// reaches, as simulated runs do in worlds that are too large to be explored. Equal seeds give
/// equal walks.
///
/// Two ways to walk:
///
/// - **Uniform:** each step is drawn from all steps that are enabled.
/// - **Novelty:** of the enabled steps, one is drawn that leads to a state visited least. A walk
///   ends when it has come to nothing new for a while. Nearly every walk begins by repeating an
///   earlier one, up to a state from which it could have gone to another new state. Repeated steps
///   count like all others, because a larger world cannot be put into a state. So short ones are
///   preferred. Source: the corpus of coverage-guided fuzzers (AFL, libFuzzer).
package final class RandomWalks<Model: ExplorableModel> {
  /// How a walk chooses its steps.
  package enum Way: String, CaseIterable, Sendable {
    case uniform, novelty
  }

  @usableFromInline let model: Model
  @usableFromInline let initial: [Model.State]
  @usableFromInline let way: Way
  /// The most steps of a walk, without those that it repeats.
  @usableFromInline let length: Int
  @usableFromInline var random: SplitMix
  @usableFromInline var seen = FingerprintSet()
  /// How often states were visited, at most 255 times, by the high bits of their fingerprints.
  /// States that share a slot only blur the preference between states that are not new.
  @usableFromInline var visits: [UInt8]
  /// The walks to repeat: which of the initial states, and for each step which of the enabled ones.
  @usableFromInline var corpus: [[UInt16]] = []
  /// The walk that is being taken, without its loops, and the states on it.
  @usableFromInline var path: [UInt16] = []
  @usableFromInline var trail: [UInt64] = []
  /// The successors of one state.
  @usableFromInline var nexts: [Model.State] = []

  /// How many walks have ended, how many steps were taken, and how many of them were repetitions.
  @usableFromInline package var walks: Int64 = 0
  @usableFromInline package var steps: Int64 = 0
  @usableFromInline package var repeated: Int64 = 0

  /// How many steps in a row may lead to nothing new.
  @inlinable static var patience: Int { 8 }
  /// The most walks to remember: some megabytes.
  @inlinable static var corpusMaximum: Int { 65_536 }
  /// Of so many walks that are drawn, the shortest is repeated.
  @inlinable static var candidates: Int { 8 }
  /// The bits of a fingerprint that name its slot in ``visits``.
  @inlinable static var slotBits: UInt64 { 22 }

  @inlinable
  package init(_ model: Model, _ way: Way, length: Int, seed: UInt64) {
    self.length = length
    self.model = model
    self.way = way
    initial = model.initialStates
    precondition(!initial.isEmpty, "a walk begins somewhere")
    random = SplitMix(seed)
    visits = Array(repeating: 0, count: way == .novelty ? 1 << Int(Self.slotBits) : 0)
  }

  /// How many different states were visited.
  @inlinable
  package var reached: Int64 { Int64(seen.count) }

  /// Takes one walk.
  @inlinable
  package func walk() {
    walks += 1
    switch way {
    case .uniform: walkUniformly()
    case .novelty: walkToNews()
    }
  }

  // MARK: Uniform

  @inlinable
  func walkUniformly() {
    var state = initial[random.below(initial.count)]
    visit(state)
    for _ in 0..<length {
      let count = gather(from: state)
      guard count > 0 else { break }
      state = nexts[random.below(count)]
      steps += 1
      visit(state)
    }
  }

  // MARK: Novelty

  @inlinable
  func walkToNews() {
    var state: Model.State
    var isRepeated = false
    if !corpus.isEmpty, random.below(16 as UInt64) > 0 {
      state = repeatOne()
      isRepeated = true
    } else {
      state = begin(random.below(initial.count))
    }
    var idle = 0
    for _ in 0..<length {
      guard idle <= Self.patience, gather(from: state) > 0 else { break }
      let (choice, news) = leastVisited()
      // What is being repeated is remembered already.
      if news > 1, !isRepeated { remember() }
      isRepeated = false
      state = nexts[choice]
      idle = take(choice, to: state) ? 0 : idle + 1
    }
  }

  /// Begins a walk in an initial state, which it returns.
  @inlinable
  func begin(_ number: Int) -> Model.State {
    let state = initial[number]
    path.removeAll(keepingCapacity: true)
    trail.removeAll(keepingCapacity: true)
    note(number, state.fingerprint)
    visit(state)
    return state
  }

  /// Repeats an earlier walk, and returns the state at its end. It is forgotten if there will be
  /// nothing new from there.
  @inlinable
  func repeatOne() -> Model.State {
    var number = random.below(corpus.count)
    for _ in 1..<Self.candidates {
      let other = random.below(corpus.count)
      if corpus[other].count < corpus[number].count { number = other }
    }
    let old = corpus[number]
    var state = begin(Int(old[0]))
    for choice in old.dropFirst() {
      _ = gather(from: state)
      state = nexts[Int(choice)]
      take(Int(choice), to: state)
      repeated += 1
    }
    _ = gather(from: state)
    if leastVisited().news <= 1 {
      corpus.swapAt(number, corpus.count - 1)
      corpus.removeLast()
    }
    return state
  }

  /// Takes a step; returns whether it leads to a new state.
  @discardableResult
  @inlinable
  func take(_ choice: Int, to state: Model.State) -> Bool {
    steps += 1
    note(choice, state.fingerprint)
    return visit(state)
  }

  /// Adds a step to the walk that is being taken. A loop is left out, so that it is not repeated.
  @inlinable
  func note(_ choice: Int, _ fingerprint: UInt64) {
    if let place = trail.lastIndex(of: fingerprint) {
      trail.removeLast(trail.count - place - 1)
      path.removeLast(path.count - place - 1)
    } else {
      trail.append(fingerprint)
      path.append(UInt16(truncatingIfNeeded: choice))
    }
  }

  /// Returns one of the successors that were visited least, and how many were never visited.
  @inlinable
  func leastVisited() -> (choice: Int, news: Int) {
    var best = 0
    var fewest = Int.max
    var equals: UInt64 = 0
    for (index, next) in nexts.enumerated() {
      let fingerprint = next.fingerprint
      let count =
        seen.contains(fingerprint) ? max(1, Int(visits[Self.slot(of: fingerprint)])) : 0
      if count > fewest { continue }
      equals = count < fewest ? 1 : equals + 1
      fewest = count
      // Of several, each is chosen with the same probability.
      if random.below(equals) == 0 { best = index }
    }
    return (best, fewest == 0 ? Int(equals) : 0)
  }

  /// Remembers the walk up to here. If there are too many, it replaces a longer one.
  @inlinable
  func remember() {
    guard corpus.count >= Self.corpusMaximum else { return corpus.append(path) }
    var number = random.below(corpus.count)
    for _ in 1..<Self.candidates {
      let other = random.below(corpus.count)
      if corpus[other].count > corpus[number].count { number = other }
    }
    if corpus[number].count > path.count { corpus[number] = path }
  }

  // MARK: Both

  /// Collects the successors of a state; returns their number.
  @inlinable
  func gather(from state: Model.State) -> Int {
    var found = nexts
    nexts = []  // So that it is changed in place.
    found.removeAll(keepingCapacity: true)
    model.forEachSuccessor(of: state) { _, next in found.append(next) }
    nexts = found
    return found.count
  }

  /// Notes a visit; returns whether it is the first.
  @discardableResult
  @inlinable
  func visit(_ state: Model.State) -> Bool {
    let fingerprint = state.fingerprint
    if way == .novelty {
      let slot = Self.slot(of: fingerprint)
      if visits[slot] < .max { visits[slot] += 1 }
    }
    precondition(seen.makeRoom(for: fingerprint, within: .max), "there is room")
    return seen.insert(fingerprint)
  }

  @inlinable
  static func slot(of fingerprint: UInt64) -> Int {
    Int(truncatingIfNeeded: fingerprint >> (64 - slotBits))
  }
}
