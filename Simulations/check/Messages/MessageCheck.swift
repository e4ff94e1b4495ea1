import Foundation
import MessageSync
import Synchronization
import UpdateMachine
import ZulipSync

/// Checks that a message store which gets a recording's pages and events ends up with the lists
/// that the recording shows, in whatever order pages and events meet.
struct MessageCheck {
  /// What was found in one file.
  struct Report {
    var pages = 0
    /// Pages that are given to a queue without contents, because the queue has the other form.
    var pagesWithoutContents = 0
    var pagesNotFollowed = 0
    var sessions: [Session] = []
    var differences: [Difference] = []

    var orders: Int { sessions.reduce(0) { $0 + $1.orders } }
    var inDoubt: Int { sessions.reduce(0) { $0 + $1.inDoubtCount } }
    var stale: Int { sessions.reduce(0) { $0 + $1.staleCount } }
    var isEmpty: Bool { pages == 0 }
  }

  /// What was found in one session. Counts are sums over all orders.
  struct Session {
    var name: String
    /// So many orders of one race at most.
    var bound: Int
    /// A race has the pages of one list, or of all lists, up to the answer to one poll, or to the
    /// end.
    var races = 0
    /// The races for which every order was tried.
    var racesInFull = 0
    var orders = 0
    /// Messages that had a flag in doubt once everything was given.
    var doubts = 0
    /// The messages whose doubt no later page of the recording settled, and in how many orders.
    var inDoubt: [MessageID: Doubt] = [:]
    /// Messages and pages that the store had to ask for again, and that a later page of the
    /// recording answered.
    var askedAgain = 0
    /// Messages that a list leaves open at the end, because no page of the recording answers.
    var open = 0
    var suspects = 0
    /// Messages that show what a stale copy says, and in how many orders.
    var stale: [MessageID: Stale] = [:]
  }

  /// A message of which the client held nothing when a page brought a copy from an old cache: one
  /// that lacks an event answered before the page was asked for. No client can know better, until
  /// the next page shows it.
  struct Stale {
    /// The page's line.
    var line: Int
    var orders = 0
  }

  /// What the recording leaves in doubt. So does the server; no client can do better.
  struct Doubt {
    var flags: MessageFlags
    var orders = 0
  }

  /// So many orders of one race at most.
  let bound: Int
  /// Whether the user has interrupted.
  let isInterrupted: () -> Bool

  /// - Parameter asksAgain: whether the store asks again for what is open or in doubt.
  func report(on recording: MessageRecording, asksAgain: Bool = true) -> Report {
    var report = Report()
    report.differences = recording.differences
    let sessions = MessageSessions(recording)
    report.pages = recording.exchanges.count {
      if case .page = $0.kind { true } else { false }
    }
    report.pagesWithoutContents = sessions.withoutContents.count
    report.pagesNotFollowed = sessions.notFollowed
    let work = MessageWork(count: sessions.sessions.count)
    let bound = bound
    let group = DispatchGroup()
    // Sessions do not depend on each other, so as many at a time as there are processors.
    for (index, session) in sessions.sessions.enumerated() {
      DispatchQueue.global().async(group: group) {
        var check = MessageLifeCheck(session, bound, asksAgain: asksAgain) { work.isStopped }
        check.run()
        work.note(index, check.report, check.differences)
      }
    }
    while group.wait(timeout: .now() + .milliseconds(MessageCheck.lookInterval)) == .timedOut {
      if isInterrupted() { work.stop() }
    }
    for result in work.results {
      report.sessions.append(result.session)
      report.differences += result.differences
    }
    return report
  }

  /// How often the user is asked, and sees progress, in milliseconds.
  private static let lookInterval = 50
}

/// What several threads have found in their sessions.
private final class MessageWork: Sendable {
  typealias Result = (session: MessageCheck.Session, differences: [Difference])

  private let found: Mutex<[Result?]>
  private let stopped = Atomic<Bool>(false)

  init(count: Int) { found = Mutex(Array(repeating: nil, count: count)) }

  var isStopped: Bool { stopped.load(ordering: .relaxed) }
  func stop() { stopped.store(true, ordering: .relaxed) }

  func note(_ index: Int, _ session: MessageCheck.Session, _ differences: [Difference]) {
    found.withLock { $0[index] = (session, differences) }
  }

  /// In the order of the sessions.
  var results: [Result] { found.withLock { $0.compactMap { $0 } } }
}

/// Checks one session in many orders.
struct MessageLifeCheck {
  let session: MessageSession
  let bound: Int
  let asksAgain: Bool
  private let isInterrupted: () -> Bool
  private(set) var report: MessageCheck.Session
  private var found: [Found: Tally] = [:]
  /// The messages that differ from the truth in the present order, because a copy was stale.
  private var staleShown: Set<MessageID> = []
  /// The messages whose fields were compared in the present order.
  private var compared: Set<MessageID> = []
  /// The truth after the answer to a poll, or at the end.
  private var truths: [Int?: MessageTruth] = [:]

  /// A difference. It is reported once, with the number of orders that have it.
  private struct Found: Hashable {
    var line: Int
    var what: String
    var expected: String
    var found: String
  }

  private struct Tally {
    var count = 0
    var first: String
  }

  init(
    _ session: MessageSession, _ bound: Int, asksAgain: Bool,
    isInterrupted: @escaping () -> Bool
  ) {
    self.session = session
    self.bound = bound
    self.isInterrupted = isInterrupted
    self.asksAgain = asksAgain
    report = MessageCheck.Session(name: session.name, bound: bound)
  }

  var differences: [Difference] {
    found.map { found, tally in
      Difference(
        line: found.line,
        what: "\(found.what), in \(tally.count) of \(report.orders) orders, first \(tally.first)",
        expected: found.expected, found: found.found)
    }.sorted {
      ($0.line, $0.what, $0.expected, $0.found) < ($1.line, $1.what, $1.expected, $1.found)
    }
  }

  mutating func run() {
    for narrow in session.narrows {
      for polls in momentsBetweenPages(of: narrow) {
        let most = bound * MessageLifeCheck.momentsInFull
        let step = (polls.count + most - 1) / most
        // The steps are counted from the end, so that the last poll is among those chosen.
        let each = min(bound, max(1, most / polls.count))
        for poll in stride(from: polls.count - 1, through: 0, by: -step).reversed() {
          race([narrow], after: polls[poll], atMost: each)
        }
      }
      race([narrow], atMost: bound)
    }
    if session.narrows.count > 1 { race(session.narrows, atMost: bound) }
  }

  /// Moments at which the same pages of a list have come are much alike. Up to this many get
  /// `bound` orders each. If there are more, they share the orders of this many.
  private static let momentsInFull = 4

  /// The polls that matter to a list, grouped by which of the list's pages had come before them.
  private func momentsBetweenPages(of narrow: ZulipFilter) -> [[Int]] {
    var all: [(pages: Int, polls: [Int])] = []
    for poll in session.polls(thatMatterTo: narrow) {
      let sent = session.polls[poll].sent
      let pages = session.pages.count { $0.request.narrow == narrow && $0.ended <= sent }
      if all.last?.pages == pages {
        all[all.count - 1].polls.append(poll)
      } else if pages > 0 {
        all.append((pages, [poll]))
      }
    }
    return all.map(\.polls)
  }

  /// The truth at the end, or after the answer to a poll.
  private mutating func truth(after poll: Int?) -> MessageTruth {
    if let truth = truths[poll] { return truth }
    let truth = MessageTruth(poll.map { session.cut(after: $0) } ?? session)
    truths[poll] = truth
    return truth
  }

  /// Plays the pages of some lists in every order, or in as many as the bound allows.
  /// - Parameter poll: the poll after whose answer the race ends; `nil`: it ends with the session.
  private mutating func race(
    _ narrows: [ZulipFilter], after poll: Int? = nil, atMost bound: Int
  ) {
    let truth = truth(after: poll)
    let session = truth.session
    let pages = session.pages.indices.filter { index in
      narrows.count > 1 || session.pages[index].request.narrow == narrows[0]
    }
    guard !pages.isEmpty else { return }
    let polls =
      narrows.count > 1 ? Array(session.polls.indices) : session.polls(thatMatterTo: narrows[0])
    let events =
      narrows.count > 1 ? session.polls.map(\.events) : session.events(thatMatterTo: narrows[0])
    let orders = MessageOrders(session, pages: pages, polls: polls, bound: bound)
    report.races += 1
    if orders.isAll { report.racesInFull += 1 }
    let lists = narrows.map { (narrow: $0, list: truth.list(of: $0)) }
    for (number, order) in orders.orders.enumerated() {
      if isInterrupted() { return }
      report.orders += 1
      var run = MessageRun(truth, pages, narrows, events)
      run.go(through: order)
      if asksAgain { run.askAgain(lists) }
      run.noteDoubts()
      report.suspects += Int(run.store.auditCounts.suspects)
      report.doubts += run.doubtCount
      for id in run.inDoubt {
        report.inDoubt[id, default: .init(flags: run.store.doubt(about: id))].orders += 1
      }
      report.askedAgain += run.askedAgain
      let name =
        "in order \(number + 1) of \(orders.orders.count) of \(pages.count) pages and the first "
        + "\(session.polls.count) polls"
      for line in run.malformed {
        note(line, "a page", expected: "one that can be taken", found: "malformed", name)
      }
      for id in run.inDoubt { compareDoubt(run, id, name) }
      staleShown = []
      compared = []
      for (narrow, list) in lists { compare(run, narrow, list, name) }
      for id in staleShown {
        let line = run.line(of: run.stale[id]?.page)
        report.stale[id, default: .init(line: line)].orders += 1
      }
    }
  }

  // MARK: Comparing

  private mutating func note(
    _ line: Int, _ what: String, expected: String, found: String, _ order: String
  ) {
    let key = Found(line: line, what: what, expected: expected, found: found)
    self.found[key, default: Tally(first: order)].count += 1
  }

  private mutating func compare(
    _ run: MessageRun, _ narrow: ZulipFilter, _ expected: MessageTruth.List, _ order: String
  ) {
    guard let list = run.store.list(of: narrow) else { return }
    if let objection = KnowledgeRules.objection(to: list, of: narrow, in: run.store) {
      let page = run.truth.session.pages.lastIndex { $0.request.narrow == narrow }
      note(
        run.line(of: page), "the list of \(narrow)", expected: objection.expected,
        found: objection.found, order)
    }
    guard run.store.canBeKnown(narrow) else { return compareShown(run, narrow, order) }
    compareKnown(run, narrow, list.knowledge, expected, order)
    let ids = Set(expected.ids.filter { expected.covered.contains($0) })
    let said = list.ids.map(\.key).filter {
      expected.covered.contains($0) && KnowledgeRules.word(of: list, on: $0) == true
    }
    for id in ids.union(said).sorted() {
      let line = run.line(of: expected.pages[id])
      guard let isListed = KnowledgeRules.word(of: list, on: id) else {
        // A message in doubt is counted already.
        if !run.inDoubt.contains(id) { report.open += 1 }
        continue
      }
      guard isListed != ids.contains(id) else {
        if compared.insert(id).inserted { compare(run, id, line, order) }
        continue
      }
      if let copy = run.stale[id]?.message,
        narrow.verdict(on: PartialMessage(copy)) == (isListed ? .yes : .no)
      {
        staleShown.insert(id)
        continue
      }
      note(
        line, "the list of \(narrow), message \(id)",
        expected: isListed ? "not listed" : "listed", found: isListed ? "listed" : "not listed",
        order)
    }
  }

  /// If a message is in doubt at the end, no later page may bring it, because such a page would
  /// have ended the doubt (PartialKnowledge R10).
  private mutating func compareDoubt(_ run: MessageRun, _ id: MessageID, _ order: String) {
    guard let page = run.truth.page(with: id) else { return }
    let doubt = run.store.doubt(about: id)
    note(
      run.line(of: page.index), "message \(id), which was in doubt before this page",
      expected: page.copy.flags.intersection(doubt).words, found: "\(doubt.words) in doubt", order)
  }

  /// A list that only the server can decide must show what its last page showed.
  private mutating func compareShown(_ run: MessageRun, _ narrow: ZulipFilter, _ order: String) {
    guard let last = run.truth.session.pages.last(where: { $0.request.narrow == narrow }) else {
      return
    }
    guard !run.givenUp.contains(narrow) else { return }
    for message in last.page.messages where run.store.message(message.id, in: narrow) == nil {
      note(
        last.line, "the list of \(narrow), message \(message.id)", expected: "shown",
        found: "not shown", order)
    }
  }

  /// Everything that the pages cover must be known, except single messages that events named, that
  /// were not held at that time, and that no later page brings.
  private mutating func compareKnown(
    _ run: MessageRun, _ narrow: ZulipFilter, _ known: Knowledge<MessageID>,
    _ expected: MessageTruth.List,
    _ order: String
  ) {
    guard !run.givenUp.contains(narrow), !run.shown.contains(narrow) else { return }
    for interval in expected.covered.intervals {
      for gap in known.gaps(in: interval).intervals {
        if let ids = run.ids(in: gap), ids.allSatisfy(run.isOpen) { continue }
        let page = run.truth.session.pages.lastIndex { $0.request.narrow == narrow }
        note(
          run.line(of: page), "what is known of the list of \(narrow)", expected: "\(interval)",
          found: "not \(gap)", order)
      }
    }
  }

  /// Compares every field of a message, except flags in doubt.
  private mutating func compare(
    _ run: MessageRun, _ id: MessageID, _ line: Int, _ order: String
  ) {
    guard let expected = run.truth.messages[id], let found = run.store[id] else {
      return note(
        line, "message \(id)", expected: run.truth.messages[id] == nil ? "not there" : "held",
        found: run.store[id] == nil ? "not held" : "held", order)
    }
    let line = expected.page == nil ? line : run.line(of: expected.page)
    let shown = expected.message
    // Whether it is in the feed, only lists of the feed tell. They are compared one by one.
    let doubt = run.store.doubt(about: id).union(.outsideFeed)
    let wrong = KnowledgeRules.wrongFields(of: found, among: [shown], .init(flags: doubt))
    if !wrong.isEmpty, let copy = run.stale[id]?.message,
      KnowledgeRules.wrongFields(of: found, among: [shown, copy], .init(flags: doubt)).isEmpty
    {
      staleShown.insert(id)
      return
    }
    for field in wrong {
      note(
        line, "message \(id), its \(field.rawValue)", expected: shown.words(field, but: doubt),
        found: found.words(field, but: doubt), order)
    }
  }
}

extension ChatMessage<ZulipContent> {
  /// One field of the message as text.
  fileprivate func words(_ field: KnowledgeRules.Field, but doubt: MessageFlags) -> String {
    switch field {
    case .place: "\(place)"
    case .content: content.text
    case .flags: flags.subtracting(doubt).words
    case .reactions: reactions.words
    case .sender: "\(sender)"
    }
  }
}

extension MessageFlags {
  /// For example "read starred", or "none".
  var words: String {
    let names: [(MessageFlags, String)] = [
      (.read, "read"), (.starred, "starred"), (.mentioned, "mentioned"),
      (.mentionedByName, "by name"), (.wildcardMentioned, "by wildcard"),
      (.hasAlertWord, "alert word"), (.historical, "historical"), (.collapsed, "collapsed"),
    ]
    let words = names.filter { contains($0.0) }.map(\.1)
    return words.isEmpty ? "none" : words.joined(separator: " ")
  }
}

extension [MessageReaction] {
  /// For example "unicode_emoji:1f389 of 7", or "none".
  fileprivate var words: String {
    isEmpty ? "none" : map { "\($0.emoji) of \($0.user)" }.joined(separator: ", ")
  }
}
