import MessageSync
import UpdateMachine

// The state's part of messages: which are unread and where, which are starred, and the newest
// message of each direct conversation. Each unread message has a row:
//
//   in a channel                 {"stream_id": 4, "topic": "lunch"}
//   in a direct conversation     {"user_ids": [7, 50]}      all participants; the user is included
//                                                           only if there are more than two
// and each has {"mentioned": true} if it mentions the user.

extension ZulipState {
  private static let unread = "unread_msgs"
  private static let starred = "starred_messages"

  static func unread(_ id: Int64) -> ZulipKey { ZulipKey(unread, id) }

  /// Loads the unread messages, which the server groups by conversation.
  mutating func loadUnread(_ unread: ZulipReading) throws(ZulipError) {
    for channel in try unread.objects("streams") {
      let place: ZulipFields = [
        "stream_id": .number(try channel.number("stream_id")),
        "topic": .text(try channel.text("topic")),
      ]
      try load(unread: channel, in: place)
    }
    for group in try unread.objects("huddles") {
      let text = try group.text("user_ids_string")
      var users: [Int64] = []
      for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let user = Int64(part) else { throw group.malformed("user_ids_string") }
        users.append(user)
      }
      try load(unread: group, in: ["user_ids": ZulipState.set(users)])
    }
    for other in try unread.objects("pms") {
      let user = try other.number(other.name(.other))
      try load(unread: other, in: ["user_ids": [.number(user)]])
    }
    for id in try unread.numbers("mentions") {
      let key = ZulipState.unread(id)
      guard var place = object(key) else { continue }
      place["mentioned"] = true
      rows[key] = .fields(place)
    }
    // The server may have left out older ones.
    if let isMore = unread.fields["old_unreads_missing"] {
      guard isMore.bool != nil else { throw unread.malformed("old_unreads_missing") }
      rows[ZulipKey(ZulipState.unread)] = .fields(["old_unreads_missing": isMore])
    }
  }

  private mutating func load(
    unread conversation: ZulipReading, in place: ZulipFields
  ) throws(ZulipError) {
    for id in try conversation.numbers("unread_message_ids") {
      rows[ZulipState.unread(id)] = .fields(place)
    }
  }

  // MARK: Events

  mutating func take(_ kind: ZulipEvent.Kind) throws(ZulipError) {
    switch kind {
    case .sent(let message): take(message)
    case .updated(let update): take(update)
    case .deleted(let ids): for id in ids { forget(id.number) }
    case .flagged(let flagging): try take(flagging)
    case .reacted, .covered, .ignored: break
    }
  }

  private mutating func take(_ message: ZulipMessage) {
    let id = message.id.number
    if let newest = rows[ZulipKey("max_message_id")]?.number, newest < id {
      rows[ZulipKey("max_message_id")] = .number(id)
    }
    switch message.place {
    case .channel(let channel, _): noteFirst(id, in: channel.number)
    case .direct(let members):
      if let me, holds("recent_private_conversations") {
        let key = ZulipState.conversation(members.members.map(\.number).filter { $0 != me })
        rows[key] = .number(max(id, rows[key]?.number ?? id))
      }
    }
    guard holds(ZulipState.unread), !message.flags.contains(.read) else { return }
    noteUnread(id, in: message.place, from: message.sender, message.flags)
  }

  private mutating func noteUnread(
    _ id: Int64, in place: MessagePlace, from sender: UserID, _ flags: MessageFlags
  ) {
    var row: ZulipFields =
      switch place {
      case .channel(let channel, let topic):
        ["stream_id": .number(channel.number), "topic": .text(topic.text)]
      case .direct(let members):
        ["user_ids": conversation(members.members.map(\.number), from: sender.number)]
      }
    if mentions(flags, in: row) { row["mentioned"] = true }
    rows[ZulipState.unread(id)] = .fields(row)
  }

  /// The users in a row; if there are two, only the other one. If the register did not ask for
  /// users, our own ID is unknown. Then the other one is most probably the sender.
  private func conversation(_ users: [Int64], from sender: Int64) -> ZulipValue {
    guard users.count == 2 else { return ZulipState.set(users) }
    return [.number(me == nil ? sender : users.first { $0 != me } ?? sender)]
  }

  /// Sets a channel's first message in each of its rows that has none. No event reports it, except
  /// that of a new subscription.
  mutating func noteFirst(_ id: Int64, in channel: Int64) {
    for field in ZulipTable.channels {
      let key = ZulipKey(field, channel)
      guard var fields = object(key), fields["first_message_id"] == .null else { continue }
      fields["first_message_id"] = .number(id)
      rows[key] = .fields(fields)
    }
  }

  /// Whether these flags make a message a mention. A wildcard mention does not count where the
  /// topic or channel is muted.
  private func mentions(_ flags: MessageFlags, in place: ZulipFields) -> Bool {
    if flags.contains(.mentionedByName) { return true }
    guard flags.contains(.mentioned) else { return false }
    guard let channel = place["stream_id"]?.number else { return true }
    return !isMuted(channel, topic: place["topic"]?.text ?? "")
  }

  private mutating func take(_ update: ZulipUpdate) {
    if let move = update.move { take(move, of: update.moved, topic: update.newTopic) }
    guard let edit = update.edit, var place = object(ZulipState.unread(edit.id.number)) else {
      return
    }
    place["mentioned"] = mentions(edit.flags, in: place) ? true : nil
    rows[ZulipState.unread(edit.id.number)] = .fields(place)
  }

  private mutating func take(
    _ move: MessageUpdate<ZulipContent>.Move, of ids: [MessageID], topic: String?
  ) {
    guard let target = move.target.channel else { return }
    // The message is out of the user's sight, and its flags are gone (ZulipServer §10).
    let isLost =
      move.origin.channel != target && holds("subscriptions")
      && !rows.contains(ZulipKey("subscriptions", target.number))
    for id in ids {
      if isLost {
        forget(id.number)
      } else if var place = object(ZulipState.unread(id.number)) {
        place["stream_id"] = .number(target.number)
        if let topic { place["topic"] = .text(topic) }
        rows[ZulipState.unread(id.number)] = .fields(place)
      }
    }
  }

  /// Removes a message that is deleted, or out of the user's sight.
  mutating func forget(_ id: Int64) {
    rows[ZulipState.unread(id)] = nil
    rows[ZulipKey(ZulipState.starred, id)] = nil
  }

  private mutating func take(_ flagging: ZulipFlagging) throws(ZulipError) {
    switch flagging.flags {
    case .starred where holds(ZulipState.starred):
      if flagging.isAll, !flagging.isSet { removeAll(ZulipState.starred) }
      for id in flagging.ids {
        rows[ZulipKey(ZulipState.starred, id.number)] = flagging.isSet ? .null : nil
      }
    case .read where holds(ZulipState.unread):
      if !flagging.isSet { return try takeUnread(flagging) }
      if flagging.isAll { removeAll(ZulipState.unread) }
      for id in flagging.ids { rows[ZulipState.unread(id.number)] = nil }
    default: break
    }
  }

  mutating func removeAll(_ field: String) {
    rows.removeAll(in: ZulipKey(field, .min)..<ZulipKey.end(of: field))
  }

  /// Marks messages unread. The event says where each one is, except those that the user can no
  /// longer see.
  private mutating func takeUnread(_ flagging: ZulipFlagging) throws(ZulipError) {
    guard !flagging.ids.isEmpty else { return }
    guard let unread = flagging.unread else { throw .malformed(path: "message_details") }
    for message in unread {
      var place: ZulipFields
      switch message.place {
      case .channel(let channel, let topic):
        place = ["stream_id": .number(channel.number), "topic": .text(topic)]
      case .direct(let others):
        var users = others.map(\.number)
        if let me, users.count != 1 { users.append(me) }
        place = ["user_ids": ZulipState.set(users)]
      }
      if message.mentionsUser { place["mentioned"] = true }
      rows[ZulipState.unread(message.id.number)] = .fields(place)
    }
  }
}

// MARK: Mending

extension ZulipState {
  /// Sets a message's rows to what a page said about it. No event will report that.
  mutating func mend(_ message: ChatMessage<ZulipContent>) {
    let id = message.id.number
    if holds(ZulipState.starred) {
      rows[ZulipKey(ZulipState.starred, id)] = message.flags.contains(.starred) ? .null : nil
    }
    guard holds(ZulipState.unread) else { return }
    guard !message.flags.contains(.read) else {
      rows[ZulipState.unread(id)] = nil
      return
    }
    noteUnread(id, in: message.place, from: message.sender, message.flags)
  }
}
