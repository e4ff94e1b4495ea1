internal import SyncProtocols
internal import UpdateMachine

/// One machine, and what somebody who performs its effects knows about it: which timer and which
/// write are out, and what is on disk.
struct Client {
  var machine: Machine<QueueFinger>
  var settings: MachineSettings
  /// The timer that is armed.
  var armed: Machine<QueueFinger>.Effects.Arm?
  /// The write that is out, and what it writes.
  var writing: (id: WriteID, form: Form?)?
  /// What a new life would find; and a copy of it that somebody has made.
  var durable: Form?
  var backup: Form?

  /// What it has sent so far.
  private(set) var requestCount = 0

  /// How far it is in a run's lists of answers.
  var turns: (register: Int, quick: Int, waiting: Int) = (0, 0, 0)

  /// A saved form: a model belongs to it, which says nothing here.
  struct Form {
    var finger: QueueFinger
    var terms: Terms
    var written: Moment
  }

  init(settings: MachineSettings) {
    self.settings = settings
    machine = Machine(life: Life(1), settings: settings)
  }

  /// Puts one input in and keeps account of what comes out.
  mutating func handle(
    _ input: Machine<QueueFinger>.Input, at now: Moment
  ) -> Machine<QueueFinger>.Effects {
    switch input {
    case .fired(let timer): if armed?.timer == timer { armed = nil }
    case .written(let id):
      if let writing, writing.id == id {
        if let form = writing.form { durable = form }
        self.writing = nil
      }
    case .writeFailed(let id): if writing?.id == id { writing = nil }
    case .started, .stopped, .loggedOut, .foregrounded, .backgrounded, .networkChanged,
      .retryRequested, .credentialsChanged, .snapshotArrived, .polled, .failed:
      break
    }
    let effects = machine.handle(input, at: now)
    if effects.disarm != nil { armed = nil }
    if effects.erase {
      durable = nil
      if let id = writing?.id { writing = (id, nil) }  // Erased after it.
    }
    if let id = effects.persist {
      writing = (id, machine.finger.map { Form(finger: $0, terms: machine.terms, written: now) })
    }
    if let arm = effects.arm { armed = arm }
    if effects.request != nil { requestCount += 1 }
    return effects
  }

  /// The next life begins with what is on disk, or with the backup.
  mutating func restart(fromBackup: Bool, at now: Moment) {
    if fromBackup { durable = backup }
    restore(durable, life: Life(machine.life.number + 1), at: now)
  }

  mutating func restore(_ form: Form?, age: TimeSpan?, at now: Moment) {
    durable = form
    restore(form, life: machine.life, age: age, at: now)
  }

  private mutating func restore(_ form: Form?, life: Life, at now: Moment) {
    restore(form, life: life, age: form.map { now - $0.written }, at: now)
  }

  private mutating func restore(_ form: Form?, life: Life, age: TimeSpan?, at now: Moment) {
    armed = nil
    writing = nil
    if let form {
      machine = Machine(
        restoring: form.finger, terms: form.terms, age: age, at: now, life: life,
        settings: settings)
    } else {
      machine = Machine(life: life, settings: settings)
    }
  }
}
