package import MessageSync
package import SyncProtocols
package import UpdateMachine

/// A user of the messages, who scrolls through lists, jumps about in them, and leaves.
package struct MessagesUser: SimulatedUser {
  package typealias Model = MessagesModel
  package typealias Truth = ServerMessages
  package typealias Sync = EventQueue<ServerMessages.Event>
  package typealias Memory = Void
  package typealias Narrow = ServerMessages.Narrow
  package typealias Store = MessageStore<Narrow>

  package static var pause: (first: Int64, times: Int64) { (500, 2) }

  /// Two waits and two deadlines at their longest, the server's longest retry-after, and two
  /// minutes for walking over a few gaps.
  package static var bound: TimeSpan {
    let settings = PageSettings()
    return settings.retry.transientCap + settings.retry.transientCap + settings.deadline
      + settings.deadline
      + settings.retry.retryAfterCap + .seconds(120)
  }

  /// The oracle. It remembers every page of this client, because an earlier state may come back
  /// from the disk.
  private var oracle = IntervalOracle()
  private var retention = RetentionOracle()
  private var budget = PageBudgetOracle<Narrow>()
  /// An expectation of a fetch that did not hold.
  private var breach: String?
  /// The counts, and the store's counts when it was last seen.
  package private(set) var audits = AuditCounts()
  private var counted = AuditCounts()
  /// A message that was repaired although the contract was never broken.
  private var wrongRepair: MessageID?
  /// What was suspect after the last input, and a count that did not fit it.
  private var suspected: [MessageID] = []
  private var wrongCount: String?
  /// The lists' last descriptions.
  private var pictures: [String] = []
  /// The pages that arrived and are not taken yet.
  private var pages: [Page] = []
  /// What was held before the page that is being taken.
  private var heldBefore: Store?
  /// What was held in the middle of the last step, when something had been dropped.
  private var forgotten: Store?
  /// The last state that was judged right. It stays right: later knowledge of the oracle only
  /// excuses more.
  private var right: Right?

  private struct Right: Sendable {
    var store: Store
    var position: Int64
    var windows: [Window]
  }

  private typealias Window = PagePlanner<Store>.Window

  private struct Page: Sendable {
    var id: RequestID
    var page: MessagePage<UInt32>
    var request: PageRequest<Narrow, MessageID>
    var position: Int64
  }

  package init() {}

  package mutating func begin() {
    budget = PageBudgetOracle()
    retention.begin()
    pages = []
    heldBefore = nil
    right = nil
  }

  // MARK: What the user does

  package mutating func act(
    _ client: Body, _ truth: ServerMessages, _ choices: inout Choices
  ) -> [Action] {
    let windows = client.openWindows
    if windows.isEmpty || windows.count < 4 && choices.happens(.users, 1, in: 3) {
      let narrow = choices.pick(.users, ServerMessages.narrows)
      return [.opens(narrow, anyWindow(truth, &choices))]
    }
    if choices.happens(.users, 1, in: 8) { return [tend(truth, &choices)] }
    let id = windows[Int(choices.draw(.users, below: UInt64(windows.count)))]
    if choices.happens(.users, 1, in: 4) { return [.changes(.closed(id))] }
    return [.changes(.moved(id, anyWindow(truth, &choices)))]
  }

  /// Frees memory, or changes what a narrow means from then on.
  private func tend(_ truth: ServerMessages, _ choices: inout Choices) -> Action {
    let kind = choices.draw(.users, below: 3)
    let id = MessageID(choices.draw(.users, in: 1...max(1, truth.newest.number)))
    let narrow = choices.pick(.users, ServerMessages.narrows)
    switch kind {
    case 0: return .changesLists(.dropped(id))
    case 1: return .changesLists(.closed(narrow))
    default: return .changesLists(.reconsidered(narrow))
    }
  }

  private func anyWindow(
    _ truth: ServerMessages, _ choices: inout Choices
  ) -> ListWindow<MessageID> {
    let before = choices.draw(.users, in: 0...4)
    let after = choices.draw(.users, in: 0...4)
    let id = MessageID(choices.draw(.users, in: 0...(truth.newest.number + 1)))
    let anchor = choices.pick(
      .users, [PageAnchor.newest, .id(id), .firstUnread, .oldest])
    return ListWindow(anchor, before: before, after: after)
  }

  package mutating func lookAnew(_ client: Body) -> [Action] {
    let (all, everything) = (Narrow(), ListWindow<MessageID>.newest(20))
    let isOpen = client.openWindows.contains { id in
      client.window(id).map { $0.narrow == all && $0.window == everything } ?? false
    }
    return [.changesLists(.reconsidered(all))] + (isOpen ? [] : [.opens(all, everything)])
  }

  // MARK: What happens

  package mutating func acted(
    _ action: Action, from before: Body, to after: Body, at now: Moment
  ) {
    if case .changesLists = action { retention.noteForgetting() }
  }

  package mutating func look(before input: Body.Input, _ client: Body, reading rows: ReadRows) {
    forgotten = nil
    if case .snapshotArrived = input { retention.begin() }
    switch input {
    case .rowsFailed(_, .failed), .rowsFailed(_, .unreadable):
      // Rows that could not be read are dropped before any page that waited for them is taken.
      heldBefore = client.model?.lists
      heldBefore?.forgetUnloaded()
      forgotten = heldBefore
      retention.begin()
    case .pageArrived, .rowsRead:
      heldBefore = client.model.map { MessagesUser.whole($0.lists, reading: rows) }
    default: heldBefore = nil
    }
  }

  /// Everything held, in memory or on the disk.
  private static func whole(_ store: Store, reading rows: ReadRows) -> Store {
    guard store.hasUnloaded else { return store }
    var whole = store
    while whole.hasUnloaded {
      for query in whole.everythingUnloaded {
        do throws(StoredFormError) {
          _ = try whole.load(RowAnswer(query, rows(query)))
        } catch {
          return store  // The disk reports what is wrong with it.
        }
      }
    }
    return whole
  }

  package mutating func note(
    _ page: MessagePage<UInt32>, for request: PageRequest<Narrow, MessageID>, _ id: RequestID,
    readAt position: Int64
  ) {
    pages.append(Page(id: id, page: page, request: request, position: position))
  }

  package mutating func took(
    _ input: Body.Input?, _ effects: Body.Effects, _ client: Body, reading rows: ReadRows,
    at now: Moment
  ) {
    let isLive = client.fetchesPages
    if case .failed(let id, let failure, _) = input, id.part == .pages {
      budget.noteFailure(id, failure, at: now)
    }
    for (id, outcome) in effects.pages.answered {
      noteAnswered(id, outcome, client, reading: rows, isLive: isLive, at: now)
    }
    heldBefore = nil
    for id in effects.pages.cancel { budget.noteGivenUp(id, isLive: isLive, at: now) }
    for (id, request) in effects.pages.fetch {
      retention.noteFetch(id)
      let objection = budget.noteFetch(id, request, at: now)
      breach = breach ?? objection
    }
    breach = breach ?? budget.objection(atRest: now, isLive: isLive)
  }

  private mutating func noteAnswered(
    _ id: RequestID, _ outcome: PageOutcome, _ client: Body, reading rows: ReadRows, isLive: Bool,
    at now: Moment
  ) {
    switch outcome {
    case .taken, .shown: budget.noteTaken(id)
    case .malformed: budget.noteFailure(id, .malformed, at: now)
    case .absorbed: budget.noteGivenUp(id, isLive: isLive, at: now)
    }
    guard let index = pages.firstIndex(where: { $0.id == id }) else { return }
    let page = pages.remove(at: index)
    guard outcome == .taken, let before = heldBefore, let store = client.model?.lists else {
      return
    }
    retention.noteTaken(id, page.page, for: page.request)
    let after = MessagesUser.whole(store, reading: rows)
    if case .item(let id) = page.request.want, !oracle.mayBeWrong(id),
      after.auditCounts.repairs > before.auditCounts.repairs
    {
      wrongRepair = id
    }
    oracle.notePage(page.page, for: page.request, at: page.position, from: before, to: after)
  }

  package mutating func note(
    _ change: ServerMessages.Change, from truth: ServerMessages, at position: Int64
  ) {
    retention.note(change, from: truth, at: position)
    oracle.note(change, from: truth, at: position)
  }

  // MARK: Obligations

  package mutating func objection(
    to client: Body, _ truth: ServerMessages, at position: Int64, _ history: [ServerMessages],
    disk: Saved?,
    reading rows: ReadRows
  ) -> UserObjection? {
    guard position >= 0, let store = client.model?.lists else { return nil }
    count(store)
    let lost = retention.objection(
      to: store, truth, at: position, watched: client.windows.map { $0.narrow },
      unwatchedMaximum: client.settings.pages.unwatchedMaximum)
    if let objection = objection(to: store) ?? lost {
      return UserObjection(.interval, objection.expected, objection.found)
    }
    if let breach { return UserObjection(.budget, breach, "it was otherwise") }
    let windows = client.windows
    if let right, right.position == position, right.windows == windows,
      right.store.isSame(as: store)
    {
      return nil
    }
    if let forgotten { oracle.noteHeld(by: forgotten, at: position) }
    let whole = MessagesUser.whole(store, reading: rows)
    oracle.noteHeld(by: whole, at: position)
    if let objection = oracle.objection(to: whole, at: position, history) {
      return UserObjection(.interval, objection.expected, objection.found)
    }
    for window in windows {
      if let objection = objection(to: window, client, whole) { return objection }
    }
    right = Right(store: store, position: position, windows: windows)
    return nil
  }

  private func objection(
    to window: Window, _ client: Body, _ store: Store
  ) -> UserObjection? {
    if let list = store.list(of: window.narrow) {
      let excerpt = list.excerpt(of: window.window)
      if let objection = ExcerptOracle.objection(to: excerpt, of: window.window, list) {
        return UserObjection(.honesty, "\(window.narrow): \(objection.expected)", objection.found)
      }
      if !excerpt.isComplete, store.canBeKnown(window.narrow), client.fetchesPages,
        !client.awaitsPages
      {
        return UserObjection(
          .liveness, "\(window.narrow): what a window lacks is asked for, or will be", "nothing")
      }
    }
    // The app must have been told of what is visible now.
    guard client.looksOtherwise(window.id) else { return nil }
    return UserObjection(
      .honesty, "\(window.narrow): what is seen through a window is told when it changes",
      "\(window.view.map { "\($0.rows.count) rows" } ?? "nothing")")
  }

  /// No message is suspect without cause (``IntervalOracle/maySuspect(_:)``), and there is at most
  /// one fetch for a suspect.
  private func objection(to store: Store) -> IntervalOracle.Objection? {
    for id in store.suspects where !oracle.maySuspect(id) {
      return IntervalOracle.Objection(
        expected: "\(id) is as the server says", found: "it is suspect")
    }
    if let wrongRepair {
      return IntervalOracle.Objection(
        expected: "\(wrongRepair) is as the server says", found: "it was mended")
    }
    if let wrongCount {
      return IntervalOracle.Objection(expected: "each suspect is counted once", found: wrongCount)
    }
    guard audits.readings > audits.suspects || audits.repairs > audits.readings else { return nil }
    return IntervalOracle.Objection(
      expected: "one fetch a suspect, one repair a fetch",
      found: "\(audits.suspects) suspects, \(audits.readings) fetches, \(audits.repairs) repairs")
  }

  /// A store that was saved earlier has lower counts: counting continues from there.
  private mutating func count(_ store: Store) {
    var now = AuditCounts()
    (now.suspects, now.repairs) = store.auditCounts
    now.readings = store.secondReadings
    let suspects = store.suspects
    let new = suspects.count { !suspected.contains($0) }
    // An earlier form may have others.
    if now.suspects > counted.suspects, now.suspects - counted.suspects != Int64(new) {
      wrongCount = "\(now.suspects - counted.suspects) for \(new)"
    }
    suspected = suspects
    audits.suspects += max(0, now.suspects - counted.suspects)
    audits.readings += max(0, now.readings - counted.readings)
    audits.repairs += max(0, now.repairs - counted.repairs)
    counted = now
  }

  package func hasSettled(_ model: MessagesModel) -> Bool { model.lists.openAudits == 0 }

  package func objectionAfterLooks(
    to model: MessagesModel, _ truth: ServerMessages, reading rows: ReadRows
  ) -> UserObjection? {
    oracle.objectionAfterLooks(to: MessagesUser.whole(model.lists, reading: rows), truth)
      .map { UserObjection(.interval, $0.expected, $0.found) }
  }

  package func isLevel(_ client: Body, with truth: ServerMessages) -> Bool {
    guard let lists = client.model?.lists else { return false }
    for id in client.openWindows {
      guard let (narrow, view) = client.window(id), let list = lists.list(of: narrow) else {
        return false
      }
      if !lists.canBeKnown(narrow) { continue }
      if !list.excerpt(of: view).isComplete { return false }
    }
    return lists.doubtful.isEmpty
  }

  // MARK: Texts

  package mutating func news(of client: Body, _ truth: ServerMessages) -> [String] {
    guard let lists = client.model?.lists else { return [] }
    var all: [String] = []
    for narrow in lists.narrows {
      guard let list = lists.list(of: narrow) else { continue }
      all.append("\(IntervalBar(list, through: truth.newest)) \(narrow)")
    }
    let new = all.filter { !pictures.contains($0) }
    pictures = all
    return new
  }
}
