import TestSupport
import Testing

@testable import UpdateMachine

/// A client whose effects are noted. The store answers at once or as a test says; the server
/// answers only as a test says.
struct ClientHand<Model: SyncModel, Sync: SyncProtocol> where Sync.Batch.Event == Model.Event {
  typealias Client = SyncClient<Model, Sync>

  var client: Client
  var now = Moment.ms(0)
  /// What the store answers as soon as it is asked; `nil` if the test answers.
  var store: StoreScript?
  /// The register or poll that is out.
  var request: RequestID?
  var pushes: [PushRequest<Model.Change>] = []
  /// The finger that went with each push.
  var pushedFrom: [Sync.Place?] = []
  /// Every fetch so far.
  var fetches: [(id: RequestID, request: PageRequest<Model.Lists.Narrow, Model.Lists.ID>)] = []
  /// The last write that the store was asked for.
  var write: WriteID?
  var reading: RequestID?
  var timers: [ClientPart: TimerArm] = [:]
  /// The effects of the last input.
  var effects: Client.Effects?

  enum StoreScript { case works, fails }

  init(
    incarnation: UInt64 = 1, settings: ClientSettings = ClientSettings(),
    store: StoreScript? = .works
  ) {
    client = Client(incarnation: Incarnation(incarnation), settings: settings)
    self.store = store
  }

  /// Feeds an input after some time. Returns the effects as texts.
  @discardableResult
  mutating func put(_ input: Client.Input, after span: TimeSpan = .zero) -> [String] {
    now = now + span
    switch input {
    case .snapshotArrived(request, _, _, _, _), .failed(request, _, _), .batchArrived(request, _):
      request = nil
    case .fired(let timer): if timers[timer.part]?.timer == timer { timers[timer.part] = nil }
    default: break
    }
    let effects = client.handle(input, at: now)
    return perform(effects)
  }

  /// Makes a change. Returns the effects as texts.
  @discardableResult
  mutating func mutate(
    _ change: Model.Change, after span: TimeSpan = .zero
  ) throws(MutationError<Model.Change.Refusal>) -> [String] {
    now = now + span
    let mutated = try client.mutate(change, at: now)
    return perform(mutated.effects)
  }

  @discardableResult
  mutating func perform(_ effects: Client.Effects) -> [String] {
    self.effects = effects
    #expect(client.violation() == nil)
    var answer: Client.Input?
    for effect in effects.list {
      switch effect {
      case .cancel(let id): if id == request { request = nil }
      case .disarm(let timer): timers[timer.part] = nil
      case .report, .release: break
      case .fetch(let id, let request): fetches.append((id, request))
      case .load: answer = .loaded(nil, age: nil)
      case .save(let write):
        self.write = write
        answer = store == .fails ? .writeFailed(write) : .written(write)
      case .read(let id, _): reading = id
      case .erase: answer = .erased(succeeded: store != .fails)
      case .register(let id), .poll(let id, _, _): request = id
      case .push(let push, let finger):
        pushes.append(push)
        pushedFrom.append(finger)
      case .arm(let timer, let range):
        timers[timer.part] = TimerArm(timer: timer, range: range)
      }
    }
    let texts = effects.texts(at: now)
    if store != nil, let answer {
      put(answer)
      self.effects = effects
    }
    return texts
  }

  /// Opens a window. Returns its ID, and the effects as texts.
  mutating func openWindow(
    on narrow: Model.Lists.Narrow, showing window: ListWindow<Model.Lists.ID>
  ) -> (id: WindowID, texts: [String]) {
    let opened = client.openWindow(on: narrow, showing: window, at: now)
    return (opened.id, perform(opened.effects))
  }

  /// Fires the timer of a part at the end of its range.
  @discardableResult
  mutating func fire(_ part: ClientPart) -> [String] {
    guard let arm = timers[part] else { return ["nothing is armed"] }
    now = max(now, arm.range.latest)
    return put(.fired(arm.timer))
  }
}
