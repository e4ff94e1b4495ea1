import Testing
import UpdateMachine

@testable import Simulator

/// Compares the explorer with a simple search that uses the standard library's sets, and with
/// counts that others have published.
struct ExplorerTests {
  // MARK: Two-phase commit

  @Test(arguments: 1...5)
  func `the explorer's counts equal those of a second, simple search`(participants: Int) {
    let exploration = Explorer(TwoPhaseCommit(participants: participants)).run()
    let plain = PlainTwoPhase(participants: participants, votes: participants).search()
    #expect(exploration.ending == .closed)
    #expect(exploration.counterexample == nil)
    #expect(exploration.counts.generated == plain.generated)
    #expect(exploration.counts.distinct == plain.distinct)
    #expect(exploration.counts.depth == plain.depth)
    #expect(exploration.counts.waiting == 0)
    #expect(plain.violationSteps == nil)
  }

  @Test func `three resource managers have 288 states, as TLC counts`() {
    let counts = Explorer(TwoPhaseCommit(participants: 3)).run().counts
    #expect(counts.generated == 1146)
    #expect(counts.distinct == 288)
    #expect(counts.depth == 11)
  }

  #if !DEBUG
    @Test func `eight resource managers have the published number of states`() {
      let counts = Explorer(TwoPhaseCommit(participants: 8)).run().counts
      #expect(counts.generated == 18_507_778)
      #expect(counts.distinct == 1_745_408)
      #expect(counts.depth == 26)
    }
  #endif

  @Test(arguments: 2...5)
  func `a manager that commits one vote short is found by a shortest path`(
    participants: Int
  ) throws {
    let model = TwoPhaseCommit(participants: participants, votesNeeded: participants - 1)
    let exploration = Explorer(model).run()
    #expect(exploration.ending == .violated)
    let found = try #require(exploration.counterexample)
    let plain = PlainTwoPhase(participants: participants, votes: participants - 1).search()
    #expect(found.steps.count == plain.violationSteps)
    #expect(found.steps.count == 2 * participants + 1)
    #expect(found.states.first == 0)
    #expect(exploration.counts.depth == Int64(found.states.count))
    for (index, step) in found.steps.enumerated() {
      var leads = false
      model.forEachSuccessor(of: found.states[index]) { other, next in
        if other == step, next == found.states[index + 1] { leads = true }
      }
      #expect(leads)
    }
    #expect(found.states.dropLast().allSatisfy { model.violation(of: $0) == nil })
    #expect(model.violation(of: try #require(found.states.last)) == found.violation)
  }

  @Test func `a counterexample is printed step by step`() throws {
    let model = TwoPhaseCommit(participants: 1, votesNeeded: 0)
    #expect(Explorer(model).run().ending == .closed)
    let broken = TwoPhaseCommit(participants: 2, votesNeeded: 0)
    let lines = try #require(Explorer(broken).run().counterexample).lines
    #expect(lines.count == 2 * 3 + 2)
    #expect(
      lines.first
        == "     1 working, 2 working, manager undecided with votes of nobody, sent: nobody")
    #expect(
      lines.last == "Does not hold: one resource manager has committed and another has aborted")
  }

  // MARK: Order

  @Test func `the order of successors changes neither counts nor the length of the path`() throws {
    for votes in [3, 4] {
      let model = TwoPhaseCommit(participants: 4, votesNeeded: votes)
      let forward = Explorer(model).run()
      let backward = Explorer(Reversed(base: model)).run()
      #expect(forward.ending == backward.ending)
      #expect(forward.counterexample?.steps.count == backward.counterexample?.steps.count)
      guard forward.ending == .closed else { continue }
      #expect(forward.counts == backward.counts)
    }
  }

  // MARK: Limits

  @Test func `the explorer stops before it exceeds its memory limit`() {
    for megabytes: UInt64 in [0, 1, 2] {
      let explorer = Explorer(TwoPhaseCommit(participants: 8), memoryLimit: megabytes << 20)
      let exploration = explorer.run()
      #expect(exploration.ending == .memoryLimit)
      #expect(exploration.counterexample == nil)
      #expect(exploration.counts.distinct < 1_745_408)
      // After the last check it may still take one more chunk of parents and one of states.
      #expect(exploration.memory <= megabytes << 20 + 1 << 19)
      if megabytes > 0 { #expect(exploration.counts.waiting > 0) }
    }
  }

  @Test func `the explorer stops when its caller says so, and reports its progress`() {
    var asked = 0
    let exploration = Explorer(TwoPhaseCommit(participants: 7)).run { progress in
      asked += 1
      #expect(!progress.isSecondRun)
      return asked == 3 ? .stop : .goOn
    }
    #expect(asked == 3)
    #expect(exploration.ending == .stopped)
    #expect(exploration.counts.generated >= 65_536)
    #expect(exploration.counts.waiting > 0)
  }

  @Test func `a caller who stops the second run gets no counterexample`() {
    let model = Line(length: 200_000, wrongAt: 199_999)
    let whole = Explorer(model).run()
    #expect(whole.counterexample?.steps.count == 199_999)
    let cut = Explorer(model).run { $0.isSecondRun ? .stop : .goOn }
    #expect(cut.ending == .violated)
    #expect(cut.counterexample == nil)
  }

  @Test func `states beyond the depth limit are not visited`() {
    let exploration = Explorer(Line(length: 100, wrongAt: nil), depthLimit: 10).run()
    #expect(exploration.ending == .depthLimit)
    #expect(exploration.counts.depth == 10)
    #expect(exploration.counts.distinct == 10)
    #expect(exploration.counts.waiting == 1)
    #expect(Explorer(Line(length: 100, wrongAt: 20), depthLimit: 20).run().ending == .depthLimit)
    #expect(Explorer(Line(length: 100, wrongAt: 20), depthLimit: 21).run().ending == .violated)
  }

  // MARK: Edges

  @Test func `a violation in an initial state is found`() {
    let exploration = Explorer(Line(length: 5, wrongAt: 0)).run()
    #expect(exploration.counterexample?.steps.count == 0)
    #expect(exploration.counterexample?.states == [0])
    #expect(exploration.counts.generated == 1)
  }

  @Test func `a state may have a thousand successors, and initial states may be given twice`() {
    let exploration = Explorer(Fan(width: 1000)).run()
    #expect(exploration.ending == .closed)
    #expect(exploration.counts.generated == 3 + 2 * 1000)
    #expect(exploration.counts.distinct == 2 + 1000)
    #expect(exploration.counts.depth == 2)
    #expect(Explorer(Fan(width: 0)).run().counts.distinct == 2)
  }
}

// MARK: Models

/// The same model, with its successors in reverse order.
private struct Reversed: ExplorableModel {
  var base: TwoPhaseCommit
  var initialStates: [UInt64] { base.initialStates }
  func forEachSuccessor(of state: UInt64, _ visit: (TwoPhaseCommit.Step, UInt64) -> Void) {
    var all: [(TwoPhaseCommit.Step, UInt64)] = []
    base.forEachSuccessor(of: state) { all.append(($0, $1)) }
    for (step, next) in all.reversed() { visit(step, next) }
  }
  func violation(of state: UInt64) -> String? { base.violation(of: state) }
  func description(of state: UInt64) -> String { base.description(of: state) }
  func description(ofStep step: TwoPhaseCommit.Step) -> String { base.description(ofStep: step) }
}

/// A model whose states form a line.
private struct Line: ExplorableModel {
  var length: UInt32
  var wrongAt: UInt32?
  var initialStates: [UInt32] { [0] }
  func forEachSuccessor(of state: UInt32, _ visit: (Bool, UInt32) -> Void) {
    if state + 1 < length { visit(true, state + 1) }
  }
  func violation(of state: UInt32) -> String? { state == wrongAt ? "wrong" : nil }
  func description(of state: UInt32) -> String { "\(state)" }
  func description(ofStep step: Bool) -> String { "on" }
}

/// Two initial states, one of them given twice, that lead to the same set of states.
private struct Fan: ExplorableModel {
  var width: UInt128
  var initialStates: [UInt128] { [0, 1 << 100, 0] }
  func forEachSuccessor(of state: UInt128, _ visit: (UInt128, UInt128) -> Void) {
    guard state == 0 || state == 1 << 100 else { return }
    var leaf: UInt128 = 1
    while leaf <= width {
      visit(leaf, leaf << 64)
      leaf += 1
    }
  }
  func violation(of state: UInt128) -> String? { nil }
  func description(of state: UInt128) -> String { "\(UInt64(state >> 64))" }
  func description(ofStep step: UInt128) -> String { "\(UInt64(step))" }
}

/// Two-phase commit once more, written from the paper's TLA+ and not from our model. It uses plain
/// values and the standard library's sets, and goes level by level.
private struct PlainTwoPhase {
  enum Manager { case working, prepared, committed, aborted }
  enum Message: Hashable {
    case prepared(Int)
    case commit, abort
  }
  struct State: Hashable {
    var managers: [Manager]
    var transaction = Manager.working
    var tmPrepared: Set<Int> = []
    var messages: Set<Message> = []
  }

  var participants: Int
  var votes: Int

  func successors(of state: State) -> [State] {
    var all: [State] = []
    func add(_ change: (inout State) -> Void) {
      var next = state
      change(&next)
      all.append(next)
    }
    let isOpen = state.transaction == .working
    if isOpen, state.tmPrepared.count >= votes {
      add {
        $0.transaction = .committed
        $0.messages.insert(.commit)
      }
    }
    if isOpen {
      add {
        $0.transaction = .aborted
        $0.messages.insert(.abort)
      }
    }
    for manager in 0..<participants {
      if isOpen, state.messages.contains(.prepared(manager)) {
        add { $0.tmPrepared.insert(manager) }
      }
      if state.managers[manager] == .working {
        add {
          $0.managers[manager] = .prepared
          $0.messages.insert(.prepared(manager))
        }
        add { $0.managers[manager] = .aborted }
      }
      if state.messages.contains(.commit) { add { $0.managers[manager] = .committed } }
      if state.messages.contains(.abort) { add { $0.managers[manager] = .aborted } }
    }
    return all
  }

  /// All counts, and the least number of steps after which two managers can have ended differently.
  func search() -> (generated: Int64, distinct: Int64, depth: Int64, violationSteps: Int?) {
    let first = State(managers: Array(repeating: .working, count: participants))
    var seen: Set<State> = [first]
    var level = [first]
    var generated: Int64 = 1
    var depth: Int64 = 0
    var violationSteps: Int?
    while !level.isEmpty {
      let isWrong = level.contains { state in
        state.managers.contains(.committed) && state.managers.contains(.aborted)
      }
      if isWrong, violationSteps == nil { violationSteps = Int(depth) }
      depth += 1
      var next: [State] = []
      for state in level {
        for successor in successors(of: state) {
          generated += 1
          if seen.insert(successor).inserted { next.append(successor) }
        }
      }
      level = next
    }
    return (generated, Int64(seen.count), depth, violationSteps)
  }
}
