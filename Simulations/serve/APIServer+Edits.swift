internal import SyncProtocols
internal import UpdateMachine

// Edits, moves and deletions of messages.

extension APIServer {
  mutating func edit(
    _ message: RealmMessage, _ request: APIRequest, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    let typed = request.text("content")
    let topic = request.text("topic") ?? request.text("subject")
    let channel = try request.integer("stream_id")
    let mode = request.text("propagate_mode") ?? "change_one"
    guard typed != nil || topic != nil || channel != nil else {
      throw APIError("Nothing to change")
    }
    guard ["change_one", "change_later", "change_all"].contains(mode) else {
      throw APIError("Invalid propagate_mode")
    }
    if typed != nil, channel != nil {
      throw APIError("Cannot change message content while changing channel")
    }
    if mode != "change_one", topic == nil, channel == nil {
      throw APIError("Invalid propagate_mode without topic edit")
    }
    var edit = RealmEvent.Edit(
      message: message.id, user: user.id, place: message.place, time: wall(at: now),
      rows: message.rows)
    var words: [String] = []
    if let typed {
      guard message.sender == user.id else {
        throw APIError("You don't have permission to edit this message")
      }
      edit.text = .init(old: message.text, new: try text(typed))
      words.append("edits message \(message.id)")
    }
    if topic != nil || channel != nil {
      edit.move = try move(message, to: channel, topic: topic, mode)
    }
    // A move to where the message is changes nothing, and is announced by nobody.
    if let move = edit.move {
      if move.newChannel == move.channel, move.newTopic == move.topic {
        edit.move = nil
        guard typed != nil else { throw APIError("Nothing to change") }
      } else {
        let place = MessageLocation.channel(move.newChannel, topic: move.newTopic)
        words.append("moves \(move.ids.count) to \(realm.name(of: place))")
      }
    }
    commit(
      RealmEvent(.edited(edit), to: audience(of: edit, message)), at: now,
      "\(user.name) \(words.joined(separator: ", "))")
    return .success(["detached_uploads": []], note: words.joined(separator: ", "))
  }

  private func move(
    _ message: RealmMessage, to channel: Int64?, topic typed: String?, _ mode: String
  ) throws(APIError) -> RealmEvent.Edit.Move {
    guard case .channel(let old, let oldTopic) = message.place else {
      throw APIError("Direct messages cannot have topics.")
    }
    if let channel, realm.channel(channel) == nil { throw APIError("Invalid channel ID") }
    let topic = typed.map { APIServer.topic($0) } ?? oldTopic
    guard topic.contains(where: { !$0.isWhitespace }) else {
      throw APIError("Topic can't be empty!")
    }
    let key = oldTopic.lowercased()
    let ids = realm.messages.filter { other in
      guard case .channel(old, let its) = other.place, its.lowercased() == key else { return false }
      switch mode {
      case "change_all": return true
      case "change_later": return other.id >= message.id
      default: return other.id == message.id
      }
    }.map(\.id)
    return .init(
      channel: old, topic: oldTopic, newChannel: channel ?? old, newTopic: topic, mode: mode,
      ids: ids)
  }

  /// The users who are told of an edit: they have one of the messages, or follow the old channel.
  private func audience(of edit: RealmEvent.Edit, _ message: RealmMessage) -> [Int64] {
    var audience = realm.audience(of: message)
    for id in edit.move?.ids ?? [] {
      guard let other = realm.message(id) else { continue }
      audience += other.rows.map(\.user).filter { !audience.contains($0) }
    }
    return audience
  }

  mutating func delete(
    _ message: RealmMessage, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    guard message.sender == user.id else {
      throw APIError("You don't have permission to delete this message")
    }
    commit(
      RealmEvent(.deleted(message.id, message.place), to: realm.audience(of: message)), at: now,
      "\(user.name) deletes message \(message.id)")
    return .success(note: "deleted")
  }
}
