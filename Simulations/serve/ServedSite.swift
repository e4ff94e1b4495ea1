internal import SyncProtocols
package import UpdateMachine

/// The server with its faults and the record of the conversation, as a value. All that a driver
/// does is to pass it requests and the time, and to send what it answers.
package struct ServedSite: Sendable {
  /// What the driver does with a request.
  package enum Outcome: Sendable {
    /// It sends this answer, late by so much.
    case answered(APIAnswer, late: TimeSpan)
    /// It ends the connection. The client gets nothing.
    case lost(late: TimeSpan)
    /// It keeps the request until ``takeFinished(at:)`` has its outcome.
    case waits(UInt64)
  }

  /// What a driver may be asked to do by people at the page, in the server's words.
  package enum Command: Sendable {
    case setFaults(FaultSwitches)
    case expireAll
    case restart
    case send(user: Int64, MessageLocation, String)
  }

  private struct Held: Sendable {
    var who: String
    var what: String
    var losesAnswer: Bool
  }

  package private(set) var server: APIServer
  package private(set) var faults: FaultSwitches
  private(set) var transcript: Transcript
  private var chance: SplitMix
  private var held: [UInt64: Held] = [:]
  private var nextExpiry: Moment?

  package init(
    users: Int = 4, faults: FaultSwitches = FaultSwitches(), seed: UInt64 = 1, at now: Moment,
    wall: WallTime
  ) {
    self.faults = faults
    chance = SplitMix(seed)
    server = APIServer(
      users: users, lifetime: faults.ownLifetime, seed: seed &+ 1, at: now, wall: wall)
    transcript = Transcript(secrets: server.realm.users.flatMap { [$0.key, $0.password] })
    server.setRate(faults.rate)
    if faults.expireEvery > 0 { nextExpiry = now + .seconds(faults.expireEvery) }
  }

  // MARK: Requests

  package mutating func handle(_ request: APIRequest, at now: Moment) -> Outcome {
    advance(to: now)
    let who = name(of: request)
    let what = ServedSite.words(request)
    let late = TimeSpan.milliseconds(faults.latency)
    let fate = faults.fate(&chance)
    switch fate {
    case .losesRequest:
      transcript.add("fault", "lost request, \(who): \(what)", at: now)
      return .lost(late: late)
    case .fails(let answer):
      transcript.add("fault", "error, \(who): \(what) → \(answer.note)", at: now)
      return .answered(answer, late: late)
    case .none, .losesAnswer: break
    }
    let losesAnswer = if case .losesAnswer = fate { true } else { false }
    switch server.handle(request, at: now) {
    case .waits(let waiter):
      held[waiter] = Held(who: who, what: what, losesAnswer: losesAnswer)
      transcript.add(who, "\(what) → waits", at: now)
      tell(at: now)
      return .waits(waiter)
    case .answered(let answer):
      tell(at: now)
      return outcome(answer, who, what, losesAnswer, at: now)
    }
  }

  private mutating func outcome(
    _ answer: APIAnswer, _ who: String, _ what: String, _ losesAnswer: Bool, at now: Moment
  ) -> Outcome {
    let late = TimeSpan.milliseconds(faults.latency)
    transcript.add(who, "\(what) → \(answer.note)", at: now)
    guard losesAnswer else { return .answered(answer, late: late) }
    transcript.add("fault", "lost answer, \(who): \(what)", at: now)
    return .lost(late: late)
  }

  /// Returns and removes the outcomes of requests that waited.
  package mutating func takeFinished(at now: Moment) -> [(waiter: UInt64, outcome: Outcome)] {
    server.takeFinished().map { end in
      let held = held.removeValue(forKey: end.waiter)
      let outcome = outcome(
        end.answer, held?.who ?? "nobody", held?.what ?? "poll", held?.losesAnswer ?? false, at: now
      )
      return (end.waiter, outcome)
    }
  }

  /// A client that waited has gone away.
  package mutating func abandon(waiter: UInt64, at now: Moment) {
    server.abandon(waiter: waiter)
    guard let held = held.removeValue(forKey: waiter) else { return }
    transcript.add(held.who, "\(held.what) → the client went away", at: now)
  }

  /// Does what is due without a request.
  package mutating func advance(to now: Moment) {
    server.advance(to: now)
    if let due = nextExpiry, due <= now {
      nextExpiry = now + .seconds(faults.expireEvery)
      server.expireAll(at: now, why: "as every \(faults.expireEvery) s")
    }
    tell(at: now)
  }

  // MARK: People at the page

  package mutating func perform(_ command: Command, at now: Moment) {
    advance(to: now)
    switch command {
    case .setFaults(let new):
      if new.expireEvery != faults.expireEvery {
        nextExpiry = new.expireEvery > 0 ? now + .seconds(new.expireEvery) : nil
      }
      if new.lifetime != faults.lifetime { server.setLifetime(new.ownLifetime) }
      if new.rate != faults.rate { server.setRate(new.rate) }
      for one in FaultSwitches.all where new[keyPath: one.place] != faults[keyPath: one.place] {
        transcript.add("page", "sets \(one.name) to \(new[keyPath: one.place])", at: now)
      }
      faults = new
    case .expireAll: server.expireAll(at: now, why: "the page asked for it")
    case .restart: server.restart(at: now, why: "the page asked for it")
    case .send(let id, let place, let text):
      guard let user = server.realm.user(id) else { return }
      _ = server.post(text, from: user, to: place, isRead: true, program: "website", at: now)
    }
    tell(at: now)
  }

  // MARK: Lines

  package var lineCount: Int64 { transcript.count }

  package func lines(after number: Int64) -> [String] { Array(transcript.lines(after: number)) }

  private mutating func tell(at now: Moment) {
    for line in server.takeTold() { transcript.add("server", line, at: now) }
  }

  /// Who asks. Only a right key makes a user.
  private func name(of request: APIRequest) -> String {
    guard case .basic(let email, let key) = request.credentials,
      let user = server.realm.user(withEmail: email), user.key == key
    else { return "nobody" }
    return user.name
  }

  /// The request in a few words. Its parameters may be secrets, and are left out.
  private static func words(_ request: APIRequest) -> String {
    switch (request.method, request.path) {
    case ("POST", ["register"]): return "register"
    case ("GET", ["events"]):
      let place = "\(request.text("queue_id") ?? "?"):\(request.text("last_event_id") ?? "?")"
      return "poll from \(place)" + (request.text("dont_block") == "true" ? ", quick" : "")
    case ("DELETE", ["events"]): return "release \(request.text("queue_id") ?? "?")"
    case ("GET", ["messages"]):
      let (before, after) = (request.text("num_before") ?? "0", request.text("num_after") ?? "0")
      return "page at \(request.text("anchor") ?? "?"), -\(before) +\(after)"
    case ("POST", ["messages"]): return "send"
    default: return "\(request.method) /\(request.path.joined(separator: "/"))"
    }
  }
}
