import SyncProtocols
import UpdateMachine
import ZulipSync

/// A replica of an account and the least that drives it. Times are those of nobody: how long a
/// client waits is held against the machine elsewhere (``QueueCheck``).
struct FedReplica {
  typealias Queue = EventQueue<ZulipEvent>
  typealias Input = Replica<ZulipAccount, Queue>.Input

  private(set) var replica = Replica<ZulipAccount, Queue>(life: Life(1))
  private(set) var violation: Violation?
  private var clock: Moment
  private var armed: Machine<QueueFinger>.Effects.Arm?
  /// Asks for nothing by itself: the recording says what was asked for.
  private var planner: PagePlanner<ZulipMessageList>
  private var fetchCount: UInt64 = 0
  private let mendsState: Bool

  /// More waits in a row than this has no machine.
  private static let waitsMaximum = 8

  /// - Parameter mendsState: whether the state hears what a page mends of messages.
  init(at moment: Moment, mendsState: Bool) {
    clock = moment
    self.mendsState = mendsState
    var settings = PageSettings()
    settings.fetchesMaximum = 0
    planner = PagePlanner(life: Life(1), settings: settings)
    give(.loaded(nil, age: nil))
    give(.started(foreground: true))
  }

  var model: ZulipAccount? { replica.model }

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

  // MARK: The queue

  /// - Returns: whether it wanted to register, and took it.
  mutating func register(_ snapshot: ZulipAccount.Snapshot, _ finger: QueueFinger) -> Bool {
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

  // MARK: Pages

  private mutating func tend(_ body: (inout MessageStore<ZulipMessageList>) -> Void) {
    _ = replica.tend(with: &planner, at: clock, body)
  }

  /// The recorded poll leaves only now: its own had left as soon as it could.
  mutating func asked() { tend { $0.asked() } }

  /// A question for a page leaves; `nil`: pages are not fetched now.
  mutating func ask(
    _ request: PageRequest<ZulipMessageList>, isAudit: Bool = false
  ) -> FetchID? {
    guard replica.fetchesPages else { return nil }
    fetchCount += 1
    let id = FetchID(life: Life(1), number: fetchCount)
    tend { store in
      if let narrow = request.narrow { store.open(narrow) }
      store.begin(id, request, isAudit: isAudit)
    }
    return id
  }

  /// A page comes. Contents in another form than the queue's are not compared: they are taken to be
  /// what they are here.
  mutating func take(_ page: MessagePage<ZulipContent>, for fetch: FetchID) {
    guard let model else { return }
    var page = page
    for index in page.messages.indices where page.messages[index].content.form != model.form {
      let held = model.messages[page.messages[index].id]
      page.messages[index].content = held?.content ?? ZulipContent("", model.form)
    }
    if mendsState {
      _ = replica.handle(page, for: fetch, with: &planner, at: clock)
    } else {
      tend { store in
        _ = store.take(page, for: fetch)
        _ = store.takeMended()
      }
    }
  }
}
