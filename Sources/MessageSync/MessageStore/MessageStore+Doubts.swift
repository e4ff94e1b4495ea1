public import UpdateMachine

// A server may merge flag events that wait to be fetched, and so change their order (R10). If one
// answer both sets and clears a flag of a message, it does not say which came last.

extension MessageStore {
  /// The flag changes of one answer that may contradict each other.
  @usableFromInline
  struct AnswerFlags: Sendable {
    /// The flag change of one event.
    @usableFromInline
    struct Change: Sendable {
      /// In ascending order; `nil` means every message.
      @usableFromInline var ids: [MessageID]?
      /// The ID that the event lists last.
      @usableFromInline var last: MessageID?
      @usableFromInline var flags: MessageFlags
      @usableFromInline var isSet: Bool

      @inlinable
      init(ids: [MessageID]?, last: MessageID? = nil, flags: MessageFlags, isSet: Bool) {
        self.ids = ids
        self.last = last
        self.flags = flags
        self.isSet = isSet
      }

      @inlinable
      func names(_ id: MessageID) -> Bool {
        guard let ids else { return true }
        var (low, high) = (0, ids.count)
        while low < high {
          let middle = (low + high) / 2
          if ids[middle] < id { low = middle + 1 } else { high = middle }
        }
        return low < ids.count && ids[low] == id
      }
    }

    @usableFromInline var changes: [Change] = []

    @inlinable
    init() {}

    @inlinable
    mutating func note(_ event: Event) {
      switch event {
      case .flagged(let ids, let flags, let isSet):
        changes.append(Change(ids: ids.sorted(), last: ids.last, flags: flags, isSet: isSet))
      case .flaggedAll(let flags, let isSet):
        changes.append(Change(ids: nil, flags: flags, isSet: isSet))
      case .new, .updated, .deleted, .reacted, .covered: break
      }
    }

    /// The messages for which the answer may both set and clear a flag, each once, in ascending
    /// order.
    @inlinable
    var contested: [MessageID] {
      var (set, cleared): (MessageFlags, MessageFlags) = ([], [])
      for change in changes {
        if change.isSet { set.formUnion(change.flags) } else { cleared.formUnion(change.flags) }
      }
      var ids: [MessageID] = []
      for change in changes where !change.flags.isDisjoint(with: set.intersection(cleared)) {
        ids += change.ids ?? []
      }
      ids.sort()
      var each: [MessageID] = []
      for id in ids where each.last != id { each.append(id) }
      return each
    }

    /// Returns, for one message, the flags in doubt and the other flags that changed.
    @inlinable
    func verdict(on id: MessageID) -> (doubtful: MessageFlags, certain: MessageFlags) {
      var (set, cleared): (MessageFlags, MessageFlags) = ([], [])
      /// The flags whose latest change lists the message last. Merging appends, so that change is
      /// the newest one.
      var newest: MessageFlags = []
      for change in changes {
        guard change.names(id) else { continue }
        if change.isSet { set.formUnion(change.flags) } else { cleared.formUnion(change.flags) }
        newest.assign(change.flags, change.last == id)
      }
      let both = set.intersection(cleared)
      let doubtful = both.subtracting(newest)
      return (doubtful, set.union(cleared).subtracting(doubtful))
    }
  }

  /// Updates the flags in doubt after an answer.
  @inlinable
  mutating func settleFlags() {
    let changes = answer
    answer = AnswerFlags()
    guard !changes.changes.isEmpty else { return }
    _revision += 1
    for (id, old) in doubts {
      let (_, certain) = changes.verdict(on: id)
      if !old.isDisjoint(with: certain) { settle(id, old.subtracting(certain)) }
    }
    for (id, old) in unheldDoubts {
      let left = old.subtracting(changes.verdict(on: id).certain)
      if left != old { unheldDoubts[id] = left.isEmpty ? nil : left }
    }
    for id in changes.contested {
      let (doubtful, _) = changes.verdict(on: id)
      if !doubtful.isEmpty { doubt(id, doubtful) }
    }
  }

  @inlinable
  mutating func doubt(_ id: MessageID, _ flags: MessageFlags) {
    note(.doubt([id], flags))
    audit.end(id)
    guard held.contains(id) else {
      find(id, unheldDoubts: flags)
      // The message is not held, so lists that read these flags may or may not contain it.
      let unknown = Touch.doubted(flags).partialMessage(of: id)
      return forEachList(
        where: { $0.list.knowledge.contains(id) || $0.list.hides(id) },
        { listed in
          guard !listed.narrow.reads.flags.isDisjoint(with: flags) else { return }
          if listed.narrow.verdict(on: unknown) != .no { listed.mayHave(id) }
        })
    }
    settle(id, doubt(about: id).union(flags))
  }

  /// Notes that flags of a message that is not held are in doubt. Flags that are not counted are
  /// ignored.
  @inlinable
  mutating func find(_ id: MessageID, unheldDoubts flags: MessageFlags) {
    let counted = flags.intersection(countedFlags)
    if !counted.isEmpty { unheldDoubts[id] = counted.union(unheldDoubts[id] ?? []) }
  }

  /// Ends the doubt about a message that was not held, now that a page has brought it. Flags that
  /// are still in doubt count from now on as those of a held message.
  @inlinable
  mutating func recognize(_ id: MessageID, but doubt: MessageFlags) {
    guard let flags = unheldDoubts.removeValue(forKey: id) else { return }
    if flags.isDisjoint(with: doubt) { mended.append(id) }
  }

  /// Sets which flags of a held message are in doubt.
  @inlinable
  mutating func settle(_ id: MessageID, _ flags: MessageFlags) {
    guard let held = held[id] else { return }
    doubts[id] = flags.isEmpty ? nil : flags
    hold(held, doubt: flags)
  }
}
