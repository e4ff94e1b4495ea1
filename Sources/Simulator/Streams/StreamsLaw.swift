package import SyncProtocols
internal import UpdateMachine

/// A stream's law: all clients fold the same events in the same causal order. What the stream's
/// rule of deletions drops is said to be dropped, and nothing else is.
package struct StreamsLaw: ConflictLaw {
  package typealias Change = StreamChange

  let model: StreamModel
  let local: LocalChanges<StreamChange>
  let truth: StreamsTruth

  package func objectionToView(_ book: Book) -> UserObjection? {
    let state = model.state
    let pending = local.outbox.pending.filter { $0.refusal == nil }.map { $0.change }
    let expected = shown(with: pending)
    let view = local.view.state
    let found = ShownStream(view)
    guard expected.description == found.description else {
      return UserObjection(
        .causality, "\(expected), up to \(state.latest) with \(pending)",
        "\(found) with \(local.outbox)")
    }
    if let change = undoInVain(among: local.outbox.pending) {
      return UserObjection(
        .causality, "an undo is set aside only if it does not find what it takes back",
        "\(change) finds it: \(found)")
    }
    let count = Int(state.latest.number) + 1
    let ids = book.made.map { $0.change.id } + truth.events.prefix(count).map { $0.change.id }
    for id in ids where view.hasDropped(id) != (expected.dropped[id] ?? false) {
      return UserObjection(
        .input, "\(id) \(expected.dropped[id] == true ? "is" : "is not") dropped", "\(found)")
    }
    return nil
  }

  /// An undo that is set aside, though it finds what it takes back; `nil`: there is none. The undo
  /// of a change without effect does not count: it has none either.
  private func undoInVain(among pending: [Outbox<StreamChange>.Pending]) -> StreamChange? {
    for (place, undo) in pending.enumerated() where undo.refusal == .changed {
      let isIdle = pending.contains { other in
        other.refusal != nil && undo.takesBack.map { other.tickets.contains($0) } ?? false
      }
      if isIdle { continue }
      let earlier = pending[..<place].filter { $0.refusal == nil }.map { $0.change }
      if shown(with: earlier + [undo.change]).dropped[undo.change.id] == true { continue }
      return undo.change
    }
    return nil
  }

  /// What a client shows that holds what this one has confirmed, and has made some changes.
  private func shown(
    with changes: [StreamChange], through least: StreamSequence = .none
  ) -> ShownStream {
    let state = model.state
    let pending = changes.map {
      StreamEvent(sequence: StreamSequence(.max - 1), client: state.client, change: $0)
    }
    let law = state.client == .nameless ? .firstWriterWins : truth.law
    let last = max(state.latest, least)
    return truth.shown(through: Int(last.number) + 1, and: pending, by: law)
  }

  package func objectionToServer(_ book: Book) -> UserObjection? {
    if let event = truth.repeated {
      return UserObjection(.input, "one UUID is one event", "\(event.change) comes twice")
    }
    for (sequence, event) in model.events {
      let written = truth.event(at: sequence)
      if written?.change.id == event.change.id, written?.client == event.client { continue }
      return UserObjection(
        .input, "sequence \(sequence) is the same event for all", "\(event.change)")
    }
    for aside in local.outbox.setAside {
      guard case .refused(let code) = aside.reason, code == RejectionCode("NO_EVENT") else {
        continue
      }
      return UserObjection(.input, "the server never refuses an event", "\(aside.change)")
    }
    for made in book.made where !book.isDoubtful(made) {
      guard let event = written(made), event.change != made.change else { continue }
      return UserObjection(.input, "\(made.change) is sent as it was made", "\(event.change)")
    }
    return nil
  }

  private func written(_ made: Made) -> StreamEvent? {
    truth.sequences[made.change.id].map { truth.events[Int($0.number)] }
  }

  package func isConfirmed(_ made: Made, _ book: Book) -> Bool { written(made) != nil }

  /// The rule must drop it, or its object be gone, at least once all is there that its maker had
  /// seen: now, or when its event came. The user may have made the object anew later. And an event
  /// that comes later may have an earlier place in causal order, and bring the object back.
  package func canOverrule(_ made: Made, _ book: Book) -> Bool {
    let change = made.change
    let earlier = local.outbox.pending.filter { $0.refusal == nil }.map { $0.change }.filter {
      ($0.preceding, $0.clientSequence) < (change.preceding, change.clientSequence)
    }
    if isDropped(change, in: shown(with: earlier + [change], through: change.preceding)) {
      return true
    }
    return written(made).map { isDropped(change, in: shown(through: $0.sequence)) } ?? false
  }

  private func isDropped(_ change: StreamChange, in shown: ShownStream) -> Bool {
    shown.dropped[change.id] == true || !shown.objects.contains(change.key)
  }

  private func shown(through last: StreamSequence) -> ShownStream {
    truth.shown(through: Int(last.number) + 1, and: [], by: truth.law)
  }

  /// It must have an effect, now or when its event came.
  package func canAcknowledge(_ made: Made) -> Bool {
    guard let event = written(made) else { return true }  // It is not confirmed: see above.
    return [event.sequence, model.state.latest].contains {
      shown(through: $0).dropped[made.change.id] != true
    }
  }
}
