public import SyncProtocols
public import UpdateMachine

/// A user of the messages, with the windows that he has open and the planner that fetches for them.
public struct MailReader: SimulatedReader {
  public typealias Model = MailModel
  public typealias Truth = Mailbox
  public typealias Sync = EventQueue<Mailbox.Event>
  public typealias Narrow = Mailbox.Narrow

  public static var reads: Bool { true }

  /// Two pauses and two deadlines at their longest, the longest that a server makes us wait, and as
  /// long again as it takes to walk over a few gaps.
  public static var bound: TimeSpan {
    let settings = PageSettings()
    return settings.retryMaximum + settings.retryMaximum + settings.deadline + settings.deadline
      + settings.retryAfterMaximum + .seconds(120)
  }

  private var life = Life(0)
  private var planner = PagePlanner<Narrow>(life: Life(0))
  private var windows: [WindowID] = []
  private var questions: [Question] = []
  /// It remembers every page that this client ever took: an earlier state may come back from the disk.
  private var oracle = IntervalOracle()

  struct Question: Sendable {
    var number: UInt64
    var request: PageRequest<Narrow>
    /// What the server looked the IDs up in.
    var found: Mailbox?
    var page: MessagePage<UInt32>?
    var position: Int64 = 0
  }

  public init() {}

  public mutating func begin(life: Life) {
    self.life = life
    planner = PagePlanner(life: life)
    windows = []
    questions = []
  }

  // MARK: The user

  public mutating func act(
    _ replica: inout Body, _ truth: Mailbox, at now: Moment, _ choices: inout Choices
  ) -> ReaderEffects {
    if windows.isEmpty || windows.count < 4 && choices.happens(.users, 1, in: 3) {
      let narrow = choices.pick(.users, Mailbox.narrows)
      let window = anyWindow(truth, &choices)
      let (id, effects) = replica.open(narrow, window, with: &planner, at: now)
      windows.append(id)
      return done(effects)
    }
    let index = Int(choices.draw(.users, below: UInt64(windows.count)))
    if choices.happens(.users, 1, in: 4) {
      return done(
        replica.handle(.closed(windows.remove(at: index)), with: &planner, at: now))
    }
    let window = anyWindow(truth, &choices)
    return done(replica.handle(.moved(windows[index], window), with: &planner, at: now))
  }

  private func anyWindow(_ truth: Mailbox, _ choices: inout Choices) -> ListWindow {
    let before = choices.draw(.users, in: 0...4)
    let after = choices.draw(.users, in: 0...4)
    let id = MessageID(choices.draw(.users, in: 0...(truth.newest.number + 1)))
    let anchor = choices.pick(.users, [PageAnchor.newest, .id(id), .firstUnread, .oldest])
    return ListWindow(anchor, before: before, after: after)
  }

  public mutating func look(_ replica: inout Body, at now: Moment) -> ReaderEffects {
    return done(replica.handle(.changed, with: &planner, at: now))
  }

  private mutating func done(_ effects: PagePlanner<Narrow>.Effects) -> ReaderEffects {
    var wanted = ReaderEffects()
    wanted.cancel = effects.cancel.map { $0.number }
    wanted.disarm = effects.disarm?.number
    for (id, request) in effects.fetch {
      questions.append(Question(number: id.number, request: request))
      wanted.ask.append(id.number)
    }
    if let arm = effects.arm { wanted.arm = (arm.timer.number, arm.range) }
    return wanted
  }

  // MARK: Pages

  public mutating func find(_ question: UInt64, in truth: Mailbox) {
    guard let index = index(of: question) else { return }
    questions[index].found = truth
  }

  public mutating func read(
    _ question: UInt64, in truth: Mailbox, at position: Int64, breach: PageBreach?
  ) -> Bool {
    guard let index = index(of: question), let found = questions[index].found else { return false }
    let request = questions[index].request
    let page = found.page(request, later: truth)
    let wrong = breach.flatMap { found.page(request, later: truth, breaking: $0) }
    questions[index].page = wrong ?? page
    questions[index].position = position
    return wrong != nil && wrong != page
  }

  public mutating func take(
    _ question: UInt64, _ replica: inout Body, at now: Moment
  ) -> ReaderEffects {
    guard let index = index(of: question), let page = questions[index].page else {
      return ReaderEffects()
    }
    let asked = questions.remove(at: index)
    let id = FetchID(life: life, number: question)
    let before = replica.model?.messages
    let (outcome, effects) = replica.handle(page, for: id, with: &planner, at: now)
    if outcome == .taken, let before, let after = replica.model?.messages {
      var interval = page.interval
      if case .message(let id) = asked.request.want { interval = Interval(id) }
      oracle.notePage(
        page, of: asked.request.narrow, interval, at: asked.position, from: before, to: after)
    }
    return done(effects)
  }

  public mutating func fail(
    _ question: UInt64, _ failure: SyncFailure, _ replica: inout Body, at now: Moment
  ) -> ReaderEffects {
    questions.removeAll { $0.number == question }
    let id = FetchID(life: life, number: question)
    return done(replica.handle(.failed(id, failure), with: &planner, at: now))
  }

  public mutating func fire(
    _ timer: UInt64, _ replica: inout Body, at now: Moment
  ) -> ReaderEffects {
    done(replica.handle(.fired(TimerID(timer)), with: &planner, at: now))
  }

  private func index(of question: UInt64) -> Int? {
    questions.firstIndex { $0.number == question }
  }

  // MARK: Judgement

  public mutating func note(_ change: Mailbox.Change, from truth: Mailbox, at position: Int64) {
    oracle.note(change, from: truth, at: position)
  }

  public func objection(
    to model: MailModel, at position: Int64, _ history: [Mailbox]
  ) -> (expected: String, found: String)? {
    oracle.objection(to: model.messages, at: position, history).map { ($0.expected, $0.found) }
  }

  public func isLevel(with truth: Mailbox, _ model: MailModel) -> Bool {
    for window in windows {
      guard let (narrow, view) = planner.window(window),
        let list = model.messages.list(of: narrow)
      else { return false }
      if !model.messages.canBeKnown(narrow) { continue }
      if !list.excerpt(of: view).wants.isEmpty { return false }
    }
    return model.messages.doubtful.isEmpty
  }

  public func words(_ effects: ReaderEffects) -> String? {
    var text = ""
    for number in effects.cancel { text += "gives page \(number) up " }
    for number in effects.ask {
      if let index = index(of: number) {
        text += "asks for page \(number): \(questions[index].request) "
      }
    }
    return text.isEmpty ? nil : text
  }
}
