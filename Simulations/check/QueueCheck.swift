import SyncProtocols
import UpdateMachine

/// How answers are understood. This is the code under test. Tests pass a wrong one to see that it
/// is noticed.
package struct Interpretation {
  var classify: DecodedReply.Classifier = { $0.failure() }
  var advance: (QueueFinger, QueueBatch<String>) -> SyncAdvance<QueueFinger> = {
    EventQueue<String>.advance($0, over: $1)
  }
  /// Whether a realm's state is told what pages have mended in messages.
  var mendsState = true
  /// Whether messages in doubt are fetched again.
  var asksAgain = true

  /// The way a client understands them.
  package static var own: Interpretation { Interpretation() }
}

/// Compares one user's requests on one queue with a machine that gets the same answers.
///
/// Three parties are compared: the *machine*; the *recorder*, the client that was recorded; and an
/// *honest client*, which ``QueueLedger`` derives from the answers alone. The honest client
/// registers. Then it asks from the newest event it was given, one poll at a time, until it is
/// refused or lets the queue go.
///
/// - The machine must want what the honest client sends, and must end up where the last answer
///   leads. If not, that is a *difference*.
/// - The recorder may leave the honest path, but only in ways that the recording itself explains:
///   two polls at once, a request that is not a poll, a request after the end, an event ID older
///   than the newest, or an event ID that it was never given. That is a *departure*. The last two
///   are believed only if the server behaved accordingly. After an old ID it must give the later
///   events again. It must refuse an ID that it never gave, but only the first time, because that
///   destroys what was not delivered. From then on an ID may exist that was never given [05
///   A9–A11]. If the server did otherwise, either the recording is not what happened or we misread
///   it. That is a difference, too.
/// - A queue that was once gone must never answer with success again. If it does, that is a
///   difference.
///
/// After the recorder's first departure the machine follows the queue no further. What it asked for
/// was not answered, so nobody can say what it should do next. An answer that was on its way is
/// still given to it, and the result is compared. The departing poll and each later one are checked
/// alone: a machine with a saved finger at the event ID of the poll gets the answer, and must end
/// up where that leads. The recorder is compared with the honest client to the end, so that no
/// departure hides another (`QueueCheck+Rest.swift`).
struct QueueCheck {
  let interpretation: Interpretation
  /// The queue's requests in the order in which they were sent, with the register first.
  private let exchanges: [Exchange]
  var findings = Findings()
  var fed: FedMachine
  var ledger: QueueLedger?
  private var terms = ServerTerms.unspoken
  /// The request that both have sent and that is not yet answered.
  private(set) var out: Exchange?
  private var lastSign: Int64
  /// Whether the machine has stopped following the queue.
  private var isOver = false
  /// What the recorder has sent since then that is not yet answered.
  var unanswered: [Exchange] = []

  /// Zulip's default, for registers that ask for too little to be told.
  private static let longPoll = TimeSpan.seconds(90)
  /// The time that an answer takes if the server sends it at the last moment.
  private static let longPollMargin = TimeSpan.seconds(10)

  /// - Parameter exchanges: the queue's requests, at least one.
  init(_ exchanges: [Exchange], _ interpretation: Interpretation) {
    self.interpretation = interpretation
    let registers = exchanges.filter { $0.request.kind == .register }
    let others = exchanges.filter { $0.request.kind != .register }
    self.exchanges = registers + others.sorted { ($0.sent, $0.line) < ($1.sent, $1.line) }
    let first = self.exchanges[0]
    lastSign = first.sent
    if case .number(let id) = first.request.lastEventID, let queue = first.request.queue {
      let finger = QueueFinger(queue: QueueID(queue), lastEventID: id)
      ledger = QueueLedger(finger)
      fed = FedMachine(restoring: finger, terms: terms, at: first.sentAt)
    } else {
      fed = FedMachine(at: first.sentAt)
    }
  }

  /// Goes through all of the queue's requests.
  mutating func run() {
    checkThatGoneIsGone()
    begin(exchanges[0])
    for exchange in exchanges.dropFirst() {
      if let out, out.ended <= exchange.sent { deliver(out) }
      switch exchange.request.kind {
      case _ where isOver: watch(exchange)
      case .release: release(exchange)
      case .poll, .register, .other: poll(exchange)
      }
    }
    if let out { deliver(out) }
  }

  private mutating func begin(_ first: Exchange) {
    guard first.request.kind == .register else {
      if let flaw = QueueCheck.flaw(of: first) {
        return depart(.malformed, first, honest: "a poll to a queue that it registered", but: flaw)
      }
      return depart(.unknownQueue, first, honest: "register")
    }
    guard case .register = fed.wanted else {
      return differ(first, "the start", expected: "register", found: fed.want)
    }
    out = first
  }

  /// The recorder polls, or tries to poll.
  private mutating func poll(_ exchange: Exchange) {
    if let flaw = QueueCheck.flaw(of: exchange) {
      return depart(.malformed, exchange, honest: honestPoll, but: flaw)
    }
    if let out {
      return depart(.twoAtOnce, exchange, honest: "nothing until line \(out.line) is answered")
    }
    guard let ledger, ledger.left == nil, case .number(let id) = exchange.request.lastEventID
    else { return departAfterTheEnd(exchange) }
    guard id == ledger.newest else { return pollElsewhere(exchange, id, ledger) }
    fed.bring(to: exchange.sentAt)
    if fed.polledFinger == ledger.finger {
      findings.pollsAgreed += 1
      out = exchange
      return
    }
    let silence = TimeSpan.milliseconds((exchange.sent - lastSign) / 1000)
    let survived = terms.lifetime + fed.machine.settings.collector + terms.longDeadline
    if case .register = fed.wanted, silence > survived {
      return depart(.tooLate, exchange, honest: "register")
    }
    differ(exchange, "the poll", expected: exchange.want, found: fed.want)
  }

  /// The recorder asks from an event ID other than the newest. If the server's answer bears that
  /// out, it is a departure; if not, it is a difference.
  mutating func pollElsewhere(_ exchange: Exchange, _ id: Int64, _ ledger: QueueLedger) {
    let reply = exchange.reply(interpretation.classify)
    if ledger.knows(id), id < ledger.newest {
      if case .polled(let batch) = reply, let lost = ledger.missing(from: batch, askedFrom: id) {
        return differ(
          exchange, "the answer to an old event ID",
          expected: "event \(lost) again, which was not acknowledged",
          found: "events \(batch.events.map(\.id))")
      }
      return depart(.oldPlace, exchange, honest: honestPoll)
    }
    switch Outcome(reply) {
    case .rejected, .expired: self.ledger?.noteRefusedPlace()
    case .success, .malformed, .unsupported, .unauthorized, .rateLimited, .serverFault,
      .timedOut, .unreachable, .modelRefused:
      guard ledger.wasRefusedAPlace else {
        fed.bring(to: exchange.sentAt)
        return differ(
          exchange, "the poll", expected: exchange.want, found: isOver ? honestPoll : fed.want)
      }
    }
    depart(id > ledger.newest ? .future : .unknownPlace, exchange, honest: honestPoll)
  }

  /// What an honest client would ask next.
  var honestPoll: String {
    guard let ledger else { return "register" }
    return ledger.left.map { "no poll to this queue, because \($0)" } ?? "poll \(ledger.finger)"
  }

  /// The recorder lets the queue go. Either it logs out, or the machine has already released the
  /// queue.
  private mutating func release(_ exchange: Exchange) {
    if let out {
      return depart(
        .twoAtOnce, exchange, honest: "nothing until line \(out.line) is answered or given up")
    }
    guard let ledger else { return depart(.afterTheEnd, exchange, honest: "nothing") }
    if fed.released == ledger.queue {
      fed.released = nil
      return
    }
    if ledger.left != nil { return departAfterTheEnd(exchange) }
    fed.give(.app(.loggedOut), at: exchange.sentAt)
    self.ledger?.letGo(on: exchange.line)
    guard fed.released == ledger.queue, fed.machine.status == .halted(.stopped) else {
      return differ(
        exchange, "logging out", expected: "release \(ledger.queue), halted(stopped)",
        found: fed.machine.description)
    }
    fed.released = nil
  }

  /// Gives the machine the answer that it awaits, and checks where that leads it.
  mutating func deliver(_ exchange: Exchange) {
    out = nil
    lastSign = exchange.ended
    let isRegister = exchange.request.kind == .register
    let reply = exchange.reply(interpretation.classify)
    var outcome = Expectation.outcome(of: exchange) ?? Outcome(reply)
    switch reply {
    case .registered(let finger, let longPoll):
      terms = ServerTerms(
        longDeadline: (longPoll ?? QueueCheck.longPoll) + QueueCheck.longPollMargin,
        lifetime: exchange.request.lifespan.map(TimeSpan.seconds) ?? ServerTerms.unspoken.lifetime)
      ledger = QueueLedger(finger)
      fed.answer(exchange) { [terms] in .snapshotArrived($0, finger: finger, terms: terms) }
    case .polled(let batch):
      if ledger?.note(batch) != true { outcome = .malformed }
      let advance = fed.machine.finger.map { interpretation.advance($0, batch) } ?? .gap
      fed.answer(exchange) { id in
        switch advance {
        case .next(let finger, first: _, let isComplete):
          .polled(id, movedTo: finger, isComplete: isComplete)
        case .seen: .polled(id, movedTo: nil)
        case .incomplete: .polled(id, movedTo: nil, isComplete: false)
        case .lost: .failed(id, .expired)
        case .gap: .failed(id, .malformed)
        }
      }
    case .failed(let failure): fed.answer(exchange) { .failed($0, failure) }
    case .succeeded: fed.answer(exchange) { .failed($0, .malformed) }
    }
    compareEnd(after: outcome, of: exchange, isRegister: isRegister)
  }

  private mutating func compareEnd(
    after outcome: Outcome, of exchange: Exchange, isRegister: Bool
  ) {
    let end = Expectation.end(after: outcome, isRegister: isRegister)
    if !end.keepsFinger || end == .haltedForCredentials {
      ledger?.leave(outcome, on: exchange.line)
    }
    let finger = end.keepsFinger ? ledger?.finger : nil
    let released = Expectation.releases(after: outcome, isRegister: isRegister)
    var lines: [(String, String)] = []
    if !end.allows(fed.machine.status) {
      lines.append(("\(end)", "\(fed.machine.status)"))
    }
    if fed.machine.finger != finger {
      lines.append(
        (
          "finger \(finger.map { "\($0)" } ?? "none")",
          "finger \(fed.machine.finger.map { "\($0)" } ?? "none")"
        ))
    }
    if (fed.released != nil) != released {
      lines.append(
        (released ? "the queue released" : "no release", fed.released.map { "\($0)" } ?? "none"))
    }
    if let violation = fed.violation { lines.append((violation.rule, violation.found)) }
    guard !lines.isEmpty else { return }
    differ(
      exchange, "after this answer, \(outcome.rawValue)",
      expected: lines.map(\.0).joined(separator: ", "),
      found: lines.map(\.1).joined(separator: ", "))
  }

  /// A queue that is gone stays gone, whichever client asks. This is checked on all lines, whether
  /// the machine follows or not.
  ///
  /// It is checked first, because after an end that is in doubt nothing counts as a departure.
  private mutating func checkThatGoneIsGone() {
    let ends = exchanges.filter { exchange in
      let outcome = Expectation.outcome(of: exchange)
      return outcome == .expired && exchange.request.kind != .register
        || outcome == .success && exchange.request.kind == .release
    }
    guard let end = ends.min(by: { ($0.ended, $0.line) < ($1.ended, $1.line) }) else { return }
    let contradiction = exchanges.first { exchange in
      exchange.sent >= end.ended && Expectation.outcome(of: exchange) == .success
    }
    guard let contradiction else { return }
    findings.differences.append(
      Difference(
        line: contradiction.line, what: "a queue that was gone on line \(end.line)",
        expected: "expired", found: "success"))
  }

  // MARK: Helpers

  mutating func depart(
    _ kind: Departure.Kind, _ exchange: Exchange, honest: String, but flaw: String? = nil
  ) {
    isOver = true
    if exchange.request.kind == .poll { findings.pollsDeparting += 1 }
    let departure = Departure(
      line: exchange.line, kind: kind,
      sent: "\(exchange.client) sent \(exchange.want)\(flaw.map { ", \($0)" } ?? "")",
      honest: honest)
    if let last = findings.departures.last, last.isRepeated(by: departure) {
      findings.departures[findings.departures.count - 1].repeats += 1
      findings.departures[findings.departures.count - 1].lastLine = exchange.line
    } else {
      findings.departures.append(departure)
    }
    unanswered.append(exchange)
    lookAtAlone(exchange)
  }

  mutating func departAfterTheEnd(_ exchange: Exchange) {
    guard findings.differences.isEmpty else {
      // This only follows from the difference: the end itself is in doubt.
      isOver = true
      if exchange.request.kind == .poll { findings.pollsNotFollowed += 1 }
      return
    }
    let left = ledger?.left ?? "the register failed"
    let what = exchange.request.kind == .release ? "nothing" : "no poll to this queue"
    depart(.afterTheEnd, exchange, honest: "\(what), because \(left)")
  }

  mutating func differ(
    _ exchange: Exchange, _ what: String, expected: String, found: String
  ) {
    isOver = true
    findings.differences.append(
      Difference(line: exchange.line, what: what, expected: expected, found: found))
  }

  /// Why a request to the queues does not belong to this protocol; `nil` if it does.
  static func flaw(of exchange: Exchange) -> String? {
    let request = exchange.request
    if request.queue == nil { return "without a queue" }
    guard request.kind == .poll else { return nil }
    if request.method != "GET" { return "as \(request.method)" }
    if request.isConditional { return "with If-None-Match" }
    switch request.lastEventID {
    case .number: return nil
    case .missing: return "without a last event ID"
    case .text(let text): return "with the last event ID \"\(text)\""
    }
  }
}

extension Exchange {
  /// What was sent, in the words that also describe what the machine wants.
  var want: String {
    let queue = request.queue.map { " \($0)" } ?? ""
    switch request.kind {
    case .register: return "register"
    case .release: return "release\(queue)"
    case .poll:
      guard request.queue != nil, case .number(let id) = request.lastEventID else {
        return "poll\(queue)"
      }
      return "poll\(queue):\(id)"
    case .other: return "\(request.method) \(request.path)"
    }
  }
}
