import Testing

@testable import MessageSync
@testable import Simulator
@testable import UpdateMachine

/// A planner with its store, a server of messages that answers when a test says so, and a clock
/// that is moved by hand. Oracle D judges every step.
struct PlannerDesk {
  typealias Narrow = ServerMessages.Narrow
  typealias Planner = PagePlanner<MessageStore<Narrow>>
  typealias Page = MessagePage<UInt32>

  var planner: Planner
  var store = MessageStore<Narrow>(following: [ChannelID(1), ChannelID(2)])
  var serverMessages = ServerMessages(following: [ChannelID(1), ChannelID(2)], hidden: [])
  var oracle: PageBudgetOracle<Narrow>
  var now = Moment(milliseconds: 0)
  var isLive = true
  /// Whether timers fire at the first moment of their range instead of the last.
  var firesEarly = false
  /// The fetches that are out, oldest first.
  private(set) var out: [(id: RequestID, request: PageRequest<Narrow, MessageID>)] = []
  private(set) var timer: (id: TimerID, range: MomentRange)?
  /// When each fetch began.
  private(set) var begun: [Moment] = []
  private(set) var reports: [SyncFailure] = []

  static let a = Narrow([.channel(ChannelID(1))])
  static let b = Narrow([.channel(ChannelID(2))])
  static let search = Narrow([.text("1")])

  /// The first channel has `messages` messages: 10, 20, 30 and so on. The second has as many, with
  /// IDs greater by one.
  init(messages: Int64 = 100, settings: PageSettings = PageSettings()) {
    planner = Planner(incarnation: Incarnation(1), settings: settings)
    oracle = PageBudgetOracle(settings: settings)
    for number in 1...messages {
      send(number * 10, to: 1)
      send(number * 10 + 1, to: 2)
    }
  }

  private mutating func send(_ number: Int64, to channel: Int64) {
    let place = MessagePlace.channel(ChannelID(channel), topic: "a")
    serverMessages.apply(.sent(MessageID(number), by: UserID(1), to: place, 1, []))
  }

  // MARK: Steps

  @discardableResult
  mutating func open(_ narrow: Narrow, _ window: ListWindow<MessageID>) -> WindowID {
    let id = planner.open(narrow, window)
    look()
    return id
  }

  mutating func put(_ input: Planner.Input) {
    var effects = Planner.Effects()
    planner.note(input, &store, &effects, at: now)
    planner.plan(&store, &effects, isLive: isLive, at: now)
    perform(effects)
  }

  /// The planner looks for what is wanted, as it does after every event.
  mutating func look() {
    var effects = Planner.Effects()
    planner.plan(&store, &effects, isLive: isLive, at: now)
    perform(effects)
  }

  mutating func move(_ id: WindowID, _ window: ListWindow<MessageID>) { put(.moved(id, window)) }

  /// The server answers the oldest fetch truthfully.
  mutating func answer() {
    guard let request = out.first?.request else { return noteNothingAsked() }
    answer(as: serverMessages.page(request, later: serverMessages))
  }

  /// The server answers the oldest fetch with this page.
  mutating func answer(as page: Page) {
    guard !out.isEmpty else { return noteNothingAsked() }
    let (id, _) = out.removeFirst()
    let outcome = store.take(page, for: id)
    switch outcome {
    case .taken, .shown: oracle.noteTaken(id)
    case .malformed: oracle.noteFailure(id, .malformed, at: now)
    case .absorbed: oracle.noteGivenUp(id, at: now)
    }
    put(.answered(id, outcome, anchor: page.anchor))
  }

  /// The oldest fetch fails.
  mutating func fail(_ failure: SyncFailure) {
    guard !out.isEmpty else { return noteNothingAsked() }
    let (id, _) = out.removeFirst()
    oracle.noteFailure(id, failure, at: now)
    put(.failed(id, failure))
  }

  mutating func failAll(_ failure: SyncFailure) { while !out.isEmpty { fail(failure) } }

  /// Answers all fetches, including those that follow, up to `most` in total.
  mutating func serve(atMost most: Int = 100) {
    var count = 0
    while !out.isEmpty, count < most {
      answer()
      count += 1
    }
  }

  private func noteNothingAsked() { Issue.record("no fetch is out") }

  /// A change happens on the server, and a poll brings it.
  mutating func hear(_ change: ServerMessages.Change) {
    let event = serverMessages.announcement(of: change)
    serverMessages.apply(change)
    store.asked()
    if let event { store.apply(event) }
    store.answered()
    look()
  }

  /// A new message comes in the first channel.
  mutating func hearNew(_ number: Int64) {
    let place = MessagePlace.channel(ChannelID(1), topic: "a")
    hear(.sent(MessageID(number), by: UserID(1), to: place, 1, []))
  }

  /// The finger is lost, and a new snapshot brings another.
  mutating func loseFinger() {
    isLive = false
    look()
  }

  mutating func register() {
    store = MessageStore(following: serverMessages.followed, after: store)
    isLive = true
    look()
  }

  /// Lets time pass. Timers fire when they are due.
  mutating func pass(_ span: TimeSpan) {
    let end = now + span
    while let (id, range) = timer {
      let due = firesEarly ? range.earliest : range.latest
      guard due <= end else { break }
      now = max(now, due)
      timer = nil
      put(.fired(id))
    }
    now = end
  }

  private mutating func perform(_ effects: Planner.Effects) {
    for id in effects.cancel {
      #expect(out.contains { $0.id == id }, "only an open fetch is given up")
      out.removeAll { $0.id == id }
      oracle.noteGivenUp(id, at: now)
    }
    if let disarmed = effects.disarm {
      #expect(timer?.id == disarmed)
      timer = nil
    }
    if let report = effects.report { reports.append(report) }
    for (id, request) in effects.fetch {
      #expect(oracle.noteFetch(id, request, at: now) == nil)
      begun.append(now)
      out.append((id, request))
    }
    if let arm = effects.arm {
      #expect(timer == nil, "one timer at a time")
      timer = (arm.timer, arm.range)
    }
    #expect(oracle.objection(atRest: now, isLive: isLive) == nil)
  }

  // MARK: Seeing

  /// The fetches that are out, as texts.
  var asked: [String] { out.map { "\($0.request.want)" } }

  func view(_ id: WindowID) -> WindowView<MessageStore<Narrow>> { planner.view(id, of: store)! }

  /// A window's rows as text, like "10 20 gap", with "(30)" for a former row.
  func rows(_ id: WindowID) -> String {
    view(id).rows.map { row in
      switch row {
      case .item(let message): "\(message.id)"
      case .former(let id, _): "(\(id))"
      case .gap: "gap"
      }
    }.joined(separator: " ")
  }
}
