import SyncProtocols
import UpdateMachine

/// The command `simulate check`. It checks that recorded sessions with a real server are as the
/// machine, the classifier and ZulipServer say.
package struct Check {
  private let interpretation: Interpretation
  private let messages: MessageCheck
  package private(set) var files: [FileReport] = []

  /// The default number of orders for one race. It takes seconds for a thousand requests. The user
  /// can ask for more.
  package static let defaultOrders = 50

  /// - Parameters:
  ///   - orders: the most orders of one race of pages.
  ///   - isInterrupted: whether the user has interrupted. It is called repeatedly during the work.
  package init(
    _ interpretation: Interpretation = .own, orders: Int = Check.defaultOrders,
    isInterrupted: @escaping () -> Bool = { false }
  ) {
    self.interpretation = interpretation
    messages = MessageCheck(bound: orders, isInterrupted: isInterrupted)
  }

  /// What was found in one file.
  package struct FileReport {
    var file: String
    var lines = 0
    /// Queues whose register is in the file.
    var queues = 0
    /// Registers that gave no queue. Each has a machine of its own.
    var registersRefused = 0
    /// Requests to the queues' address, except releases.
    var polls = 0
    var answers: [Outcome: Int] = [:]
    var findings = Findings()
    var messages = MessageCheck.Report()
    var state = StateCheck.Report()

    var answerCount: Int { answers.values.reduce(0, +) }
  }

  package mutating func add(_ recording: Recording) {
    var report = FileReport(file: recording.file, lines: recording.lineCount)
    for exchange in recording.exchanges {
      classify(exchange, &report)
      if exchange.request.kind == .poll { report.polls += 1 }
    }
    for session in sessions(of: recording, &report) {
      var check = QueueCheck(session, interpretation)
      check.run()
      report.findings += check.findings
    }
    if let recorded = recording.messages {
      report.messages = messages.report(on: recorded, asksAgain: interpretation.asksAgain)
      report.findings.differences += report.messages.differences
    }
    if let recorded = recording.state {
      report.state = StateCheck(recorded, mendsState: interpretation.mendsState).report
      report.findings.differences += report.state.differences
    }
    report.findings.departures.sort { $0.line < $1.line }
    report.findings.differences.sort { $0.line < $1.line }
    files.append(report)
  }

  /// Every answer, whatever was asked, must be classified as ZulipServer's table of errors says.
  private func classify(_ exchange: Exchange, _ report: inout FileReport) {
    let reply = exchange.reply(interpretation.classify)
    let found = Outcome(reply)
    report.answers[found, default: 0] += 1
    func differ(_ what: String, expected: String, found: String) {
      report.findings.differences.append(
        Difference(line: exchange.line, what: what, expected: expected, found: found))
    }
    guard let expected = Expectation.outcome(of: exchange) else {
      return differ(
        "the answer", expected: "a status that agrees with its envelope",
        found: "\(exchange.answerText), taken as \(found.rawValue)")
    }
    guard expected == found else {
      return differ(
        "the answer, \(exchange.answerText)", expected: expected.rawValue, found: found.rawValue)
    }
    guard case .failed(.rateLimited(let after)) = reply else { return }
    let seconds = Expectation.retryAfter(of: exchange)
    let isSame =
      switch (after, seconds) {
      case (nil, nil): true
      case (let after?, let seconds?): abs(Double(after.milliseconds) - seconds * 1000) <= 1
      case (nil, _), (_, nil): false
      }
    guard !isSame else { return }
    differ(
      "the wait that a refusal asks for", expected: seconds.map { "\($0) s" } ?? "none",
      found: after.map { "\($0)" } ?? "none")
  }

  /// The requests of each user on each queue, in the order of their first lines. A register that
  /// gave no queue stands alone. So does a poll that names no queue, which is a departure at once.
  private func sessions(of recording: Recording, _ report: inout FileReport) -> [[Exchange]] {
    struct Key: Hashable {
      var user: String
      var queue: String
    }
    var sessions: [[Exchange]] = []
    var places: [Key: Int] = [:]
    for exchange in recording.exchanges {
      var queue = exchange.request.queue
      if case .registered(let finger, _) = exchange.reply(interpretation.classify) {
        queue = finger.queue.text
        report.queues += 1
      } else if exchange.request.kind == .register {
        report.registersRefused += 1
      }
      guard exchange.request.kind != .other else { continue }
      guard let queue else {
        sessions.append([exchange])
        continue
      }
      let key = Key(user: exchange.user, queue: queue)
      if let place = places[key] {
        sessions[place].append(exchange)
      } else {
        places[key] = sessions.count
        sessions.append([exchange])
      }
    }
    return sessions
  }
}

extension Exchange {
  /// The answer, in short.
  var answerText: String {
    switch response {
    case .transportError(let text): return text
    case .answer(let status, _, let body):
      guard let result = body?.result else { return "\(status) without an envelope" }
      return "\(status) \(result)\(body?.code.map { " \($0)" } ?? "")"
    }
  }
}

extension Check {
  /// Whether nothing differs.
  package var agrees: Bool { files.allSatisfy(\.findings.differences.isEmpty) }

  /// Everything that was found, in one line.
  package func summary(of fileCount: Int, seconds: Double) -> String {
    let total = total
    let findings = total.findings
    return "check: \(fileCount) files, \(total.lines) lines, \(total.queues) queues, "
      + "\(findings.pollsAgreed) of \(total.polls) polls agree, "
      + "\(total.answerCount) answers classified, \(findings.departureCount) departures, "
      + "\(total.messages.orders) orders of pages, \(total.messages.inDoubt) in doubt, "
      + "\(total.state.compared) states compared, \(total.state.explained.count) explained, "
      + "\(findings.differences.count) differences, \(seconds) s"
  }

  /// The same as a JSON object.
  package func json(of fileCount: Int, seconds: Double) -> String {
    let total = total
    let findings = total.findings
    let fields: [(String, String)] = [
      ("files", "\(fileCount)"), ("lines", "\(total.lines)"), ("queues", "\(total.queues)"),
      ("polls", "\(total.polls)"), ("answers", "\(total.answerCount)"),
      ("departures", "\(findings.departureCount)"), ("pages", "\(total.messages.pages)"),
      ("orders", "\(total.messages.orders)"), ("inDoubt", "\(total.messages.inDoubt)"),
      ("states", "\(total.state.compared)"), ("explained", "\(total.state.explained.count)"),
      ("differences", "\(findings.differences.count)"), ("seconds", "\(seconds)"),
    ]
    return "{" + fields.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
  }

  /// The sum of all files.
  package var total: FileReport {
    files.reduce(into: FileReport(file: "")) { total, file in
      total.lines += file.lines
      total.queues += file.queues
      total.registersRefused += file.registersRefused
      total.polls += file.polls
      total.answers.merge(file.answers) { $0 + $1 }
      total.findings += file.findings
      total.messages += file.messages
      total.state += file.state
    }
  }
}

extension Check.FileReport {
  /// The table of this file, then each departure and each difference.
  package var texts: [String] {
    let told = findings.pollsAgreed + findings.pollsDeparting + findings.pollsNotFollowed
    let differing = polls > told ? ", \(polls - told) differing" : ""
    let polls =
      "\(polls): \(findings.pollsAgreed) agreed, \(findings.pollsDeparting) departing, "
      + "\(findings.pollsNotFollowed) not followed\(differing)"
    let outcomes = Outcome.allCases.compactMap { outcome in
      answers[outcome].map { "\($0) \(outcome.rawValue)" }
    }
    var texts = [
      file,
      "  lines        \(lines)",
      "  queues       \(queues), and \(registersRefused) registers refused",
      "  polls        \(polls)",
      "  answers      \(answerCount): \(outcomes.joined(separator: ", "))",
    ]
    texts += messages.texts
    texts += state.texts
    texts += [
      "  departures   \(findings.departureCount)",
      "  differences  \(findings.differences.count)",
    ]
    texts += findings.departures.map { $0.text(in: file) }
    return texts + differences
  }

  /// The full text of each difference.
  package var differences: [String] { findings.differences.map { $0.text(in: file) } }
}
