// How mutations leave: by what the confirmed state says, and by the app's word on those that are set
// aside. The model calls the first half where it takes a snapshot or an event, so that it is undone
// with them if they are refused; the replay that must follow goes on from there.

extension Outbox {
  // MARK: What the confirmed state says

  /// The confirmed state has run this client's mutations up to `last`, and the last one that it
  /// refused is `refusal`: two facts of one moment, told with the state that they are of.
  ///
  /// A last mutation ID that is not news, or lower than one that was told before, changes nothing:
  /// the state that it came with is an old one, and the protocol does not take it.
  public mutating func confirm(through last: MutationID, refusal: MutationRefusal? = nil) {
    guard last > confirmed else { return }
    if let refusal, refusal.id <= last {
      knownRefusal = max(knownRefusal, refusal.id)
      if let index = queue.firstIndex(where: { $0.id == refusal.id }) { refuse(at: index, refusal) }
      // One that was refused with its whole push: by the server itself, as is known now.
      if let index = refused.firstIndex(where: { $0.refusal.id == refusal.id }) {
        refused[index].mayHaveCopy = false
      }
    }
    // What has not left cannot have been run: it gets an ID that nobody has used.
    if let index = queue.firstIndex(where: { isBeingStored($0, below: last.next) }) {
      unmark(from: index)
    }
    confirmed = last
    voided.removeAll { $0 <= last }
    // Nobody but another outbox of the same name can have sent these (a copied saved form): what is
    // sent from here on is at least not taken for theirs.
    if last > lastID { lastID = last }
    var count = 0
    while count < queue.count, let id = queue[count].id, id <= last {
      size -= queue[count].change.boundedSize
      count += 1
    }
    queue.removeFirst(count)
    // A server that says of a mutation that it is run is believed before a refusal that it did not
    // keep: it has run those between its last refusal and its last mutation; and whatever was refused
    // with a whole push, and not by itself.
    let refusedLast = refusal?.id ?? .none
    let before = refused.count
    for index in refused.indices.reversed() {
      let id = refused[index].refusal.id
      guard id > .none, id <= last, id > refusedLast || refused[index].mayHaveCopy else { continue }
      size -= refused.remove(at: index).change.boundedSize
    }
    guard count > 0 || refused.count < before else { return }
    sending.resendAt = nil
    sending.resends.reset()
    queueVersion += 1
    changed()
  }

  /// The confirmed state holds the effect of this one: an event echoed its ticket, or the model knows
  /// it by other means. Right also if it has left the queue already.
  public mutating func echo(of ticket: MutationTicket) {
    if let index = index(of: ticket) {
      size -= queue.remove(at: index).change.boundedSize
    } else if let index = refused.firstIndex(where: { $0.tickets.contains(ticket) }) {
      size -= refused.remove(at: index).change.boundedSize
    } else {
      return
    }
    queueVersion += 1
    changed()
  }

  /// The confirmed state is a snapshot that was asked for at `sent`: what the server had accepted
  /// before that is in it, and its echo may have been in a log that nobody reads any more. Only for
  /// servers without IDs; the others tell the last.
  public mutating func confirmAccepted(before sent: Moment) {
    guard !isIdempotent else { return }
    confirmAccepted { _, moment in moment < sent }
  }

  /// The log is being asked for what is new. What the server has said by now that it has, it has put
  /// into its logs: into this one, unless that is younger, and then it was in the snapshot.
  public mutating func pollLeft() {
    sending.askedThrough = .none
    guard !isIdempotent else { return }
    for pending in queue {
      guard case .accepted(let id, _) = pending.stage else { continue }
      sending.askedThrough = max(sending.askedThrough, id)
    }
  }

  /// The poll was answered, and all that was in the answer has been applied. What had been accepted when
  /// it left and has had no echo was in the snapshot with which the log began: the two were on their
  /// way at the same time. Only for servers without IDs.
  public mutating func pollWasAnswered() {
    let last = sending.askedThrough
    sending.askedThrough = .none
    guard !isIdempotent, last > .none else { return }
    confirmAccepted { id, _ in id <= last }
  }

  /// The confirmed state holds what was accepted and is one of these.
  private mutating func confirmAccepted(where isIn: (MutationID, Moment) -> Bool) {
    let before = queue.count
    for index in queue.indices.reversed() {
      guard case .accepted(let id, let moment) = queue[index].stage, isIn(id, moment) else {
        continue
      }
      size -= queue.remove(at: index).change.boundedSize
    }
    guard queue.count < before else { return }
    queueVersion += 1
    changed()
  }

  private func isBeingStored(_ pending: Pending, below end: MutationID) -> Bool {
    if case .marked(let id) = pending.stage { id < end && !isOut(id) } else { false }
  }

  /// Out of the queue for good. All before it were run; those after it never left, as far as the
  /// server is concerned, and will have IDs above this one's.
  mutating func refuse(at index: Int, _ refusal: MutationRefusal) {
    let pending = queue.remove(at: index)
    takeBackIDs(above: refusal.id)
    for later in index..<queue.count { queue[later].stage = .unsent }
    for earlier in 0..<index {
      if let id = queue[earlier].id, !queue[earlier].isAccepted {
        queue[earlier].stage = .accepted(id, at: .distantPast)
      }
    }
    keep(pending, refusal, mayHaveCopy: !isIdempotent && pending.mayHaveCopy)
  }

  /// Set aside, for its whole push was refused, perhaps by somebody between us and who runs it: a copy
  /// may be on its way. So its ID stays its own until the server has counted it as void or run it, and
  /// so do those of the ones behind it.
  mutating func refuseWhole(at index: Int, _ refusal: MutationRefusal) {
    voided.append(refusal.id)
    voided.sort()
    keep(queue.remove(at: index), refusal, mayHaveCopy: true)
  }

  private mutating func keep(
    _ pending: Pending, _ refusal: MutationRefusal, mayHaveCopy: Bool
  ) {
    queueVersion += 1
    changed()
    refused.append(
      Refused(
        tickets: pending.tickets, change: pending.change, refusal: refusal,
        mayHaveCopy: mayHaveCopy, version: version))
    refused.sort { $0.tickets.lowerBound < $1.tickets.lowerBound }
  }

  /// The IDs above are given anew. If one of them is void, all are: an old push may tell of that one,
  /// which must not be another by then; and the server would wait for those that are left out.
  private mutating func takeBackIDs(above refused: MutationID) {
    guard let void = voided.last, void > refused else {
      lastID = refused
      return
    }
    voided.removeAll { $0 > refused }
    var id = refused
    while id < lastID {
      id = id.next
      voided.append(id)
    }
  }

  // MARK: What the app says

  /// Whether the app may have it tried again as it is: it is refused, or uncertain.
  public func canRetry(_ ticket: MutationTicket) -> Bool {
    if let index = index(of: ticket) { return queue[index].isUncertain }
    return refused.contains { $0.tickets.contains(ticket) }
  }

  /// Whether the app may make another of it: it is refused, or has never left, and no copy of it may
  /// be at the server.
  public func canEdit(_ ticket: MutationTicket) -> Bool {
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

  /// Whether the server may have it, or get it yet, though it is set aside or waits: it was uncertain,
  /// or was refused with a whole push, perhaps by somebody in between, while a copy was on its way. It
  /// may be tried again, for idempotent servers under its own ID; it may not be edited; and if it is
  /// given up, it may be made all the same.
  public func mayHaveCopy(of ticket: MutationTicket) -> Bool {
    if let index = index(of: ticket) { return !hasNeverLeft(queue[index]) }
    return refused.contains { $0.tickets.contains(ticket) && $0.mayHaveCopy }
  }

  /// Whether the app may give it up: it is refused, uncertain, or not on its way. One that is cannot
  /// be called back.
  public func canDiscard(_ ticket: MutationTicket) -> Bool {
    guard let index = index(of: ticket) else { return canRetry(ticket) }
    switch queue[index].stage {
    case .unsent, .uncertain: return true
    case .marked(let id): return !isOut(id)
    case .sent, .accepted: return false
    }
  }

  mutating func retried(_ ticket: MutationTicket, at now: Moment, _ effects: inout Effects) {
    guard canRetry(ticket) else { return }  // Too late, or out of place: absorbed.
    if let index = index(of: ticket) {
      queue[index].stage = .unsent
      queue[index].mayHaveCopy = true
    } else {
      putBack(ticket, as: nil)
    }
    noteWord(ticket, at: now, &effects)
  }

  mutating func edited(
    _ ticket: MutationTicket, _ change: Change, at now: Moment, _ effects: inout Effects
  ) {
    guard canEdit(ticket) else { return }
    if let index = index(of: ticket) {
      unmark(from: index)
      size += change.boundedSize - queue[index].change.boundedSize
      queue[index].change = change
    } else {
      putBack(ticket, as: change)
    }
    noteWord(ticket, at: now, &effects)
  }

  mutating func discarded(_ ticket: MutationTicket, at now: Moment, _ effects: inout Effects) {
    guard canDiscard(ticket) else { return }
    if let index = index(of: ticket) {
      unmark(from: index)
      let pending = queue.remove(at: index)
      size -= pending.change.boundedSize
      discards.append(pending.tickets)
    } else if let index = refused.firstIndex(where: { $0.tickets.contains(ticket) }) {
      size -= refused[index].change.boundedSize
      discards.append(refused.remove(at: index).tickets)
    }
    if discards.count > settings.discardsRemembered {
      forgotten = max(forgotten, discards.removeFirst().upperBound)
    }
    noteWord(ticket, at: now, &effects)
  }

  /// A refused one takes its place again: before those that were made after it.
  private mutating func putBack(_ ticket: MutationTicket, as change: Change?) {
    guard let former = refused.firstIndex(where: { $0.tickets.contains(ticket) }) else { return }
    let old = refused.remove(at: former)
    let index = place(for: old.tickets.lowerBound)
    var pending = Pending(
      tickets: old.tickets, change: change ?? old.change, mayHaveCopy: old.mayHaveCopy,
      version: old.version)
    let id = old.refusal.id
    if change == nil, canTakeBack(id, at: index) {
      voided.removeAll { $0 == id }
      pending.stage = .sent(id)
    } else if isIdempotent, queue[index...].contains(where: { $0.id != nil }) {
      // Those behind it were sent before it was refused, and never since: as in any refusal.
      takeBackIDs(above: max(id, confirmed))
      for later in index..<queue.count { queue[later].stage = .unsent }
    }
    queue.insert(pending, at: index)
    if let change { size += change.boundedSize - old.change.boundedSize }
  }

  /// Whether an ID that was refused with a whole push, and never told to be void, may name the same
  /// mutation again. It should: an earlier push, whose answer was lost, may have been run after all, and
  /// in another name it would be made twice.
  private func canTakeBack(_ id: MutationID, at index: Int) -> Bool {
    guard voided.contains(id) else { return false }
    let follows = index == 0 || queue[index - 1].id.map { $0 < id } ?? false
    let precedes = index == queue.count || queue[index].id.map { $0 > id } ?? true
    return follows && precedes
  }

  /// The app's word changes the view, and is to be durable.
  private mutating func noteWord(
    _ ticket: MutationTicket, at now: Moment, _ effects: inout Effects
  ) {
    queueVersion += 1
    changed()
    sending.wordVersion = version
    if let index = index(of: ticket) { queue[index].version = version }
    persist(&effects)
    proceed(at: now, &effects)
  }

  // MARK: Places in the queue

  /// Where it is in the queue. O(log n).
  @inlinable
  func index(of ticket: MutationTicket) -> Int? {
    let index = place(for: ticket)
    return index < queue.count && queue[index].tickets.contains(ticket) ? index : nil
  }

  /// How many in the queue end below a ticket.
  @inlinable
  func place(for ticket: MutationTicket) -> Int {
    var (low, high) = (0, queue.count)
    while low < high {
      let middle = (low + high) / 2
      if queue[middle].tickets.upperBound < ticket { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
