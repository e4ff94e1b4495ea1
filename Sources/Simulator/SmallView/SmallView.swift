internal import SyncProtocols
internal import UpdateMachine

// SmallView: the room that explores the outbox completely. One client follows a view by
// Replicache's protocol and changes it; a data layer answers. The client is the real one: value,
// protocol and model. Its surroundings are minimal.
//
// SmallView may use: Explorer, Run.

/// A world of one client that changes a view, small enough to visit all its states.
///
/// The user makes one to three changes, each of which adds a number to a list, and retries or
/// discards what was refused. Time passes in ticks, as in a ``SmallWorld``; every wait is one tick.
///
/// Faults: pushes and their answers are lost, late, and repeated at any time and in any order,
/// including those of earlier processes. A pull is lost, damaged, or returns the view of any
/// earlier time. The data layer refuses a mutation; a proxy refuses a push; the data layer accepts
/// a push and runs it later or never. The process crashes at any moment, even in the middle of a
/// save, which may or may not survive. Reads and saves fail.
///
/// After every step: each change is in the list at most once, and in order. A stored change is
/// pending, in the list, set aside or discarded. What was sent is durable. The view is the
/// confirmed list with the pending changes. The client's own rules hold. From every state: once the
/// faults stop, every change ends up in the list or discarded, and the client becomes up to date.
package struct SmallView: ExplorableModel, Sendable {
  /// The allowed numbers of changes.
  package static let changesAllowed = 1...3
  /// The allowed numbers of refusals.
  package static let refusalsAllowed = 0...2

  /// The number of changes that the user makes.
  package let changes: Int
  /// How many times the data layer refuses a mutation or a proxy refuses a push.
  package let refusals: Int
  /// Whether the app is also stopped, sent to the background, and so on.
  package let hasSignals: Bool
  /// A deliberate mistake that must be found.
  let plant: Plant?

  /// A mistake in the outbox, as seen from the network, or in its surroundings.
  enum Plant: CaseIterable {
    /// Gives a refused mutation's ID to the next mutation.
    case givesRefusedIDAnew
    /// Sends a mutation again under another ID.
    case sendsUnderNewID
    /// Reports a save as durable that is not.
    case forgetsASave
    /// Runs mutations without checking their IDs.
    case runsTwice
  }

  package init(changes: Int = 1, refusals: Int = 1, hasSignals: Bool = false) {
    self.init(changes: changes, refusals: refusals, hasSignals: hasSignals, plant: nil)
  }

  init(changes: Int = 1, refusals: Int = 1, hasSignals: Bool = false, plant: Plant?) {
    precondition(SmallView.changesAllowed.contains(changes), "one to three changes")
    precondition(SmallView.refusalsAllowed.contains(refusals), "up to two refusals")
    self.changes = changes
    self.refusals = refusals
    self.hasSignals = hasSignals
    self.plant = plant
  }

  /// A whole state, packed.
  package struct State: PackedState {
    var client: UInt128
    var outbox: UInt128
    var server: UInt128
    var network: UInt128

    package var fingerprint: UInt64 {
      var digest = StateDigest()
      for word in [client, outbox, server, network] {
        digest.fold(UInt64(truncatingIfNeeded: word))
        digest.fold(UInt64(truncatingIfNeeded: word >> 64))
      }
      return digest.value
    }

    package static var hasExactFingerprint: Bool { false }
  }

  /// A step between two states.
  package struct Step: Sendable {
    var happening: SmallViewHappening
    /// What the step reached, one bit for each of ``SmallView/names``.
    var coverage: UInt64
  }

  // MARK: Its numbers

  static let client = ClientID(1)
  static let incarnation = Incarnation(1)
  static let now = Moment(milliseconds: 0)
  static let next = Moment(milliseconds: 1)

  /// A tick is a millisecond. Nothing ever grows old here, and nothing is paced; ``SmallWorld``
  /// explores those rules.
  static let machineSettings: MachineSettings = {
    var settings = MachineSettings()
    let tick = TimeSpan.milliseconds(1)
    settings.retry.transientFirst = tick
    settings.retry.transientCap = tick
    settings.retry.slowFirst = tick
    settings.retry.slowCap = tick
    settings.retry.deadlineCap = tick
    settings.retry.healthy = .zero
    settings.retry.paceInterval = .zero
    settings.retry.wakeInterval = .zero
    settings.quickDeadline = tick
    settings.registerDeadline = tick
    settings.collector = .zero
    settings.spread = .zero
    settings.productive = .zero
    settings.reallyWaited = tick
    settings.late = .zero
    settings.writeDue = .seconds(1_000_000)
    settings.debounce = .zero
    return settings
  }()

  static let terms = ServerTerms(
    longDeadline: .milliseconds(1), lifetime: .seconds(1_000_000), cadence: .every(.milliseconds(1))
  )

  static let outboxSettings: OutboxSettings = {
    var settings = OutboxSettings()
    settings.machine = machineSettings
    settings.pushDeadline = .milliseconds(1)
    settings.resendFirst = .milliseconds(1)
    settings.resendCap = .milliseconds(1)
    return settings
  }()

  static let clientSettings: ClientSettings = {
    var settings = ClientSettings()
    settings.machine = machineSettings
    return settings
  }()

  static let packing = SmallViewRun.Packing(settings: machineSettings, terms: terms)

  /// The view of each list, created once.
  private static let maps: [VersionedMap<ViewKey, SmallList>] = (0..<64 as Range<UInt64>).map {
    bits in
    var map = VersionedMap<ViewKey, SmallList>()
    if bits > 0 { map[SmallList.key] = SmallList(bits: bits) }
    return map
  }

  static func map(of list: SmallList) -> VersionedMap<ViewKey, SmallList> {
    guard list.bits < 64 else {
      var map = VersionedMap<ViewKey, SmallList>()
      map[SmallList.key] = list
      return map
    }
    return maps[Int(list.bits)]
  }

  // MARK: Steps

  package var initialStates: [State] { [SmallViewRun(in: self).packed(at: SmallView.now)] }

  package func forEachSuccessor(of state: State, _ visit: (Step, State) -> Void) {
    let run = SmallViewRun(unpacking: state, in: self)
    guard run.broken == nil else { return }
    run.forEachHappening { happening, next in
      self.visit(happening, next, visit)
    }
  }

  private func visit(
    _ happening: SmallViewHappening, _ run: SmallViewRun, _ visit: (Step, State) -> Void
  ) {
    let now = happening == .tick ? SmallView.next : SmallView.now
    var state = run.packed(at: now)
    if now == SmallView.now, isJudged(state), !goesOn(state, as: run) {
      var broken = run
      broken.broken = .packed
      state = broken.packed(at: now)
    }
    visit(Step(happening: happening, coverage: run.coverage), state)
  }

  /// One of so many packed runs is judged, less one.
  private static let sample: UInt64 = 255

  private func isJudged(_ state: State) -> Bool {
    var digest = StateDigest(value: UInt64(truncatingIfNeeded: state.client))
    digest.fold(UInt64(truncatingIfNeeded: state.outbox))
    return digest.value & SmallView.sample == 0
  }

  /// Whether a packed run is after every happening what the run is.
  func goesOn(_ state: State, as run: SmallViewRun) -> Bool {
    guard run.broken == nil else { return true }
    return successors(of: SmallViewRun(unpacking: state, in: self)) == successors(of: run)
  }

  private func successors(of run: SmallViewRun) -> [State] {
    var states: [State] = []
    run.forEachHappening { happening, next in
      states.append(next.packed(at: happening == .tick ? SmallView.next : SmallView.now))
    }
    return states
  }

  // MARK: Without faults

  package func isSettled(_ state: State) -> Bool {
    let run = SmallViewRun(unpacking: state, in: self)
    return run.broken != nil || run.isSettled
  }

  package func forEachCalmSuccessor(of state: State, _ visit: (Step, State) -> Void) {
    let run = SmallViewRun(unpacking: state, in: self)
    let (happening, next) = run.calmHappening
    self.visit(happening, next, visit)
  }

  // MARK: Texts

  package func violation(of state: State) -> String? {
    guard let rule = SmallViewRule(rawValue: UInt8(truncatingIfNeeded: state.client & 15)) else {
      // Otherwise the search would take states for one that differ.
      let again = SmallViewRun(unpacking: state, in: self).packed(at: SmallView.now)
      return again == state ? nil : "a packed state, unpacked and packed again, is another"
    }
    return "\(rule.oracle.rawValue): \(rule.text)"
  }

  package func coverage(of step: Step) -> UInt64 { step.coverage }

  package func description(of state: State) -> String {
    "\(SmallViewRun(unpacking: state, in: self))"
  }

  package func description(ofStep step: Step) -> String { "\(step.happening)" }

  /// What an exploration can reach: statuses of the outbox, outcomes of a change, and a saved form
  /// from after the finger was dropped.
  package static var names: [String] {
    [
      "resting", "storing", "pushing", "waiting", "confirming", "halted", "queued", "sent",
      "set aside", "acknowledged", "given up", "saved without a finger",
    ]
  }

  /// The names that an exploration did not reach.
  package static func missing(_ coverage: UInt64) -> [String] {
    names.indices.filter { coverage & 1 << UInt64($0) == 0 }.map { names[$0] }
  }
}

/// A rule of a small view, and the oracle that checks it.
enum SmallViewRule: UInt8, CaseIterable {
  case invariants = 1
  case model
  case once
  case lost
  case acknowledged
  case durable
  case view
  case walls
  case absorbed
  case packed

  var oracle: Oracle {
    switch self {
    case .invariants, .walls, .packed: .walls
    case .model: .replica
    case .once, .lost, .acknowledged, .durable: .input
    case .view: .causality
    case .absorbed: .idempotence
    }
  }

  var text: String {
    switch self {
    case .invariants: "the client's own rules hold"
    case .model: "the confirmed list is what the data layer's was"
    case .once: "each change is made at most once, in order, and not once it was given up"
    case .lost: "what was stored is pending, made, set aside or given up"
    case .acknowledged: "a change is acknowledged exactly if it is in the confirmed list"
    case .durable: "what is sent is durable as it is sent"
    case .view: "the view is the confirmed list with what is pending"
    case .packed: "a packed client goes on as the client does"
    case .walls: "every effect can be performed"
    case .absorbed: "what is late or of another incarnation changes nothing"
    }
  }
}
