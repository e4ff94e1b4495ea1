import MessageSync
import SyncProtocols
import UpdateMachine
import ZulipSync

/// A client of an account, with the minimum that drives it. Its times are made up, because another
/// check is about how long a client waits (``QueueCheck``).
struct FedReplica {
  typealias Queue = EventQueue<ZulipEvent>
  typealias Client = SyncClient<ZulipAccount, Queue>

  private(set) var client: Client
  private(set) var violation: Violation?
  private var clock: Moment
  private var armed: TimerArm?
  private var fetchCount: UInt64 = 0
  private let mendsState: Bool

  /// More waits in a row than any machine has.
  private static let waitsMaximum = 8

  /// - Parameter mendsState: whether the state is told what pages have mended in messages.
  init(at moment: Moment, mendsState: Bool) {
    clock = moment
    self.mendsState = mendsState
    var settings = ClientSettings()
    settings.hasStore = false
    // The client fetches no pages by itself. The recording says what was fetched.
    settings.pages.fetchesMaximum = 0
    client = Client(incarnation: Incarnation(1), settings: settings)
    give(.app(.started(foreground: true)))
  }

  var model: ZulipAccount? { client.model }

  /// The queue that the client follows.
  var queue: QueueID? { client.finger?.queue }

  private mutating func give(_ input: Client.Input) {
    let effects = client.handle(input, at: clock)
    if effects.machine.disarm != nil { armed = nil }
    if let arm = effects.machine.arm { armed = arm }
    if violation == nil { violation = client.violation() }
  }

  /// Lets time pass until a request is out.
  private mutating func request() -> RequestID? {
    for _ in 0..<FedReplica.waitsMaximum {
      if let request = client.status.outstanding { return request.id }
      guard let arm = armed else { return nil }
      armed = nil
      clock = max(clock, arm.range.latest)
      give(.fired(arm.timer))
    }
    return nil
  }

  // MARK: The queue

  /// - Returns: whether the client wanted to register, and took the snapshot.
  mutating func register(_ snapshot: ZulipAccount.Snapshot, _ finger: QueueFinger) -> Bool {
    guard let id = request(), case .registering = client.status else { return false }
    give(.snapshotArrived(id, snapshot, finger: finger, terms: .unspoken))
    return client.finger == finger
  }

  /// - Returns: whether the client is now where the batch leads.
  mutating func take(_ batch: QueueBatch<ZulipEvent>) -> Bool {
    guard let id = request(), let finger = client.finger else { return false }
    give(.batchArrived(id, batch))
    switch Queue.advance(finger, over: batch) {
    case .next(let next, first: _, isComplete: _): return client.finger == next
    case .seen, .incomplete: return client.finger == finger
    case .lost, .gap: return false
    }
  }

  /// The poll that is out fails.
  mutating func fail(_ failure: SyncFailure) {
    guard let id = request() else { return }
    give(.failed(id, failure, hasLeft: true))
  }

  // MARK: Pages

  private mutating func tend(_ body: (inout MessageStore<ZulipMessageList>) -> Void) {
    client.withModel { body(&$0.lists) }
  }

  /// Tells the store that the recorded poll leaves now. The client's own poll left as soon as it
  /// could.
  mutating func asked() { tend { $0.asked() } }

  /// A request for a page leaves. Returns `nil` if pages are not fetched now.
  mutating func ask(
    _ request: PageRequest<ZulipMessageList, MessageID>, isAudit: Bool = false
  ) -> RequestID? {
    guard client.fetchesPages else { return nil }
    fetchCount += 1
    let id = RequestID(incarnation: Incarnation(1), part: .pages, number: fetchCount)
    tend { store in
      if let narrow = request.narrow { store.open(narrow) }
      store.begin(id, request, isAudit: isAudit)
    }
    return id
  }

  /// A page comes. A content in another form than the queue's cannot be compared, so it is replaced
  /// by the content that is held.
  mutating func take(_ page: MessagePage<ZulipContent>, for fetch: RequestID) {
    guard let model else { return }
    var page = page
    for index in page.messages.indices where page.messages[index].content.form != model.form {
      let held = model.messages[page.messages[index].id]
      page.messages[index].content = held?.content ?? ZulipContent("", model.form)
    }
    let mendsState = mendsState
    client.withModel { account in
      _ = account.lists.take(page, for: fetch)
      let mended = account.lists.takeMended()
      if mendsState, !mended.isEmpty { account.mended(mended) }
    }
  }
}
