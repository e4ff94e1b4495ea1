internal import MessageSync
import UpdateMachine

// What a change shows before the server has confirmed it: the event that is expected. It never
// reaches a confirmed state.

extension ZulipChange {
  /// The messages that it names.
  var messages: [MessageID] {
    switch self {
    case .edit(let id, _), .delete(let id), .react(let id, _, _): [id]
    case .flag(let ids, _, _): ids
    case .send, .read, .topic, .subscribe, .status, .draft: []
    }
  }

  /// The event with which the server would confirm it; `nil` if nothing is shown, or if it is
  /// unknown what will change.
  func expectedEvent(in account: ZulipAccount) -> ZulipEvent? {
    switch self {
    case .send: return nil
    case .edit(let id, let edit):
      guard let update = ZulipUpdate(expecting: edit, of: id, in: account) else { return nil }
      return ZulipEvent(expecting: "update_message", .updated(update))
    case .delete(let id): return ZulipEvent(expecting: "delete_message", .deleted([id]))
    case .flag(let ids, let flag, let isSet):
      let flagging = ZulipFlagging(expecting: flag, of: ids, isSet: isSet, in: account)
      return ZulipEvent(expecting: "update_message_flags", .flagged(flagging))
    case .react(let id, let emoji, let isSet):
      guard let user = account.realm.myself, let type = emoji.type, let code = emoji.code else {
        return nil
      }
      let reaction = MessageReaction(user: user, zulip: type, code)
      return ZulipEvent(expecting: "reaction", .reacted(id, reaction, isSet: isSet))
    case .read(let narrow, let last):
      let flagging = ZulipFlagging(
        expecting: .read, of: account.unread(in: narrow, through: last), isSet: true, in: account)
      return ZulipEvent(expecting: "update_message_flags", .flagged(flagging))
    case .topic, .subscribe, .status: return settingEvent(in: account)
    case .draft: return nil  // It has its own way.
    }
  }

  /// The event of a change that concerns no message, with all its fields.
  private func settingEvent(in account: ZulipAccount) -> ZulipEvent? {
    switch self {
    case .topic(let channel, let topic, let visibility):
      return ZulipEvent(
        expecting: "user_topic", .ignored,
        [
          "stream_id": .number(channel.number), "topic_name": .text(topic),
          "visibility_policy": .number(visibility.rawValue), "last_updated": 0,
        ])
    case .subscribe(let id, let isSet):
      guard let channel = account.realm.channel(id), channel.isSubscribed != isSet else {
        return nil
      }
      return ZulipEvent(
        expecting: "subscription", .covered([id], follows: isSet),
        [
          "op": isSet ? "add" : "remove",
          "subscriptions": [.fields(channel.subscription(of: account.realm.myself))],
        ])
    case .status(let text, let emoji):
      guard let user = account.realm.myself else { return nil }
      return ZulipEvent(
        expecting: "user_status", .ignored,
        [
          "user_id": .number(user.number), "status_text": .text(text),
          "emoji_name": .text(emoji?.name ?? ""), "emoji_code": .text(emoji?.code ?? ""),
          "reaction_type": .text(emoji?.type ?? ""),
        ])
    case .send, .edit, .delete, .flag, .react, .read, .draft: return nil
    }
  }
}

extension ZulipChannel {
  /// The channel as the server will tell of it, except for the settings of a new subscription.
  fileprivate func subscription(of user: UserID?) -> ZulipFields {
    var fields = fields
    fields["stream_id"] = .number(id.number)
    for name in ["is_muted", "pin_to_top"] where fields[name] == nil { fields[name] = false }
    if let user, let others = fields["subscribers"]?.numbers {
      fields["subscribers"] = ZulipState.set(others + [user.number])
    }
    return fields
  }
}

extension ZulipAccount {
  /// The unread messages of a narrow, up to one, as far as it is known that they are in it.
  func unread(in narrow: ZulipNarrow, through last: MessageID) -> [MessageID] {
    let list = self.list(narrow)
    return realm.unread.filter { $0.id <= last && verdict(of: list, on: $0) == .yes }.map(\.id)
  }

  /// Whether no unread message can be in a narrow, up to one.
  func isRead(_ narrow: ZulipNarrow, through last: MessageID) -> Bool {
    let list = self.list(narrow)
    return !realm.hasMoreUnread
      && realm.unread.allSatisfy { $0.id > last || verdict(of: list, on: $0) == .no }
  }

  private func verdict(of list: ZulipMessageList, on unread: ZulipState.Unread) -> Verdict {
    if let message = lists[unread.id] { return list.verdict(on: PartialMessage(message)) }
    var partialMessage = PartialMessage<ZulipContent>(unread.id)
    partialMessage.place = unread.place
    partialMessage.channel = unread.place.channel
    partialMessage.flagsShown = [.read, .historical, .outsideFeed]
    return list.verdict(on: partialMessage)
  }

  /// The user's status: its text, which may be empty, and its emoji.
  var myStatus: (text: String, emoji: ZulipConnection.Emoji?) {
    guard let me = realm.myself,
      let status = realm[ZulipKey("user_status", "\(me.number)")]?.fields
    else { return ("", nil) }
    let emoji = status["emoji_name"]?.text.map { name in
      ZulipConnection.Emoji(
        name, code: status["emoji_code"]?.text, type: status["reaction_type"]?.text)
    }
    return (status["status_text"]?.text ?? "", emoji)
  }
}

extension ZulipEvent {
  /// An event without a position. Of messages, its fields are in `kind`.
  fileprivate init(expecting type: String, _ kind: Kind, _ fields: ZulipFields = ZulipFields()) {
    self.init(id: 0, type: type, kind: kind, fields: fields)
  }
}

extension ZulipFlagging {
  fileprivate init(
    expecting flag: ZulipConnection.Flag, of ids: [MessageID], isSet: Bool, in account: ZulipAccount
  ) {
    self.init(ids: ids, isAll: false, flags: MessageFlags(zulip: flag.rawValue), isSet: isSet)
    guard flag == .read, !isSet else { return }
    unread = ids.compactMap { account.lists[$0] }.map { message in
      let place: Unread.Place =
        switch message.place {
        case .channel(let channel, let topic): .channel(channel, topic: topic.text)
        case .direct(let conversation):
          .direct(
            conversation.members.count == 1
              ? conversation.members : conversation.members.filter { $0 != account.realm.myself })
        }
      return Unread(
        id: message.id, place: place, mentionsUser: message.flags.contains(.mentionedByName))
    }
  }
}

extension ZulipUpdate {
  /// `nil` if the message is not held. A move takes those along that are held.
  fileprivate init?(
    expecting edit: ZulipConnection.Edit, of id: MessageID, in account: ZulipAccount
  ) {
    guard let message = account.lists[id] else { return nil }
    self.init(moved: [])
    if let content = edit.content {
      self.edit = Edit(
        id: id, rendered: ZulipUpdate.unrendered(content), raw: content,
        flags: message.flags.intersection(.contentFlags))
    }
    guard edit.isMove, case .channel(let channel, let topic) = message.place else { return }
    newTopic = edit.topic
    move = .init(
      from: message.place,
      to: .zulip(edit.channel ?? channel, topic: edit.topic ?? topic.text))
    moved =
      switch edit.moves {
      case .one: [id]
      case .later:
        account.lists.messages.filter { $0.place == message.place && $0.id >= id }.map(\.id)
      case .all: account.lists.messages.filter { $0.place == message.place }.map(\.id)
      }
  }

  /// The typed text as HTML. How the server will render it is not known before its event.
  private static func unrendered(_ text: String) -> String {
    let html = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
      .replacing(">", with: "&gt;").replacing("\n", with: "<br>\n")
    return "<p>\(html)</p>"
  }
}

extension ZulipAccount {
  /// Applies an event that only a view shows. It is made from this state. If the state was damaged
  /// on the disk, so that it cannot be applied, nothing shows. Of messages that are not held, the
  /// lists hear nothing: that would only make them uncertain.
  mutating func expect(_ event: ZulipEvent) {
    do throws(ZulipError) { try realm.apply(event) } catch { return }
    for change in event.changes(form) {
      switch change {
      case .flagged(let ids, let flags, let isSet):
        lists.apply(.flagged(ids.filter { lists[$0] != nil }, flags, isSet: isSet))
      case .deleted(let ids): lists.apply(.deleted(ids.filter { lists[$0] != nil }))
      case .reacted(let id, _, _): if lists[id] != nil { lists.apply(change) }
      case .new, .updated, .flaggedAll: lists.apply(change)
      // Whether events tell of a channel is up to the server. Until then its list says nothing new.
      case .covered: break
      }
    }
  }

  /// Whether a change is what this event says, so that the view need not show it any longer.
  public func shows(_ change: ZulipChange, after event: ZulipEvent) -> Bool {
    switch (change, event.kind) {
    case (.edit(let id, let edit), .updated(let update)):
      if let content = edit.content {
        guard update.edit?.id == id, ZulipAccount.isSame(update.edit?.raw, content) else {
          return false
        }
      }
      guard edit.isMove else { return true }
      return update.moved.contains(id) && edit.isIn(update.move?.target)
    case (.delete(let id), .deleted(let ids)): return ids.contains(id)
    case (.flag(let ids, let flag, let isSet), .flagged(let flagging)):
      let flags = MessageFlags(zulip: flag.rawValue)
      guard flagging.flags == flags, flagging.isSet == isSet else { return false }
      // The server names only those that it changed.
      return flagging.isAll
        || ids.allSatisfy { id in
          flagging.ids.contains(id) || lists[id].map { $0.flags.contains(flags) == isSet } ?? false
        }
    case (.react(let id, let emoji, let isSet), .reacted(let itsID, let reaction, let itsSet)):
      return itsID == id && itsSet == isSet && reaction.user == realm.myself
        && reaction.emoji == "\(emoji.type ?? ""):\(emoji.code ?? "")"
    case (.read(let narrow, let last), .flagged(let flagging)):
      return flagging.flags == .read && flagging.isSet && isRead(narrow, through: last)
    case (.subscribe(let channel, let isSet), .covered(let channels, let follows)):
      return isSet == follows && channels.contains(channel)
    case (.topic(let channel, let topic, let visibility), _) where event.type == "user_topic":
      return event.fields["stream_id"] == .number(channel.number)
        && event.fields["topic_name"]?.text.map { MessageTopic(zulip: $0).key }
          == MessageTopic(zulip: topic).key
        && event.fields["visibility_policy"] == .number(visibility.rawValue)
    case (.status(let text, let emoji), _) where event.type == "user_status":
      return event.fields["user_id"]?.number == realm.myself?.number
        && ZulipAccount.isSame(myStatus.text, text.trimmingPrefix(while: \.isWhitespace))
        && myStatus.emoji?.name ?? "" == emoji?.name ?? ""
    case (.draft(let former, let draft), _) where event.type == "drafts":
      return shows(draft, inPlaceOf: former, after: event)
    default: return false
    }
  }

  /// Whether two contents are the same for the server, which drops whitespace at the end.
  static func isSame(_ one: String?, _ other: some StringProtocol) -> Bool {
    one?.trimmingSuffix(while: \.isWhitespace)
      == String(other).trimmingSuffix(while: \.isWhitespace)
  }
}

extension ZulipConnection.Edit {
  /// Whether a message there is where this moves it.
  func isIn(_ place: MessagePlace?) -> Bool {
    guard case .channel(let itsChannel, let itsTopic)? = place else { return false }
    return channel ?? itsChannel == itsChannel
      && topic.map { $0 == itsTopic.text } ?? true
  }
}

extension String {
  fileprivate func trimmingSuffix(while isTrimmed: (Character) -> Bool) -> Substring {
    var rest = self[...]
    while let last = rest.last, isTrimmed(last) { rest.removeLast() }
    return rest
  }
}
