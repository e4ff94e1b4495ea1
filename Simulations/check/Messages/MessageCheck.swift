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
  private var found: [MessageVerdict.Found: Tally] = [:]
  /// The truth after the answer to a poll, or at the end.
  private var truths: [Int?: MessageTruth] = [:]

  /// A difference is reported once, with the number of orders that have it.
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
      var races: [MessageRace] = []
      for polls in momentsBetweenPages(of: narrow) {
        let most = bound * MessageLifeCheck.momentsInFull
        let step = (polls.count + most - 1) / most
        // The steps are counted from the end, so that the last poll is among those chosen.
        let each = min(bound, max(1, most / polls.count))
        for poll in stride(from: polls.count - 1, through: 0, by: -step).reversed() {
          races.append(MessageRace(truth(after: polls[poll]), [narrow], atMost: each))
        }
      }
      races.append(MessageRace(truth(after: nil), [narrow], atMost: bound))
      play(races)
    }
    guard session.narrows.count > 1 else { return }
    play([MessageRace(truth(after: nil), session.narrows, atMost: bound)])
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
  private mutating func play(_ races: [MessageRace]) {
    var rest = races[...].filter { !$0.pages.isEmpty }[...]
    while let first = rest.indices.first {
      let next = rest.indices.dropFirst().first { !rest[$0].goesOn(from: rest[$0 - 1]) }
      let alike = rest[first..<(next ?? rest.endIndex)]
      rest = rest[alike.endIndex...]
      /// The run of each race that ended last, and what it shows.
      var last: [Int: (run: MessageRun, verdict: MessageVerdict)] = [:]
      var verdicts = alike.map { race in race.orders.orders.map { _ in MessageVerdict?.none } }
      MessageTree(alike).play(
        while: { !isInterrupted() },
        ended: { [asksAgain] run, race, orders in
          if asksAgain { run.askAgain() }
          run.noteDoubts()
          let verdict = MessageVerdict(on: run, asOn: last[race])
          last[race] = (run, verdict)
          for order in orders { verdicts[race - first][order] = verdict }
        })
      for (race, verdicts) in zip(alike, verdicts) { note(verdicts, of: race) }
    }
  }

  private mutating func note(_ verdicts: [MessageVerdict?], of race: MessageRace) {
    report.races += 1
    if race.orders.isAll { report.racesInFull += 1 }
    for (number, verdict) in verdicts.enumerated() {
      guard let verdict else { continue }
      note(
        verdict,
        of: "in order \(number + 1) of \(verdicts.count) of \(race.pages.count) pages and the "
          + "first \(race.events.count) polls")
    }
  }

  private mutating func note(_ verdict: MessageVerdict, of order: @autoclosure () -> String) {
    report.orders += 1
    report.suspects += verdict.suspects
    report.doubts += verdict.doubts
    report.askedAgain += verdict.askedAgain
    report.open += verdict.open
    for (id, flags) in verdict.inDoubt {
      report.inDoubt[id, default: .init(flags: flags)].orders += 1
    }
    for (id, line) in verdict.stale { report.stale[id, default: .init(line: line)].orders += 1 }
    for found in verdict.found {
      self.found[found, default: Tally(first: order())].count += 1
    }
  }
}
