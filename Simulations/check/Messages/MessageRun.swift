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
  /// copy, with the events since. A message that one of them has deleted is left out.
  private(set) var stale: [MessageID: Stale] = [:]

  /// The race that it is judged by. All races that may follow from here begin like it.
  var race: MessageRace
  /// Which of the race's pages the store has taken.
  private var taken: Set<Int> = []
  /// The fetches that have begun, by the places of their pages in the race.
  private var fetches: [Fetch?]
  private var fetchCount: UInt64 = 0
  /// The slot that has been reached.
  private var slot = 0

  struct Stale {
    var message: MessageTruth.Shown
    /// The line of the page that brought it.
    var line: Int
    /// Whether a later page has brought a copy that is not stale, and no event has named the
    /// message since that page's fetch began. Then the second reading mends it, and nothing is
    /// excused any more. An event ends such a contradiction.
    var isContradicted = false
  }

  private struct Fetch {
    var id: RequestID
    /// The number of polls that were answered when it began.
    var polls: Int
  }

  init(_ race: MessageRace) {
    self.race = race
    fetches = race.pages.map { _ in nil }
    store = ZulipStore(following: race.truth.session.followed)
    store.reader = race.truth.session.reader
    for list in race.lists { store.open(list.narrow) }
  }

  /// The line of a page in the file or, without a page, the line where the session begins.
  func line(of page: Int?) -> Int {
    page.map { race.truth.session.pages[$0].line } ?? race.truth.session.line
  }

  /// Sends and answers the polls before a slot.
  mutating func go(to next: Int) {
    while slot < next {
      if slot % 2 == 0 { store.asked() } else { answer(slot / 2) }
      slot += 1
    }
  }

  /// Begins the fetch of one of the race's pages, in the slot that has been reached.
  mutating func begin(_ place: Int) {
    let id = begin(race.truth.session.pages[race.pages[place]].request)
    fetches[place] = Fetch(id: id, polls: slot / 2)
  }

  /// Takes one of the race's pages, in the slot that has been reached.
  mutating func take(_ place: Int) {
    guard let fetch = fetches[place] else { return }
    take(place, for: fetch.id, begunAfter: fetch.polls, polls: slot / 2)
  }

  private mutating func begin(
    _ request: PageRequest<ZulipFilter, MessageID>, isAudit: Bool = false
  ) -> RequestID {
    fetchCount += 1
    let id = RequestID(incarnation: Incarnation(1), part: .pages, number: fetchCount)
    store.begin(id, request, isAudit: isAudit)
    return id
  }

  private mutating func answer(_ poll: Int) {
    for event in race.events[poll] {
      // Before the first fetch a store holds nothing and knows nothing, so only a channel counts.
      if fetchCount == 0, event.named?.isEmpty != true { continue }
      if !stale.isEmpty {
        for id in event.named ?? Array(stale.keys) {
          guard let copy = stale[id] else { continue }
          stale[id] = copy.after(event.event, id, for: race.truth.session.reader)
        }
      }
      if case .covered = event.event { cover(event.event) } else { store.apply(event.event) }
    }
    store.answered()
  }

  /// A channel begins or ends to send events. Lists that were known become unknown.
  private mutating func cover(_ event: MessageEvent<ZulipContent>) {
    let open = race.lists.filter { !givenUp.contains($0.narrow) }
    let before = open.map { store.list(of: $0.narrow)?.knowledge }
    store.apply(event)
    for (list, known) in zip(open, before)
    where store.list(of: list.narrow)?.knowledge != known { givenUp.insert(list.narrow) }
  }

  /// - Parameters:
  ///   - first: the number of polls that were answered when the fetch began.
  ///   - last: the number of polls that have been answered now.
  private mutating func take(
    _ place: Int, for fetch: RequestID, begunAfter first: Int, polls last: Int
  ) {
    let index = race.pages[place]
    let narrow = race.truth.session.pages[index].request.narrow
    let unheld = race.truth.stale[index]?.filter { store[$0] == nil } ?? []
    switch store.take(race.truth.session.pages[index].page, for: fetch) {
    case .taken:
      taken.insert(place)
      contradict(by: index, begunAfter: first, polls: last)
    case .shown: if let narrow { shown.insert(narrow) }
    case .absorbed: if let narrow { givenUp.insert(narrow) }
    case .malformed: malformed.append(line(of: index))
    }
    guard !unheld.isEmpty else { return }
    for message in race.truth.session.pages[index].page.messages
    where unheld.contains(message.id) && store[message.id] != nil {
      var copy: Stale? = Stale(message: message, line: line(of: index))
      for event in race.events[first..<last].joined()
      where event.named?.contains(message.id) ?? true {
        copy = copy?.after(event.event, message.id, for: race.truth.session.reader)
      }
      stale[message.id] = copy
    }
  }

  /// Notes which stale copies a page has contradicted.
  private mutating func contradict(by index: Int, begunAfter first: Int, polls last: Int) {
    if stale.isEmpty { return }
    let old = race.truth.stale[index] ?? []
    for message in race.truth.session.pages[index].page.messages
    where stale[message.id] != nil && !old.contains(message.id) {
      let isNamed = race.events[first..<last].joined().contains {
        $0.named?.contains(message.id) ?? true
      }
      if !isNamed { stale[message.id]?.isContradicted = true }
    }
  }

  // MARK: Asking again

  /// Asks again for what the store does not know or doubts, as the library would. Those pages of
  /// the recording answer that no event has made old.
  mutating func askAgain() {
    for id in race.named where !store.doubt(about: id).subtracting(.outsideFeed).isEmpty {
      doubtCount += 1
      askAgain(id)
    }
    for list in race.lists where store.canBeKnown(list.narrow) {
      takeAgain(list)
      for id in openIDs(of: list.narrow, in: list.expected.covered) { askAgain(id) }
      // What was given up and no page brings again, the library would have asked for.
      if list.pages.allSatisfy({ knows($0.interval, of: list.narrow) }) {
        givenUp.remove(list.narrow)
        shown.remove(list.narrow)
      }
    }
    readAgain()
  }

  /// Fills what a list does not know, or had to ask for again, from its newest pages.
  private mutating func takeAgain(_ list: MessageRace.List) {
    var newer = Knowledge<MessageID>()
    for page in list.pages.reversed() {
      let isMissing = !taken.contains(page.place) && !newer.covers(page.interval)
      if page.isLevel, isMissing || !knows(page.interval, of: list.narrow) {
        let polls = race.events.count
        let fetch = begin(race.truth.session.pages[race.pages[page.place]].request)
        take(page.place, for: fetch, begunAfter: polls, polls: polls)
        askedAgain += 1
      }
      if taken.contains(page.place) { newer.insert(page.interval) }
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
      last.number - first.number < Int64(race.truth.lastNamed.count)
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
      guard let copy = race.truth.page(with: id)?.copy else { continue }
      let fetch = begin(PageRequest(id), isAudit: true)
      _ = store.take(MessagePage(messages: [copy]), for: fetch)
      askedAgain += 1
    }
  }

  private func knows(_ interval: IDInterval<MessageID>, of narrow: ZulipFilter) -> Bool {
    store.list(of: narrow)?.knowledge.covers(interval) ?? false
  }

  /// Whether another run of the race has ended with the same.
  func isSame(as other: MessageRun) -> Bool {
    malformed == other.malformed && givenUp == other.givenUp && shown == other.shown
      && inDoubt == other.inDoubt && stale.isEmpty && other.stale.isEmpty
      && store.isSame(as: other.store)
  }

  /// Notes what is still in doubt at the end.
  mutating func noteDoubts() { inDoubt = Set(store.doubtful) }

  /// Whether a message may be unknown at the end. An event must have named it, and either no later
  /// page brings it or it is in doubt.
  func isOpen(_ id: MessageID) -> Bool {
    race.truth.lastNamed[id] != nil && (race.truth.page(with: id) == nil || inDoubt.contains(id))
  }

  private mutating func askAgain(_ id: MessageID) {
    guard var copy = race.truth.page(with: id)?.copy else { return }
    // The answer says whether the message is in the feed, which the list of its channel does not.
    if let known = race.truth.messages[id]?.message, !known.flags.contains(.outsideFeed) {
      copy.flags.remove(.outsideFeed)
    }
    let fetch = begin(PageRequest(id))
    _ = store.take(MessagePage(messages: [copy]), for: fetch)
    askedAgain += 1
  }
}

extension MessageRun.Stale {
  /// What an event makes of it; `nil` if the message is gone.
  fileprivate func after(
    _ event: MessageEvent<ZulipContent>, _ id: MessageID, for reader: UserID?
  ) -> Self? {
    let copy = MessageTruth.Expected(message: message, page: nil)
    return event.applied(to: copy, id, for: reader).map { Self(message: $0.message, line: line) }
  }
}
