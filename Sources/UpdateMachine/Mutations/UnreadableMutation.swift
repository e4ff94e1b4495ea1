/// A change of the user's that was saved, and that this version of the app cannot read: another
/// version of the app wrote it. It has no effect on the view and is not sent, and holds up no
/// other. Its saved form stays as it is. So a version that can read it finds it again.
public struct UnreadableMutation: Hashable, Sendable {
  /// The app's handle, for a discard.
  public var ticket: MutationTicket { tickets.upperBound }
  /// The change's name (``Mutation/name``); `nil`: a version of the library saved it that kept no
  /// names.
  public let name: String?
  /// The change as its own ``Storable/put(into:)`` wrote it. It is the user's: show it to nobody
  /// else.
  public let bytes: [UInt8]
  /// Why it cannot be read.
  public let reason: StoredFormError

  let tickets: TicketSet
  let rank: UInt64
  /// Its ID at the server, if it had one.
  let id: MutationID?
  let isAccepted: Bool
  /// Its row as it is saved.
  let key: StoredKey
  let row: [UInt8]
  /// Whether the server may have been told that its ID is void. Until then the server has run it
  /// if it counts its ID.
  var mayBeVoid = false
}

extension Outbox {
  @usableFromInline
  func isUnreadable(_ ticket: MutationTicket) -> Bool {
    unreadable.contains { $0.tickets.contains(ticket) }
  }

  /// Makes the IDs of unreadable changes void if they stand before the last ID of a batch: the
  /// server would wait for them. As long as nothing is sent after it, an unreadable change keeps
  /// its ID, so that a version of the app that can read it sends it as it was.
  mutating func voidUnreadable(before batch: Range<Int>, _ effects: inout Effects) {
    guard countsIDs, !unreadable.isEmpty, let last = queue[batch].last?.id else { return }
    var isNew = false
    for index in unreadable.indices {
      guard let id = unreadable[index].id, id > confirmed, id < last else { continue }
      unreadable[index].mayBeVoid = true
      guard !voided.contains(id) else { continue }
      voided.append(id)
      isNew = true
    }
    guard isNew else { return }
    voided.sort()
    changed()
    sending.decisionVersion = version
    persist(&effects)
  }

  /// Takes out the unreadable changes that the server has run: it counts their IDs now, and was
  /// never told that they are void. Returns whether there were any.
  mutating func confirmUnreadable(
    after first: MutationID, through last: MutationID, _ refusal: MutationRefusal?
  ) -> Bool {
    let before = unreadable.count
    unreadable.removeAll { item in
      guard let id = item.id, id > first, !item.mayBeVoid else { return false }
      return id <= last && id != refusal?.id
    }
    return unreadable.count < before
  }

  /// Finds a place for what an earlier version of the app could not read and this one can. If its
  /// ID is void by now, it is set aside: under another ID it could be made twice, so that is for
  /// the user to decide. If it never left, it stands behind those that have gone ahead of it.
  mutating func placeReadAgain() {
    guard countsIDs else { return }
    for index in refused.indices {
      let id = refused[index].refusal.id
      guard id > knownRefusal, !voided.contains(id) else { continue }
      refused[index].refusal = MutationRefusal(.none, refused[index].refusal.code)
      refused[index].mayHaveCopy = true
    }
    let lost = MutationRefusal(.none, .unreadable)
    for index in queue.indices.reversed() {
      guard let id = queue[index].id, id <= confirmed || voided.contains(id) else { continue }
      let pending = queue.remove(at: index)
      refused.append(
        Refused(
          tickets: pending.tickets, rank: pending.rank, change: pending.change, refusal: lost,
          mayHaveCopy: true, takesBack: pending.takesBack, version: pending.version))
    }
    refused.sort { $0.tickets.lowerBound < $1.tickets.lowerBound }
    while let lastSent = queue.lastIndex(where: { $0.id != nil }),
      let index = queue[..<lastSent].firstIndex(where: { $0.id == nil })
    {
      var pending = queue.remove(at: index)
      pending.rank = max(pending.rank, nextRank)
      queue.append(pending)
    }
    // If it is tried again, what has an ID must keep it.
    guard let sent = queue.last(where: { $0.id != nil })?.rank else { return }
    for index in refused.indices
    where refused[index].rank < sent && !voided.contains(refused[index].refusal.id) {
      refused[index].rank = nextRank
    }
  }
}
