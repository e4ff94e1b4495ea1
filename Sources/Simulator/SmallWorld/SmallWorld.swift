internal import SyncProtocols
internal import UpdateMachine

// SmallWorld: the room of the world that is small enough to be explored completely. It has a few
// clients, a server that holds a few events for each, abstract time, and all faults between them.
// The clients are the real ones, value and protocol; their surroundings are minimal.
//
// SmallWorld may use: Explorer, Oracles, Run.

/// A world of register and poll that is small enough to visit all its states: one to three real
/// clients (the value that an app runs, with its protocol), and a server that holds a few events
/// for each.
///
/// Time is abstract. It passes in ticks, between any two events, but never beyond a moment at which
/// a timer must fire. All of the machine's spans are a few ticks. So moments lie close together and
/// are stored relative to now; moments too old to matter are treated as equal. Requests, answers
/// and writes may take any time.
///
/// Faults: requests and answers are lost, late or repeated; every failure of TheMachine §5; queues
/// are lost at any time; another client polls; devices sleep; processes crash with a write half
/// done; writes fail; saved forms of any age come back; users do everything at any time.
///
/// After every step: ``Oracle``s A, D, E, F, G and J, as far as one state and one step show them.
/// From every state: once the faults stop, all clients become live and up to date.
package struct SmallWorld: ExplorableModel, Sendable {
  /// The allowed numbers of clients.
  package static let clientsAllowed = 1...3
  /// The allowed lengths of a client's queue.
  package static let queueLengthAllowed = 1...3

  /// The number of clients.
  package let clients: Int
  /// The most events that the server holds for a client that has not acknowledged them.
  package let queueLength: Int
  let packing: SmallClient.Packing

  /// All clients, packed, in descending order, because clients are interchangeable.
  package struct State: PackedState {
    var first: UInt128
    var second: UInt128
    var third: UInt128

    package var fingerprint: UInt64 {
      var digest = StateDigest()
      digest.fold(UInt64(truncatingIfNeeded: first))
      digest.fold(UInt64(truncatingIfNeeded: first >> 64))
      guard second | third != 0 else { return digest.value }
      digest.fold(UInt64(truncatingIfNeeded: second))
      digest.fold(UInt64(truncatingIfNeeded: second >> 64))
      digest.fold(UInt64(truncatingIfNeeded: third))
      digest.fold(UInt64(truncatingIfNeeded: third >> 64))
      return digest.value
    }

    package static var hasExactFingerprint: Bool { false }

    subscript(client: Int) -> UInt128 {
      get { client == 0 ? first : client == 1 ? second : third }
      set {
        switch client {
        case 0: first = newValue
        case 1: second = newValue
        default: third = newValue
        }
      }
    }

    /// Sorts the clients, because they are interchangeable.
    mutating func sort() {
      if first < second { (first, second) = (second, first) }
      if second < third { (second, third) = (third, second) }
      if first < second { (first, second) = (second, first) }
    }
  }

  /// A step between two states.
  package struct Step: Sendable {
    var happening: Happening
    /// What the step reached, one bit each: the status of its client afterwards, and the row of the
    /// failure table.
    var coverage: UInt64

    enum Happening: Sendable {
      case commit
      case tick
      case client(Int, SmallHappening)
    }
  }

  package init(clients: Int = 1, queueLength: Int = 1) {
    precondition(SmallWorld.clientsAllowed.contains(clients), "one to three clients")
    precondition(SmallWorld.queueLengthAllowed.contains(queueLength), "one to three events")
    self.clients = clients
    self.queueLength = queueLength
    packing = SmallClient.Packing(settings: SmallWorld.settings, terms: SmallWorld.terms)
  }

  /// A tick is a millisecond. Each span is as short as it can be and still matter. For example,
  /// `reallyWaited` is two ticks, so that a wait can be too short to count.
  static var settings: MachineSettings {
    var settings = MachineSettings()
    let tick = TimeSpan.milliseconds(1)
    settings.retry.transientFirst = tick
    settings.retry.transientCap = tick
    settings.retry.slowFirst = tick
    settings.retry.slowCap = tick * 2
    settings.quickDeadline = tick
    settings.registerDeadline = tick
    settings.retry.deadlineCap = tick * 2
    settings.retry.retryAfterFloor = tick
    settings.retry.retryAfterCap = tick * 2
    settings.collector = .zero
    settings.spread = tick
    settings.retry.healthy = tick
    settings.productive = tick
    settings.reallyWaited = tick * 2
    settings.retry.paceInterval = tick
    settings.retry.paceBurst = 1
    settings.retry.wakeInterval = tick
    settings.retry.wakeBurst = 1
    settings.late = .zero
    settings.writeDue = tick
    settings.debounce = .zero
    settings.refreshPeriod = tick
    return settings
  }

  static var terms: ServerTerms {
    ServerTerms(longDeadline: .milliseconds(2), lifetime: .milliseconds(1))
  }

  package var initialStates: [State] {
    var state = State(first: 0, second: 0, third: 0)
    let client = SmallClient.fresh(packing).packed(at: SmallWorld.now, packing)
    for index in 0..<clients { state[index] = client }
    return [state]
  }

  static let now = Moment(milliseconds: 0)
  static let next = Moment(milliseconds: 1)

  func client(_ index: Int, of state: State) -> SmallClient {
    SmallClient(unpacking: state[index], packing)
  }

  // MARK: Steps

  package func forEachSuccessor(of state: State, _ visit: (Step, State) -> Void) {
    guard broken(in: state) == nil else { return }
    var mayCommit = true
    var mayTick = true
    for index in 0..<clients {
      let client = client(index, of: state)
      if client.held >= Int64(queueLength) { mayCommit = false }
      if client.mustAct { mayTick = false }
      client.forEachHappening(SmallWorld.ages) { happening, next in
        self.visit(index, happening, next, state, visit)
      }
    }
    if mayCommit { everybody(.commit, state, visit) { $0.hear() } }
    if mayTick { tick(state, visit) }
  }

  private func visit(
    _ index: Int, _ happening: SmallHappening, _ client: SmallClient, _ state: State,
    _ visit: (Step, State) -> Void
  ) {
    var next = state
    next[index] = packed(client)
    if clients > 1 { next.sort() }
    var coverage = UInt64(1) << UInt64(client.body.status.code)
    if let row = client.row { coverage |= 1 << (UInt64(row) + 16) }
    visit(Step(happening: .client(index, happening), coverage: coverage), next)
  }

  /// Packs a client. Of some it is judged whether the packed one goes on as the client does.
  private func packed(_ client: SmallClient) -> UInt128 {
    let word = client.packed(at: SmallWorld.now, packing)
    var digest = StateDigest(value: UInt64(truncatingIfNeeded: word >> 64))
    digest.fold(UInt64(truncatingIfNeeded: word))
    guard digest.value & SmallWorld.sample == 0, !goesOn(word, as: client) else { return word }
    var broken = client
    broken.broken = .packed
    return broken.packed(at: SmallWorld.now, packing)
  }

  /// One of so many packed clients is judged, less one.
  private static let sample: UInt64 = 1023

  /// Whether a packed client is after every happening what the client is.
  func goesOn(_ word: UInt128, as client: SmallClient) -> Bool {
    guard client.broken == nil else { return true }
    let packed = SmallClient(unpacking: word, packing)
    return successors(of: packed) == successors(of: client)
  }

  private func successors(of client: SmallClient) -> [UInt128] {
    var words: [UInt128] = []
    client.forEachHappening(SmallWorld.ages) { _, next in
      words.append(next.packed(at: SmallWorld.now, packing))
    }
    return words
  }

  private func everybody(
    _ happening: Step.Happening, _ state: State, _ visit: (Step, State) -> Void,
    at now: Moment = SmallWorld.now, _ change: (inout SmallClient) -> Void
  ) {
    var next = state
    for index in 0..<clients {
      var client = client(index, of: state)
      change(&client)
      next[index] = client.packed(at: now, packing)
    }
    if clients > 1 { next.sort() }
    visit(Step(happening: happening, coverage: 0), next)
  }

  private func tick(_ state: State, _ visit: (Step, State) -> Void) {
    everybody(.tick, state, visit, at: SmallWorld.next) { $0.tick() }
  }

  /// The ages of a saved form that a wall clock may suggest.
  private static let ages: [TimeSpan?] = [nil, .zero, .milliseconds(1_000_000)]

  // MARK: Without faults

  /// Whether all clients are live and up to date. True as well if another rule is broken, because
  /// that is reported on its own.
  package func isSettled(_ state: State) -> Bool {
    guard broken(in: state) == nil else { return true }
    for index in 0..<clients where !client(index, of: state).isSettled { return false }
    return true
  }

  /// Visits the calm steps. What can happen at once happens at once, and users make sure that their
  /// app can go on. Only the moment at which a timer fires within its range is left open.
  package func forEachCalmSuccessor(of state: State, _ visit: (Step, State) -> Void) {
    for index in 0..<clients {
      let client = client(index, of: state)
      guard let (happening, next) = client.calmHappening else { continue }
      return self.visit(index, happening, next, state, visit)
    }
    for index in 0..<clients {
      var client = client(index, of: state)
      guard let timer = client.timer, timer.earliest <= SmallWorld.now else { continue }
      client.fire()
      self.visit(index, .timerFires, client, state, visit)
    }
    tick(state, visit)
  }

  /// The shape of the first client's machine; `nil` if no process runs.
  func shape(of state: State) -> UInt64? {
    let client = client(0, of: state)
    return client.isRunning ? client.body.machine.shape(at: SmallWorld.now) : nil
  }

  // MARK: Texts

  package func violation(of state: State) -> String? {
    if let rule = broken(in: state) { return "\(rule.oracle.rawValue): \(rule.text)" }
    for index in 0..<clients {
      // Otherwise the search would take states for one that differ.
      let again = client(index, of: state).packed(at: SmallWorld.now, packing)
      if again != state[index] { return "a packed client, unpacked and packed again, is another" }
    }
    return nil
  }

  /// The rule that a client has broken.
  private func broken(in state: State) -> SmallRule? {
    for index in 0..<clients {
      if let rule = SmallRule(rawValue: UInt8(truncatingIfNeeded: state[index] & 15)) {
        return rule
      }
    }
    return nil
  }

  package func coverage(of step: Step) -> UInt64 { step.coverage }

  package func description(of state: State) -> String {
    var text = ""
    for index in 0..<clients {
      text += (index == 0 ? "" : " | ") + "\(client(index, of: state))"
    }
    return text
  }

  package func description(ofStep step: Step) -> String {
    switch step.happening {
    case .commit: "the server commits an event"
    case .tick: "time passes"
    case .client(let index, let happening):
      clients == 1 ? "\(happening)" : "client \(index): \(happening)"
    }
  }

  /// The statuses that an exploration did not reach, by name.
  package static func missingStatuses(_ coverage: UInt64) -> [String] {
    MachineStatus.names.indices.filter { coverage & 1 << UInt64($0) == 0 }
      .map { MachineStatus.names[$0] }
  }

  /// The rows of the failure table that an exploration did not reach, each written like "expired,
  /// registering".
  package static func missingRows(_ coverage: UInt64) -> [String] {
    var missing: [String] = []
    for (row, name) in FailureRows.names.enumerated() {
      if coverage & 1 << UInt64(16 + 2 * row) == 0 { missing.append("\(name), registering") }
      if coverage & 1 << UInt64(17 + 2 * row) == 0 { missing.append("\(name), polling") }
    }
    if coverage & 1 << UInt64(16 + 2 * FailureRows.names.count) == 0 { missing.append("store") }
    return missing
  }
}
