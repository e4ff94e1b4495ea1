package import MessageSync
package import UpdateMachine

/// Oracle B: the messages that a client holds, and what it claims to know of lists, are true at its
/// finger, except where a page was read ahead of the finger. `KnowledgeRules` defines what is
/// allowed.
package struct IntervalOracle: Sendable {
  package typealias Narrow = ServerMessages.Narrow
  package typealias Store = MessageStore<Narrow>

  /// For each held message, the newest position at which a page read part of it.
  private var readAhead: [MessageID: Int64] = [:]
  /// The absences that pages reported.
  private var lacks: [Lack] = []
  /// Messages that became visible again without an event, and the positions where they did, in
  /// ascending order. A client may be between two of them.
  private var returned: [MessageID: [Int64]] = [:]
  /// Flags that were set or cleared on all messages at once, with the positions.
  private var sweeps: [(flags: MessageFlags, position: Int64)] = []
  /// What the server's breaches excuse.
  private var record = BreachRecord()
  /// The server hides older messages.
  private var firstVisible = MessageID(0)

  /// What a page said about messages that are missing.
  private struct Lack: Sendable {
    /// `nil` if the page was about one message; then it holds for every narrow.
    var narrow: Narrow?
    /// The IDs about which the page is complete; `nil`: none.
    var interval: IDInterval<MessageID>?
    /// The messages that the page brought and the client kept.
    var kept: [MessageID]
    var position: Int64
    /// Whether the server may have hidden messages beside the anchor without saying so, to a client
    /// that did not know that it hides any.
    var isBlind: Bool
  }

  package init() {}

  /// An objection to what a client holds.
  package struct Objection: Hashable, Sendable {
    package var expected: String
    package var found: String
  }

  // MARK: What happened

  /// A new generation begins, in which no page has been read yet.
  package mutating func forget() {
    readAhead = [:]
    lacks = []
  }

  /// The client went back to an older saved form. The server's history stays as it is.
  package mutating func goBack(to then: IntervalOracle) {
    readAhead = then.readAhead
    lacks = then.lacks
  }

  /// The change that leads to this position made messages visible again without an event.
  package mutating func noteSilentReturn(of ids: [MessageID], at position: Int64) {
    for id in ids { returned[id, default: []].append(position) }
  }

  /// An event assigned every field of a message, so nothing from a page is left in it.
  package mutating func noteNew(_ id: MessageID) { readAhead.removeValue(forKey: id) }

  /// Forgets the messages that are no longer held.
  package mutating func noteHeld(by store: Store) {
    for id in Array(readAhead.keys) where store[id] == nil { readAhead.removeValue(forKey: id) }
  }

  /// A client took a page. The position is the newest at which any part of it was read.
  package mutating func notePage(
    _ page: MessagePage<UInt32>, for request: PageRequest<Narrow, MessageID>, at position: Int64,
    from before: Store, to after: Store
  ) {
    for message in page.messages {
      let id = message.id
      let isNew = before[id] == nil && after[id] != nil
      if isNew || before.doubt(about: id) != after.doubt(about: id) || before[id] != after[id] {
        readAhead[id] = max(position, readAhead[id] ?? 0)
      }
    }
    var kept: [MessageID] = []
    for message in page.messages where after[message.id] != nil { kept.append(message.id) }
    lacks.append(
      Lack(
        narrow: request.narrow, interval: KnowledgeRules.interval(of: page, for: request),
        kept: kept, position: position,
        isBlind: IntervalOracle.isBlind(page, request, before)))
  }

  /// After an anchor that is older than the limit, a page begins at the limit, and does not say
  /// so. No client can tell this from a page of a server that hides nothing.
  private static func isBlind(
    _ page: MessagePage<UInt32>, _ request: PageRequest<Narrow, MessageID>, _ before: Store
  ) -> Bool {
    guard let anchor = page.anchor, let narrow = request.narrow, !page.isHistoryLimited,
      case .about(_, let older, let newer) = request.want, newer > 0 || older == 0
    else { return false }
    return page.messages.allSatisfy { $0.id > anchor }
      && before.list(of: narrow)?.historyLimit == nil
  }

  /// A change that leads to this position was committed.
  package mutating func note(
    _ change: ServerMessages.Change, from truth: ServerMessages, at position: Int64
  ) {
    record.note(change, from: truth, at: position)
    noteSilentReturn(of: truth.returnsSilently(change), at: position)
    if case .flaggedAll(let flags, _) = change { sweeps.append((flags, position)) }
    firstVisible = max(firstVisible, truth.firstVisible)
    if case .limited(let id) = change { firstVisible = max(firstVisible, id) }
  }

  /// Notes what a client holds at a finger, after each of its steps.
  package mutating func noteHeld(by store: Store, at finger: Int64) {
    record.noteHeld(store.messages, at: finger)
  }

  // MARK: The audit

  /// Whether a message may be suspect. It may only if the server broke its contract, if the message
  /// became visible again without an event, or if the server hides it.
  package func maySuspect(_ id: MessageID) -> Bool { mayBeWrong(id) || id < firstVisible }

  /// Whether a message may be held wrongly, and mended by an audit. That the server hides it is no
  /// reason.
  package func mayBeWrong(_ id: MessageID) -> Bool { record.isBroken(id) || returned[id] != nil }

  /// What is wrong with an up-to-date store after its client has looked at everything twice; `nil`
  /// if nothing is wrong that could have been repaired.
  package func objectionAfterLooks(to store: Store, _ truth: ServerMessages) -> Objection? {
    for message in truth.messages where truth.follows(message.place) {
      let excuse = record.lost(message.id, message)
      // No page shows it any more. What is held of it can only be kept up to date by events.
      if truth.hides(message.id), store[message.id] == nil || mayBeWrong(message.id) { continue }
      guard let held = store[message.id] else {
        if excuse.isThere { continue }
        return Objection(expected: "\(words(message)) after two looks", found: "nothing is held")
      }
      let wrong = KnowledgeRules.wrongFields(of: held, among: [message], excuse)
      guard let first = wrong.first else { continue }
      return Objection(
        expected: "\(message.id) after two looks: \(words(message))",
        found: "\(first.rawValue) wrong: \(words(held))")
    }
    for held in store.messages where truth.followed(held.id) == nil {
      if let message = truth[held.id], record.lost(held.id, message).isThere { continue }
      // Below a limit, a client cannot tell what is gone from what is hidden.
      let isBelow = store.list(of: Narrow())?.hides(held.id) ?? false
      if truth.hides(held.id) || isBelow, mayBeWrong(held.id) { continue }
      return Objection(
        expected: "\(held.id) is not there after two looks", found: "it is held: \(words(held))")
    }
    return objectionToLimits(of: store, truth)
  }

  /// A list with a limit says that older messages are hidden. So none of them is visible.
  private func objectionToLimits(of store: Store, _ truth: ServerMessages) -> Objection? {
    for narrow in store.narrows where store.canBeKnown(narrow) {
      guard let list = store.list(of: narrow) else { continue }
      if let objection = objection(to: list, of: narrow, truth, { _ in true }) { return objection }
    }
    return nil
  }

  private func objection(
    to list: PartialList<MessageID>, of narrow: Narrow, _ truth: ServerMessages,
    _ isConcerned: (MessageID) -> Bool
  ) -> Objection? {
    guard let limit = list.historyLimit else { return nil }
    let shown = truth.messages.first { message in
      message.id < limit && message.id >= firstVisible && !truth.hides(message.id)
        && isConcerned(message.id)
        && truth.contains(message.id, in: narrow) && !mayBeWrong(message.id)
    }
    return shown.map {
      Objection(expected: "\(narrow) shows \($0.id)", found: "its history is limited to \(limit)")
    }
  }

  // MARK: The allowance

  /// What is wrong with a store whose finger stands for a position; `nil` if nothing is. `history`
  /// is the truth at every position.
  package func objection(
    to store: Store, at finger: Int64, _ history: [ServerMessages]
  ) -> Objection? {
    for message in store.messages {
      if let objection = objection(to: message, store.doubt(about: message.id), finger, history) {
        return objection
      }
    }
    for narrow in store.narrows {
      guard let list = store.list(of: narrow) else { continue }
      if let objection = objection(to: list, of: narrow, store, finger, history) {
        return objection
      }
    }
    return nil
  }

  /// Each field on its own must have the value it had at the finger, or a later one, up to the
  /// position where it was read.
  private func objection(
    to message: ChatMessage<UInt32>, _ doubt: MessageFlags, _ finger: Int64,
    _ history: [ServerMessages]
  ) -> Objection? {
    let id = message.id
    let ahead = max(finger, readAhead[id] ?? 0)
    var excuse = record.excused(id, at: finger, latest: ahead, history)
    guard let now = history[Int(finger)].followed(id) else {
      guard ahead <= finger, !excuse.isThere else { return nil }
      return Objection(expected: "\(id) is not there", found: "it is held")
    }
    excuse.flags.formUnion(doubt.union(sweptBefore(id, by: ahead)))
    let truths = (finger...ahead).compactMap { history[Int($0)][id] }
    let wrong = KnowledgeRules.wrongFields(of: message, among: truths, excuse)
    guard let first = wrong.first else { return nil }
    return Objection(
      expected: "\(id) as at \(finger)\(ahead > finger ? "…\(ahead)" : ""): \(words(now))",
      found: "\(first.rawValue) wrong: \(words(message))")
  }

  private func objection(
    to list: PartialList<MessageID>, of narrow: Narrow, _ store: Store, _ finger: Int64,
    _ history: [ServerMessages]
  ) -> Objection? {
    if let objection = KnowledgeRules.objection(to: list, of: narrow, in: store) {
      return Objection(expected: objection.expected, found: objection.found)
    }
    for message in history[Int(finger)].messages
    where store[message.id] == nil && KnowledgeRules.word(of: list, on: message.id) == false {
      guard history[Int(finger)].contains(message.id, in: narrow),
        !isLackedAhead(message.id, in: narrow, of: finger),
        !isBackUnannounced(message.id, by: finger, history), !record.isBroken(message.id),
        !isOverlooked(message.id, in: narrow, history)
      else { continue }
      return Objection(
        expected: "\(narrow) lacks \(message.id), or does not know",
        found: "knows \(list.knowledge)")
    }
    // A page that was read ahead may lack messages that are still there at the finger.
    if lacks.contains(where: { $0.narrow == narrow && $0.position > finger }) { return nil }
    return objection(to: list, of: narrow, history[Int(finger)]) { store[$0] == nil }
  }

  /// Whether a page that was read after the finger said that the message is missing.
  private func isLackedAhead(_ id: MessageID, in narrow: Narrow, of finger: Int64) -> Bool {
    for lack in lacks where lack.position > finger && lack.interval?.contains(id) == true {
      if lack.narrow == nil || lack.narrow == narrow, !lack.kept.contains(id) { return true }
    }
    return false
  }

  /// Whether a page hid the message without a sign that it hides any.
  private func isOverlooked(
    _ id: MessageID, in narrow: Narrow, _ history: [ServerMessages]
  ) -> Bool {
    lacks.contains { lack in
      lack.isBlind && lack.narrow == narrow && lack.interval?.contains(id) == true
        && history[Int(lack.position)].hides(id)
    }
  }

  /// Flags that were set or cleared on all messages before this one became visible again without an
  /// event. That event may reach the client after the page with the message, and change a flag that
  /// is right. Only luck or an audit repairs that.
  private func sweptBefore(_ id: MessageID, by position: Int64) -> MessageFlags {
    guard let since = lastReturn(of: id, by: position) else { return [] }
    var flags: MessageFlags = []
    for sweep in sweeps where sweep.position <= since { flags.formUnion(sweep.flags) }
    return flags
  }

  /// Whether a message is visible at the finger because it came back unannounced.
  private func isBackUnannounced(
    _ id: MessageID, by finger: Int64, _ history: [ServerMessages]
  ) -> Bool {
    guard let since = lastReturn(of: id, by: finger) else { return false }
    return history[Int(since)...Int(finger)].allSatisfy { $0.followed(id) != nil }
  }

  private func lastReturn(of id: MessageID, by position: Int64) -> Int64? {
    returned[id]?.last { $0 <= position }
  }

  private func words(_ message: ChatMessage<UInt32>) -> String {
    var text = "\(message.place) \(message.content) +\(message.flags.rawValue)"
    for reaction in message.reactions { text += " \(reaction.user)" }
    return text
  }

  /// Hashes everything that judgements from a finger on depend on. It is for worlds where
  /// everything is announced.
  func fold(into digest: inout StateDigest, from finger: Int64) {
    let ids = readAhead.keys.filter { readAhead[$0] ?? 0 > finger }.sorted()
    digest.fold(UInt64(ids.count))
    for id in ids {
      digest.fold(id.number)
      digest.fold((readAhead[id] ?? 0) - finger)
    }
    var found: [UInt64] = []
    for lack in lacks where lack.position > finger {
      guard let interval = lack.interval else { continue }
      var one = StateDigest()
      one.fold("\(interval)")
      one.fold(lack.position - finger)
      for id in lack.kept { one.fold(id.number) }
      if !found.contains(one.value) { found.append(one.value) }
    }
    for value in found.sorted() { digest.fold(value) }
  }
}
