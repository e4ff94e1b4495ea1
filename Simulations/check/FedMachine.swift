import SyncProtocols
import UpdateMachine

/// A machine with a minimal driver: writes are durable at once, timers fire on demand, and the last
/// request is remembered.
///
/// Its clock is that of the recording, but may run ahead of it: a recording client asks when it
/// likes, the machine not sooner than its pace and the server's wishes allow.
struct FedMachine {
  typealias Request = Machine<QueueFinger>.Effects.Request

  private(set) var machine: Machine<QueueFinger>
  private(set) var clock: Moment
  /// The request that is out: what the machine wants of the server.
  private(set) var wanted: Request?
  private(set) var violation: Violation?
  /// The queue that the machine released, until it is read.
  var released: QueueID?
  private var armed: TimerArm?

  private static let incarnation = Incarnation(1)

  /// One that must register.
  init(at moment: Moment) {
    machine = Machine(incarnation: FedMachine.incarnation)
    clock = moment
    give(.app(.started(foreground: true)), at: moment)
  }

  /// One that finds a saved finger.
  init(restoring finger: QueueFinger, terms: ServerTerms, at moment: Moment) {
    machine = Machine(
      restoring: finger, terms: terms, age: nil, at: moment, incarnation: FedMachine.incarnation)
    clock = moment
    give(.app(.started(foreground: true)), at: moment)
  }

  /// Gives one input; what it leads to is done at once.
  mutating func give(_ input: Machine<QueueFinger>.Input, at moment: Moment) {
    clock = max(clock, moment)
    var next: Machine<QueueFinger>.Input? = input
    while let input = next {
      next = nil
      let effects = machine.handle(input, at: clock)
      if machine.status.outstanding == nil { wanted = nil }
      if let request = effects.request { wanted = request }
      if effects.disarm != nil { armed = nil }
      if let arm = effects.arm { armed = arm }
      if let queue = effects.release { released = queue }
      if let write = effects.persist { next = .written(write) }
      if violation == nil { violation = machine.violation() }
    }
  }

  /// Answers the request that is out with what `input` makes of its ID. The answer took as long
  /// as the recorded one, and came no sooner.
  mutating func answer(
    _ exchange: Exchange, _ input: (RequestID) -> Machine<QueueFinger>.Input
  ) {
    guard let request = machine.status.outstanding else { return }
    let took = exchange.endedAt - exchange.sentAt
    give(input(request.id), at: max(exchange.endedAt, request.sent + took))
  }

  /// Brings the machine to the moment when the recording client asked again: fires what is armed
  /// until it asks, too, or wants to register.
  ///
  /// A wait ends when the client asked, at its latest if that is sooner; never after it, or the
  /// machine would believe that it slept. If it then still waits (for the pace, or because the
  /// server said so), it is told at the end of that wait, and its clock runs ahead. A poll whose
  /// deadline is over by then was never sent by the recording client, which did nothing
  /// meanwhile: that is what sleep looks like, so the deadline fires on waking.
  mutating func bring(to moment: Moment) {
    // Each turn ends in a poll, or in one of at most two waits before it.
    for turn in 0..<4 {
      guard let armed else { return }
      switch machine.status {
      case .live(.pausing), .pollFailed:
        fire(at: turn == 0 ? min(armed.range.latest, moment) : armed.range.latest)
      case .live(.polling):
        guard armed.range.latest <= moment else { return }
        fire(at: moment)
      case .registering, .registerFailed, .live(.writing), .stale, .idle, .halted:
        return
      }
    }
  }

  private mutating func fire(at moment: Moment) {
    guard let timer = armed?.timer else { return }
    armed = nil
    give(.fired(timer), at: moment)
  }
}

extension FedMachine {
  /// What it wants, in words.
  var want: String {
    switch wanted {
    case .register: "register"
    case .poll(_, let finger, _): "poll \(finger)"
    case nil: "nothing: \(machine.status)"
    }
  }

  /// The finger that it asks from; `nil` if it does not poll.
  var polledFinger: QueueFinger? {
    guard case .poll(_, let finger, _) = wanted else { return nil }
    return finger
  }
}
