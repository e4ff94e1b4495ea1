public import UpdateMachine

// A server may show a message that is not the user's: it was sent to a channel before the user
// followed it, and only lists of the channel have it. Such a copy does not say whether other lists,
// the *feed*, have the message, too (R14).

extension MessageStore {
  /// Whether a list of the feed that is known there lacks the message, so that it is outside.
  @inlinable
  func isKnownOutsideFeed(_ message: ChatMessage<Content>) -> Bool {
    let id = message.id
    let inside = MessageStore.insideFeed(message)
    return lists.hasValue { listed in
      listed.reads(.outsideFeed) && listed.list.knowledge.contains(id)
        && !listed.list.ids.contains(id) && listed.narrow.verdict(on: inside) == .yes
    }
  }

  /// The message as it would be in the feed.
  @inlinable
  static func insideFeed(
    _ message: ChatMessage<Content>, doubt: MessageFlags = []
  ) -> PartialMessage<Content> {
    var inside = PartialMessage(message, doubt: doubt)
    inside.flags.remove(.outsideFeed)
    inside.flagsShown.insert(.outsideFeed)
    return inside
  }

  /// A message that a move may have brought into the feed. If so, it is read, and has no other
  /// flag.
  @inlinable
  static func gained(_ moved: PartialMessage<Content>) -> PartialMessage<Content> {
    var gained = moved
    gained.flags = .read
    gained.flagsShown = .all
    return gained
  }

  /// Settles which messages are outside of the feed, after a page of one of its lists: those that
  /// the page lacks and would list otherwise. Of those that it brought it is known already.
  @inlinable
  mutating func settleFeed(
    of narrow: Narrow, _ interval: IDInterval<MessageID>, _ replay: Replay
  ) {
    guard narrow.reads.flags.contains(.outsideFeed) else { return }
    var outside: [MessageID] = []
    for (id, doubt) in doubts where doubt.contains(.outsideFeed) && interval.contains(id) {
      // The page may have an old copy of it.
      guard let held = held[id], !replay.contradictsItself(about: id) else { continue }
      let inside = MessageStore.insideFeed(held.message, doubt: doubt)
      if narrow.verdict(on: inside) == .yes, replay.isUnnamed(id) { outside.append(id) }
    }
    for id in outside {
      let doubt = doubt(about: id).subtracting(.feedFlags)
      settle(id, doubt)
      ahead[id] = audit.polls
      // Other lists of the feed lack it, too.
      if doubt.isEmpty { forEachList(where: { $0.isHole(id) }, { $0.closeHole(id) }) }
    }
  }
}
