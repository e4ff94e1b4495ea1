import MessageSync
import UpdateMachine
import ZulipSync

/// A message store that takes one order of a session.
struct MessageRun {
  private(set) var store: ZulipStore
  /// Lines of pages that could not be taken.
  private(set) var malformed: [Int] = []
  /// Narrows of which the store has given up a page, or what it knew: it would have asked again, at
  /// a time of which the recording may have no page.
  private(set) var givenUp: Set<ZulipFilter> = []
  /// Narrows of which it took a page when nothing could be known of them.
  private(set) var shown: Set<ZulipFilter> = []
  /// Messages with a flag in doubt when all is over.
  private(set) var inDoubt: Set<MessageID> = []
  /// How many had one before what is in doubt was asked for again.
  private(set) var doubtCount = 0
  private(set) var askedAgain = 0

  let truth: MessageTruth
  private let pages: [Int]
  private var fetchCount: UInt64 = 0

  private var life: MessageLife { truth.life }

  init(_ truth: MessageTruth, _ pages: [Int], _ narrows: [ZulipFilter]) {
    self.truth = truth
    self.pages = pages
    store = ZulipStore(following: truth.life.followed)
    for narrow in narrows { store.open(narrow) }
  }

  /// Where a page stands in the file; without one, where the session begins.
  func line(of page: Int?) -> Int { page.map { life.pages[$0].line } ?? life.line }

  mutating func go(through order: MessageOrders.Order) {
    var fetches: [RequestID?] = pages.map { _ in nil }
    let taken = order.order
    var next = 0
    for slot in 0...2 * life.polls.count {
      for index in pages.indices where order.begins[index] == slot {
        fetches[index] = begin(life.pages[pages[index]].request)
      }
      while next < taken.count, order.takes[taken[next]] == slot {
        let page = life.pages[pages[taken[next]]]
        if let fetch = fetches[taken[next]] { take(page, for: fetch) }
        next += 1
      }
      guard slot < 2 * life.polls.count else { return }
      if slot % 2 == 0 {
        store.asked()
      } else {
        answer(life.polls[slot / 2])
      }
    }
  }

  private mutating func begin(_ request: PageRequest<ZulipFilter, MessageID>) -> RequestID {
    fetchCount += 1
    let id = RequestID(incarnation: Incarnation(1), part: .pages, number: fetchCount)
    store.begin(id, request)
    return id
  }

  private mutating func answer(_ poll: MessageLife.Poll) {
    for event in poll.events {
      let before = store
      store.apply(event)
      // A change of what events tell of makes lists unknown that were known.
      guard case .covered = event else { continue }
      for narrow in store.narrows
      where store.list(of: narrow)?.knowledge != before.list(of: narrow)?.knowledge {
        givenUp.insert(narrow)
      }
    }
    store.answered()
  }

  private mutating func take(_ page: MessageLife.Page, for fetch: RequestID) {
    switch store.take(page.page, for: fetch) {
    case .taken: break
    case .shown: if let narrow = page.request.narrow { shown.insert(narrow) }
    case .absorbed: if let narrow = page.request.narrow { givenUp.insert(narrow) }
    case .malformed: malformed.append(page.line)
    }
  }

  // MARK: Asking again

  /// What the store does not know, or doubts, it would ask for again. A page of the recording
  /// answers that no event has made old.
  mutating func askAgain(_ lists: [(narrow: ZulipFilter, list: MessageTruth.List)]) {
    let named = truth.lastNamed.keys.sorted()
    for id in named where !store.doubt(about: id).isEmpty {
      doubtCount += 1
      askAgain(id)
    }
    for (narrow, expected) in lists where store.canBeKnown(narrow) {
      for page in life.pages where page.request.narrow == narrow {
        guard let known = store.list(of: narrow)?.knowledge, let interval = page.interval,
          !known.covers(interval), isLevel(page, narrow)
        else { continue }
        let fetch = begin(page.request)
        _ = store.take(page.page, for: fetch)
        askedAgain += 1
        givenUp.remove(narrow)
        shown.remove(narrow)
      }
      for id in expected.ids where store.list(of: narrow)?.knowledge.contains(id) == false {
        askAgain(id)
      }
    }
  }

  /// All is over: what is in doubt now stays so.
  mutating func noteDoubts() { inDoubt = Set(store.doubtful) }

  /// Whether a message may be unknown in the end: an event named it, and no later page brings it,
  /// or it is in doubt.
  func isOpen(_ id: MessageID) -> Bool {
    truth.lastNamed[id] != nil && (truth.page(with: id) == nil || inDoubt.contains(id))
  }

  private mutating func askAgain(_ id: MessageID) {
    guard let copy = truth.page(with: id)?.copy else { return }
    let fetch = begin(PageRequest(id))
    _ = store.take(MessagePage(messages: [copy]), for: fetch)
    askedAgain += 1
  }

  /// Whether a page shows what is true at the end, too.
  private func isLevel(_ page: MessageLife.Page, _ narrow: ZulipFilter) -> Bool {
    guard let interval = page.interval else { return false }
    let listed = Set(page.page.messages.map(\.id))
    for (id, moment) in truth.lastNamed where moment > page.sent && interval.contains(id) {
      if listed.contains(id) { return false }
      guard let message = truth.messages[id]?.message else { continue }
      if narrow.verdict(on: PartialMessage(message)) != .no { return false }
    }
    return true
  }
}
