internal import SyncProtocols
internal import UpdateMachine

/// One client, and what its host knows: which timer and which write are out, and what is on disk. Its
/// store answers a reading and an erasure at once, and a write when the scenario says so.
struct Client {
  typealias Body = SyncClient<ScenarioModel, EventQueue<Never>>

  private(set) var body: Body
  /// The timer that is armed.
  private(set) var armed: TimerArm?
  /// The write that is out, and what it writes.
  private(set) var writing: (id: WriteID, form: Form)?
  /// What a new life would find; and a copy of it that somebody has made.
  var durable: Form?
  var backup: Form?

  /// What it has sent so far.
  private(set) var requestCount = 0

  /// How far it is in a run's lists of answers.
  var turns: (register: Int, quick: Int, waiting: Int) = (0, 0, 0)

  /// A saved form.
  struct Form {
    var saved: Body.Saved
    /// `nil`: nobody knows.
    var written: Moment?

    init(_ saved: Body.Saved, written: Moment?) {
      self.saved = saved
      self.written = written
    }

    init(finger: QueueFinger, terms: Terms, written: Moment?) {
      self.init(
        SavedReplica(model: ScenarioModel(), finger: finger, terms: terms), written: written)
    }
  }

  /// What one input has led to.
  struct Outcome {
    /// Registers that were sent.
    var registers = 0
    /// What was sent and is out now.
    var request: Outstanding?
    /// What was armed.
    var timer: TimerArm?
    /// What began to be written.
    var write: WriteID?
    /// The effects, one line each: the machine's in the machine's words, then a save of which the
    /// machine has said nothing in this step.
    var texts: [String] = []
  }

  init(settings: MachineSettings) {
    var all = ClientSettings()
    all.machine = settings
    body = Body(life: Life(1), settings: all)
  }

  /// Puts one input in and performs what comes out.
  mutating func handle(
    _ input: Body.Input, at now: Moment, withTexts: Bool = false
  ) -> Outcome {
    noteEnd(input)
    var outcome = Outcome()
    var next: Body.Input? = input
    var machineWrites = false
    while let input = next {
      next = nil
      let effects = body.handle(input, at: now)
      if withTexts { outcome.texts += effects.machine.texts(at: now) }
      if effects.machine.persist != nil { machineWrites = true }
      effects.each({ if let answer = perform($0, &outcome, at: now) { next = answer } })
    }
    if withTexts, !machineWrites, let id = outcome.write { outcome.texts.append("save \(id)") }
    return outcome
  }

  /// The timer that has fired is armed no more, and what was written is durable.
  private mutating func noteEnd(_ input: Body.Input) {
    switch input {
    case .fired(let timer): if armed?.timer == timer { armed = nil }
    case .written(let id):
      guard let writing, writing.id == id else { return }
      durable = writing.form
      self.writing = nil
    case .writeFailed(let id): if writing?.id == id { writing = nil }
    case .app, .loaded, .loadFailed, .rowsRead, .rowsFailed, .erased, .snapshotArrived,
      .batchArrived, .pushAnswered, .pageArrived, .failed, .window, .lists, .mutation,
      .saveRequested:
      return
    }
  }

  /// Performs one effect. Returns what the store answers at once.
  private mutating func perform(
    _ effect: Body.Effect, _ outcome: inout Outcome, at now: Moment
  ) -> Body.Input? {
    switch effect {
    case .cancel, .report, .release: return nil
    case .disarm: armed = nil
    case .load:
      let age = durable?.written.map { now - $0 }
      return .loaded(durable?.saved, age: age)
    case .save(let id):
      guard let saved = body.saved else { return .writeFailed(id) }
      writing = (id, Form(saved, written: now))
      outcome.write = id
    case .erase:
      durable = nil
      return .erased(succeeded: true)
    case .register:
      outcome.registers += 1
      noteRequest(&outcome)
    case .poll: noteRequest(&outcome)
    case .arm(let timer, let range):
      armed = TimerArm(timer: timer, range: range)
      outcome.timer = armed
    case .read, .push, .fetch: preconditionFailure("nothing of that kind is in a scenario's model")
    }
    return nil
  }

  private mutating func noteRequest(_ outcome: inout Outcome) {
    requestCount += 1
    outcome.request = body.status.outstanding
  }

  /// The next life begins with what is on disk, or with the backup.
  mutating func restart(fromBackup: Bool) {
    if fromBackup { durable = backup }
    body = Body(life: Life(body.machine.life.number + 1), settings: body.settings)
    armed = nil
    writing = nil
  }

  /// What the next start will find.
  var diskText: String {
    durable?.saved.finger.map { "idle finger \($0) not started" } ?? "stale finger none not started"
  }
}

/// A model that says nothing: a scenario is about when something is asked, not about what is held.
struct ScenarioModel: SyncModel {
  init() {}

  init(snapshot: Void) throws(Never) {}

  mutating func apply(_ event: Never) throws(Never) {}
}
