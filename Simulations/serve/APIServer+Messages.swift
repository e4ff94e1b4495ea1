internal import SyncProtocols
internal import UpdateMachine

// Messages: pages, sending, edits, deletions, flags, reactions.

extension APIServer {
  /// In letters, as at the real server.
  static var textLimit: Int { 10_000 }
  static var topicLimit: Int { 60 }
  static var pageLimit: Int64 { 5_000 }
  /// What a real server answers where an anchor is beyond all messages.
  static var anchorBeyond: Int64 { 10_000_000_000_000_000 }

  mutating func messages(
    _ request: APIRequest, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    switch (request.method, request.path.count) {
    case ("GET", 1): return try page(request, user)
    case ("POST", 1): return try send(request, user, at: now)
    case (_, 2) where request.path[1] == "flags": return try flag(request, user, at: now)
    case (_, 3) where request.path[1] == "flags": return try flagNarrow(request, user, at: now)
    default: break
    }
    guard let id = Int64(request.path[1]) else { throw .noSuchMessage }
    let message = try realm.message(id, for: user.id)
    switch (request.method, request.path.count) {
    case ("GET", _): return try single(message, request, user)
    case ("PATCH", _): return try edit(message, request, user, at: now)
    case ("DELETE", 2): return try delete(message, user, at: now)
    default: return try react(message, request, user, at: now)
    }
  }

  // MARK: Reading

  private func page(_ request: APIRequest, _ user: RealmUser) throws(APIError) -> APIAnswer {
    let fields = try realm.page(request, for: user.id, later: realm)
    let count = fields["messages"]?.array?.count ?? 0
    return .success(fields, note: count == 1 ? "1 message" : "\(count) messages")
  }

  private func single(
    _ message: RealmMessage, _ request: APIRequest, _ user: RealmUser
  ) throws(APIError) -> APIAnswer {
    let isRendered = try request.bool("apply_markdown") ?? true
    return .success(
      try realm.single(message.id, for: user.id, isRendered: isRendered),
      note: "message \(message.id)")
  }

  // MARK: Sending

  private mutating func send(
    _ request: APIRequest, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    let type = try request.required("type")
    let to = try request.required("to")
    let text = try text(request.required("content"))
    let place: MessageLocation
    switch type {
    case "stream", "channel": place = try channel(to, request)
    case "direct", "private": place = .direct(try recipients(to, from: user))
    default: throw APIError("Invalid type")
    }
    let isRead = try request.bool("read_by_sender") ?? APIServer.isOfPeople(request.program)
    var echo: RealmEvent.Echo?
    if let local = request.text("local_id"), let name = request.text("queue_id"),
      local.utf8.count <= 100, let queue = clients.keys.first(where: { self.name(of: $0) == name })
    {
      echo = RealmEvent.Echo(queue: queue, localID: local)
    }
    let id = post(
      text, from: user, to: place, isRead: isRead, echo, program: request.program, at: now)
    return .success(["id": .integer(id)], note: "message \(id)")
  }

  /// Sends a message for a client or for the page. Returns its ID.
  mutating func post(
    _ text: String, from user: RealmUser, to place: MessageLocation, isRead: Bool,
    _ echo: RealmEvent.Echo? = nil, program: String, at now: Moment
  ) -> Int64 {
    let message = realm.newMessage(
      from: user.id, to: place, text, at: wall(at: now), isReadBySender: isRead,
      program: String(program.prefix(30)))
    commit(
      RealmEvent(.message(message, echo: echo), to: message.rows.map(\.user)), at: now,
      "message \(message.id) from \(user.name) to \(realm.name(of: place)): \(text)")
    return message.id
  }

  /// Programs through which people read. Their own messages are read at once.
  private static func isOfPeople(_ program: String) -> Bool {
    let name = program.lowercased()
    return name.contains("desktop app")
      || [
        "zulipelectron", "zulipios", "zulipandroid", "zulipmobile", "zulipterminal", "snipe",
        "website", "ios", "android",
      ].contains(name)
  }

  /// The text of a message, cut where it is too long.
  func text(_ typed: String) throws(APIError) -> String {
    if typed.utf8.contains(0) { throw APIError("Message must not contain null bytes") }
    let whites = { (character: Character) in character.isWhitespace }
    var text = typed[...]
    while let last = text.last, whites(last) { text.removeLast() }
    guard text.contains(where: { !whites($0) }) else {
      throw APIError("Message must not be empty")
    }
    return APIServer.cut(String(text), APIServer.textLimit, "\n[message truncated]")
  }

  private static func cut(_ text: String, _ limit: Int, _ ending: String) -> String {
    guard text.unicodeScalars.count > limit else { return text }
    let kept = text.unicodeScalars.prefix(limit - ending.unicodeScalars.count)
    return String(String.UnicodeScalarView(kept)) + ending
  }

  static func topic(_ typed: String) -> String {
    // A control character in a topic would end a line of the conversation.
    let visible = String.UnicodeScalarView(typed.unicodeScalars.filter { $0.value >= 32 })
    return cut(String(visible), topicLimit, "...")
  }

  private func channel(
    _ to: String, _ request: APIRequest
  ) throws(APIError) -> MessageLocation {
    var value = (try? JSONValue(parsing: to)) ?? .string(to)
    if let list = value.array {
      guard list.count == 1 else { throw APIError("Expected exactly one channel") }
      value = list[0]
    }
    let found: RealmChannel
    if let id = value.int64 {
      guard let channel = realm.channel(id) else {
        throw APIError(
          "Channel with ID '\(id)' does not exist", code: "STREAM_DOES_NOT_EXIST",
          [.init("stream_id", .integer(id))])
      }
      found = channel
    } else {
      let name = value.string ?? to
      guard let channel = realm.channel(named: name) else {
        throw APIError(
          "Channel '\(name)' does not exist", code: "STREAM_DOES_NOT_EXIST",
          [.init("stream", .string(name))])
      }
      found = channel
    }
    guard let typed = request.text("topic") ?? request.text("subject") else {
      throw APIError("Missing topic")
    }
    let topic = APIServer.topic(typed)
    guard topic.contains(where: { !$0.isWhitespace }) else {
      throw APIError("Topic can't be empty!")
    }
    return .channel(found.id, topic: topic)
  }

  /// The members of the conversation, the sender included.
  private func recipients(_ to: String, from user: RealmUser) throws(APIError) -> [Int64] {
    let value = (try? JSONValue(parsing: to)) ?? .string(to)
    let words = value.string?.split(separator: ",").map { JSONValue.string(String($0)) }
    let list = value.array ?? words ?? [value]
    guard !list.isEmpty else { throw APIError("Message must have recipients") }
    guard list.allSatisfy({ $0.int64 != nil }) || list.allSatisfy({ $0.string != nil }) else {
      throw APIError("Recipient lists may contain emails or user IDs, but not both.")
    }
    var members: [Int64] = [user.id]
    for one in list {
      guard let person = realm.person(one) else {
        throw one.string.map { APIError("Invalid email '\($0)'") }
          ?? APIError("Invalid user ID \(one)")
      }
      if !members.contains(person.id) { members.append(person.id) }
    }
    return members.sorted()
  }

  // MARK: Flags

  private mutating func flag(
    _ request: APIRequest, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    let asked = try request.integers("messages")
    let op = try request.required("op")
    let name = try request.required("flag")
    guard op == "add" || op == "remove" else {
      throw APIError("Invalid message flag operation: '\(op)'")
    }
    guard let flag = RowFlags.names.first(where: { $0.name == name })?.flag else {
      throw APIError("Invalid flag: '\(name)'")
    }
    guard [.read, .starred, .collapsed].contains(flag) else {
      throw APIError("Flag not editable: '\(name)'")
    }
    var ids: [Int64] = []
    var unread: [RealmEvent.Unread] = []
    for id in Set(asked).sorted() {
      let message = try realm.message(id, for: user.id)
      let flags = message.flags(of: user.id)
      // A star makes a row of its own; whether a message without one is read is not kept.
      guard flags != nil || flag == .starred, flags?.contains(flag) != (op == "add") else {
        continue
      }
      ids.append(id)
      guard flag == .read, op == "remove", let flags else { continue }
      unread.append(
        .init(id: id, place: message.place, isMention: flags.contains(.mentioned)))
    }
    if !ids.isEmpty {
      let flagging = RealmEvent.Flagging(
        user: user.id, flag: flag, isSet: op == "add", ids: ids, unread: unread)
      commit(
        RealmEvent(.flagged(flagging), to: [user.id]), at: now,
        "\(user.name) \(op == "add" ? "sets" : "clears") \(name) on \(APIServer.list(ids))")
    }
    return .success(["messages": .integers(asked)], note: "\(ids.count) changed")
  }

  /// `3, 4, 5 and 9 more`.
  private static func list(_ ids: [Int64]) -> String {
    let shown = ids.prefix(5).map { "\($0)" }.joined(separator: ", ")
    return ids.count > 5 ? "\(shown) and \(ids.count - 5) more" : shown
  }

  /// `POST /mark_all_as_read`.
  mutating func markAllAsRead(_ user: RealmUser, at now: Moment) -> APIAnswer {
    let ids = realm.messages.filter { $0.flags(of: user.id).map { !$0.contains(.read) } ?? false }
      .map(\.id)
    if !ids.isEmpty {
      let flagging = RealmEvent.Flagging(user: user.id, flag: .read, isSet: true, ids: ids)
      commit(
        RealmEvent(.flagged(flagging), to: [user.id]), at: now,
        "\(user.name) sets read on \(APIServer.list(ids))")
    }
    return .success(["complete": true], note: "\(ids.count) changed")
  }

  // MARK: Reactions

  private mutating func react(
    _ message: RealmMessage, _ request: APIRequest, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    let name = try request.required("emoji_name")
    guard let emoji = Emoji.known.first(where: { $0.name == name }) else {
      throw APIError("Emoji '\(name)' does not exist")
    }
    guard request.text("emoji_code").map({ $0 == emoji.code }) ?? true,
      request.text("reaction_type").map({ $0 == emoji.type }) ?? true
    else { throw APIError("Invalid emoji name.") }
    let reaction = RealmMessage.Reaction(user: user.id, emoji: emoji)
    let isSet = request.method == "POST"
    guard message.reactions.contains(reaction) != isSet else {
      throw isSet
        ? APIError("Reaction already exists.", code: "REACTION_ALREADY_EXISTS")
        : APIError("Reaction doesn't exist.", code: "REACTION_DOES_NOT_EXIST")
    }
    commit(
      RealmEvent(
        .reacted(message.id, reaction, isSet: isSet), to: realm.audience(of: message)), at: now,
      "\(user.name) \(isSet ? "reacts to" : "takes back from") \(message.id): \(name)")
    return .success(note: isSet ? "added" : "removed")
  }
}
