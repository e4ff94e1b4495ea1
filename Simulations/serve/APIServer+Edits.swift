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
    var edit = realm.edit(message, by: user.id, at: wall(at: now))
    var words: [String] = []
    if let typed {
      guard message.sender == user.id else {
        throw APIError("You don't have permission to edit this message")
      }
      realm.set(try text(typed), in: &edit, of: message)
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
      RealmEvent(.edited(edit), to: realm.audience(of: edit, message)), at: now,
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
    let ids = realm.moved(with: message, mode)
    return .init(
      channel: old, topic: oldTopic, newChannel: channel ?? old, newTopic: topic, mode: mode,
      ids: ids)
  }

  mutating func delete(
    _ message: RealmMessage, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    guard message.sender == user.id else {
      throw APIError("You don't have permission to delete this message")
    }
    commit(
      RealmEvent(.deleted([message.id], message.place), to: realm.audience(of: message)), at: now,
      "\(user.name) deletes message \(message.id)")
    return .success(note: "deleted")
  }
}
