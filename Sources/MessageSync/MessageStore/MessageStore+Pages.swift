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
      show(page, in: narrow, over: page.interval(for: fetch.request.want))
      return .shown
    }
    _revision += 1
    let want = fetch.request.want
    let isLimited = isHistoryLimited(fetch.request.narrow)
    let interval = page.interval(for: want, isListLimited: isLimited)
    if hasUnloaded {
      let doubted = interval.map { doubtedIDs(in: $0) } ?? []
      for id in idsInUse + doubted + page.messages.map({ $0.id }) { dropUnloaded(id) }
      if case .item(let id) = fetch.request.want { dropUnloaded(id) }
    }
    var replay = Replay(
      page, of: fetch.request, interval, isLimited: isLimited || page.isHistoryLimited)
    replay.take(journal.since(fetch.begun), of: self)
    if let narrow = fetch.request.narrow, !replay.contradicted.isEmpty {
      replay.contradicted.removeAll { certainlyBelongs($0, in: narrow) }
    }
    if fetch.isAudit, case .item(let id) = fetch.request.want {
      // If the server hides the message, the audit ends without a result.
      if !page.hidesItem(want) {
        repair(
          id, page.messages.first, by: fetch.id, isUnnamed: replay.isUnnamed(id))
      }
    } else {
      examine(page, fetch, interval, replay)
    }
    for copy in replay.copies where follows(copy.held.message.place) {
      if !replay.contradictsItself(about: copy.held.message.id) { keep(copy) }
    }
    if let interval, let narrow = fetch.request.narrow {
      settleFeed(of: narrow, interval, replay)
      showCopies(of: replay, in: narrow, interval)
    }
    if case .item(let id) = fetch.request.want {
      if page.hidesItem(want) { hide(id) } else { showCopies(of: replay, id) }
      // If it is still there, it is out of the user's sight, or in a place that is not followed.
      // Its flags stay unknown. An event would have told that it is gone.
      unheldDoubts.removeValue(forKey: id)
    }
    if let interval { learn(interval, fetch.request.narrow, replay) }
    if let narrow = fetch.request.narrow { limitHistory(of: narrow, page, want, replay) }
    if let index = fetches.firstIndex(where: { $0.id == id }) { end(index) }
    return .taken
  }

  /// Whether a held message is in a narrow, whatever its flags in doubt are.
  @inlinable
  func certainlyBelongs(_ id: MessageID, in narrow: Narrow) -> Bool {
    guard let held = held[id] else { return false }
    return narrow.verdict(on: PartialMessage(held.message, doubt: doubt(about: id))) == .yes
  }

  /// Whether the page's copy of a message leaves open that it is in the feed. The answer to a
  /// request for one message says it.
  @inlinable
  static func doubt(of message: ChatMessage<Content>, on request: Request) -> MessageFlags {
    if case .item = request.want { return [] }
    return message.flags.intersection(.outsideFeed)
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

  /// Holds a copy, brought up to date with the events, if the message is not held yet. A held
  /// message stays as it is, because it has seen every event, and the page may be from an old cache
  /// (R4). Only its flags in doubt are taken from the page. If the doubt came after the fetch left,
  /// not even they are taken, because the journal has the doubt, and so does the copy.
  @inlinable
  mutating func keep(_ copy: Replay.Copy) {
    let id = copy.held.message.id
    guard var old = held[id] else {
      var doubt = copy.doubt
      if doubt.contains(.outsideFeed), isKnownOutsideFeed(copy.held.message) {
        doubt.remove(.outsideFeed)
      }
      if !doubt.isEmpty { doubts[id] = doubt }
      recognize(id, but: doubt)
      ahead[id] = audit.polls
      return hold(copy.held, doubt: doubt)
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
    let all = doubted.compactMap { doubted in
      held[doubted.key].map { PartialMessage($0.message, doubt: doubted.value) }
    }
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

  // MARK: Limited history

  @inlinable
  func isHistoryLimited(_ narrow: Narrow?) -> Bool {
    guard let narrow, let listKey = listKey(of: narrow) else { return false }
    return lists[listKey]?.list.historyLimit != nil
  }

  /// Notes what the server shows of a list, except for messages that have come into it since the
  /// page was read.
  @inlinable
  mutating func limitHistory(
    of narrow: Narrow, _ page: Page, _ want: PageWant<MessageID>, _ replay: Replay
  ) {
    guard let listKey = listKey(of: narrow), let list = lists[listKey]?.list else { return }
    var limit = page.historyLimit(for: want, after: list.historyLimit)
    guard limit != nil || list.historyLimit != nil else { return }
    if limit != nil {
      guard !replay.mayBringAll(into: narrow) else { return }
      for id in replay.named where list.ids.contains(id) { limit = min(limit!, id) }
      for id in replay.looseIDs(of: narrow) { limit = min(limit!, id) }
    }
    lists.modifyValue(forKey: listKey) { $0.list.limitHistory(to: limit) }
  }

  /// Handles the answer that the server hides a message that was asked for. It says nothing about
  /// the message: what is held stays, and events keep it up to date. But flags in doubt can never
  /// be settled, so such a message is dropped. A hole in a list stays, and is not asked about
  /// again, because everything older is hidden, too.
  @inlinable
  mutating func hide(_ id: MessageID) {
    if !doubt(about: id).isEmpty { drop(id) }
    let next = MessageID(min(id.number, .max - 1) + 1)
    forEachList(
      where: { $0.isHole(id) },
      { $0.list.limitHistory(to: max($0.list.historyLimit ?? next, next)) })
  }

  /// Shows a page of a list that cannot be known, until the next page comes. What the page lacks in
  /// its interval is no longer in the list.
  @inlinable
  mutating func show(_ page: Page, in narrow: Narrow, over interval: IDInterval<MessageID>?) {
    guard let listKey = listKey(of: narrow), var listed = lists[listKey] else { return }
    let old = listed.list.former?.ids ?? VersionedMap()
    var ids = old
    for (id, _) in old where interval?.contains(id) == true {
      ids.removeValue(forKey: id)
      listed.copies.removeValue(forKey: id)
    }
    for message in page.messages { listed.copies[message.id] = message }
    for message in page.messages { ids[message.id] = PartialList<MessageID>.Present() }
    listed.list = PartialList(showing: ids)
    lists[listKey] = listed
  }
}
