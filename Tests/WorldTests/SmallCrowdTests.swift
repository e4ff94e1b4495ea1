import SyncProtocols
import Testing

@testable import Simulator
@testable import UpdateMachine

/// Compares a crowd, which numbers its clients and works out their steps once, with a plain model
/// that packs two clients side by side and works out everything in every state; and a crowd with
/// symmetry with one without.
@Suite struct SmallCrowdTests {
  @Test(arguments: [1, 2])
  func `a crowd without symmetry has the states of two clients side by side`(length: Int) {
    let plain = Explorer(PlainPair(queueLength: length), depthLimit: Self.depth).run()
    let crowd = Explorer(Self.crowd(false, length), depthLimit: Self.depth).run()
    #expect(plain.ending == .depthLimit)
    #expect(crowd.ending == .depthLimit)
    #expect(crowd.counts == plain.counts)
    #expect(crowd.coverage == plain.coverage)
  }

  @Test func `symmetry leaves one state of each that differ in the order of the clients`() {
    // Counts the states whose two clients are equal. They have no twin; all others have one.
    let twins = Counter()
    let judged = Judged(crowd: Self.crowd(true)) { first, second, _ in
      if first == second { twins.count += 1 }
      return nil
    }
    let with = Explorer(judged, depthLimit: Self.depth).run()
    let without = Explorer(Self.crowd(false), depthLimit: Self.depth).run()
    #expect(twins.count > 5)
    #expect(without.counts.distinct == 2 * with.counts.distinct - twins.count)
    #expect(without.counts.depth == with.counts.depth)
    #expect(without.coverage == with.coverage)
    #expect(with.ending == .depthLimit && without.ending == .depthLimit)
  }

  @Test func `symmetry leaves one state of up to six with three clients`() throws {
    var orders: Int64 = 0
    let crowd = SmallCrowd(clients: 3, queueLength: 1)
    var seen: Set<UInt64> = Set(crowd.initialStates)
    var level = crowd.initialStates
    for _ in 1..<5 {
      var next: [UInt64] = []
      for state in level {
        crowd.forEachSuccessor(of: state) { _, found in
          if seen.insert(found).inserted { next.append(found) }
        }
      }
      level = next
    }
    for state in seen {
      let numbers = Set([state & 0x1F_FFFF, (state >> 21) & 0x1F_FFFF, state >> 42])
      orders += [1: 1, 2: 3, 3: 6][numbers.count] ?? 0
    }
    let with = Explorer(crowd, depthLimit: 5).run()
    let without = Explorer(
      SmallCrowd(clients: 3, queueLength: 1, isSymmetric: false), depthLimit: 5
    ).run()
    #expect(with.counts.distinct == Int64(seen.count))
    #expect(without.counts.distinct == orders)
    #expect(orders > 3 * Int64(seen.count))
  }

  // MARK: Bugs

  /// Something that is said to be wrong, of both clients or of either, and what it is.
  struct Bug: CustomTestStringConvertible {
    var testDescription: String
    var isThere: @Sendable (SmallClient, SmallClient) -> Bool
    init(_ text: String, _ isThere: @escaping @Sendable (SmallClient, SmallClient) -> Bool) {
      testDescription = text
      self.isThere = isThere
    }
  }

  static let bugs = [
    Bug("a client halts") { one, other in one.body.status.isHalted || other.body.status.isHalted },
    Bug("a client waits at the server") { one, other in
      one.exchange == .waiting || other.exchange == .waiting
    },
    Bug("two snapshots are on their way") { one, other in
      one.exchange.bringsQueue && other.exchange.bringsQueue
    },
    Bug("both have failed") { one, other in
      one.body.status.code == 3 && other.body.status.code == 3
    },
    Bug("an event is behind a sleeper") { one, other in
      one.isAsleep && one.behind > 0 || other.isAsleep && other.behind > 0
    },
  ]

  @Test(arguments: bugs)
  func `a planted bug is found by paths of one length with symmetry and without`(bug: Bug) throws {
    let lengths = try [true, false].map { isSymmetric in
      let judged = Judged(crowd: Self.crowd(isSymmetric)) { first, second, known in
        let one = SmallClient(unpacking: known.word(of: first), known.world.packing)
        let other = SmallClient(unpacking: known.word(of: second), known.world.packing)
        return bug.isThere(one, other) ? "planted" : nil
      }
      let exploration = Explorer(judged, depthLimit: 10).run()
      #expect(exploration.ending == .violated)
      let found = try #require(exploration.counterexample)
      #expect(found.violation == "planted")
      #expect(found.lines.count == 2 * found.steps.count + 2)
      #expect(exploration.counts.depth == Int64(found.states.count))
      return found.steps.count
    }
    #expect(lengths[0] == lengths[1])
    #expect(lengths[0] > 1)
  }

  @Test(arguments: [true, false])
  func `a crowd that never settles is found at once`(isSymmetric: Bool) throws {
    var judged = Judged(crowd: Self.crowd(isSymmetric)) { _, _, _ in nil }
    judged.settles = false
    let exploration = Explorer(judged, depthLimit: 5).run()
    #expect(exploration.ending == .violated)
    let found = try #require(exploration.counterexample)
    #expect(found.statesBeforeCalm == 1)
    #expect(found.violation.hasPrefix("no path loops"))
    // Each step is told with its client, and what happens to it.
    #expect(found.lines.contains { $0.hasSuffix("client 0: its process begins") })
    #expect(found.lines.contains { $0.hasSuffix("time passes") })
  }

  // MARK: Client by client

  @Test func `each client of two is a client of one`() {
    let pair = Visited(PlainPair(queueLength: 1))
    _ = Explorer(pair, depthLimit: Self.depth).run()
    let one = Visited(SmallWorld())
    _ = Explorer(one, depthLimit: Self.depth).run()
    let alone = Set(one.found.states)
    #expect(pair.found.states.count > 500)
    #expect(pair.found.states.allSatisfy { alone.contains($0.first) && alone.contains($0.second) })
  }

  @Test func `clients that recur come back, and only to one another`() {
    let explored = Self.crowd(true)
    _ = Explorer(explored.alone, depthLimit: 6).run()
    let calm = SmallCalmCrowd(of: explored)
    let crowd = calm.crowd
    #expect(!calm.isRestless)
    #expect(calm.recurringCount >= 3)
    for number in calm.recurring {
      let client = crowd.known.world.client(of: crowd.known.word(of: number))
      #expect(client.isSettled || client.isBetweenPolls, "\(client)")
      let calms = Explorer(
        From(crowd: crowd.alone, start: crowd.alone.state(of: [number])), depthLimit: 30
      ).run()
      #expect(calms.ending == .closed)
    }
    // Each crowd of two, once.
    let states = calm.initialStates
    let count = calm.recurringCount
    #expect(states.count == count * (count + 1) / 2)
    #expect(Set(states).count == states.count)
    #expect(states.allSatisfy { $0 == crowd.state(of: [UInt32($0 >> 32), UInt32($0 & 0xFFFF)]) })
    let together = Explorer(calm).run()
    #expect(together.ending == .closed)
    #expect(together.counts.distinct == Int64(states.count))
  }

  @Test func `three clients take turns in waiting, and that is all they may do`() throws {
    let crowd = SmallCrowd(clients: 3)
    _ = Explorer(crowd.alone, depthLimit: 6).run()
    let calm = SmallCalmCrowd(of: crowd)
    let count = calm.recurringCount
    #expect(calm.initialStates.count == count * (count + 1) * (count + 2) / 6)
    #expect(Explorer(calm).run().ending == .closed)
    // If all three had to be connected at one moment, it would be said that they never are.
    let strict = Explorer(Strict(calm: calm)).run()
    #expect(strict.ending == .violated)
    let found = try #require(strict.counterexample)
    #expect(found.violation.hasPrefix("no path loops"))
    #expect(found.statesBeforeCalm == 1)
  }

  // MARK: Helpers

  static var depth: Int64 { 6 }

  static func crowd(_ isSymmetric: Bool, _ queueLength: Int = 1) -> SmallCrowd {
    SmallCrowd(clients: 2, queueLength: queueLength, isSymmetric: isSymmetric)
  }
}

private final class Counter {
  var count: Int64 = 0
}

/// A crowd of two with another judgement of its states.
private struct Judged: ExplorableModel {
  var crowd: SmallCrowd
  /// Says what is wrong with two clients, which are given by their numbers.
  var judge: (UInt32, UInt32, SmallClients) -> String?
  var settles = true

  init(crowd: SmallCrowd, judge: @escaping (UInt32, UInt32, SmallClients) -> String?) {
    self.crowd = crowd
    self.judge = judge
  }

  var initialStates: [UInt64] { crowd.initialStates }
  func forEachSuccessor(of state: UInt64, _ visit: (SmallCrowd.Step, UInt64) -> Void) {
    crowd.forEachSuccessor(of: state, visit)
  }
  func violation(of state: UInt64) -> String? {
    crowd.violation(of: state)
      ?? judge(
        UInt32(truncatingIfNeeded: state), UInt32(truncatingIfNeeded: state >> 32), crowd.known)
  }
  func isSettled(_ state: UInt64) -> Bool { settles && crowd.isSettled(state) }
  func forEachCalmSuccessor(of state: UInt64, _ visit: (SmallCrowd.Step, UInt64) -> Void) {
    crowd.forEachCalmSuccessor(of: state, visit)
  }
  func description(of state: UInt64) -> String { crowd.description(of: state) }
  func description(ofStep step: SmallCrowd.Step) -> String { crowd.description(ofStep: step) }
  func coverage(of step: SmallCrowd.Step) -> UInt64 { crowd.coverage(of: step) }
}

/// The calm steps from one state, as all steps.
private struct From: ExplorableModel {
  var crowd: SmallCrowd
  var start: UInt64
  var initialStates: [UInt64] { [start] }
  func forEachSuccessor(of state: UInt64, _ visit: (SmallCrowd.Step, UInt64) -> Void) {
    crowd.forEachCalmSuccessor(of: state, visit)
  }
  func violation(of state: UInt64) -> String? { nil }
  func description(of state: UInt64) -> String { crowd.description(of: state) }
  func description(ofStep step: SmallCrowd.Step) -> String { crowd.description(ofStep: step) }
}

/// A calm crowd of three that is settled when all three are connected.
private struct Strict: ExplorableModel {
  var calm: SmallCalmCrowd
  var initialStates: [UInt64] { calm.initialStates }
  func forEachSuccessor(of state: UInt64, _ visit: (SmallCrowd.Step, UInt64) -> Void) {}
  func forEachCalmSuccessor(of state: UInt64, _ visit: (SmallCrowd.Step, UInt64) -> Void) {
    calm.forEachCalmSuccessor(of: state, visit)
  }
  func isSettled(_ state: UInt64) -> Bool {
    (0..<3).allSatisfy { index in
      let number = UInt32(truncatingIfNeeded: (state >> (21 * UInt64(index))) & 0x1F_FFFF)
      let record = calm.crowd.known.withCalmSteps(number)
      return record.facts.contains(.isSettled) && record.calm == SmallClients.nobody
    }
  }
  func violation(of state: UInt64) -> String? { nil }
  func description(of state: UInt64) -> String { calm.description(of: state) }
  func description(ofStep step: SmallCrowd.Step) -> String { calm.description(ofStep: step) }
}

/// A model that keeps the states that are visited.
private struct Visited<Model: ExplorableModel>: ExplorableModel {
  final class Found {
    var states: [Model.State] = []
  }
  var model: Model
  let found = Found()
  init(_ model: Model) { self.model = model }
  var initialStates: [Model.State] { model.initialStates }
  func forEachSuccessor(of state: Model.State, _ visit: (Model.Step, Model.State) -> Void) {
    model.forEachSuccessor(of: state, visit)
  }
  func violation(of state: Model.State) -> String? {
    found.states.append(state)
    return model.violation(of: state)
  }
  func description(of state: Model.State) -> String { model.description(of: state) }
  func description(ofStep step: Model.Step) -> String { model.description(ofStep: step) }
}

/// Two clients side by side, packed. Nothing is remembered of them.
private struct PlainPair: ExplorableModel {
  struct State: PackedState {
    var first: UInt128
    var second: UInt128
    var fingerprint: UInt64 {
      var digest = StateDigest()
      digest.fold(first.fingerprint)
      digest.fold(second.fingerprint)
      return digest.value
    }
    static var hasExactFingerprint: Bool { false }
  }

  let world: SmallWorld
  init(queueLength: Int) { world = SmallWorld(queueLength: queueLength) }

  var initialStates: [State] {
    [State(first: world.initialStates[0], second: world.initialStates[0])]
  }

  func forEachSuccessor(of state: State, _ visit: (UInt64, State) -> Void) {
    guard violation(of: state) == nil else { return }
    let one = world.client(of: state.first)
    let other = world.client(of: state.second)
    world.forEachSuccessor(of: state.first) { step, next in
      if case .client = step.happening {
        visit(step.coverage, State(first: next, second: state.second))
      }
    }
    world.forEachSuccessor(of: state.second) { step, next in
      if case .client = step.happening {
        visit(step.coverage, State(first: state.first, second: next))
      }
    }
    if one.held < world.queueLength, other.held < world.queueLength {
      visit(0, State(first: world.heard(one), second: world.heard(other)))
    }
    if !one.mustAct, !other.mustAct {
      visit(0, State(first: world.ticked(one), second: world.ticked(other)))
    }
  }

  func violation(of state: State) -> String? {
    world.violation(of: state.first) ?? world.violation(of: state.second)
  }
  func description(of state: State) -> String { world.description(of: state.first) }
  func description(ofStep step: UInt64) -> String { "\(step)" }
  func coverage(of step: UInt64) -> UInt64 { step }
}
