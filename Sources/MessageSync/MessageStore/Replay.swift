public import UpdateMachine

extension MessageStore {
  /// A page while the journal since its fetch is being applied to it.
  @usableFromInline
  struct Replay {
    /// A message of the page, as it is after those events.
    @usableFromInline
    struct Copy {
      @usableFromInline var held: Held
      @usableFromInline var doubt: MessageFlags

      @inlinable
      init(held: Held, doubt: MessageFlags) {
        self.held = held
        self.doubt = doubt
      }

      @inlinable
      mutating func take(_ touch: Touch) {
        held.take(touch)
        touch.settleFeed(&held.message.flags, &doubt)
      }
    }

    /// Ascending by ID.
    @usableFromInline var copies: [Copy]
    @usableFromInline let interval: IDInterval<MessageID>?
    /// Whether the server hides messages of the list. Then events about any ID count.
    @usableFromInline let isLimited: Bool
    /// What events said about messages in the interval that the page did not bring.
    @usableFromInline var loose: [(id: MessageID, touch: Touch)] = []
    @usableFromInline var looseForAll: [(flags: MessageFlags, isSet: Bool)] = []
    /// Every message that an event named, in any order.
    @usableFromInline var named: [MessageID] = []
    /// The messages whose copies do not belong into the list that the page is of.
    @usableFromInline var contradicted: [MessageID] = []
    /// The fields that this list depends on.
    @usableFromInline let reads: MessageFields

    @inlinable
    init(_ page: Page, of request: Request, _ interval: IDInterval<MessageID>?, isLimited: Bool) {
      copies = page.messages.map { message in
        Copy(held: Held(message), doubt: MessageStore.doubt(of: message, on: request))
      }
      reads = request.narrow?.reads ?? MessageFields()
      if let narrow = request.narrow {
        for message in page.messages where narrow.verdict(on: PartialMessage(message)) == .no {
          contradicted.append(message.id)
        }
      }
      self.interval = interval
      self.isLimited = isLimited
    }

    /// Whether the page contradicts itself about a message: it lists a copy that does not belong
    /// there, and no event since explains it. The copy is from an old cache, and the list is right
    /// (R13).
    @inlinable
    func contradictsItself(about id: MessageID) -> Bool {
      !contradicted.isEmpty && contradicted.contains(id)
    }

    /// Whether no event since the fetch left has named the message.
    @inlinable
    func isUnnamed(_ id: MessageID) -> Bool { looseForAll.isEmpty && !named.contains(id) }

    @inlinable
    mutating func take(_ entries: ArraySlice<Journal.Entry>, of store: MessageStore) {
      for entry in entries {
        switch entry {
        case .event(.flaggedAll(let flags, let isSet)):
          looseForAll.append((flags, isSet))
          if !reads.flags.isDisjoint(with: flags) { contradicted = [] }
          for index in copies.indices {
            copies[index].held.message.flags.assign(flags, isSet)
            copies[index].doubt.subtract(flags)
          }
        case .event(let event):
          for (id, touch) in store.touches(of: event) { take(touch, of: id, store) }
        case .doubt(let ids, let flags):
          for id in ids { take(.doubted(flags), of: id, store) }
        }
      }
    }

    @inlinable
    mutating func take(_ touch: Touch, of id: MessageID, _ store: MessageStore) {
      named.append(id)
      if !contradicted.isEmpty, reads.overlaps(touch.fields) { contradicted.removeAll { $0 == id } }
      let index = firstIndex(of: id)
      let isThere = index < copies.count && copies[index].held.message.id == id
      switch touch {
      case .gone(let place?) where isThere && !store.follows(copies[index].held.message.place):
        // A copy moves on to another place without events.
        copies[index].held.message.place = place
      case .gone:
        if isThere { copies.remove(at: index) }
        loose.removeAll { $0.id == id }
      case .arrived:
        if isThere { copies.remove(at: index) }
        noteLoose(touch, of: id, store)
      case .replaced, .moved, .edited, .flagged, .reacted, .doubted:
        guard isThere else { return noteLoose(touch, of: id, store) }
        copies[index].take(touch)
        switch touch {
        case .doubted(let flags): copies[index].doubt.formUnion(flags)
        case .flagged(let flags, _): copies[index].doubt.subtract(flags)
        case .replaced: copies[index].doubt = []
        case .gone, .arrived, .moved, .edited, .reacted: break
        }
      }
    }

    @inlinable
    mutating func noteLoose(_ touch: Touch, of id: MessageID, _ store: MessageStore) {
      guard isLimited || interval?.contains(id) ?? false, !store.held.contains(id) else { return }
      loose.append((id, touch))
    }

    /// Returns what the interval makes known of a narrow. Left out are the IDs of unheld messages
    /// that an event may have brought in, and messages whose flags in doubt decide.
    @inlinable
    func known(
      _ interval: IDInterval<MessageID>, in narrow: Narrow, doubted: [PartialMessage<Content>]
    ) -> Knowledge<MessageID> {
      var known = Knowledge(interval)
      if mayBringAll(into: narrow) { return Knowledge() }
      for id in looseIDs(of: narrow) { known.remove(id) }
      for id in contradicted { known.remove(id) }
      for partialMessage in doubted where narrow.verdict(on: partialMessage) == .unknown {
        known.remove(partialMessage.id)
      }
      return known
    }

    /// Whether an event about all messages may have brought any of them into a narrow.
    @inlinable
    func mayBringAll(into narrow: Narrow) -> Bool {
      for (flags, isSet) in looseForAll where !narrow.reads.flags.isDisjoint(with: flags) {
        var anyone = PartialMessage<Content>(MessageID(0))
        anyone.flags = isSet ? flags : []
        anyone.flagsShown = flags
        if narrow.verdict(on: anyone) != .no { return true }
      }
      return false
    }

    /// The messages that the page lacks and that an event may have brought into a narrow.
    @inlinable
    func looseIDs(of narrow: Narrow) -> [MessageID] {
      let reads = narrow.reads
      var ids: [MessageID] = []
      for (id, touch) in loose
      where reads.overlaps(touch.fields) || touch.bringsMessage
        || touch.mayBringIntoFeed && reads.flags.contains(.outsideFeed)
      {
        if narrow.verdict(on: touch.partialMessage(of: id)) != .no { ids.append(id) }
      }
      return ids
    }

    @inlinable
    func firstIndex(of id: MessageID) -> Int {
      var (low, high) = (0, copies.count)
      while low < high {
        let middle = (low + high) / 2
        if copies[middle].held.message.id < id { low = middle + 1 } else { high = middle }
      }
      return low
    }
  }
}

extension MessageStore.Touch {
  /// Whether the message begins to exist with this change. It may then be in any narrow, whatever
  /// fields that narrow reads.
  @inlinable
  var bringsMessage: Bool {
    switch self {
    case .replaced, .arrived: true
    case .gone, .moved, .edited, .flagged, .reacted, .doubted: false
    }
  }
}
