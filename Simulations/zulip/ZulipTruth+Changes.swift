internal import MessageSync
internal import Simulator
package import SyncProtocols
package import UpdateMachine
internal import ZulipServer
package import ZulipSync

// What the server makes of a client's changes, written from the realm alone.

extension ZulipApp {
  package static func request(
    _ push: PushRequest<ZulipChange>, at finger: QueueFinger?
  ) -> MutationPush {
    MutationPush(
      client: push.client, knownRefusal: push.knownRefusal,
      mutations: push.mutations.map { item in
        // The ticket first, for the server to name in the event of a message. In a search, the ID
        // above which it is.
        let numbers =
          [push.seeksAbove ?? Int64(item.ticket.number)]
          + item.change.storedBytes.map { Int64($0) }
        return NamedMutation(
          id: item.id, name: push.seeksAbove == nil ? item.change.name : ZulipTruth.search,
          arguments: .array(numbers.map { JSONValue(integerLiteral: $0) }))
      })
  }
}

extension ZulipTruth {
  package func change(
    by mutation: NamedMutation, of client: ClientID
  ) throws(ChangeRefusal) -> Change? {
    let numbers = mutation.arguments.array?.compactMap(\.int64) ?? []
    var reader = ByteReader(numbers.dropFirst().map { UInt8($0) })
    let change: ZulipChange
    do throws(StoredFormError) {
      change = try ZulipChange(from: &reader)
    } catch {
      preconditionFailure("\(error) in what this world's client has written")
    }
    if mutation.name == ZulipTruth.search {
      return .found(try find(change, above: numbers.first ?? 0))
    }
    if case .send(let message) = change {
      return .made(try sending(message, as: "\(client.number).\(numbers.first ?? 0)"))
    }
    if case .draft(nil, becomes: let draft?) = change {
      return .made(try creating(draft, as: numbers.first ?? 0, of: client))
    }
    guard let event = try event(by: change) else { return .unchanged }
    // It takes no changes of which the user's clients would not be told.
    guard announcement(of: .made(event)) != nil else { throw ChangeRefusal("out of sight") }
    return .made(event)
  }

  /// The name of a request that only looks for what a change may have created.
  static var search: String { "search" }

  /// The ID of what a change has created; refuses if there is nothing. As in `ZulipSync`, it is the
  /// user's oldest message above an ID that says the same in the same conversation.
  private func find(_ change: ZulipChange, above id: Int64) throws(ChangeRefusal) -> Int64 {
    guard case .send(let message) = change else { preconditionFailure("\(change) creates nothing") }
    let place = place(of: message.recipient)
    let found = realm.messages.first {
      $0.id > id && $0.sender == ZulipTruth.me && $0.place == place && $0.text == message.content
    }
    guard let found, realm.isVisible(found, to: ZulipTruth.me) else {
      throw ChangeRefusal("not found")
    }
    return found.id
  }

  private func place(of recipient: ZulipConnection.Recipient) -> MessageLocation {
    switch recipient {
    case .channel(let id, let topic): .channel(id.number, topic: topic)
    case .direct(let users): .direct(Set(users.map(\.number) + [ZulipTruth.me]).sorted())
    }
  }

  /// The event of a change; `nil` if everything is as the change wants it.
  private func event(by change: ZulipChange) throws(ChangeRefusal) -> RealmEvent? {
    switch change {
    case .send: preconditionFailure("it has a local ID")
    case .flag(let ids, let flag, let isSet):
      let messages = ids.compactMap { realm.message($0.number) }
        .filter { realm.isVisible($0, to: ZulipTruth.me) }
      let row: RowFlags =
        switch flag {
        case .read: .read
        case .starred: .starred
        case .collapsed: .collapsed
        }
      return realm.flagging(messages, row, isSet: isSet, of: ZulipTruth.me)
    case .read(let narrow, let last):
      let messages = realm.messages.filter { message in
        message.id <= last.number
          && message.flags(of: ZulipTruth.me).map { !$0.contains(.read) } == true
          && meets(narrow, message)
      }
      return realm.flagging(messages, .read, isSet: true, of: ZulipTruth.me)
    case .subscribe(let id, let isSet):
      guard let channel = realm.channel(id.number) else { throw ChangeRefusal("no such channel") }
      let follows = channel.subscribers.contains(ZulipTruth.me)
      if follows == isSet { return nil }
      if isSet, channel.isPrivate { throw ChangeRefusal("by invitation only") }
      if isSet { try requireNothingJustLeft() }
      return realm.subscribing(ZulipTruth.me, to: id.number, isSet: isSet)
    case .topic(let channel, let topic, let visibility):
      let setting = TopicSetting(
        user: ZulipTruth.me, channel: channel.number, topic: topic, policy: visibility.rawValue,
        at: time)
      return realm.announcing(.topicSet(setting))
    case .status(let text, let emoji):
      let status = UserStatus(
        text, name: emoji?.name ?? "", code: emoji?.code ?? "", type: emoji?.type ?? "")
      return realm.announcing(.statusSet(user: ZulipTruth.me, status))
    case .draft(let former?, let draft): return try drafting(draft, inPlaceOf: former)
    case .draft(nil, _): return nil  // Created and deleted again before it left.
    case .react(let id, let emoji, let isSet):
      let message = try visible(id)
      guard emoji == ZulipTruth.wave else { throw ChangeRefusal("no such emoji") }
      let reaction = RealmMessage.Reaction(user: ZulipTruth.me, emoji: Emoji.known[0])
      if message.reactions.contains(reaction) == isSet { return nil }
      return realm.reacting(to: message, reaction, isSet: isSet)
    case .delete(let id):
      guard let message = realm.message(id.number), realm.isVisible(message, to: ZulipTruth.me)
      else { return nil }
      guard message.sender == ZulipTruth.me else { throw ChangeRefusal("not yours") }
      return realm.deleting([message])
    case .edit(let id, let edit):
      let message = try visible(id)
      if let content = edit.content {
        guard message.sender == ZulipTruth.me else { throw ChangeRefusal("not yours") }
        return realm.editing(message, content, by: ZulipTruth.me, at: time)
      }
      guard case .channel(let channel, let topic) = message.place else {
        throw ChangeRefusal("direct messages cannot be moved")
      }
      try requireNothingJustLeft()
      return realm.moving(
        message, to: edit.channel?.number ?? channel, topic: edit.topic ?? topic,
        edit.moves.rawValue, by: ZulipTruth.me, at: time, tellsGainers: false)
    }
  }

  /// The event of a message that the user sends. In a channel that the user does not follow, no
  /// event tells of it.
  private func sending(
    _ message: ZulipOutgoing, as localID: String
  ) throws(ChangeRefusal) -> RealmEvent {
    if case .channel(let id, _) = message.recipient {
      guard let channel = realm.channel(id.number) else { throw ChangeRefusal("no such channel") }
      guard !channel.isPrivate || channel.subscribers.contains(ZulipTruth.me) else {
        throw ChangeRefusal("not yours")
      }
    }
    var event = realm.sending(
      message.content, from: ZulipTruth.me, to: place(of: message.recipient), isRead: true,
      at: time)
    if case .message(let sent, _) = event.kind {
      let echo = RealmEvent.Echo(queue: QueueID("its own"), localID: localID)
      event.kind = .message(sent, echo: echo)
    }
    return event
  }

  /// The event of a draft that is created. A second copy of what a user has made by hand is marked:
  /// each text is of one change. To undo a deletion is to create its text once more.
  private func creating(
    _ draft: ZulipDraft, as ticket: Int64, of client: ClientID
  ) throws(ChangeRefusal) -> RealmEvent {
    var made = RealmDraft(
      id: realm.settings.lastDraftID + 1, user: ZulipTruth.me, place: try place(of: draft),
      text: draft.content, at: draft.editedAt)
    let isByHand = draft.content.hasPrefix("\(ZulipUser.draftWord)\(client.number).\(ticket - 1).")
    let drafts = realm.settings.drafts(of: ZulipTruth.me)
    if isByHand, drafts.contains(where: { $0.text == made.text }) { made.text += ZulipTruth.again }
    return RealmEvent(.draftsMade([made]), to: [ZulipTruth.me])
  }

  /// What ends the text of a draft that was created twice.
  static var again: String { ", again" }

  /// The event of a draft that is edited or deleted. One that the client has no ID for is looked up
  /// by what it was.
  private func drafting(
    _ draft: ZulipDraft?, inPlaceOf former: ZulipDraft
  ) throws(ChangeRefusal) -> RealmEvent? {
    let mine = realm.settings.drafts(of: ZulipTruth.me)
    func find(_ named: ZulipDraft) -> RealmDraft? {
      let id = named.id.number
      return mine.first {
        id > 0 ? $0.id == id : $0.text == named.content && $0.time == named.editedAt
      }
    }
    let found = find(former)
    guard let draft else {
      return found.map { RealmEvent(.draftDeleted($0.id), to: [ZulipTruth.me]) }
    }
    guard var edited = found else {
      if former.id.number <= 0, find(draft) != nil { return nil }
      throw ChangeRefusal("no such draft")
    }
    edited.place = try place(of: draft)
    edited.text = draft.content
    edited.time = draft.editedAt
    return RealmEvent(.draftEdited(edited), to: [ZulipTruth.me])
  }

  private func place(of draft: ZulipDraft) throws(ChangeRefusal) -> MessageLocation? {
    switch draft.recipient {
    case .channel(let id, let topic):
      guard let channel = realm.channel(id.number),
        !channel.isPrivate || channel.subscribers.contains(ZulipTruth.me)
      else { throw ChangeRefusal("no such channel") }
      return .channel(id.number, topic: topic)
    case .direct(let users):
      return .direct(Set(users.map(\.number) + [ZulipTruth.me]).sorted())
    case nil: return nil
    }
  }

  /// As the real server, answers with the ID of a message that was sent, or of a draft.
  package func created(by change: Change) -> Int64? {
    if case .found(let id) = change { return id }
    if case .made(let event) = change, case .draftsMade(let drafts) = event.kind {
      return drafts.first?.id
    }
    guard case .made(let event) = change, case .message(let message, .some) = event.kind else {
      return nil
    }
    return message.id
  }

  /// A register leaves out what is unread in a channel that the user has left. If it came back, by
  /// a move or a new subscription, before the server has marked it as read, no client could know
  /// that it is unread (seeds 786 and 1137).
  private func requireNothingJustLeft() throws(ChangeRefusal) {
    if readingOfLeft != nil { throw ChangeRefusal("just left") }
  }

  private func visible(_ id: MessageID) throws(ChangeRefusal) -> RealmMessage {
    guard let message = realm.message(id.number), realm.isVisible(message, to: ZulipTruth.me) else {
      throw ChangeRefusal("no such message")
    }
    return message
  }

  /// The emoji with which this world's user reacts.
  static var wave: ZulipConnection.Emoji {
    let emoji = Emoji.known[0]
    return ZulipConnection.Emoji(emoji.name, code: emoji.code, type: emoji.type)
  }
}
