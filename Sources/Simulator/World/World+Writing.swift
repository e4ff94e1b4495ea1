internal import SyncProtocols
internal import UpdateMachine

// Pushes: what clients send beside the machine's one request, on its way to the server and back; and
// the writes that they wait for.

/// Where a writer's push is, or what else is pending for a writer.
enum Writing: Sendable {
  /// `isHeard`: its client waits for the answer, as far as the network knows.
  case arrives(UInt64, isHeard: Bool)
  case isAnswered(UInt64)
  case fails(UInt64, WritingFailure, hasLeft: Bool)
  case fires(UInt64)
  case isSaved(UInt64, succeeds: Bool)
  case savesAgain
  case userActs
}

/// Why a push is not answered, as plain bits (see ``ReadingFailure``).
enum WritingFailure: Sendable {
  case unsupported
  case other(ReadingFailure)

  var failure: SyncFailure {
    switch self {
    case .unsupported: .unsupported
    case .other(let other): other.failure
    }
  }
}

/// What a writer's client has on its disk besides what its machine wrote. A form that was taken
/// earlier never takes the place of one that was taken later.
struct WriterDisk<Memory: Sendable, Saved: Sendable>: Sendable {
  /// Counts what was taken to be written.
  var count: UInt64 = 0
  /// The number of what is on the disk.
  private var written: UInt64 = 0
  /// Noted with what is on the disk, and with what is being read.
  private(set) var memory: Memory
  var reading: Memory?
  /// What is being written because the writer wants it.
  var saving: (number: UInt64, saved: Saved, memory: Memory)?
  /// Something has changed since.
  var savesAgain = false

  init(_ memory: Memory) { self.memory = memory }

  /// Whether what was taken under a number is to be put on the disk.
  mutating func takes(_ number: UInt64, _ memory: Memory?) -> Bool {
    guard number >= written else { return false }
    written = number
    if let memory { self.memory = memory }
    return true
  }

  /// What was noted earlier is on the disk again.
  mutating func goBack(to memory: Memory) { self.memory = memory }
}

extension World {
  /// After an input: the writer hears of it, too.
  mutating func writeAgain(_ client: Int, after input: Client.Body.Input) {
    guard App.Writer.writes, clients[client].isRunning else { return }
    with(client) { $0.hear(input, &$1, at: $2) }
    judgeWriting(client)
  }

  /// The user of a process that begins will do something. Where replicas are handed over, nobody writes.
  mutating func beginWriting(_ client: Int) {
    guard App.Writer.writes, !isHandingOver else { return }
    clients[client].writer.begin()
    clients[client].writerDisk.reading =
      clients[client].disk.saved == nil ? nil : clients[client].writerDisk.memory
    let pause = choices.draw(.users, in: 1...5000)
    schedule(.userActs, client, after: pause)
  }

  /// After the faults: the user looks at what he has changed.
  mutating func tidy(_ client: Int) {
    guard App.Writer.writes, clients[client].isRunning, !isHandingOver else { return }
    with(client) { $0.tidy(&$1, at: $2) }
    judgeWriting(client)
  }

  func hasWritten(_ client: Int) -> Bool {
    !App.Writer.writes || clients[client].writer.isLevel(clients[client].replica)
  }

  mutating func writes(_ client: Int, life: UInt64, _ writing: Writing) -> Bool {
    if case .arrives(let push, let isHeard) = writing {
      arrives(push, client, life: life, isHeard: isHeard)
      return true
    }
    guard clients[client].isRunning, clients[client].life == life else { return false }
    if postpone(.writes(client: client, life: life, writing), for: client) { return false }
    guard reaches(client, writing) else { return false }
    judgeWriting(client)
    return true
  }

  private mutating func reaches(_ client: Int, _ writing: Writing) -> Bool {
    switch writing {
    case .isAnswered(let push):
      if isTraced { note(who(client), "push \(push) is answered", about: client) }
      with(client) { $0.take(push, &$1, at: $2) }
    case .fails(let push, let reason, let hasLeft):
      let failure = reason.failure
      if isTraced { note(who(client), "push \(push) fails, \(failure)", about: client) }
      with(client) { $0.fail(push, failure, hasLeft: hasLeft, &$1, at: $2) }
    case .fires(let timer): with(client) { $0.fire(timer, &$1, at: $2) }
    case .isSaved(let number, let succeeds):
      return isSaved(number, succeeds: succeeds, client)
    case .savesAgain: save(client)
    case .userActs:
      guard phase == .stormy else { return false }
      let pause = choices.draw(.users, in: 1...climate.workloadGap)
      schedule(.userActs, client, after: pause)
      var (writer, replica) = (clients[client].writer, clients[client].replica)
      let effects = writer.act(&replica, at: now, &choices)
      (clients[client].writer, clients[client].replica) = (writer, replica)
      if isTraced { note(who(client), "acts: \(writer.words(replica))", about: client) }
      perform(effects, by: client)
    case .arrives: break
    }
    return true
  }

  /// Takes the writer and the replica out, for both are changed at once.
  private mutating func with(
    _ client: Int,
    _ body: (inout App.Writer, inout App.Writer.Body, Moment) -> App.Writer.Effects
  ) {
    var (writer, replica) = (clients[client].writer, clients[client].replica)
    let effects = body(&writer, &replica, now)
    (clients[client].writer, clients[client].replica) = (writer, replica)
    perform(effects, by: client)
  }

  private mutating func perform(_ effects: App.Writer.Effects, by client: Int) {
    if effects.saves { save(client) }
    for push in effects.send {
      let words = isTraced ? clients[client].writer.words(ofPush: push) : ""
      if isTraced { note(who(client), words, about: client) }
      if let objection = clients[client].writer.objection(
        toSending: push, disk: clients[client].disk.saved)
      {
        report(objection, client)
      }
      depart(push, client)
    }
    if let arm = effects.arm {
      let range = arm.range.earliest.milliseconds...arm.range.latest.milliseconds
      let moment = Moment(milliseconds: choices.draw(.timers, in: range))
      let life = clients[client].life
      agenda.add(.writes(client: client, life: life, .fires(arm.timer)), at: max(moment, now))
    }
    if let input = effects.next { feed(client, input) }
  }

  // MARK: Ways

  private mutating func depart(_ push: UInt64, _ client: Int) {
    var delay = latency()
    switch clients[client].connection {
    case .open: break
    case .refused:
      return schedule(.fails(push, .other(.unreachable), hasLeft: false), client, after: delay)
    case .silent: return
    }
    var isHeard = true
    switch strike(climate.outgoing, client) {
    case .lostRequest:
      if choices.happens(.network, 1, in: 2) { return }
      return schedule(.fails(push, .other(.unreachable), hasLeft: true), client, after: delay)
    case .halfOpen: isHeard = false
    case .refusedConnection:
      return schedule(.fails(push, .other(.unreachable), hasLeft: false), client, after: delay)
    case .sourceTimeout:
      schedule(.fails(push, .other(.timedOut), hasLeft: true), client, after: delay)
      delay += choices.draw(.network, in: 1...600_000)
      isHeard = false
    case .slowNetwork: delay += choices.draw(.network, in: 1...Climate.slowTrip)
    default: break
    }
    schedule(.arrives(push, isHeard: isHeard), client, after: delay)
    // A proxy that tries once more, by another way. It must not where that is another change (RFC 9110,
    // 9.2.2).
    guard Server.knowsPushesAgain, climate.faults.contains(.repeatedAnswer),
      choices.happens(.network, 1, in: 6)
    else { return }
    let later = choices.draw(.network, in: 1...600_000)
    schedule(.arrives(push, isHeard: false), client, after: delay + later)
  }

  private mutating func arrives(_ push: UInt64, _ client: Int, life: UInt64, isHeard: Bool) {
    let delay = choices.draw(.server, in: 1...Climate.quickSnapshot)
    if isMute { return }
    var failure: WritingFailure?
    if isServerDown {
      failure = .other(.serverFault)
    } else if isUnsupported {
      failure = .unsupported
    } else if clients[client].isRevoked {
      failure = .other(.unauthorized)
    } else {
      failure = isRun(push, client)
    }
    guard isHeard else { return }
    let answer = failure.map { Writing.fails(push, $0, hasLeft: true) } ?? .isAnswered(push)
    answers(answer, client, life: life, after: delay)
  }

  /// The server takes a push, and perhaps fails all the same.
  private mutating func isRun(_ push: UInt64, _ client: Int) -> WritingFailure? {
    let fault = strike(climate.answering, client, where: { !$1.isOfRegisters })
    armPlant()
    if configuration.faults != .none { server.waver(&choices, at: now) }
    defer {
      deliverFinished()
      scheduleServer()
    }
    switch fault {
    case .rateLimit:
      let wait = choices.pick(.server, [nil, TimeSpan.seconds(-5), .seconds(54), .seconds(3600)])
      return .other(.rateLimited(after: wait))
    case .serverError, .portal:
      if choices.happens(.server, 1, in: 2) { return .other(.serverFault) }
      _ = isRun(clients[client].writer.request(push), as: push, client)
      return .other(.serverFault)
    case .rejectedRequest:
      // By somebody before the server, who hears nothing of it; or by the server, which notes it.
      if Server.knowsPushesAgain, choices.happens(.server, 1, in: 2) {
        return .other(.rejected)
      }
      if server.reject(clients[client].writer.request(push), at: now) { return .other(.rejected) }
    default: break
    }
    if isTraced { note("server", "push \(push) arrives", about: client) }
    let hasRoom = isRun(clients[client].writer.request(push), as: push, client)
    if !hasRoom { return .other(.serverFault) }
    return fault == .malformedAnswer ? .other(.malformed) : nil
  }

  private mutating func isRun(_ request: PushRequest, as push: UInt64, _ client: Int) -> Bool {
    guard let answer = server.push(request, at: now) else { return false }
    clients[client].writer.note(answer, to: push)
    return true
  }

  private mutating func answers(_ answer: Writing, _ client: Int, life: UInt64, after: Int64) {
    var delay = latency() + after
    switch clients[client].connection {
    case .open, .refused: break
    case .silent: return
    }
    let step = Step.writes(client: client, life: life, answer)
    switch strike(climate.incoming, client, where: { $1 != .repeatedEvents }) {
    case .lostAnswer: return
    case .repeatedAnswer:
      agenda.add(step, at: now + .milliseconds(delay + choices.draw(.network, in: 0...5000)))
    case .slowNetwork: delay += choices.draw(.network, in: 1...Climate.slowTrip)
    default: break
    }
    agenda.add(step, at: now + .milliseconds(delay))
  }

  private mutating func schedule(_ writing: Writing, _ client: Int, after delay: Int64) {
    agenda.add(
      .writes(client: client, life: clients[client].life, writing), at: now + .milliseconds(delay))
  }

  // MARK: Disks

  /// Writes the replica as it is now, unless something is being written.
  private mutating func save(_ client: Int) {
    guard clients[client].writerDisk.saving == nil, clients[client].write == nil else {
      clients[client].writerDisk.savesAgain = true
      return
    }
    clients[client].writerDisk.savesAgain = false
    guard let saved = clients[client].replica.saved else { return }
    clients[client].writerDisk.count += 1
    let number = clients[client].writerDisk.count
    clients[client].writerDisk.saving = (number, saved, clients[client].writer.memory)
    var delay = choices.draw(.disks, in: 1...Climate.quickWrite)
    var succeeds = true
    switch strike(climate.writing, client) {
    case .slowWrite: delay = choices.draw(.disks, in: 1...Climate.slowWrite)
    case .failedWrite: succeeds = false
    default: break
    }
    schedule(.isSaved(number, succeeds: succeeds), client, after: delay)
    mayCrash(client, within: delay)
  }

  private mutating func isSaved(_ number: UInt64, succeeds: Bool, _ client: Int) -> Bool {
    guard let saving = clients[client].writerDisk.saving, saving.number == number else {
      return false
    }
    let succeeds = succeeds && hasSpace(client)
    endSaving(client, succeeds: succeeds)
    guard succeeds else {
      schedule(.savesAgain, client, after: 2000)
      return true
    }
    noteWritten(saving.saved, client)
    return true
  }

  /// What a writer has wanted written has been, or has not.
  mutating func endSaving(_ client: Int, succeeds: Bool) {
    guard let saving = clients[client].writerDisk.saving else { return }
    clients[client].writerDisk.saving = nil
    guard succeeds, clients[client].writerDisk.takes(saving.number, saving.memory) else { return }
    clients[client].disk.write(saving.saved)
    clients[client].writtenAt = now
    clients[client].isFormOld = false
    mayBackUp(client)
  }

  /// A form of the replica is on the disk, whoever wanted it there.
  mutating func noteWritten(_ saved: Client.Saved?, _ client: Int) {
    guard App.Writer.writes, clients[client].isRunning else { return }
    if let saved { with(client) { $0.note(written: saved, &$1, at: $2) } }
    if clients[client].writerDisk.savesAgain { save(client) }
  }

  // MARK: Oracles

  private mutating func judgeWriting(_ client: Int) {
    let replica = clients[client].replica
    jury.result.checks += 1
    clients[client].writer.fold(replica, into: &jury.result.hash)
    if let objection = clients[client].writer.objection(
      to: replica, server.truth, disk: clients[client].disk.saved)
    {
      report(objection, client)
    }
  }

  private mutating func report(_ objection: WriterObjection, _ client: Int) {
    jury.report(objection.oracle, client, now, objection.expected, objection.found)
  }
}
