internal import UpdateMachine

/// What an undo or a redo has done to an outbox.
struct TakenBack<Change: Mutation>: Sendable {
  /// The change that it was about.
  var ticket: MutationTicket
  /// The change that was made, and which change that undoes.
  var made: (ticket: MutationTicket, change: Change, undone: MutationTicket?)?
  /// Whether the change that it was about was discarded.
  var isDiscarded: Bool
}

extension OutboxUser {
  /// What an undo or a redo has done; `nil`: there was nothing to take back.
  func takenBack(
    _ stack: UndoStack, from before: Body, to after: Body
  ) -> TakenBack<Model.Change>? {
    guard let old = before.local, let outbox = after.local?.outbox,
      let ticket = old.outbox.newestTicket(of: stack)
    else { return nil }
    let isDiscarded =
      outbox.state(of: ticket) == .discarded && old.outbox.state(of: ticket) != .discarded
    var taken = TakenBack<Model.Change>(ticket: ticket, made: nil, isDiscarded: isDiscarded)
    let newest = outbox.newestTicket
    if newest > old.outbox.newestTicket, let change = old.change(toTakeBack: stack) {
      let pending = outbox.pending.first { $0.tickets.contains(newest) }
      taken.made = (newest, change, pending?.takesBack)
    }
    return taken
  }

  /// The law of undo: an undo and its redo change nothing that anybody sees. One that did nothing
  /// changes nothing either.
  ///
  /// - Parameter seen: what people see of a state.
  func objectionToRedo<Sight: Equatable>(
    of stack: UndoStack, _ taken: TakenBack<Model.Change>, from before: Body, to after: Body,
    at now: Moment, seen: (Model.Change.State) -> Sight
  ) -> UserObjection? {
    guard let old = before.local, var view = after.view else { return nil }
    if taken.made != nil || taken.isDiscarded {
      let other: UndoStack = stack == .undo ? .redo : .undo
      let canMakeAgain =
        after.local?.outbox.newestTicket(of: other) != old.outbox.newestTicket(of: other)
      // What had no effect is discarded for good, and what had one can be made again.
      if !canMakeAgain, seen(view) != seen(old.view.state), old.outbox.setAside.isEmpty {
        return UserObjection(.input, "what was just taken back can be made again", words(after))
      }
      // What throws may pass over an undone state, and then be in the way of the redo.
      guard stack == .undo, canMakeAgain, old.outbox.setAside.isEmpty else { return nil }
      var again = after
      do throws(MutationError<Model.Change.Refusal>) {
        _ = try again.redo(at: now)
      } catch {
        if case .notConnected = error { return nil }
        return UserObjection(.input, "what was just undone can be redone", words(after))
      }
      view = again.view ?? view
    }
    if seen(view) == seen(old.view.state) { return nil }
    return UserObjection(
      .input, "an undo and its redo change nothing that anybody sees: \(words(before))",
      words(after))
  }

  /// What was just made, and did something, is what is undone next, however much there is to undo.
  private func objectionToNewest(from before: Body, to after: Body) -> UserObjection? {
    guard let old = before.local, let new = after.local else { return nil }
    let ticket = new.outbox.newestTicket
    guard ticket > old.outbox.newestTicket, let made = new.outbox.mutation(of: ticket)?.change,
      made.inverse(from: old.view.state, to: new.view.state) != nil,
      new.outbox.newestTicket(of: .undo) != ticket
    else { return nil }
    return UserObjection(
      .input, "what was just made is undone next: \(ticket)",
      "\(new.outbox.ticketsTaken(back: .undo))")
  }

  /// The order of what can be taken back: whatever a user does, of two changes that could be taken
  /// back the newer one stays the next. What is edited keeps its place.
  func objectionToOrder(after action: Action, from before: Body, to after: Body) -> UserObjection? {
    guard let old = before.local?.outbox, let new = after.local?.outbox else { return nil }
    if case .mutates = action, let objection = objectionToNewest(from: before, to: after) {
      return objection
    }
    for stack in [UndoStack.undo, .redo] {
      var tickets = old.ticketsTaken(back: stack)
      if tickets.isEmpty { continue }
      if case .decides(.edited(let ticket, _)) = action, old.canEdit(ticket),
        let edited = old.mutation(of: ticket)?.tickets, stack == .undo
      {
        // Of several that are one change now, the newest has its place.
        let place = tickets.lastIndex { edited.contains($0) }
        if let place { tickets[place] = edited.upperBound }
      }
      let now = new.ticketsTaken(back: stack)
      let stayed = tickets.filter(now.contains)
      guard now.filter(stayed.contains) != stayed else { continue }
      return UserObjection(
        .input, "what can be taken back keeps its order: \(tickets)", "\(now), after \(action)")
    }
    return nil
  }
}
