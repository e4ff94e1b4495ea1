// A server merges flag events that wait to be asked for, and so may change their order (R10). Where
// one answer sets and clears a flag of one message, nobody can tell from it which came last.

extension MessageStore {
  /// The flag changes of one answer, as far as they may contradict each other.
  struct AnswerFlags: Sendable {
    /// One event's.
    struct Change: Sendable {
      /// `nil`: every message.
      var ids: [MessageID]?
      var flags: MessageFlags
      var isSet: Bool
    }

    var changes: [Change] = []

    mutating func note(_ event: Event) {
      switch event {
      case .flagged(let ids, let flags, let isSet):
        changes.append(Change(ids: ids, flags: flags, isSet: isSet))
      case .flaggedAll(let flags, let isSet):
        changes.append(Change(ids: nil, flags: flags, isSet: isSet))
      case .new, .updated, .deleted, .reacted, .covered: break
      }
    }

    /// The messages named, ascending, each once.
    var named: [MessageID] {
      var ids: [MessageID] = []
      for change in changes { ids += change.ids ?? [] }
      ids.sort()
      var each: [MessageID] = []
      for id in ids where each.last != id { each.append(id) }
      return each
    }

    /// Of one message: the flags that were both set and cleared, and those that were only one.
    func verdict(on id: MessageID) -> (doubtful: MessageFlags, certain: MessageFlags) {
      var (set, cleared): (MessageFlags, MessageFlags) = ([], [])
      /// Flags of which the last change names the message last. Merging appends: that change is then
      /// the newest of them all.
      var newest: MessageFlags = []
      for change in changes {
        guard change.ids?.contains(id) ?? true else { continue }
        if change.isSet { set.formUnion(change.flags) } else { cleared.formUnion(change.flags) }
        newest.assign(change.flags, change.ids?.last == id)
      }
      let both = set.intersection(cleared)
      let doubtful = both.subtracting(newest)
      return (doubtful, set.union(cleared).subtracting(doubtful))
    }
  }

  /// After an answer: which flags are in doubt from here on, and which no more.
  mutating func settleFlags() {
    let changes = answer
    answer = AnswerFlags()
    guard changes.changes.count > 0 else { return }
    for id in changes.named {
      let (doubtful, certain) = changes.verdict(on: id)
      if !doubtful.isEmpty {
        doubt(id, doubtful, noLonger: certain)
      } else if let old = doubts[id], !old.flags.isDisjoint(with: certain) {
        settle(id, old.flags.subtracting(certain), since: old.since)
      }
    }
  }

  private mutating func doubt(
    _ id: MessageID, _ flags: MessageFlags, noLonger certain: MessageFlags
  ) {
    note(.doubt([id], flags))
    audit.end(id)
    guard held.contains(id) else {
      // Not held: it is not known whether the lists that read these flags have it.
      let unknown = Touch.doubted(flags).glimpse(of: id)
      return forEachList { listed in
        guard !listed.narrow.reads.flags.isDisjoint(with: flags) else { return }
        if listed.narrow.verdict(on: unknown) != .no { listed.list.forget(id) }
      }
    }
    let all = (doubts[id]?.flags ?? []).subtracting(certain).union(flags)
    settle(id, all, since: journal.position)
  }

  /// From here on only these flags of a held message are in doubt.
  mutating func settle(_ id: MessageID, _ flags: MessageFlags, since: UInt64) {
    guard let held = held[id] else { return }
    doubts[id] = flags.isEmpty ? nil : Doubt(flags: flags, since: since)
    hold(held, doubt: flags)
  }
}
