// Client: the room where everything below it is one value: the machine, the app's model, what the user
// changed, what is being saved, and the windows that the app looks through. It imports nothing.
//
// Client may use: Knowledge, Machine, Mutations, Pages, Stored, Values.

/// A client of one server, as one value: what it holds, its place in the server's log, what the user has
/// changed, and all that is going on between it, its server, its store and its app.
///
/// ``handle(_:at:)`` is the only way in for what happens, and what it returns is all that a host must do:
/// perform the effects in their order, and tell its observers what changed. Nothing is to be called
/// after anything. What a user asks and gets an answer to at once (``mutate(_:at:)``,
/// ``openWindow(on:showing:at:)``) returns the same effects beside its answer.
///
///     host: what happened ──▶ handle ──▶ effects: ask, fetch, push, save, arm … ──▶ host
///                               │
///              machine · model · outbox · storage · pages
///
/// Model, finger and outbox change together or not at all. A model never sees an answer that the
/// machine would not believe.
///
/// **Restart.** Until the saved form was read the state is *unknown*, and nobody is asked for anything.
/// Then what was saved is held at once, and its finger is asked about by a quick poll. A form that is
/// older than the log's lifetime, the server's collector and the long deadline together is held as well,
/// but its finger is not asked about: the client starts stale, and registers.
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
/// is as if nothing had been saved; the store sets it aside before anything takes its place.
public struct SyncClient<Model: SyncModel, Sync: SyncProtocol>: Sendable
where Sync.Batch.Event == Model.Event {
  public typealias Place = Sync.Place
  public typealias Change = Model.Change
  public typealias Lists = Model.Lists
  public typealias Saved = SavedReplica<Model, Place>
  @usableFromInline typealias Planner = PagePlanner<Lists>

  /// The numbers that it lives by; the same for its whole life.
  public let settings: ClientSettings

  @usableFromInline var _holding: Holding<Model> = .unknown
  /// While nothing has been loaded, a machine that was not started and hears the app's signals.
  @usableFromInline var _machine: Machine<Place>
  /// `started` came before the saved form was there.
  @usableFromInline var startsWhenLoaded = false

  /// What the user changed, and what there is to show with it; `nil`: nothing is held, or the model
  /// takes no changes.
  @usableFromInline var _local: LocalChanges<Change>?
  /// How many pushes and timers earlier outboxes have named in this life: a name is never given again.
  @usableFromInline var outboxNames = OutboxNames()
  /// Which version of a view was told last of an outbox that is gone: none is told twice.
  @usableFromInline var viewVersion: UInt64 = 0
  @usableFromInline var storage: Storage
  @usableFromInline var planner: Planner

  /// Answers that wait for rows of the saved form: one, or what a subscription brings meanwhile.
  @usableFromInline var waitingBatches: [(id: RequestID, batch: Sync.Batch)] = []
  /// Pages that do. No more than are out.
  @usableFromInline var waitingPages: [(id: RequestID, page: Lists.Page)] = []
  /// As of which change of the lists the windows were looked at.
  @usableFromInline var shownRevision: UInt64?

  /// A client of which nothing is known until the saved form was read.
  ///
  /// - Parameters:
  ///   - life: a number that no other start of this client ever had.
  ///   - settings: its numbers, and whether it has a store.
  @inlinable
  public init(life: Life, settings: ClientSettings = ClientSettings()) {
    self.settings = settings
    _machine = Machine(life: life, settings: settings.machineAsKept)
    storage = Storage(settings: settings.machine.retry, isPresent: settings.hasStore)
    planner = Planner(life: life, settings: settings.pages)
  }

  /// Takes one input; returns what to do about it, in order. Never fails: what is late, repeated or out
  /// of place is absorbed. Moments never go back from one call to the next.
  @inlinable
  public mutating func handle(_ input: Input, at now: Moment) -> Effects {
    var effects = Effects()
    let before = look(at: now)
    switch input {
    case .app(let signal): heard(signal, at: now, &effects)
    case .loaded(let saved, let age): loaded(saved, age: age, at: now, &effects)
    case .loadFailed(let failure): loadFailed(failure, at: now, &effects)
    case .snapshotArrived(let id, let snapshot, let finger, let terms):
      snapshotArrived(id, snapshot, finger: finger, terms: terms, at: now, &effects)
    case .batchArrived(let id, let batch): batchArrived(id, batch, at: now, &effects)
    case .pushAnswered(let id, let answer): tellOutbox(.answered(id, answer), at: now, &effects)
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
    case .mutation(let word): tellOutbox(word.input, at: now, &effects)
    }
    settle(since: before, at: now, &effects)
    return effects
  }

  /// After every input: each part hears what the others have done.
  @inlinable
  mutating func settle(since before: Look, at now: Moment, _ effects: inout Effects) {
    takeWaitingAnswers(at: now, &effects)
    if Change.isPossible { settleOutbox(at: now, &effects) }
    if case .poll = effects.machine.request { notePollLeft() }
    settlePages(at: now, &effects)
    settleStorage(at: now, &effects)
    noteChanges(since: before, at: now, &effects)
  }

  /// Tells the machine, and notes that for a checker.
  @inlinable @inline(__always)
  mutating func tell(
    _ input: Machine<Place>.Input, at now: Moment, _ effects: inout Effects
  ) {
    effects.heard.append(.input(input))
    _machine.handle(input, at: now, &effects.machine)
  }

  /// Changes what is held where no finger moves: by what it learns beside the log. The view and everybody
  /// who looks hear of it.
  @inlinable
  mutating func change(_ effects: inout Effects, _ body: (inout Model) -> Void) {
    withModel(body)
    guard case .model(let model) = _holding else { return }
    effects.changes.insert(.model)
    _local?.confirm(model.state, echo: nil)
  }

  /// Hands out the model where it lies, so that it is not copied. Nobody hears of it.
  @inlinable
  package mutating func withModel(_ body: (inout Model) -> Void) {
    guard case .model(var model) = _holding else { return }
    _holding = .nothing  // So that the model is changed in place.
    body(&model)
    _holding = .model(model)
  }
}

/// The numbers of a client.
public struct ClientSettings: Hashable, Sendable {
  public var machine = MachineSettings()
  /// How eagerly pages are fetched.
  public var pages = PageSettings()
  /// Whether there is a store. Without one what is held goes with the process, and nothing waits for a
  /// write.
  public var hasStore = true
  /// Whether the server is told of a finger before or after it is saved.
  public var acknowledges = Acknowledgement.afterSaving

  @inlinable
  public init() {}

  /// The machine's, which waits for writes only if somebody makes them and it is to wait.
  @inlinable
  var machineAsKept: MachineSettings {
    var machine = machine
    if !hasStore || acknowledges == .beforeSaving { machine.isDurable = false }
    return machine
  }

  /// The model is saved behind the machine's back.
  @inlinable
  var savesBehind: Bool {
    hasStore && machine.isDurable && acknowledges == .beforeSaving
  }
}

/// When the server is told that something was received: asking on from a finger acknowledges all
/// that led to it.
public enum Acknowledgement: Hashable, Sendable {
  /// Once it is durable. A crash loses nothing that the server has forgotten.
  case afterSaving
  /// At once; it is saved behind, several batches in one step where the store is slow. That spares
  /// the next poll the wait for the store. It costs what a crash finds unsaved: the server has been
  /// told of a finger that is newer than the saved one. A server that refuses old fingers, as
  /// Zulip's does, then answers with an expiry, and the client registers anew; with one that does
  /// not, the events in between are missed for ever, and nobody notices. A save that fails is made
  /// again with the next batch. What the *user* changes is durable before it is sent, as ever.
  case beforeSaving
}
