// The log: signals of the app, the saved form, snapshots and batches. The model takes each whole or
// refuses it, and the machine hears which.

extension SyncClient {
  @inlinable
  mutating func heard(_ signal: AppSignal, at now: Moment, _ effects: inout Effects) {
    switch signal {
    case .started(let foreground): started(foreground: foreground, at: now, &effects)
    case .stopped:
      startsWhenLoaded = false
      tell(.app(signal), at: now, &effects)
    case .loggedOut: loggedOut(at: now, &effects)
    case .foregrounded, .backgrounded, .networkChanged, .retryRequested, .credentialsChanged:
      tell(.app(signal), at: now, &effects)
    }
    storage.heard(signal, &effects.storage)
    if effects.machine.erase { storage.wantErase() }
    // If the saved form is not loaded yet, the outbox hears of the start later.
    if case .started = signal, !_machine.isStarted { return }
    tellOutbox(.app(signal), at: now, &effects)
    guard signal == .loggedOut, let local = _local else { return }
    // The next outbox must not reuse the name of a push, a timer or a view.
    outboxNames = local.outbox.names
    viewVersion = local.view.version
    _local = nil
  }

  @inlinable
  mutating func started(foreground: Bool, at now: Moment, _ effects: inout Effects) {
    if !isLoaded, !settings.hasStore { _holding = .nothing }
    guard !isLoaded else {
      return tell(.app(.started(foreground: foreground)), at: now, &effects)
    }
    startsWhenLoaded = true
    storage.wantLoad()
    tell(.app(foreground ? .foregrounded : .backgrounded), at: now, &effects)
  }

  @inlinable
  mutating func loggedOut(at now: Moment, _ effects: inout Effects) {
    startsWhenLoaded = false
    // The saved form names the log to release.
    if !isLoaded { storage.wantLoad() }
    _holding = .nothing
    restoredAsOf = nil
    beginning = nil
    kept = nil
    nameCount += 1
    tell(.app(.loggedOut), at: now, &effects)
    waitingBatches = []
    waitingPages = []
    effects.changes.insert(.model)
  }

  // MARK: The saved form

  /// Takes the saved form or, if its model could not be read, the user's changes in it.
  @inlinable
  mutating func loaded(
    _ saved: Saved?, age: TimeSpan?, with changes: SavedChanges<Change>? = nil, at now: Moment,
    _ effects: inout Effects
  ) {
    guard storage.wasLoaded() else { return }
    guard !isLoaded else {
      // The user logged out while it was read, so its log is no longer wanted; unless it is
      // followed again since then, where all logs of a protocol have one name.
      if let log = saved?.finger?.log, log != _machine.finger?.log { effects.machine.release = log }
      return
    }
    let early = _machine
    _holding = .nothing
    if let saved, !saved.isBeginning { _holding = .model(saved.model) }
    effects.changes.insert(.model)
    withLists { planner, lists in
      lists.handle(.restored)
      planner.restored(&lists)
    }
    if let saved { restoreOutbox(saved, &effects) }
    if let changes { restoreOutbox(changes) }
    beginWithoutState()
    if let age, let upToDateAge = saved?.upToDateAge { restoredAsOf = now - age - upToDateAge }
    guard let saved, let finger = saved.finger else {
      if startsWhenLoaded { begin(foreground: early.isInForeground, at: now, &effects) }
      return
    }
    _machine = Machine(
      restoring: finger, terms: saved.terms, age: age, at: now, incarnation: early.incarnation,
      settings: early.settings)
    effects.heard.append(.restored(finger, saved.terms, age: age))
    if startsWhenLoaded { return begin(foreground: early.isInForeground, at: now, &effects) }
    // Not started: the machine only remembers whether the user sees the app.
    tell(.app(early.isInForeground ? .foregrounded : .backgrounded), at: now, &effects)
    if early.status.isHalted { tell(.app(.stopped), at: now, &effects) }
  }

  /// Makes the start that waited for the saved form.
  @inlinable
  mutating func begin(foreground: Bool, at now: Moment, _ effects: inout Effects) {
    startsWhenLoaded = false
    tell(.app(.started(foreground: foreground)), at: now, &effects)
  }

  /// Takes a failed load. The saved form is left as it is, and the client starts stale. But if it
  /// may contain the user's changes, which exist nowhere else, it is read again: the next save
  /// would replace them.
  @inlinable
  mutating func loadFailed(_ failure: StoreFailure, at now: Moment, _ effects: inout Effects) {
    guard storage.out == .load else { return }
    if failure != .cutShort { effects.storage.report = true }
    let isCutShort = failure == .cutShort
    if isCutShort || failure == .failed && Change.isPossible && !isLoaded {
      storage.loadFailed(isCutShort: isCutShort, at: now, &effects.storage)
    } else {
      loaded(nil, age: nil, at: now, &effects)
    }
  }

  // MARK: Answers

  @inlinable
  mutating func snapshotArrived(
    _ id: RequestID, _ snapshot: Model.Snapshot, finger: Place, terms: ServerTerms,
    isComplete: Bool, at now: Moment, _ effects: inout Effects
  ) {
    // Only a register brings one: a model never changes without its finger.
    if case .registering(let request) = _machine.status, request.id == id {
      let new: Model
      do throws(Model.Refusal) {
        new = try Model(snapshot: snapshot, replacing: model)
      } catch {
        return refuse(id, finger.log, at: now, &effects)
      }
      // A snapshot that names no client would leave the user's changes without an owner.
      if new.client == nil, outbox != nil { return refuse(id, finger.log, at: now, &effects) }
      // The state that confirmed changes is lost, and a replica that lags has not run them yet.
      // Under another name, the snapshot cannot even tell.
      if !isComplete, let outbox = kept?.outbox,
        (outbox.client == new.client ? new.confirmation.last : .none) < outbox.confirmed
      {
        return refuse(id, finger.log, at: now, &effects)
      }
      beginning = nil
      restoredAsOf = nil  // It was about the model that is replaced now.
      adoptOutbox(of: new, askedAt: isComplete ? request.sent : nil, at: now, &effects)
      _holding = .model(new)
      effects.changes.insert(.model)
      waitingPages = []
      if settings.savesBehind { storage.wantState() }
    }
    tell(
      .snapshotArrived(id, finger: finger, terms: terms, isComplete: isComplete), at: now,
      &effects)
  }

  /// Refuses a snapshot that the model cannot take, and releases its log, which nothing follows.
  @inlinable
  mutating func refuse(
    _ id: RequestID, _ log: Place.Log, at now: Moment, _ effects: inout Effects
  ) {
    tell(.failed(id, .modelRefused), at: now, &effects)
    if effects.machine.release == nil { effects.machine.release = log }
  }

  @inlinable
  mutating func batchArrived(
    _ id: RequestID, _ batch: Sync.Batch, at now: Moment, _ effects: inout Effects
  ) {
    guard _machine.isCurrent(id) else {
      return tell(.polled(id, movedTo: nil), at: now, &effects)  // Absorbed; the model is spared.
    }
    if waitingBatches.isEmpty, rows(under: batch).isEmpty {
      take(batch, for: id, at: now, &effects)
    } else if waitingBatches.isEmpty || nextFinger(of: id) != nil {
      // A second answer to a poll repeats the first. Only a subscription has several.
      waitingBatches.append((id, batch))
    }
    effects.answeredPoll = id
  }

  /// Takes a batch whose rows are loaded.
  @inlinable
  mutating func take(
    _ batch: Sync.Batch, for id: RequestID, at now: Moment, _ effects: inout Effects
  ) {
    guard let finger = _machine.finger, case .model(var model) = _holding else {
      return tell(.failed(id, .malformed), at: now, &effects)  // A batch for a register.
    }
    switch Sync.advance(finger, over: batch) {
    case .seen:
      _local?.pollWasAnswered { model.overrules($0) }
      withModel { $0.lists.handle(.answered) }
      tell(.polled(id, movedTo: nil), at: now, &effects)
    case .incomplete:
      // It proves nothing: neither that accepted changes are in it, nor that pages are up to date.
      tell(.polled(id, movedTo: nil, isComplete: false), at: now, &effects)
    case .lost: tell(.failed(id, .expired), at: now, &effects)
    case .gap: tell(.failed(id, .malformed), at: now, &effects)
    case .next(_, let first, _) where first < 0 || first > batch.count:
      // The app's rules point outside the batch. Nothing of it can be believed.
      tell(.failed(id, .malformed), at: now, &effects)
    case .next(let next, let first, let isComplete):
      var local = _local
      var earlier = model.state
      let revision = model.lists.revision
      var hasEvents = false
      do throws(Model.Refusal) {
        for index in first..<batch.count {
          guard let event = batch.event(at: index) else { continue }
          let last = model.confirmation.last
          let before = local?.outbox.isEmpty == false ? model.state : nil
          try model.apply(event)
          local?.confirm(by: event, in: model, since: last, from: before, after: earlier)
          if model.confirmation.last != last { earlier = model.state }
          hasEvents = true
        }
        if hasEvents { local?.confirm(model.state, echo: nil) }
      } catch {
        return tell(.failed(id, .modelRefused), at: now, &effects)
      }
      model.lists.handle(isComplete ? .answered : .answeredInPart)
      if isComplete { local?.pollWasAnswered { model.overrules($0) } }
      _holding = .model(model)
      _local = local
      // A batch of heartbeats moves the finger, and leaves the model as it is.
      if hasEvents || model.lists.revision != revision { effects.changes.insert(.model) }
      if settings.savesBehind { storage.wantState() }
      // A repeated old answer leaves the finger where it is, and more may be waiting: no progress.
      let moved = isComplete || next != finger ? next : nil
      tell(.polled(id, movedTo: moved, isComplete: isComplete), at: now, &effects)
    }
  }

  @inlinable
  mutating func failed(
    _ id: RequestID, _ failure: SyncFailure, hasLeft: Bool, at now: Moment,
    _ effects: inout Effects
  ) {
    switch id.part {
    case .machine:
      tell(.failed(id, failure), at: now, &effects)
    case .outbox: tellOutbox(.failed(id, failure, hasLeft: hasLeft), at: now, &effects)
    case .pages: tellPlanner(.failed(id, failure), at: now, &effects)
    case .storage: return  // The store's answers have inputs of their own.
    }
  }

  @inlinable
  mutating func fired(_ timer: TimerID, at now: Moment, _ effects: inout Effects) {
    switch timer.part {
    case .machine: tell(.fired(timer), at: now, &effects)
    case .outbox: tellOutbox(.fired(timer), at: now, &effects)
    case .storage: storage.fired(timer)
    case .pages: tellPlanner(.fired(timer), at: now, &effects)
    }
  }

  /// Notes that a poll leaves.
  @inlinable
  mutating func notePollLeft() {
    _local?.pollLeft()
    withModel { $0.lists.handle(.asked) }
  }
}

extension LocalChanges {
  /// Confirms mutations by one event that the confirmed state has taken. One mutation may have
  /// several events, of which the last confirms it. An event that confirms none leaves the view for
  /// the end of the batch.
  ///
  /// - Parameters:
  ///   - last: how far the state before the event had run the client's mutations.
  ///   - before: that state; `nil`: the outbox is empty.
  ///   - earlier: the state when mutations were last confirmed, or before the batch.
  @inlinable
  mutating func confirm<Model: SyncModel>(
    by event: Model.Event, in model: Model, since last: MutationID, from before: Change.State?,
    after earlier: Change.State
  ) where Model.Change == Change {
    let ticket = model.echo(in: event) ?? outbox.ticket { model.shows($0, after: event) }
    if let ticket {
      if let before { confirm(before, echo: nil) }
      confirm(model.state, echo: ticket) { model.overrules($0) }
    } else if model.confirmation.last != last {
      let confirmation = model.confirmation
      confirm(
        model.state, through: confirmation.last, refusal: confirmation.refusal, after: earlier)
    }
  }
}
