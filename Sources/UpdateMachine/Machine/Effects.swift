/// What a machine reports to the app's log.
public enum SyncReport: Hashable, Sendable {
  /// A request failed, for this reason.
  case failure(SyncFailure)
  /// The store failed: a load, a write or an erasure.
  case store
  /// The server has run more changes of this client than it ever sent.
  case nameShared(ClientID)
}

extension Machine {
  /// One instruction to the host (TheMachine §3). The host performs it and decides nothing.
  @usableFromInline
  package enum Effect: Equatable, Sendable {
    /// Cancel a request. Its answer may still arrive.
    case cancel(RequestID)
    /// Disarm a timer: it must not fire any more.
    case disarm(TimerID)
    /// Tell the app's log what went wrong.
    case report(SyncReport)
    /// Tell the server that a log is no longer needed. Best effort: not retried, not answered.
    case release(Place.Log)
    /// Delete the saved form, after any write that is under way.
    case erase
    /// Write the model, finger, terms and outbox as they are now. Gets exactly one answer.
    case persist(WriteID)
    /// Ask for a snapshot and a finger.
    case register(RequestID)
    /// Ask for the events after the finger. `waits`: the server may hold the poll open.
    case poll(RequestID, finger: Place, waits: Bool)
    /// Feed `fired` once, at a moment drawn from the range.
    case arm(TimerID, MomentRange)
  }

  /// The effects of one input, in the order in which they must be performed: cancel, disarm,
  /// report, release, erase, persist, register or poll, arm (TheMachine §3). Each occurs at most
  /// once and has its own field. So the order holds by construction, and nothing is allocated.
  @usableFromInline
  package struct Effects: Equatable, Sendable {
    /// The request to cancel.
    @usableFromInline package var cancel: RequestID?
    /// The timer to disarm.
    @usableFromInline package var disarm: TimerID?
    /// The report for the app's log.
    @usableFromInline package var report: SyncReport?
    /// The log to release.
    @usableFromInline package var release: Place.Log?
    /// Whether to delete the saved form, after any write that is under way.
    @usableFromInline package var erase = false
    /// The write to begin, of the replica as it is now.
    @usableFromInline package var persist: WriteID?
    /// The request to send.
    @usableFromInline package var request: Request?
    /// The timer to arm.
    @usableFromInline package var arm: TimerArm?

    /// A request to the server.
    @usableFromInline
    package enum Request: Equatable, Sendable {
      case register(RequestID)
      case poll(RequestID, finger: Place, waits: Bool)

      /// The request's ID.
      @inlinable
      package var id: RequestID {
        switch self {
        case .register(let id), .poll(let id, _, _): id
        }
      }
    }

    @inlinable
    package init() {}

    /// Whether the input was absorbed.
    @inlinable
    package var isEmpty: Bool {
      cancel == nil && disarm == nil && report == nil && release == nil && !erase
        && persist == nil && request == nil && arm == nil
    }

    /// Calls `perform` with each effect, in order.
    @inlinable
    package func each(_ perform: (Effect) -> Void) {
      if let cancel { perform(.cancel(cancel)) }
      if let disarm { perform(.disarm(disarm)) }
      if let report { perform(.report(report)) }
      if let release { perform(.release(release)) }
      if erase { perform(.erase) }
      if let persist { perform(.persist(persist)) }
      switch request {
      case .register(let id): perform(.register(id))
      case .poll(let id, let finger, let waits): perform(.poll(id, finger: finger, waits: waits))
      case nil: break
      }
      if let arm { perform(.arm(arm.timer, arm.range)) }
    }
  }
}

extension Machine.Effects {
  /// The effects in order, for tests and texts. Allocates.
  package var list: [Machine.Effect] {
    var list: [Machine.Effect] = []
    each { list.append($0) }
    return list
  }

  /// Returns one line for each effect, with moments as seen at `now`.
  package func texts(at now: Moment) -> [String] {
    var texts: [String] = []
    each { texts.append($0.text(at: now)) }
    return texts
  }
}

extension Machine.Effect {
  /// Returns one line: "persist 41", "arm 3 in (0, 0.8 s]".
  package func text(at now: Moment) -> String {
    switch self {
    case .arm(let timer, let range): "arm \(timer) \(range.text(at: now))"
    case .cancel, .disarm, .report, .release, .erase, .persist, .register, .poll: description
    }
  }
}

extension Machine.Effect: CustomStringConvertible {
  /// One line, with moments in milliseconds of the machine's clock.
  @usableFromInline package var description: String {
    switch self {
    case .cancel(let id): "cancel \(id)"
    case .disarm(let timer): "disarm \(timer)"
    case .report(let report): "report \(report)"
    case .release(let log): "release \(log)"
    case .erase: "erase"
    case .persist(let write): "persist \(write)"
    case .register(let id): "register \(id)"
    case .poll(let id, let finger, waits: true): "poll \(id) from \(finger)"
    case .poll(let id, let finger, waits: false): "poll \(id) from \(finger), quick"
    case .arm(let timer, let range): "arm \(timer) in [\(range.earliest), \(range.latest)]"
    }
  }
}

extension SyncReport: CustomStringConvertible {
  public var description: String {
    switch self {
    case .failure(let failure): failure.description
    case .store: "store"
    case .nameShared: "nameShared"
    }
  }
}
