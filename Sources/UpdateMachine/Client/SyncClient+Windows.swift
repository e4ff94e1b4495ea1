// Windows: how an app shows lists that are held only in part, and the pages fetched for them.

extension SyncClient {
  /// Opens a window on a part of a list. What is held shows at once. The rest is fetched while the
  /// log is followed and the user sees the app. Without a model the window waits for one.
  ///
  /// - Returns: the window's name, by which the app moves and closes it; and what the host must do
  ///   about it, in order.
  @inlinable
  public mutating func openWindow(
    on narrow: Model.Lists.Narrow, showing window: ListWindow<Model.Lists.ID>, at now: Moment
  ) -> (id: WindowID, effects: Effects) {
    var effects = Effects()
    let before = look(at: now)
    let id = planner.open(narrow, window)
    shownVersion = nil
    settle(since: before, at: now, &effects)
    return (id, effects)
  }

  @inlinable
  mutating func changeWindow(_ change: WindowChange, at now: Moment, _ effects: inout Effects) {
    switch change {
    case .moved(let id, let window): tellPlanner(.moved(id, window), at: now, &effects)
    case .closed(let id):
      let revision = model?.lists.revision
      tellPlanner(.closed(id), at: now, &effects)
      // A list may have been closed, so that no more are kept than may be.
      if model?.lists.revision != revision { self.change(&effects) { _ in } }
    }
    shownVersion = nil
  }

  @inlinable
  mutating func changeLists(_ change: ListChange, _ effects: inout Effects) {
    self.change(&effects) {
      switch change {
      case .dropped(let id): $0.lists.handle(.dropped(id))
      case .closed(let narrow): $0.lists.handle(.closed(narrow))
      case .reconsidered(let narrow): $0.lists.handle(.reconsidered(narrow))
      }
    }
  }

  /// Whether pages are fetched now: the log is followed, so that a page can be brought up to date,
  /// and the user sees the app. While stopped, halted or in the background, open fetches are given
  /// up.
  @inlinable
  package var fetchesPages: Bool {
    finger != nil && _machine.isInForeground && !status.isResting && !status.isHalted
  }

  // MARK: Pages

  /// Queues a page. It is taken once its rows are loaded, at the end of the step at the earliest.
  @inlinable
  mutating func pageArrived(_ id: RequestID, _ page: Lists.Page) {
    guard planner.isOut(id), !waitingPages.contains(where: { $0.id == id }) else { return }
    waitingPages.append((id, page))
  }

  /// Takes a page, whole or not at all, and tells the whole model what it has mended.
  @inlinable
  mutating func take(
    _ page: Lists.Page, for id: RequestID, at now: Moment, _ effects: inout Effects
  ) {
    var outcome = PageOutcome.absorbed
    if fetchesPages {
      change(&effects) { model in
        outcome = model.lists.take(page, for: id)
        let mended = model.lists.takeMended()
        if !mended.isEmpty { model.mended(mended) }
      }
    }
    tellPlanner(.answered(id, outcome, anchor: Lists.anchor(of: page)), at: now, &effects)
  }

  @inlinable
  mutating func tellPlanner(
    _ input: PagePlanner<Lists>.Input, at now: Moment, _ effects: inout Effects
  ) {
    guard Lists.arePartial else { return }
    withLists { planner, lists in planner.note(input, &lists, &effects.pages, at: now) }
  }

  /// Runs after every input. The planner decides what to fetch, and windows update their views.
  @inlinable
  mutating func settlePages(at now: Moment, _ effects: inout Effects) {
    guard Lists.arePartial else { return }
    let isLive = fetchesPages
    withLists { planner, lists in
      planner.plan(&lists, &effects.pages, isLive: isLive, at: now)
    }
    showWindows(&effects)
  }

  /// Calls `body` with the planner and the lists. Without a model the lists are empty.
  @inlinable
  mutating func withLists(_ body: (inout PagePlanner<Lists>, inout Lists) -> Void) {
    guard case .model(var model) = _holding else {
      var none = Lists.none
      return body(&planner, &none)
    }
    _holding = .nothing  // So that the model is changed in place.
    body(&planner, &model.lists)
    _holding = .model(model)
  }

  /// Lists the windows whose view changed. A window with unloaded rows follows once they are
  /// loaded.
  @inlinable
  mutating func showWindows(_ effects: inout Effects) {
    let version = ShownVersion(
      lists: model?.lists.revision, view: Change.isPossible ? _local?.view.version ?? 0 : 0)
    guard shownVersion != version else { return }
    shownVersion = version
    let open = planner.openWindows
    if open.isEmpty { return }
    let lists = shownLists
    for id in open {
      guard rows(under: id).isEmpty || !storage.isStarted else {
        shownVersion = nil
        continue
      }
      if planner.show(id, of: lists) { effects.windows.append(id) }
    }
  }

  /// The lists as windows show them: the confirmed ones, with the user's changes if these concern
  /// lists. O(pending).
  @usableFromInline
  var shownLists: Lists? {
    guard case .model(let model) = _holding else { return nil }
    guard Change.isPossible, let local = _local, !local.outbox.pending.isEmpty,
      let confirmed = Model.lists(in: local.view.confirmed)
    else { return model.lists }
    // A list may have been opened since the view was made.
    let isLevel = confirmed.revision == model.lists.revision && !local.outbox.isReplayDue
    let state = isLevel ? local.view.state : local.outbox.replayed(over: model.state)
    return Model.lists(in: state) ?? model.lists
  }

  /// The view through a window; `nil`: the window is not open.
  @inlinable
  public func view(of window: WindowID) -> WindowView<Model.Lists>? { planner.shown(window) }

  /// All open windows with the views last shown, for a checker.
  @inlinable
  package var windows: [PagePlanner<Lists>.Window] { planner.windows }

  /// Whether a window's view differs from the one last shown, for a checker.
  @inlinable
  package func looksOtherwise(_ window: WindowID) -> Bool {
    // A window whose rows are being read is shown once they are loaded.
    rows(under: window).isEmpty && planner.view(window, of: shownLists) != planner.shown(window)
  }

  // MARK: Rows that are not loaded

  /// Takes the batches and pages that have waited for rows.
  @inlinable
  mutating func takeWaitingAnswers(at now: Moment, _ effects: inout Effects) {
    while let (id, batch) = waitingBatches.first {
      let isCurrent = _machine.isCurrent(id)
      if isCurrent, !rows(under: batch).isEmpty { break }
      waitingBatches.removeFirst()
      if isCurrent { take(batch, for: id, at: now, &effects) }
    }
    guard !waitingPages.isEmpty else { return }
    waitingPages.removeAll { !planner.isOut($0.id) }  // Given up meanwhile.
    while let index = waitingPages.firstIndex(where: { rows(under: $0.page, for: $0.id).isEmpty }) {
      let (id, page) = waitingPages.remove(at: index)
      take(page, for: id, at: now, &effects)
    }
  }

  @inlinable
  func rows(under batch: Sync.Batch) -> [RowQuery] {
    guard storage.isPresent, case .model(let model) = _holding, model.hasUnloaded else { return [] }
    var events: [Model.Event] = []
    for index in 0..<max(0, batch.count) {
      if let event = batch.event(at: index) { events.append(event) }
    }
    return model.unloaded(under: events)
  }

  @inlinable
  func rows(under page: Lists.Page, for id: RequestID) -> [RowQuery] {
    guard storage.isPresent, case .model(let model) = _holding, model.hasUnloaded else { return [] }
    return model.lists.unloaded(under: page, for: id)
  }

  @inlinable
  func rows(under id: WindowID) -> [RowQuery] {
    guard storage.isPresent, case .model(let model) = _holding, model.hasUnloaded,
      let (narrow, window) = planner.window(id)
    else { return [] }
    return model.lists.unloaded(under: window, of: narrow)
  }

  /// The rows that the oldest pending changes need. Not of all: this is asked at each step, and
  /// who has changed so much offline does not see all of it.
  @inlinable
  func rowsUnderChanges() -> [RowQuery] {
    guard Change.isPossible, case .model(let model) = _holding, let outbox = _local?.outbox else {
      return []
    }
    var queries: [RowQuery] = []
    for pending in outbox.queue.prefix(SyncClient.changesShown) {
      queries += model.unloaded(under: pending.change)
    }
    return queries
  }

  /// For how many pending changes rows are loaded.
  @inlinable
  static var changesShown: Int { 32 }

  /// The rows to read now.
  @inlinable
  func rowsWanted() -> [RowQuery] {
    guard case .model(let model) = _holding, model.hasUnloaded, storage.isStarted else { return [] }
    var queries = waitingBatches.first.map { rows(under: $0.batch) } ?? []
    for (id, page) in waitingPages { queries += rows(under: page, for: id) }
    for id in planner.openWindows { queries += rows(under: id) }
    return queries + rowsUnderChanges()
  }

  @inlinable
  mutating func rowsRead(_ id: RequestID, _ answers: [RowAnswer], _ effects: inout Effects) {
    guard storage.wasRead(id) else { return }
    shownVersion = nil
    var isUnreadable = false
    change(&effects) { model in
      var next = model
      do throws(StoredFormError) {
        for answer in answers { try next.load(answer, isSaved: false) }
        model = next
      } catch {
        isUnreadable = true
        model.forgetUnloaded()
      }
    }
    if isUnreadable { effects.storage.report = true }
  }

  /// Takes a failed read. Rows that cannot be read are given up: the server is asked for them anew.
  /// But a read that was cut short says nothing about the saved form. Reported before the stop, it
  /// ends the answers that wait for it. Reported after the next start, it leaves them for the next
  /// read.
  @inlinable
  mutating func rowsFailed(_ id: RequestID, _ failure: StoreFailure, _ effects: inout Effects) {
    let isReadFromBefore = storage.isReadFromBefore
    guard storage.wasRead(id) else { return }
    shownVersion = nil
    guard failure != .cutShort else {
      if isReadFromBefore { return }
      waitingBatches = []
      waitingPages = []
      return
    }
    effects.storage.report = true
    change(&effects) { $0.forgetUnloaded() }
  }
}

/// What a client's windows depend on.
@usableFromInline
struct ShownVersion: Equatable, Sendable {
  /// `nil`: there is no model.
  @usableFromInline var lists: UInt64?
  /// The version of the view with the user's changes.
  @usableFromInline var view: UInt64

  @inlinable
  init(lists: UInt64?, view: UInt64) {
    self.lists = lists
    self.view = view
  }
}
