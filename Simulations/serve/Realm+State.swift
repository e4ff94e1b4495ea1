package import SyncProtocols

// The state in the answer to a register: a part of what a real server has, with the same names.

extension Realm {
  /// The fields for those event types; `nil`: everything.
  package func state(
    for user: RealmUser, _ types: [String]?, includesSubscribers: Bool, wall: Int64
  ) -> JSONObject {
    var state: JSONObject = [:]
    func wants(_ type: String) -> Bool { types?.contains(type) ?? true }
    func add(_ fields: JSONObject) {
      for member in fields.members { state[member.name] = member.value }
    }
    if wants("message") {
      let newest = messages.last { $0.flags(of: user.id) != nil }
      add(["max_message_id": .integer(newest?.id ?? -1)])
    }
    if wants("realm") { add(limits) }
    if wants("realm_user") { add(people(user)) }
    if wants("subscription") {
      add(subscriptions(of: user.id, includesSubscribers: includesSubscribers))
    }
    if wants("stream") { add(["streams": .array(channels.map { .object(json($0)) })]) }
    if wants("update_message_flags") || wants("message") {
      add([
        "unread_msgs": unread(of: user.id),
        "starred_messages": .integers(starred(by: user.id)),
      ])
    }
    if wants("presence") {
      var seen: JSONObject = [:]
      for (index, one) in users.enumerated() where lastSeen[index] > 0 {
        seen["\(one.id)"] = [
          "active_timestamp": .integer(lastSeen[index]),
          "idle_timestamp": .integer(lastSeen[index]),
        ]
      }
      add([
        "presences": .object(seen), "presence_last_update_id": 0,
        "server_timestamp": .integer(wall),
      ])
    }
    if wants("recent_private_conversations") {
      add(["recent_private_conversations": conversations(of: user.id)])
    }
    if wants("user_topic") { add(["user_topics": settings.topics(of: user.id)]) }
    if wants("user_status") { add(["user_status": settings.statuses]) }
    if wants("drafts") {
      add(["drafts": .array(settings.drafts(of: user.id).map { .object($0.json) })])
    }
    for (type, fields) in Realm.empty where wants(type) { add(fields) }
    return state
  }

  /// Fields that never change here, by the type of event that would change them.
  private static let empty: [(String, JSONObject)] = [
    ("alert_words", ["alert_words": []]),
    ("saved_snippets", ["saved_snippets": []]), ("scheduled_messages", ["scheduled_messages": []]),
    ("muted_topics", ["muted_topics": []]), ("muted_users", ["muted_users": []]),
    ("custom_profile_fields", ["custom_profile_fields": [], "custom_profile_field_types": [:]]),
    ("onboarding_steps", ["onboarding_steps": []]),
    ("realm_bot", ["realm_bots": []]), ("realm_domains", ["realm_domains": []]),
    ("realm_emoji", ["realm_emoji": [:]]), ("realm_linkifiers", ["realm_linkifiers": []]),
    ("realm_filters", ["realm_filters": []]), ("realm_playgrounds", ["realm_playgrounds": []]),
    ("realm_user_groups", ["realm_user_groups": []]),
    ("realm_user_settings_defaults", ["realm_user_settings_defaults": [:]]),
    ("default_streams", ["realm_default_streams": []]),
    ("default_stream_groups", ["realm_default_stream_groups": []]),
    (
      "user_settings",
      [
        "user_settings": [
          "color_scheme": 1, "default_language": "en", "timezone": "", "enter_sends": false,
          "twenty_four_hour_time": false,
        ]
      ]
    ),
  ]

  private var limits: JSONObject {
    [
      "realm_name": .string(APIServer.realmName), "realm_description": "", "realm_url": "",
      "realm_uri": "", "realm_allow_message_editing": true, "realm_allow_edit_history": true,
      "realm_message_content_edit_limit_seconds": .null,
      "realm_message_content_delete_limit_seconds": .null, "realm_mandatory_topics": false,
      "realm_presence_disabled": false, "realm_default_language": "en", "server_generation": 1,
      "max_topic_length": .integer(Int64(APIServer.topicLimit)),
      "max_message_length": .integer(Int64(APIServer.textLimit)), "max_stream_name_length": 60,
      "max_stream_description_length": 1024, "max_file_upload_size_mib": 0,
      "server_presence_ping_interval_seconds": 60,
      "server_presence_offline_threshold_seconds": 140,
      "server_typing_started_expiry_period_milliseconds": 15_000,
      "server_typing_stopped_wait_period_milliseconds": 5_000,
      "server_typing_started_wait_period_milliseconds": 10_000,
    ]
  }

  private func people(_ user: RealmUser) -> JSONObject {
    [
      "realm_users": people(areActive: true), "realm_non_active_users": people(areActive: false),
      "cross_realm_bots": [], "user_id": .integer(user.id),
      "email": .string(user.email), "delivery_email": .string(user.email),
      "full_name": .string(user.name), "avatar_url": .null, "avatar_url_medium": .null,
      "avatar_source": "G", "is_admin": false, "is_owner": false, "is_moderator": false,
      "is_guest": false, "can_create_streams": false, "can_subscribe_other_users": false,
    ]
  }

  private func people(areActive: Bool) -> JSONValue {
    .array(
      users.filter { $0.isActive == areActive }.map { one in
        var fields = json(one)
        fields["is_active"] = nil  // The field that it is in says so.
        return .object(fields)
      })
  }

  private func subscriptions(of user: Int64, includesSubscribers: Bool) -> JSONObject {
    var (followed, others): ([JSONValue], [JSONValue]) = ([], [])
    for channel in channels {
      if channel.subscribers.contains(user) {
        let fields = subscription(channel, includesSubscribers: includesSubscribers)
        followed.append(.object(fields))
      } else {
        var fields = json(channel)
        if includesSubscribers { fields["subscribers"] = .integers(channel.subscribers) }
        others.append(.object(fields))
      }
    }
    return [
      "subscriptions": .array(followed), "unsubscribed": [], "never_subscribed": .array(others),
    ]
  }

  private func starred(by user: Int64) -> [Int64] {
    messages.filter { $0.flags(of: user)?.contains(.starred) == true }.map(\.id)
  }

  /// One conversation, or one topic, with its unread messages.
  private struct Unread {
    var place: MessageLocation
    var ids: [Int64] = []
    var lastSender: Int64 = 0
  }

  /// The unread messages by conversation: in channels by topic, whatever its spelling.
  private func unread(of user: Int64) -> JSONValue {
    var groups: [Unread] = []
    var places: [MessageLocation: Int] = [:]
    var mentions: [Int64] = []
    var count: Int64 = 0
    for message in messages {
      guard let flags = message.flags(of: user), !flags.contains(.read) else { continue }
      var key = message.place
      if case .channel(let id, let topic) = key {
        guard channel(id)?.subscribers.contains(user) == true else { continue }
        key = .channel(id, topic: topic.lowercased())
      }
      count += 1
      if flags.contains(.mentioned) { mentions.append(message.id) }
      let place = places[key] ?? groups.count
      if place == groups.count { groups.append(Unread(place: message.place)) }
      places[key] = place
      groups[place].ids.append(message.id)
      groups[place].lastSender = message.sender
    }
    var (streams, pairs, others): ([JSONValue], [JSONValue], [JSONValue]) = ([], [], [])
    for group in groups {
      let ids = JSONValue.integers(group.ids)
      switch group.place {
      case .channel(let id, let topic):
        streams.append([
          "stream_id": .integer(id), "topic": .string(topic), "unread_message_ids": ids,
        ])
      case .direct(let members) where members.count > 2:
        let text = members.map { "\($0)" }.joined(separator: ",")
        others.append(["user_ids_string": .string(text), "unread_message_ids": ids])
      case .direct(let members):
        let other = members.first { $0 != user } ?? user
        pairs.append([
          "other_user_id": .integer(other), "sender_id": .integer(other),
          "unread_message_ids": ids,
        ])
      }
    }
    return [
      "count": .integer(count), "mentions": .integers(mentions), "streams": .array(streams),
      "pms": .array(pairs), "huddles": .array(others), "old_unreads_missing": false,
    ]
  }

  /// The user's direct conversations, the newest first.
  private func conversations(of user: Int64) -> JSONValue {
    var found: [JSONValue] = []
    var seen: Set<MessageLocation> = []
    for message in messages.reversed() {
      guard case .direct(let members) = message.place, members.contains(user),
        seen.insert(message.place).inserted
      else { continue }
      found.append([
        "user_ids": .integers(members.filter { $0 != user }),
        "max_message_id": .integer(message.id),
      ])
    }
    return .array(found)
  }
}
