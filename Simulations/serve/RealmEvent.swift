package import SyncProtocols

/// One change of the realm, and what clients are told of it.
package struct RealmEvent: Sendable {
  package enum Kind: Sendable {
    case message(RealmMessage, echo: Echo?)
    case edited(Edit)
    /// Messages of one place.
    case deleted([Int64], MessageLocation)
    case flagged(Flagging)
    case reacted(Int64, RealmMessage.Reaction, isSet: Bool)
    case subscribed(user: Int64, channel: Int64, isSet: Bool)
    case typing(user: Int64, MessageLocation, isSet: Bool)
    case present(user: Int64, wall: Int64)
    case userNamed(Int64, String)
    case userActive(Int64, Bool)
    case channelMade(RealmChannel)
    case channelNamed(Int64, from: String, to: String)
    case channelDescribed(Int64, String)
    case topicSet(TopicSetting)
    case statusSet(user: Int64, UserStatus)
    case draftsMade([RealmDraft])
    case draftEdited(RealmDraft)
    case draftDeleted(Int64)
  }

  /// The queue of the client that sent a message, and the client's name for the message.
  package struct Echo: Hashable, Sendable {
    package var queue: QueueID
    package var localID: String

    package init(queue: QueueID, localID: String) {
      self.queue = queue
      self.localID = localID
    }
  }

  package struct Edit: Sendable {
    package struct Text: Sendable {
      package var old: String
      package var new: String
    }

    package struct Move: Sendable {
      package var channel: Int64
      package var topic: String
      package var newChannel: Int64
      package var newTopic: String
      /// `change_one`, `change_later` or `change_all`.
      var mode: String
      /// The messages that move, the edited one included, ascending.
      package var ids: [Int64]
    }

    package var message: Int64
    var user: Int64
    var place: MessageLocation
    /// In seconds of 1970.
    var time: Int64
    package var text: Text?
    package var move: Move?
    /// The flags of those who have a row, with the new text's mentions.
    var rows: [RealmMessage.Row]
  }

  package struct Flagging: Sendable {
    package var user: Int64
    package var flag: RowFlags
    package var isSet: Bool
    package var ids: [Int64]
    /// Where messages are that became unread.
    var unread: [Unread] = []
  }

  struct Unread: Sendable {
    var id: Int64
    var place: MessageLocation
    var isMention: Bool
  }

  package var kind: Kind
  /// The users who are told.
  package var audience: [Int64]

  package init(_ kind: Kind, to audience: [Int64]) {
    self.kind = kind
    self.audience = audience
  }

  /// The name of its type.
  var type: String {
    switch kind {
    case .message: "message"
    case .edited: "update_message"
    case .deleted: "delete_message"
    case .flagged: "update_message_flags"
    case .reacted: "reaction"
    case .subscribed: "subscription"
    case .typing: "typing"
    case .present: "presence"
    case .userNamed, .userActive: "realm_user"
    case .channelMade, .channelNamed, .channelDescribed: "stream"
    case .topicSet: "user_topic"
    case .statusSet: "user_status"
    case .draftsMade, .draftEdited, .draftDeleted: "drafts"
    }
  }

  /// What one queue gets of it; `nil`: nothing.
  func addressed(to queue: QueueID, of client: QueueClient) -> RealmEvent? {
    guard client.wants(type) else { return nil }
    switch kind {
    case .message(let message, let echo):
      var isFor = audience.contains(client.user)
      if client.wantsAllChannels, case .channel = message.place { isFor = true }
      guard isFor, client.narrow.contains(message, for: client.user) else { return nil }
      return RealmEvent(.message(message, echo: echo?.queue == queue ? echo : nil), to: audience)
    case .edited, .deleted, .flagged, .reacted, .subscribed, .typing, .present, .userNamed,
      .userActive, .channelMade, .channelNamed, .channelDescribed, .topicSet, .statusSet,
      .draftsMade, .draftEdited, .draftDeleted:
      return audience.contains(client.user) ? self : nil
    }
  }
}

/// What a client said when it registered.
package struct QueueClient: Sendable {
  package var user: Int64
  /// `nil`: all.
  var eventTypes: [String]?
  /// Which messages; the other events do not ask.
  var narrow = Narrow([])
  var wantsAllChannels = false
  var isRendered = false
  var readsBulkDeletions = false
  /// The greatest event ID that a poll acknowledged.
  var acknowledged: Int64 = -1

  init(user: Int64) { self.user = user }

  /// A client like this library's, which wants everything.
  package static func current(of user: Int64) -> QueueClient {
    var client = QueueClient(user: user)
    client.isRendered = true
    client.readsBulkDeletions = true
    return client
  }

  func wants(_ type: String) -> Bool { eventTypes?.contains(type) ?? true }
}

// MARK: JSON

extension RealmEvent {
  /// The event as a client reads it, with its ID in the client's queue.
  package func json(id: Int64, for client: QueueClient, in realm: Realm) -> JSONValue {
    var fields: JSONObject
    switch kind {
    case .message(let message, let echo):
      let flags = message.flags(of: client.user) ?? []
      fields = [
        "message": .object(realm.json(message, isRendered: client.isRendered)),
        "flags": .array(flags.names.map { .string($0) }),
      ]
      if let echo { fields["local_message_id"] = .string(echo.localID) }
    case .edited(let edit): fields = edit.json(for: client, in: realm)
    case .deleted(let messages, let place):
      fields = place.json
      if client.readsBulkDeletions {
        fields["message_ids"] = .integers(messages)
      } else {
        fields["message_id"] = .integer(messages.first ?? 0)
      }
    case .flagged(let flagging): fields = flagging.json(client.user)
    case .reacted(let message, let reaction, let isSet):
      fields = reaction.json(in: realm)
      fields["op"] = isSet ? "add" : "remove"
      fields["message_id"] = .integer(message)
    case .subscribed(let user, let channel, let isSet):
      fields = realm.subscription(of: user, to: channel, isSet, for: client.user)
    case .typing(let user, let place, let isSet):
      fields = realm.typing(user, in: place)
      fields["op"] = isSet ? "start" : "stop"
    case .present(let user, let wall): fields = realm.presence(of: user, wall)
    case .userNamed(let user, let name):
      fields = ["op": "update", "person": ["user_id": .integer(user), "full_name": .string(name)]]
    case .userActive(let user, let isActive):
      fields = [
        "op": "update", "person": ["user_id": .integer(user), "is_active": .bool(isActive)],
      ]
    case .channelMade(let channel):
      fields = ["op": "create", "streams": [.object(realm.json(channel))]]
    case .channelNamed(let channel, let old, let name):
      fields = realm.update(of: channel, "name", .string(name))
      fields["name"] = .string(old)
    case .channelDescribed(let channel, let about):
      fields = realm.update(of: channel, "description", .string(about))
      fields["rendered_description"] = .string(Markdown.html(about))
    case .topicSet(let setting): fields = setting.json
    case .statusSet(let user, let status):
      fields = status.json(clears: true)
      fields["user_id"] = .integer(user)
    case .draftsMade(let drafts):
      fields = ["op": "add", "drafts": .array(drafts.map { .object($0.json) })]
    case .draftEdited(let draft): fields = ["op": "update", "draft": .object(draft.json)]
    case .draftDeleted(let id): fields = ["op": "remove", "draft_id": .integer(id)]
    }
    fields["type"] = .string(type)
    fields["id"] = .integer(id)
    return .object(fields)
  }
}

extension MessageLocation {
  /// The fields of an event that names a place.
  fileprivate var json: JSONObject {
    switch self {
    case .channel(let id, let topic):
      ["message_type": "stream", "stream_id": .integer(id), "topic": .string(topic)]
    case .direct: ["message_type": "private"]
    }
  }
}

extension RealmEvent.Edit {
  fileprivate func json(for client: QueueClient, in realm: Realm) -> JSONObject {
    let flags = rows.first { $0.user == client.user }?.flags ?? []
    var fields: JSONObject = [
      "user_id": .integer(user), "edit_timestamp": .integer(time),
      "message_id": .integer(message), "rendering_only": false,
      "message_ids": .integers(move?.ids ?? [message]),
      "flags": .array(flags.names.map { .string($0) }),
    ]
    if case .channel(let id, _) = place {
      fields["stream_id"] = .integer(id)
      fields["stream_name"] = .string(realm.channel(id)?.name ?? "")
    }
    if let text {
      fields["orig_content"] = .string(text.old)
      fields["orig_rendered_content"] = .string(Markdown.html(text.old))
      fields["content"] = .string(text.new)
      fields["rendered_content"] = .string(Markdown.html(text.new))
      fields["is_me_message"] = .bool(text.new.hasPrefix("/me "))
    }
    if let move {
      fields["propagate_mode"] = .string(move.mode)
      fields["orig_subject"] = .string(move.topic)
      if move.newTopic != move.topic {
        fields["subject"] = .string(move.newTopic)
        fields["topic_links"] = []
      }
      if move.newChannel != move.channel { fields["new_stream_id"] = .integer(move.newChannel) }
    }
    return fields
  }
}

extension RealmEvent.Flagging {
  fileprivate func json(_ user: Int64) -> JSONObject {
    let op: JSONValue = isSet ? "add" : "remove"
    var fields: JSONObject = [
      "op": op, "operation": op, "flag": .string(flag.names.first ?? ""),
      "messages": .integers(ids), "all": false,
    ]
    guard !unread.isEmpty else { return fields }
    var details: JSONObject = [:]
    for one in unread {
      var detail: JSONObject
      switch one.place {
      case .channel(let id, let topic):
        detail = ["type": "stream", "stream_id": .integer(id), "topic": .string(topic)]
      case .direct(let users):
        let others = users.count == 1 ? users : users.filter { $0 != user }
        detail = ["type": "private", "user_ids": .integers(others)]
      }
      if one.isMention { detail["mentioned"] = true }
      details["\(one.id)"] = .object(detail)
    }
    fields["message_details"] = .object(details)
    return fields
  }
}

extension RealmMessage.Reaction {
  /// As events carry it, and messages.
  func json(in realm: Realm) -> JSONObject {
    let user = realm.user(user)
    return [
      "user_id": .integer(self.user), "emoji_name": .string(emoji.name),
      "emoji_code": .string(emoji.code), "reaction_type": .string(emoji.type),
      "user": [
        "user_id": .integer(self.user), "email": .string(user?.email ?? ""),
        "full_name": .string(user?.name ?? ""),
      ],
    ]
  }
}
