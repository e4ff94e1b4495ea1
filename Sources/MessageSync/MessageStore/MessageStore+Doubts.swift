public import UpdateMachine

// A server merges flag events that wait to be asked for, and so may change their order (R10). Where
// one answer sets and clears a flag of one message, nobody can tell from it which came last.

extension MessageStore {
  /// The flag changes of one answer, as far as they may contradict each other.
  @usableFromInline
  struct AnswerFlags: Sendable {
    /// One event's.
    @usableFromInline
    struct Change: Sendable {
      /// Ascending; `nil`: every message.
      @usableFromInline var ids: [MessageID]?
      /// The one that it names last.
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

    /// The messages of which a flag may have been both set and cleared: ascending, each once.
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

    /// Of one message: the flags that were both set and cleared, and those that were only one.
    @inlinable
    func verdict(on id: MessageID) -> (doubtful: MessageFlags, certain: MessageFlags) {
      var (set, cleared): (MessageFlags, MessageFlags) = ([], [])
      /// Flags of which the last change names the message last. Merging appends: that change is then
      /// the newest of them all.
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

  /// After an answer: which flags are in doubt from here on, and which no more.
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
    for (id, old) in strange {
      let left = old.subtracting(changes.verdict(on: id).certain)
      if left != old { strange[id] = left.isEmpty ? nil : left }
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
      find(id, strange: flags)
      // Not held: it is not known whether the lists that read these flags have it.
      let unknown = Touch.doubted(flags).glimpse(of: id)
      return forEachList(
        where: { $0.list.knowledge.contains(id) },
        { listed in
          guard !listed.narrow.reads.flags.isDisjoint(with: flags) else { return }
          if listed.narrow.verdict(on: unknown) != .no { listed.list.forget(id) }
        })
    }
    settle(id, doubt(about: id).union(flags))
  }

  /// A message that is not held has these flags in doubt. Those that are not counted are nobody's matter.
  @inlinable
  mutating func find(_ id: MessageID, strange flags: MessageFlags) {
    let counted = flags.intersection(countedFlags)
    if !counted.isEmpty { strange[id] = counted.union(strange[id] ?? []) }
  }

  /// A page has told all of a message that was not held, but for what is in doubt still: then that is of
  /// a held message from here on.
  @inlinable
  mutating func recognize(_ id: MessageID, but doubt: MessageFlags = []) {
    guard let flags = strange.removeValue(forKey: id) else { return }
    if flags.isDisjoint(with: doubt) { mended.append(id) }
  }

  /// From here on only these flags of a held message are in doubt.
  @inlinable
  mutating func settle(_ id: MessageID, _ flags: MessageFlags) {
    guard let held = held[id] else { return }
    doubts[id] = flags.isEmpty ? nil : flags
    hold(held, doubt: flags)
  }
}
