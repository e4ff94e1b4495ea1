internal import MessageSync
internal import UpdateMachine

/// Oracle B, the other way round: a client claims no less than it may. What a list knows, it knows
/// until an event casts doubt on it (R7, R8, R10, R11), and a page teaches it everything between
/// the page's ends that no event since has cast doubt on (R4, R5).
///
/// Without this, a client that forgets everything at every event passes: it asks again, and its
/// lists are right in the end. The rules are written here a second time, from the server's changes
/// instead of the client's events.
struct RetentionOracle: Sendable {
  typealias Narrow = ServerMessages.Narrow
  typealias Store = MessageStore<Narrow>

  /// What was held when the client was last judged; `nil`: nothing to compare with.
  private var last: (store: Store, position: Int64)?
  /// What the user was told, in the order of positions.
  private var told: [Told] = []
  /// The server hides older messages. What is in doubt of them can never be settled, so they are
  /// dropped.
  private var firstVisible = MessageID(0)
  /// Why lists may know less after this step than the events explain.
  private var isExcused = false
  /// Where the client's finger stood when each fetch left, at the latest.
  private var left: [RequestID: Int64] = [:]
  /// Where it stood after the last step.
  private var position: Int64 = -1
  /// The pages that the client took in this step.
  private var taken: [Taken] = []

  private struct Taken: Sendable {
    var narrow: Narrow
    var interval: IDInterval<MessageID>
    /// The messages whose copies do not belong into the list: old rows of a cache.
    var contradicted: [MessageID]
    var since: Int64
  }

  struct Told: Sendable {
    var position: Int64
    var change: ServerMessages.Change
    /// The messages that came from a place without events: whatever was known of them is void.
    var arrived: [MessageID]
  }

  /// The client begins anew: with a process, with a snapshot, or with what is left after rows could
  /// not be read.
  mutating func begin() {
    last = nil
    taken = []
  }

  /// The user has a message dropped, or a list forgotten.
  mutating func noteForgetting() {
    isExcused = true
    left = [:]
  }

  /// A change that leads to this position was committed.
  mutating func note(
    _ change: ServerMessages.Change, from truth: ServerMessages, at position: Int64
  ) {
    guard truth.announcement(of: change) != nil else { return }
    var arrived: [MessageID] = []
    if case .moved(let ids, _, _) = change {
      arrived = ids.filter { id in truth[id].map { !truth.follows($0.place) } ?? false }
    }
    told.append(Told(position: position, change: change, arrived: arrived))
  }

  /// A fetch leaves. Its page may be older than any event that is applied from now on.
  mutating func noteFetch(_ id: RequestID) { left[id] = position }

  /// The client took the page of a fetch.
  mutating func noteTaken(
    _ id: RequestID, _ page: MessagePage<UInt32>, for request: PageRequest<Narrow, MessageID>
  ) {
    guard let since = left.removeValue(forKey: id), let narrow = request.narrow,
      let interval = RetentionOracle.interval(of: page)
    else { return }
    let contradicted = page.messages.filter { narrow.verdict(on: PartialMessage($0)) == .no }
    taken.append(
      Taken(
        narrow: narrow, interval: interval, contradicted: contradicted.map { $0.id }, since: since))
  }

  /// What a page is complete about, if the server hides no history: all between its messages and
  /// its anchor, and on to the ends that were found.
  private static func interval(of page: MessagePage<UInt32>) -> IDInterval<MessageID>? {
    let ids = page.messages.map { $0.id } + (page.anchor.map { [$0] } ?? [])
    guard let least = ids.min(), let greatest = ids.max() else {
      return page.foundOldest && page.foundNewest ? .everything : nil
    }
    return IDInterval(
      from: page.foundOldest ? .veryBeginning : .id(least),
      to: page.foundNewest ? .veryEnd : .id(greatest))
  }

  /// Compares what a client knows with what it knew after its last step.
  ///
  /// - Parameters:
  ///   - watched: the narrows that windows show.
  ///   - unwatchedMaximum: how many more lists are kept.
  mutating func objection(
    to store: Store, _ truth: ServerMessages, at position: Int64, watched: [Narrow],
    unwatchedMaximum: Int
  ) -> IntervalOracle.Objection? {
    firstVisible = truth.firstVisible
    let unwatched = store.narrows.count { !watched.contains($0) }
    defer {
      last = (store, position)
      self.position = position
      isExcused = false
      taken = []
    }
    if unwatched > unwatchedMaximum {
      return IntervalOracle.Objection(
        expected: "at most \(unwatchedMaximum) lists that no window shows", found: "\(unwatched)")
    }
    for taken in taken where !isExcused && firstVisible == MessageID(0) {
      if let objection = objection(to: store, after: taken, at: position) { return objection }
    }
    guard let last, !isExcused, !last.store.isSame(as: store),
      last.store.auditCounts.repairs == store.auditCounts.repairs  // A repair may drop a message.
    else { return nil }
    if unwatched < unwatchedMaximum,
      let gone = last.store.narrows.first(where: { store.list(of: $0) == nil })
    {
      return IntervalOracle.Objection(
        expected: "the list of \(gone) is kept, for there is room", found: "it is closed")
    }
    for narrow in store.narrows {
      guard let now = store.list(of: narrow), let before = last.store.list(of: narrow),
        now.knowledge != before.knowledge
      else { continue }
      for id in lost(before.knowledge, now.knowledge)
      where id >= firstVisible && !mayBeLost(id, narrow, from: last, to: position) {
        return IntervalOracle.Objection(
          expected: "\(narrow) still knows \(id), for no event was about it",
          found: "knew \(before.knowledge), knows \(now.knowledge)")
      }
    }
    return nil
  }

  /// A page taught the list everything between its ends.
  private func objection(
    to store: Store, after taken: Taken, at position: Int64
  ) -> IntervalOracle.Objection? {
    guard store.canBeKnown(taken.narrow), let now = store.list(of: taken.narrow)?.knowledge else {
      return nil
    }
    let unknown = ids.first { id in
      taken.interval.contains(id) && !now.contains(id) && !taken.contradicted.contains(id)
        && store.doubt(about: id).isEmpty
        && !told.contains {
          $0.position > taken.since && $0.position <= position
            && $0.castsDoubt(on: id, in: taken.narrow, isHeld: false)
        }
    }
    return unknown.map {
      IntervalOracle.Objection(
        expected: "\(taken.narrow) knows \($0), for a page of \(taken.interval) was taken",
        found: "knows \(now)")
    }
  }

  /// All IDs that the world has given, and one more.
  private var ids: some Sequence<MessageID> {
    let greatest = told.lazy.compactMap { $0.greatest }.max() ?? MessageID(0)
    return (0...greatest.number + 1).lazy.map { MessageID($0) }
  }

  /// The IDs that were known and are not, of those that a world gives.
  private func lost(_ before: Knowledge<MessageID>, _ now: Knowledge<MessageID>) -> [MessageID] {
    ids.filter { before.contains($0) && !now.contains($0) }
  }

  private func mayBeLost(
    _ id: MessageID, _ narrow: Narrow, from last: (store: Store, position: Int64),
    to position: Int64
  ) -> Bool {
    // What arrives, or is gone, is held no longer, so that the next event says all that is known.
    var isHeld = last.store[id] != nil
    for told in told where told.position > last.position && told.position <= position {
      if told.castsDoubt(on: id, in: narrow, isHeld: isHeld) { return true }
      if told.releases(id) { isHeld = false }
    }
    return false
  }
}

extension RetentionOracle.Told {
  /// The greatest ID that the change names.
  var greatest: MessageID? {
    switch change {
    case .sent(let id, _, _, _, _), .edited(let id, _, _), .reacted(let id, _, _): id
    case .moved(let ids, _, _), .deleted(let ids), .flagged(let ids, _, _): ids.max()
    case .flaggedAll, .covered, .limited, .untold, .aged, .renewed: nil
    }
  }

  /// Whether a client that applies the change holds the message no longer.
  func releases(_ id: MessageID) -> Bool {
    if case .deleted(let ids) = change { return ids.contains(id) }
    return arrived.contains(id)
  }

  /// Whether the change leaves a client unsure whether the narrow has the message.
  ///
  /// - Parameter isHeld: the client has the message, so it knows every field of it.
  func castsDoubt(on id: MessageID, in narrow: RetentionOracle.Narrow, isHeld: Bool) -> Bool {
    var known = PartialMessage<UInt32>(id)
    let reads = narrow.reads
    switch change {
    case .sent, .deleted, .reacted, .limited, .untold, .aged, .renewed: return false
    case .edited(id, let content, let isMention):
      known.content = content
      known.flags = isMention ? .mentioned : []
      known.flagsShown = .mentioned
      guard !isHeld, reads.hasContent || reads.flags.contains(.mentioned) else { return false }
    case .moved(let ids, let target, _):
      guard ids.contains(id) else { return false }
      known.place = target
      known.channel = target.channel
      guard arrived.contains(id) || reads.hasPlace && !isHeld else { return false }
    case .flagged(let ids, let flags, _):
      // Two that contradict each other in one answer are a doubt about a held message, too (R10).
      guard ids.contains(id), !reads.flags.isDisjoint(with: flags) else { return false }
      if isHeld { return true }
    case .flaggedAll(let flags, let isSet):
      known.flags = isSet ? flags : []
      known.flagsShown = flags
      guard !isHeld, !reads.flags.isDisjoint(with: flags) else { return false }
    case .covered(let channel, _):
      // A message from a page may be ahead of the finger, and is dropped (R11).
      if isHeld { return true }
      known.channel = channel
    case .edited: return false
    }
    return narrow.verdict(on: known) != .no
  }
}
