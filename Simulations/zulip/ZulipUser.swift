package import MessageSync
package import Simulator
package import SyncProtocols
package import UpdateMachine
internal import ZulipServer
package import ZulipSync

/// A user of an account, who scrolls through lists, jumps about in them, and leaves. As
/// `MessagesUser`, for the lists of `ZulipSync`; it also judges the account's state.
package struct ZulipUser: SimulatedUser {
  package typealias Model = ZulipAccount
  package typealias Truth = ZulipTruth
  package typealias Sync = EventQueue<ZulipEvent>
  package typealias Memory = Void
  package typealias Narrow = ZulipMessageList
  package typealias Store = MessageStore<ZulipMessageList>

  package static var pause: (first: Int64, times: Int64) { (500, 2) }

  /// Two waits and two deadlines at their longest, the server's longest retry-after, and two
  /// minutes for walking over a few gaps.
  package static var bound: TimeSpan {
    let settings = PageSettings()
    return settings.retry.transientCap + settings.retry.transientCap + settings.deadline
      + settings.deadline
      + settings.retry.retryAfterCap + .seconds(120) + boundOfChanges
  }

  /// The oracle. It remembers every page of this client, because an earlier state may come back
  /// from the disk.
  private var oracle = ZulipOracle()
  private var budget = PageBudgetOracle<Narrow>()
  /// An expectation of a fetch that did not hold.
  private var breach: String?
  /// A message that was repaired although the contract was never broken.
  private var wrongRepair: MessageID?
  /// The pages that arrived and are not taken yet.
  private var pages: [Page] = []
  /// What was held before the page that is being taken.
  private var heldBefore: Store?
  /// The change to which the last input has given an ID, and that ID.
  private(set) var named: (ticket: MutationTicket, id: Int64)?
  /// The last state that was judged right. It stays right: later knowledge of the oracle only
  /// excuses more.
  private var right: Right?
  private var pictures: [String] = []
  /// The tickets of messages that are on their way, in this process.
  var letters: [MutationTicket] = []

  private struct Right: Sendable {
    var store: Store
    var state: ZulipState
    var position: Int64
    var windows: [Window]
  }

  typealias Window = PagePlanner<Store>.Window

  private struct Page: Sendable {
    var id: RequestID
    var page: MessagePage<ZulipContent>
    var request: PageRequest<Narrow, MessageID>
    var position: Int64
  }

  package init() {}

  package mutating func begin() {
    budget = PageBudgetOracle()
    pages = []
    heldBefore = nil
    right = nil
    letters = []
  }

  // MARK: What the user does

  package mutating func act(
    _ client: Body, _ truth: ZulipTruth, _ choices: inout Choices
  ) -> [Action] {
    guard let model = client.model else { return [] }
    if choices.happens(.users, 1, in: 4), let action = changesSomething(client, truth, &choices) {
      return [action]
    }
    let windows = client.openWindows
    if windows.isEmpty || windows.count < 4 && choices.happens(.users, 1, in: 3) {
      let narrow = choices.pick(.users, ZulipTruth.narrows)
      return [.opens(model.list(narrow), anyWindow(truth, &choices))]
    }
    if choices.happens(.users, 1, in: 8) { return [tend(model, truth, &choices)] }
    let id = windows[Int(choices.draw(.users, below: UInt64(windows.count)))]
    if choices.happens(.users, 1, in: 4) { return [.changes(.closed(id))] }
    return [.changes(.moved(id, anyWindow(truth, &choices)))]
  }

  /// Frees memory, or changes what a narrow means from then on.
  private func tend(
    _ model: ZulipAccount, _ truth: ZulipTruth, _ choices: inout Choices
  ) -> Action {
    let kind = choices.draw(.users, below: 3)
    let id = MessageID(choices.draw(.users, in: 1...max(1, truth.realm.lastMessageID)))
    let narrow = model.list(choices.pick(.users, ZulipTruth.narrows))
    switch kind {
    case 0: return .changesLists(.dropped(id))
    case 1: return .changesLists(.closed(narrow))
    default: return .changesLists(.reconsidered(narrow))
    }
  }

  private func anyWindow(
    _ truth: ZulipTruth, _ choices: inout Choices
  ) -> ListWindow<MessageID> {
    let before = choices.draw(.users, in: 0...4)
    let after = choices.draw(.users, in: 0...4)
    let id = MessageID(choices.draw(.users, in: 0...(truth.realm.lastMessageID + 1)))
    let anchor = choices.pick(
      .users, [PageAnchor.newest, .id(id), .firstUnread, .oldest])
    return ListWindow(anchor, before: before, after: after)
  }

  // MARK: What happens

  package mutating func look(before input: Body.Input, _ client: Body, reading rows: ReadRows) {
    // The next user's tickets begin anew.
    if case .app(.loggedOut) = input { letters = [] }
    named = ZulipUser.named(by: input, client)
    switch input {
    case .rowsFailed(_, .failed), .rowsFailed(_, .unreadable):
      // Rows that could not be read are dropped before any page that waited for them is taken.
      heldBefore = client.model?.lists
      heldBefore?.forgetUnloaded()
    case .pageArrived, .rowsRead:
      heldBefore = client.model.map { ZulipUser.whole($0.lists, reading: rows) }
    default: heldBefore = nil
    }
  }

  /// The change to which an input gives an ID: the server has answered with its message's.
  private static func named(
    by input: Body.Input, _ client: Body
  ) -> (ticket: MutationTicket, id: Int64)? {
    guard case .pushAnswered(let request, .created(let id)) = input,
      let outbox = client.local?.outbox, case .pushing(let push) = outbox.status,
      push.id == request, !push.isSearch
    else { return nil }
    return outbox.pending.first { $0.id == push.first }.map { ($0.ticket, id) }
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
    _ page: MessagePage<ZulipContent>, for request: PageRequest<Narrow, MessageID>,
    _ id: RequestID, readAt position: Int64
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
      let objection = budget.noteFetch(id, request, at: now)
      breach = breach ?? objection
    }
    // A change that was refused is no step: nothing is looked at (seed 6707).
    if input == nil, effects.isEmpty { return }
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
    let after = ZulipUser.whole(store, reading: rows)
    if case .item(let id) = page.request.want, !oracle.maySuspect(id),
      after.auditCounts.repairs > before.auditCounts.repairs
    {
      wrongRepair = id
    }
    oracle.notePage(page.page, for: page.request, at: page.position, from: before, to: after)
  }

  package mutating func note(
    _ change: ZulipTruth.Change, from truth: ZulipTruth, at position: Int64
  ) {
    oracle.note(change, from: truth, at: position)
  }

  // MARK: Obligations

  package mutating func objection(
    to client: Body, _ truth: ZulipTruth, at position: Int64, _ history: [ZulipTruth],
    disk: Saved?, reading rows: ReadRows
  ) -> UserObjection? {
    guard position >= 0, let model = client.model else { return nil }
    let store = model.lists
    for id in store.suspects where !oracle.maySuspect(id) {
      return UserObjection(.interval, "\(id) is as the server says", "it is suspect")
    }
    if let wrongRepair {
      return UserObjection(.interval, "\(wrongRepair) is as the server says", "it was mended")
    }
    if let breach { return UserObjection(.budget, breach, "it was otherwise") }
    if let objection = ZulipUser.objectionToCopies(truth) ?? objectionToLoss(client, truth) {
      return objection
    }
    if let objection = objectionToWhatIsShown(client, store) { return objection }
    let windows = client.windows
    if let right, right.position == position, right.windows == windows,
      right.store.isSame(as: store), right.state == model.realm
    {
      return nil
    }
    let whole = ZulipUser.whole(store, reading: rows)
    if let objection = oracle.objection(to: whole, at: position, history) {
      return UserObjection(.interval, objection.expected, objection.found)
    }
    let doubtful = Set(whole.doubtful)
    let objection = ZulipStateOracle.objection(to: model.realm, history[Int(position)]) { id in
      oracle.isAhead(id, of: position) || doubtful.contains(id) || !whole.doubt(about: id).isEmpty
    } isUnheard: {
      oracle.unheard.contains($0)
    }
    if let objection { return UserObjection(.replica, objection.expected, objection.found) }
    for window in windows {
      if let objection = self.objection(to: window, client, whole) { return objection }
    }
    right = Right(store: store, state: model.realm, position: position, windows: windows)
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

  package func hasSettled(_ model: ZulipAccount) -> Bool { model.lists.openAudits == 0 }

  package func isLevel(_ client: Body, with truth: ZulipTruth) -> Bool {
    guard let lists = client.model?.lists else { return false }
    for id in client.openWindows {
      guard let (narrow, view) = client.window(id), let list = lists.list(of: narrow) else {
        return false
      }
      if !lists.canBeKnown(narrow) { continue }
      if !list.excerpt(of: view).isComplete { return false }
    }
    return lists.doubtful.isEmpty && client.local?.outbox.isEmpty != false
  }

  // MARK: Texts

  package mutating func news(of client: Body, _ truth: ZulipTruth) -> [String] {
    guard let lists = client.model?.lists else { return [] }
    var all: [String] = []
    for narrow in lists.narrows {
      guard let list = lists.list(of: narrow) else { continue }
      all.append("\(IntervalBar(list, through: MessageID(truth.realm.lastMessageID))) \(narrow)")
    }
    let new = all.filter { !pictures.contains($0) }
    pictures = all
    return new
  }
}
