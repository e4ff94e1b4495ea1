internal import SyncProtocols
internal import UpdateMachine

/// Oracle H of a stream. The view is the plain fold of the confirmed events and the pending
/// changes. A confirmed change is on the stream once, as it was made. What the law has dropped is
/// said to be dropped, and nothing else is.
enum StreamsOracle {
  static func objection(
    to model: StreamModel, _ local: LocalChanges<StreamChange>, _ book: ChangeBook<StreamChange>,
    _ truth: StreamsTruth
  ) -> UserObjection? {
    if let event = truth.repeated {
      return UserObjection(.input, "one UUID is one event", "\(event.change) comes twice")
    }
    for (sequence, event) in model.events {
      let written = truth.event(at: sequence)
      if written?.change.id == event.change.id, written?.client == event.client { continue }
      return UserObjection(
        .input, "sequence \(sequence) is the same event for all", "\(event.change)")
    }
    return objectionToView(model, local, book, truth)
      ?? objectionToChanges(local.outbox, book, truth)
  }

  private static func objectionToView(
    _ model: StreamModel, _ local: LocalChanges<StreamChange>, _ book: ChangeBook<StreamChange>,
    _ truth: StreamsTruth
  ) -> UserObjection? {
    let state = model.state
    let pending = local.outbox.pending.filter { $0.refusal == nil }.map { $0.change }
    let expected = shown(to: state, truth, with: pending)
    let view = local.view.state
    let found = ShownStream(view)
    guard expected.description == found.description else {
      return UserObjection(
        .causality, "\(expected), up to \(state.latest) with \(pending)",
        "\(found) with \(local.outbox)")
    }
    let count = Int(state.latest.number) + 1
    let ids = book.made.map { $0.change.id } + truth.events.prefix(count).map { $0.change.id }
    for id in ids where view.hasDropped(id) != (expected.dropped[id] ?? false) {
      return UserObjection(
        .input, "\(id) \(expected.dropped[id] == true ? "is" : "is not") dropped", "\(found)")
    }
    return nil
  }

  /// What a client shows that knows a state and has made changes.
  private static func shown(
    to state: StreamState, _ truth: StreamsTruth, with changes: [StreamChange],
    through least: StreamSequence = .none
  ) -> ShownStream {
    let pending = changes.map {
      StreamEvent(sequence: StreamSequence(.max - 1), client: state.client, change: $0)
    }
    let law = state.client == .nameless ? .firstWriterWins : truth.law
    let last = max(state.latest, least)
    return truth.shown(through: Int(last.number) + 1, and: pending, by: law)
  }

  /// Asked when a change has just been overruled: the law must drop it, or its object be gone, at
  /// least once all is there that its maker had seen. The user may have made the object anew later.
  static func objection(
    toOverruling change: StreamChange, _ model: StreamModel, _ local: LocalChanges<StreamChange>,
    _ truth: StreamsTruth
  ) -> UserObjection? {
    let earlier = local.outbox.pending.filter { $0.refusal == nil }.map { $0.change }.filter {
      ($0.preceding, $0.clientSequence) < (change.preceding, change.clientSequence)
    }
    let shown = shown(
      to: model.state, truth, with: earlier + [change], through: change.preceding)
    if shown.dropped[change.id] == true || !shown.objects.contains(change.key) { return nil }
    return UserObjection(.input, "\(change) is overruled only by a deletion", "\(shown)")
  }

  /// Asked when a change has just been acknowledged: it must have an effect, now or when its event
  /// came.
  static func objection(
    toAcknowledging change: StreamChange, _ model: StreamModel, _ truth: StreamsTruth
  ) -> UserObjection? {
    guard let place = truth.sequences[change.id] else { return nil }  // Asked below.
    for last in [Int(place.number), Int(model.state.latest.number)] {
      let shown = truth.shown(through: last + 1, and: [], by: truth.law)
      guard shown.dropped[change.id] == true else { return nil }
    }
    return UserObjection(
      .input, "\(change) is overruled", "it is acknowledged: \(model.state.latest)")
  }

  private static func objectionToChanges(
    _ outbox: Outbox<StreamChange>, _ book: ChangeBook<StreamChange>, _ truth: StreamsTruth
  ) -> UserObjection? {
    for aside in outbox.setAside {
      guard case .refused(let code) = aside.reason, code == RejectionCode("NO_EVENT") else {
        continue
      }
      return UserObjection(.input, "the server never refuses an event", "\(aside.change)")
    }
    for made in book.made where !book.isDoubtful(made) {
      let place = truth.sequences[made.change.id]
      if let place {
        let event = truth.events[Int(place.number)]
        guard event.change == made.change else {
          return UserObjection(.input, "\(made.change) is sent as it was made", "\(event.change)")
        }
      }
      guard !made.isDiscarded else { continue }
      switch outbox.state(of: made.ticket) {
      case .queued, .sent, .setAside, .uncertain, .discarded, .overruled: continue
      case .acknowledged, nil:
        guard place == nil else { continue }
        return UserObjection(
          .input, "\(made.ticket), \(made.change), is confirmed once it is on the stream",
          "\(outbox)")
      }
    }
    return nil
  }
}
