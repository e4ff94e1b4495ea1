/// What the user changed, and what there is to show with it: an outbox and its view, as one value.
public struct LocalChanges<Change: Mutation>: Sendable {
  public private(set) var outbox: Outbox<Change>
  public private(set) var view: LocalView<Change>

  /// Nothing is pending over this confirmed state.
  public init(_ outbox: Outbox<Change>, over confirmed: Change.State) {
    self.outbox = outbox
    view = LocalView(of: confirmed)
  }

  /// The same, after an earlier one of the same life, which has told so many versions.
  @usableFromInline
  init(_ outbox: Outbox<Change>, over confirmed: Change.State, after version: UInt64) {
    self.outbox = outbox
    view = LocalView(of: confirmed, after: version)
  }

  /// ``Outbox/mutate(_:_:at:)`` in the view.
  public mutating func mutate(
    _ change: Change, at now: Moment
  ) throws(MutationError<Change.Refusal>) -> Outbox<Change>.Mutated {
    try outbox.mutate(change, &view, at: now)
  }

  /// As ``mutate(_:at:)``, behind what an earlier input of the same step has led to.
  @usableFromInline
  mutating func mutate(
    _ change: Change, at now: Moment, _ effects: inout Outbox<Change>.Effects
  ) throws(MutationError<Change.Refusal>) -> (ticket: MutationTicket, value: Change.Value) {
    try outbox.mutate(change, &view, at: now, &effects)
  }

  /// Takes one input, and shows what has changed by it; returns what to do, in this order.
  public mutating func handle(
    _ input: Outbox<Change>.Input, at now: Moment
  ) -> Outbox<Change>.Effects {
    var effects = Outbox<Change>.Effects()
    handle(input, at: now, &effects)
    return effects
  }

  /// As ``handle(_:at:)``, behind what an earlier input of the same step has led to.
  @usableFromInline
  mutating func handle(
    _ input: Outbox<Change>.Input, at now: Moment, _ effects: inout Outbox<Change>.Effects
  ) {
    outbox.handle(input, at: now, &effects)
    outbox.replay(&view, at: now, &effects)
  }

  /// ``Outbox/replay(_:at:)`` of the view. O(1) if it is level.
  @usableFromInline
  mutating func replay(at now: Moment, _ effects: inout Outbox<Change>.Effects) {
    outbox.replay(&view, at: now, &effects)
  }

  /// The log is being asked: ``Outbox/wantsPull`` is granted.
  @usableFromInline
  mutating func noteAsked() { outbox.sending.wantsPull = false }

  // MARK: What the confirmed state says

  /// There is a newer confirmed state, which has the client's mutations up to `last` in it.
  public mutating func confirm(
    _ confirmed: Change.State, through last: MutationID, refusal: MutationRefusal?
  ) {
    outbox.confirm(through: last, refusal: refusal)
    view.confirm(confirmed)
  }

  /// There is a newer confirmed state, in which this mutation is.
  public mutating func confirm(_ confirmed: Change.State, echo ticket: MutationTicket?) {
    if let ticket { outbox.echo(of: ticket) }
    view.confirm(confirmed)
  }

  /// ``Outbox/confirmAccepted(before:)``: the confirmed state is a snapshot that was asked for then.
  public mutating func confirmAccepted(before sent: Moment) {
    outbox.confirmAccepted(before: sent)
  }

  /// ``Outbox/pollLeft()``.
  public mutating func pollLeft() { outbox.pollLeft() }

  /// ``Outbox/pollWasAnswered()``: its events have been applied.
  public mutating func pollWasAnswered() { outbox.pollWasAnswered() }

  /// ``Outbox/restored(in:)``, over what was confirmed then. `settings`: what this version of the app
  /// wants; `nil`: those that were saved.
  public mutating func restored(
    over confirmed: Change.State, in life: Life = Life(0), settings: OutboxSettings? = nil
  ) {
    outbox.restored(in: life)
    if let settings { outbox.settings = settings }
    view = LocalView(of: confirmed)
  }
}
