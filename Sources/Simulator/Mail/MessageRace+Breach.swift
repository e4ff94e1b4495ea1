public import MessageSync
internal import UpdateMachine

// A server that does not keep its contract: an event is never sent, a row is from an old cache, a
// page is whatever somebody says (KNOWLEDGE.md, R13). The oracle judges as if it had been kept, so it
// may object until the audit has mended what can be mended.

extension MessageRace {
  /// Something happens on the server, and nobody is ever told.
  public mutating func commitUnannounced(_ change: Mailbox.Change) {
    commit(change)
    announcements[announcements.count - 1] = nil
  }

  /// The server looks up IDs and flags now, but the rows' other fields are from a cache that is as old
  /// as this position.
  public mutating func readOldCache(_ number: UInt64, of position: Int64) {
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

  /// The server answers this, read now.
  public mutating func read(_ number: UInt64, as page: MessagePage<UInt32>) {
    guard let index = fetches.firstIndex(where: { $0.id.number == number }) else { return }
    fetches[index].answer = (page, position)
  }
}
