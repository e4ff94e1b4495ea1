import SyncProtocols
import UpdateMachine

/// A machine with a minimal driver: writes are durable at once, timers fire on demand, and the last
/// request is remembered.
///
/// Its clock is the recording's, but may run ahead of it. The recorder asks when it likes; the
/// machine asks no sooner than the pace and the server's floor allow.
struct FedMachine {
  typealias Request = Machine<QueueFinger>.Effects.Request

  private(set) var machine: Machine<QueueFinger>
  private(set) var clock: Moment
  /// The request that is out, which is what the machine wants from the server.
  private(set) var wanted: Request?
  private(set) var violation: Violation?
  /// The queue that the machine released. Whoever reads it clears it.
  var released: QueueID?
  private var armed: TimerArm?

  private static let incarnation = Incarnation(1)

  /// Makes a machine that must register.
  init(at moment: Moment) {
    machine = Machine(incarnation: FedMachine.incarnation)
    clock = moment
    give(.app(.started(foreground: true)), at: moment)
  }

  /// Makes a machine that finds a saved finger.
  init(restoring finger: QueueFinger, terms: ServerTerms, at moment: Moment) {
    machine = Machine(
      restoring: finger, terms: terms, age: nil, at: moment, incarnation: FedMachine.incarnation)
    clock = moment
    give(.app(.started(foreground: true)), at: moment)
  }

  /// Gives the machine one input, and performs its effects at once.
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

  /// Answers the request that is out with what `input` makes of its ID. The answer takes as long as
  /// the recorded one, and comes no sooner.
  mutating func answer(
    _ exchange: Exchange, _ input: (RequestID) -> Machine<QueueFinger>.Input
  ) {
    guard let request = machine.status.outstanding else { return }
    let took = exchange.endedAt - exchange.sentAt
    give(input(request.id), at: max(exchange.endedAt, request.sent + took))
  }

  /// Brings the machine to the moment when the recorder asked again: fires its timers until it
  /// polls, too, or wants to register.
  ///
  /// A wait ends when the recorder asked, or at its latest moment if that comes first. It never
  /// ends later, or the machine would believe that it slept. If the machine then still waits (for
  /// the pace or for the server's floor), that wait ends at its latest moment, and the machine's
  /// clock runs ahead. If a poll's deadline is over by then, the recorder never sent that poll and
  /// did nothing meanwhile. That is what sleep looks like, so the deadline fires on waking.
  mutating func bring(to moment: Moment) {
    // A poll comes after at most two waits, so four turns are enough.
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
  /// What the machine wants, in words.
  var want: String {
    switch wanted {
    case .register: "register"
    case .poll(_, let finger, _): "poll \(finger)"
    case nil: "nothing: \(machine.status)"
    }
  }

  /// The finger that the machine polls from; `nil` if it does not poll.
  var polledFinger: QueueFinger? {
    guard case .poll(_, let finger, _) = wanted else { return nil }
    return finger
  }
}
