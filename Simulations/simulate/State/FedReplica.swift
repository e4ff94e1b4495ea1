import SyncProtocols
import UpdateMachine
import ZulipSync

/// A replica of a realm's state and the least that drives it. Times are those of nobody: how long a
/// client waits is held against the machine elsewhere (``QueueCheck``).
struct FedReplica {
  typealias Queue = EventQueue<ZulipEvent>
  typealias Input = Replica<ZulipState, Queue>.Input

  private(set) var replica = Replica<ZulipState, Queue>(life: Life(1))
  private(set) var violation: Violation?
  private var clock: Moment
  private var armed: Machine<QueueFinger>.Effects.Arm?

  /// More waits in a row than this has no machine.
  private static let waitsMaximum = 8

  init(at moment: Moment) {
    clock = moment
    give(.loaded(nil, age: nil))
    give(.started(foreground: true))
  }

  var model: ZulipState? { replica.model }

  /// The queue that it follows.
  var queue: QueueID? { replica.finger?.queue }

  private mutating func give(_ input: Input) {
    var next: Input? = input
    while let input = next {
      next = nil
      let effects = replica.handle(input, at: clock)
      if effects.disarm != nil { armed = nil }
      if let arm = effects.arm { armed = arm }
      if let write = effects.persist { next = .written(write) }
      if violation == nil { violation = replica.violation() }
    }
  }

  /// Lets time pass until there is a request out.
  private mutating func request() -> RequestID? {
    for _ in 0..<FedReplica.waitsMaximum {
      if let request = replica.status.outstanding { return request.id }
      guard let arm = armed else { return nil }
      armed = nil
      clock = max(clock, arm.range.latest)
      give(.fired(arm.timer))
    }
    return nil
  }

  /// - Returns: whether it wanted to register, and took it.
  mutating func register(_ snapshot: ZulipSnapshot, _ finger: QueueFinger) -> Bool {
    guard let id = request(), case .registering = replica.status else { return false }
    give(.snapshotArrived(id, snapshot, finger: finger, terms: .unspoken))
    return replica.finger == finger
  }

  /// - Returns: whether it is where the batch leads.
  mutating func take(_ batch: QueueBatch<ZulipEvent>) -> Bool {
    guard let id = request(), let finger = replica.finger else { return false }
    give(.batchArrived(id, batch))
    switch Queue.advance(finger, over: batch) {
    case .next(let next, first: _): return replica.finger == next
    case .seen: return replica.finger == finger
    case .gap: return false
    }
  }

  /// The poll that is out fails.
  mutating func fail(_ failure: SyncFailure) {
    guard let id = request() else { return }
    give(.failed(id, failure))
  }
}
