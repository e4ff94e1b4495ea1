public import UpdateMachine

// What pages bring. A page was read at some time after its fetch left, and nobody knows when: so what
// was applied since is applied to it, too (R3, R4).

extension MessageStore {
  // MARK: Fetches

  /// A question for a page leaves now. From here on every event is kept that the page may be older
  /// than. A fetch that is asked again is a new fetch, with an ID of its own.
  @inlinable
  public mutating func begin(_ id: RequestID, _ request: Request, isAudit: Bool = false) {
    fetches.append(
      Fetch(id: id, request: request, begun: journal.position, isAudit: isAudit))
    if isAudit, case .item(let message) = request.want { audit.begin(message, id) }
  }

  /// Its answer is not awaited any more.
  @inlinable
  public mutating func abandon(_ id: RequestID) {
    if let index = fetches.firstIndex(where: { $0.id == id }) { end(index) }
  }

  /// No answer is awaited any more: what is out may be of a time in which we were not told of
  /// everything.
  @inlinable
  public mutating func abandonFetches() {
    audit.endAll()
    fetches = []
    journal.trim(to: nil)
  }

  /// The fetches whose answers count, oldest first. A fetch that is not here any more was given up.
  @inlinable
  public var openFetches: [RequestID] { fetches.map { $0.id } }

  /// How many events are kept because a page may be older than they are.
  @inlinable
  public var journalCount: Int { journal.count }

  @inlinable
  mutating func end(_ index: Int) {
    audit.end(reading: fetches[index].id)
    fetches.remove(at: index)
    journal.trim(to: fetches.first?.begun)
  }

  /// Something was applied.
  @inlinable
  mutating func note(_ entry: Journal.Entry) {
    journal.append(entry, isNeeded: !fetches.isEmpty)
    while journal.count > Journal.limit { end(0) }
  }

  // MARK: The page

  /// An answer to a fetch. It is taken whole, or not at all.
  @inlinable
  public mutating func take(_ page: Page, for id: RequestID) -> PageOutcome {
    guard let index = fetches.firstIndex(where: { $0.id == id }) else { return .absorbed }
    let fetch = fetches[index]
    guard page.isInOrder, MessageStore.fits(page, fetch.request) else {
      end(index)
      return .malformed
    }
    if let narrow = fetch.request.narrow, !canBeKnown(narrow) {
      end(index)
      _revision += 1
      show(page, in: narrow)
      return .shown
    }
    _revision += 1
    let interval = MessageStore.interval(of: page, fetch.request)
    if hasUnloaded {
      for id in idsInUse + page.messages.map({ $0.id }) { dropUnloaded(id) }
      if case .item(let id) = fetch.request.want { dropUnloaded(id) }
    }
    var replay = Replay(page, interval)
    replay.take(journal.since(fetch.begun), of: self)
    if fetch.isAudit, case .item(let id) = fetch.request.want {
      repair(
        id, page.messages.first, by: fetch.id, isUnnamed: replay.isUnnamed(id))
    } else {
      examine(page, fetch, interval, replay)
    }
    for copy in replay.copies where follows(copy.held.message.place) {
      keep(copy)
    }
    if case .item(let id) = fetch.request.want {
      // Nobody has it any more; or it is where no events come from, and then nobody can tell.
      if page.messages.isEmpty { recognize(id) } else { strange.removeValue(forKey: id) }
    }
    if let interval { learn(interval, fetch.request.narrow, replay) }
    if let narrow = fetch.request.narrow { limitHistory(of: narrow, page) }
    if let index = fetches.firstIndex(where: { $0.id == id }) { end(index) }
    return .taken
  }

  @inlinable
  static func fits(_ page: Page, _ request: Request) -> Bool {
    switch request.want {
    case .item(let id):
      return page.messages.isEmpty || page.messages.count == 1 && page.messages[0].id == id
    case .about(.id(let id), _, _): return page.anchor == nil || page.anchor == id
    case .about(.oldest, _, _), .about(.newest, _, _), .about(.serverChosen, _, _): return true
    }
  }

  /// Of which IDs it says everything. One message that was asked for by its ID, or its lack, says all
  /// of that ID.
  @inlinable
  static func interval(of page: Page, _ request: Request) -> Interval<MessageID>? {
    if case .item(let id) = request.want { return Interval(id) }
    return page.interval
  }

  /// A copy, level with the events, comes in where none is held. A held one stays: it has seen every
  /// event, and the page may be from an old cache; only flags in doubt are taken from it (R4), unless
  /// the doubt came after its fetch had left: then it is in the journal, and in the copy.
  @inlinable
  mutating func keep(_ copy: Replay.Copy) {
    let id = copy.held.message.id
    guard var old = held[id] else {
      if !copy.doubt.isEmpty { doubts[id] = copy.doubt }
      recognize(id, but: copy.doubt)
      ahead[id] = audit.polls
      return hold(copy.held, doubt: copy.doubt)
    }
    let doubt = doubt(about: id)
    let settled = doubt.subtracting(copy.doubt)
    guard !settled.isEmpty else { return }
    old.message.flags.subtract(settled)
    old.message.flags.formUnion(copy.held.message.flags.intersection(settled))
    held[id] = old
    ahead[id] = audit.polls
    mended.append(id)
    settle(id, doubt.subtracting(settled))
  }

  @inlinable
  mutating func learn(_ interval: Interval<MessageID>, _ narrow: Narrow?, _ replay: Replay) {
    let doubted = doubts.filter { interval.contains($0.key) }
    let all = doubted.map { (MessageGlimpse(held[$0.key]!.message, doubt: $0.value)) }
    guard let narrow else {
      // Of one message alone it is said for every list; only where it closes a hole is it of use.
      guard let id = interval.lowerEnd.id else { return }
      return forEachList(
        where: { $0.isHole(id) },
        { listed in
          let known = replay.known(interval, in: listed.narrow, doubted: all)
          if known.contains(id) { listed.closeHole(id) }
        })
    }
    guard let shelf = shelf(of: narrow) else { return }
    for part in replay.known(interval, in: narrow, doubted: all).intervals {
      lists.modifyValue(forKey: shelf) { $0.list.learn(part) }
    }
  }

  @inlinable
  mutating func limitHistory(of narrow: Narrow, _ page: Page) {
    guard page.isHistoryLimited, page.foundOldest, let shelf = shelf(of: narrow) else { return }
    // Without a message and without an ID that it is about: it hides everything.
    let oldest = page.messages.first?.id ?? page.anchor ?? MessageID(.max)
    lists.modifyValue(forKey: shelf) { $0.list.limitHistory(to: oldest) }
  }

  /// A page of what cannot be known: the list shows it until the next comes.
  @inlinable
  mutating func show(_ page: Page, in narrow: Narrow) {
    guard let shelf = shelf(of: narrow), var listed = lists[shelf] else { return }
    for message in page.messages { listed.copies[message.id] = message }
    var ids = listed.list.former?.ids ?? VersionedMap()
    for message in page.messages { ids[message.id] = PartialList<MessageID>.Present() }
    listed.list = PartialList(showing: ids)
    lists[shelf] = listed
  }
}
