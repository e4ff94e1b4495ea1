package import MessageSync
internal import UpdateMachine

// A server that breaks its contract: an event is never sent, a row is from an old cache, or a page
// has arbitrary content (PartialKnowledge R13). The oracle judges as if the contract had been kept.
// So it may object until the audit has repaired what it can.

extension MessageRace {
  /// Commits a change that no client is ever told of.
  package mutating func commitUnannounced(_ change: ServerMessages.Change) {
    commit(change)
    announcements[announcements.count - 1] = nil
  }

  /// The server looks up IDs and flags now, but takes the rows' other fields from a cache as old as
  /// this position.
  package mutating func readOldCache(_ number: UInt64, of position: Int64) {
    read(number)
    guard let index = fetches.firstIndex(where: { $0.id.number == number }),
      var page = fetches[index].answer?.page
    else { return }
    for row in page.messages.indices {
      guard var old = history[Int(position)][page.messages[row].id] else { continue }
      old.flags = page.messages[row].flags
      page.messages[row] = old
    }
    fetches[index].answer?.page = page
  }

  /// The server answers with this page, read now.
  package mutating func read(_ number: UInt64, as page: MessagePage<UInt32>) {
    guard let index = fetches.firstIndex(where: { $0.id.number == number }) else { return }
    fetches[index].answer = (page, position)
  }
}
