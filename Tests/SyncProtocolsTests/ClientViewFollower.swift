import SyncProtocols
import UpdateMachine

/// The real client, on a clock that jumps to whatever is due.
struct ViewFollower {
  typealias Model = ClientViewModel<JSONValue>
  typealias Answer = Result<PulledView<JSONValue>, ClientViewFailure>

  private(set) var client: SyncClient<Model, ClientView<JSONValue>>
  /// The request that is out, and the state that it names. The state is `nil` in a register.
  private(set) var question: (id: RequestID, state: ServerStateID?)?
  private(set) var now = Moment(milliseconds: 0)
  private var timer: TimerArm?

  init() {
    var settings = ClientSettings()
    settings.hasStore = false
    client = SyncClient(incarnation: Incarnation(1), settings: settings)
    hear(.app(.started(foreground: true)))
  }

  var model: Model? { client.model }

  /// Lets due timers fire until a request is out.
  mutating func ask() {
    while question == nil { fire() }
  }

  /// The request is answered.
  mutating func answer(_ answer: Answer) {
    guard let (id, state) = question else { return }
    question = nil
    now = now + .milliseconds(50)
    switch answer {
    case .failure(let failure): hear(.failed(id, failure.failure, hasLeft: true))
    case .success(let pulled):
      if state == nil {
        hear(
          .snapshotArrived(
            id, pulled, finger: pulled.finger, terms: .clientView(), isComplete: pulled.isCurrent))
      } else {
        hear(.batchArrived(id, pulled))
      }
    }
  }

  /// The request or its answer is lost.
  mutating func lose() {
    let lost = question?.id
    while question?.id == lost, lost != nil { fire() }
  }

  private mutating func fire() {
    guard let due = timer else { return }
    now = max(now, due.range.latest)
    timer = nil
    hear(.fired(due.timer))
  }

  private mutating func hear(_ input: SyncClient<Model, ClientView<JSONValue>>.Input) {
    for effect in client.handle(input, at: now).list {
      switch effect {
      case .cancel(let id): if id == question?.id { question = nil }
      case .disarm: timer = nil
      case .register(let id): question = (id, nil)
      case .poll(let id, let finger, _): question = (id, finger.state)
      case .arm(let id, let range): timer = TimerArm(timer: id, range: range)
      case .report, .release, .load, .save, .read, .erase, .push, .fetch: break
      }
    }
  }
}
