#if !hasFeature(Embedded)

  internal import UpdateMachine

  // Undo and redo by the user of any app.

  extension OfflineUser {
    /// Notes an undo or a redo, and judges it by the law that undo and redo together change nothing
    /// that the user sees.
    mutating func tookBack(
      _ stack: UndoStack, from before: Body, to after: Body, at now: Moment
    ) {
      guard let local = before.local, let new = after.local,
        let ticket = local.outbox.newestTicket(of: stack)
      else { return }
      let isMade = new.outbox.newestTicket > local.outbox.newestTicket
      let isDiscarded =
        new.outbox.state(of: ticket) == .discarded && local.outbox.state(of: ticket) != .discarded
      if isDiscarded, let mutation = local.outbox.mutation(of: ticket) {
        memory.discard(mutation.tickets, isCertain: !local.outbox.mayHaveCopy(of: ticket))
      }
      if isMade, let change = local.change(toTakeBack: stack) {
        let made = new.outbox.newestTicket
        memory.note(
          made, change, confirmed: before.model.map { $0.confirmation.last } ?? .none,
          isGivenAgain: isGivenAgain(made, by: new.outbox.client))
        let pending = new.outbox.pending.first { $0.tickets.contains(made) }
        if let undone = pending?.takesBack { memory.noteReversal(made, of: undone) }
      }
      judgeRedo(of: stack, local, after, isTaken: isMade || isDiscarded, at: now)
    }

    private mutating func judgeRedo(
      of stack: UndoStack, _ local: LocalChanges<Change>, _ after: Body, isTaken: Bool,
      at now: Moment
    ) {
      var again = after
      if isTaken {
        let canRedo =
          after.local?.outbox.newestTicket(of: .redo) != local.outbox.newestTicket(of: .redo)
        // What throws may pass over an undone state, and then be in the way of the redo.
        let isCalm =
          local.outbox.setAside.isEmpty && local.outbox.count < Self.pendingMaximum
        guard stack == .undo, canRedo, isCalm else { return }
        _ = try? again.redo(at: now)
      }
      let (expected, found) = ("\(local.view.state)", again.view.map { "\($0)" } ?? "nothing")
      guard expected != found else { return }
      check.lie = UserObjection(
        .input, "an undo and its redo change nothing that the user sees: \(expected)", found)
    }
  }

#endif
