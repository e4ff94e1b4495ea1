public import MessageSync
public import UpdateMachine

/// What a user does to messages, topics, channels and drafts. It goes through the outbox: it shows
/// at once, is kept offline, and is confirmed by the server's events.
///
///     let starred = try await machine.mutate(.flag([message.id], .starred, isSet: true))
///
/// What shows at once is the event that is expected, applied beforehand: windows and the machine's
/// view have it, and no confirmed state does. A message that is sent has no ID yet: it is an echo
/// (``ZulipEcho``).
///
/// A message is never sent again by itself, because a second copy would be a second message
/// (`MutationDelivery.atMostOnce`). Nor is a draft that is created, or a move that takes others
/// along: by then they may be others. All else is sent again until the server has answered. Changes
/// of different things do not wait for each other: a message for its conversation, an edit for its
/// message, a flag for earlier changes of that flag.
public enum ZulipChange: Hashable, Sendable {
  /// Sends a message.
  case send(ZulipOutgoing)
  /// Edits a message, moves it, or both.
  case edit(MessageID, ZulipConnection.Edit)
  /// Deletes a message.
  case delete(MessageID)
  /// Sets or clears a flag of the user's. What cannot be seen by the user keeps its flags.
  case flag([MessageID], ZulipConnection.Flag, isSet: Bool)
  /// Adds or removes the user's reaction. It shows at once if the emoji has its code and type.
  case react(MessageID, ZulipConnection.Emoji, isSet: Bool)
  /// Marks all messages of a narrow as read, up to this one. At once those show as read of which
  /// the state knows that they are in the narrow.
  case read(ZulipNarrow, through: MessageID)
  /// Mutes, unmutes or follows a topic, in any spelling; or lets it be as its channel.
  case topic(ChannelID, String, ZulipVisibility)
  /// Subscribes the user to a channel, or unsubscribes. Its messages come once the server has
  /// confirmed it. The server knows channels by name here: one that is renamed in the same moment
  /// is made anew, if the user may make channels.
  case subscribe(ChannelID, isSet: Bool)
  /// Sets the user's status, in place of the one before: a text, an emoji, both, or nothing.
  case status(String, ZulipConnection.Emoji?)
  /// Creates a draft (from `nil`), edits one, or deletes one (becomes `nil`). A draft is named by
  /// what it was: as a state has it, or as the app has last made it. If another device has changed
  /// it meanwhile, it is found by its ID, if the state gave one, and the later change counts.
  case draft(ZulipDraft?, becomes: ZulipDraft?)
}

extension ZulipChange: Mutation {
  public var name: String {
    switch self {
    case .send: "send"
    case .edit: "edit"
    case .delete: "delete"
    case .flag(_, let flag, isSet: true): flag.rawValue
    case .flag(_, let flag, isSet: false): "not \(flag.rawValue)"
    case .react(_, _, isSet: true): "react"
    case .react(_, _, isSet: false): "take back a reaction"
    case .read: "read all"
    case .topic: "topic"
    case .subscribe(_, isSet: true): "subscribe"
    case .subscribe(_, isSet: false): "unsubscribe"
    case .status: "status"
    case .draft(nil, becomes: nil): "no draft"
    case .draft(nil, becomes: _): "draft"
    case .draft(_, becomes: nil): "delete a draft"
    case .draft: "edit a draft"
    }
  }

  /// The size in bytes, about.
  public var size: Int64 {
    switch self {
    case .send(let message): message.size
    case .edit(_, let edit):
      Int64((edit.content?.utf8.count ?? 0) + (edit.topic?.utf8.count ?? 0))
        + ZulipChange.sizeOfRest
    case .flag(let ids, _, _): Int64(ids.count) * 8 + ZulipChange.sizeOfRest
    case .topic(_, let topic, _): Int64(topic.utf8.count) + ZulipChange.sizeOfRest
    case .status(let text, _): Int64(text.utf8.count) + ZulipChange.sizeOfRest
    case .read(let narrow, _): Int64(narrow.terms.count + 1) * ZulipChange.sizeOfRest
    case .draft(let former, let draft):
      (former?.size ?? 0) + (draft?.size ?? 0) + ZulipChange.sizeOfRest
    case .delete, .react, .subscribe: ZulipChange.sizeOfRest
    }
  }

  private static var sizeOfRest: Int64 { 64 }

  /// What it is about, in words that nobody reads: a conversation, a message, a flag, or a message
  /// with an emoji. All moves are about one thing, because one may take another's messages along.
  /// An edit of content and place is about both.
  public var object: String? {
    switch self {
    case .send(let message): "conversation \(message.recipient.key)"
    case .edit(let id, let edit) where !edit.isMove: "message \(id)"
    case .edit(_, let edit): edit.content == nil ? "moves" : nil
    case .delete(let id): "message \(id)"
    case .flag(_, let flag, _): "flag \(flag.rawValue)"
    case .react(let id, let emoji, _): "reaction \(id) \(emoji.name)"
    case .read: "flag \(ZulipConnection.Flag.read.rawValue)"
    case .topic(let channel, let topic, _):
      "topic \(channel)/\(MessageTopic(zulip: topic).key)"
    case .subscribe(let channel, _): "subscription \(channel)"
    case .status: "status"
    case .draft(let former, let draft): "draft \((former ?? draft)?.id.number ?? 0)"
    }
  }

  /// All but sending, creating a draft, and moving others along.
  public var isIdempotent: Bool {
    switch self {
    case .send: false
    case .draft(let former, let draft): former != nil || draft == nil
    case .edit(_, let edit): !edit.isMove || edit.moves == .one
    case .delete, .flag, .react, .read, .topic, .subscribe, .status: true
    }
  }

  /// Messages are numbered upwards, over all conversations. What else is created, drafts, shows
  /// whole in a snapshot.
  public func createsAbove(in account: ZulipAccount) -> Int64? {
    guard case .send = self else { return nil }
    let seen = account.lists.newest?.number
    guard let told = account.realm["max_message_id"]?.number else { return seen }
    return max(told, seen ?? told)
  }

  /// Applies the event that is expected. A message that is not held shows no change.
  public func apply(to account: inout ZulipAccount) throws(ZulipOutgoing.Refusal) {
    if case .draft(let former, let draft) = self {
      return try account.show(draft, inPlaceOf: former)
    }
    try check(in: account.realm)
    if let event = expectedEvent(in: account) { account.expect(event) }
  }

  private func check(in realm: ZulipState) throws(ZulipOutgoing.Refusal) {
    switch self {
    case .send(let message): try message.check(in: realm)
    case .edit(_, let edit):
      if let content = edit.content { try ZulipOutgoing.check(content: content, in: realm) }
      if let channel = edit.channel {
        try ZulipOutgoing.check(channel, topic: edit.topic, in: realm)
      }
    case .subscribe(let channel, isSet: true):
      try ZulipOutgoing.check(channel, topic: nil, in: realm)
    case .delete, .flag, .react, .read, .topic, .subscribe, .status, .draft: break
    }
  }

  /// A draft that the server has by now is not created again: the answer to its creation was lost.
  public func isOverruled(by refusal: ZulipOutgoing.Refusal) -> Bool {
    switch self {
    case .draft(nil, becomes: _): refusal == .draftExists
    case .send, .edit, .delete, .flag, .react, .read, .topic, .subscribe, .status, .draft: false
    }
  }

  /// Of two changes of one thing the later one counts. Flags of several messages are set in one
  /// request.
  public func coalesced(with later: ZulipChange) -> ZulipChange? {
    guard let object, object == later.object else { return nil }
    switch (self, later) {
    case (.flag(let ids, let flag, let isSet), .flag(let laterIDs, _, let isSetLater)):
      if Set(ids) == Set(laterIDs) { return later }
      guard isSet == isSetLater, ids.count + laterIDs.count <= ZulipChange.idsMaximum else {
        return nil
      }
      return .flag(ids + laterIDs.filter { !ids.contains($0) }, flag, isSet: isSet)
    case (.react, .react), (.topic, .topic), (.subscribe, .subscribe), (.status, .status):
      return later
    case (.read(let narrow, let last), .read(let laterNarrow, let laterLast)):
      guard narrow == laterNarrow else { return nil }
      return .read(narrow, through: max(last, laterLast))
    case (.edit(_, let edit), .edit(_, let laterEdit)):
      if edit.isMove { return nil }
      return laterEdit.content == nil ? self : later
    case (.edit, .delete): return later
    case (.draft(let former, let draft?), .draft(.some, let laterDraft)):
      return ZulipChange.coalesced(former, draft, with: laterDraft)
    default: return nil
    }
  }

  /// The most messages whose flags are changed in one request, so that it stays small.
  private static var idsMaximum: Int { 200 }

  /// What is sent or deleted cannot be taken back, and neither can a move that took others along:
  /// by then they may be others. An edit can, if messages are held as they were written: the
  /// server has no way back from what it has rendered.
  public func inverse(from before: ZulipAccount, to after: ZulipAccount) -> ZulipChange? {
    switch self {
    case .flag(let ids, let flag, let isSet):
      let changed = ids.filter { before.lists[$0]?.flags != after.lists[$0]?.flags }
      return changed.isEmpty ? nil : .flag(changed, flag, isSet: !isSet)
    case .react(let id, let emoji, let isSet):
      guard before.lists[id]?.reactions != after.lists[id]?.reactions else { return nil }
      return .react(id, emoji, isSet: !isSet)
    case .read(let narrow, let last):
      // One event may tell of other messages, too, that another device has read.
      let ids = before.unread(in: narrow, through: last).filter { !after.realm.isUnread($0) }
      return ids.isEmpty ? nil : .flag(ids, .read, isSet: false)
    case .topic(let channel, let topic, let visibility):
      let old = before.realm.visibility(of: topic, in: channel)
      return old == visibility ? nil : .topic(channel, topic, old)
    case .subscribe(let channel, let isSet):
      // The user cannot get back into a private channel without an invitation.
      guard let old = before.realm.channel(channel), old.isSubscribed != isSet, !old.isPrivate
      else { return nil }
      return .subscribe(channel, isSet: !isSet)
    case .status:
      let (text, emoji) = before.myStatus
      let new = after.myStatus
      return text == new.text && emoji == new.emoji ? nil : .status(text, emoji)
    case .edit(let id, let edit):
      return before.lists[id].flatMap { edit.inverse(from: $0) }.map { .edit(id, $0) }
    case .draft(let former, let draft):
      return ZulipChange.inverse(of: former, draft, from: before.realm, to: after.realm)
    case .send, .delete: return nil
    }
  }
}

extension ZulipChange: CustomStringConvertible, CustomReflectable {
  /// What it is, without any content.
  public var description: String {
    switch self {
    case .send(let message): "send \(message)"
    case .edit(let id, let edit): "edit \(id): \(edit)"
    case .delete(let id): "delete \(id)"
    case .flag(let ids, _, _): "\(name):\(ids.reduce("") { "\($0) \($1)" })"
    case .react(let id, _, _): "\(name): \(id)"
    case .read(_, let last): "\(name), through \(last)"
    case .topic(let channel, _, let visibility): "\(visibility) topic of \(channel)"
    case .subscribe(let channel, _): "\(name): \(channel)"
    case .draft(let former, let draft): "\(name): \((former ?? draft)?.id.number ?? 0)"
    case .status: name
    }
  }

  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension ZulipConnection.Edit {
  var isMove: Bool { topic != nil || channel != nil }

  /// The edit that takes this one back; `nil`: there is none, or nothing changes.
  fileprivate func inverse(from old: ChatMessage<ZulipContent>) -> ZulipConnection.Edit? {
    var inverse = ZulipConnection.Edit()
    if let content {
      guard old.content.form == .raw else { return nil }
      if content != old.content.text { inverse.content = old.content.text }
    }
    if isMove {
      guard moves == .one, case .channel(let oldChannel, let oldTopic) = old.place else {
        return nil
      }
      if let channel, channel != oldChannel { inverse.channel = oldChannel }
      if let topic, topic != oldTopic.text { inverse.topic = oldTopic.text }
    }
    return inverse.content != nil || inverse.isMove ? inverse : nil
  }
}

extension ZulipConnection.Edit: CustomStringConvertible, CustomReflectable {
  /// What it changes, without any content.
  public var description: String {
    (content == nil ? "" : "content") + (content != nil && isMove ? ", " : "")
      + (isMove ? "place" : "")
  }

  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension ZulipConnection.Recipient {
  /// The conversation: a topic in any spelling is one, and so are users in any order.
  fileprivate var key: String {
    switch self {
    case .channel(let channel, let topic): "\(channel)/\(MessageTopic(zulip: topic).key)"
    case .direct(let users): "\(Set(users).sorted())"
    }
  }
}
