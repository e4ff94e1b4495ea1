internal import MessageSync
internal import UpdateMachine

extension ServerMessages {
  /// Three channels: one followed, one that can be left, and one that hides its messages.
  package static var beginning: ServerMessages {
    ServerMessages(
      following: [ChannelID(1), ChannelID(2), ChannelID(3)], hidden: [ChannelID(3)])
  }

  /// Draws the next change. There are few messages in few places, so that changes collide often.
  package func nextChange(_ choices: inout Choices) -> Change {
    if hidesHistory, choices.happens(.history, 1, in: 12) { return nextLimit(&choices) }
    let id = anyID(&choices)
    switch choices.draw(.workload, below: 16) {
    case 0, 1, 2: return send(&choices)
    case 3, 4: return .edited(id, number(&choices), isMention: flip(&choices))
    case 5, 6, 7:
      return .moved(some(near: id, &choices), to: anyPlace(&choices), isAnnounced: flip(&choices))
    case 8: return .deleted(some(near: id, &choices))
    case 9, 10, 11:
      if let change = opposite(of: lastFlagged, and: id, &choices) { return change }
      return .flagged(some(near: id, &choices), anyFlag(&choices), isSet: flip(&choices))
    case 12: return .flaggedAll(.read, isSet: true)
    case 13:
      let user = UserID(choices.draw(.workload, in: 1...2))
      return .reacted(id, MessageReaction(user: user, emoji: "+1"), isSet: flip(&choices))
    case 14:
      let channel = ChannelID(choices.draw(.workload, in: 2...3))
      return .covered(channel, follows: !followed.contains(channel))
    default: return send(&choices)
    }
  }

  /// Hides some more messages, at most all there are.
  private func nextLimit(_ choices: inout Choices) -> Change {
    let next = choices.draw(.history, in: firstVisible.number...newest.number + 1)
    return .limited(to: MessageID(next))
  }

  /// Makes the server one that hides its history. It has more messages from the beginning.
  package mutating func beginHiding(_ choices: inout Choices) {
    hidesHistory = true
    for _ in 0..<choices.draw(.history, in: 4...12) { apply(send(&choices)) }
    if flip(&choices) { apply(nextLimit(&choices)) }
  }

  /// The opposite of a flag change, perhaps for one more message. If the server merges the two, the
  /// client cannot tell which came last.
  private func opposite(
    of change: Change?, and id: MessageID, _ choices: inout Choices
  ) -> Change? {
    guard case .flagged(let ids, let flags, let isSet) = change, flip(&choices) else { return nil }
    return .flagged(ids.filter { $0 != id } + [id], flags, isSet: !isSet)
  }

  /// The next breach of contract of this kind; `nil` if none is possible now.
  func nextBreach(_ fault: Fault, _ choices: inout Choices) -> Change? {
    switch fault {
    case .silentChange:
      let change = nextChange(&choices)
      switch change {
      case .sent, .edited, .moved, .deleted, .flagged, .reacted: break
      case .flaggedAll, .covered, .limited, .untold, .aged, .renewed: return nil
      }
      // Leaving a change unannounced breaks nothing if it would not be announced anyway.
      return announcement(of: change) == nil ? nil : .untold(change)
    case .oldCache:
      let rows = former.filter { row in
        self[row.id].map {
          $0.place != row.place || $0.content != row.content
            || $0.reactions != row.reactions
        } ?? false
      }
      if !cached.isEmpty, rows.isEmpty || flip(&choices) { return .renewed }
      return rows.isEmpty ? nil : .aged(choices.pick(.workload, rows.reversed()))
    default: return nil
    }
  }

  private func send(_ choices: inout Choices) -> Change {
    // There are few messages at a time. Sometimes the new one has an ID that was allocated before
    // the newest message's.
    guard messages.count < (hidesHistory ? 14 : 8) else { return .deleted([anyID(&choices)]) }
    var id = MessageID(newest.number + choices.draw(.workload, in: 1...2))
    if let reserved, flip(&choices) { id = reserved }
    return .sent(
      id, by: UserID(choices.draw(.workload, in: 1...2)), to: anyPlace(&choices),
      number(&choices), choices.pick(.workload, [[], .read, .starred, .mentioned]))
  }

  private func anyID(_ choices: inout Choices) -> MessageID {
    let index = choices.draw(.workload, below: UInt64(max(1, messages.count)))
    return messages.isEmpty ? MessageID(1) : messages[Int(index)].id
  }

  /// The message, and perhaps others from the same place.
  private func some(near id: MessageID, _ choices: inout Choices) -> [MessageID] {
    guard flip(&choices), let place = self[id]?.place else { return [id] }
    return messages.filter { $0.place == place }.map { $0.id }
  }

  private func anyPlace(_ choices: inout Choices) -> MessagePlace {
    let number = choices.draw(.workload, below: 7)
    if number == 6 { return .direct(ConversationID(1)) }
    return .channel(ChannelID(Int64(number / 2) + 1), topic: number % 2 == 0 ? "a" : "b")
  }

  private func anyFlag(_ choices: inout Choices) -> MessageFlags {
    choices.pick(.workload, [.starred, .read])
  }

  private func number(_ choices: inout Choices) -> UInt32 {
    UInt32(choices.draw(.workload, below: 1000))
  }

  private func flip(_ choices: inout Choices) -> Bool { choices.happens(.workload, 1, in: 2) }

  /// Narrows that cover all distinctions: everything, places, flags, both, and a negation.
  package static var narrows: [Narrow] {
    [
      Narrow(), Narrow([.channel(ChannelID(1))]), Narrow([.channel(ChannelID(2)), .topic("a")]),
      Narrow([.starred]), Narrow([.unread]), Narrow([.channel(ChannelID(1)), .starred]),
      Narrow([.direct(ConversationID(1))]), Narrow([!.topic("a")]), Narrow([.sender(UserID(1))]),
      Narrow([.channel(ChannelID(3))]), Narrow([.mentioned, !.channel(ChannelID(1))]),
      Narrow([.text("1")]),
    ]
  }
}
