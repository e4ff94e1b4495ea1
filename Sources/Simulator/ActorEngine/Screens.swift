#if !hasFeature(Embedded)

  internal import UpdateMachine

  /// The screens of an app whose machine is observed: a reader for each open window, one for a
  /// query of the view and one for a query of the model, and tasks that wait for changes.
  ///
  /// No choice is drawn for them, so a replayed token has the same ones.
  struct Screens<App: SimulatedApp>: Sendable {
    typealias Lists = App.Model.Lists

    var windows: [(id: WindowID, reader: ScreenReader<WindowView<Lists>>)] = []
    /// `nil`: not asked yet.
    var views: ScreenReader<UniqueAnswer>?
    var models: ScreenReader<UInt64>?
    var waits: [ChangeWait] = []
    /// The windows that the app left without closing them.
    var left: [WindowID] = []
    /// The version of the view, and the number of its readings, when this was judged last.
    var judged: (version: UInt64?, readings: Int) = (nil, 0)
    /// Whether queries were left once and asked anew, when there was a model.
    var haveComeBack = false
    /// Whether the user has logged out since queries were asked, and whether these must have ended:
    /// those must that were heard by then.
    var isLoggedOut = false
    private(set) var mustEnd = false

    mutating func noteLogOut() {
      isLoggedOut = true
      mustEnd = views?.isAsked == true && models?.isAsked == true
    }

    /// Notes what an input has led to.
    func note(_ outbox: Outbox<App.Model.Change>?) {
      for wait in waits where !wait.wasStored {
        wait.wasStored = outbox?.isStored(wait.ticket) == true
      }
    }

    var haveQueriesEnded: Bool { views?.isOver != false && models?.isOver != false }

    /// Ends the queries.
    mutating func leaveQueries() {
      views?.task?.cancel()
      models?.task?.cancel()
      (views, models, isLoggedOut, judged) = (nil, nil, false, (nil, 0))
    }

    /// Ends all tasks: the process is gone.
    mutating func close() {
      leaveQueries()
      for window in windows { window.reader.task?.cancel() }
      for wait in waits { wait.task?.cancel() }
      self = Screens()
    }
  }

  /// What one task has read. All of it runs on the world's thread, on the world's executor. That
  /// makes `@unchecked` sound.
  final class ScreenReader<Value: Equatable & Sendable>: @unchecked Sendable {
    private(set) var last: Value?
    private(set) var readings = 0
    /// Whether the same came twice in a row.
    private(set) var isToldAgain = false
    /// Whether the machine has heard the question.
    private(set) var isAsked = false
    private(set) var isOver = false
    var task: Task<Void, Never>?

    func read<Values: AsyncSequence>(_ values: Values) async
    where Values.Element == Value, Values.Failure == Never {
      isAsked = true
      for await value in values {
        if value == last { isToldAgain = true }
        last = value
        readings += 1
      }
      isOver = true
    }
  }

  /// A task that waits for news of a change.
  final class ChangeWait: @unchecked Sendable {
    /// What it waits for.
    enum Goal: Sendable { case acknowledged, accepted, stored }

    let ticket: MutationTicket
    let goal: Goal
    var isOver = false
    /// What the wait for an acknowledgement said.
    var state: MutationState?
    /// What the other waits said.
    var isReached = false
    /// Whether the change was stored at some moment of the wait. A start in the same step may
    /// change it again.
    var wasStored = false
    var task: Task<Void, Never>?

    init(_ ticket: MutationTicket, _ goal: Goal) { (self.ticket, self.goal) = (ticket, goal) }
  }

  /// Answers each version of a state with something new, for apps whose states cannot be compared.
  private struct AnyVersion<State: Sendable>: ViewQuery {
    func answer(in state: State) -> UniqueAnswer { UniqueAnswer() }
  }

  /// An answer that equals no other.
  struct UniqueAnswer: Equatable, Sendable {
    static func == (one: UniqueAnswer, other: UniqueAnswer) -> Bool { false }
  }

  /// Answers with a model's checksum.
  private struct ModelChecksum<App: SimulatedApp>: ViewQuery {
    func answer(in state: App.Model) -> UInt64 { App.checksum(of: state) }
  }

  extension ActorEngine {
    // MARK: Reading

    /// Shows what is seen through a window, if the app has screens; else keeps the window open.
    func show(_ window: WindowViews<App.Model.Lists>, _ incarnation: SimulatedIncarnation<App>) {
      guard incarnation.hasAudience, incarnation.engine != nil else {
        return incarnation.windows.append(window)
      }
      let reader = ScreenReader<WindowView<App.Model.Lists>>()
      incarnation.screens.windows.append((window.id, reader))
      reader.task = Task(executorPreference: executor) { await reader.read(window) }
    }

    /// Leaves a window by dropping what shows it, as a view does that goes off screen; every second
    /// one, and only while the driver runs and hears it. Returns whether it did.
    func leave(_ id: WindowID, _ incarnation: SimulatedIncarnation<App>) -> Bool {
      guard id.number & 1 == 1, isServing(incarnation),
        let reader = incarnation.screens.windows.first(where: { $0.id == id })?.reader
      else { return false }
      incarnation.screens.windows.removeAll { $0.id == id }
      incarnation.screens.left.append(id)
      incarnation.inputs.user += 1  // The client hears of it later.
      reader.task?.cancel()
      return true
    }

    /// Whether a driver's `run()` is going on, and is not ending.
    private func isServing(_ incarnation: SimulatedIncarnation<App>) -> Bool {
      incarnation.runs == 1 && !incarnation.awaitsStart
        && world.clients[incarnation.client].word.wantsSync
    }

    /// Asks for the view and the model, at first and after each log-out, which ends all queries.
    private func askQueries(_ driver: Driver, _ incarnation: SimulatedIncarnation<App>) {
      let views = ScreenReader<UniqueAnswer>()
      let models = ScreenReader<UInt64>()
      views.task = Task(executorPreference: executor) { [weak driver] in
        let query = AnyVersion<App.Model.Change.State>()
        if let answers = await driver?.changes(of: query) { await views.read(answers) }
      }
      models.task = Task(executorPreference: executor) { [weak driver] in
        let query = ModelChecksum<App>()
        if let answers = await driver?.answers(to: query) { await models.read(answers) }
      }
      incarnation.screens.views = views
      incarnation.screens.models = models
    }

    /// Waits for a change as an app does that shows what became of it; for a few at a time, and for
    /// the store only while the driver runs: otherwise a wait would begin a save of its own.
    func letAudienceWait(
      for ticket: MutationTicket, _ driver: Driver, _ incarnation: SimulatedIncarnation<App>
    ) {
      guard incarnation.hasAudience, incarnation.engine != nil,
        incarnation.screens.waits.count < 4
      else { return }
      let goals: [ChangeWait.Goal] = [.acknowledged, .accepted, .stored]
      let goal = goals[Int(ticket.number % 3)]
      guard goal != .stored || isServing(incarnation) else { return }
      let wait = ChangeWait(ticket, goal)
      incarnation.screens.waits.append(wait)
      wait.task = Task(executorPreference: executor) {
        switch goal {
        case .acknowledged: wait.state = await driver.acknowledged(ticket)
        case .accepted: wait.isReached = await driver.accepted(ticket)
        case .stored: wait.isReached = await driver.stored(ticket)
        }
        wait.isOver = true
      }
    }

    // MARK: Judging

    /// Checks between two steps that each screen shows what is the case, and was told of each
    /// change once.
    func judgeScreens(of client: Int) {
      guard let incarnation = incarnations[client], incarnation.hasAudience, !executor.isStuck,
        let driver = drivers[client]
      else { return }
      let body = world.clients[client].body
      judgeWindows(incarnation, body)
      judgeWaits(incarnation, body)
      if incarnation.screens.isLoggedOut {
        if incarnation.screens.mustEnd, !incarnation.screens.haveQueriesEnded {
          object(incarnation, "queries end at a log-out", "they go on")
        }
        incarnation.screens.leaveQueries()
      }
      guard let views = incarnation.screens.views, let models = incarnation.screens.models else {
        return askQueries(driver, incarnation)
      }
      if views.isOver || models.isOver {
        return object(incarnation, "queries go on", "they end, though nobody has logged out")
      }
      if let model = body.model, models.last != App.checksum(of: model) {
        object(incarnation, "a query of the model is answered as it is", "\(models.readings)")
      }
      if models.isToldAgain { object(incarnation, "an answer comes once", "the model's, twice") }
      let (version, readings) = incarnation.screens.judged
      let present = body.local?.view.version
      if let present, (present != version) != (views.readings > readings) {
        object(
          incarnation, "a query of the view is answered once for each change",
          "version \(version.map(String.init) ?? "none") to \(present), "
            + "\(views.readings - readings) answers")
      }
      incarnation.screens.judged = (present ?? version, views.readings)
      if models.readings > 2, !incarnation.screens.haveComeBack {
        incarnation.screens.haveComeBack = true
        incarnation.screens.leaveQueries()
        askQueries(driver, incarnation)
      }
    }

    private func judgeWindows(_ incarnation: SimulatedIncarnation<App>, _ body: Driver.Client) {
      for (id, reader) in incarnation.screens.windows {
        let shown = body.view(of: id)  // None before rows were read from the disk.
        if reader.isOver == body.openWindows.contains(id) {
          object(incarnation, "a reader ends with its window", "\(id), ended: \(reader.isOver)")
        } else if let shown, reader.last != shown {
          object(incarnation, "window \(id) is shown as it is", "something else")
        }
        if reader.isToldAgain { object(incarnation, "a view comes once", "window \(id), twice") }
      }
      incarnation.screens.windows.removeAll { $0.reader.isOver }
      guard !incarnation.screens.left.isEmpty, isServing(incarnation) else { return }
      let open = incarnation.screens.left.filter { body.openWindows.contains($0) }
      if let id = open.first { object(incarnation, "\(id) closes when its reader leaves", "open") }
      incarnation.screens.left = []
    }

    /// Checks that a wait lasts exactly as long as there is something to wait for.
    private func judgeWaits(_ incarnation: SimulatedIncarnation<App>, _ body: Driver.Client) {
      for wait in incarnation.screens.waits {
        let state = body.outbox?.state(of: wait.ticket)
        let isPending = state == .queued || state == .sent
        let isAccepted = body.outbox?.isAccepted(wait.ticket) == true
        let isStored = body.outbox?.isStored(wait.ticket) == true
        let found = "\(wait.ticket) is \(state.map { "\($0)" } ?? "gone"), \(wait.goal)"
        if !wait.isOver {
          let isWaiting =
            switch wait.goal {
            case .acknowledged: isPending
            case .accepted: isPending && !isAccepted
            case .stored: !isStored && state != nil
            }
          if !isWaiting { object(incarnation, "a wait for a change ends with it", found) }
          continue
        }
        let isRight =
          switch (wait.goal, wait.state) {
          case (.acknowledged, .queued?), (.acknowledged, .sent?): false
          case (.acknowledged, .acknowledged?): !isPending
          case (.acknowledged, _): true
          case (.accepted, _): !wait.isReached || state != .queued
          case (.stored, _): !wait.isReached || wait.wasStored || isStored || state == nil
          }
        if !isRight { object(incarnation, "a wait ends when there is news", found) }
      }
      incarnation.screens.waits.removeAll(where: \.isOver)
    }

    private func object(
      _ incarnation: SimulatedIncarnation<App>, _ expected: String, _ found: String
    ) {
      world.checker.report(.honesty, incarnation.client, world.now, expected, found)
    }
  }

#endif
