internal import SyncProtocols
internal import UpdateMachine

// Notes the inputs of clients' machines, so that they can be written as a conversation.

extension World {
  /// Notes an input of a client's machine.
  mutating func noteHeard(_ client: Int, _ heard: MachineHeard<Place>) {
    switch heard {
    case .restored(let finger, let terms, let age):
      noteInput(client, .restored(World.written(finger), terms, age: age))
    case .input(let input): noteInput(client, .input(World.written(input)))
    }
  }

  private mutating func noteInput(_ client: Int, _ what: MachineInput.What) {
    trace?.noteInput(
      MachineInput(
        at: now, client: client, incarnation: clients[client].incarnation,
        settings: faultPlan.settings(of: client), what: what)
    )
  }

  /// A finger of any protocol as conversations write it: a log and a position in it.
  private static func written(_ finger: Place) -> QueueFinger {
    QueueFinger(
      queue: QueueID(finger.log.description), lastEventID: Server.number(of: finger))
  }

  /// The same input with its fingers as conversations write them. A machine never looks into a
  /// finger, so it behaves the same.
  private static func written(_ input: Machine<Place>.Input) -> Machine<QueueFinger>.Input {
    switch input {
    case .app(let signal): .app(signal)
    case .snapshotArrived(let id, let finger, let terms, let isComplete):
      .snapshotArrived(id, finger: written(finger), terms: terms, isComplete: isComplete)
    case .polled(let id, let finger, let isComplete):
      .polled(id, movedTo: finger.map(written), isComplete: isComplete)
    case .failed(let id, let failure): .failed(id, failure)
    case .fired(let timer): .fired(timer)
    case .written(let write): .written(write)
    case .writeFailed(let write): .writeFailed(write)
    }
  }
}
