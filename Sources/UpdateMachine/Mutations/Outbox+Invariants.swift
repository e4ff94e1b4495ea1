extension Outbox {
  @usableFromInline
  func violated(_ rule: String) -> Violation { Violation(rule: rule, found: description) }

  /// Returns the first invariant that does not hold; `nil` if all do. Checked after every input.
  @inlinable
  package func violation() -> Violation? {
    violationOfQueue() ?? violationOfStatus() ?? violationOfHistory()
  }

  @usableFromInline
  func violationOfHistory() -> Violation? {
    if history.isEmpty { return nil }
    for entries in [history.undo, history.redo] {
      var place: UInt64 = 0
      for entry in entries {
        if entry.place <= place { return violated("what can be undone is in the order of places") }
        place = entry.place
        if entry.ticket > lastTicket {
          return violated("no undo is of a change after the last one made")
        }
        if entry.version > version { return violated("no undo is newer than the outbox") }
      }
      if entries.count > settings.undoMaximum {
        return violated("no stack of undo exceeds its maximum")
      }
    }
    return nil
  }

  @inlinable
  func violationOfQueue() -> Violation? {
    var rank: UInt64 = 0
    var id = confirmed
    var hasNone = false
    for pending in queue {
      if pending.rank <= rank { return violated("the queue is in the order of ranks") }
      if pending.rank < pending.tickets.lowerBound.number {
        return violated("no mutation goes ahead of earlier ones")
      }
      rank = pending.rank
      if pending.ticket > lastTicket {
        return violated("no ticket is above the last one given")
      }
      if let next = pending.id {
        if hasNone, countsIDs {
          return violated("mutations without an ID come after those with one")
        }
        if countsIDs, next <= id {
          return violated("IDs ascend from the last that is confirmed")
        }
        if pending.isUncertain, maySendAgain(pending.change) {
          return violated("what may be sent again is not uncertain")
        }
        id = next
      } else {
        hasNone = true
      }
      if pending.version > version { return violated("no mutation is newer than the outbox") }
    }
    if id > lastID { return violated("no ID is above the last one given") }
    for refused in refused {
      if index(of: refused.tickets.lowerBound) != nil {
        return violated("a refused mutation is not in the queue")
      }
      if countsIDs, refused.refusal.id > knownRefusal, !voided.contains(refused.refusal.id) {
        return violated("a kept refusal was reported by the server, or is voided")
      }
    }
    if size != measuredSize { return violated("the size is the sum of the sizes") }
    if stored > version { return violated("the durable version is not above the current one") }
    if let void = voided.first, void <= confirmed { return violated("void IDs are not confirmed") }
    if knownRefusal > lastID { return violated("a refused mutation had an ID") }
    return nil
  }

  @inlinable
  func violationOfStatus() -> Violation? {
    let hasTimer = sending.retry.timer != nil
    switch sending.status {
    case .resting:
      if hasTimer { return violated("resting holds no timer") }
      if isActive, !isReplayDue, block == nil, queue.contains(where: { !$0.isAccepted }) {
        return violated("a mutation that can be sent is being sent")
      }
      if isActive, !isReplayDue, refused.isEmpty, !sending.isHeldBack, countsIDs,
        queue.first?.isAccepted == true
      {
        return violated("accepted mutations wait for their confirmation")
      }
    case .storing:
      if hasTimer { return violated("storing holds no timer") }
      if stored == version { return violated("storing waits for a write") }
    case .pushing(let push):
      if !hasTimer { return violated("a push has a deadline") }
      if push.first > push.last { return violated("a push is not empty") }
      for pending in queue {
        guard let id = pending.id, push.first <= id, id <= push.last else { continue }
        if pending.version > stored { return violated("only durable mutations have left") }
      }
    case .waiting: if !hasTimer { return violated("waiting has a timer") }
    case .pausing: if !hasTimer { return violated("pausing has a timer") }
    case .confirming: if !hasTimer { return violated("confirming has a timer") }
    case .halted: if hasTimer { return violated("halted holds no timer") }
    }
    if !sending.isStarted, sending.status != .resting, sending.status != .halted(.stopped) {
      return violated("nothing goes on before the start")
    }
    return nil
  }
}

extension Outbox: CustomStringConvertible {
  /// The whole outbox in one line.
  @usableFromInline package var description: String {
    var text = "\(sending.status), \(queue.count) pending"
    let sent = queue.count { $0.id != nil }
    if sent > 0 { text += " (\(sent) sent)" }
    let aside = setAside.count
    if aside > 0 { text += ", \(aside) set aside" }
    text += ", confirmed \(confirmed)"
    if knownRefusal != .none { text += ", knows refusal \(knownRefusal)" }
    if let timer = sending.retry.timer { text += ", timer \(timer.id) until \(timer.latest)" }
    text += ", \(version)"
    if stored < version { text += " of which \(stored) stored" }
    if isReplayDue { text += ", replay due" }
    if !sending.isStarted { text += ", not started" }
    if !sending.isForeground { text += ", background" }
    return text
  }
}
