public import UpdateMachine

// Two comparisons for checkers. `isSame` says whether two stores hold and know the same. The digest
// lets the explorer recognise a state that it has visited, because two stores with the same digest
// behave alike from here on. Counters that only grow enter it relative to now. What is only
// displayed (former messages, the content of copies) does not enter it at all.

extension MessageStore {
  /// Whether both stores hold the same messages and know the same of their lists. O(differences).
  @inlinable
  package func isSame(as other: MessageStore) -> Bool {
    held == other.held && doubts == other.doubts && unheldDoubts == other.unheldDoubts
      && lists == other.lists && former == other.former && followed == other.followed
      && unloaded == other.unloaded
  }
}

extension MessageStore where Narrow: Storable, Narrow.Content: Storable {
  /// Folds in everything that the rules read.
  package func fold(into digest: inout StateDigest) {
    for (id, held) in held {
      digest.fold(id.number)
      MessageStore.fold(held.storedBytes, into: &digest)
      digest.fold(UInt64(doubts[id]?.rawValue ?? 0))
      digest.fold(ahead[id].map { $0 < audit.polls ? 2 : 1 } ?? 0 as UInt64)
    }
    digest.fold(newest?.number ?? -1)
    for (id, flags) in unheldDoubts {
      digest.fold(id.number)
      digest.fold(UInt64(flags.rawValue))
    }
    digest.fold(UInt64(lists.count))
    for (_, listed) in lists {
      MessageStore.fold(listed.narrow.storedBytes, into: &digest)
      MessageStore.fold(listed.list.knowledge.storedBytes, into: &digest)
      digest.fold(listed.list.historyLimit?.number ?? -1)
      digest.fold(UInt64(listed.list.ids.count))
      for (id, _) in listed.list.ids { digest.fold(id.number) }
      for (id, _) in listed.list.copied { digest.fold(~id.number) }
    }
    for channel in followed { digest.fold(channel.number) }
    foldWhatIsOut(into: &digest)
  }

  /// Folds in the open fetches, the journal, and the audit's cases.
  private func foldWhatIsOut(into digest: inout StateDigest) {
    digest.fold(UInt64(fetches.count))
    for fetch in fetches {
      digest.fold("\(fetch.request.want)")
      digest.fold(journal.position - fetch.begun)
      digest.fold(fetch.isAudit ? 1 : 0 as UInt64)
    }
    digest.fold(UInt64(journal.entries.count))
    for entry in journal.entries {
      switch entry {
      case .event(let event): digest.fold("\(event)")
      case .doubt(let ids, let flags):
        for id in ids { digest.fold(id.number) }
        digest.fold(UInt64(flags.rawValue))
      }
    }
    digest.fold(UInt64(audit.cases.count))
    for one in audit.cases {
      digest.fold(one.id.number)
      digest.fold(one.asked < audit.polls ? 1 : 0 as UInt64)
      digest.fold(one.isSuspect ? 1 : 0 as UInt64)
      digest.fold(one.reading == nil ? 0 : 1 as UInt64)
      switch one.evidence {
      case .copy(let message): MessageStore.fold(message.storedBytes, into: &digest)
      case .lists(let narrows): digest.fold(UInt64(narrows.count))
      }
    }
    for id in mended { digest.fold(id.number) }
  }

  private static func fold(_ bytes: [UInt8], into digest: inout StateDigest) {
    digest.fold(UInt64(bytes.count))
    for byte in bytes { digest.fold(UInt64(byte)) }
  }
}
