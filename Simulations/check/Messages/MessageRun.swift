import MessageSync
import UpdateMachine
import ZulipSync

/// A message store that gets the pages and events of a session in one order.
struct MessageRun {
  private(set) var store: ZulipStore
  /// Lines of pages that could not be taken.
  private(set) var malformed: [Int] = []
  /// Narrows for which the store has given up a page, or what it knew. It would have asked again,
  /// at a time for which the recording may have no page.
  private(set) var givenUp: Set<ZulipFilter> = []
  /// Narrows for which the store took a page while nothing could be known of them.
  private(set) var shown: Set<ZulipFilter> = []
  /// Messages with a flag in doubt at the end.
  private(set) var inDoubt: Set<MessageID> = []
  /// How many messages had a flag in doubt before the store asked again.
  private(set) var doubtCount = 0
  private(set) var askedAgain = 0

  let truth: MessageTruth
  private let pages: [Int]
  private var fetchCount: UInt64 = 0

  private var session: MessageSession { truth.session }

  init(_ truth: MessageTruth, _ pages: [Int], _ narrows: [ZulipFilter]) {
    self.truth = truth
    self.pages = pages
    store = ZulipStore(following: truth.session.followed)
    store.reader = truth.session.reader
    for narrow in narrows { store.open(narrow) }
  }

  /// The line of a page in the file or, without a page, the line where the session begins.
  func line(of page: Int?) -> Int { page.map { session.pages[$0].line } ?? session.line }

  mutating func go(through order: MessageOrders.Order) {
    var fetches: [RequestID?] = pages.map { _ in nil }
    let taken = order.order
    var next = 0
    for slot in 0...2 * session.polls.count {
      for index in pages.indices where order.begins[index] == slot {
        fetches[index] = begin(session.pages[pages[index]].request)
      }
      while next < taken.count, order.takes[taken[next]] == slot {
        let page = session.pages[pages[taken[next]]]
        if let fetch = fetches[taken[next]] { take(page, for: fetch) }
        next += 1
      }
      guard slot < 2 * session.polls.count else { return }
      if slot % 2 == 0 {
        store.asked()
      } else {
        answer(session.polls[slot / 2])
      }
    }
  }

  private mutating func begin(_ request: PageRequest<ZulipFilter, MessageID>) -> RequestID {
    fetchCount += 1
    let id = RequestID(incarnation: Incarnation(1), part: .pages, number: fetchCount)
    store.begin(id, request)
    return id
  }

  private mutating func answer(_ poll: MessageSession.Poll) {
    for event in poll.events {
      let before = store
      store.apply(event)
      // When a channel begins or ends to send events, lists that were known become unknown.
      guard case .covered = event else { continue }
      for narrow in store.narrows
      where store.list(of: narrow)?.knowledge != before.list(of: narrow)?.knowledge {
        givenUp.insert(narrow)
      }
    }
    store.answered()
  }

  private mutating func take(_ page: MessageSession.Page, for fetch: RequestID) {
    switch store.take(page.page, for: fetch) {
    case .taken: break
    case .shown: if let narrow = page.request.narrow { shown.insert(narrow) }
    case .absorbed: if let narrow = page.request.narrow { givenUp.insert(narrow) }
    case .malformed: malformed.append(page.line)
    }
  }

  // MARK: Asking again

  /// Asks again for what the store does not know or doubts, as the library would. Those pages of
  /// the recording answer that no event has made old.
  mutating func askAgain(_ lists: [(narrow: ZulipFilter, list: MessageTruth.List)]) {
    let named = truth.lastNamed.keys.sorted()
    for id in named where !store.doubt(about: id).subtracting(.outsideFeed).isEmpty {
      doubtCount += 1
      askAgain(id)
    }
    for (narrow, expected) in lists where store.canBeKnown(narrow) {
      var isWhole = true
      for page in session.pages where page.request.narrow == narrow {
        guard let interval = page.interval else { continue }
        if !knows(interval, of: narrow), isLevel(page, narrow) {
          let fetch = begin(page.request)
          _ = store.take(page.page, for: fetch)
          askedAgain += 1
        }
        isWhole = isWhole && knows(interval, of: narrow)
      }
      // What was given up and no page brings again, the library would have asked for.
      if isWhole {
        givenUp.remove(narrow)
        shown.remove(narrow)
      }
      for id in expected.ids where store.list(of: narrow)?.knowledge.contains(id) == false {
        askAgain(id)
      }
    }
  }

  private func knows(_ interval: IDInterval<MessageID>, of narrow: ZulipFilter) -> Bool {
    store.list(of: narrow)?.knowledge.covers(interval) ?? false
  }

  /// Notes what is still in doubt at the end.
  mutating func noteDoubts() { inDoubt = Set(store.doubtful) }

  /// Whether a message may be unknown at the end. An event must have named it, and either no later
  /// page brings it or it is in doubt.
  func isOpen(_ id: MessageID) -> Bool {
    truth.lastNamed[id] != nil && (truth.page(with: id) == nil || inDoubt.contains(id))
  }

  private mutating func askAgain(_ id: MessageID) {
    guard var copy = truth.page(with: id)?.copy else { return }
    // The answer says whether the message is in the feed, which the list of its channel does not.
    if let known = truth.messages[id]?.message, !known.flags.contains(.outsideFeed) {
      copy.flags.remove(.outsideFeed)
    }
    let fetch = begin(PageRequest(id))
    _ = store.take(MessagePage(messages: [copy]), for: fetch)
    askedAgain += 1
  }

  /// Whether what a page shows is still true at the end.
  private func isLevel(_ page: MessageSession.Page, _ narrow: ZulipFilter) -> Bool {
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
