import SyncProtocols
import UpdateMachine

/// The real replica of one client, on a clock that leaps to whatever is due.
struct ViewFollower {
  typealias Model = ClientViewModel<JSON>
  typealias Answer = Result<PulledView<JSON>, ClientViewFailure>

  private(set) var replica: Replica<Model, ClientView<JSON>>
  /// The question that is out: the state that it names; `nil` within: it is a register.
  private(set) var question: (id: RequestID, state: ServerStateID?)?
  private var timer: Machine<ViewFinger>.Effects.Arm?
  private var now = Moment(milliseconds: 0)

  init() {
    var settings = MachineSettings()
    settings.isDurable = false
    replica = Replica(life: Life(1), settings: settings)
    hear(.loaded(nil, age: nil))
    hear(.started(foreground: true))
  }

  var model: Model? { replica.model }

  /// Lets what is due come, until a question is out.
  mutating func ask() {
    while question == nil { fire() }
  }

  /// The question is answered.
  mutating func answer(_ answer: Answer) {
    guard let (id, state) = question else { return }
    question = nil
    now = now + .milliseconds(50)
    switch answer {
    case .failure(let failure): hear(.failed(id, failure.failure))
    case .success(let pulled):
      if state == nil {
        hear(.snapshotArrived(id, pulled, finger: pulled.finger, terms: .clientView()))
      } else {
        hear(.batchArrived(id, pulled))
      }
    }
  }

  /// The question, or its answer, is lost.
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

  private mutating func hear(_ input: Replica<Model, ClientView<JSON>>.Input) {
    let effects = replica.handle(input, at: now)
    if let id = effects.cancel, id == question?.id { question = nil }
    if effects.disarm != nil { timer = nil }
    if let arm = effects.arm { timer = arm }
    switch effects.request {
    case .register(let id): question = (id, nil)
    case .poll(let id, let finger, _): question = (id, finger.state)
    case nil: break
    }
  }
}
