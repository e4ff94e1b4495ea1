extension SyncClient {
  /// One instruction to a host, which performs it and decides nothing.
  public enum Effect: Sendable {
    /// Give up a request. Its answer may still come.
    case cancel(RequestID)
    /// Keep the timer from firing.
    case disarm(TimerID)
    /// Tell the app's log what went wrong.
    case report(SyncReport)
    /// Tell the server that a log is no longer needed: best effort, never retried, not answered.
    case release(Sync.Place.Log)
    /// Read the saved form. The store does one operation at a time: this, ``save(_:)``,
    /// ``read(_:_:)`` or ``erase``.
    case load
    /// Save the client as it is now (``SyncClient/saved``).
    case save(WriteID)
    /// Read rows of the saved form.
    case read(RequestID, [RowQuery])
    /// Delete the saved form.
    case erase
    /// Ask for a snapshot and a finger, under the client's name (``SyncClient/name``).
    case register(RequestID)
    /// Ask for the events after the finger. `waits`: the server may hold the request open. A
    /// subscription continues from the next finger under the same request.
    case poll(RequestID, finger: Sync.Place, waits: Bool)
    /// Send mutations, with the finger that the client has; `nil`: none.
    case push(PushRequest<Model.Change>, at: Sync.Place?)
    /// Ask for a page.
    case fetch(RequestID, PageRequest<Model.Lists.Narrow, Model.Lists.ID>)
    /// Feed `fired` once, at a moment drawn from the range.
    case arm(TimerID, MomentRange)
  }

  /// The result of one input: what to do, in order, and what changed. Each kind has one field, so
  /// the order holds by construction, and an empty result allocates nothing.
  public struct Effects: Sendable {
    /// The machine's effects, which follow the log.
    @usableFromInline package var machine = Machine<Place>.Effects()
    /// The poll that was answered.
    @usableFromInline var answeredPoll: RequestID?
    /// The poll that continues a subscription.
    @usableFromInline var subscription: Machine<Place>.Effects.Request?
    /// The outbox's effects, which send the user's changes.
    @usableFromInline package var outbox = Outbox<Change>.Effects()
    /// The finger that the push goes with.
    @usableFromInline var pushedFrom: Place?
    /// The name of a client that another one seems to have, too.
    @usableFromInline var nameShared: ClientID?
    @usableFromInline var storage = Storage.Effects()
    /// The planner's effects, which fetch pages.
    @usableFromInline package var pages = PagePlanner<Lists>.Effects()
    /// What changed, so that observers need not compare.
    public var changes = ClientChanges()
    /// The windows whose view changed (``SyncClient/view(of:)``).
    public var windows: [WindowID] = []
    /// What the machine was told, in order, for a checker.
    @usableFromInline package var heard = Few<MachineHeard<Place>>()

    /// Nothing to do, and nothing changed.
    @inlinable
    package init() {}

    /// Calls `perform` with each effect in the order in which they must be performed: cancel,
    /// disarm, report, release, the store, the requests, arm.
    @inlinable
    public func each(_ perform: (Effect) -> Void) {
      if let id = machine.cancel { perform(.cancel(id)) }
      if let id = outbox.cancel { perform(.cancel(id)) }
      for id in pages.cancel { perform(.cancel(id)) }
      if let timer = machine.disarm { perform(.disarm(timer)) }
      if let timer = outbox.disarm { perform(.disarm(timer)) }
      if let timer = storage.disarm { perform(.disarm(timer)) }
      if let timer = pages.disarm { perform(.disarm(timer)) }
      if let report = machine.report { perform(.report(report)) }
      if let failure = outbox.report { perform(.report(.failure(failure))) }
      if storage.report { perform(.report(.store)) }
      if let nameShared { perform(.report(.nameShared(nameShared))) }
      if let failure = pages.report { perform(.report(.failure(failure))) }
      if let log = machine.release { perform(.release(log)) }
      switch storage.operation {
      case .load: perform(.load)
      case .save(let write): perform(.save(write))
      case .read(let id, let queries): perform(.read(id, queries))
      case .erase: perform(.erase)
      case nil: break
      }
      switch machine.request ?? subscription {
      case .register(let id): perform(.register(id))
      case .poll(let id, let finger, let waits): perform(.poll(id, finger: finger, waits: waits))
      case nil: break
      }
      if let push = outbox.push { perform(.push(push, at: pushedFrom)) }
      for (id, request) in pages.fetch { perform(.fetch(id, request)) }
      if let arm = machine.arm { perform(.arm(arm.timer, arm.range)) }
      if let arm = outbox.arm { perform(.arm(arm.timer, arm.range)) }
      if let arm = storage.arm { perform(.arm(arm.timer, arm.range)) }
      if let arm = pages.arm { perform(.arm(arm.timer, arm.range)) }
    }
  }
}

/// The parts of a client that changed.
public struct ClientChanges: OptionSet, Sendable {
  public let rawValue: UInt8

  @inlinable
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The model: a snapshot, events, a page, or its removal.
  @inlinable public static var model: ClientChanges { ClientChanges(rawValue: 1) }
  /// The view: the model with pending mutations over it.
  @inlinable public static var view: ClientChanges { ClientChanges(rawValue: 2) }
  /// The state of mutations.
  @inlinable public static var outbox: ClientChanges { ClientChanges(rawValue: 4) }
  /// The status, or what may be told of freshness.
  @inlinable public static var status: ClientChanges { ClientChanges(rawValue: 8) }
}

/// One thing that a machine was told.
@usableFromInline
package enum MachineHeard<Place: Finger>: Equatable, Sendable {
  /// The machine is a new one, restored with a saved finger.
  case restored(Place, ServerTerms, age: TimeSpan?)
  case input(Machine<Place>.Input)
}

extension SyncClient.Effects {
  /// The effects in their order, for tests and texts. Allocates.
  @inlinable
  package var list: [SyncClient.Effect] {
    var list: [SyncClient.Effect] = []
    each { list.append($0) }
    return list
  }

  /// One line per effect, with moments relative to `now`.
  package func texts(at now: Moment) -> [String] {
    var texts: [String] = []
    each { texts.append($0.text(at: now)) }
    return texts
  }

  /// Whether there is nothing to do.
  @inlinable
  package var isEmpty: Bool {
    var isEmpty = true
    each { _ in isEmpty = false }
    return isEmpty
  }
}

extension SyncClient.Effect {
  /// One line: "save 41", "arm 3 in (0, 0.8 s]".
  package func text(at now: Moment) -> String {
    switch self {
    case .cancel(let id): "cancel \(id)"
    case .disarm(let timer): "disarm \(timer)"
    case .report(let report): "report \(report)"
    case .release(let log): "release \(log)"
    case .load: "load"
    case .save(let write): "save \(write)"
    case .read(let id, let queries): "read \(id), queries: \(queries.count)"
    case .erase: "erase"
    case .register(let id): "register \(id)"
    case .poll(let id, let finger, waits: true): "poll \(id) from \(finger)"
    case .poll(let id, let finger, waits: false): "poll \(id) from \(finger), quick"
    case .push(let push, _): push.description
    case .fetch(let id, let request): "fetch \(id): \(request)"
    case .arm(let timer, let range): "arm \(timer) \(range.text(at: now))"
    }
  }
}

extension SyncClient.Effect: Equatable where Model.Change: Equatable {}
