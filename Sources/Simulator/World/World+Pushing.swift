internal import SyncProtocols
internal import UpdateMachine

// Pushes, which carry clients' mutations beside the machine's single request, on their way to the
// server and back. A push may arrive long after its process has ended.

/// Where a push is.
enum Pushing: Sendable {
  /// `isHeard` says that the client still waits for the answer, as far as the network knows.
  case arrives(UInt64, isHeard: Bool)
  case isAnswered(UInt64)
  case fails(UInt64, TransportFailure, hasLeft: Bool)
}

extension World {
  /// A client sends a push. Returns its number.
  @discardableResult
  mutating func send(
    _ push: PushRequest<App.Model.Change>, at finger: Server.Place?,
    over state: App.Model.Change.State?, by client: Int
  ) -> UInt64 {
    clients[client].pushes.append(
      Client.Sent(push: push, request: App.request(push, at: finger, over: state)))
    let number = UInt64(clients[client].pushes.count - 1)
    if isTraced { note(who(client), "\(number) is \(push)", about: client) }
    drawDeparture(.push, client, number, "\(push)")
    // A push may leave in the moment of a crash. Then an older form may already be on the disk.
    if clients[client].isRunning,
      let objection = clients[client].user.objection(
        toSending: push, disk: clients[client].disk.saved)
    {
      report(objection, client)
    }
    if !isHandingOver { judgeThrown(push, client) }
    depart(number, client)
    mayMeetEarlier(number, client)
    mayHappenMeanwhile(to: client)
    return number
  }

  /// The state at the finger of a push that is made now; `nil`: the push has no finger.
  func confirmedState(of client: Int, at finger: Server.Place?) -> App.Model.Change.State? {
    finger == nil ? nil : clients[client].body.model?.state
  }

  /// In a hasty world an earlier push that seemed lost may only have been late: it, or its answer,
  /// comes while the push that repeats it is out.
  private mutating func mayMeetEarlier(_ number: UInt64, _ client: Int) {
    guard faultPlan.haste != nil, phase == .stormy, faultPlan.faults.contains(.lateAnswer) else {
      return
    }
    let push = clients[client].pushes[Int(number)].push
    let earlier = clients[client].pushes.lastIndex {
      $0.push.id != push.id && !$0.hasEnded && !$0.isGivenUp && $0.push.repeats(push)
    }
    guard let earlier, choices.happens(.haste, 1, in: 2) else { return }
    let sent = clients[client].pushes[earlier]
    if sent.hasArrived, sent.answer == nil { return }
    let delay = choices.draw(.haste, in: 0...(choices.pick(.haste, faultPlan.latencies) * 2))
    let late = UInt64(earlier)
    schedule(
      sent.hasArrived ? .isAnswered(late) : .arrives(late, isHeard: true), client, after: delay)
  }

  /// What throws over the state that its user sees does not leave.
  private mutating func judgeThrown(_ push: PushRequest<App.Model.Change>, _ client: Int) {
    for item in clients[client].body.pending where item.refusal != nil {
      guard case .marked(let id) = item.stage, push.mutations.contains(where: { $0.id == id })
      else { continue }
      checker.report(.input, client, now, "what throws is not sent", "\(item.change) in \(push)")
    }
  }

  mutating func pushes(_ client: Int, incarnation: UInt64, _ pushing: Pushing) -> Bool {
    if case .arrives(let number, let isHeard) = pushing {
      pushArrives(number, client, incarnation: incarnation, isHeard: isHeard)
      return true
    }
    guard clients[client].isRunning, clients[client].incarnation == incarnation else {
      return false
    }
    if postpone(.pushes(client: client, incarnation: incarnation, pushing), for: client) {
      return false
    }
    switch pushing {
    case .arrives: return false
    case .isAnswered(let number):
      drawArrival(.pushAnswer, client, number)
      clients[client].pushes[Int(number)].hasEnded = true
      let sent = clients[client].pushes[Int(number)]
      guard let answer = sent.answer, !sent.isGivenUp else { return false }
      if isTraced { note(who(client), "push \(number) is answered", about: client) }
      if isHandingOver {
        deliveries.append(.pushed(client: client, push: number, .success(answer)))
      } else {
        feed(client, .pushAnswered(sent.push.id, answer))
      }
    case .fails(let number, let reason, let hasLeft):
      drawArrival(.pushAnswer, client, number)
      clients[client].pushes[Int(number)].hasEnded = true
      guard !clients[client].pushes[Int(number)].isGivenUp else { return false }
      let failure = reason.failure
      if isTraced { note(who(client), "push \(number) fails, \(failure)", about: client) }
      if isHandingOver {
        let failed = PushFailed(failure: failure, hasLeft: hasLeft)
        deliveries.append(.pushed(client: client, push: number, .failure(failed)))
      } else {
        let id = clients[client].pushes[Int(number)].push.id
        feed(client, .failed(id, failure, hasLeft: hasLeft))
      }
    }
    return true
  }

  private mutating func depart(_ push: UInt64, _ client: Int) {
    var delay = latency()
    switch clients[client].connection {
    case .open: break
    case .refused:
      drawLoss(.push, client, push)
      return schedule(.fails(push, .unreachable, hasLeft: false), client, after: delay)
    case .silent: return drawLoss(.push, client, push)
    }
    var isHeard = true
    switch strike(faultPlan.outgoing, client) {
    case .lostRequest:
      drawLoss(.push, client, push)
      if choices.happens(.network, 1, in: 2) { return }
      return schedule(.fails(push, .unreachable, hasLeft: true), client, after: delay)
    case .halfOpen: isHeard = false
    case .refusedConnection:
      drawLoss(.push, client, push)
      return schedule(.fails(push, .unreachable, hasLeft: false), client, after: delay)
    case .sourceTimeout:
      schedule(.fails(push, .timedOut, hasLeft: true), client, after: delay)
      delay += choices.draw(.network, in: 1...600_000)
      isHeard = false
    case .slowNetwork: delay += choices.draw(.network, in: 1...FaultPlan.slowTrip)
    default: break
    }
    schedule(.arrives(push, isHeard: isHeard), client, after: delay)
    // A proxy retries by another route. It must not do so where a second copy would be a second
    // change (RFC 9110, 9.2.2).
    guard Server.knowsPushesAgain, faultPlan.faults.contains(.repeatedAnswer),
      choices.happens(.network, 1, in: 6)
    else { return }
    let later = choices.draw(.network, in: 1...600_000)
    schedule(.arrives(push, isHeard: false), client, after: delay + later)
  }

  private mutating func pushArrives(
    _ push: UInt64, _ client: Int, incarnation: UInt64, isHeard: Bool
  ) {
    let delay = choices.draw(.server, in: 1...FaultPlan.quickSnapshot)
    drawArrival(.push, client, push)
    clients[client].pushes[Int(push)].hasArrived = true
    noteArrival(ofPush: push, client, incarnation: incarnation)
    if isMute { return }
    var failure: TransportFailure?
    if isServerDown {
      failure = .serverFault
    } else if isUnsupported {
      failure = .unsupported
    } else if clients[client].isRevoked {
      failure = .unauthorized
    } else {
      failure = isRun(push, client)
    }
    guard isHeard else { return }
    let answer = failure.map { Pushing.fails(push, $0, hasLeft: true) } ?? .isAnswered(push)
    answers(answer, client, incarnation: incarnation, after: delay)
  }

  /// The server takes a push. It may fail even if it runs the push.
  private mutating func isRun(_ push: UInt64, _ client: Int) -> TransportFailure? {
    let fault = strike(faultPlan.answering, client, where: { !$1.isOfRegisters })
    armPlant()
    if configuration.faults != .none { server.waver(&choices, at: now) }
    defer {
      deliverFinished()
      scheduleServer()
    }
    let sent = clients[client].pushes[Int(push)]
    if let most = faultPlan.pushMaximum, sent.push.mutations.count > most {
      checker.result.faults[.smallPushes] += 1
      clients[client].pushes[Int(push)].answer = .tooLarge
      return nil
    }
    let request = sent.request
    switch fault {
    case .rateLimit:
      let wait = choices.pick(.server, [nil, TimeSpan.seconds(-5), .seconds(54), .seconds(3600)])
      return .rateLimited(after: wait)
    case .serverError, .portal:
      if choices.happens(.server, 1, in: 2) { return .serverFault }
      _ = isRun(request, as: push, client)
      return .serverFault
    case .rejectedRequest:
      // Either a proxy rejects the push and the server never hears of it, or the server rejects it
      // and notes that.
      if Server.knowsPushesAgain, choices.happens(.server, 1, in: 2) { return .rejected }
      if server.reject(request, at: now) { return .rejected }
    default: break
    }
    if isTraced { note("server", "push \(push) arrives", about: client) }
    let hasRoom = isRun(request, as: push, client)
    if !hasRoom {
      let wait = server.timeUntilNextPush
      return wait == nil ? .serverFault : .rateLimited(after: wait)
    }
    return fault == .malformedAnswer ? .malformed : nil
  }

  private mutating func isRun(_ request: Server.Push, as push: UInt64, _ client: Int) -> Bool {
    guard let answer = server.push(request, at: now) else { return false }
    noteHistory()
    clients[client].pushes[Int(push)].answer = answer
    return true
  }

  /// Adds the states that a push has led to. One push may make several changes.
  private mutating func noteHistory() {
    guard World.isPartial else { return }
    while Int64(history.count) <= server.position {
      history.append(server.truth(at: Int64(history.count)))
    }
  }

  private mutating func answers(
    _ answer: Pushing, _ client: Int, incarnation: UInt64, after: Int64
  ) {
    var delay = latency() + after
    if isTraced, case .isAnswered(let number) = answer {
      drawDeparture(.pushAnswer, client, number, "push \(number) is answered")
    }
    if isTraced, case .fails(let number, let reason, _) = answer {
      drawDeparture(.pushAnswer, client, number, "push \(number): \(reason.failure)")
    }
    switch clients[client].connection {
    case .open, .refused: break
    case .silent: return drawLoss(of: answer, client)
    }
    let step = Step.pushes(client: client, incarnation: incarnation, answer)
    switch strike(faultPlan.incoming, client, where: { $1 != .repeatedEvents }) {
    case .lostAnswer: return drawLoss(of: answer, client)
    case .repeatedAnswer:
      agenda.add(step, at: now + .milliseconds(delay + choices.draw(.network, in: 0...5000)))
    case .slowNetwork: delay += choices.draw(.network, in: 1...FaultPlan.slowTrip)
    default: break
    }
    agenda.add(step, at: now + .milliseconds(delay))
  }

  private mutating func drawLoss(of answer: Pushing, _ client: Int) {
    switch answer {
    case .arrives: break
    case .isAnswered(let number), .fails(let number, _, _): drawLoss(.pushAnswer, client, number)
    }
  }

  private mutating func schedule(_ pushing: Pushing, _ client: Int, after delay: Int64) {
    agenda.add(
      .pushes(client: client, incarnation: clients[client].incarnation, pushing),
      at: now + .milliseconds(delay))
  }
}

extension PushRequest {
  /// Whether a later push of the same process carries a change of this one again.
  fileprivate func repeats(_ later: PushRequest) -> Bool {
    id.incarnation == later.id.incarnation && client == later.client
      && mutations.contains { item in later.mutations.contains { $0.id == item.id } }
  }
}
