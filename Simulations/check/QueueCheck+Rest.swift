import SyncProtocols
import UpdateMachine

// What happens on a queue after the recorder's first departure, when the machine no longer follows.

extension QueueCheck {
  /// Compares a later request with what the recorder had been given until then.
  mutating func watch(_ exchange: Exchange) {
    guard findings.differences.isEmpty else {
      // What the recorder was given is in doubt, so nothing is said about what it should have sent.
      if exchange.request.kind == .poll { findings.pollsNotFollowed += 1 }
      return
    }
    settle(before: exchange.sent)
    if let flaw = QueueCheck.flaw(of: exchange) {
      return depart(.malformed, exchange, honest: honestPoll, but: flaw)
    }
    if let waiting = out ?? unanswered.first {
      return depart(
        .twoAtOnce, exchange, honest: "nothing until line \(waiting.line) is answered")
    }
    guard exchange.request.kind == .poll else {
      if ledger?.mayLetGo != true { return departAfterTheEnd(exchange) }
      ledger?.letGo(on: exchange.line)
      return
    }
    if let ledger, case .number(let id) = exchange.request.lastEventID, id != ledger.newest {
      return pollElsewhere(exchange, id, ledger)
    }
    if ledger?.left != nil { return departAfterTheEnd(exchange) }
    findings.pollsNotFollowed += 1
    unanswered.append(exchange)
    lookAtAlone(exchange)
  }

  /// Notes the answers that the recorder had by a moment.
  private mutating func settle(before moment: Int64) {
    let answered = unanswered.filter { $0.ended <= moment }
    unanswered.removeAll { $0.ended <= moment }
    for exchange in answered.sorted(by: { ($0.ended, $0.line) < ($1.ended, $1.line) })
    where exchange.request.kind == .poll && QueueCheck.flaw(of: exchange) == nil {
      if case .polled(let batch) = exchange.reply(interpretation.classify) {
        if ledger?.note(batch) != true { ledger?.leave(.malformed, on: exchange.line) }
        continue
      }
      let outcome = Outcome(exchange.reply(interpretation.classify))
      let end = Expectation.end(after: outcome, isRegister: false)
      if end != .live, end != .pollFailed { ledger?.leave(outcome, on: exchange.line) }
    }
  }

  /// Checks that a poll's answer leads where it should, with a machine restored to send that poll.
  mutating func lookAtAlone(_ exchange: Exchange) {
    guard exchange.request.kind == .poll, exchange.request.method == "GET",
      case .number = exchange.request.lastEventID, exchange.request.queue != nil
    else { return }
    var alone = QueueCheck([exchange], interpretation)
    guard let asked = alone.ledger?.finger, alone.fed.polledFinger == asked else {
      return differ(exchange, "the poll", expected: exchange.want, found: alone.fed.want)
    }
    alone.deliver(exchange)
    findings.differences += alone.findings.differences
  }
}
