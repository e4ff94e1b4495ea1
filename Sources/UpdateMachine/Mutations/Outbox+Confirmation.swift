// How mutations leave: confirmed by the server, or by the app's decision on those that are set
// aside. The model calls the first half while it takes a snapshot or an event. So it is undone with
// them if they are refused. The replay that must follow continues the sending.

extension Outbox {
  // MARK: Confirmed state

  /// Acknowledges this client's mutations up to `last`, which the confirmed state has run.
  /// `refusal` is the last one that it refused. Both belong to the moment of that state.
  ///
  /// A `last` that is not above an earlier one changes nothing: it came with an old state, which
  /// the protocol does not take.
  package mutating func confirm(through last: MutationID, refusal: MutationRefusal? = nil) {
    guard last > confirmed else { return }
    if let refusal, refusal.id <= last {
      knownRefusal = max(knownRefusal, refusal.id)
      if let index = queue.firstIndex(where: { $0.id == refusal.id }) { refuse(at: index, refusal) }
      // Refused earlier with its whole push: now we know that the server itself refused it.
      if let index = refused.firstIndex(where: { $0.refusal.id == refusal.id }) {
        refused[index].mayHaveCopy = false
        dropIfUndone(refused[index])
      }
    }
    // Marked mutations that have not left cannot have been run. They get new, unused IDs.
    if let index = queue.firstIndex(where: { isBeingStored($0, below: last.next) }) {
      unmark(from: index)
    }
    let confirmedBefore = confirmed
    confirmed = last
    voided.removeAll { $0 <= last }
    // Only another outbox with our client ID (a copied saved form) can have sent these. Skip their
    // IDs, so that at least what we send from now on is not mistaken for theirs.
    if last > lastID {
      lastID = last
      sending.isNameShared = true
    }
    var count = 0
    while count < queue.count, let id = queue[count].id, id <= last {
      size -= queue[count].change.boundedSize
      count += 1
    }
    queue.removeFirst(count)
    // The confirmed state overrides a refusal that the server did not keep. The server has run all
    // IDs after its last refusal, up to `last`. Of the earlier ones it has run those that were
    // refused only with a whole push.
    let refusedLast = refusal?.id ?? .none
    let before = refused.count
    var confirmedTickets: [TicketSet] = []
    for index in refused.indices.reversed() {
      let id = refused[index].refusal.id
      guard id > .none, id <= last, id > refusedLast || refused[index].mayHaveCopy else { continue }
      let item = refused.remove(at: index)
      size -= item.change.boundedSize
      confirmedTickets.append(item.tickets)
    }
    for tickets in confirmedTickets { putBackUndo(of: tickets) }
    let isRead = countsIDs && confirmUnreadable(after: confirmedBefore, through: last, refusal)
    guard count > 0 || refused.count < before || isRead else { return }
    sending.resendAt = nil
    sending.resends.reset()
    queueVersion += 1
    changed()
  }

  /// Acknowledges one mutation: an event echoed its ticket, or the model knows by other means that
  /// the confirmed state contains it. Harmless if it has left the outbox already.
  ///
  /// - Parameter isOverruled: whether the confirmed state contains a mutation without effect. One
  ///   that is stays as long as an earlier one is pending that may give it an effect.
  package mutating func echo(
    of ticket: MutationTicket, overruledIf isOverruled: (Change) -> Bool = { _ in false }
  ) {
    if let index = index(of: ticket) {
      let isOverruled = isOverruled(queue[index].change)
      if isOverruled, mayDepend(queue[index].change, onEarlier: queue[..<index]) { return }
      let pending = queue.remove(at: index)
      size -= pending.change.boundedSize
      if isOverruled { noteOverruled(pending.tickets) }
    } else if let index = refused.firstIndex(where: { $0.tickets.contains(ticket) }) {
      let item = refused.remove(at: index)
      size -= item.change.boundedSize
      if isOverruled(item.change) { noteOverruled(item.tickets) }
      putBackUndo(of: item.tickets)
    } else if let index = unreadable.firstIndex(where: { $0.tickets.contains(ticket) }) {
      unreadable.remove(at: index)
    } else {
      return
    }
    forgetOldest()
    queueVersion += 1
    changed()
  }

  private func mayDepend(_ change: Change, onEarlier earlier: ArraySlice<Pending>) -> Bool {
    earlier.contains { change.mayDepend(on: $0.change) }
  }

  /// Acknowledges what the server had accepted before `sent`, when the snapshot was requested. The
  /// snapshot contains all of that. Its echo may be in a log that is no longer read. Only for
  /// servers that count no IDs; others report the last mutation ID.
  package mutating func confirmAccepted(
    before sent: Moment, overruledIf isOverruled: (Change) -> Bool = { _ in false }
  ) {
    guard !countsIDs else { return }
    confirmAccepted(overruledIf: isOverruled) { _, moment in moment < sent }
  }

  /// Notes what is accepted at the moment when a poll leaves. The server has put all of that into
  /// its logs. If our log is younger, it was in the snapshot instead.
  ///
  /// It grants the wish for a pull (``wantsPull``).
  package mutating func pollLeft() {
    sending.askedThrough = .none
    sending.wantsPull = false
    guard !countsIDs else { return }
    for pending in queue {
      guard case .accepted(let id, _) = pending.stage else { continue }
      sending.askedThrough = max(sending.askedThrough, id)
    }
    for item in unreadable where item.isAccepted {
      sending.askedThrough = max(sending.askedThrough, item.id ?? .none)
    }
  }

  /// Acknowledges what was accepted when the answered poll left. Call it once the whole answer has
  /// been applied. What has had no echo by then was in the log's first snapshot: the two were on
  /// their way at the same time. Only for servers without IDs.
  ///
  /// The answer also ends the hold of a push that was behind, if the poll left after that was
  /// known: the client has now seen all that there is, even if its finger is where it was.
  package mutating func pollWasAnswered(
    overruledIf isOverruled: (Change) -> Bool = { _ in false }
  ) {
    if !sending.wantsPull { sending.isBehind = false }
    let last = sending.askedThrough
    sending.askedThrough = .none
    guard !countsIDs, last > .none else { return }
    confirmAccepted(overruledIf: isOverruled) { id, _ in id <= last }
  }

  /// Takes out the accepted mutations for which `isIn` is true.
  private mutating func confirmAccepted(
    overruledIf isOverruled: (Change) -> Bool, where isIn: (MutationID, Moment) -> Bool
  ) {
    let before = queue.count + unreadable.count
    unreadable.removeAll { $0.isAccepted && isIn($0.id ?? .none, .distantPast) }
    var index = 0
    while index < queue.count {
      let pending = queue[index]
      guard case .accepted(let id, let moment) = pending.stage, isIn(id, moment) else {
        index += 1
        continue
      }
      let isOverruled = isOverruled(pending.change)
      if isOverruled, mayDepend(pending.change, onEarlier: queue[..<index]) {
        index += 1
        continue
      }
      queue.remove(at: index)
      size -= pending.change.boundedSize
      if isOverruled { noteOverruled(pending.tickets) }
    }
    guard queue.count + unreadable.count < before else { return }
    forgetOldest()
    queueVersion += 1
    changed()
  }

  /// Whether the server has run more of this client's mutations than were ever sent, since the last
  /// call.
  @usableFromInline
  mutating func takeSharedName() -> Bool {
    guard sending.isNameShared else { return false }
    sending.isNameShared = false
    return true
  }

  private func isBeingStored(_ pending: Pending, below end: MutationID) -> Bool {
    if case .marked(let id) = pending.stage { id < end && !isOut(id) } else { false }
  }

  /// Sets aside a mutation that the server itself refused. All before it were run. Those after it
  /// never left, as far as the server is concerned, and will get IDs above this one.
  ///
  /// A server that counts no IDs may have run an earlier copy of what it refuses now, or of those
  /// after it. So each that was out before gets the mark that there may be a copy. One that counts
  /// them runs no copy of those after it any more, whatever came of the pushes that they were in.
  /// So they lose that mark. Where each is sent alone, the others were in no push with it.
  ///
  /// If a later refusal is known, the server has gone beyond this one: an outbox that was restored
  /// from a backup hears of both, and of the later one first. Then it says nothing of those after
  /// it.
  mutating func refuse(
    at index: Int, _ refusal: MutationRefusal, at now: Moment = .distantPast
  ) {
    let pending = queue.remove(at: index)
    let isOld = countsIDs && refusal.id < knownRefusal
    for later in index..<queue.count
    where !isOld && sendsInBatches && (countsIDs || !queue[later].isAccepted) {
      if queue[later].isSent || queue[later].isAccepted { queue[later].mayHaveCopy = !countsIDs }
      queue[later].stage = .unsent
    }
    if countsIDs {
      if !isOld { takeBackIDs(above: refusal.id) }
    } else {
      lastID = queue.reduce(max(refusal.id, knownRefusal)) { max($0, $1.id ?? .none) }
      lastID = unreadable.reduce(lastID) { max($0, $1.id ?? .none) }
    }
    for earlier in 0..<index where sendsInBatches {
      if let id = queue[earlier].id, !queue[earlier].isAccepted {
        noteAccepted(at: earlier, id, at: now)
      }
    }
    let mayHaveCopy = !countsIDs && (pending.mayHaveCopy || pending.isSent)
    let item = keep(pending, refusal, mayHaveCopy: mayHaveCopy)
    if mayHaveCopy {
      setAsideUndo(of: pending.tickets, refusal.code)
    } else {
      dropIfUndone(item)
    }
  }

  /// Sets aside a mutation whose whole push was refused, perhaps by a proxy. A copy may be on its
  /// way. So its ID stays reserved until the server has run it or counted it as void, and so do the
  /// IDs of those behind it.
  mutating func refuseWhole(at index: Int, _ refusal: MutationRefusal) {
    let pending = queue.remove(at: index)
    void(refusal.id)
    keep(pending, refusal, mayHaveCopy: true)
    setAsideUndo(of: pending.tickets, refusal.code)
  }

  mutating func void(_ id: MutationID) {
    voided.append(id)
    voided.sort()
  }

  @discardableResult
  mutating func keep(
    _ pending: Pending, _ refusal: MutationRefusal, mayHaveCopy: Bool
  ) -> Refused {
    queueVersion += 1
    changed()
    let item = Refused(
      tickets: pending.tickets, rank: pending.rank, change: pending.change, refusal: refusal,
      mayHaveCopy: mayHaveCopy, takesBack: pending.takesBack, version: version)
    refused.append(item)
    refused.sort { $0.tickets.lowerBound < $1.tickets.lowerBound }
    return item
  }

  /// Frees the IDs above `refused`. If one of them is void, it declares all of them void instead.
  /// An old push may carry the void ID, which must not name another mutation by then. And the
  /// server would wait for an ID that is left out.
  private mutating func takeBackIDs(above refused: MutationID) {
    let isKept = unreadable.contains { $0.id.map { $0 > refused } ?? false }
    guard isKept || voided.last.map({ $0 > refused }) ?? false else {
      lastID = refused
      return
    }
    for index in unreadable.indices where unreadable[index].id.map({ $0 > refused }) ?? false {
      unreadable[index].mayBeVoid = true
    }
    voided.removeAll { $0 > refused }
    var id = refused
    while id < lastID {
      id = id.next
      voided.append(id)
    }
  }

  // MARK: The app's decisions

  /// Whether the app may retry it unchanged: it is refused or uncertain. An undo is not tried again
  /// as long as what it undoes is refused.
  package func canRetry(_ ticket: MutationTicket) -> Bool {
    if let index = index(of: ticket) { return queue[index].isUncertain }
    guard let item = refused.first(where: { $0.tickets.contains(ticket) }) else { return false }
    guard let undone = item.takesBack else { return true }
    return !refused.contains { $0.tickets.contains(undone) }
  }

  /// Whether the app may change it: it is refused or has never left, and the server can have no
  /// copy.
  package func canEdit(_ ticket: MutationTicket) -> Bool {
    if let index = index(of: ticket) { return hasNeverLeft(queue[index]) }
    return refused.contains { $0.tickets.contains(ticket) && !$0.mayHaveCopy }
  }

  func hasNeverLeft(_ pending: Pending) -> Bool {
    switch pending.stage {
    case .unsent: !pending.mayHaveCopy
    case .marked(let id): !pending.mayHaveCopy && !isOut(id)
    case .sent, .accepted, .uncertain: false
    }
  }

  /// Whether the server may have a copy, or get one yet. Also true of a mutation that was uncertain
  /// and is tried again, or that was refused with a whole push, perhaps by a proxy, while a copy
  /// was on its way. It may be retried, under its own ID if the server counts IDs. It may not
  /// be edited. If it is discarded, it may take effect all the same.
  package func mayHaveCopy(of ticket: MutationTicket) -> Bool {
    if let index = index(of: ticket) { return !hasNeverLeft(queue[index]) }
    return refused.contains { $0.tickets.contains(ticket) && $0.mayHaveCopy }
  }

  /// Whether the app may discard it: it is refused, uncertain, or has not left. A mutation that has
  /// left cannot be called back. But where each is sent alone, one that would only be sent again
  /// may be given up.
  package func canDiscard(_ ticket: MutationTicket) -> Bool {
    guard let index = index(of: ticket) else {
      return refused.contains { $0.tickets.contains(ticket) } || isUnreadable(ticket)
    }
    switch queue[index].stage {
    case .unsent, .uncertain: return true
    case .marked(let id): return !isOut(id)
    case .sent(let id): return !sendsInBatches && !isOut(id)
    case .accepted: return false
    }
  }

  mutating func retried(_ ticket: MutationTicket, at now: Moment, _ effects: inout Effects) {
    guard canRetry(ticket) else { return }  // Too late or misplaced: absorbed.
    giveUpSearch(for: ticket, &effects)
    if let index = index(of: ticket) {
      queue[index].stage = .unsent
      queue[index].mayHaveCopy = true
    } else if let former = refused.first(where: { $0.tickets.contains(ticket) }) {
      putBack(ticket, as: nil)
      putBackUndo(of: former.tickets)
    }
    noteDecision(ticket, at: now, &effects)
  }

  mutating func edited(
    _ ticket: MutationTicket, _ change: Change, at now: Moment, _ effects: inout Effects
  ) {
    guard canEdit(ticket) else { return }
    if let index = index(of: ticket) {
      unmark(from: index)
      size += change.boundedSize - queue[index].change.boundedSize
      queue[index].change = change
      queue[index].takesBack = nil
      dropUndo(of: queue[index].tickets)
    } else if let former = refused.first(where: { $0.tickets.contains(ticket) }) {
      putBack(ticket, as: change)
      dropUndo(of: former.tickets)
    }
    noteDecision(ticket, at: now, &effects)
  }

  mutating func discarded(_ ticket: MutationTicket, at now: Moment, _ effects: inout Effects) {
    guard canDiscard(ticket) else { return }
    giveUpSearch(for: ticket, &effects)
    if let index = index(of: ticket) {
      unmark(from: index)
      let pending = queue.remove(at: index)
      size -= pending.change.boundedSize
      noteDiscarded(pending.tickets)
    } else if let index = refused.firstIndex(where: { $0.tickets.contains(ticket) }) {
      size -= refused[index].change.boundedSize
      noteDiscarded(refused.remove(at: index).tickets)
    } else if let index = unreadable.firstIndex(where: { $0.tickets.contains(ticket) }) {
      let item = unreadable.remove(at: index)
      noteDiscarded(item.tickets)
      // The server would wait for its ID.
      if countsIDs, let id = item.id, id > confirmed, !voided.contains(id) { void(id) }
    }
    forgetOldest()
    noteDecision(ticket, at: now, &effects)
  }

  /// Forgets the oldest of those that the app no longer needs to be told about.
  mutating func forgetOldest() {
    while discards.count > settings.discardsRemembered {
      forgotten = max(forgotten, discards.removeFirst().upperBound)
    }
    while overruled.count > settings.discardsRemembered {
      forgotten = max(forgotten, overruled.removeFirst().upperBound)
    }
  }

  /// Returns a refused mutation to its place in the queue, before those that were made after it.
  mutating func putBack(_ ticket: MutationTicket, as change: Change?) {
    guard let former = refused.firstIndex(where: { $0.tickets.contains(ticket) }) else { return }
    let old = refused.remove(at: former)
    let index = place(for: old.rank)
    var pending = Pending(
      tickets: old.tickets, rank: old.rank, change: change ?? old.change,
      mayHaveCopy: old.mayHaveCopy, takesBack: change == nil ? old.takesBack : nil,
      version: old.version)
    let id = old.refusal.id
    if change == nil, canTakeBack(id, at: index) {
      voided.removeAll { $0 == id }
      pending.stage = .sent(id)
    } else if countsIDs, queue[index...].contains(where: { $0.id != nil }) {
      // Those behind it were last sent before the refusal. They get new IDs, as after any refusal.
      takeBackIDs(above: max(id, confirmed))
      for later in index..<queue.count { queue[later].stage = .unsent }
    }
    queue.insert(pending, at: index)
    if let change { size += change.boundedSize - old.change.boundedSize }
  }

  /// Whether an ID may name its old mutation again: it is void, and in order between the IDs of its
  /// neighbours in the queue. No push has declared it, because none is sent while a refusal waits.
  /// It should be taken back: an earlier push, whose answer was lost, may have been run after all.
  /// Under another ID the mutation would be made twice.
  private func canTakeBack(_ id: MutationID, at index: Int) -> Bool {
    guard voided.contains(id) else { return false }
    let follows = index == 0 || queue[index - 1].id.map { $0 < id } ?? false
    let precedes = index == queue.count || queue[index].id.map { $0 > id } ?? true
    return follows && precedes
  }

  /// Records a decision of the app. It changes the view, and must be durable.
  private mutating func noteDecision(
    _ ticket: MutationTicket, at now: Moment, _ effects: inout Effects
  ) {
    queueVersion += 1
    changed()
    sending.decisionVersion = version
    if let index = index(of: ticket) { queue[index].version = version }
    persist(&effects)
    proceed(at: now, &effects)
  }

  // MARK: Places in the queue

  /// Returns its place in the queue. O(log n) while nothing was moved or coalesced across others,
  /// else O(n).
  @inlinable
  func index(of ticket: MutationTicket) -> Int? {
    let end = place(for: ticket.number + 1)
    if end > 0, queue[end - 1].tickets.contains(ticket) { return end - 1 }
    return queue.firstIndex { $0.tickets.contains(ticket) }
  }

  /// Counts the queued mutations of a lower rank. O(log n).
  @inlinable
  func place(for rank: UInt64) -> Int {
    var (low, high) = (0, queue.count)
    while low < high {
      let middle = (low + high) / 2
      if queue[middle].rank < rank { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
