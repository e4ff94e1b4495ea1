/// An outbox and its view, as one value.
@usableFromInline
package struct LocalChanges<Change: Mutation>: Sendable {
  @usableFromInline package private(set) var outbox: Outbox<Change>
  @usableFromInline package private(set) var view: LocalView<Change>

  /// Creates a view of this confirmed state, and replays nothing yet.
  @usableFromInline
  package init(_ outbox: Outbox<Change>, over confirmed: Change.State) {
    self.outbox = outbox
    view = LocalView(of: confirmed)
  }

  /// Creates one that follows an earlier one of the same incarnation, whose view had this version.
  @usableFromInline
  init(_ outbox: Outbox<Change>, over confirmed: Change.State, after version: UInt64) {
    self.outbox = outbox
    view = LocalView(of: confirmed, after: version)
  }

  /// Calls ``Outbox/mutate(_:_:at:)`` with the view.
  package mutating func mutate(
    _ change: Change, at now: Moment
  ) throws(MutationError<Change.Refusal>) -> Outbox<Change>.Mutated {
    let made = try outbox.mutate(change, &view, at: now)
    outbox.noteDepartures(over: view.confirmed)
    return made
  }

  /// Does what ``mutate(_:at:)`` does, adding to the effects of earlier inputs of the same step.
  @usableFromInline
  mutating func mutate(
    _ change: Change, at now: Moment, _ effects: inout Outbox<Change>.Effects
  ) throws(MutationError<Change.Refusal>) -> (ticket: MutationTicket, value: Change.Value) {
    let made = try outbox.mutate(change, &view, at: now, &effects)
    outbox.noteDepartures(over: view.confirmed)
    return made
  }

  /// Takes back the newest change of a stack (``Outbox/takeBack(newestOf:_:at:_:)``).
  @usableFromInline
  mutating func takeBack(
    newestOf stack: UndoStack, at now: Moment, _ effects: inout Outbox<Change>.Effects
  ) throws(MutationError<Change.Refusal>) -> UndoOutcome<Change.Refusal> {
    let outcome = try outbox.takeBack(newestOf: stack, &view, at: now, &effects)
    outbox.noteDepartures(over: view.confirmed)
    return outcome
  }

  /// Calls ``Outbox/change(toTakeBack:over:)`` with the view.
  @usableFromInline
  package func change(toTakeBack stack: UndoStack) -> Change? {
    outbox.change(toTakeBack: stack, over: view.confirmed)
  }

  /// Takes one input and updates the view. Returns what to do, in order.
  package mutating func handle(
    _ input: Outbox<Change>.Input, at now: Moment
  ) -> Outbox<Change>.Effects {
    var effects = Outbox<Change>.Effects()
    handle(input, at: now, &effects)
    return effects
  }

  /// Does what ``handle(_:at:)`` does, adding to the effects of earlier inputs of the same step.
  @usableFromInline
  mutating func handle(
    _ input: Outbox<Change>.Input, at now: Moment, _ effects: inout Outbox<Change>.Effects
  ) {
    if case .edited(let ticket, let change) = input {
      let isTaken = outbox.canEdit(ticket)
      let stamped = outbox.stamped(change, asEditOf: ticket, over: view.confirmed)
      outbox.handle(.edited(ticket, stamped), at: now, &effects)
      if isTaken { outbox.noteEdited(ticket, over: view.confirmed) }
    } else {
      outbox.handle(input, at: now, &effects)
    }
    replay(at: now, &effects)
  }

  /// Calls ``Outbox/replay(_:at:)`` with the view. O(1) if the view is up to date. What is then
  /// about to leave will find nothing of its own in the confirmed state.
  @usableFromInline
  mutating func replay(at now: Moment, _ effects: inout Outbox<Change>.Effects) {
    outbox.replay(&view, at: now, &effects)
    outbox.noteDepartures(over: view.confirmed)
  }

  // MARK: Confirmed state

  /// Takes a newer confirmed state, which follows on the present one.
  package mutating func confirm(
    _ confirmed: Change.State, through last: MutationID, refusal: MutationRefusal?
  ) { confirm(confirmed, through: last, refusal: refusal, after: view.confirmed) }

  /// Takes a newer confirmed state, which has run the client's mutations up to `last`.
  ///
  /// - Parameter earlier: the last confirmed state of which it is known that it comes before those
  ///   mutations; `nil`: none is held.
  @usableFromInline
  package mutating func confirm(
    _ confirmed: Change.State, through last: MutationID, refusal: MutationRefusal?,
    after earlier: Change.State?
  ) {
    if let earlier { outbox.noteRun(through: last, refusal: refusal, over: earlier) }
    outbox.confirm(through: last, refusal: refusal)
    view.confirm(confirmed)
  }

  /// Takes a newer confirmed state, which contains the mutation of `ticket`, if there is one.
  @usableFromInline
  package mutating func confirm(
    _ confirmed: Change.State, echo ticket: MutationTicket?,
    overruledIf isOverruled: (Change) -> Bool = { _ in false }
  ) {
    if let ticket {
      outbox.noteRun(ticket, from: view.confirmed, to: confirmed)
      outbox.echo(of: ticket, overruledIf: isOverruled)
    }
    view.confirm(confirmed)
  }

  /// Calls ``Outbox/confirmAccepted(before:overruledIf:)``: the confirmed state is a snapshot
  /// requested at `sent`.
  @usableFromInline
  package mutating func confirmAccepted(
    before sent: Moment, overruledIf isOverruled: (Change) -> Bool
  ) {
    outbox.confirmAccepted(before: sent, overruledIf: isOverruled)
  }

  /// Calls ``Outbox/takeSharedName()``.
  @usableFromInline
  mutating func takeSharedName() -> Bool { outbox.takeSharedName() }

  /// Calls ``Outbox/pollLeft()``.
  @usableFromInline
  package mutating func pollLeft() { outbox.pollLeft() }

  /// Calls ``Outbox/pollWasAnswered(overruledIf:)``. The answer's events have been applied.
  @usableFromInline
  package mutating func pollWasAnswered(overruledIf isOverruled: (Change) -> Bool) {
    outbox.pollWasAnswered(overruledIf: isOverruled)
  }

  /// Calls ``Outbox/restored(in:)``, with a new view of what was confirmed then. `settings`: those
  /// of this version of the app; `nil` keeps the outbox's.
  @usableFromInline
  package mutating func restored(
    over confirmed: Change.State, in incarnation: Incarnation = Incarnation(0),
    settings: OutboxSettings? = nil
  ) {
    outbox.restored(in: incarnation)
    if let settings { outbox.settings = settings }
    view = LocalView(of: confirmed)
  }
}

/// An outbox without a state to replay it over. It lies out of line, because almost no client ever
/// has one, and an idle client should be small.
@usableFromInline
package indirect enum KeptOutbox<Change: Mutation>: Sendable {
  case outbox(Outbox<Change>)

  @usableFromInline
  package var outbox: Outbox<Change> {
    switch self {
    case .outbox(let outbox): outbox
    }
  }
}
