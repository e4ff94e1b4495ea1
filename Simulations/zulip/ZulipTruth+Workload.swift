internal import MessageSync
package import Simulator
internal import UpdateMachine
internal import ZulipServer
package import ZulipSync

extension ZulipTruth {
  /// A realm of three users and four channels. The last channel is private; everybody follows it.
  package static var beginning: ZulipTruth {
    var realm = Realm(users: 3, wall: 1_767_225_600)
    let vault = RealmChannel(
      id: 4, name: "vault", about: "", subscribers: realm.users.map(\.id), isPrivate: true)
    realm.apply(realm.announcing(.channelMade(vault)))
    return ZulipTruth(realm)
  }

  /// Draws the next change. There are few messages in few places, so that changes collide often.
  package func nextChange(_ choices: inout Choices) -> Change {
    if let reading = readingOfLeft { return .made(reading) }
    return .made(anyEvent(&choices) ?? send(to: .channel(1, topic: "lunch"), &choices))
  }

  /// The server marks the messages of a channel as read soon after the user has left it.
  var readingOfLeft: RealmEvent? {
    let left = realm.messages.filter { message in
      !follows(message.place)
        && message.flags(of: ZulipTruth.me).map { !$0.contains(.read) } ?? false
    }
    return realm.flagging(left, .read, isSet: true, of: ZulipTruth.me)
  }

  private func anyEvent(_ choices: inout Choices) -> RealmEvent? {
    let kind = choices.draw(.workload, below: 30)
    switch kind {
    case 0, 1, 2, 3: return send(to: anyPlace(&choices), &choices)
    case 18, 19: return anySubscription(&choices)
    case 20, 21, 22: return anyOfPeople(&choices)
    case 23, 24: return anyOfChannels(&choices)
    case 28, 29: return anyDrafting(&choices)
    default: break
    }
    guard let message = anyMessage(&choices) else { return nil }
    switch kind {
    case 4, 5: return realm.editing(message, text(&choices), by: message.sender, at: time)
    case 6, 7, 8, 9: return anyMove(of: message, &choices)
    case 10: return realm.deleting(some(near: message, &choices))
    case 11, 12, 13, 14, 15, 25, 26:
      return anyFlagging(of: message, &choices)
    case 16, 17:
      let user = choices.draw(.workload, in: Int64(8)...9)
      guard realm.isVisible(message, to: user) else { return nil }
      let reaction = RealmMessage.Reaction(user: user, emoji: Emoji.known[0])
      return realm.reacting(
        to: message, reaction, isSet: !message.reactions.contains(reaction))
    default: return send(to: message.place, &choices)
    }
  }

  // MARK: Messages

  private func send(to place: MessageLocation, _ choices: inout Choices) -> RealmEvent {
    // There are at most nine messages at a time.
    if realm.messages.count >= 9, let oldest = realm.messages.first,
      let deletion = realm.deleting([anyMessage(&choices) ?? oldest])
    {
      return deletion
    }
    var senders = realm.users.filter(\.isActive).map(\.id)
    if case .direct(let members) = place { senders = senders.filter { members.contains($0) } }
    let sender = senders.isEmpty ? ZulipTruth.me : choices.pick(.workload, senders.reversed())
    return realm.sending(
      text(&choices), from: sender, to: place, isRead: flip(&choices), at: time)
  }

  private func text(_ choices: inout Choices) -> String {
    let number = choices.draw(.workload, below: 100)
    guard choices.happens(.workload, 1, in: 4), let me = realm.user(ZulipTruth.me) else {
      return "\(number)"
    }
    return "\(number) @**\(me.name)**"
  }

  private func anyMessage(_ choices: inout Choices) -> RealmMessage? {
    guard !realm.messages.isEmpty else { return nil }
    let index = choices.draw(.workload, below: UInt64(realm.messages.count))
    return realm.messages[Int(index)]
  }

  /// The message, and perhaps others from the same place.
  private func some(near message: RealmMessage, _ choices: inout Choices) -> [RealmMessage] {
    guard flip(&choices) else { return [message] }
    return realm.messages.filter { $0.place == message.place }
  }

  private func anyFlagging(
    of message: RealmMessage, _ choices: inout Choices
  ) -> RealmEvent? {
    if let lastFlagged, flip(&choices) {
      let messages = realm.messages.filter { one in
        follows(one.place) && (lastFlagged.ids.contains(one.id) || one.id == message.id)
      }
      let flag = lastFlagged.flag
      return realm.flagging(messages, flag, isSet: !lastFlagged.isSet, of: ZulipTruth.me)
    }
    let flag = choices.pick(.workload, [RowFlags.starred, .read, .collapsed])
    let isSet = message.flags(of: ZulipTruth.me)?.contains(flag) == false
    // One who has read a message has often read all before it.
    let readsAll = flag == .read && isSet && flip(&choices)
    let messages = (readsAll ? realm.messages : some(near: message, &choices))
      .filter { follows($0.place) && (!readsAll || $0.id <= message.id) }
    return realm.flagging(messages, flag, isSet: isSet, of: ZulipTruth.me)
  }

  private func anyPlace(_ choices: inout Choices) -> MessageLocation {
    let number = Int64(choices.draw(.workload, below: 16))
    switch number {
    case 0..<12:
      let topics = ["lunch", "soup", "Lunch"]
      return .channel(number / 3 + 1, topic: topics[Int(number % 3)])
    case 12: return .direct([8, 9])
    case 13: return .direct([8, 9, 10])
    case 14: return .direct([8])
    default: return .direct([9, 10])
    }
  }

  private func anyMove(of message: RealmMessage, _ choices: inout Choices) -> RealmEvent? {
    guard case .channel = message.place, case .channel(let channel, let topic) = anyPlace(&choices)
    else { return nil }
    let mode = choices.pick(.workload, ["change_one", "change_later", "change_all"])
    let text = flip(&choices) ? text(&choices) : nil
    return realm.moving(
      message, to: channel, topic: topic, mode, text: text, by: message.sender, at: time,
      tellsGainers: flip(&choices))
  }

  /// What the user does with drafts at a device that is no client here.
  private func anyDrafting(_ choices: inout Choices) -> RealmEvent {
    let mine = realm.settings.drafts(of: ZulipTruth.me)
    var draft = RealmDraft(
      id: realm.settings.lastDraftID + 1, user: ZulipTruth.me,
      place: flip(&choices) ? .channel(1, topic: "lunch") : nil,
      text: "elsewhere \(changeCount)", at: time)
    guard !mine.isEmpty, mine.count > 3 || choices.happens(.workload, 2, in: 3) else {
      return RealmEvent(.draftsMade([draft]), to: [ZulipTruth.me])
    }
    draft.id = choices.pick(.workload, mine).id
    return RealmEvent(
      flip(&choices) ? .draftEdited(draft) : .draftDeleted(draft.id), to: [ZulipTruth.me])
  }

  // MARK: People and channels

  private func anySubscription(_ choices: inout Choices) -> RealmEvent? {
    let channel = choices.pick(.workload, realm.channels.map(\.id).filter { $0 > 1 })
    let users = realm.users.filter(\.isActive).map(\.id)
    let user = choices.happens(.workload, 1, in: 3) ? choices.pick(.workload, users) : ZulipTruth.me
    let follows = realm.channel(channel)?.subscribers.contains(user) ?? false
    return realm.subscribing(user, to: channel, isSet: !follows)
  }

  private func anyOfPeople(_ choices: inout Choices) -> RealmEvent? {
    let user = choices.pick(.workload, realm.users)
    if user.id != ZulipTruth.me, flip(&choices) {
      return realm.announcing(.userActive(user.id, !user.isActive))
    }
    let name = choices.pick(.workload, ["Ada", "Bo", "Cy", "Di"])
    return name == user.name ? nil : realm.announcing(.userNamed(user.id, name))
  }

  /// The first channel keeps its name: a narrow asks for it by name.
  private func anyOfChannels(_ choices: inout Choices) -> RealmEvent? {
    let channel = choices.pick(.workload, realm.channels.filter { $0.id > 1 })
    switch choices.draw(.workload, below: 3) {
    case 0:
      let name = channel.name == "attic" ? "cellar" : "attic"
      guard !realm.channels.contains(where: { $0.name == name }) else { return nil }
      return realm.announcing(.channelNamed(channel.id, from: channel.name, to: name))
    case 1: return realm.announcing(.channelDescribed(channel.id, text(&choices)))
    default:
      guard realm.channels.count < 6 else { return nil }
      let id = Int64(realm.channels.count + 1)
      return realm.announcing(
        .channelMade(RealmChannel(id: id, name: "room \(id)", about: "", subscribers: [])))
    }
  }

  private func flip(_ choices: inout Choices) -> Bool { choices.happens(.workload, 1, in: 2) }

  // MARK: Narrows

  /// Narrows that cover all distinctions: everything, places, flags, both, negations, a channel
  /// that is asked for by its name, and what only the server can decide.
  package static var narrows: [ZulipNarrow] {
    [
      ZulipNarrow([]), ZulipNarrow([.init("channel", .number(1))]),
      ZulipNarrow([.init("channel", .number(2)), .init("topic", .text("lunch"))]),
      ZulipNarrow([.init("is", .text("starred"))]), ZulipNarrow([.init("is", .text("unread"))]),
      ZulipNarrow([.init("channel", .text("general")), .init("is", .text("starred"))]),
      ZulipNarrow([.init("dm", .numbers([9]))]), ZulipNarrow([.init("dm", .numbers([9, 10]))]),
      ZulipNarrow([.init("dm", .numbers([8]))]),
      ZulipNarrow([.init("topic", .text("Lunch"), isNegated: true)]),
      ZulipNarrow([.init("sender", .number(9))]), ZulipNarrow([.init("channel", .number(4))]),
      ZulipNarrow([
        .init("is", .text("mentioned")), .init("channel", .number(1), isNegated: true),
      ]),
      ZulipNarrow([.init("is", .text("dm"))]),
      ZulipNarrow([.init("channel", .number(3)), .init("topic", .text("soup"))]),
      ZulipNarrow([.init("is", .text("followed"))]),
      ZulipNarrow([.init("channel", .number(1)), .init("has", .text("reaction"))]),
    ]
  }
}

extension ZulipTruth.Change: CustomStringConvertible {
  package var description: String {
    if case .unchanged = self { return "nothing to change" }
    if case .found(let id) = self { return "\(id) found" }
    guard case .made(let event) = self else { return "something that no client can read" }
    switch event.kind {
    case .message(let message, _):
      return "\(message.id) sent by \(message.sender) to \(words(message.place)): \(message.text)"
    case .edited(let edit):
      let text = edit.text.map { " edited: \($0.new)" } ?? ""
      let move = edit.move.map { move in
        " moved with \(move.ids) to \(move.newChannel)/\(move.newTopic)"
      }
      return "\(edit.message)\(text)\(move ?? "")"
    case .deleted(let ids, _): return "\(ids) deleted"
    case .flagged(let flagging):
      let names = flagging.flag.rawValue
      return "\(flagging.ids) flags \(flagging.isSet ? "+" : "-")\(names)"
    case .reacted(let id, let reaction, let isSet):
      return "\(id) reaction \(isSet ? "+" : "-") of \(reaction.user)"
    case .subscribed(let user, let channel, let isSet):
      return "user \(user) \(isSet ? "follows" : "leaves") channel \(channel)"
    case .userNamed(let user, let name): return "user \(user) is named \(name)"
    case .userActive(let user, let isActive):
      return "user \(user) is \(isActive ? "active again" : "deactivated")"
    case .channelMade(let channel): return "channel \(channel.id) made: \(channel.name)"
    case .channelNamed(let id, _, let name): return "channel \(id) is named \(name)"
    case .channelDescribed(let id, let about): return "channel \(id) described: \(about)"
    case .topicSet(let setting):
      return "topic \(setting.channel)/\(setting.topic) set to \(setting.policy)"
    case .statusSet(let user, let status): return "user \(user) is \(status.text)"
    case .draftsMade(let drafts): return "drafts \(drafts.map(\.id)) made"
    case .draftEdited(let draft): return "draft \(draft.id) edited: \(draft.text)"
    case .draftDeleted(let id): return "draft \(id) deleted"
    case .typing(let user, _, _), .present(let user, _): return "user \(user) is there"
    }
  }

  private func words(_ place: MessageLocation) -> String {
    switch place {
    case .channel(let id, let topic): "\(id)/\(topic)"
    case .direct(let members): "@\(members)"
    }
  }
}
