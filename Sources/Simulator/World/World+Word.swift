internal import SyncProtocols
internal import UpdateMachine

// What a user or the system has told an app. Between two steps everything must agree with it, by
// whatever route it got there (oracle E).

/// The latest signals of an app.
struct Word: Sendable {
  /// Whether the app wants to be kept up to date: it has started, and has not stopped since.
  var wantsSync = false
  var isInFront = true
  /// Whether the user has logged out, with no start since.
  var isLoggedOut = false
}

extension World {
  /// Notes a signal to a client's app, or from it.
  mutating func noteDecision(_ client: Int, _ signal: AppSignal) {
    switch signal {
    case .started(let foreground):
      let body = clients[client].body
      // A client that is already running ignores it.
      if !clients[client].word.wantsSync || body.status.isHalted || !body.isLoaded {
        clients[client].word.isInFront = foreground
      }
      clients[client].word.wantsSync = true
      clients[client].word.isLoggedOut = false
    case .stopped:
      clients[client].word.wantsSync = false
      clients[client].rowReading?.wasStopped = true
    case .loggedOut:
      clients[client].word.wantsSync = false
      clients[client].rowReading?.wasStopped = true
      clients[client].word.isLoggedOut = true
      // Seed 14352 of posts: it came back where a start was quicker than the erase.
      clients[client].backup = nil
    case .foregrounded: clients[client].word.isInFront = true
    case .backgrounded: clients[client].word.isInFront = false
    case .networkChanged, .retryRequested, .credentialsChanged: break
    }
  }

  /// Checks, after signals were handled, that everything is as they asked.
  mutating func judgeWord(of client: Int, _ held: borrowing Client.Held) {
    guard let expected = objection(to: client, held.body) else { return }
    let holds = clients[client].disk.saved == nil ? "nothing" : "something"
    checker.report(.ownership, client, now, expected, "\(held.body), the disk holds \(holds)")
  }

  /// As ``judgeWord(of:_:)``, for all clients.
  mutating func judgeWords() {
    for client in clients.indices where clients[client].isRunning {
      judgeWord(of: client, clients[client].held)
    }
  }

  private func objection(to client: Int, _ body: Client.Body) -> String? {
    let word = clients[client].word
    if body.machine.incarnation.number != clients[client].incarnation {
      return "its requests are named after its own incarnation, \(clients[client].incarnation)"
    }
    if word.isInFront != body.machine.isInForeground {
      return "it knows whether its user sees it"
    }
    guard !word.wantsSync, body.isLoaded else { return nil }
    if body.status != .halted(.stopped) { return "what was told to stop is stopped" }
    guard word.isLoggedOut else { return nil }
    if body.model != nil { return "after a log-out nothing is shown" }
    let device = clients[client]
    let isAtRest = !device.isReading && device.write == nil && device.rowReading == nil
    guard isAtRest, clients[client].disk.saved != nil else { return nil }
    return "after a log-out nothing is on the disk"
  }

  /// A poll acknowledges everything up to its finger, so that state must be durable. A subscription
  /// acknowledges only where it begins.
  ///
  /// - Parameter request: what it is sent for; `nil`: a driver's source does not know.
  mutating func judgeAcknowledgement(
    _ client: Int, _ kind: Exchange<App>.Kind, _ request: RequestID?
  ) {
    guard faultPlan.settings(of: client).isDurable, case .poll(let finger, let waits) = kind else {
      return
    }
    let machine = clients[client].body.machine
    if waits, machine.terms.cadence == .pushed,
      let request = request ?? machine.status.outstanding?.id
    {
      if clients[client].subscription == request { return }
      clients[client].subscription = request
    }
    let durable = clients[client].disk.saved?.finger
    guard durable != finger else { return }
    checker.report(
      .replica, client, now,
      "what is not durable is not acknowledged: a poll from "
        + (durable.map { "\($0)" } ?? "no finger"), "a poll from \(finger)")
  }

  /// Checks that a server's answer was understood. Every failure is classified once (TheMachine
  /// §2).
  mutating func judgeMeaning(
    _ reply: Server.Reply, for client: Int
  ) {
    let found = reply.failure()
    let expected: SyncFailure?
    switch reply {
    case .registered, .batch, .released: expected = nil
    case .refused(let answer): expected = World.meaning(of: answer) ?? found
    }
    guard found != expected else { return }
    let words = { (failure: SyncFailure?) in failure.map { "\($0)" } ?? "no failure" }
    checker.report(
      .budget, client, now, "the server's answer means \(words(expected))", words(found))
  }

  /// What an answer of this world's servers and proxies means; `nil` for answers that they never
  /// give.
  private static func meaning(of answer: ServerAnswer) -> SyncFailure? {
    switch answer {
    case .badQueue: .expired
    case .badRequest: .rejected(RejectionCode("BAD_REQUEST"))
    case .unauthorized: .unauthorized
    case .serverError, .badGateway, .portal: .serverFault
    default: answer.status == 429 ? .rateLimited(after: answer.retryAfter) : nil
    }
  }
}
