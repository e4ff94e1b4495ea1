internal import SyncProtocols
internal import UpdateMachine

// What a user sets: topics, the status, and how far a narrow is read.

extension APIServer {
  mutating func setTopic(
    _ request: APIRequest, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    guard let channel = try request.integer("stream_id") else { throw .missing("stream_id") }
    let topic = APIServer.topic(try request.required("topic"))
    guard let policy = try request.integer("visibility_policy") else {
      throw .missing("visibility_policy")
    }
    guard let found = realm.channel(channel) else { throw APIError("Invalid channel ID") }
    guard (0...3).contains(policy) else { throw APIError("Invalid visibility_policy") }
    let setting = TopicSetting(
      user: user.id, channel: channel, topic: topic, policy: policy, at: wall(at: now))
    let word = ["as its channel", "muted", "unmuted", "followed"][Int(policy)]
    commit(
      RealmEvent(.topicSet(setting), to: [user.id]), at: now,
      "\(user.name) wants \(found.name) > \(topic) \(word)")
    return .success(note: word)
  }

  /// What is not named stays as it is.
  mutating func setStatus(
    _ request: APIRequest, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    let old = realm.settings.ofUsers.first { $0.user == user.id }?.status
    var status = old ?? UserStatus("", name: "", code: "", type: "")
    if let text = request.text("status_text") { status.text = String(text.prefix(60)) }
    if let name = request.text("emoji_name") {
      status.emojiName = name
      let known = Emoji.known.first { $0.name == name }
      guard name.isEmpty || known != nil else { throw APIError("Emoji '\(name)' does not exist") }
      // As the real server, which looks up only what is not named.
      let (code, type) = (request.text("emoji_code"), request.text("reaction_type"))
      guard known.map({ code ?? $0.code == $0.code && type ?? $0.type == $0.type }) ?? true else {
        throw APIError("Invalid emoji name.")
      }
      status.emojiCode = known?.code ?? ""
      status.emojiType = known?.type ?? ""
    }
    commit(
      RealmEvent(.statusSet(user: user.id, status), to: realm.users.map(\.id)), at: now,
      "\(user.name) sets a status")
    return .success(note: "set")
  }

  /// Marks the messages of a narrow around an anchor.
  mutating func flagNarrow(
    _ request: APIRequest, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    let op = try request.required("op")
    guard ["add", "remove"].contains(op) else { throw APIError("Invalid message flag operation") }
    let name = try request.required("flag")
    guard let flag = RowFlags.names.first(where: { $0.name == name })?.flag else {
      throw APIError("Invalid flag: '\(name)'")
    }
    let page = try realm.messages(of: request, for: user.id)
    let messages = page.messages.filter { $0.flags(of: user.id) != nil }
    let event = realm.flagging(messages, flag, isSet: op == "add", of: user.id)
    var changed: Int64 = 0
    if let event, case .flagged(let flagging) = event.kind {
      changed = Int64(flagging.ids.count)
      commit(event, at: now, "\(user.name) flags \(changed) messages")
    }
    let end = { (id: Int64?) in id.map { JSONValue.integer($0) } ?? .null }
    return .success(
      [
        "processed_count": .integer(Int64(page.messages.count)), "updated_count": .integer(changed),
        "first_processed_id": end(page.messages.first?.id),
        "last_processed_id": end(page.messages.last?.id),
        "found_oldest": .bool(page.foundOldest), "found_newest": .bool(page.foundNewest),
        "ignored_because_not_subscribed_channels": [],
      ], note: "\(changed) flagged")
  }
}
