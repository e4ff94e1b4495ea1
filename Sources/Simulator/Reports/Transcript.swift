internal import SyncProtocols
package import UpdateMachine

/// One client's process as a scenario (``Scenario``): its settings, its start, and all inputs of
/// its machine with their moments. Below each input is what today's machine answers.
///
/// A scenario is about a machine, which holds no model and meets no server. What an oracle found in
/// a model cannot be seen there, but what led to it can.
package struct Transcript: Sendable {
  /// The client's number.
  package let client: Int
  /// Which of the client's processes: the last one.
  package let incarnation: UInt64
  /// The number of inputs that the language cannot express; the text marks where they were.
  package private(set) var unsaidCount = 0
  /// The start of the scenario, in the world's time.
  package let beginning: Moment

  private var lines: [String] = []
  private var machine: Machine<QueueFinger>
  private var terms = ServerTerms.unspoken

  /// `nil`: the client's machine had no inputs.
  package init?(of client: Int, _ trace: Trace) {
    guard let last = trace.inputs.last(where: { $0.client == client }) else { return nil }
    self.client = client
    incarnation = last.incarnation
    var inputs = trace.inputs.filter { $0.client == client && $0.incarnation == last.incarnation }[
      ...]
    // What came before the saved form was read is contained in what the machine was told then.
    let restored = inputs.lastIndex { if case .restored = $0.what { true } else { false } }
    beginning = restored.map { inputs[$0].at } ?? Moment(milliseconds: 0)
    if let restored { inputs = inputs[restored...] }
    machine = Machine(incarnation: Incarnation(last.incarnation), settings: last.settings)
    let settings = last.settings.words
    if !settings.isEmpty { lines.append("machine\(settings)") }
    for input in inputs { say(input) }
  }

  /// Returns the scenario.
  ///
  /// - Parameter comment: lines that introduce it.
  /// - Throws: ``ScenarioError`` if the language does not accept the text; it should.
  package func scenario(_ comment: [String]) throws(ScenarioError) -> String {
    var text = ""
    for line in comment { text += line.utf8.isEmpty ? "#\n" : "# \(line)\n" }
    text += "# Incarnation \(incarnation) of client \(client)"
    text +=
      beginning == Moment(milliseconds: 0)
      ? "; moments are the run's.\n"
      : "; 0 is \(Trace.trimmedClock(beginning)) in the run, when what was saved had been read.\n"
    for line in lines { text += line + "\n" }
    return try Scenario.rewritten(text)
  }

  // MARK: Words

  private mutating func say(_ input: MachineInput) {
    let time = "at \(Words.text(input.at - beginning))"
    switch input.what {
    case .restored(let finger, let terms, let age):
      say(terms)
      lines.append("restored \(finger)" + (age.map { " age \(Words.text($0))" } ?? ""))
      machine = Machine(
        restoring: finger, terms: terms, age: age, at: input.at, incarnation: machine.incarnation,
        settings: machine.settings)
    case .input(let heard):
      if case .snapshotArrived(_, _, let terms, _) = heard { say(terms) }
      if let words = words(heard) {
        lines.append("\(time) \(words)")
      } else {
        unsaidCount += 1
        lines.append("# Left out, since the language has no words for it: \(time) \(heard)")
      }
      _ = machine.handle(heard, at: input.at)
    }
  }

  private mutating func say(_ terms: ServerTerms) {
    guard terms != self.terms else { return }
    self.terms = terms
    var words = "terms longDeadline=\(Words.text(terms.longDeadline))"
    words += " lifetime=\(Words.text(terms.lifetime))"
    switch terms.cadence {
    case .waits: break
    case .every(let span): words += " every=\(Words.text(span))"
    case .pushed: words += " pushed"
    }
    lines.append(words)
  }

  /// The words of an input; `nil`: there are none.
  private func words(_ input: Machine<QueueFinger>.Input) -> String? {
    switch input {
    case .app(.started(let foreground)): foreground ? "started" : "started in background"
    case .app(let signal): signal.description
    case .snapshotArrived(let id, let finger, _, let isComplete):
      "snapshotArrived\(number(id)) \(finger)" + (isComplete ? "" : " incomplete")
    case .polled(let id, let finger, let isComplete):
      "polled\(number(id)) " + (finger.map { "to \($0.lastEventID)" } ?? "nothing")
        + (isComplete ? "" : " incomplete")
    case .failed(let id, let failure):
      Words.text(failure).map { "failed\(number(id)) \($0)" }
    case .fired: "fired"
    case .written: "written"
    case .writeFailed: "writeFailed"
    }
  }

  /// The number of a request; none if it is the open one. All processes but the machine's own are
  /// interchangeable.
  private func number(_ id: RequestID) -> String {
    guard !machine.isCurrent(id) else { return "" }
    return id.incarnation == machine.incarnation
      ? " \(id.number)" : " \(id.number) of incarnation 0"
  }
}

extension Words {
  /// A failure as scenarios write it; `nil`: it cannot be written.
  static func text(_ failure: SyncFailure) -> String? {
    switch failure {
    case .rateLimited(let after): return "rateLimited" + (after.map { " \(text($0))" } ?? "")
    case .rejected(let code):
      guard !code.text.utf8.isEmpty else { return "rejected" }
      let isWord = code.text.utf8.allSatisfy { byte in
        byte > 0x20 && byte != UInt8(ascii: ",") && byte != UInt8(ascii: ":")
      }
      return isWord && code.text != "then" ? "rejected \(code.text)" : nil
    case .unreachable, .timedOut, .serverFault, .unauthorized, .unsupported, .expired, .malformed,
      .modelRefused:
      return failure.description
    }
  }
}
