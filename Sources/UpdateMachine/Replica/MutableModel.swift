/// A model that its user changes, too: what is confirmed, and over it what is not yet.
///
/// The outbox is a part of the model, so it is saved with it, and an event and what it confirms are
/// taken together or not at all. ``Rebased`` is one for any confirmed state. One of the app's own, where
/// the server has no IDs, passes on to ``local`` what it hears of polls and of its snapshot.
public protocol MutableModel: SyncModel {
  associatedtype Change: Mutation

  /// What the user changed and the server has not confirmed, and what there is to show with it.
  var local: LocalChanges<Change> { get set }
}

extension MutableModel {
  @inlinable
  public static var isSavedWithoutFinger: Bool { true }
}

/// What a server has confirmed of one client's mutations, told with the state that it is of.
public struct MutationConfirmation: Hashable, Sendable {
  /// The server has seen to them up to here.
  public var last: MutationID
  /// The last of them that it refused.
  public var refusal: MutationRefusal?

  @inlinable
  public init(last: MutationID, refusal: MutationRefusal? = nil) {
    self.last = last
    self.refusal = refusal
  }
}

/// A confirmed state that says how far a client's mutations are in it.
public protocol ConfirmingModel: SyncModel {
  associatedtype Change: Mutation

  /// Whose mutations it speaks of: the client that asked for it.
  var client: ClientID { get }

  /// How far they are in it.
  var confirmation: MutationConfirmation { get }

  /// What mutations are replayed over.
  var state: Change.State { get }

  /// The client's mutation of which this event is the echo; `nil`, the default: of none. Where the
  /// server knows no IDs, an event that has the client's own name for a mutation confirms it.
  func echo(in event: Event) -> MutationTicket?

  /// Whether its server knows a mutation again by its ID (``Outbox/isIdempotent``). By default it
  /// does.
  static var knowsMutationsAgain: Bool { get }

  /// The numbers of its outbox. By default right for most.
  static var outboxSettings: OutboxSettings { get }
}

extension ConfirmingModel {
  @inlinable
  public func echo(in event: Event) -> MutationTicket? { nil }

  @inlinable
  public static var knowsMutationsAgain: Bool { true }

  @inlinable
  public static var outboxSettings: OutboxSettings { OutboxSettings() }
}

/// A confirmed state with its client's pending mutations: the model of a replica that its user
/// changes. A new confirmed state takes the place of the old one; the outbox stays, and what is
/// pending is replayed.
public struct Rebased<Confirmed: ConfirmingModel>: MutableModel {
  public typealias Change = Confirmed.Change

  /// What the server has said.
  public internal(set) var confirmed: Confirmed
  public var local: LocalChanges<Change>

  public init(snapshot: Confirmed.Snapshot) throws(Confirmed.Refusal) {
    try self.init(snapshot: snapshot, replacing: nil)
  }

  /// The outbox is kept. If the snapshot is for another client, the app has lost its name: then what
  /// never left goes on in the new one, and the rest is set aside
  /// (``Outbox/init(client:takingOver:)``).
  public init(
    snapshot: Confirmed.Snapshot, replacing old: Rebased?
  ) throws(Confirmed.Refusal) {
    confirmed = try Confirmed(snapshot: snapshot, replacing: old?.confirmed)
    if let old, old.local.outbox.client == confirmed.client {
      local = old.local
    } else if let old {
      let outbox = Outbox(client: confirmed.client, takingOver: old.local.outbox)
      local = LocalChanges(outbox, over: confirmed.state)
    } else {
      let outbox = Outbox<Change>(
        client: confirmed.client, isIdempotent: Confirmed.knowsMutationsAgain,
        settings: Confirmed.outboxSettings)
      local = LocalChanges(outbox, over: confirmed.state)
    }
    confirm()
  }

  public mutating func apply(_ event: Confirmed.Event) throws(Confirmed.Refusal) {
    try confirmed.apply(event)
    if let ticket = confirmed.echo(in: event) {
      local.confirm(confirmed.state, echo: ticket)
    } else {
      confirm()
    }
  }

  private mutating func confirm() {
    let confirmation = confirmed.confirmation
    local.confirm(
      confirmed.state, through: confirmation.last, refusal: confirmation.refusal)
  }

  public static var hearsOfPolls: Bool {
    Confirmed.hearsOfPolls || !Confirmed.knowsMutationsAgain
  }

  public mutating func asked() {
    confirmed.asked()
    local.pollLeft()
  }

  public mutating func answered() {
    confirmed.answered()
    local.pollWasAnswered()
  }

  public mutating func snapshotWasAsked(at sent: Moment) {
    confirmed.snapshotWasAsked(at: sent)
    local.confirmAccepted(before: sent)
  }

  public mutating func restored() {
    confirmed.restored()
    local.restored(over: confirmed.state, settings: Confirmed.outboxSettings)
  }
}

extension Replica where Model: MutableModel {
  public typealias Change = Model.Change

  /// The user changes something, in the view: ``Outbox/mutate(_:_:at:)``. Throws also if nothing is
  /// held, for then nobody knows what would be changed.
  public mutating func mutate(
    _ change: Change, at now: Moment
  ) throws(MutationError<Change.Refusal>) -> Outbox<Change>.Mutated {
    let isHeldBack = isHeldBack(at: now)
    guard case .model(var model) = _holding else { throw .nothingHeld }
    _holding = .nothing  // So that the model is changed in place.
    defer { _holding = .model(model) }
    if isHeldBack { model.local.holdBack() }
    return try model.local.mutate(change, at: now)
  }

  /// Something happened to what is pending. What it changed is shown at once. Effects are to be
  /// performed in their order.
  public mutating func handle(
    _ input: Outbox<Change>.Input, at now: Moment
  ) -> (Outbox<Change>.Effects, Outbox<Change>.Effects) {
    var effects = (Outbox<Change>.Effects(), Outbox<Change>.Effects())
    let isHeldBack = isHeldBack(at: now)
    change {
      if isHeldBack { $0.local.holdBack() }
      effects = $0.local.handle(input, at: now)
    }
    return effects
  }

  /// After any input that may have changed the model: what is pending is replayed over what is
  /// confirmed now, and sent if it waited for that. O(1) if nothing has changed.
  public mutating func replay(at now: Moment) -> Outbox<Change>.Effects {
    var effects = Outbox<Change>.Effects()
    change { effects = $0.local.replay(at: now) }
    return effects
  }
}
