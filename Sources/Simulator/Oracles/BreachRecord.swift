internal import MessageSync
internal import UpdateMachine

/// A record of a server's breaches of its contract (PartialKnowledge R13): what it did to each
/// message, and what it announced. It says which fields of which messages a client may show
/// wrongly, and what must be repaired after two looks.
///
/// It excuses nothing about a message that no breach has touched.
struct BreachRecord: Sendable {
  /// What a change assigned to one message.
  private struct Touch: Sendable {
    var position: Int64
    /// Whether an event announced the change.
    var isTold: Bool
    var fields: MessageFields
    var reaction: MessageReaction?
    /// The message's version since then.
    var version: Int64
    /// Whether the change created the message. Then earlier touches are void.
    var isNew = false
  }

  private var touches: [MessageID: [Touch]] = [:]
  /// Messages that a breach has touched.
  private var broken: [MessageID] = []
  /// Broken messages for which pages have shown an old row.
  private var aged: [MessageID] = []
  /// For each held message, the finger since which it has been held without interruption.
  private var heldSince: [MessageID: Int64] = [:]

  /// Whether a breach has touched this message.
  func isBroken(_ id: MessageID) -> Bool { broken.contains(id) }

  // MARK: What happened

  /// A change that leads to this position is about to be committed.
  mutating func note(
    _ change: ServerMessages.Change, from truth: ServerMessages, at position: Int64
  ) {
    switch change {
    case .untold(let hidden):
      for (id, touch) in BreachRecord.touches(of: hidden, truth, at: position) {
        touches[id, default: []].append(touch)
        if !broken.contains(id) { broken.append(id) }
      }
    case .aged(let row):
      if !broken.contains(row.id) { broken.append(row.id) }
      if !aged.contains(row.id) { aged.append(row.id) }
    case .limited, .renewed: break
    case .sent, .edited, .moved, .deleted, .flagged, .flaggedAll, .reacted, .covered:
      let event = truth.announcement(of: change)
      for (id, touch) in BreachRecord.touches(of: change, truth, at: position) {
        var touch = touch
        touch.isTold = event != nil && (truth.followed(id) != nil || touch.isNew)
        touches[id, default: []].append(touch)
      }
    }
  }

  /// Notes what a client holds at a finger.
  mutating func noteHeld(_ messages: some Sequence<ChatMessage<UInt32>>, at finger: Int64) {
    var since: [MessageID: Int64] = [:]
    for message in messages { since[message.id] = min(heldSince[message.id] ?? finger, finger) }
    heldSince = since
  }

  private static func touches(
    of change: ServerMessages.Change, _ truth: ServerMessages, at position: Int64
  ) -> [(MessageID, Touch)] {
    func touch(_ fields: MessageFields, version: Int64 = .min) -> Touch {
      Touch(position: position, isTold: false, fields: fields, version: version)
    }
    switch change {
    case .sent(let id, _, _, _, _):
      var new = touch(.all, version: 0)
      new.isNew = true
      return [(id, new)]
    case .edited(let id, _, _):
      let fields = MessageFields(content: true, flags: .mentioned)
      return [(id, touch(fields, version: truth.version))]
    case .moved(let ids, _, _):
      let origin = ids.compactMap { truth[$0]?.place }.first
      let there = ids.filter { truth[$0]?.place == origin }
      return there.map { ($0, touch(MessageFields(place: true), version: truth.version)) }
    case .deleted(let ids): return ids.map { ($0, touch(.all)) }
    case .flagged(let ids, let flags, _):
      return ids.map { ($0, touch(MessageFields(flags: flags))) }
    case .flaggedAll(let flags, _):
      return truth.messages.map { ($0.id, touch(MessageFields(flags: flags))) }
    case .reacted(let id, let reaction, _):
      var one = touch(MessageFields(reactions: true))
      one.reaction = reaction
      return [(id, one)]
    case .covered(let channel, _):
      let there = truth.messages.filter { $0.place.channel == channel }
      return there.map { ($0.id, touch(MessageFields())) }
    case .limited, .untold, .aged, .renewed: return []
    }
  }

  // MARK: What is excused

  /// The fields of a held message that may be wrong while the server breaks its contract. They are
  /// those that no event has assigned to the held copy, and those that have changed since without
  /// an event. `latest` is the newest position at which a page may have been read.
  func excused(_ id: MessageID, at finger: Int64, latest: Int64, _ history: [ServerMessages])
    -> KnowledgeRules.Excuse
  {
    var excuse = KnowledgeRules.Excuse()
    guard isBroken(id) else { return excuse }
    let all = touches[id] ?? []
    func isSure(_ isAssigned: (Touch) -> Bool) -> Bool {
      guard let since = heldSince[id],
        let told = all.last(where: {
          $0.isTold && $0.position <= finger && $0.position > since && isAssigned($0)
        })
      else { return false }
      return !all.contains {
        !$0.isTold && $0.position > told.position && $0.position <= latest && isAssigned($0)
      }
    }
    func isUntold(_ isAssigned: (Touch) -> Bool) -> Bool {
      all.contains { !$0.isTold && $0.position <= latest && isAssigned($0) }
    }
    let isAged = aged.contains(id)
    excuse.content =
      !isSure { $0.fields.hasContent } && (isAged || isUntold { $0.fields.hasContent })
    excuse.place = !isSure { $0.fields.hasPlace } && (isAged || isUntold { $0.fields.hasPlace })
    excuse.reactions = MessageReaction.judged.filter { reaction in
      let names = { (touch: Touch) in touch.reaction == reaction || touch.isNew }
      return !isSure(names) && (isAged || isUntold(names))
    }
    // A client that has the wrong place may wrongly expect to be told of the message.
    excuse.isThere = excuse.place
    for bit in 0..<16 as Range<UInt16> {
      let flag = MessageFlags(rawValue: 1 << bit)
      let names = { (touch: Touch) in !touch.fields.flags.isDisjoint(with: flag) }
      if !isSure(names), isUntold(names) { excuse.flags.formUnion(flag) }
    }
    if excuse.place, let since = heldSince[id], since <= finger,
      !history[Int(since)...Int(finger)].allSatisfy({ $0.followed(id) != nil })
    {
      excuse.flags = .all
    }
    return excuse
  }

  /// What cannot be repaired: a reaction that an event once announced, and that later changed
  /// without one; and content or a place that an event once announced, and that later changed
  /// without an event and without a new version.
  func lost(_ id: MessageID, _ truth: ChatMessage<UInt32>) -> KnowledgeRules.Excuse {
    var excuse = KnowledgeRules.Excuse()
    guard isBroken(id) else { return excuse }
    let all = touches[id] ?? []
    func isLost(_ isAssigned: (Touch) -> Bool) -> Bool {
      guard let last = all.last(where: isAssigned), !last.isTold else { return false }
      return all.contains { touch in
        touch.isTold && isAssigned(touch) && touch.position < last.position
          && truth.version <= touch.version
      }
    }
    excuse.content = isLost { $0.fields.hasContent }
    excuse.place = isLost { $0.fields.hasPlace }
    excuse.isThere = excuse.place
    excuse.reactions = MessageReaction.judged.filter { reaction in
      guard let last = all.last(where: { $0.reaction == reaction }), !last.isTold else {
        return false
      }
      return all.contains {
        $0.isTold && $0.reaction == reaction && $0.position < last.position
      }
    }
    return excuse
  }
}

extension MessageReaction {
  /// All reactions that occur in a ``ServerMessages``.
  static var judged: [MessageReaction] {
    [MessageReaction(user: UserID(1), emoji: "+1"), MessageReaction(user: UserID(2), emoji: "+1")]
  }
}
