// Client: the room where everything below it is one value: the machine, the app's model, the user's
// changes, what is being saved, and the app's windows. It imports nothing.
//
// Client may use: Knowledge, Machine, Mutations, Pages, Stored, Values.

/// A client of one server, as one value: its model, its finger, the user's changes, and everything
/// that is going on between it, its server, its store and its app.
///
/// ``handle(_:at:)`` is the only way in for what happens. It returns everything that a host must
/// do: perform the effects in order, and tell observers what changed. Nothing else need be called
/// after an input. Two calls answer at once, ``mutate(_:at:)`` and ``openWindow(on:showing:at:)``.
/// They return the same effects beside their answer.
///
///     host: what happened ──▶ handle ──▶ effects: ask, fetch, push, save, arm … ──▶ host
///                               │
///              machine · model · outbox · storage · pages
///
/// Model, finger and outbox change together or not at all. The model never sees an answer that the
/// machine would not believe.
///
/// **Restart.** Until the saved form was read, the state is *unknown*, and no request is sent. Then
/// the saved state is held at once, and a quick poll tries its finger. If the form is older than
/// the log's lifetime, the server's collector and the long deadline together, it is held as well.
/// But its finger is not tried: the client starts stale, and registers.
///
/// Only the wall clock can tell how old a form is, and it may have been set. It decides only which
/// request comes first:
///
/// | the wall clock | what it costs |
/// | --- | --- |
/// | went back past the form | its age is unknown, so it is tried: one poll, if its log has gone |
/// | went back; the form seems young | if its log has gone, one poll and the `spread` (5 s) |
/// | is far ahead | one register; the log is left to its server |
/// | was far ahead when the form was written | the next start knows no age |
/// | leaps while the process runs | nothing |
///
/// A form that cannot be read counts as nothing saved. It is damaged, of a newer version, or of an
/// older one that is not migrated. The store sets it aside before anything replaces it. But the
/// user's changes, which exist nowhere else, are read apart from the model: the client registers
/// anew, and replays them over the snapshot. Those that cannot be read stay as they are.
public struct SyncClient<Model: SyncModel, Sync: SyncProtocol>: Sendable
where Sync.Batch.Event == Model.Event {
  /// The finger of the server's protocol.
  @usableFromInline package typealias Place = Sync.Place
  /// The mutations of the model; `Never` if it takes none.
  @usableFromInline package typealias Change = Model.Change
  /// The partial lists of the model; ``NoLists`` if it holds everything.
  @usableFromInline package typealias Lists = Model.Lists
  /// The replica as it is on disk.
  @usableFromInline package typealias Saved = SavedReplica<Model, Place>
  @usableFromInline typealias Planner = PagePlanner<Lists>

  /// The settings of this client, which never change.
  @usableFromInline package let settings: ClientSettings

  @usableFromInline var _holding: Holding<Model> = .unknown
  /// While nothing has been loaded: a machine that is not started, and hears the app's signals.
  @usableFromInline var _machine: Machine<Place>
  /// Whether `started` came before the saved form was read.
  @usableFromInline var startsWhenLoaded = false
  /// When the state that was restored last equalled the server's, by this process's clock; `nil`:
  /// unknown. Only ``freshness(at:)`` reads it. The machine's rules trust nothing but what it saw
  /// itself (TheMachine §6).
  @usableFromInline var restoredAsOf: Moment?
  /// The moment of the last input.
  @usableFromInline var settledAt = Moment.distantPast

  /// The user's changes, and the view with them; `nil`: no state is held, or the model takes no
  /// changes.
  @usableFromInline var _local: LocalChanges<Change>?
  /// What the user's changes are over, until the first snapshot; `nil`: a model is held, or nothing
  /// can be changed.
  @usableFromInline var beginning: Model?
  /// The user's changes while there is no state to replay them over, until the first snapshot: the
  /// saved model cannot be read.
  @usableFromInline var kept: KeptOutbox<Change>?
  /// Where its name comes from; `nil`: the app's connection names it.
  @usableFromInline let names: ClientNames?
  /// How many log-outs there were since the start: each renews the name.
  @usableFromInline var nameCount: UInt64 = 0
  /// How many pushes and timers earlier outboxes of this incarnation have named. No name is reused.
  @usableFromInline var outboxNames = OutboxNames()
  /// The version of the last view of an outbox that is gone. No version is used twice.
  @usableFromInline var viewVersion: UInt64 = 0
  /// The finger when the last push left; `nil`: none was held.
  @usableFromInline var pushedFrom: Place?
  @usableFromInline var storage: Storage
  @usableFromInline var planner: Planner

  /// Batches that wait for rows of the saved form: one, or several of a subscription.
  @usableFromInline var waitingBatches: [(id: RequestID, batch: Sync.Batch)] = []
  /// Pages that wait for rows. Never more than there are open fetches.
  @usableFromInline var waitingPages: [(id: RequestID, page: Lists.Page)] = []
  /// What the windows were last shown of; `nil`: they must look again.
  @usableFromInline var shownVersion: ShownVersion?

  /// Creates a client that knows nothing until the saved form was read.
  ///
  /// - Parameters:
  ///   - incarnation: a number that no other start of this client ever had.
  ///   - settings: its numbers, and whether it has a store.
  ///   - names: where its name at the server comes from; `nil`, the default: the host does not ask
  ///     for ``name``.
  @inlinable
  public init(
    incarnation: Incarnation, settings: ClientSettings = ClientSettings(),
    names: ClientNames? = nil
  ) {
    self.settings = settings
    self.names = names
    _machine = Machine(incarnation: incarnation, settings: settings.machineAsKept)
    storage = Storage(settings: settings.machine.retry, isPresent: settings.hasStore)
    planner = Planner(incarnation: incarnation, settings: settings.pages)
  }

  /// Takes one input; returns what to do about it, in order. Never fails: an input that is late,
  /// repeated or out of place is absorbed. Moments must not go back from one call to the next.
  @inlinable
  public mutating func handle(_ input: Input, at now: Moment) -> Effects {
    var effects = Effects()
    let before = look(at: now)
    switch input {
    case .app(let signal): heard(signal, at: now, &effects)
    case .loaded(let saved, let age): loaded(saved, age: age, at: now, &effects)
    case .changesLoaded(let changes):
      effects.storage.report = true
      loaded(nil, age: nil, with: changes, at: now, &effects)
    case .loadFailed(let failure): loadFailed(failure, at: now, &effects)
    case .snapshotArrived(let id, let snapshot, let finger, let terms, let isComplete):
      snapshotArrived(
        id, snapshot, finger: finger, terms: terms, isComplete: isComplete, at: now, &effects)
    case .batchArrived(let id, let batch): batchArrived(id, batch, at: now, &effects)
    case .pushAnswered(let id, let answer): pushAnswered(id, answer, at: now, &effects)
    case .pageArrived(let id, let page): pageArrived(id, page)
    case .failed(let id, let failure, let hasLeft):
      failed(id, failure, hasLeft: hasLeft, at: now, &effects)
    case .rowsRead(let id, let answers): rowsRead(id, answers, &effects)
    case .rowsFailed(let id, let failure): rowsFailed(id, failure, &effects)
    case .written(let write): saveEnded(write, succeeded: true, at: now, &effects)
    case .writeFailed(let write): saveEnded(write, succeeded: false, at: now, &effects)
    case .erased(let succeeded): erased(succeeded: succeeded, &effects)
    case .saveRequested: saveRequested(&effects)
    case .fired(let timer): fired(timer, at: now, &effects)
    case .window(let change): changeWindow(change, at: now, &effects)
    case .lists(let change): changeLists(change, &effects)
    case .mutation(let word): decided(word, at: now, &effects)
    }
    settle(since: before, at: now, &effects)
    return effects
  }

  /// Runs after every input: each part hears what the others have done.
  @inlinable
  mutating func settle(since before: Look, at now: Moment, _ effects: inout Effects) {
    settledAt = now
    takeWaitingAnswers(at: now, &effects)
    if effects.changes.contains(.model) { confirmCreated() }
    if Change.isPossible { settleOutbox(at: now, &effects) }
    if effects.outbox.push != nil {
      pushedFrom = finger
      effects.pushedFrom = finger
    }
    // Only now is it known whether it goes on: a wish to pull may have ended it.
    if let poll = effects.answeredPoll, let next = nextFinger(of: poll) {
      effects.subscription = .poll(poll, finger: next, waits: true)
    }
    if case .poll = effects.machine.request { notePollLeft() }
    settlePages(at: now, &effects)
    settleStorage(at: now, &effects)
    noteChanges(since: before, at: now, &effects)
  }

  /// Feeds the machine, and notes the input for a checker.
  @inlinable @inline(__always)
  mutating func tell(
    _ input: Machine<Place>.Input, at now: Moment, _ effects: inout Effects
  ) {
    effects.heard.append(.input(input))
    _machine.handle(input, at: now, &effects.machine)
  }

  /// Changes the model beside the log, so that no finger moves. The view and all observers hear of
  /// it.
  @inlinable
  mutating func change(_ effects: inout Effects, _ body: (inout Model) -> Void) {
    withModel(body)
    guard case .model(let model) = _holding else { return }
    effects.changes.insert(.model)
    _local?.confirm(model.state, echo: nil)
  }

  /// Lends the model in place, so that it is not copied. Observers do not hear of it.
  @inlinable
  package mutating func withModel(_ body: (inout Model) -> Void) {
    guard case .model(var model) = _holding else { return }
    _holding = .nothing  // So that the model is changed in place.
    body(&model)
    _holding = .model(model)
  }
}

/// The settings of a client.
public struct ClientSettings: Hashable, Sendable {
  /// The numbers of the machine that follows the log.
  public var machine = MachineSettings()
  /// How eagerly pages are fetched.
  @usableFromInline package var pages = PageSettings()
  /// Whether there is a store. Without one the state is lost with the process, and nothing waits
  /// for a write.
  public var hasStore = true
  /// Whether the server is told of a finger before or after it is saved.
  public var acknowledges = Acknowledgement.afterSaving

  /// Creates the defaults: a store is present, and the server is told after saving.
  @inlinable
  public init() {}

  /// The machine's settings. It waits for writes only with a store and `afterSaving`.
  @inlinable
  var machineAsKept: MachineSettings {
    var machine = machine
    if !hasStore || acknowledges == .beforeSaving { machine.isDurable = false }
    return machine
  }

  /// Whether the model is saved without the machine waiting for it.
  @inlinable
  var savesBehind: Bool {
    hasStore && machine.isDurable && acknowledges == .beforeSaving
  }
}

/// When the server is told that something was received. Polling from a finger acknowledges
/// everything that led to it.
public enum Acknowledgement: Hashable, Sendable {
  /// Once it is durable. A crash loses nothing that the server has forgotten.
  case afterSaving
  /// At once. It is saved afterwards, several batches in one step if the store is slow. So the next
  /// poll does not wait for the store. The price is what a crash finds unsaved: the server was told
  /// of a finger that is newer than the saved one. A server that refuses old fingers, like Zulip's,
  /// then answers with an expiry, and the client registers anew. With another server the events in
  /// between are missed for ever, and nothing shows it. A failed save is repeated with the next
  /// batch. The *user's* changes are still durable before they are sent.
  case beforeSaving
}
