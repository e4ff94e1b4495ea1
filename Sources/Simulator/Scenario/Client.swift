internal import SyncProtocols
internal import UpdateMachine

/// One client, and what its host knows: the armed timer, the open write and the disk. The store
/// answers reads and erasures at once, and writes when the scenario says so.
struct Client {
  typealias Body = SyncClient<ScenarioModel, ScenarioSync>

  private(set) var body: Body
  /// The timer that is armed.
  private(set) var armed: TimerArm?
  /// The open write, and the form that it writes.
  private(set) var writing: (id: WriteID, form: Form)?
  /// What a new process finds on the disk. The directive `backup` copies it to ``backup``.
  var durable: Form?
  var backup: Form?

  /// The number of requests sent.
  private(set) var requestCount = 0

  /// The client's next index in each of a run's lists of answers.
  var turns: (register: Int, quick: Int, waiting: Int) = (0, 0, 0)

  /// A saved form.
  struct Form {
    var saved: Body.Saved
    /// When it was written; `nil` if that is unknown.
    var written: Moment?

    init(_ saved: Body.Saved, written: Moment?) {
      self.saved = saved
      self.written = written
    }

    init(finger: QueueFinger, terms: ServerTerms, written: Moment?) {
      self.init(
        SavedReplica(model: ScenarioModel(), finger: finger, terms: terms), written: written)
    }
  }

  /// The results of one input.
  struct Outcome {
    /// The number of registers sent.
    var registers = 0
    /// The request that was sent and is open.
    var request: Outstanding?
    /// The timer that was armed.
    var timer: TimerArm?
    /// The write that began.
    var write: WriteID?
    /// The effects, one line each: first the machine's, in its own words; then a save, if the
    /// machine asked for no write in this step.
    var texts: [String] = []
  }

  init(settings: MachineSettings) {
    var all = ClientSettings()
    all.machine = settings
    body = Body(incarnation: Incarnation(1), settings: all)
  }

  /// Gives the client one input and performs the effects.
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

  /// Notes what an input ends: a timer that fired is no longer armed, and what was written is
  /// durable.
  private mutating func noteEnd(_ input: Body.Input) {
    switch input {
    case .fired(let timer): if armed?.timer == timer { armed = nil }
    case .written(let id):
      guard let writing, writing.id == id else { return }
      durable = writing.form
      self.writing = nil
    case .writeFailed(let id): if writing?.id == id { writing = nil }
    case .app, .loaded, .changesLoaded, .loadFailed, .rowsRead, .rowsFailed, .erased,
      .snapshotArrived,
      .batchArrived, .pushAnswered, .pageArrived, .failed, .window, .lists, .mutation,
      .saveRequested:
      return
    }
  }

  /// Performs one effect. Returns the store's answer, if it comes at once.
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

  /// Begins the next process, from the disk or from the backup.
  mutating func restart(fromBackup: Bool) {
    if fromBackup { durable = backup }
    body = Body(
      incarnation: Incarnation(body.machine.incarnation.number + 1), settings: body.settings)
    armed = nil
    writing = nil
  }

  /// What the next process will find.
  var diskText: String {
    durable?.saved.finger.map { "idle finger \($0) not started" } ?? "stale finger none not started"
  }
}

/// A model without content. A scenario is about when requests are sent, not about what is held.
struct ScenarioModel: SyncModel {
  init() {}

  init(snapshot: Void) throws(Never) {}

  mutating func apply(_ event: Never) throws(Never) {}
}
