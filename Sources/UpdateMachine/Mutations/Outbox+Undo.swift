// Undo and redo. Both make the inverse of a change, unless the change can be called back.

extension Outbox {
  /// Takes back the newest change of a stack, as the user sees it from now on.
  ///
  /// | the change | what is done |
  /// | --- | --- |
  /// | is the last in the queue, and has never left | it is discarded; to redo makes it again |
  /// | is pending otherwise, or confirmed | its inverse is made |
  /// | threw or did nothing here, and has never left; was refused | it is discarded, for good |
  /// | does nothing here, as its effect is there | the inverse is made that it had at first |
  /// | threw or did nothing here otherwise, and has left | nothing: ``UndoOutcome/undecided(_:)`` |
  /// | is uncertain, or cannot be read | nothing: ``UndoOutcome/undecided(_:)`` |
  ///
  /// If the inverse throws, it no longer applies, because somebody has changed what it would take
  /// back. The change leaves the stack then. After an error both stacks are as before.
  mutating func takeBack(
    newestOf stack: UndoStack, _ view: inout LocalView<Change>, at now: Moment,
    _ effects: inout Effects
  ) throws(MutationError<Change.Refusal>) -> UndoOutcome<Change.Refusal> {
    guard let entry = history[stack].last else { return .nothing }
    switch way(toTakeBack: entry, of: stack, over: view.confirmed) {
    case .unknown: return .undecided(entry.ticket)
    case .discarding(let former):
      discarded(entry.ticket, at: now, &effects)  // Its entry goes, too.
      if let former {
        let again = Entry(
          entry.ticket, name: entry.name, next: former.change, undone: former.takesBack,
          version: version)
        history.push(again, on: stack.other, keeping: settings.undoMaximum)
      }
      refresh(&view, &effects)
      return .discarded(entry.ticket)
    case .making(let inverse):
      let made: (ticket: MutationTicket, value: Change.Value)
      do throws(MutationError<Change.Refusal>) {
        made = try mutate(
          inverse, &view, at: now, &effects, toTakeBack: Reversal(stack: stack, entry: entry))
      } catch {
        guard case .refused(let refusal) = error else { throw error }
        forget(entry, of: stack)
        changed()
        persist(&effects)
        return .outdated(refusal)
      }
      forget(entry, of: stack)
      return .queued(made.ticket)
    }
  }

  /// The change that ``takeBack(newestOf:_:at:_:)`` would make now; `nil`: it would make none.
  func change(toTakeBack stack: UndoStack, over confirmed: Change.State) -> Change? {
    guard let entry = history[stack].last,
      case .making(let change) = way(toTakeBack: entry, of: stack, over: confirmed)
    else { return nil }
    return change
  }

  /// The name of the change that a stack would take back now; `nil`: there is none.
  package func nameOfNewest(of stack: UndoStack) -> String? { history[stack].last?.name }

  /// The ticket of that change.
  package func newestTicket(of stack: UndoStack) -> MutationTicket? { history[stack].last?.ticket }

  /// The changes of a stack, oldest first: each by the ticket of what it would take back.
  package func ticketsTaken(back stack: UndoStack) -> [MutationTicket] {
    history[stack].map { $0.undone ?? $0.ticket }
  }

  typealias Entry = UndoHistory<Change>.Entry

  /// What a mutation takes back.
  struct Reversal {
    var stack: UndoStack
    var entry: Entry
  }

  /// How a change can be taken back.
  private enum Way {
    /// Not yet: its effect at the server is not known.
    case unknown
    /// It leaves the outbox. With what it is, to be made again, if it has an effect here.
    case discarding(Pending?)
    case making(Change)
  }

  private func way(
    toTakeBack entry: Entry, of stack: UndoStack, over confirmed: Change.State
  ) -> Way {
    let ticket = entry.ticket
    if let undone = entry.undone, undone != ticket, hasNoEffect(undone) { return .unknown }
    if let item = refused.first(where: { $0.tickets.contains(ticket) }) {
      return item.mayHaveCopy ? .unknown : .discarding(nil)
    }
    if isUnreadable(ticket) { return .unknown }
    guard let index = index(of: ticket) else { return .making(entry.next) }
    let pending = queue[index]
    if pending.isUncertain { return .unknown }
    if pending.refusal != nil { return hasNeverLeft(pending) ? .discarding(nil) : .unknown }
    guard pending.tickets == TicketSet(ticket) else { return .making(entry.next) }
    guard let inverse = inverse(at: index, over: confirmed) else {
      if hasNeverLeft(pending) { return .discarding(nil) }
      // Where the server counts no IDs, its effect may be confirmed before it is known as its own.
      return !countsIDs && applies(entry.next, insteadOf: ticket, over: confirmed)
        ? .making(entry.next) : .unknown
    }
    let isLast = index == queue.count - 1 && hasNeverLeft(pending)
    return stack == .undo && isLast ? .discarding(pending) : .making(inverse)
  }

  /// The inverse of a pending change, over the confirmed state with all ahead of it. O(pending).
  private func inverse(at index: Int, over confirmed: Change.State) -> Change? {
    let before = state(before: queue[index].ticket, over: confirmed)
    var after = before
    do throws(Change.Refusal) {
      _ = try queue[index].change.apply(to: &after)
    } catch {
      return nil
    }
    return queue[index].change.inverse(from: before, to: after)
  }

  /// Whether the inverse of a pending change can be made where that one stands, which does nothing
  /// there.
  private func applies(
    _ inverse: Change, insteadOf ticket: MutationTicket, over confirmed: Change.State
  ) -> Bool {
    var (change, state) = (inverse, state(before: ticket, over: confirmed))
    let next = MutationTicket(lastTicket.number + 1)
    change.stamp(from: state, ticket: next, inPlaceOf: nil)
    do throws(Change.Refusal) {
      _ = try change.apply(to: &state)
      return true
    } catch {
      return false
    }
  }

  private mutating func forget(_ entry: Entry, of stack: UndoStack) {
    history[stack].removeAll { $0.ticket == entry.ticket }
  }

  // MARK: What becomes of the changes

  /// Notes a change that was just made.
  mutating func noteMade(_ change: Change, inverse: Change?, toTakeBack reversal: Reversal?) {
    guard let inverse else { return }
    let name = reversal?.entry.name ?? change.name
    let entry = Entry(
      lastTicket, name: name, next: inverse, undone: lastTicket, version: version)
    if reversal == nil { history.redo = [] }
    history.push(
      entry, on: reversal?.stack.other ?? .undo, keeping: settings.undoMaximum)
  }

  /// Notes an edit: the inverse is another now, and what was coalesced is one change. An undo that
  /// is edited is a change of its own. What has no effect here after the edit cannot be undone, for
  /// what would take it back is not known: its former inverse is of another change.
  mutating func noteEdited(_ ticket: MutationTicket, over confirmed: Change.State) {
    guard let index = index(of: ticket) else { return }
    let pending = queue[index]
    let former = history.undo.last { $0.isUndoing(pending.tickets) }
    history.remove(pending.tickets)
    guard let inverse = inverse(at: index, over: confirmed) else { return }
    let entry = Entry(
      pending.ticket, name: pending.change.name, next: inverse, undone: pending.ticket,
      version: version)
    history.push(entry, on: .undo, keeping: settings.undoMaximum)
    guard let former else { return }
    // It keeps its place.
    history.undo[history.undo.count - 1].place = former.place
    history.undo.sort { $0.place < $1.place }
  }

  /// Computes the inverses of changes up to `last`, which the server has run, and which leave the
  /// queue next. The server ran them over a state that it does not tell: at the earliest `earlier`,
  /// the last one before its answer. Call it before ``confirm(through:refusal:)``.
  mutating func noteRun(
    through last: MutationID, refusal: MutationRefusal?, over earlier: Change.State
  ) {
    guard !history.isEmpty, last > confirmed else { return }
    var state = earlier
    for pending in queue {
      guard let id = pending.id, id <= last else { break }
      if id == refusal?.id { continue }
      var after = state
      do throws(Change.Refusal) {
        _ = try pending.change.apply(to: &after)
      } catch {
        continue  // The server knows better. The last inverse that was computed stands.
      }
      noteRun(pending, from: state, to: after)
      state = after
    }
  }

  /// Computes the inverse of the change that an event is about: it led from one state to the other.
  /// Call it before ``echo(of:overruledIf:)``.
  mutating func noteRun(
    _ ticket: MutationTicket, from before: Change.State, to after: Change.State
  ) {
    guard !history.isEmpty, let index = index(of: ticket) else { return }
    noteRun(queue[index], from: before, to: after)
  }

  private mutating func noteRun(
    _ pending: Pending, from before: Change.State, to after: Change.State
  ) {
    guard pending.tickets == TicketSet(pending.ticket), history.holds(pending.ticket) else {
      return
    }
    history.settle(pending.ticket, pending.change.inverse(from: before, to: after), version)
  }

  // MARK: A change and its undo go together

  /// Notes what has left without an effect: nothing is left to undo.
  mutating func noteDiscarded(_ tickets: TicketSet) {
    discards += tickets.ranges
    history.remove(tickets)
    dropUndo(of: tickets)
  }

  /// As ``noteDiscarded(_:)``, for what the confirmed state overrules.
  mutating func noteOverruled(_ tickets: TicketSet) {
    overruled += tickets.ranges
    history.remove(tickets)
    dropUndo(of: tickets)
  }

  /// Discards what undoes a change that is gone without an effect, or is another one now. There is
  /// one for each that was coalesced into it. One that may have left cannot be called back.
  mutating func dropUndo(of tickets: TicketSet) {
    while let index = queue.firstIndex(where: { isUndo($0.takesBack, tickets) && hasNeverLeft($0) })
    {
      unmark(from: index)
      let pending = queue.remove(at: index)
      size -= pending.change.boundedSize
      noteDiscarded(pending.tickets)
    }
    while let index = refused.firstIndex(where: { isUndo($0.takesBack, tickets) }) {
      let item = refused.remove(at: index)
      size -= item.change.boundedSize
      noteDiscarded(item.tickets)
    }
  }

  /// Discards a change that the server itself has refused, if its user has undone it: there is
  /// nothing left to decide. If the user has undone only a part of it, or has done it again, it
  /// waits for the app, and its undo goes.
  mutating func dropIfUndone(_ item: Refused) {
    let isUndone = item.tickets.ranges.allSatisfy { range in
      (range.lowerBound.number...range.upperBound.number).allSatisfy {
        isTakenBack(MutationTicket($0))
      }
    }
    guard isUndone else { return dropUndo(of: item.tickets) }
    size -= item.change.boundedSize
    refused.removeAll { $0.tickets == item.tickets }
    noteDiscarded(item.tickets)
  }

  /// Whether a change is undone, and that is not undone again.
  private func isTakenBack(_ ticket: MutationTicket) -> Bool {
    let undo =
      queue.first { $0.takesBack == ticket }?.tickets
      ?? refused.first { $0.takesBack == ticket }?.tickets
    return undo.map { !isTakenBack($0.upperBound) } ?? false
  }

  /// Sets aside what undoes a change that was refused with its whole push, until the app decides
  /// about that one. If it may have left, its ID is void, too.
  mutating func setAsideUndo(of tickets: TicketSet, _ code: RejectionCode) {
    while let index = queue.firstIndex(where: { isUndo($0.takesBack, tickets) }) {
      let hasLeft = !hasNeverLeft(queue[index])
      if !hasLeft { unmark(from: index) }
      let pending = queue.remove(at: index)
      if hasLeft, let id = pending.id, countsIDs { void(id) }
      let refusal = MutationRefusal(hasLeft ? pending.id ?? .none : .none, code)
      keep(pending, refusal, mayHaveCopy: hasLeft || pending.mayHaveCopy)
      setAsideUndo(of: pending.tickets, code)
    }
  }

  /// Puts back what undoes a change that is no longer set aside.
  mutating func putBackUndo(of tickets: TicketSet) {
    while let item = refused.first(where: { isUndo($0.takesBack, tickets) }) {
      putBack(item.ticket, as: nil)
      putBackUndo(of: item.tickets)
    }
  }

  /// Whether a change is set aside.
  func hasNoEffect(_ ticket: MutationTicket) -> Bool {
    if let index = index(of: ticket) { return queue[index].refusal != nil }
    return refused.contains { $0.tickets.contains(ticket) }
  }

  private func isUndo(_ undone: MutationTicket?, _ tickets: TicketSet) -> Bool {
    undone.map { tickets.contains($0) } ?? false
  }

  /// Whether what a mutation undoes may be at the server.
  func mayHaveLeft(whatIsUndoneBy pending: Pending) -> Bool {
    guard let undone = pending.takesBack, let index = index(of: undone) else { return false }
    return !hasNeverLeft(queue[index]) || mayHaveLeft(whatIsUndoneBy: queue[index])
  }
}
