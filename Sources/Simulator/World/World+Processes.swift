internal import SyncProtocols
internal import UpdateMachine

// The devices: their disks, and the processes that begin, end, sleep and wake on them.

extension World {
  // MARK: Disks

  mutating func begin(
    _ write: WriteID, _ saved: Client.Saved, _ step: DiskStep? = nil,
    memory: App.User.Memory? = nil, on client: Int
  ) {
    clients[client].write = Client.Write(
      id: write, saved: saved, step: step, memory: memory ?? clients[client].user.memory)
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
    let succeeds = succeeds && hasSpace(client)
    endWrite(client, succeeds: succeeds)
    if isHandingOver {
      deliveries.append(.writeEnds(client: client, succeeds: succeeds))
    } else {
      feed(client, succeeds ? .written(write) : .writeFailed(write))
    }
    return true
  }

  private mutating func endWrite(_ client: Int, succeeds: Bool) {
    guard let write = clients[client].write else { return }
    clients[client].write = nil
    guard succeeds else { return }
    if let step = write.step {
      clients[client].disk.perform(step, leadingTo: write.saved)
    } else {
      clients[client].disk.write(write.saved)
    }
    clients[client].memory = write.memory
    clients[client].writtenAt = now
    clients[client].isFormOld = false
    if climate.faults.contains(.oldBackup), choices.happens(.weather, 1, in: 4) { backUp(client) }
    mayBackUp(client)
  }

  /// What is on the disk is copied, by somebody who may bring it back.
  private mutating func backUp(_ client: Int) {
    clients[client].backup = Client.Backup(
      disk: clients[client].disk, writtenAt: now, memory: clients[client].memory)
  }

  /// The same where an older outbox may come back.
  mutating func mayBackUp(_ client: Int) {
    guard climate.faults.contains(.oldOutbox), choices.happens(.storage, 1, in: 6) else { return }
    backUp(client)
  }

  func hasSpace(_ client: Int) -> Bool { now >= clients[client].fullUntil }

  mutating func erase(on client: Int) {
    clients[client].backup = nil
    clients[client].disk.erase()
    guard !isHandingOver else { return }
    agenda.add(.isErased(client: client, life: clients[client].life), at: now)
  }

  mutating func isErased(_ client: Int, life: UInt64) -> Bool {
    guard clients[client].isRunning, clients[client].life == life else { return false }
    if postpone(.isErased(client: client, life: life), for: client) { return false }
    feed(client, .erased(succeeded: true))
    return true
  }

  // MARK: Processes

  /// A process begins: the app starts at once, the saved form is read a little later.
  mutating func begin(_ client: Int) {
    clients[client].beginLife(settings: climate.clientSettings)
    mayDamage(client)
    jury.beginLife(of: client)
    beginActing(client)
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
      feed(client, .app(.started(foreground: foreground)))
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
    if !clients[client].body.isLoaded {
      clients[client].user.memory = clients[client].readMemory ?? App.User.blank
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
    clients[client].timers = []
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
    let memory = clients[client].user.memory(of: saved, backup.memory)
    bringBack(backup, client)
    clients[client].memory = memory
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
}
