public import UpdateMachine

// Takes pages. The server read a page at an unknown time after its fetch left. So the events
// applied since then are applied to the page too (R3, R4).

extension MessageStore {
  // MARK: Fetches

  /// Opens a fetch at the moment when its request leaves. From now on the journal keeps every event
  /// that the page may be older than. A retry is a new fetch with its own ID.
  @inlinable
  package mutating func begin(_ id: RequestID, _ request: Request, isAudit: Bool = false) {
    fetches.append(
      Fetch(id: id, request: request, begun: journal.position, isAudit: isAudit))
    if isAudit, case .item(let message) = request.want { audit.begin(message, id) }
  }

  /// Abandons a fetch: its answer will be ignored.
  @inlinable
  package mutating func abandon(_ id: RequestID) {
    if let index = fetches.firstIndex(where: { $0.id == id }) { end(index) }
  }

  /// Abandons all open fetches, because their pages may be from a time without events.
  @inlinable
  package mutating func abandonFetches() {
    audit.endAll()
    fetches = []
    journal.trim(to: nil)
  }

  /// The open fetches, oldest first. Any other fetch has ended or was abandoned.
  @inlinable
  public var openFetches: [RequestID] { fetches.map { $0.id } }

  /// How many entries the journal keeps because a page may be older than they are.
  @inlinable
  package var journalCount: Int { journal.count }

  @inlinable
  mutating func end(_ index: Int) {
    audit.end(reading: fetches[index].id)
    fetches.remove(at: index)
    journal.trim(to: fetches.first?.begun)
  }

  /// Adds to the journal. If it grows beyond its limit, the oldest fetches are abandoned.
  @inlinable
  mutating func note(_ entry: Journal.Entry) {
    journal.append(entry, isNeeded: !fetches.isEmpty)
    while journal.count > Journal.limit { end(0) }
  }

  // MARK: The page

  /// Takes the answer to a fetch, whole or not at all.
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
      // An empty page: the message is gone. Otherwise, if still in `unheldDoubts`, it is in a place
      // that is not followed, and its flags stay unknown.
      if page.messages.isEmpty { recognize(id) } else { unheldDoubts.removeValue(forKey: id) }
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

  /// The interval of IDs about which the page is complete. The answer to a request for one message
  /// is complete about its ID, whether the message is there or not.
  @inlinable
  static func interval(of page: Page, _ request: Request) -> IDInterval<MessageID>? {
    if case .item(let id) = request.want { return IDInterval(id) }
    return page.interval
  }

  /// Holds a copy, brought up to date with the events, if the message is not held yet. A held
  /// message stays as it is, because it has seen every event, and the page may be from an old cache
  /// (R4). Only its flags in doubt are taken from the page. If the doubt came after the fetch left,
  /// not even they are taken, because the journal has the doubt, and so does the copy.
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
  mutating func learn(_ interval: IDInterval<MessageID>, _ narrow: Narrow?, _ replay: Replay) {
    let doubted = doubts.filter { interval.contains($0.key) }
    let all = doubted.map { (PartialMessage(held[$0.key]!.message, doubt: $0.value)) }
    guard let narrow else {
      // An answer for one message holds for every list. It is of use only where it closes a hole.
      guard let id = interval.lowerEnd.id else { return }
      return forEachList(
        where: { $0.isHole(id) },
        { listed in
          let known = replay.known(interval, in: listed.narrow, doubted: all)
          if known.contains(id) { listed.closeHole(id) }
        })
    }
    guard let listKey = listKey(of: narrow) else { return }
    for part in replay.known(interval, in: narrow, doubted: all).intervals {
      lists.modifyValue(forKey: listKey) { $0.list.learn(part) }
    }
  }

  @inlinable
  mutating func limitHistory(of narrow: Narrow, _ page: Page) {
    guard page.isHistoryLimited, page.foundOldest, let listKey = listKey(of: narrow) else { return }
    // If there is neither a message nor an anchor, the server hides everything.
    let oldest = page.messages.first?.id ?? page.anchor ?? MessageID(.max)
    lists.modifyValue(forKey: listKey) { $0.list.limitHistory(to: oldest) }
  }

  /// Shows a page of a list that cannot be known, until the next page comes.
  @inlinable
  mutating func show(_ page: Page, in narrow: Narrow) {
    guard let listKey = listKey(of: narrow), var listed = lists[listKey] else { return }
    for message in page.messages { listed.copies[message.id] = message }
    var ids = listed.list.former?.ids ?? VersionedMap()
    for message in page.messages { ids[message.id] = PartialList<MessageID>.Present() }
    listed.list = PartialList(showing: ids)
    lists[listKey] = listed
  }
}
