internal import SyncProtocols
internal import UpdateMachine

/// Recognises situations in what the clients of a world are told and what they do about it.
///
/// It only looks: it draws nothing, changes nothing, and no trace depends on it. A world has one
/// only if its situations are to be counted, so other runs pay for nothing but the question.
///
///     world: look ──▶ client takes the input ──▶ took, or acted
///            begins, crashes, pushArrives, pageWasRead
final class SituationWatch<Model: SyncModel, Sync: SyncProtocol>
where Sync.Batch.Event == Model.Event {
  typealias Body = SyncClient<Model, Sync>

  /// What came about so far.
  private(set) var counts = SituationCounts()
  let devices: [Device]
  private let world: Int

  /// What surrounds a client when it takes an input, and what it cannot know.
  struct Surroundings: Sendable {
    /// Whether its saved form, or rows of it, are being read.
    var isLoading = false
    var isReadingRows = false
    /// Whether a save is out.
    var isSaving = false
    var isConnected = true
    /// Whether the server still has the log of its finger.
    var isLogAlive = true
    /// How many items second readings have mended so far.
    var repairs: Int64 = 0
  }

  /// What a user does to a client, apart from signals.
  enum Deed {
    case mutates, undoes, redoes, decides
    case retries(MutationTicket)
    case opens(Model.Lists.Narrow)
  }

  /// What is remembered of one device.
  final class Device {
    // Of the input that is being taken:
    var before: Body?
    var around = Surroundings()

    // Of the process:
    /// The requests that were answered, and the fetches that were given up: after their window was
    /// closed or moved, or because their log was lost.
    var answered: [RequestID] = []
    var closed: [RequestID] = []
    var moved: [RequestID] = []
    var voided: [RequestID] = []
    /// The lists of the fetches that are out.
    var fetches: [(id: RequestID, narrow: Model.Lists.Narrow?)] = []
    /// The pushes that left: an ID, the IDs of its first and its last mutation.
    var pushes: [(id: RequestID, first: MutationID, last: MutationID)] = []
    /// The claim after the last input.
    var claim: Freshness.Claim?
    var registeredAt: Moment?
    /// Whether the last answer that the machine awaited was a rate limit.
    var wasLimited = false
    var hasLoadFailed = false
    var hasSaveFailed = false
    var isLoggedOut = false
    /// The greatest number of a request of each part; and the same when the user last logged out.
    var asked: [UInt64] = [0, 0, 0, 0]
    var askedBeforeLogOut: [UInt64] = [0, 0, 0, 0]

    // Of the device:
    /// Whether a saved form was written, and not erased since.
    var hasForm = false
    /// The newest ticket of each outbox that was seen.
    var tickets: [(client: ClientID, newest: MutationTicket)] = []
    /// The numbers of the pushes that have reached the server.
    var arrived: [UInt64] = []

    /// A new process has begun.
    func beginProcess() {
      before = nil
      answered = []
      closed = []
      moved = []
      voided = []
      fetches = []
      pushes = []
      claim = nil
      registeredAt = nil
      wasLimited = false
      hasLoadFailed = false
      hasSaveFailed = false
      isLoggedOut = false
      asked = [0, 0, 0, 0]
      askedBeforeLogOut = [0, 0, 0, 0]
    }
  }

  /// An input that a client has taken, with what is asked of it again and again.
  struct Taken {
    let input: Body.Input
    let effects: Body.Effects
    let before: Body
    let after: Body
    let around: Surroundings
    let device: Device
    let now: Moment
    /// The request that the input answers.
    var answers: RequestID?
    /// Whether the machine awaited that answer.
    var isCurrent = false
    var failure: SyncFailure?
    /// What the machine was told of the answer to a poll.
    var polled: (isNews: Bool, isComplete: Bool)?
    /// Whether the model refused the answer.
    var isRefused = false
    /// The push that was out before.
    var push: OutstandingPush?
    var hasChanges: Bool

    var outstanding: Outstanding? { before.status.outstanding }
    var isCopy: Bool { answers.map { device.answered.contains($0) } ?? false }
    var hasPagesOut: Bool { before.fetchesOut > 0 }

    init(
      _ input: Body.Input, _ effects: Body.Effects, from before: Body, to after: Body,
      _ device: Device, at now: Moment
    ) {
      self.input = input
      self.effects = effects
      self.before = before
      self.after = after
      self.device = device
      self.now = now
      around = device.around
      if case .pushing(let push)? = before.outbox?.status { self.push = push }
      hasChanges = !(before.outbox?.isEmpty ?? true)
      switch input {
      case .snapshotArrived(let id, _, _, _, _), .batchArrived(let id, _), .pushAnswered(let id, _),
        .pageArrived(let id, _):
        answers = id
      case .failed(let id, let failure, _):
        answers = id
        self.failure = failure
      default: break
      }
      if let answers, answers.part == .machine { isCurrent = before.machine.isCurrent(answers) }
      var polled: (isNews: Bool, isComplete: Bool)?
      var isRefused = false
      effects.heard.each { heard in
        switch heard {
        case .input(.polled(_, let finger, let isComplete)): polled = (finger != nil, isComplete)
        case .input(.failed(_, .modelRefused)): isRefused = true
        default: break
        }
      }
      self.polled = polled
      self.isRefused = isRefused
    }
  }

  /// - Parameter world: the number of the kind of world, from 0 to 63.
  init(clients: Int, world: Int) {
    devices = (0..<clients).map { _ in Device() }
    self.world = world
  }

  func note(_ situation: Situation, if holds: Bool = true) {
    if holds { counts.note(situation, in: world) }
  }

  // MARK: What a world says

  /// A client is about to take an input.
  func look(_ client: Int, _ body: Body, _ around: Surroundings, at now: Moment) {
    let device = devices[client]
    note(.secondReadingMends, if: around.repairs > device.around.repairs)
    device.before = body
    device.around = around
    if device.claim == .connected, body.isLoaded {
      note(.freshnessByTimeAlone, if: body.freshness(at: now).claim != .connected)
    }
  }

  /// A client has taken an input.
  func took(
    _ client: Int, _ input: Body.Input, _ effects: Body.Effects, _ body: Body, at now: Moment
  ) {
    let device = devices[client]
    guard let before = device.before else { return }
    let taken = Taken(input, effects, from: before, to: body, device, at: now)
    recogniseSignal(taken)
    recogniseAnswer(taken)
    recogniseTime(taken)
    recognisePush(taken)
    recogniseNews(taken)
    recognisePage(taken)
    recogniseStorage(taken)
    remember(taken)
    noteEffects(effects, device)
    noteState(body, device, at: now)
  }

  /// A client's user has acted.
  func acted(
    _ client: Int, _ deed: Deed?, from before: Body, to body: Body, _ effects: Body.Effects,
    _ around: Surroundings, at now: Moment
  ) {
    let device = devices[client]
    if let deed { recognise(deed, from: before, to: body, effects, around, device) }
    noteEffects(effects, device)
    noteState(body, device, at: now)
  }

  /// A new process begins.
  func begins(_ client: Int) { devices[client].beginProcess() }

  // MARK: Memory

  /// Remembers what later inputs are compared with.
  private func remember(_ taken: Taken) {
    let device = taken.device
    if let id = taken.answers {
      device.answered.append(id)
      device.fetches.removeAll { $0.id == id }
    }
    switch taken.input {
    case .app(.loggedOut):
      device.isLoggedOut = true
      device.askedBeforeLogOut = device.asked
      device.hasForm = false
    case .app(.started): device.isLoggedOut = false
    case .snapshotArrived where taken.isCurrent: device.registeredAt = taken.now
    case .written:
      device.hasForm = !device.isLoggedOut
      device.hasSaveFailed = false
    case .writeFailed: device.hasSaveFailed = true
    case .loadFailed: device.hasLoadFailed = true
    default: break
    }
    guard taken.isCurrent else { return }
    if case .rateLimited? = taken.failure {
      device.wasLimited = true
    } else {
      device.wasLimited = false
    }
  }

  /// Remembers what left the client, and what it gave up.
  private func noteEffects(_ effects: Body.Effects, _ device: Device) {
    if let request = effects.machine.request { noteAsked(request.id, device) }
    if let push = effects.outbox.push, let first = push.mutations.first?.id,
      let last = push.mutations.last?.id
    {
      noteAsked(push.id, device)
      device.pushes.append((push.id, first, last))
    }
    for id in effects.pages.cancel { device.fetches.removeAll { $0.id == id } }
    for (id, request) in effects.pages.fetch {
      noteAsked(id, device)
      device.fetches.append((id, request.narrow))
    }
  }

  private func noteAsked(_ id: RequestID, _ device: Device) {
    device.asked[Int(id.part.rawValue)] = id.number
  }

  private func noteState(_ body: Body, _ device: Device, at now: Moment) {
    device.claim = body.isLoaded ? body.freshness(at: now).claim : nil
    guard let outbox = body.outbox, outbox.newestTicket.number > 0 else { return }
    if let index = device.tickets.firstIndex(where: { $0.client == outbox.client }) {
      device.tickets[index].newest = max(device.tickets[index].newest, outbox.newestTicket)
    } else {
      device.tickets.append((outbox.client, outbox.newestTicket))
    }
  }
}
