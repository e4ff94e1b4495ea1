package import MessageSync
internal import UpdateMachine
internal import ZulipServer
package import ZulipSync

/// The messages that a client holds, and what it claims to know of lists, are true at its finger,
/// except where a page was read ahead of the finger (PartialKnowledge, "the allowance"). This
/// server never breaks its contract, so nothing else is excused but silence: the realm does not
/// always tell who gains a message.
package struct ZulipOracle: Sendable {
  package typealias Store = MessageStore<ZulipMessageList>

  /// For each message that was ever held, the newest position at which a page read part of it. One
  /// that is dropped may be held again: a client that crashes before a save goes back.
  private var readAhead: [MessageID: Int64] = [:]
  /// For each message, the newest position at which a page said something of it. The state's part
  /// of it may be ahead, too.
  private var told: [MessageID: Int64] = [:]
  /// The absences that pages reported.
  private var lacks: [Lack] = []
  /// Messages that became visible again without an event, and the positions where they did, in
  /// ascending order. A client may be between two of them.
  private var returned: [MessageID: [Int64]] = [:]
  /// Messages that were moved or deleted when nobody told the user.
  private var unheardOf: Set<MessageID> = []
  /// The same, and those that got a reaction then.
  private(set) var unheard: Set<MessageID> = []

  /// What a page said about messages that are missing.
  private struct Lack: Sendable {
    /// `nil` if the page was about one message; then it holds for every narrow.
    var narrow: ZulipMessageList?
    var interval: IDInterval<MessageID>
    /// The messages that the page brought and the client kept.
    var kept: [MessageID]
    var position: Int64
  }

  /// An objection to what a client holds.
  package struct Objection: Hashable, Sendable {
    package var expected: String
    package var found: String
  }

  package init() {}

  // MARK: What happened

  /// A client took a page. The position is the newest at which any part of it was read.
  mutating func notePage(
    _ page: MessagePage<ZulipContent>, for request: PageRequest<ZulipMessageList, MessageID>,
    at position: Int64, from before: Store, to after: Store
  ) {
    for message in page.messages {
      let id = message.id
      told[id] = max(position, told[id] ?? 0)
      let isNew = before[id] == nil && after[id] != nil
      if isNew || before.doubt(about: id) != after.doubt(about: id) || before[id] != after[id] {
        readAhead[id] = max(position, readAhead[id] ?? 0)
      }
    }
    guard let interval = KnowledgeRules.interval(of: page, for: request) else { return }
    let kept = page.messages.map(\.id).filter { after[$0] != nil }
    lacks.append(
      Lack(narrow: request.narrow, interval: interval, kept: kept, position: position))
  }

  /// A change that leads to this position was committed.
  mutating func note(_ change: ZulipTruth.Change, from truth: ZulipTruth, at position: Int64) {
    for id in truth.returnsSilently(change) { returned[id, default: []].append(position) }
    guard case .made(let event) = change, truth.announcement(of: change) == nil else { return }
    switch event.kind {
    case .edited(let edit): unheardOf.formUnion((edit.move?.ids ?? []).map { MessageID($0) })
    case .deleted(let ids, _): unheardOf.formUnion(ids.map { MessageID($0) })
    case .reacted(let id, _, _): unheard.insert(MessageID(id))
    default: break
    }
    unheard.formUnion(unheardOf)
  }

  // MARK: The audit

  /// Whether a message may be suspect. It may only if it became visible again without an event.
  func maySuspect(_ id: MessageID) -> Bool { returned[id] != nil }

  // MARK: The allowance

  /// Whether a page that was read after the finger said something of the message: that it is there,
  /// or that it is not.
  func isAhead(_ id: MessageID, of finger: Int64) -> Bool {
    if told[id] ?? 0 > finger { return true }
    return lacks.contains { lack in
      lack.position > finger && lack.interval.contains(id) && !lack.kept.contains(id)
    }
  }

  /// What is wrong with a store whose finger stands for a position; `nil` if nothing is. `history`
  /// is the truth at every position.
  func objection(
    to store: Store, at finger: Int64, _ history: [ZulipTruth]
  ) -> Objection? {
    for message in store.messages {
      if let objection = objection(to: message, store.doubt(about: message.id), finger, history) {
        return objection
      }
    }
    for narrow in store.narrows {
      guard let list = store.list(of: narrow) else { continue }
      if let objection = objection(to: list, of: narrow, store, history[Int(finger)], finger) {
        return objection
      }
      for seen in history[Int(finger)].messages
      where isMissing(seen.message.id, in: list, of: narrow, store, finger, history) {
        return Objection(
          expected: "\(narrow) lacks \(seen.message.id), or does not know",
          found: "knows \(list.knowledge)")
      }
      if let id = lostStar(in: list, of: narrow, finger, history) {
        return Objection(expected: "\(narrow) shows \(id), or does not know", found: "\(list)")
      }
    }
    return nil
  }

  /// A message that the user has starred, in a channel that is not followed, and that the list of
  /// starred ones neither shows nor leaves open (R15). Of stars the user hears wherever they are.
  private func lostStar(
    in list: PartialList<MessageID>, of narrow: ZulipMessageList, _ finger: Int64,
    _ history: [ZulipTruth]
  ) -> MessageID? {
    guard narrow.narrow == ZulipNarrow([.init("is", .text("starred"))]) else { return nil }
    let truth = history[Int(finger)]
    for message in truth.realm.messages {
      let id = MessageID(message.id)
      guard KnowledgeRules.word(of: list, on: id) == false, !list.copied.contains(id),
        truth.followed(id) == nil, truth.realm.isVisible(message, to: ZulipTruth.me),
        message.flags(of: ZulipTruth.me)?.contains(.starred) == true
      else { continue }
      if returned[id] == nil, !unheardOf.contains(id), !isAhead(id, of: finger) { return id }
    }
    return nil
  }

  /// Each field on its own must have the value it had at the finger, or a later one, up to the
  /// position where it was read.
  private func objection(
    to message: ChatMessage<ZulipContent>, _ doubt: MessageFlags, _ finger: Int64,
    _ history: [ZulipTruth]
  ) -> Objection? {
    let id = message.id
    let ahead = max(finger, readAhead[id] ?? 0)
    guard let now = history[Int(finger)].followed(id) else {
      guard ahead <= finger else { return nil }
      return Objection(expected: "\(id) is not there", found: "it is held")
    }
    let truths = (finger...ahead).compactMap { history[Int($0)][id] }
    let wrong = KnowledgeRules.wrongFields(
      of: message, among: truths, KnowledgeRules.Excuse(flags: doubt))
    guard let first = wrong.first else { return nil }
    return Objection(
      expected: "\(id) as at \(finger)\(ahead > finger ? "…\(ahead)" : ""): \(words(now))",
      found: "\(first.rawValue) wrong: \(words(message))")
  }

  /// A list contains the held messages that belong to it: by the library's own filter, and where
  /// the truth is known exactly, by the words of the narrow.
  private func objection(
    to list: PartialList<MessageID>, of narrow: ZulipMessageList, _ store: Store,
    _ truth: ZulipTruth, _ finger: Int64
  ) -> Objection? {
    if let objection = KnowledgeRules.objection(to: list, of: narrow, in: store) {
      return Objection(expected: objection.expected, found: objection.found)
    }
    for (id, _) in list.ids where list.knowledge.contains(id) {
      guard readAhead[id] ?? 0 <= finger, store.doubt(about: id).isEmpty,
        truth.followed(id) != nil, !truth.contains(id, in: narrow.narrow)
      else { continue }
      return Objection(expected: "\(id) is not in \(narrow)", found: "it is listed")
    }
    return nil
  }

  private func isMissing(
    _ id: MessageID, in list: PartialList<MessageID>, of narrow: ZulipMessageList, _ store: Store,
    _ finger: Int64, _ history: [ZulipTruth]
  ) -> Bool {
    guard KnowledgeRules.word(of: list, on: id) == false,
      history[Int(finger)].contains(id, in: narrow.narrow)
    else { return false }
    if store[id] != nil {
      // It is held, so only what is known of it may exclude it.
      return readAhead[id] ?? 0 <= finger && store.doubt(about: id).isEmpty
    }
    return !isLackedAhead(id, in: narrow, of: finger) && !isBackUnannounced(id, by: finger, history)
  }

  /// Whether a page that was read after the finger said that the message is missing.
  private func isLackedAhead(
    _ id: MessageID, in narrow: ZulipMessageList, of finger: Int64
  ) -> Bool {
    for lack in lacks where lack.position > finger && lack.interval.contains(id) {
      if lack.narrow == nil || lack.narrow == narrow, !lack.kept.contains(id) { return true }
    }
    return false
  }

  /// Whether a message is visible at the finger because it came back unannounced.
  private func isBackUnannounced(
    _ id: MessageID, by finger: Int64, _ history: [ZulipTruth]
  ) -> Bool {
    guard let since = returned[id]?.last(where: { $0 <= finger }) else { return false }
    return history[Int(since)...Int(finger)].allSatisfy { $0.followed(id) != nil }
  }

  private func words(_ message: ChatMessage<ZulipContent>) -> String {
    var text = "\(message.place) \(message.content.text) +\(message.flags.rawValue)"
    for reaction in message.reactions { text += " \(reaction.user)" }
    return text
  }
}
