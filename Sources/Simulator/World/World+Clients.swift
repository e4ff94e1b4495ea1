internal import SyncProtocols
internal import UpdateMachine

// The devices: what reaches a replica, and what becomes of the effects that it returns. This is the
// driver's work, done by the world.

extension World {
  /// Gives one input to a client's replica, has the jury look, and performs the effects.
  mutating func feed(_ client: Int, _ input: Client.Body.Input) {
    guard !jury.hasFound, clients[client].isRunning else { return }
    // Taken out of the array, for each read in it would copy all that a client is.
    var replica = clients[client].replica
    let before = jury.look(before: input, client, replica, server, at: now)
    let effects = replica.handle(input, at: now)
    jury.judge(input, before, effects, client, replica, server, at: now)
    if isTraced { noteInput(client, input, from: clients[client].replica, to: replica) }
    clients[client].replica = replica
    if isTraced { noteTrace(client, input, effects) }
    perform(effects, by: client)
    judgeWord(of: client, replica)
    lookAgain(client)
    writeAgain(client, after: input)
  }

  private mutating func perform(_ effects: Client.Body.Effects, by client: Int) {
    if let request = effects.cancel { cancel(client, request) }
    if effects.disarm != nil { clients[client].timer = nil }
    if let queue = effects.release { release(queue, by: client) }
    if effects.erase { erase(on: client) }
    if let write = effects.persist { begin(write, clients[client].replica.saved, on: client) }
    switch effects.request {
    case .register(let request): send(client, .register, request)
    case .poll(let request, let finger, let waits):
      send(client, .poll(finger, waits: waits), request)
    case nil: break
    }
    if let arm = effects.arm {
      clients[client].timer = arm.timer
      let range = arm.range.earliest.milliseconds...arm.range.latest.milliseconds
      agenda.add(
        .timerFires(client: client, life: clients[client].life, arm.timer),
        at: Moment(milliseconds: choices.draw(.timers, in: range)))
    }
  }

  /// Best effort: a client without a connection releases nothing.
  mutating func release(_ queue: Place.Log, by client: Int) {
    guard let number = server.index(of: queue), clients[client].connection == .open else { return }
    agenda.add(.releaseArrives(queue: number), at: now + .milliseconds(latency()))
  }

  /// Something is said to a client's app.
  mutating func signal(_ client: Int, _ signal: AppSignal) {
    guard !isHandingOver else { return deliveries.append(.signal(client: client, signal)) }
    noteWord(client, signal)
    switch signal {
    case .started(let foreground): feed(client, .started(foreground: foreground))
    case .stopped: feed(client, .stopped)
    case .loggedOut: feed(client, .loggedOut)
    case .foregrounded: feed(client, .foregrounded)
    case .backgrounded: feed(client, .backgrounded)
    case .networkChanged: feed(client, .networkChanged)
    case .retryRequested: feed(client, .retryRequested)
    case .credentialsChanged: feed(client, .credentialsChanged)
    }
  }

  // MARK: Disks

  mutating func begin(
    _ write: WriteID, _ saved: Client.Saved?, _ step: DiskStep? = nil, on client: Int
  ) {
    var taken = Client.Write(id: write, saved: saved, step: step)
    if App.Writer.writes {
      clients[client].writerDisk.count += 1
      taken.number = clients[client].writerDisk.count
      taken.memory = clients[client].writer.memory
    }
    clients[client].write = taken
    clients[client].erasesAfterWrite = false
    var delay = choices.draw(.disks, in: 1...Climate.quickWrite)
    var succeeds = true
    switch strike(climate.writing, client) {
    case .slowWrite: delay = choices.draw(.disks, in: 1...Climate.slowWrite)
    case .failedWrite: succeeds = false
    default: break
    }
    agenda.add(
      .writeEnds(client: client, life: clients[client].life, write, succeeds: succeeds),
      at: now + .milliseconds(delay))
    mayCrash(client, within: delay)
  }

  /// A write has begun that takes so long.
  mutating func mayCrash(_ client: Int, within delay: Int64) {
    guard climate.faults.contains(.crashAtWrite), choices.happens(.storage, 1, in: 8) else {
      return
    }
    jury.result.faults[.crashAtWrite] += 1
    if isTraced { note("fault", "crash-at-write, \(who(client))", about: client) }
    let span = choices.draw(.storage, in: 0...(delay + 5))
    agenda.add(.happens(client: client, .crashes), at: now + .milliseconds(span))
  }

  mutating func writeEnds(
    _ client: Int, life: UInt64, _ write: WriteID, succeeds: Bool
  ) -> Bool {
    let step = Step.writeEnds(client: client, life: life, write, succeeds: succeeds)
    if postpone(step, for: client) { return false }
    guard clients[client].life == life, clients[client].write?.id == write else { return false }
    let saved = clients[client].write?.saved
    let succeeds = succeeds && hasSpace(client)
    endWrite(client, succeeds: succeeds)
    if isHandingOver {
      deliveries.append(.writeEnds(client: client, succeeds: succeeds))
    } else {
      feed(client, succeeds ? .written(write) : .writeFailed(write))
      noteWritten(succeeds ? saved : nil, client)
    }
    return true
  }

  private mutating func endWrite(_ client: Int, succeeds: Bool) {
    guard let write = clients[client].write else { return }
    if succeeds, let saved = write.saved,
      clients[client].writerDisk.takes(write.number, write.memory)
    {
      if let step = write.step {
        clients[client].disk.perform(step, leadingTo: saved)
      } else {
        clients[client].disk.write(saved)
      }
      clients[client].writtenAt = now
      clients[client].isFormOld = false
      if climate.faults.contains(.oldBackup), choices.happens(.weather, 1, in: 4) {
        backUp(client)
      }
      mayBackUp(client)
    }
    if clients[client].erasesAfterWrite { clients[client].disk.erase() }
    clients[client].erasesAfterWrite = false
    clients[client].write = nil
  }

  /// What is on the disk is copied, by somebody who may bring it back.
  private mutating func backUp(_ client: Int) {
    clients[client].backup = Client.Backup(
      disk: clients[client].disk, writtenAt: now, memory: clients[client].writerDisk.memory)
  }

  /// The same where an older outbox may come back.
  mutating func mayBackUp(_ client: Int) {
    guard climate.faults.contains(.oldOutbox), choices.happens(.storage, 1, in: 6) else { return }
    backUp(client)
  }

  func hasSpace(_ client: Int) -> Bool { now >= clients[client].fullUntil }

  mutating func erase(on client: Int) {
    clients[client].backup = nil
    clients[client].writerDisk.saving = nil
    if clients[client].write == nil {
      clients[client].disk.erase()
    } else {
      clients[client].erasesAfterWrite = true
    }
  }

  // MARK: Processes

  /// A process begins: the app starts at once, the saved form is read a little later.
  mutating func begin(_ client: Int) {
    clients[client].beginLife(settings: climate.settings)
    mayDamage(client)
    jury.beginLife(of: client)
    beginReading(client)
    beginWriting(client)
    if isTraced { note(who(client), "begins life \(clients[client].life)", about: client) }
    var reading = choices.draw(.disks, in: 0...30)
    if climate.faults.contains(.slowLoad), choices.happens(.weather, 1, in: 4) {
      jury.result.faults[.slowLoad] += 1
      reading = choices.draw(.weather, in: 31...Climate.slowWrite)
      tryPatience(of: client, within: reading)
    }
    agenda.add(.happens(client: client, .loads), at: now + .milliseconds(reading))
    let foreground = !choices.happens(.users, 1, in: 8)
    clients[client].word = Word(wantsSync: true, isInFront: foreground)
    clients[client].isReading = true
    clients[client].reading = read(client)
    if isHandingOver {
      let life = clients[client].life
      deliveries.append(.begins(client: client, life: life, foreground: foreground))
    } else {
      feed(client, .started(foreground: foreground))
    }
  }

  /// What is on the disk may be of no use any more to the process that begins.
  private mutating func mayDamage(_ client: Int) {
    guard climate.faults.contains(.damagedForm), clients[client].disk.saved != nil,
      choices.happens(.storage, 1, in: 4)
    else { return }
    jury.result.faults[.damagedForm] += 1
    if isTraced { note("fault", "damaged-form, \(who(client))", about: client) }
    clients[client].disk.damage(&choices)
    clients[client].backup = nil
  }

  /// Nothing is to be seen yet: the user may leave, and the app may be stopped, before there is.
  private mutating func tryPatience(of client: Int, within span: Int64) {
    if choices.happens(.weather, 1, in: 2) {
      let leaving = choices.draw(.weather, in: 1...span)
      agenda.add(.happens(client: client, .backgrounds), at: now + .milliseconds(leaving))
      agenda.add(.happens(client: client, .foregrounds), at: now + .milliseconds(leaving + 60_000))
    }
    if choices.happens(.weather, 1, in: 2) {
      let stop = choices.draw(.weather, in: 1...span)
      agenda.add(.happens(client: client, .isStopped), at: now + .milliseconds(stop))
      agenda.add(.happens(client: client, .isStartedAgain), at: now + .milliseconds(stop + 10_000))
    }
  }

  /// The saved form is read; its age is what the wall clock says.
  mutating func load(_ client: Int) {
    var age: TimeSpan? = now - clients[client].writtenAt
    if climate.faults.contains(.clockJump), choices.happens(.faults, 1, in: 2) {
      jury.result.faults[.clockJump] += 1
      if isTraced { note("fault", "clock-jump, \(who(client))", about: client) }
      age = choices.pick(.faults, [nil, .zero, .seconds(700), .minutes(60 * 24 * 365)])
      // One that is not known makes nobody think that a log is gone.
      if age != nil { jury.noteWrongAge(of: client) }
    }
    // A newer life than the one that wrote it may have kept the log alive.
    if clients[client].isFormOld { jury.noteWrongAge(of: client) }
    let saved = clients[client].reading
    clients[client].isReading = false
    clients[client].reading = nil
    // What is read after a log-out is wanted no more.
    if App.Writer.writes, !clients[client].replica.isLoaded {
      clients[client].writer.memory = clients[client].writerDisk.reading ?? App.Writer.blank
    }
    if isHandingOver {
      deliveries.append(.loads(client: client, saved, age: age))
    } else {
      feed(client, .loaded(saved, age: age))
    }
  }

  /// What is on the disk, as a new process reads it.
  private mutating func read(_ client: Int) -> Client.Saved? {
    let (saved, objection) = clients[client].disk.read()
    if let objection {
      jury.report(.durability, client, now, objection.expected, objection.found)
    }
    return saved
  }

  /// A process ends without a word. A write under way has happened, or it has not.
  mutating func crash(_ client: Int) {
    let happened =
      clients[client].write != nil && choices.happens(.disks, 1, in: 2) && hasSpace(client)
    let torn = happened ? nil : clients[client].write
    endWrite(client, succeeds: happened)
    if let step = torn?.step {
      clients[client].disk.tear(step, &choices)
    } else if let saved = torn?.saved {
      clients[client].disk.tear(saved, &choices)
    }
    if App.Writer.writes {
      let isSaved =
        clients[client].writerDisk.saving != nil && choices.happens(.disks, 1, in: 2)
        && hasSpace(client)
      let torn = isSaved ? nil : clients[client].writerDisk.saving?.saved
      endSaving(client, succeeds: isSaved)
      if let torn { clients[client].disk.tear(torn, &choices) }
      clients[client].writerDisk.savesAgain = false
    }
    if climate.faults.contains(.oldBackup), let backup = clients[client].backup,
      choices.happens(.weather, 1, in: 3)
    {
      jury.result.faults[.oldBackup] += 1
      bringBack(backup, client)
      if isTraced { note("fault", "old-backup, \(who(client))") }
    }
    mayComeBack(client)
    clients[client].isRunning = false
    if isHandingOver { deliveries.append(.crashes(client: client)) }
    clients[client].timer = nil
    clients[client].asleepUntil = now
    if isTraced { note(who(client), "crashes", about: client) }
  }

  /// An older saved form takes the place of what is on the disk, with the outbox that there was then.
  private mutating func mayComeBack(_ client: Int) {
    guard climate.faults.contains(.oldOutbox), let backup = clients[client].backup,
      let saved = backup.disk.saved, choices.happens(.storage, 1, in: 3)
    else { return }
    jury.result.faults[.oldOutbox] += 1
    if isTraced { note("fault", "old-outbox, \(who(client))", about: client) }
    let memory = clients[client].writer.memory(of: saved, backup.memory)
    bringBack(backup, client)
    clients[client].writerDisk.goBack(to: memory)
    // What comes back twice is as it came back the first time, and no better known.
    clients[client].backup?.memory = memory
  }

  private mutating func bringBack(_ backup: Client.Backup, _ client: Int) {
    clients[client].disk = backup.disk
    clients[client].writtenAt = backup.writtenAt
    clients[client].isFormOld = true
  }

  /// Keeps a step for a client that is asleep until it wakes; `true` if it did.
  mutating func postpone(_ step: Step, for client: Int) -> Bool {
    guard now < clients[client].asleepUntil else { return false }
    clients[client].inbox.append(step)
    return true
  }

  /// A device wakes: all that came meanwhile reaches it at once.
  mutating func wake(_ client: Int) {
    jury.noteSleep(of: client, for: now - clients[client].asleepSince)
    clients[client].asleepUntil = now
    let inbox = clients[client].inbox
    clients[client].inbox.removeAll(keepingCapacity: true)
    for step in inbox { agenda.add(step, at: now) }
  }

  mutating func timerFires(_ client: Int, life: UInt64, _ timer: TimerID) -> Bool {
    guard clients[client].life == life, clients[client].timer == timer else { return false }
    if postpone(.timerFires(client: client, life: life, timer), for: client) { return false }
    clients[client].timer = nil
    feed(client, .fired(timer))
    return true
  }

  func who(_ client: Int) -> String { "client \(client)" }
}
