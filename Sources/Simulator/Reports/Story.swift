// Reports: the room that describes a failing run for people: what was found, what led to it, what
// caused it. It takes results, conversations and tokens.
//
// Reports may use: Choices, Explorer, Run, Scenario, Shrinking, Simulation, SmallWorld, Words.

/// A failing run on at most one screen. It says what was found, by which oracle, for which client
/// and when; what was expected, and where that differs; the last relevant events; the choices,
/// faults and user actions left; and how to repeat it.
package struct Story: Sendable {
  /// What was found.
  package var finding: Finding
  /// Where the finding differs from what was expected; `nil`: they have too little in common.
  package var difference: WordDifference?
  /// The events that led to it, oldest first: those of the client concerned, and those of all
  /// clients.
  package var events: [Trace.Event]
  /// The number of events left out because they are about other clients.
  package var othersCount: Int
  /// The run itself.
  package var result: RunResult
  /// The changes that the users of all clients made and decided about, by name.
  var changes: [(name: String, count: Int64)]
  /// How it was made small; `nil`: it is as drawn.
  package var shrunk: Shrunk?

  /// One screen, and one more line.
  package static var linesMaximum: Int { 24 }
  package static var widthMaximum: Int { 160 }

  /// The story of a run; `nil`: nothing was found in it.
  package init?(_ result: RunResult, _ trace: Trace, shrunk: Shrunk? = nil) {
    guard let finding = result.finding else { return nil }
    self.finding = finding
    self.result = result
    self.shrunk = shrunk
    changes = trace.changes
    difference = WordDifference(from: finding.expected, to: finding.found)
    // Descriptions of what is held are useful only in the whole conversation.
    let all = trace.events.filter { !$0.isPicture }
    events = all.filter { event in
      finding.client == nil || event.client == nil || event.client == finding.client
    }
    othersCount = all.count - events.count
  }

  /// The story, one line each.
  ///
  /// Shape: at most `count` lines of at most ``widthMaximum`` characters. The lines of `repeating`
  /// are never cut, because they are typed again. As many of the last events as fit.
  /// - Parameters:
  ///   - count: the most lines.
  ///   - repeating: the code to type to repeat the run; printed last.
  package func lines(
    atMost count: Int = Story.linesMaximum, repeating: [String] = []
  ) -> [String] {
    let room = max(0, count - head.count - 1 - repeating.count)
    return head + told(events: room) + [Story.fitted(left)] + repeating
  }

  /// Oracle, client and moment; expected, found, and where they differ.
  package var head: [String] { Story.told(finding, difference) }

  /// Returns the head for any finding.
  package static func told(_ finding: Finding, _ difference: WordDifference? = nil) -> [String] {
    let who = finding.client.map { "client \($0)" } ?? "the world"
    var lines = [
      "Oracle \(finding.oracle.rawValue), \(who), at \(Trace.trimmedClock(finding.at)):",
      "  expected    \(finding.expected)",
      "  found       \(finding.found)",
    ]
    if let difference { lines.append("  difference  \(difference)") }
    return lines.map { fitted($0) }
  }

  /// A text like "Left: choices 10 of 161, clients 1, steps 70, user actions 3 (add 2, rename),
  /// faults 2 (crash, storm); made small in 310 runs".
  package var left: String {
    let struck = Fault.allCases.filter { result.faults[$0] > 0 }
      .map { (name: $0.name, count: result.faults[$0]) }
    let actions = Story.counted(result.userActions, changes)
    let faults = Story.counted(struck.reduce(0) { $0 + $1.count }, struck)
    guard let shrunk else {
      return "In all: choices \(result.choices), steps \(result.steps), user actions \(actions), "
        + "faults \(faults)"
    }
    return "Left: choices \(shrunk.choicesLeft) of \(shrunk.choicesBefore), clients "
      + "\(shrunk.token.configuration.clients), steps \(result.steps), user actions \(actions), "
      + "faults \(faults); made small in \(shrunk.runs) runs"
  }

  /// A number and what it consists of, like "3 (add 2, rename)".
  private static func counted(_ count: Int64, _ parts: [(name: String, count: Int64)]) -> String {
    var text = "\(count)"
    for (index, part) in parts.enumerated() {
      text += (index == 0 ? " (" : ", ") + part.name
      if part.count > 1 { text += " \(part.count)" }
    }
    return parts.isEmpty ? text : text + ")"
  }

  // MARK: Events

  /// The last relevant events that fit, and the number left out.
  private func told(events room: Int) -> [String] {
    let folded = Story.folded(events)
    var shown = folded.suffix(room)
    if room > 0, shown.count < folded.count || othersCount > 0 {
      shown = folded.suffix(room - 1)
    }
    var before = 0
    for fold in folded.dropLast(shown.count) { before += fold.count }
    var parts: [String] = []
    if before > 0 { parts.append("\(before) earlier lines") }
    if othersCount > 0 { parts.append("\(othersCount) lines of other clients") }
    var lines: [String] = []
    if let first = parts.first, room > 0 {
      lines.append("  … \(first)\(parts.count > 1 ? " and \(parts[1])" : "") left out")
    }
    for fold in shown {
      let more = fold.count > 1 ? " (the last of \(fold.count) alike)" : ""
      lines.append(Story.fitted("  \(fold.event.line)\(more)"))
    }
    return lines
  }

  /// Merges neighbours that differ only in numbers.
  private static func folded(_ events: [Trace.Event]) -> [(event: Trace.Event, count: Int)] {
    var folded: [(event: Trace.Event, count: Int)] = []
    var last = ""
    for event in events {
      let form = withoutNumbers(event)
      if form == last, let previous = folded.popLast() {
        folded.append((event, previous.count + 1))
      } else {
        folded.append((event, 1))
      }
      last = form
    }
    return folded
  }

  private static func withoutNumbers(_ event: Trace.Event) -> String {
    let bytes = event.what.utf8.filter { $0 < UInt8(ascii: "0") || $0 > UInt8(ascii: "9") }
    return "\(event.who) \(String(decoding: bytes, as: UTF8.self))"
  }

  /// Fits a text into one line: without line feeds, and cut if it is too long.
  static func fitted(_ text: String) -> String {
    var scalars = String.UnicodeScalarView()
    var count = 0
    for scalar in text.unicodeScalars {
      count += 1
      if count > widthMaximum {
        scalars.removeLast()
        scalars.append("…")
        break
      }
      scalars.append(scalar.value < 0x20 ? " " : scalar)
    }
    return String(scalars)
  }
}
