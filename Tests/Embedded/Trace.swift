// What one seed amounts to.

internal import SyncProtocols
internal import UpdateMachine

/// The hash of one machine's life under random inputs: of every status, finger, freshness and
/// effect, as text.
func traceHash(seed: UInt64) -> Digest {
  var life = RandomLife(seed: seed)
  for _ in 0..<3000 { life.step() }
  return life.digest
}

/// A machine whose every input is drawn from a seed. Most are such as a driver could give.
private struct RandomLife {
  var chance: SplitMix64
  var machine: Machine<QueueFinger>
  var now = Moment(milliseconds: 0)
  var digest = Digest()
  /// The last ones that the machine asked for.
  var timer = TimerID(1)
  var write = WriteID(1)

  init(seed: UInt64) {
    chance = SplitMix64(state: seed)
    machine = Machine(life: Life(seed))
  }

  mutating func step() {
    now = now + .milliseconds(Int64(chance.below(7000)))
    let effects = machine.handle(randomInput(), at: now)
    if let armed = effects.arm { timer = armed.timer }
    if let written = effects.persist { write = written }
    digest.fold(UInt64(machine.status.code))
    digest.fold(machine.description)
    digest.fold(machine.freshness(at: now).description)
    for text in effects.texts(at: now) { digest.fold(text) }
    if let violation = machine.violation() { digest.fold(violation.rule) }
  }

  private mutating func randomInput() -> Machine<QueueFinger>.Input {
    switch chance.below(32) {
    case 0...1: return .started(foreground: chance.below(2) == 0)
    case 2: return .foregrounded
    case 3: return .backgrounded
    case 4: return .networkChanged
    case 5: return .retryRequested
    case 6: return .writeFailed(write)
    case 7: return .stopped
    case 8...11: return .failed(request, failures[Int(chance.below(UInt64(failures.count)))])
    case 12...19: return answer()
    case 20...25: return .fired(timer)
    default: return .written(write)
    }
  }

  private var request: RequestID {
    machine.status.outstanding?.id ?? RequestID(life: machine.life, number: 1)
  }

  private var failures: [SyncFailure] {
    [
      .unreachable, .timedOut, .serverFault, .rateLimited(after: .seconds(3)), .expired,
      .rejected(RejectionCode("BAD_REQUEST")), .malformed, .modelRefused,
    ]
  }

  /// Of a register or a poll, as the machine's status wants.
  private mutating func answer() -> Machine<QueueFinger>.Input {
    guard let finger = machine.finger else {
      let queue = QueueID("q\(chance.below(100))")
      let finger = QueueFinger(queue: queue, lastEventID: -1)
      return .snapshotArrived(request, finger: finger, terms: .unspoken)
    }
    let step = Int64(chance.below(5))
    guard step > 0 else { return .polled(request, movedTo: nil) }
    let moved = QueueFinger(queue: finger.queue, lastEventID: finger.lastEventID + step)
    return .polled(request, movedTo: moved)
  }
}

/// The generator of Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
private struct SplitMix64 {
  var state: UInt64

  mutating func below(_ bound: UInt64) -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Digest.mixed(state) % bound
  }
}
