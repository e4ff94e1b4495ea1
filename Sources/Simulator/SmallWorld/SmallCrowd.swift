internal import UpdateMachine

/// A ``SmallWorld`` of up to three clients with one server. Every client is as in that world. Two
/// things happen to all of them together: the server commits an event, and time passes. It commits
/// only while every queue has room, and time passes only while no client must act.
///
/// **Symmetry.** All clients are of one kind and begin alike. No step and no rule says which client
/// is which: a step changes one client, or all in the same way, and what must hold is asked of each
/// client. So exchanging clients turns a path into a path and a violation into a violation, and of
/// all the states that differ only in the order of the clients one is enough (Ip and Dill, "Better
/// Verification Through Symmetry", 1996). It is the one in which their numbers do not rise. When
/// all is calm, what happens at once happens to the first client first. That order matters to
/// nobody: these steps change no other client, and ``isSettled(_:)`` asks only when they are over.
package struct SmallCrowd: ExplorableModel {
  /// The allowed numbers of clients.
  package static let clientsAllowed = 1...3

  /// The number of clients.
  package private(set) var clients: Int
  /// As in ``SmallWorld``.
  package var queueLength: Int { known.world.queueLength }
  /// Whether states that differ only in the order of the clients are one.
  package let isSymmetric: Bool
  let known: SmallClients

  /// The clients' numbers, the first in the lowest bits.
  package typealias State = UInt64

  /// A step between two states.
  package struct Step: Sendable {
    var happening: Happening
    /// As in ``SmallWorld/Step/coverage``.
    var coverage: UInt64 = 0

    enum Happening: Sendable {
      case commit
      case tick
      /// The client of this index had this number, and takes the step of this index.
      case step(Int, number: UInt32, step: Int)
      /// When all is calm, what happens at once.
      case calm(Int, number: UInt32)
      case timerFires(Int)
    }
  }

  /// - Parameters:
  ///   - clients: how many.
  ///   - queueLength: as in ``SmallWorld``.
  ///   - isSymmetric: whether states that differ only in the order of the clients are one.
  package init(clients: Int, queueLength: Int = 1, isSymmetric: Bool = true) {
    precondition(SmallCrowd.clientsAllowed.contains(clients), "one to three clients")
    self.clients = clients
    self.isSymmetric = isSymmetric
    known = SmallClients(SmallWorld(queueLength: queueLength))
  }

  /// One of its clients without the others. What is worked out for one of the two is known to both.
  package var alone: SmallCrowd {
    var copy = self
    copy.clients = 1
    return copy
  }

  /// The bytes that it remembers of its clients.
  package var bytes: UInt64 { known.bytes }

  package var initialStates: [State] { [0] }

  // MARK: Packing

  private var width: UInt64 { clients <= 2 ? 32 : 21 }

  private func number(_ index: Int, of state: State) -> UInt32 {
    UInt32(truncatingIfNeeded: (state >> (UInt64(index) * width)) & ((1 << width) - 1))
  }

  /// The state with another client at `index`.
  private func replacing(_ index: Int, in state: State, by number: UInt32) -> State {
    // Of three clients memory is full long before.
    precondition(UInt64(number) >> width == 0, "two million clients fit into a state")
    let shift = UInt64(index) * width
    return state & ~(((1 << width) - 1) << shift) | UInt64(number) << shift
  }

  /// The state with these clients, by number.
  func state(of numbers: [UInt32]) -> State {
    var state: State = 0
    for (index, number) in numbers.enumerated() {
      state = replacing(index, in: state, by: number)
    }
    return sorted(state)
  }

  /// The state that stands for all with these clients.
  private func sorted(_ state: State) -> State {
    guard isSymmetric, clients > 1 else { return state }
    if clients == 2 { return state >> 32 > state & 0xFFFF_FFFF ? state << 32 | state >> 32 : state }
    var (first, second, third) = (number(0, of: state), number(1, of: state), number(2, of: state))
    if first < second { swap(&first, &second) }
    if second < third { swap(&second, &third) }
    if first < second { swap(&first, &second) }
    return UInt64(first) | UInt64(second) << 21 | UInt64(third) << 42
  }

  // MARK: Steps

  package func forEachSuccessor(of state: State, _ visit: (Step, State) -> Void) {
    var mayCommit = true
    var mayTick = true
    for index in 0..<clients {
      let facts = known.withSteps(number(index, of: state)).facts
      if facts.contains(.isBroken) { return }
      if !facts.contains(.mayHear) { mayCommit = false }
      if facts.contains(.mustAct) { mayTick = false }
    }
    for index in 0..<clients {
      let number = number(index, of: state)
      let record = known.withSteps(number)
      for offset in 0..<Int(record.stepCount) {
        let step = known.step(Int(record.firstStep) + offset)
        visit(
          Step(happening: .step(index, number: number, step: offset), coverage: step.coverage),
          sorted(replacing(index, in: state, by: step.number)))
      }
    }
    if mayCommit { everybody(.commit, state, visit) { known.withSteps($0).heard } }
    if mayTick { everybody(.tick, state, visit) { known.withSteps($0).ticked } }
  }

  private func everybody(
    _ happening: Step.Happening, _ state: State, _ visit: (Step, State) -> Void,
    _ change: (UInt32) -> UInt32
  ) {
    var next = state
    for index in 0..<clients {
      next = replacing(index, in: next, by: change(number(index, of: state)))
    }
    visit(Step(happening: happening), sorted(next))
  }

  // MARK: Without faults

  /// Whether all clients are live and up to date, and wait for time to pass: otherwise it would
  /// depend on whose turn is first. True as well if another rule is broken, because that is
  /// reported on its own.
  ///
  /// Of three, one may be between two polls. When all is calm there are no heartbeats here, so a
  /// poll times out after two ticks, and is followed by a wait of one. Two clients always have a
  /// tick in common in which both poll. Three may take turns in waiting, for ever.
  package func isSettled(_ state: State) -> Bool {
    var unsettled = 0
    for index in 0..<clients {
      let facts = known.facts(of: number(index, of: state))
      if facts.contains(.isBroken) { return true }
      if facts.contains(.isSettled) { continue }
      unsettled += facts.contains(.isBetweenPolls) ? 1 : clients
    }
    guard unsettled == 0 || clients == 3 && unsettled == 1 else { return false }
    for index in 0..<clients {
      let record = known.withCalmSteps(number(index, of: state))
      if record.calm != SmallClients.nobody { return false }
    }
    return true
  }

  /// Visits the calm steps, as ``SmallWorld`` does. Of several clients to which something happens
  /// at once, the first comes first: they do not affect one another.
  package func forEachCalmSuccessor(of state: State, _ visit: (Step, State) -> Void) {
    for index in 0..<clients {
      let number = number(index, of: state)
      let next = known.withCalmSteps(number).calm
      guard next != SmallClients.nobody else { continue }
      return visit(
        Step(happening: .calm(index, number: number)),
        sorted(replacing(index, in: state, by: next)))
    }
    for index in 0..<clients {
      let next = known.withCalmSteps(number(index, of: state)).fired
      guard next != SmallClients.nobody else { continue }
      visit(
        Step(happening: .timerFires(index)), sorted(replacing(index, in: state, by: next)))
    }
    everybody(.tick, state, visit) { known.withCalmSteps($0).ticked }
  }

  // MARK: Texts

  package func violation(of state: State) -> String? {
    for index in 0..<clients {
      let number = number(index, of: state)
      guard known.facts(of: number).contains(.isWrong) else { continue }
      return known.world.violation(of: known.word(of: number))
    }
    return nil
  }

  package func coverage(of step: Step) -> UInt64 { step.coverage }

  package func description(of state: State) -> String {
    var text = ""
    for index in 0..<clients {
      let word = known.word(of: number(index, of: state))
      text += (index == 0 ? "" : " | ") + known.world.description(of: word)
    }
    return text
  }

  package func description(ofStep step: Step) -> String {
    switch step.happening {
    case .commit: return "the server commits an event"
    case .tick: return "time passes"
    case .timerFires(let index): return "client \(index): \(SmallHappening.timerFires)"
    case .calm(let index, let number):
      let happening = known.world.client(of: known.word(of: number)).calmHappening?.0
      return "client \(index): " + (happening.map { "\($0)" } ?? "")
    case .step(let index, let number, let wanted):
      var text = "client \(index): "
      var place = 0
      known.world.client(of: known.word(of: number)).forEachHappening(SmallWorld.ages) {
        happening, _ in
        if place == wanted { text += "\(happening)" }
        place += 1
      }
      return text
    }
  }
}
