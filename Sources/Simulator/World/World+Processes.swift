internal import SyncProtocols
internal import UpdateMachine

// The devices: their disks, and the processes on them, which begin, end, sleep and wake.

extension World {
  // MARK: Disks

  mutating func begin(
    _ write: WriteID, _ saved: Client.Saved, _ step: DiskStep? = nil,
    memory: App.User.Memory? = nil, after wait: TimeSpan = .zero, on client: Int
  ) {
    clients[client].write = Client.Write(
      id: write, saved: saved, step: step, memory: memory ?? clients[client].user.memory,
      wait: wait)
    var delay = choices.draw(.disks, in: 1...FaultPlan.quickWrite)
    var succeeds = true
    switch strike(faultPlan.writing, client) {
    case .slowWrite: delay = choices.draw(.disks, in: 1...FaultPlan.slowWrite)
    case .failedWrite: succeeds = false
    default: break
    }
    agenda.add(
      .writeEnds(
        client: client, incarnation: clients[client].incarnation, write, succeeds: succeeds),
      at: now + .milliseconds(delay))
    mayCrash(client, within: delay)
  }

  /// A write has begun that takes this long. The process may crash meanwhile.
  mutating func mayCrash(_ client: Int, within delay: Int64) {
    guard faultPlan.faults.contains(.crashAtWrite), choices.happens(.storage, 1, in: 8) else {
      return
    }
    checker.result.faults[.crashAtWrite] += 1
    if isTraced { note("fault", "crash-at-write, \(who(client))", about: client) }
    let span = choices.draw(.storage, in: 0...(delay + 5))
    agenda.add(.happens(client: client, .crashes), at: now + .milliseconds(span))
  }

  mutating func writeEnds(
    _ client: Int, incarnation: UInt64, _ write: WriteID, succeeds: Bool
  ) -> Bool {
    let step = Step.writeEnds(client: client, incarnation: incarnation, write, succeeds: succeeds)
    if postpone(step, for: client) { return false }
    guard clients[client].incarnation == incarnation, clients[client].write?.id == write else {
      return false
    }
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
      if clients[client].mustSetAside { clients[client].disk.setAside() }
      clients[client].mustSetAside = false
      clients[client].disk.write(write.saved)
    }
    clients[client].memory = write.memory
    clients[client].writtenAt = now - write.wait
    clients[client].isFormOld = false
    if faultPlan.faults.contains(.oldBackup), choices.happens(.weather, 1, in: 4) { backUp(client) }
    mayBackUp(client)
  }

  /// Copies what is on the disk; the copy may come back later.
  private mutating func backUp(_ client: Int) {
    clients[client].backup = Client.Backup(
      disk: clients[client].disk, writtenAt: now, memory: clients[client].memory)
  }

  /// Makes such a copy now and then, if an older outbox may come back.
  mutating func mayBackUp(_ client: Int) {
    guard faultPlan.faults.contains(.oldOutbox), choices.happens(.storage, 1, in: 6) else { return }
    backUp(client)
  }

  func hasSpace(_ client: Int) -> Bool { now >= clients[client].fullUntil }

  mutating func erase(on client: Int) {
    clients[client].backup = nil
    clients[client].disk.erase()
    guard !isHandingOver else { return }
    agenda.add(.isErased(client: client, incarnation: clients[client].incarnation), at: now)
  }

  mutating func isErased(_ client: Int, incarnation: UInt64) -> Bool {
    guard clients[client].isRunning, clients[client].incarnation == incarnation else {
      return false
    }
    if postpone(.isErased(client: client, incarnation: incarnation), for: client) { return false }
    feed(client, .erased(succeeded: true))
    return true
  }

  // MARK: Processes

  /// Begins a process. The app starts at once; the saved form is read a little later.
  mutating func begin(_ client: Int) {
    clients[client].beginIncarnation(settings: faultPlan.clientSettings(of: client))
    situations?.begins(client)
    mayDamage(client)
    mayUpdate(client)
    checker.beginIncarnation(of: client)
    beginActing(client)
    if isTraced {
      note(
        who(client), "begins incarnation \(clients[client].incarnation)", about: client,
        state: .status(clients[client].body.status.code))
    }
    var reading = choices.draw(.disks, in: 0...30)
    if faultPlan.faults.contains(.slowLoad), choices.happens(.weather, 1, in: 4) {
      checker.result.faults[.slowLoad] += 1
      reading = choices.draw(.weather, in: 31...FaultPlan.slowWrite)
      tryPatience(of: client, within: reading)
    }
    clients[client].loadDelay = reading
    let foreground = !choices.happens(.users, 1, in: 8)
    clients[client].word = Word(wantsSync: true, isInFront: foreground)
    mayLeaveRows(client)
    if isHandingOver {
      let incarnation = clients[client].incarnation
      deliveries.append(.begins(client: client, incarnation: incarnation, foreground: foreground))
    } else {
      feed(client, .app(.started(foreground: foreground)))
    }
  }

  /// May make the form on the disk unreadable for the new process.
  private mutating func mayDamage(_ client: Int) {
    guard faultPlan.faults.contains(.damagedForm), clients[client].disk.saved != nil,
      choices.happens(.storage, 1, in: 4)
    else { return }
    checker.result.faults[.damagedForm] += 1
    if isTraced { note("fault", "damaged-form, \(who(client))", about: client) }
    clients[client].disk.damage(&choices)
    clients[client].backup = nil
  }

  /// The new process may be of a newer version of the app. Then the server gives it the model
  /// again, and what its user changed must not be lost.
  private mutating func mayUpdate(_ client: Int) {
    clients[client].isUpdated = false
    guard faultPlan.faults.contains(.appUpdate), clients[client].disk.saved?.outbox != nil,
      choices.happens(.updates, 1, in: 4)
    else { return }
    checker.result.faults[.appUpdate] += 1
    if isTraced { note("fault", "app-update, \(who(client))", about: client) }
    clients[client].isUpdated = true
  }

  /// While nothing is shown yet, the user may leave, or the app may be stopped.
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

  /// The saved form has been read. Its age is what the wall clock says.
  mutating func load(_ client: Int) {
    guard clients[client].isReading else { return }
    if failsToRead(client) {
      clients[client].isReading = false
      clients[client].reading = nil
      clients[client].mustSetAside = true
      if isHandingOver { return deliveries.append(.loadFails(client: client)) }
      return feed(client, .loadFailed(.failed))
    }
    var age: TimeSpan? = now - clients[client].writtenAt
    if faultPlan.faults.contains(.clockJump), choices.happens(.faults, 1, in: 2) {
      checker.result.faults[.clockJump] += 1
      if isTraced { note("fault", "clock-jump, \(who(client))", about: client) }
      age = choices.pick(.faults, [nil, .zero, .seconds(700), .minutes(60 * 24 * 365)])
      // An unknown age does not suggest that a log is gone.
      if age != nil { checker.noteWrongAge(of: client) }
    }
    // A later process than the one that wrote the form may have kept the log alive.
    if clients[client].isFormOld { checker.noteWrongAge(of: client) }
    let saved = clients[client].reading
    // The form may also be older than requests that kept the log alive although all their answers
    // were lost. Story: in seed 2604 of messages, driven by actors, nothing comes for 225 s.
    if let saved, clients[client].askedAt - clients[client].writtenAt > saved.terms.longDeadline {
      checker.noteWrongAge(of: client)
    }
    let changes = clients[client].isUpdated ? saved?.outbox.map { SavedChanges(outbox: $0) } : nil
    clients[client].mustSetAside = changes != nil
    clients[client].isReading = false
    clients[client].reading = nil
    // A form that is read after a log-out is not used.
    if !clients[client].body.isLoaded {
      clients[client].user.memory = clients[client].readMemory ?? App.User.blank
    }
    if isHandingOver {
      deliveries.append(.loads(client: client, saved, age: age))
    } else if let changes {
      feed(client, .changesLoaded(changes))
    } else {
      feed(client, .loaded(saved, age: age))
    }
  }

  // MARK: Reading

  /// Begins to read the saved form as it is now, which takes a while.
  mutating func beginLoading(_ client: Int) {
    let delay = clients[client].loadDelay ?? choices.draw(.rows, in: 0...30)
    clients[client].loadDelay = nil
    clients[client].isReading = true
    let (saved, objection) = clients[client].disk.read(leavesRows: clients[client].leavesRows)
    if let objection {
      checker.report(.durability, client, now, objection.expected, objection.found)
    }
    clients[client].reading = saved
    agenda.add(.happens(client: client, .loads), at: now + .milliseconds(delay))
  }

  private mutating func mayLeaveRows(_ client: Int) {
    clients[client].leavesRows = false
    guard faultPlan.faults.contains(.unloadedRows), clients[client].disk.saved != nil,
      choices.happens(.rows, 3, in: 4)
    else { return }
    clients[client].leavesRows = true
    checker.result.faults[.unloadedRows] += 1
    if isTraced { note("fault", "unloaded-rows, \(who(client))", about: client) }
  }

  private mutating func failsToRead(_ client: Int) -> Bool {
    guard faultPlan.faults.contains(.failedRead), choices.happens(.rows, 1, in: 4) else {
      return false
    }
    checker.result.faults[.failedRead] += 1
    if isTraced { note("fault", "failed-read, \(who(client))", about: client) }
    return true
  }

  /// Begins to read rows that this process left on its disk, which takes a while.
  mutating func read(_ queries: [RowQuery], _ id: RequestID?, on client: Int) {
    let isSlow = faultPlan.faults.contains(.slowLoad) && choices.happens(.rows, 1, in: 8)
    let delay = choices.draw(.rows, in: 1...(isSlow ? FaultPlan.slowWrite : FaultPlan.quickWrite))
    clients[client].rowReading = Client.RowReading(
      id: id, queries: queries, fails: failsToRead(client))
    agenda.add(
      .rowsAreRead(client: client, incarnation: clients[client].incarnation),
      at: now + .milliseconds(delay))
    mayHappenMeanwhile(to: client, within: delay)
  }

  mutating func rowsAreRead(_ client: Int, incarnation: UInt64) -> Bool {
    guard clients[client].isRunning, clients[client].incarnation == incarnation,
      let reading = clients[client].rowReading
    else { return false }
    if postpone(.rowsAreRead(client: client, incarnation: incarnation), for: client) {
      return false
    }
    clients[client].rowReading = nil
    let isCutShort = reading.wasStopped && choices.happens(.rows, 1, in: 2)
    var answers: [RowAnswer]?
    if !reading.fails, !isCutShort {
      answers = clients[client].disk.load(reading.queries)
      if answers == nil {
        checker.report(
          .durability, client, now, "rows that were written are understood", "an error")
      }
    }
    guard let id = reading.id else {
      deliveries.append(.rowsAreRead(client: client, answers))
      return true
    }
    if let answers {
      feed(client, .rowsRead(id, answers))
    } else {
      feed(client, .rowsFailed(id, isCutShort ? .cutShort : .failed))
    }
    return true
  }

  /// A process ends without notice. A write under way takes effect completely or not at all.
  mutating func crash(_ client: Int) {
    let happened =
      clients[client].write != nil && choices.happens(.disks, 1, in: 2) && hasSpace(client)
    let torn = happened ? nil : clients[client].write
    situations?.crashes(
      client, clients[client].body, isSaved: clients[client].write == nil ? nil : happened,
      isLoading: clients[client].isReading)
    endWrite(client, succeeds: happened)
    if let step = torn?.step {
      clients[client].disk.tear(step, &choices)
    } else if let saved = torn?.saved, !clients[client].mustSetAside {
      clients[client].disk.tear(saved, &choices)
    }
    if faultPlan.faults.contains(.oldBackup), let backup = clients[client].backup,
      choices.happens(.weather, 1, in: 3)
    {
      checker.result.faults[.oldBackup] += 1
      bringBack(backup, client)
      if isTraced { note("fault", "old-backup, \(who(client))") }
    }
    mayComeBack(client)
    clients[client].isRunning = false
    if isHandingOver { deliveries.append(.crashes(client: client)) }
    clients[client].timers = []
    clients[client].asleepUntil = now
    if isTraced { note(who(client), "crashes", about: client, state: .off) }
  }

  /// An older saved form replaces what is on the disk, with the outbox of that time.
  private mutating func mayComeBack(_ client: Int) {
    guard faultPlan.faults.contains(.oldOutbox), let backup = clients[client].backup,
      let saved = backup.disk.saved, choices.happens(.storage, 1, in: 3)
    else { return }
    checker.result.faults[.oldOutbox] += 1
    if isTraced { note("fault", "old-outbox, \(who(client))", about: client) }
    let memory = clients[client].user.memory(of: saved, backup.memory)
    bringBack(backup, client)
    clients[client].memory = memory
    // If the form comes back twice, the memory is the same both times.
    clients[client].backup?.memory = memory
  }

  private mutating func bringBack(_ backup: Client.Backup, _ client: Int) {
    clients[client].disk = backup.disk
    clients[client].writtenAt = backup.writtenAt
    clients[client].isFormOld = true
  }

  /// Keeps a step for a sleeping client until it wakes. Returns `false` if the client is awake.
  mutating func postpone(_ step: Step, for client: Int) -> Bool {
    guard now < clients[client].asleepUntil else { return false }
    clients[client].inbox.append(step)
    return true
  }

  /// Wakes a device. Everything that arrived meanwhile reaches it at once.
  mutating func wake(_ client: Int) {
    checker.noteSleep(of: client, for: now - clients[client].asleepSince)
    clients[client].asleepUntil = now
    let inbox = clients[client].inbox
    clients[client].inbox.removeAll(keepingCapacity: true)
    for step in inbox { agenda.add(step, at: now) }
  }
}
