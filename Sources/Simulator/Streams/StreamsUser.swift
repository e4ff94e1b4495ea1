package import SyncProtocols
package import UpdateMachine

extension ChangeBook<StreamChange> {
  /// What a new change must come after: the client's own order goes only forward. While the stream
  /// is read anew, a change that is set aside may have seen more than what is shown.
  func isLast(_ change: StreamChange, in outbox: Outbox<StreamChange>) -> Bool {
    made.allSatisfy {
      let old = $0.change
      return $0.isDiscarded || $0.outcome == .overruled || old.id == change.id
        || outbox.state(of: $0.ticket) == .setAside || old.isBefore(change)
    }
  }

  /// Whether no change of other tickets has this one's place. Those that were given up count: they
  /// may be on the stream.
  func isAlone(_ change: StreamChange, with tickets: TicketSet) -> Bool {
    made.allSatisfy {
      isDoubtful($0) || tickets.contains($0.ticket) || $0.change.isBefore(change)
        || change.isBefore($0.change)
    }
  }
}

extension StreamChange: MarkedChange {
  package var marks: [StreamEventID] { [id] }

  /// Whether it looks at fields that another change of the object has written. Their values do not
  /// count, because what was coalesced is noted as one change, and undone step by step.
  fileprivate func takesBackOnly(_ other: StreamChange) -> Bool {
    guard key == other.key else { return false }
    guard other.written != nil else { return true }
    switch expected {
    case .nothing: return false
    case .fields(let found):
      let old = written ?? [:]
      return (found.map { $0.key } + old.map { $0.key }).allSatisfy { isIn($0, other) }
    case .object, nil: return true
    }
  }

  /// Whether a change writes a field, or removes it.
  private func isIn(_ field: ViewKey, _ other: StreamChange) -> Bool {
    if other.written?.contains(field) ?? false { return true }
    guard case .fields(let found) = other.expected else { return false }
    return found.contains(field)
  }

  /// Whether it is before another change of the same client.
  func isBefore(_ other: StreamChange) -> Bool {
    (preceding, clientSequence) < (other.preceding, other.clientSequence)
  }
}

/// A user who inserts, updates and deletes objects, answers questions about them, and reconsiders
/// some changes.
package struct StreamsUser: ReconsideringUser {
  package typealias Model = StreamModel
  package typealias Truth = StreamsTruth
  package typealias Sync = EventStream

  package var memory = ChangeBook<StreamChange>()
  package var check = OutboxCheck<StreamChange>()
  private var valueCount: UInt64 = 0

  package init() {}

  // MARK: What the user does

  package mutating func newChange(
    _ local: LocalChanges<StreamChange>, _ choices: inout Choices
  ) -> StreamChange {
    let state = local.view.state
    if let (key, question) = state.questions.first, choices.happens(.users, 1, in: 2) {
      let isRevived = choices.happens(.users, 1, in: 2)
      return StreamChange(newID(choices), key, isRevived ? .insert(question.fields) : .delete)
    }
    let key = choices.pick(.users, StreamsApp.keys)
    let kind = choices.draw(.users, below: 6)
    let fields = newFields(&choices)
    guard state.objects.contains(key), kind > 0 else {
      return StreamChange(newID(choices), key, .insert(fields))
    }
    return StreamChange(newID(choices), key, kind == 1 ? .delete : .update(fields))
  }

  private mutating func newFields(_ choices: inout Choices) -> StreamFields {
    let field = choices.pick(.users, StreamsApp.fields)
    let words = "\(choices.record.count)-\(valueCount + 1)"
    return [field: UnusualValue.value(words, Int64(valueCount))]
  }

  /// An ID that nobody else draws.
  private mutating func newID(_ choices: Choices) -> StreamEventID {
    valueCount += 1
    return StreamEventID(high: UInt64(choices.record.count) + 1, low: valueCount)
  }

  package mutating func newChange(
    inPlaceOf old: StreamChange, _ local: LocalChanges<StreamChange>, _ choices: inout Choices
  ) -> StreamChange? {
    let fields = newFields(&choices)
    let id = newID(choices)
    return switch old.kind {
    case .insert: StreamChange(id, old.key, .insert(fields))
    case .update: StreamChange(id, old.key, .update(fields))
    case .delete: nil
    }
  }

  /// Only what is not there cannot be updated.
  package func isPossible(
    _ change: StreamChange, _ local: LocalChanges<StreamChange>
  ) -> Bool {
    if case .update = change.kind { return local.view.state.objects.contains(change.key) }
    return true
  }

  // MARK: What becomes of it

  package mutating func noteMade(
    _ change: StreamChange, as ticket: MutationTicket, from before: Body, to after: Body
  ) {
    let pending = after.local?.outbox.pending.first { $0.tickets == TicketSet(ticket) }
    if let pending, pending.change.id != change.id {
      check.lie = UserObjection(
        .input, "a change keeps the ID that its app has drawn", "\(pending.change)")
    }
    if let view = after.local?.view.state { noteSight(of: change, in: view) }
    note(ticket, editing: nil, redoing: nil, from: before, to: after)
  }

  package static func isReversal(_ change: StreamChange, of other: StreamChange) -> Bool {
    change.takesBackOnly(other)
  }

  package mutating func noteMade(
    _ change: StreamChange, as ticket: MutationTicket, takingBack undone: MutationTicket?,
    from before: Body, to after: Body
  ) {
    judgeReversal(change, of: undone)
    // What is redone before it ever left keeps its sight. So it may lose against what others have
    // done since.
    let former = memory.made.first { $0.isDiscarded && $0.change.id == change.id }?.change
    memory.forgetDiscarded(change)
    if let view = after.local?.view.state, former == nil || change.preceding == view.latest {
      noteSight(of: change, in: view)
    }
    note(ticket, editing: nil, redoing: former, from: before, to: after)
    if let undone { memory.noteReversal(ticket, of: undone) }
  }

  package mutating func noteEdited(
    _ ticket: MutationTicket, from old: (change: StreamChange, tickets: TicketSet),
    to change: StreamChange, from before: Body, to after: Body
  ) { note(ticket, editing: old.change, redoing: nil, from: before, to: after) }

  /// The user sees at once what was made, whatever the outbox has made of it.
  private mutating func noteSight(of change: StreamChange, in view: StreamState) {
    let fields = view.objects[change.key]?.fields
    let isSeen =
      if let written = change.written {
        // What comes back is as it was when it was deleted, with what others had done.
        fields != nil
          && (change.expected == .nothing || written.allSatisfy { fields?[$0.key] == $0.value })
      } else {
        fields == nil
      }
    if isSeen { return }
    let found = fields.map(ShownStream.text) ?? "gone"
    check.lie = UserObjection(
      .input, "\(change) is seen at once", "\(change.key.text) is \(found)")
  }

  /// Notes what a change has become in the outbox. A new one comes after all that its maker saw and
  /// did. An edited one comes after what its maker saw, or stays where it was, because a later one
  /// of the same object is in the outbox. Nothing takes the place of another.
  private mutating func note(
    _ ticket: MutationTicket, editing old: StreamChange?, redoing former: StreamChange?,
    from before: Body, to after: Body
  ) {
    guard let outbox = after.local?.outbox, let seen = before.local?.view.state,
      let (change, tickets) = outbox.mutation(of: ticket)
    else { return }
    let later =
      outbox.pending.map { ($0.ticket, $0.change) }
      + outbox.setAside.map { ($0.ticket, $0.change) }
    let isFollowed = later.contains { $0.0 > tickets.upperBound && $0.1.key == change.key }
    let isInPlace =
      if let old, isFollowed {
        !change.isBefore(old) && !old.isBefore(change)
      } else {
        change.preceding >= min(seen.latest, former?.preceding ?? seen.latest)
          && (old != nil || memory.isLast(change, in: outbox))
      }
    if !isInPlace || !memory.isAlone(change, with: tickets) {
      check.lie = UserObjection(
        .causality, "\(change) comes after \(seen.latest) and all that its maker did",
        "\(memory.made.suffix(8).map { $0.change })")
    }
    if old == nil { memory.note(ticket, change) }
    memory.rewrite(tickets, to: change)
  }

  // MARK: What the user is owed

  package func law(
    _ model: Model, _ local: LocalChanges<StreamChange>, _ truth: Truth, at position: Int64
  ) -> StreamsLaw { StreamsLaw(model: model, local: local, truth: truth) }

  package static func checksum(of state: StreamState) -> UInt64 { ShownStream(state).checksum }

  /// Without the order of the list. Story (seed 68 of streams with undo, real actors): an update is
  /// undone before it left. Redone, it becomes one with the insert that was not sent either, and
  /// the object stands where the update is in the causal order.
  ///
  /// And without the questions: a change that shows in one only has no inverse. Story (seed 198 of
  /// the first hasty worlds): an insert was dropped over incomplete history, and gave its fields to
  /// a question.
  package static func checksumOfWhatIsSeen(_ state: StreamState) -> UInt64 {
    var shown = ShownStream(state)
    shown.list.sort()
    shown.questions = VersionedMap()
    return shown.checksum
  }

  /// A stream only grows.
  package static func versions(
    _ model: Model, _ truth: Truth
  ) -> (confirmed: UInt64, truth: UInt64) {
    (UInt64(model.state.latest.number + 1), UInt64(truth.events.count))
  }
}
