public import UpdateMachine

// Messages of places without events are not held. But lists that are not of one channel have them:
// a message that the user has starred stays starred when the user leaves its channel. So such a
// list shows the copies that its pages bring, and what is known of the list says nothing of them
// (PartialKnowledge, R15).

extension MessageStore {
  /// Shows the copies that a page of a list has brought, and no longer those that it lacks.
  @inlinable
  mutating func showCopies(
    of replay: Replay, in narrow: Narrow, _ interval: IDInterval<MessageID>
  ) {
    guard narrow.channel == nil, let listKey = listKey(of: narrow), let listed = lists[listKey]
    else { return }
    var lacked: [MessageID] = []
    for (id, _) in listed.beside.ascending(from: interval.lowerEnd.id ?? MessageID(.min)) {
      guard interval.contains(id) else { break }
      if !replay.hasCopy(of: id), replay.isUnnamed(id) { lacked.append(id) }
    }
    let new = replay.copies.filter {
      isShownAsCopy($0.held.message) && !replay.contradictsItself(about: $0.held.message.id)
    }
    guard !lacked.isEmpty || !new.isEmpty else { return }
    lists.modifyValue(forKey: listKey) { listed in
      for id in lacked { listed.removeCopy(id) }
      for copy in new { listed.show(copy) }
    }
  }

  /// Shows the answer to a request for one message in all lists that are not of one channel.
  @inlinable
  mutating func showCopies(of replay: Replay, _ id: MessageID) {
    let copy = replay.copies.first
    if let copy, !isShownAsCopy(copy.held.message) { return }
    if copy == nil, !replay.isUnnamed(id) { return }
    forEachList(
      in: ListKey.all(of: nil),
      where: { listed in
        if listed.beside.contains(id) { return true }
        guard let copy else { return false }
        return listed.narrow.verdict(on: PartialMessage(copy.held.message)) == .yes
      },
      { listed in
        if let copy { listed.show(copy) } else { listed.removeCopy(id) }
      })
  }

  /// Whether no events come of a message. One that is held stays, because the copy of it is old.
  @inlinable
  func isShownAsCopy(_ message: ChatMessage<Content>) -> Bool {
    !follows(message.place) && !held.contains(message.id)
  }

  /// Changes the copies of a message as an event says.
  @inlinable
  mutating func changeCopies(_ touch: Touch, of id: MessageID) {
    forEachList(
      in: ListKey.all(of: nil), where: { $0.beside.contains(id) },
      { listed in
        guard let message = listed.beside[id] else { return }
        var copy = Replay.Copy(held: Held(message), doubt: [])
        copy.take(touch)
        listed.show(copy)
      })
  }

  /// Changes the flags of all copies.
  @inlinable
  mutating func changeAllCopies(_ flags: MessageFlags, _ isSet: Bool) {
    forEachList(
      in: ListKey.all(of: nil), where: { !$0.beside.isEmpty },
      { listed in
        for (_, message) in listed.beside {
          var copy = Replay.Copy(held: Held(message), doubt: [])
          copy.held.message.flags.assign(flags, isSet)
          listed.show(copy)
        }
      })
  }
}

extension MessageStore.Replay {
  /// Whether the page brought a message that is still there.
  @inlinable
  func hasCopy(of id: MessageID) -> Bool {
    let index = firstIndex(of: id)
    return index < copies.count && copies[index].held.message.id == id
  }
}

extension MessageStore.Listed {
  /// Shows a copy, if it is in the narrow.
  @inlinable
  mutating func show(_ copy: MessageStore.Replay.Copy) {
    let message = copy.held.message
    guard narrow.verdict(on: PartialMessage(message, doubt: copy.doubt)) != .no else {
      return removeCopy(message.id)
    }
    beside[message.id] = message
    list.insertCopy(message.id)
  }

  @inlinable
  mutating func removeCopy(_ id: MessageID) {
    guard beside.removeValue(forKey: id) != nil else { return }
    list.remove(id)
  }
}
