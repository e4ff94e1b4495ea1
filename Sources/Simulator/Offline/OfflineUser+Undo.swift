internal import UpdateMachine

// Undo and redo by the user of any app.

extension OfflineUser {
  /// Notes an undo or a redo, and judges it by the law.
  mutating func tookBack(
    _ stack: UndoStack, from before: Body, to after: Body, at now: Moment
  ) {
    guard let taken = takenBack(stack, from: before, to: after) else { return }
    if taken.isDiscarded, let outbox = before.local?.outbox,
      let mutation = outbox.mutation(of: taken.ticket)
    {
      memory.discard(mutation.tickets, isCertain: !outbox.mayHaveCopy(of: taken.ticket))
    }
    if let made = taken.made, let client = after.local?.outbox.client {
      memory.note(
        made.ticket, made.change, confirmed: before.model.map { $0.confirmation.last } ?? .none,
        isGivenAgain: isGivenAgain(made.ticket, by: client))
      if let undone = made.undone { memory.noteReversal(made.ticket, of: undone) }
    }
    let objection = objectionToRedo(
      of: stack, taken, from: before, to: after, at: now, seen: { "\($0)" })
    check.lie = check.lie ?? objection
  }
}
