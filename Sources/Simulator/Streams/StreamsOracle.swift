internal import SyncProtocols
internal import UpdateMachine

/// Oracle H of a stream. The view is the plain fold of the confirmed events and the pending changes.
/// A confirmed change is on the stream once, as it was made; what the law has dropped is said to be
/// dropped, and nothing else is.
enum StreamsOracle {
  static func objection(
    to model: StreamModel, _ local: LocalChanges<StreamChange>, _ book: StreamsBook,
    _ truth: StreamsTruth
  ) -> UserObjection? {
    if let event = truth.repeated {
      return UserObjection(.input, "one UUID is one event", "\(event.change) comes twice")
    }
    return objectionToView(model, local, book, truth)
      ?? objectionToChanges(local.outbox, book, truth)
  }

  private static func objectionToView(
    _ model: StreamModel, _ local: LocalChanges<StreamChange>, _ book: StreamsBook,
    _ truth: StreamsTruth
  ) -> UserObjection? {
    let state = model.state
    var pending: [StreamEvent] = []
    for item in local.outbox.pending where item.refusal == nil {
      pending.append(
        StreamEvent(
          sequence: EventSequence(.max - 1), client: state.client, change: item.change))
    }
    let law = state.client == .nameless ? .firstWriterWins : truth.law
    let count = Int(state.latest.number) + 1
    let expected = truth.shown(through: count, and: pending, by: law)
    let view = local.view.state
    let found = ShownStream(view)
    guard expected.description == found.description else {
      return UserObjection(
        .causality, "\(expected), up to \(state.latest) with \(pending.map { $0.change })",
        "\(found) with \(local.outbox)")
    }
    let ids = book.made.map { $0.change.id } + truth.events.prefix(count).map { $0.change.id }
    for id in ids where view.hasDropped(id) != (expected.dropped[id] ?? false) {
      let wasOverruled = book.made.contains {
        $0.change.id == id && local.outbox.state(of: $0.ticket) == .overruled
      }
      if wasOverruled { continue }
      return UserObjection(
        .input, "\(id) \(expected.dropped[id] == true ? "is" : "is not") dropped", "\(found)")
    }
    return nil
  }

  private static func objectionToChanges(
    _ outbox: Outbox<StreamChange>, _ book: StreamsBook, _ truth: StreamsTruth
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
      case .queued, .sent, .setAside, .uncertain, .discarded: continue
      case .overruled:
        let isDeleted = truth.events.contains {
          $0.change.kind == .delete && $0.change.key == made.change.key
            && $0.client != outbox.client
        }
        if isDeleted, truth.law == .firstWriterWins { continue }
        return UserObjection(
          .input, "\(made.ticket) is overruled only by another's deletion", "\(made.change)")
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
