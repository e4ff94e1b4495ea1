internal import SyncProtocols
internal import UpdateMachine

// What a user has begun to write.

extension APIServer {
  private static var draftLimit: Int { 1000 }

  mutating func drafts(
    _ request: APIRequest, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    switch (request.method, request.path.count) {
    case ("GET", _):
      let drafts = realm.settings.drafts(of: user.id)
      return .success(
        [
          "count": .integer(Int64(drafts.count)), "drafts": .array(drafts.map { .object($0.json) }),
        ],
        note: "\(drafts.count) drafts")
    case ("POST", _): return try makeDrafts(request, user, at: now)
    default: break
    }
    guard let id = Int64(request.path[1]),
      realm.settings.drafts.contains(where: { $0.id == id && $0.user == user.id })
    else { throw APIError("Draft does not exist", code: "BAD_REQUEST", status: 404) }
    if request.method == "DELETE" {
      commit(
        RealmEvent(.draftDeleted(id), to: [user.id]), at: now, "\(user.name) deletes draft \(id)")
      return .success(note: "deleted")
    }
    guard let value = try request.json("draft") else { throw .missing("draft") }
    let draft = try draft(value, "draft", id: id, of: user, at: now)
    commit(
      RealmEvent(.draftEdited(draft), to: [user.id]), at: now, "\(user.name) edits draft \(id)")
    return .success(note: "edited")
  }

  private mutating func makeDrafts(
    _ request: APIRequest, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    guard let value = try request.json("drafts") else { throw .missing("drafts") }
    guard let list = value.array else { throw APIError("drafts is not a list") }
    guard realm.settings.drafts.count + list.count <= APIServer.draftLimit else {
      throw APIError("Too many drafts")
    }
    var made: [RealmDraft] = []
    for (index, value) in list.enumerated() {
      let id = realm.settings.lastDraftID + Int64(index) + 1
      made.append(try draft(value, "drafts[\(index)]", id: id, of: user, at: now))
    }
    let ids = made.map(\.id)
    commit(RealmEvent(.draftsMade(made), to: [user.id]), at: now, "\(user.name) drafts \(ids)")
    return .success(["ids": .integers(ids)], note: "\(ids)")
  }

  /// Reads a draft. All fields but the time are required, and there may be no others.
  private func draft(
    _ value: JSONValue, _ name: String, id: Int64, of user: RealmUser, at now: Moment
  ) throws(APIError) -> RealmDraft {
    guard let fields = value.object else { throw APIError("\(name) is not a dict") }
    for member in fields.members
    where !["type", "to", "topic", "content", "timestamp"].contains(member.name) {
      throw APIError("\(name)[\"\(member.name)\"] is unexpected")
    }
    guard let type = fields["type"]?.string, ["", "stream", "private"].contains(type) else {
      throw APIError("Invalid \(name)[\"type\"]")
    }
    guard let topic = fields["topic"]?.string, let content = fields["content"]?.string else {
      throw APIError("\(name) lacks its topic or its content")
    }
    let to = fields["to"]?.array?.compactMap(\.int64)
    guard let to, to.count == fields["to"]?.array?.count else {
      throw APIError("\(name)[\"to\"] is not a list of integers")
    }
    var time = wall(at: now)
    if let timestamp = fields["timestamp"] {
      guard let seconds = timestamp.int64 else {
        throw APIError("\(name)[\"timestamp\"] is not an integer")
      }
      guard seconds >= 0 else { throw APIError("Timestamp must not be negative.") }
      time = seconds
    }
    return RealmDraft(
      id: id, user: user.id, place: try place(type, to, topic, of: user),
      text: try text(content), at: time)
  }

  private func place(
    _ type: String, _ to: [Int64], _ topic: String, of user: RealmUser
  ) throws(APIError) -> MessageLocation? {
    switch type {
    case "stream":
      guard to.count == 1 else {
        throw APIError("Must specify exactly 1 channel ID for channel messages")
      }
      guard let channel = realm.channel(to[0]),
        !channel.isPrivate || channel.subscribers.contains(user.id)
      else { throw APIError("Invalid channel ID") }
      return .channel(channel.id, topic: APIServer.topic(topic))
    case "private" where !to.isEmpty:
      for id in to where realm.user(id) == nil { throw APIError("Invalid user ID \(id)") }
      return .direct(Set(to + [user.id]).sorted())
    default: return nil
    }
  }
}
