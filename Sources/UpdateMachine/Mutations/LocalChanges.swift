/// What the user changed, and what there is to show with it: an outbox and its view, as one value.
public struct LocalChanges<Change: Mutation>: Sendable {
  public private(set) var outbox: Outbox<Change>
  public private(set) var view: LocalView<Change>

  /// Nothing is pending over this confirmed state.
  public init(_ outbox: Outbox<Change>, over confirmed: Change.State) {
    self.outbox = outbox
    view = LocalView(of: confirmed)
  }

  /// ``Outbox/mutate(_:_:at:)`` in the view.
  public mutating func mutate(
    _ change: Change, at now: Moment
  ) throws(MutationError<Change.Refusal>) -> Outbox<Change>.Mutated {
    try outbox.mutate(change, &view, at: now)
  }

  /// Takes one input, and shows what has changed by it; returns what to do, in this order.
  public mutating func handle(
    _ input: Outbox<Change>.Input, at now: Moment
  ) -> (Outbox<Change>.Effects, Outbox<Change>.Effects) {
    let effects = outbox.handle(input, at: now)
    return (effects, outbox.replay(&view, at: now))
  }

  /// ``Outbox/replay(_:at:)`` of the view. O(1) if it is level.
  public mutating func replay(at now: Moment) -> Outbox<Change>.Effects {
    outbox.replay(&view, at: now)
  }

  /// The log is being asked: ``Outbox/wantsPull`` is granted.
  mutating func noteAsked() { outbox.sending.wantsPull = false }

  /// A pull has become due before the next push, by time alone.
  mutating func holdBack() { outbox.sending.isHeldBack = true }

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

  /// ``Outbox/restored()``, over what was confirmed then. `settings`: what this version of the app
  /// wants; `nil`: those that were saved.
  public mutating func restored(
    over confirmed: Change.State, settings: OutboxSettings? = nil
  ) {
    outbox.restored()
    if let settings { outbox.settings = settings }
    view = LocalView(of: confirmed)
  }
}
