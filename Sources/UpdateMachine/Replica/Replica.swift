/// An app's model with its place in the server's log and the machine that keeps it level, as one
/// value (DESIGN §5, 2: model and finger change together or not at all).
///
/// It stands between the driver and ``Machine``: snapshots and batches come in here, the model
/// takes them or refuses them as a whole, and the machine hears what became of them. A model never
/// sees an answer that the machine would not believe.
///
/// **Restart.** Until `loaded` the state is *unknown*, and nobody is asked for anything. Then what was
/// saved is held at once, and its finger is asked about by a quick poll. A form that is older than the
/// log's lifetime, the server's collector and the long deadline together is held as well, but its finger
/// is not asked about: the replica starts stale, and registers.
///
/// How old a form is, only the wall clock can say, and that may have been set. It decides no more than
/// which request comes first:
///
/// | the wall clock | what it costs |
/// | --- | --- |
/// | went back behind the form | its age is unknown: it is never given up unasked; if its log has gone, one poll |
/// | went back, and the form seems young | if its log has gone, one poll and the spread of a herd (5 s) |
/// | is far ahead, or was when the form was written | one register; the log is left to its server, or the next start knows no age |
/// | leaps while the process runs | nothing |
///
/// Whatever cannot be read, being damaged, of a newer version or of an older one that is not migrated,
/// is as if nothing had been saved: `loaded` brings `nil`, and a driver sets it aside before it saves.
public struct Replica<Model: SyncModel, Sync: SyncProtocol>: Sendable
where Sync.Batch.Event == Model.Event {
  public typealias Place = Sync.Place
  public typealias Effects = Machine<Place>.Effects
  public typealias Saved = SavedReplica<Model, Place>

  @usableFromInline var _holding: Holding<Model> = .unknown
  /// While nothing has been loaded, a machine that was not started and hears the app's signals.
  @usableFromInline var _machine: Machine<Place>
  /// `started` came before the saved form was there.
  @usableFromInline var startsWhenLoaded = false

  /// What happened. ``Machine/Input`` with the answers in full, and the reading of the saved form.
  public enum Input: Sendable {
    /// The saved form was read; `nil`: there is none, or none that can be used. `age`: how long ago
    /// it was written by the wall clock, `nil` if that is not known.
    case loaded(Saved?, age: TimeSpan?)
    case snapshotArrived(RequestID, Model.Snapshot, finger: Place, terms: Terms)
    case batchArrived(RequestID, Sync.Batch)
    case started(foreground: Bool)
    case stopped
    case loggedOut
    case foregrounded
    case backgrounded
    case networkChanged
    case retryRequested
    case credentialsChanged
    case failed(RequestID, SyncFailure)
    case fired(TimerID)
    case written(WriteID)
    case writeFailed(WriteID)
  }

  /// A replica of which nothing is known until `loaded`.
  @inlinable
  public init(life: Life, settings: MachineSettings = MachineSettings()) {
    _machine = Machine(life: life, settings: settings)
  }

  /// Takes one input; returns what to do about it, in order. Never fails.
  @inlinable
  public mutating func handle(_ input: Input, at now: Moment) -> Effects {
    let effects = take(input, at: now)
    if Model.hearsOfPolls, case .poll = effects.request { change { $0.asked() } }
    return effects
  }

  @inlinable
  mutating func take(_ input: Input, at now: Moment) -> Effects {
    switch input {
    case .loaded(let saved, let age): return loaded(saved, age: age, at: now)
    case .snapshotArrived(let id, let snapshot, let finger, let terms):
      return snapshotArrived(id, snapshot, finger: finger, terms: terms, at: now)
    case .batchArrived(let id, let batch): return batchArrived(id, batch, at: now)
    case .started(let foreground): return started(foreground: foreground, at: now)
    case .stopped:
      startsWhenLoaded = false
      return _machine.handle(.stopped, at: now)
    case .loggedOut:
      startsWhenLoaded = false
      _holding = .nothing
      return _machine.handle(.loggedOut, at: now)
    case .foregrounded: return _machine.handle(.foregrounded, at: now)
    case .backgrounded: return _machine.handle(.backgrounded, at: now)
    case .networkChanged: return _machine.handle(.networkChanged, at: now)
    case .retryRequested: return _machine.handle(.retryRequested, at: now)
    case .credentialsChanged: return _machine.handle(.credentialsChanged, at: now)
    case .failed(let id, let failure): return _machine.handle(.failed(id, failure), at: now)
    case .fired(let timer): return _machine.handle(.fired(timer), at: now)
    case .written(let write): return _machine.handle(.written(write), at: now)
    case .writeFailed(let write): return _machine.handle(.writeFailed(write), at: now)
    }
  }

  // MARK: Queries

  /// What there is to show. Stays readable whatever the status is.
  @inlinable
  public var holding: Holding<Model> { _holding }

  @inlinable
  public var model: Model? {
    if case .model(let model) = _holding { model } else { nil }
  }

  @inlinable
  public var machine: Machine<Place> { _machine }

  @inlinable
  public var status: MachineStatus { _machine.status }

  @inlinable
  public var finger: Place? { _machine.finger }

  @inlinable
  public var isLoaded: Bool {
    if case .unknown = _holding { false } else { true }
  }

  /// What the app may tell its user at `now`; *unknown* until the saved form was read.
  @inlinable
  public func freshness(at now: Moment) -> Freshness {
    guard isLoaded else { return Freshness(.unknown, levelAsOf: nil) }
    return _machine.freshness(at: now)
  }

  /// What is written: the replica as it is now. `nil` without a finger, for a model without one could
  /// not be followed on; but a model that says so is saved all the same.
  @inlinable
  public var saved: Saved? {
    guard case .model(let model) = _holding else { return nil }
    guard _machine.finger != nil || Model.isSavedWithoutFinger else { return nil }
    return Saved(model: model, finger: _machine.finger, terms: _machine.terms)
  }

  // MARK: Inputs

  /// Changes the model where no finger moves: by what it learns beside the log.
  @inlinable
  mutating func change(_ body: (inout Model) -> Void) {
    guard case .model(var model) = _holding else { return }
    _holding = .nothing  // So that the model is changed in place.
    body(&model)
    _holding = .model(model)
  }

  @inlinable
  mutating func started(foreground: Bool, at now: Moment) -> Effects {
    guard !isLoaded else { return _machine.handle(.started(foreground: foreground), at: now) }
    startsWhenLoaded = true
    return _machine.handle(foreground ? .foregrounded : .backgrounded, at: now)
  }

  @inlinable
  mutating func loaded(_ saved: Saved?, age: TimeSpan?, at now: Moment) -> Effects {
    guard !isLoaded else {
      // Logged out while it was read: the log that it names is wanted no more, unless it is the one
      // that we follow, which is then the same form read twice.
      var effects = Effects()
      if let log = saved?.finger?.log, log != _machine.finger?.log { effects.release = log }
      return effects
    }
    let early = _machine
    _holding = saved.map { .model($0.model) } ?? .nothing
    change { $0.restored() }
    guard let saved, let finger = saved.finger else {
      guard startsWhenLoaded else { return Effects() }
      return begin(foreground: early.isInForeground, at: now)
    }
    _machine = Machine(
      restoring: finger, terms: saved.terms, age: age, at: now, life: early.life,
      settings: early.settings)
    if startsWhenLoaded { return begin(foreground: early.isInForeground, at: now) }
    // Not started: it only remembers whether its user sees it.
    let effects = _machine.handle(early.isInForeground ? .foregrounded : .backgrounded, at: now)
    return early.status.isHalted ? _machine.handle(.stopped, at: now) : effects
  }

  /// A start that waited for the saved form.
  @inlinable
  mutating func begin(foreground: Bool, at now: Moment) -> Effects {
    startsWhenLoaded = false
    return _machine.handle(.started(foreground: foreground), at: now)
  }

  @inlinable
  mutating func snapshotArrived(
    _ id: RequestID, _ snapshot: Model.Snapshot, finger: Place, terms: Terms, at now: Moment
  ) -> Effects {
    // Only a register's: a model never changes without its finger.
    if case .registering(let request) = _machine.status, request.id == id {
      do throws(Model.Refusal) {
        var new = try Model(snapshot: snapshot, replacing: model)
        new.snapshotWasAsked(at: request.sent)
        _holding = .model(new)
      } catch {
        var effects = _machine.handle(.failed(id, .modelRefused), at: now)
        if effects.release == nil { effects.release = finger.log }  // Nobody will follow it.
        return effects
      }
    }
    return _machine.handle(.snapshotArrived(id, finger: finger, terms: terms), at: now)
  }

  @inlinable
  mutating func batchArrived(_ id: RequestID, _ batch: Sync.Batch, at now: Moment) -> Effects {
    guard _machine.isCurrent(id) else {
      return _machine.handle(.polled(id, movedTo: nil), at: now)  // Absorbed; the model is spared.
    }
    guard let finger = _machine.finger, case .model(var model) = _holding else {
      return _machine.handle(.failed(id, .malformed), at: now)  // A batch for a register.
    }
    switch Sync.advance(finger, over: batch) {
    case .seen:
      if Model.hearsOfPolls { change { $0.answered() } }
      return _machine.handle(.polled(id, movedTo: nil), at: now)
    case .gap: return _machine.handle(.failed(id, .malformed), at: now)
    case .next(let finger, let first):
      do throws(Model.Refusal) {
        for index in first..<batch.count {
          if let event = batch.event(at: index) { try model.apply(event) }
        }
        model.answered()
      } catch {
        return _machine.handle(.failed(id, .modelRefused), at: now)
      }
      _holding = .model(model)
      return _machine.handle(.polled(id, movedTo: finger), at: now)
    }
  }
}

extension Replica: Equatable where Model: Equatable {}

extension Replica {
  /// The first rule that does not hold; `nil` if all do.
  @inlinable
  public func violation() -> Violation? {
    if let violation = _machine.violation() { return violation }
    if _machine.finger != nil, model == nil {
      return Violation(rule: "a finger is held with its model", found: description)
    }
    return nil
  }
}

extension Replica: CustomStringConvertible {
  public var description: String {
    isLoaded ? _machine.description : "not loaded, \(_machine)"
  }
}

extension Replica.Input: CustomStringConvertible {
  public var description: String {
    switch self {
    case .loaded(nil, _): "loaded nothing"
    case .loaded(let saved?, let age):
      "loaded \(saved.finger.map { "\($0)" } ?? "no finger"), \(age.map { "\($0)" } ?? "nobody knows how") old"
    case .snapshotArrived(let id, _, let finger, let terms):
      "\(Machine<Sync.Place>.Input.snapshotArrived(id, finger: finger, terms: terms))"
    case .batchArrived(let id, let batch): "batchArrived \(id), \(batch.count) events"
    case .started(let foreground):
      "\(Machine<Sync.Place>.Input.started(foreground: foreground))"
    case .stopped: "stopped"
    case .loggedOut: "loggedOut"
    case .foregrounded: "foregrounded"
    case .backgrounded: "backgrounded"
    case .networkChanged: "networkChanged"
    case .retryRequested: "retryRequested"
    case .credentialsChanged: "credentialsChanged"
    case .failed(let id, let failure): "failed \(id) \(failure)"
    case .fired(let timer): "fired \(timer)"
    case .written(let write): "written \(write)"
    case .writeFailed(let write): "writeFailed \(write)"
    }
  }
}
