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
  /// What a client shows of messages that it did not hold when a page brought a stale copy: that
  /// copy, with the events since. The value is `nil` if one of them has deleted the message.
  private(set) var stale: [MessageID: MessageTruth.Expected] = [:]

  let truth: MessageTruth
  private let pages: [Int]
  /// The events of each poll that are given to the store.
  private let events: [[MessageEvent<ZulipContent>]]
  /// Which of the session's pages the store has taken.
  private var taken: Set<Int> = []
  private var fetchCount: UInt64 = 0

  private var session: MessageSession { truth.session }

  init(
    _ truth: MessageTruth, _ pages: [Int], _ narrows: [ZulipFilter],
    _ events: [[MessageEvent<ZulipContent>]]
  ) {
    self.truth = truth
    self.pages = pages
    self.events = events
    store = ZulipStore(following: truth.session.followed)
    store.reader = truth.session.reader
    for narrow in narrows { store.open(narrow) }
  }

  /// The line of a page in the file or, without a page, the line where the session begins.
  func line(of page: Int?) -> Int { page.map { session.pages[$0].line } ?? session.line }

  mutating func go(through order: MessageOrders.Order) {
    var fetches: [RequestID?] = pages.map { _ in nil }
    let inOrder = order.order
    var next = 0
    for slot in 0...2 * session.polls.count {
      for index in pages.indices where order.begins[index] == slot {
        fetches[index] = begin(session.pages[pages[index]].request)
      }
      while next < inOrder.count, order.takes[inOrder[next]] == slot {
        let index = inOrder[next]
        if let fetch = fetches[index] {
          take(pages[index], for: fetch, begunAfter: order.begins[index] / 2, polls: slot / 2)
        }
        next += 1
      }
      guard slot < 2 * session.polls.count else { return }
      if slot % 2 == 0 {
        store.asked()
      } else {
        answer(events[slot / 2])
      }
    }
  }

  private mutating func begin(
    _ request: PageRequest<ZulipFilter, MessageID>, isAudit: Bool = false
  ) -> RequestID {
    fetchCount += 1
    let id = RequestID(incarnation: Incarnation(1), part: .pages, number: fetchCount)
    store.begin(id, request, isAudit: isAudit)
    return id
  }

  private mutating func answer(_ events: [MessageEvent<ZulipContent>]) {
    for event in events {
      // Before the first fetch a store holds nothing and knows nothing, so only a channel counts.
      if fetchCount == 0, event.named?.isEmpty != true { continue }
      for id in event.named ?? Array(stale.keys) {
        if let copy = stale[id] { stale[id] = event.applied(to: copy, id, for: session.reader) }
      }
      guard case .covered = event else {
        store.apply(event)
        continue
      }
      // When a channel begins or ends to send events, lists that were known become unknown.
      let before = store
      store.apply(event)
      for narrow in store.narrows
      where store.list(of: narrow)?.knowledge != before.list(of: narrow)?.knowledge {
        givenUp.insert(narrow)
      }
    }
    store.answered()
  }

  /// - Parameters:
  ///   - first: the number of polls that were answered when the fetch began.
  ///   - last: the number of polls that have been answered now.
  private mutating func take(
    _ index: Int, for fetch: RequestID, begunAfter first: Int, polls last: Int
  ) {
    let page = session.pages[index]
    let unheld = truth.stale[index]?.filter { store[$0] == nil } ?? []
    switch store.take(page.page, for: fetch) {
    case .taken: taken.insert(index)
    case .shown: if let narrow = page.request.narrow { shown.insert(narrow) }
    case .absorbed: if let narrow = page.request.narrow { givenUp.insert(narrow) }
    case .malformed: malformed.append(page.line)
    }
    for message in page.page.messages
    where unheld.contains(message.id) && store[message.id] != nil {
      var copy: MessageTruth.Expected? = .init(message: message, page: index)
      for event in events[first..<last].joined()
      where event.named?.contains(message.id) ?? true {
        copy = event.applied(to: copy, message.id, for: session.reader)
      }
      stale[message.id] = copy
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
      takeAgain(narrow)
      for id in openIDs(of: narrow, in: expected.covered) { askAgain(id) }
      let pages = session.pages.filter { $0.request.narrow == narrow }
      // What was given up and no page brings again, the library would have asked for.
      if pages.allSatisfy({ $0.interval.map { knows($0, of: narrow) } ?? true }) {
        givenUp.remove(narrow)
        shown.remove(narrow)
      }
    }
    readAgain()
  }

  /// Fills what a list does not know, or had to ask for again, from its newest pages.
  private mutating func takeAgain(_ narrow: ZulipFilter) {
    var newer = Knowledge<MessageID>()
    for index in session.pages.indices.reversed() {
      let page = session.pages[index]
      guard page.request.narrow == narrow, let interval = page.interval else { continue }
      let isMissing = !taken.contains(index) && !newer.covers(interval)
      if isMissing || !knows(interval, of: narrow), isLevel(page, narrow) {
        let polls = session.polls.count
        take(index, for: begin(page.request), begunAfter: polls, polls: polls)
        askedAgain += 1
      }
      if taken.contains(index) { newer.insert(interval) }
    }
  }

  /// The IDs that a list leaves open, though pages cover them.
  private func openIDs(
    of narrow: ZulipFilter, in covered: Knowledge<MessageID>
  ) -> [MessageID] {
    guard let known = store.list(of: narrow)?.knowledge else { return [] }
    return covered.intervals.flatMap { known.gaps(in: $0).intervals }.flatMap { ids(in: $0) ?? [] }
  }

  /// The IDs of a gap; `nil` if it has more of them than events have named.
  func ids(in gap: IDInterval<MessageID>) -> [MessageID]? {
    guard let first = gap.lowerEnd.id, let last = gap.upperEnd.id,
      last.number - first.number < Int64(truth.lastNamed.count)
    else { return nil }
    return (first.number...last.number).map { MessageID($0) }
  }

  /// Makes the second readings (PartialKnowledge R13) of messages whose copies were stale. The poll
  /// before them brings nothing, because events have told already what the pages show. Any other
  /// suspect stays as it is: an event that the library misread must not be mended here.
  private mutating func readAgain() {
    store.asked()
    store.answered()
    for id in store.suspects where stale[id] != nil {
      guard let copy = truth.page(with: id)?.copy else { continue }
      let fetch = begin(PageRequest(id), isAudit: true)
      _ = store.take(MessagePage(messages: [copy]), for: fetch)
      askedAgain += 1
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
