import UpdateMachine

// What the state has of messages: which are unread and where, which are starred, who wrote whom last.
// A row for each unread message:
//
//   in a channel                 {"stream_id": 4, "topic": "lunch"}
//   in a direct conversation     {"user_ids": [7, 50]}      all who take part, oneself among them if
//                                                           there are more than two
// and in each {"mentioned": true} if it mentions the user.

extension ZulipState {
  private static let unread = "unread_msgs"
  private static let starred = "starred_messages"

  static func unread(_ id: Int64) -> ZulipKey { ZulipKey(unread, id) }

  /// The server gives them by conversation.
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
    // There may be more than the server tells.
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

  mutating func takeMessage(_ event: ZulipReading) throws(ZulipError) {
    let message = try event.object("message")
    let id = try message.number("id")
    let flags = try event.texts("flags")
    if let newest = rows[ZulipKey("max_message_id")]?.number, newest < id {
      rows[ZulipKey("max_message_id")] = .number(id)
    }
    var place: ZulipFields
    switch try message.messageType() {
    case .channel:
      let channel = try message.number("stream_id")
      place = [
        "stream_id": .number(channel), "topic": .text(try message.text(message.name(.topic))),
      ]
      noteFirst(id, in: channel)
    case .direct:
      var users: [Int64] = []
      for user in try message.objects("display_recipient") { users.append(try user.number("id")) }
      place = ["user_ids": conversation(users, from: try message.number("sender_id"))]
      if let me, holds("recent_private_conversations") {
        let key = ZulipState.conversation(users.filter { $0 != me })
        rows[key] = .number(max(id, rows[key]?.number ?? id))
      }
    }
    guard holds(ZulipState.unread), !flags.contains("read") else { return }
    if mentions(MessageFlags(zulip: flags), in: place) { place["mentioned"] = true }
    rows[ZulipState.unread(id)] = .fields(place)
  }

  /// As rows have it: of two, the other one. Who it is that has not read it, is not known in a register
  /// that was not asked for users; most probably not its sender.
  private func conversation(_ users: [Int64], from sender: Int64) -> ZulipValue {
    guard users.count == 2 else { return ZulipState.set(users) }
    return [.number(me == nil ? sender : users.first { $0 != me } ?? sender)]
  }

  /// No event tells that an empty channel has its first message.
  private mutating func noteFirst(_ id: Int64, in channel: Int64) {
    for field in ZulipTable.channels {
      let key = ZulipKey(field, channel)
      guard var fields = object(key), fields["first_message_id"] == .null else { continue }
      fields["first_message_id"] = .number(id)
      rows[key] = .fields(fields)
    }
  }

  /// Whether flags make a message count as a mention. A wildcard does not in what is muted.
  private func mentions(_ flags: MessageFlags, in place: ZulipFields) -> Bool {
    if flags.contains(.mentionedByName) { return true }
    guard flags.contains(.mentioned) else { return false }
    guard let channel = place["stream_id"]?.number else { return true }
    return !isMuted(channel, topic: place["topic"]?.text ?? "")
  }

  mutating func updateMessages(_ event: ZulipReading) throws(ZulipError) {
    let id = try event.number("message_id")
    if ZulipSpelling.ofMoves.contains(where: { event.fields[$0] != nil }) {
      try moveMessages(event)
    }
    guard event.fields["content"] != nil || event.fields["rendered_content"] != nil else { return }
    let flags = try event.texts("flags")
    guard var place = object(ZulipState.unread(id)) else { return }
    place["mentioned"] = mentions(MessageFlags(zulip: flags), in: place) ? true : nil
    rows[ZulipState.unread(id)] = .fields(place)
  }

  private mutating func moveMessages(_ event: ZulipReading) throws(ZulipError) {
    let channel = try event.number("stream_id")
    let isElsewhere = event.fields["new_stream_id"] != nil
    let target = isElsewhere ? try event.number("new_stream_id") : channel
    let name = event.name(.topic)
    let topic = event.fields[name] == nil ? nil : try event.text(name)
    let ids = try event.numbers("message_ids")
    // Out of the user's sight: his flags are gone with it (PROTOCOL.md, Where events alone …).
    let isLost =
      isElsewhere && holds("subscriptions") && !rows.contains(ZulipKey("subscriptions", target))
    for id in ids {
      if isLost {
        forget(id)
      } else if var place = object(ZulipState.unread(id)) {
        place["stream_id"] = .number(target)
        if let topic { place["topic"] = .text(topic) }
        rows[ZulipState.unread(id)] = .fields(place)
      }
    }
  }

  mutating func deleteMessages(_ event: ZulipReading) throws(ZulipError) {
    for id in try event.numbers(.messages) { forget(id) }
  }

  /// It is gone, or out of the user's sight.
  mutating func forget(_ id: Int64) {
    rows[ZulipState.unread(id)] = nil
    rows[ZulipKey(ZulipState.starred, id)] = nil
  }

  mutating func flagMessages(_ event: ZulipReading) throws(ZulipError) {
    let op = try event.text(event.name(.op))
    let flag = try event.text("flag")
    let ids = try event.numbers("messages")
    let isAll = event.fields["all"] == nil ? false : try event.bool("all")
    guard op == "add" || op == "remove" else { throw event.malformed("op") }
    switch flag {
    case "starred" where holds(ZulipState.starred):
      if isAll, op == "remove" { removeAll(ZulipState.starred) }
      for id in ids { rows[ZulipKey(ZulipState.starred, id)] = op == "add" ? .null : nil }
    case "read" where holds(ZulipState.unread):
      if op == "remove" { return try markUnread(ids, event) }
      if isAll { removeAll(ZulipState.unread) }
      for id in ids { rows[ZulipState.unread(id)] = nil }
    default: break
    }
  }

  private mutating func removeAll(_ field: String) {
    rows.removeAll(in: ZulipKey(field, .min)..<ZulipKey.end(of: field))
  }

  /// Where each is, is told; of one that the user sees no more, not.
  private mutating func markUnread(_ ids: [Int64], _ event: ZulipReading) throws(ZulipError) {
    guard !ids.isEmpty else { return }
    let all = try event.object("message_details")
    for id in ids where all.fields["\(id)"] != nil {
      let details = try all.object("\(id)")
      var place: ZulipFields
      switch try details.messageType() {
      case .channel:
        place = [
          "stream_id": .number(try details.number("stream_id")),
          "topic": .text(try details.text("topic")),
        ]
      case .direct:
        // The others; alone, one writes to oneself.
        var users = try details.numbers("user_ids")
        if let me, users.count != 1 { users.append(me) }
        place = ["user_ids": ZulipState.set(users)]
      }
      if details.fields["mentioned"]?.bool == true { place["mentioned"] = true }
      rows[ZulipState.unread(id)] = .fields(place)
    }
  }
}

// MARK: Mending

extension ZulipState {
  /// A page has told of a message what no event will tell: its rows become what the message says.
  mutating func mend(_ message: Message<ZulipContent>) {
    let id = message.id.number
    if holds(ZulipState.starred) {
      rows[ZulipKey(ZulipState.starred, id)] = message.flags.contains(.starred) ? .null : nil
    }
    guard holds(ZulipState.unread) else { return }
    guard !message.flags.contains(.read) else {
      rows[ZulipState.unread(id)] = nil
      return
    }
    var place = place(of: message)
    if mentions(message.flags, in: place) { place["mentioned"] = true }
    rows[ZulipState.unread(id)] = .fields(place)
  }

  /// As a row of an unread message has it.
  private func place(of message: Message<ZulipContent>) -> ZulipFields {
    switch message.place {
    case .channel(let channel, let topic):
      return ["stream_id": .number(channel.number), "topic": .text(topic.text)]
    case .direct(let members):
      let users = members.members.map(\.number)
      return ["user_ids": conversation(users, from: message.sender.number)]
    }
  }
}
