internal import SyncProtocols
internal import UpdateMachine

// SmallWorld: the room of the world that is small enough to be explored completely. It has a few
// clients, a server that holds a few events for each, abstract time, and all faults between them.
// The clients are the real ones, value and protocol; their surroundings are minimal.
//
// SmallWorld may use: Explorer, Oracles, Run.

/// A world of register and poll that is small enough to visit all its states: a real client (the
/// value that an app runs, with its protocol), and a server that holds a few events for it. For
/// several clients, see ``SmallCrowd``.
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
/// From every state: once the faults stop, the client becomes live and up to date.
package struct SmallWorld: ExplorableModel, Sendable {
  /// The allowed lengths of a client's queue.
  package static let queueLengthAllowed = 1...3

  /// The most events that the server holds for a client that has not acknowledged them.
  package let queueLength: Int
  let packing: SmallClient.Packing

  /// The client, packed.
  package typealias State = UInt128

  /// A step between two states.
  package struct Step: Sendable {
    var happening: Happening
    /// What the step reached, one bit each: the status of its client afterwards, and the row of the
    /// failure table.
    var coverage: UInt64

    enum Happening: Sendable {
      case commit
      case tick
      case client(SmallHappening)
    }
  }

  package init(queueLength: Int = 1) {
    precondition(SmallWorld.queueLengthAllowed.contains(queueLength), "one to three events")
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

  package var initialStates: [State] { [packed(.fresh(packing))] }

  static let now = Moment(milliseconds: 0)
  static let next = Moment(milliseconds: 1)

  func client(of state: State) -> SmallClient { SmallClient(unpacking: state, packing) }

  func packed(_ client: SmallClient) -> State { client.packed(at: SmallWorld.now, packing) }

  /// The client when a tick has passed.
  func ticked(_ client: SmallClient) -> State {
    var client = client
    client.tick()
    return client.packed(at: SmallWorld.next, packing)
  }

  /// The client when the server has committed an event.
  func heard(_ client: SmallClient) -> State {
    var client = client
    client.hear()
    return packed(client)
  }

  /// Whether the server may commit another event, as far as this client's queue is concerned.
  func mayHear(_ client: SmallClient) -> Bool { client.held < Int64(queueLength) }

  // MARK: Steps

  package func forEachSuccessor(of state: State, _ visit: (Step, State) -> Void) {
    guard broken(in: state) == nil else { return }
    let client = client(of: state)
    client.forEachHappening(SmallWorld.ages) { happening, next in
      self.visit(happening, next, visit)
    }
    if mayHear(client) { visit(Step(happening: .commit, coverage: 0), heard(client)) }
    if !client.mustAct { visit(Step(happening: .tick, coverage: 0), ticked(client)) }
  }

  private func visit(
    _ happening: SmallHappening, _ client: SmallClient, _ visit: (Step, State) -> Void
  ) {
    var coverage = UInt64(1) << UInt64(client.body.status.code)
    if let row = client.row { coverage |= 1 << (UInt64(row) + 16) }
    visit(Step(happening: .client(happening), coverage: coverage), judged(client))
  }

  /// Packs a client after a step. Of some it is judged whether the packed one goes on as the client
  /// does.
  func judged(_ client: SmallClient) -> State {
    let state = packed(client)
    guard state.fingerprint & SmallWorld.sample == 0, !goesOn(state, as: client) else {
      return state
    }
    var broken = client
    broken.broken = .packed
    return packed(broken)
  }

  /// One of so many packed clients is judged, less one.
  private static let sample: UInt64 = 1023

  /// Whether a packed client is after every happening what the client is.
  func goesOn(_ state: State, as client: SmallClient) -> Bool {
    guard client.broken == nil else { return true }
    return successors(of: self.client(of: state)) == successors(of: client)
  }

  private func successors(of client: SmallClient) -> [State] {
    var states: [State] = []
    client.forEachHappening(SmallWorld.ages) { _, next in states.append(packed(next)) }
    return states
  }

  /// The ages of a saved form that a wall clock may suggest.
  static let ages: [TimeSpan?] = [nil, .zero, .milliseconds(1_000_000)]

  // MARK: Without faults

  /// Whether the client is live and up to date. True as well if another rule is broken, because
  /// that is reported on its own.
  package func isSettled(_ state: State) -> Bool {
    broken(in: state) != nil || client(of: state).isSettled
  }

  /// Visits the calm steps. What can happen at once happens at once, and users make sure that their
  /// app can go on. Only the moment at which a timer fires within its range is left open.
  package func forEachCalmSuccessor(of state: State, _ visit: (Step, State) -> Void) {
    let client = client(of: state)
    if let (happening, next) = client.calmHappening { return self.visit(happening, next, visit) }
    if let fired = client.afterTimer { self.visit(.timerFires, fired, visit) }
    visit(Step(happening: .tick, coverage: 0), ticked(client))
  }

  /// The shape of the client's machine; `nil` if no process runs.
  func shape(of state: State) -> UInt64? {
    let client = client(of: state)
    return client.isRunning ? client.body.machine.shape(at: SmallWorld.now) : nil
  }

  // MARK: Texts

  package func violation(of state: State) -> String? {
    if let rule = broken(in: state) { return "\(rule.oracle.rawValue): \(rule.text)" }
    // Otherwise the search would take states for one that differ.
    return packed(client(of: state)) == state
      ? nil : "a packed client, unpacked and packed again, is another"
  }

  /// The rule that the client has broken.
  func broken(in state: State) -> SmallRule? {
    SmallRule(rawValue: UInt8(truncatingIfNeeded: state & 15))
  }

  package func coverage(of step: Step) -> UInt64 { step.coverage }

  package func description(of state: State) -> String { "\(client(of: state))" }

  package func description(ofStep step: Step) -> String {
    switch step.happening {
    case .commit: "the server commits an event"
    case .tick: "time passes"
    case .client(let happening): "\(happening)"
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
