internal import SyncProtocols
internal import UpdateMachine

// Users, channels, subscriptions, and who is typing or there.

extension APIServer {
  mutating func people(
    _ request: APIRequest, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    switch (request.method, request.path) {
    case ("GET", ["streams"]):
      return .success(
        ["streams": .array(realm.channels.map { .object(realm.json($0)) })],
        note: "\(realm.channels.count) channels")
    case ("GET", let path) where path[0] == "streams":
      guard let channel = Int64(path[1]).flatMap({ realm.channel($0) }) else {
        throw APIError("Invalid channel ID")
      }
      return .success(["stream": .object(realm.json(channel))], note: channel.name)
    case ("GET", ["get_stream_id"]):
      let name = try request.required("stream")
      guard let channel = realm.channel(named: name) else {
        throw APIError("Invalid channel name '\(name)'")
      }
      return .success(["stream_id": .integer(channel.id)], note: "\(channel.id)")
    case (_, ["typing"]): return try type(request, user, at: now)
    case (_, ["mark_all_as_read"]): return markAllAsRead(user, at: now)
    case (_, ["users"]):
      return .success(
        ["members": .array(realm.users.map { .object(realm.json($0)) })],
        note: "\(realm.users.count) users")
    case (_, ["users", "me"]): return .success(realm.json(user), note: user.name)
    case (_, let path) where path[0] == "drafts": return try drafts(request, user, at: now)
    case (_, ["user_topics"]): return try setTopic(request, user, at: now)
    case (_, ["users", "me", "status"]): return try setStatus(request, user, at: now)
    case (_, ["users", "me", "presence"]):
      commit(
        RealmEvent(.present(user: user.id, wall: wall(at: now)), to: realm.users.map(\.id)),
        at: now, "\(user.name) is there")
      return .success(note: "noted")
    case ("GET", ["users", "me", "subscriptions"]):
      let includesSubscribers = try request.bool("include_subscribers") ?? false
      let followed = realm.channels.filter { $0.subscribers.contains(user.id) }
      let fields = followed.map {
        JSONValue.object(realm.subscription($0, includesSubscribers: includesSubscribers))
      }
      return .success(["subscriptions": .array(fields)], note: "\(fields.count) channels")
    case (_, ["users", "me", "subscriptions"]): return try subscribe(request, user, at: now)
    case (_, let path) where path.count == 4: return try topics(of: path[2])
    default:
      let word = request.path[1]
      guard let found = realm.person(.string(word)) else { throw APIError("No such user") }
      return .success(["user": .object(realm.json(found))], note: found.name)
    }
  }

  /// Begins or ends subscriptions to channels that exist. Channels cannot be made here.
  private mutating func subscribe(
    _ request: APIRequest, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    guard let list = try request.json("subscriptions") else { throw .missing("subscriptions") }
    guard let list = list.array else { throw APIError("subscriptions is not a list") }
    let begins = request.method == "POST"
    var channels: [RealmChannel] = []
    for element in list.prefix(100) {
      let name = element.string ?? element["name"]?.string ?? ""
      guard let channel = realm.channel(named: name) else {
        throw APIError(
          "Channel '\(name)' does not exist", code: "STREAM_DOES_NOT_EXIST",
          [.init("stream", .string(name))])
      }
      channels.append(channel)
    }
    var (changed, unchanged): ([JSONValue], [JSONValue]) = ([], [])
    for channel in channels {
      let follows = realm.channel(channel.id)?.subscribers.contains(user.id) ?? false
      guard follows != begins else {
        unchanged.append(.string(channel.name))
        continue
      }
      changed.append(.string(channel.name))
      commit(
        RealmEvent(
          .subscribed(user: user.id, channel: channel.id, isSet: begins),
          to: realm.users.map(\.id)), at: now,
        "\(user.name) \(begins ? "follows" : "leaves") \(channel.name)")
    }
    let note = "\(changed.count) changed"
    guard begins else {
      return .success(["removed": .array(changed), "not_removed": .array(unchanged)], note: note)
    }
    var (new, old): (JSONObject, JSONObject) = ([:], [:])
    if !changed.isEmpty { new["\(user.id)"] = .array(changed) }
    if !unchanged.isEmpty { old["\(user.id)"] = .array(unchanged) }
    return .success(
      ["subscribed": .object(new), "already_subscribed": .object(old)], note: note)
  }

  /// The topics of a channel, the one with the newest message first.
  private func topics(of word: String) throws(APIError) -> APIAnswer {
    guard let id = Int64(word), realm.channel(id) != nil else {
      throw APIError("Invalid channel ID")
    }
    var topics: [JSONValue] = []
    var seen: Set<String> = []
    for message in realm.messages.reversed() {
      guard case .channel(id, let topic) = message.place, seen.insert(topic.lowercased()).inserted
      else { continue }
      topics.append(["name": .string(topic), "max_id": .integer(message.id)])
    }
    return .success(["topics": .array(topics)], note: "\(topics.count) topics")
  }

  private mutating func type(
    _ request: APIRequest, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    let op = try request.required("op")
    guard op == "start" || op == "stop" else { throw APIError("Invalid op") }
    let place: MessageLocation
    let audience: [Int64]
    switch request.text("type") ?? "direct" {
    case "stream", "channel":
      let old = try request.json("to")?.array?.first?.int64
      guard let id = try request.integer("stream_id") ?? old else {
        throw APIError("Missing stream_id")
      }
      guard let topic = request.text("topic") else { throw APIError("Missing topic") }
      guard let channel = realm.channel(id) else { throw APIError("Invalid channel ID") }
      place = .channel(id, topic: APIServer.topic(topic))
      audience = channel.subscribers
    default:
      let to = try request.integers("to")
      guard !to.isEmpty else { throw APIError("Empty 'to' list") }
      for id in to where realm.user(id) == nil { throw APIError("Invalid user ID \(id)") }
      let members = Set(to + [user.id]).sorted()
      place = .direct(members)
      audience = members
    }
    commit(
      RealmEvent(.typing(user: user.id, place, isSet: op == "start"), to: audience), at: now,
      "\(user.name) \(op == "start" ? "types" : "stops typing") in \(realm.name(of: place))")
    return .success(note: "told")
  }
}
