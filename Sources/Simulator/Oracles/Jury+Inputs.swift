internal import SyncProtocols
internal import UpdateMachine

// Oracles E and G look at inputs and at what they lead to; the statistics and the hash are taken
// here, too.

extension Jury {
  /// An answer that is not awaited changes nothing, and neither does one that is given twice.
  mutating func judgeInput(
    _ input: Body.Input, _ before: Before, _ effects: Body.Effects, _ client: Int,
    _ replica: Body, at now: Moment
  ) {
    switch input {
    case .snapshotArrived(let id, _, _, _), .batchArrived(let id, _), .failed(let id, _):
      if let machine = before.machine {
        if !before.isOverdue,
          !SupersededOracle.holds(before: machine, after: replica.machine, effects: effects)
        {
          report(
            .ownership, client, now, "an answer that is not awaited changes nothing",
            "\(input), then \(replica.machine)")
        }
        return
      }
      accounts[client].walls.noteAnswer(to: id)
      judgeTwice(input, client, replica, at: now)
    case .fired(let timer): accounts[client].walls.noteFired(timer)
    case .written(let write), .writeFailed(let write): accounts[client].walls.noteWriteEnded(write)
    case .loaded, .started, .stopped, .loggedOut, .foregrounded, .backgrounded, .networkChanged,
      .retryRequested, .credentialsChanged:
      break
    }
  }

  private mutating func judgeTwice(
    _ input: Body.Input, _ client: Int, _ replica: Body, at now: Moment
  ) {
    // A write that began with old news is overdue at once; the next input notes that, whatever it
    // is.
    guard !replica.machine.isOverdue(at: now) else { return }
    var twice = replica
    let effects = twice.handle(input, at: now)
    let holds = SupersededOracle.holds(
      before: replica.machine, after: twice.machine, effects: effects)
    guard !holds || twice.model.map(App.checksum) != replica.model.map(App.checksum) else { return }
    report(
      .idempotence, client, now, "the same answer again changes nothing: \(replica.machine)",
      "\(twice.machine)")
  }

  // MARK: Statistics and hash

  /// Somebody said something to an app that was running; that a life begins does not count.
  static func isAction(_ kind: InputKind, _ replica: Body) -> Bool {
    switch kind {
    case .started: replica.isLoaded
    case .stopped, .loggedOut, .foregrounded, .backgrounded, .networkChanged, .retryRequested,
      .credentialsChanged:
      true
    case .loaded, .snapshotArrived, .batchArrived, .failed, .fired, .written, .writeFailed: false
    }
  }

  mutating func noteStatistics(
    _ input: Body.Input, _ before: Before, _ effects: Body.Effects, _ status: MachineStatus
  ) {
    result.statuses |= 1 << UInt64(status.code)
    if effects.request != nil { result.requests += 1 }
    if let failure = before.failure, before.isCurrent {
      result.rows.note(failure, isRegistering: before.isRegistering)
    } else if before.kind == .fired, before.isAwaiting, effects.cancel != nil, !before.isOverdue {
      result.rows.note(.timedOut, isRegistering: before.isRegistering)
    } else if case .failure(let failure) = effects.report {
      result.rows.note(failure, isRegistering: before.isRegistering)
    } else if effects.report == .store {
      result.rows.storeFailures += 1
    }
  }

  mutating func foldHash(_ client: Int, _ replica: Body, at now: Moment) {
    result.hash.fold(now.milliseconds)
    result.hash.fold(UInt64(client) << 8 | UInt64(replica.status.code))
    if let finger = replica.finger {
      result.hash.fold(Int64(accounts[client].logNumber ?? -1))
      result.hash.fold(Server.number(of: finger))
    }
    if let model = replica.model { result.hash.fold(App.checksum(of: model)) }
  }
}
