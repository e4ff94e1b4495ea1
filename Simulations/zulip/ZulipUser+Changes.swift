internal import MessageSync
package import Simulator
package import UpdateMachine
internal import ZulipServer
package import ZulipSync

// What the user changes, and what the user is owed of it.

extension ZulipUser {
  /// The most changes that wait at a time. It keeps the bound finite.
  private static var pendingMaximum: Int { 8 }

  /// How long an outbox may need to empty: each push may fail once more, and each refusal waits
  /// until the user looks.
  static var boundOfChanges: TimeSpan {
    let retry = OutboxSettings().machine.retry
    return max(retry.retryAfterCap * 2, retry.slowCap) + retry.deadlineCap
      + .seconds(45) * Int64(pendingMaximum)
  }

  /// Changes something, takes a change back, or decides about one; `nil`: not now.
  func changesSomething(
    _ client: Body, _ truth: ZulipTruth, _ choices: inout Choices
  ) -> Action? {
    guard let outbox = client.local?.outbox else { return nil }
    let kind = choices.draw(.users, below: 16)
    if kind == 0 { return .undoes }
    if kind == 1 { return .redoes }
    if kind < 5 {
      if let aside = outbox.setAside.first(where: { outbox.canDiscard($0.ticket) }) {
        return .decides(kind == 2 ? .retried(aside.ticket) : .discarded(aside.ticket))
      }
      if let pending = outbox.pending.last, outbox.canDiscard(pending.ticket) {
        return .decides(.discarded(pending.ticket))
      }
    }
    guard outbox.count < ZulipUser.pendingMaximum, let id = anyID(client, truth, &choices) else {
      return nil
    }
    return .mutates(anyChange(of: id, client, truth, &choices))
  }

  /// Mostly a message that is held, as users change what they see.
  private func anyID(
    _ client: Body, _ truth: ZulipTruth, _ choices: inout Choices
  ) -> MessageID? {
    let held = client.model?.lists.messages.map(\.id) ?? []
    if held.isEmpty || choices.happens(.users, 1, in: 8) {
      return MessageID(choices.draw(.users, in: 1...max(1, truth.realm.lastMessageID)))
    }
    return held[Int(choices.draw(.users, below: UInt64(held.count)))]
  }

  private func anyChange(
    of id: MessageID, _ client: Body, _ truth: ZulipTruth, _ choices: inout Choices
  ) -> ZulipChange {
    let isSet = choices.happens(.users, 2, in: 3)
    switch choices.draw(.users, below: 20) {
    case 1, 2, 10, 11: return .send(anyMessage(client, truth, &choices))
    case 12: return .read(choices.pick(.users, ZulipTruth.narrows), through: id)
    case 14:
      let channel = ChannelID(choices.draw(.users, in: Int64(1)...4))
      return .topic(
        channel, choices.pick(.users, ["lunch", "Lunch", "soup"]),
        choices.pick(.users, [.muted, .inherited, .unmuted, .followed]))
    case 15:
      let text = choices.pick(.users, ["", "out", "in"])
      return .status(text, isSet ? ZulipTruth.wave : nil)
    case 13: return .subscribe(ChannelID(choices.draw(.users, in: Int64(1)...4)), isSet: isSet)
    case 16, 17, 18, 19: return anyDraft(client, truth, &choices)
    case 0: return .flag([id], .starred, isSet: isSet)
    case 3, 4:
      // One who has read a message has often read all before it.
      let before = client.model?.lists.messages.map(\.id).filter { $0 < id } ?? []
      return .flag(before + [id], .read, isSet: isSet)
    case 5: return .flag([id], .collapsed, isSet: isSet)
    case 6: return .react(id, ZulipTruth.wave, isSet: isSet)
    case 7: return .delete(id)
    case 8: return .edit(id, .init(content: "mine \(choices.draw(.users, below: 100))"))
    default:
      var edit = ZulipConnection.Edit(
        topic: choices.pick(.users, ["lunch", "soup"]),
        channel: ChannelID(choices.draw(.users, in: Int64(1)...4)))
      edit.moves = choices.pick(.users, [.one, .later, .all])
      return .edit(id, edit)
    }
  }

  /// A message that no other client writes. Some say what an earlier one has said.
  private func anyMessage(
    _ client: Body, _ truth: ZulipTruth, _ choices: inout Choices
  ) -> ZulipOutgoing {
    let outbox = client.local?.outbox
    let own = ZulipUser.ownWord + "\(outbox?.client.number ?? 0)."
    if choices.happens(.users, 1, in: 2) {
      return ZulipOutgoing(
        .channel(ChannelID(choices.pick(.users, [1, 4])), topic: "lunch"), own + ZulipUser.sameWord)
    }
    let text = own + "\(outbox?.newestTicket.number ?? 0).\(truth.changeCount)"
    let channel = ChannelID(choices.draw(.users, in: Int64(1)...4))
    return choices.happens(.users, 1, in: 4)
      ? ZulipOutgoing(.direct([UserID(9)]), text)
      : ZulipOutgoing(.channel(channel, topic: choices.pick(.users, ["lunch", "soup"])), text)
  }

  /// What a text begins with that a client has sent.
  private static let ownWord = "own "
  /// What a text ends with that a client may have sent several times.
  private static let sameWord = "the same"

  package mutating func tidy(_ client: Body) -> [Action] {
    guard let outbox = client.local?.outbox else { return [] }
    var actions: [Action] = []
    switch outbox.status {
    case .halted(.credentials): actions.append(.signals(.credentialsChanged))
    case .halted(.unsupported): actions.append(.signals(.retryRequested))
    case .halted(.stopped), .resting, .storing, .pushing, .waiting, .pausing, .confirming: break
    }
    if let aside = outbox.setAside.first(where: { outbox.canDiscard($0.ticket) }) {
      actions.append(.decides(.discarded(aside.ticket)))
    }
    if let uncertain = outbox.uncertain.first {
      actions.append(.decides(.discarded(uncertain.ticket)))
    }
    return actions
  }

  /// What is not on the disk is not sent: a crash would make another change of it.
  package func objection(
    toSending push: PushRequest<ZulipChange>, disk: Saved?
  ) -> UserObjection? {
    if push.mutations.count != 1 {
      return UserObjection(.input, "each change is sent alone", "\(push)")
    }
    for item in push.mutations {
      let isSaved = disk?.outbox?.pending.contains { $0.id == item.id && $0.change == item.change }
      guard isSaved != true else { continue }
      return UserObjection(.input, "what is not durable is not sent: \(item.change)", "\(push)")
    }
    return nil
  }

  /// Nobody has asked to send a message again that may have arrived.
  static func objectionToCopies(_ truth: ZulipTruth) -> UserObjection? {
    if let objection = objectionToCopiedDrafts(truth) { return objection }
    for message in truth.realm.messages
    where message.text.hasPrefix(ownWord) && !message.text.hasSuffix(sameWord) {
      let isTwice = truth.realm.messages.contains { $0.id < message.id && $0.text == message.text }
      if isTwice { return UserObjection(.input, "it is sent once", "\(message.text) again") }
    }
    return nil
  }

  /// What counts as sent is at the server: another message that says the same was not taken for it.
  mutating func objectionToLoss(_ client: Body, _ truth: ZulipTruth) -> UserObjection? {
    guard let outbox = client.local?.outbox else { return nil }
    for pending in outbox.pending {
      guard case .send = pending.change, !letters.contains(pending.ticket) else { continue }
      letters.append(pending.ticket)
    }
    for ticket in letters where outbox.state(of: ticket) == .acknowledged {
      letters.removeAll { $0 == ticket }
      let name = "\(outbox.client.number).\(ticket.number)"
      if truth.posted[name] == nil {
        return UserObjection(.input, "what counts as sent was sent", "\(name) was not")
      }
    }
    return nil
  }

  // MARK: What is shown

  /// Each row of a window shows the confirmed message with what the user has done since, in order.
  func objectionToWhatIsShown(_ client: Body, _ store: Store) -> UserObjection? {
    guard let outbox = client.local?.outbox else { return nil }
    if let uncertain = outbox.uncertain.first(where: { ZulipUser.isHarmlessTwice($0.change) }) {
      return UserObjection(.input, "what may be repeated is not uncertain", "\(uncertain)")
    }
    if outbox.pending.isEmpty { return nil }
    if let view = client.local?.view.state.realm,
      let objection = ZulipUser.objection(toSettings: view, under: outbox)
    {
      return objection
    }
    if let view = client.local?.view,
      let objection = ZulipUser.objection(
        toDrafts: view.state.realm, over: view.confirmed.realm, under: outbox)
    {
      return objection
    }
    if let objection = objection(toEchoes: client, store) { return objection }
    for window in client.windows where !client.looksOtherwise(window.id) {
      for case .item(let shown) in window.view?.rows ?? [] {
        guard let confirmed = store[shown.id] else { continue }
        guard let expected = ZulipUser.message(confirmed, under: outbox) else {
          return UserObjection(
            .honesty, "\(shown.id), which its user has deleted, is not shown", "\(window.narrow)")
        }
        // Whether a star has brought it into the feed shows in the lists, and of what is read all
        // together the account's rows decide.
        var left = MessageFlags.outsideFeed
        if ZulipUser.isReadWithOthers(shown.id, under: outbox) { left.insert(.read) }
        guard expected.flags.subtracting(left) == shown.flags.subtracting(left),
          expected.reactions == shown.reactions,
          expected.content == shown.content
        else {
          return UserObjection(
            .honesty, "\(window.narrow) shows what its user did: \(ZulipUser.words(expected))",
            "\(ZulipUser.words(shown)); \(outbox)")
        }
      }
    }
    return nil
  }

  /// What the server has answered with its ID does not show as an echo once it shows as a message.
  private func objection(toEchoes client: Body, _ store: Store) -> UserObjection? {
    guard let local = client.local, let model = client.model else { return nil }
    for pending in local.outbox.pending {
      if let named, named.ticket == pending.ticket, pending.created != named.id {
        return UserObjection(
          .honesty, "\(pending.ticket) is known as message \(named.id)", "\(local.outbox)")
      }
      guard case .send = pending.change, let id = pending.created.map({ MessageID($0) }) else {
        continue
      }
      if store[id] != nil {
        return UserObjection(
          .honesty, "\(id) does not show twice", "its change, too: \(pending.ticket)")
      }
      for window in client.windows where !client.looksOtherwise(window.id) {
        guard window.view?.items.contains(where: { $0.id == id }) == true,
          model.echoes(local, in: window.narrow).contains(where: { $0.ticket == pending.ticket })
        else { continue }
        return UserObjection(
          .honesty, "\(pending.ticket) shows once in \(window.narrow)", "as an echo, too")
      }
    }
    return nil
  }

  /// The last that was set shows, and what is pending of one thing comes after what is confirmed.
  private static func objection(
    toSettings view: ZulipState, under outbox: Outbox<ZulipChange>
  ) -> UserObjection? {
    var shown: [(object: String, expected: String, found: String)] = []
    for pending in outbox.pending where pending.refusal == nil {
      guard let object = pending.change.object else { continue }
      let words: (String, String)
      switch pending.change {
      case .topic(let channel, let topic, let visibility):
        words = ("\(visibility)", "\(view.visibility(of: topic, in: channel))")
      case .subscribe(let id, let isSet):
        guard let channel = view.channel(id) else { continue }
        words = ("\(isSet)", "\(channel.isSubscribed)")
      case .status(let text, let emoji):
        words = ("\(text) \(emoji?.name ?? "")", ZulipStateOracle.status(view))
      default: continue
      }
      shown.removeAll { $0.object == object }
      shown.append((object, words.0, words.1))
    }
    return shown.first { $0.expected != $0.found }.map { wrong in
      UserObjection(
        .honesty, "\(wrong.object) shows as set: \(wrong.expected)", "\(wrong.found); \(outbox)")
    }
  }

  /// Whether a second copy changes nothing. A move that takes others along may find others.
  private static func isHarmlessTwice(_ change: ZulipChange) -> Bool {
    switch change {
    case .send: false
    case .draft(let former, let draft): former != nil || draft == nil
    case .edit(_, let edit): edit.topic == nil || edit.moves == .one
    case .delete, .flag, .react, .read, .topic, .subscribe, .status: true
    }
  }

  private static func isReadWithOthers(_ id: MessageID, under outbox: Outbox<ZulipChange>) -> Bool {
    outbox.pending.contains { pending in
      guard pending.refusal == nil, case .read(_, let last) = pending.change else { return false }
      return id <= last
    }
  }

  /// The message as its user has changed it; `nil`: deleted.
  private static func message(
    _ confirmed: ChatMessage<ZulipContent>, under outbox: Outbox<ZulipChange>
  ) -> ChatMessage<ZulipContent>? {
    var message = confirmed
    for pending in outbox.pending where pending.refusal == nil {
      switch pending.change {
      case .flag(let ids, let flag, let isSet) where ids.contains(message.id):
        let flags: MessageFlags =
          switch flag {
          case .read: .read
          case .starred: .starred
          case .collapsed: .collapsed
          }
        if isSet { message.flags.formUnion(flags) } else { message.flags.subtract(flags) }
      case .react(message.id, _, let isSet):
        let emoji = Emoji.known[0]
        let mine = MessageReaction(
          user: UserID(ZulipTruth.me), emoji: "\(emoji.type):\(emoji.code)")
        message.reactions.removeAll { $0 == mine }
        if isSet { message.reactions = (message.reactions + [mine]).sorted() }
      case .delete(message.id): return nil
      case .edit(message.id, let edit):
        if let content = edit.content {
          message.content = ZulipContent("<p>\(content)</p>", .rendered)
        }
      default: break
      }
    }
    return message
  }

  private static func words(_ message: ChatMessage<ZulipContent>) -> String {
    "\(message.id) \(message.content.text) +\(message.flags.rawValue) \(message.reactions.count)"
  }
}
