internal import SyncProtocols
internal import UpdateMachine

// What a replica's inputs mean to the machine in it.

extension World {
  /// Writes down what a client's machine heard of an input. Only the replica knows whether its model
  /// took an answer; so everything that the machine can have heard is tried, and what leads to the
  /// same machine is it.
  mutating func noteInput(
    _ client: Int, _ input: Client.Body.Input, from before: Client.Body, to after: Client.Body
  ) {
    var machine = before.machine
    if case .loaded(let saved, let age) = input {
      if before.isLoaded { return }  // Read twice: the machine hears nothing.
      if let saved, let finger = saved.finger {
        machine = Machine(
          restoring: finger, terms: saved.terms, age: age, at: now, life: machine.life,
          settings: machine.settings)
        noteInput(client, .restored(World.written(finger), saved.terms, age: age))
      }
      if machine == after.machine { return }
    }
    for meaning in World.meanings(of: input, from: before.finger, to: after.finger) {
      var other = machine
      _ = other.handle(meaning, at: now)
      if other == after.machine { return noteInput(client, .input(World.written(meaning))) }
    }
    noteInput(client, .unknown("\(input)"))
  }

  private mutating func noteInput(_ client: Int, _ what: MachineInput.What) {
    trace?.noteInput(
      MachineInput(
        at: now, client: client, life: clients[client].life, settings: climate.settings, what: what)
    )
  }

  /// What the machine can have heard, the likeliest first.
  private static func meanings(
    of input: Client.Body.Input, from before: Place?, to after: Place?
  ) -> [Machine<Place>.Input] {
    switch input {
    case .loaded:
      [.started(foreground: true), .started(foreground: false), .stopped, .backgrounded]
    case .started(let foreground):
      [.started(foreground: foreground), foreground ? .foregrounded : .backgrounded]
    case .snapshotArrived(let id, _, let finger, let terms):
      [.snapshotArrived(id, finger: finger, terms: terms), .failed(id, .modelRefused)]
    case .batchArrived(let id, _):
      [
        .polled(id, movedTo: before == after ? nil : after), .failed(id, .malformed),
        .failed(id, .modelRefused),
      ]
    case .stopped: [.stopped]
    case .loggedOut: [.loggedOut]
    case .foregrounded: [.foregrounded]
    case .backgrounded: [.backgrounded]
    case .networkChanged: [.networkChanged]
    case .retryRequested: [.retryRequested]
    case .credentialsChanged: [.credentialsChanged]
    case .failed(let id, let failure): [.failed(id, failure)]
    case .fired(let timer): [.fired(timer)]
    case .written(let write): [.written(write)]
    case .writeFailed(let write): [.writeFailed(write)]
    }
  }

  /// A finger as conversations write it, whatever the protocol is: a log, and how far in it.
  private static func written(_ finger: Place) -> QueueFinger {
    QueueFinger(
      queue: QueueID(finger.log.description), lastEventID: Server.number(of: finger))
  }

  /// A machine never looks into a finger: told the same of one as it is written, it does the same.
  private static func written(_ input: Machine<Place>.Input) -> Machine<QueueFinger>.Input {
    switch input {
    case .started(let foreground): .started(foreground: foreground)
    case .snapshotArrived(let id, let finger, let terms):
      .snapshotArrived(id, finger: written(finger), terms: terms)
    case .polled(let id, let finger): .polled(id, movedTo: finger.map(written))
    case .stopped: .stopped
    case .loggedOut: .loggedOut
    case .foregrounded: .foregrounded
    case .backgrounded: .backgrounded
    case .networkChanged: .networkChanged
    case .retryRequested: .retryRequested
    case .credentialsChanged: .credentialsChanged
    case .failed(let id, let failure): .failed(id, failure)
    case .fired(let timer): .fired(timer)
    case .written(let write): .written(write)
    case .writeFailed(let write): .writeFailed(write)
    }
  }
}
