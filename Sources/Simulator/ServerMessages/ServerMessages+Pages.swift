package import MessageSync
package import UpdateMachine

extension ServerMessages {
  /// Answers like a real server: looks up IDs now, and reads the rows a little `later`.
  package func page(
    _ request: PageRequest<Narrow, MessageID>, later: ServerMessages
  ) -> MessagePage<UInt32> {
    switch request.want {
    case .item(let id):
      guard let row = later.seenRow(of: id) else { return MessagePage(messages: []) }
      let isHidden = later.hides(id)
      return MessagePage(
        messages: isHidden ? [] : [row], foundOldest: isHidden, isHistoryLimited: isHidden)
    case .about(let anchor, let before, let after):
      return page(request.narrow ?? Narrow(), anchor, before, after, later)
    }
  }

  /// As ``page(_:later:)``, but wrong. Returns `nil` if this page cannot be wrong in this way.
  func page(
    _ request: PageRequest<Narrow, MessageID>, later: ServerMessages, breaking breach: PageBreach
  ) -> MessagePage<UInt32>? {
    guard let narrow = request.narrow else { return nil }
    let right = page(request, later: later)
    var page = right
    switch breach {
    case .missesOne:
      guard page.messages.count > 1 else { return nil }
      page.messages.remove(at: page.messages.count / 2)
    case .falseFoundNewest: page.foundNewest = true
    case .falseFoundOldest: page.foundOldest = true
    case .ofAnotherNarrow:
      guard
        let other = ServerMessages.narrows.first(where: { $0 != narrow && $0.terms.count == 1 }),
        case .about(let anchor, let before, let after) = request.want
      else { return nil }
      page = self.page(
        PageRequest(other, anchor, before: before, after: after), later: later)
    }
    return page == right ? nil : page
  }

  private func page(
    _ narrow: Narrow, _ anchor: PageAnchor<MessageID>, _ before: Int64, _ after: Int64,
    _ later: ServerMessages
  ) -> MessagePage<UInt32> {
    let ids = ids(in: narrow)
    let point = point(of: anchor, narrow, ids)
    // Hidden rows are left out after the rows have been chosen, but after an anchor they are not
    // chosen. At the very beginning one more row than wanted is chosen.
    let chosenBefore = ids.filter { $0.number < point }.suffix(Int(before))
    let own = ids.filter { $0.number == point }
    let first = anchor == .oldest ? MessageID(.min) : firstVisible
    let chosen = ids.filter { $0.number > point && $0 >= first }
      .prefix(after > 0 ? Int(after) + 1 : 0)
    let newer = chosen.filter { !hides($0) }.prefix(Int(max(0, after)))
    let older = chosenBefore.filter { !hides($0) }
    var page = MessagePage<UInt32>(messages: [])
    for id in older + own.filter({ !hides($0) }) + newer {
      if let row = later.seenRow(of: id) { page.messages.append(row) }
    }
    page.foundOldest = anchor == .oldest || older.count < before
    page.foundNewest = anchor == .newest || newer.count < after
    // After an anchor nothing is seen of hidden rows.
    let isOwnSeen = before > 0 && after == 0
    page.isHistoryLimited =
      page.foundOldest && (chosenBefore + chosen + (isOwnSeen ? own : [])).contains(where: hides)
    if anchor == .serverChosen, own.contains(where: hides) {
      // The server chose a message that it hides. A client can tell (`ZulipPage`).
      page.isHistoryLimited = true
    } else if point != .min, point != .max {
      page.anchor = MessageID(point)
    }
    return page
  }

  /// The message as pages show it; `nil` if it does not exist, or if the user may not see it.
  /// Whether the user may see it is read from the database, not from the cache.
  private func seenRow(of id: MessageID) -> ChatMessage<UInt32>? {
    guard let message = self[id], sees(message.place) else { return nil }
    return row(of: id)
  }

  /// The IDs that the server lists. Without a narrow it lists followed channels only. In a narrow
  /// it also lists channels that the user may look into.
  private func ids(in narrow: Narrow) -> [MessageID] {
    messages.filter { message in
      guard narrow.terms.isEmpty ? follows(message.place) : sees(message.place) else {
        return false
      }
      // A search for a text finds the messages with this content.
      for term in narrow.terms {
        if case .text(let words) = term.subject, words != "\(message.content % 4)" { return false }
      }
      return narrow.verdict(on: PartialMessage(message)) != .no
    }.map { $0.id }
  }

  private func point(of anchor: PageAnchor<MessageID>, _ narrow: Narrow, _ ids: [MessageID])
    -> Int64
  {
    switch anchor {
    case .oldest: .min
    case .newest: .max
    case .id(let id): id.number
    case .serverChosen:
      ids.first { !(self[$0]?.flags.contains(.read) ?? true) }?.number ?? .max
    }
  }
}
