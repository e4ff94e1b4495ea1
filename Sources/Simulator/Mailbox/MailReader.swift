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
  /// The timer that is armed.
  private var timer: UInt64?
  /// It remembers every page that this client ever took: an earlier state may come back from the disk.
  private var oracle = IntervalOracle()
  private var budget = PageBudgetOracle<Narrow>()
  /// What was expected of a fetch, and did not hold.
  private var breach: String?
  /// What was counted, and what the store had counted when it was last seen.
  public private(set) var audits = AuditCounts()
  private var counted = AuditCounts()
  /// A message that was mended though nobody had broken anything.
  private var wrongRepair: MessageID?
  /// The pictures of the lists as they were told last.
  private var pictures: [String] = []

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
    budget = PageBudgetOracle()
    timer = nil
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
      return done(effects, replica, at: now)
    }
    if choices.happens(.users, 1, in: 8) { return tend(&replica, truth, at: now, &choices) }
    let index = Int(choices.draw(.users, below: UInt64(windows.count)))
    if choices.happens(.users, 1, in: 4) {
      let effects = replica.handle(.closed(windows.remove(at: index)), with: &planner, at: now)
      return done(effects, replica, at: now)
    }
    let window = anyWindow(truth, &choices)
    let effects = replica.handle(.moved(windows[index], window), with: &planner, at: now)
    return done(effects, replica, at: now)
  }

  /// Memory is given back, or a narrow means something else from now on.
  private mutating func tend(
    _ replica: inout Body, _ truth: Mailbox, at now: Moment, _ choices: inout Choices
  ) -> ReaderEffects {
    let kind = choices.draw(.users, below: 3)
    let id = MessageID(choices.draw(.users, in: 1...max(1, truth.newest.number)))
    let narrow = choices.pick(.users, Mailbox.narrows)
    let effects = replica.tend(with: &planner, at: now) { store in
      switch kind {
      case 0: store.drop(id)
      case 1: store.close(narrow)
      default: store.reconsider(narrow)
      }
    }
    return done(effects, replica, at: now)
  }

  private func anyWindow(_ truth: Mailbox, _ choices: inout Choices) -> ListWindow {
    let before = choices.draw(.users, in: 0...4)
    let after = choices.draw(.users, in: 0...4)
    let id = MessageID(choices.draw(.users, in: 0...(truth.newest.number + 1)))
    let anchor = choices.pick(.users, [PageAnchor.newest, .id(id), .firstUnread, .oldest])
    return ListWindow(anchor, before: before, after: after)
  }

  public mutating func look(_ replica: inout Body, at now: Moment) -> ReaderEffects {
    let effects = replica.handle(.changed, with: &planner, at: now)
    return done(effects, replica, at: now)
  }

  /// After every input of the planner.
  private mutating func done(
    _ effects: PagePlanner<Narrow>.Effects, _ replica: Body, at now: Moment
  ) -> ReaderEffects {
    let isLive = replica.fetchesPages
    for id in effects.cancel { budget.noteGivenUp(id, isLive: isLive, at: now) }
    for (id, request) in effects.fetch {
      let objection = budget.noteFetch(id, request, at: now)
      breach = breach ?? objection
    }
    breach = breach ?? budget.objection(atRest: now, isLive: isLive)
    if effects.disarm != nil { timer = nil }
    if let arm = effects.arm { timer = arm.timer.number }
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
    switch outcome {
    case .taken, .shown: budget.noteTaken(id)
    case .malformed: budget.noteFailure(id, .malformed, at: now)
    case .absorbed: budget.noteGivenUp(id, isLive: replica.fetchesPages, at: now)
    }
    if outcome == .taken, let before, let after = replica.model?.messages {
      if case .message(let id) = asked.request.want, !oracle.maySuspect(id),
        after.auditCounts.repairs > before.auditCounts.repairs
      {
        wrongRepair = id
      }
      oracle.notePage(
        page, for: asked.request, at: asked.position, from: before, to: after)
    }
    return done(effects, replica, at: now)
  }

  public mutating func fail(
    _ question: UInt64, _ failure: SyncFailure, _ replica: inout Body, at now: Moment
  ) -> ReaderEffects {
    questions.removeAll { $0.number == question }
    let id = FetchID(life: life, number: question)
    budget.noteFailure(id, failure, at: now)
    let effects = replica.handle(.failed(id, failure), with: &planner, at: now)
    return done(effects, replica, at: now)
  }

  public mutating func fire(
    _ timer: UInt64, _ replica: inout Body, at now: Moment
  ) -> ReaderEffects {
    let effects = replica.handle(.fired(TimerID(timer)), with: &planner, at: now)
    // Disarmed, and on its way already: another one looks after what is due.
    guard self.timer == timer else { return ReaderEffects() }
    self.timer = nil
    return done(effects, replica, at: now)
  }

  private func index(of question: UInt64) -> Int? {
    questions.firstIndex { $0.number == question }
  }

  // MARK: Judgement

  public mutating func note(_ change: Mailbox.Change, from truth: Mailbox, at position: Int64) {
    oracle.note(change, from: truth, at: position)
  }

  public mutating func judge(
    _ model: MailModel, at position: Int64, _ history: [Mailbox]
  ) -> (oracle: Oracle, expected: String, found: String)? {
    let store = model.messages
    count(store)
    oracle.noteHeld(by: store, at: position)
    if let objection = oracle.objection(to: store, at: position, history) ?? objection(to: store) {
      return (.interval, objection.expected, objection.found)
    }
    if let breach { return (.budget, breach, "it was otherwise") }
    for window in windows {
      guard let (narrow, view) = planner.window(window), let list = store.list(of: narrow) else {
        continue
      }
      let excerpt = list.excerpt(of: view)
      if let objection = ExcerptOracle.objection(to: excerpt, of: view, list) {
        return (.honesty, "\(narrow): \(objection.expected)", objection.found)
      }
    }
    return nil
  }

  /// With a server that keeps its contract nothing is suspect, and nothing is mended; and there is one
  /// fetch for a suspect at most.
  private func objection(to store: MessageStore<Narrow>) -> IntervalOracle.Objection? {
    for id in store.suspects where !oracle.maySuspect(id) {
      return IntervalOracle.Objection(
        expected: "\(id) is as the server says", found: "it is suspect")
    }
    if let wrongRepair {
      return IntervalOracle.Objection(
        expected: "\(wrongRepair) is as the server says", found: "it was mended")
    }
    guard audits.readings > audits.suspects || audits.repairs > audits.readings else { return nil }
    return IntervalOracle.Objection(
      expected: "one fetch a suspect, one repair a fetch",
      found: "\(audits.suspects) suspects, \(audits.readings) fetches, \(audits.repairs) repairs")
  }

  /// A store that was saved earlier has counted less: it counts from there.
  private mutating func count(_ store: MessageStore<Narrow>) {
    var now = AuditCounts()
    (now.suspects, now.repairs) = store.auditCounts
    now.readings = store.secondReadings
    audits.suspects += max(0, now.suspects - counted.suspects)
    audits.readings += max(0, now.readings - counted.readings)
    audits.repairs += max(0, now.repairs - counted.repairs)
    counted = now
  }

  public mutating func lookAnew(_ replica: inout Body, at now: Moment) -> ReaderEffects {
    let (all, everything) = (Narrow(), ListWindow.newest(20))
    let tended = replica.tend(with: &planner, at: now) { $0.reconsider(all) }
    var effects = done(tended, replica, at: now)
    let isOpen = windows.contains { id in
      planner.window(id).map { $0.narrow == all && $0.window == everything } ?? false
    }
    guard !isOpen else { return effects }
    let (id, more) = replica.open(all, everything, with: &planner, at: now)
    windows.append(id)
    let opened = done(more, replica, at: now)
    effects.cancel += opened.cancel
    effects.ask += opened.ask
    effects.arm = opened.arm ?? effects.arm
    return effects
  }

  public func hasSettled(_ model: MailModel) -> Bool { model.messages.openAudits == 0 }

  public func objectionAfterLooks(
    to model: MailModel, _ truth: Mailbox
  ) -> (expected: String, found: String)? {
    oracle.objectionAfterLooks(to: model.messages, truth).map { ($0.expected, $0.found) }
  }

  public func isLevel(with truth: Mailbox, _ model: MailModel) -> Bool {
    for window in windows {
      guard let (narrow, view) = planner.window(window),
        let list = model.messages.list(of: narrow)
      else { return false }
      if !model.messages.canBeKnown(narrow) { continue }
      if !list.excerpt(of: view).isComplete { return false }
    }
    return model.messages.doubtful.isEmpty
  }

  public mutating func news(of model: MailModel, _ truth: Mailbox) -> [String] {
    var all: [String] = []
    for narrow in model.messages.narrows {
      guard let list = model.messages.list(of: narrow) else { continue }
      all.append("\(IntervalBar(list, through: truth.newest)) \(narrow)")
    }
    let new = all.filter { !pictures.contains($0) }
    pictures = all
    return new
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
