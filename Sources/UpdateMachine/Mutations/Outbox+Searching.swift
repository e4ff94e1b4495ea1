// A mutation that may be at the server, which cannot recognise a second copy, is looked for there
// before the app is asked. What it created has an ID above all that were in use when it left.
//
// Source: Zulip answers with the ID of what was sent, and numbers all messages upwards; the rest is
// ours.

extension Outbox {
  /// Notes that a mutation is about to leave. If the server may have an earlier copy, what that
  /// one left above still holds.
  mutating func noteDeparture(at index: Int) {
    queue[index].isSought = false
    if queue[index].mayHaveCopy, queue[index].leftAbove != nil { return }
    queue[index].leftAbove = nil
    sending.hasDeparture = true
  }

  /// Notes above which ID the server will number what the mutations create that are about to leave.
  ///
  /// The confirmed state may lack what an earlier mutation has created, as long as only the answer
  /// to its push tells of it.
  @usableFromInline
  mutating func noteDepartures(over confirmed: Change.State) {
    guard sending.hasDeparture else { return }
    sending.hasDeparture = false
    for index in queue.indices where queue[index].isMarked && queue[index].leftAbove == nil {
      guard let known = queue[index].change.createsAbove(in: confirmed) else { continue }
      queue[index].leftAbove = max(known, lastCreated ?? known)
    }
  }

  /// Notes the ID of what a mutation has created.
  mutating func noteCreated(_ id: Int64, at index: Int) {
    queue[index].created = id
    if queue[index].leftAbove != nil { lastCreated = max(id, lastCreated ?? id) }
  }

  /// Takes the answer to a search. What was found counts as accepted when the answer came. Any
  /// other answer leaves it to the app, which may have decided already.
  mutating func searched(
    _ push: OutstandingPush, _ answer: PushAnswer, at now: Moment, _ effects: inout Effects
  ) {
    sending.retry.transient.reset()
    sending.retry.timeouts.reset()
    if let index = queue.firstIndex(where: { $0.isUncertain && $0.id == push.first }) {
      switch answer {
      case .accepted, .created:
        noteAccepted(at: index, push.first, at: now)
        if case .created(let id) = answer { noteCreated(id, at: index) }
        changed()
        persist(&effects)
      case .absent, .refused, .acceptedOnly, .behind, .tooLarge: queue[index].isSought = true
      }
    }
    proceed(at: now, &effects)
  }

  /// Ends the search for a mutation that the app decides about.
  mutating func giveUpSearch(for ticket: MutationTicket, _ effects: inout Effects) {
    guard case .pushing(let push) = sending.status, push.isSearch,
      let index = index(of: ticket), queue[index].id == push.first
    else { return }
    cancel(push, &effects)
    disarm(&effects)
    sending.status = .resting
  }
}
