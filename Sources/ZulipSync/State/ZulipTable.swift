enum ZulipTable {
  /// Any other field is held whole, whatever its value.
  static let shapes: [String: ZulipShape] = [
    "realm_users": .objects("user_id"),
    "realm_non_active_users": .objects("user_id"),
    "cross_realm_bots": .objects("user_id"),
    "realm_bots": .objects("user_id"),
    "streams": .objects("stream_id"),
    "subscriptions": .objects("stream_id"),
    "unsubscribed": .objects("stream_id"),
    "never_subscribed": .objects("stream_id"),
    "realm_default_streams": .channels,
    "realm_user_groups": .objects("id"),
    "user_topics": .topics,
    "muted_users": .objects("id"),
    "drafts": .objects("id"),
    "saved_snippets": .objects("id"),
    "scheduled_messages": .objects("scheduled_message_id"),
    "reminders": .objects("reminder_id"),
    "channel_folders": .objects("id"),
    "navigation_views": .named("fragment"),
    "realm_domains": .named("domain"),
    "realm_emoji": .dictionary,
    "user_status": .dictionary,
    "user_settings": .dictionary,
    "realm_user_settings_defaults": .dictionary,
    "starred_messages": .numbers,
    "recent_private_conversations": .conversations,
    "unread_msgs": .unread,
  ]

  /// Fields of `/register` that are not part of the state, with the reason. No other field is left
  /// out; ``secrets`` are left out of objects.
  static let leftOut: [String: String] = [
    "result": "the envelope's",
    "msg": "the envelope's",
    "ignored_parameters_unsupported": "about the request",
    "queue_id": "the finger's, another for each register",
    "last_event_id": "the finger's",
    "event_queue_longpoll_timeout_seconds": "the terms', for the machine",
    "server_timestamp": "when it was written",
    "presences": "the presence model's: it is old within minutes, and needs no disk",
    "presence_last_update_id": "the presence model's",
  ]

  /// Secrets in the objects of a field, with the reason to drop each. None is of use to an app that
  /// shows messages, and each can be asked for when it is needed.
  static let secrets: [String: [ZulipSecret]] = {
    let address = ZulipSecret(
      "email_address", reason: "whoever has it may post to the channel; sent before Zulip 8 only")
    var secrets = [
      "realm_bots": [
        ZulipSecret("api_key", reason: "whoever has it may act as the bot"),
        ZulipSecret(
          "services", "token", reason: "whoever has it may call the bot's service as the server"),
        ZulipSecret(
          "services", "config_data", reason: "the user's settings of the bot, often keys of others"),
      ]
    ]
    for field in channels { secrets[field] = [address] }
    return secrets
  }()

  /// Lists of numbers whose order means nothing. They are held in ascending order.
  static let sets = ["members", "direct_subgroup_ids", "subscribers"]

  /// Properties that repeat something held elsewhere: here, which of the two fields a user is in.
  static let redundant: [String: String] = [
    "realm_users": "is_active", "realm_non_active_users": "is_active",
  ]

  /// The fields that hold channels. A channel is in one of the last three, and may also be in the
  /// first.
  static let channels = ["streams", "subscriptions", "unsubscribed", "never_subscribed"]

  /// The effect of each event type. Other types are counted as unknown.
  ///
  /// Types that no recording contains follow Zulip's documentation of `GET /events`.
  static let rules: [String: ZulipRule] = [
    // Events that replace a field.
    "alert_words": replace("alert_words"),
    "muted_topics": replace("muted_topics"),
    "muted_users": replace("muted_users"),
    "realm_emoji": replace("realm_emoji"),
    "realm_linkifiers": replace("realm_linkifiers"),
    "realm_filters": replace("realm_filters"),
    "realm_playgrounds": replace("realm_playgrounds"),
    "onboarding_steps": replace("onboarding_steps"),
    "custom_profile_fields": replace("custom_profile_fields", with: "fields"),
    "default_streams": replace("realm_default_streams", with: "default_streams"),
    "default_stream_groups": replace("realm_default_stream_groups", with: "default_stream_groups"),
    "has_zoom_token": replace("has_zoom_token", with: "value"),
    "restart": fields([
      "zulip_version", "zulip_merge_base", "zulip_feature_level", "server_generation",
    ]),

    // Events that change a setting.
    "realm": ZulipRule(
      .properties(prefix: "realm_"), knows: ["property", "value", "data"],
      ops: ["update", "update_dict", "deactivated"]),
    "realm_user_settings_defaults": ZulipRule(
      .entry("realm_user_settings_defaults", name: "property", value: "value"),
      knows: ["property", "value"], ops: ["update"]),
    "user_settings": settings(name: "property", value: "value", "language_name"),
    "update_display_settings": settings(name: "setting_name", value: "setting", "user"),
    "update_global_notifications": settings(name: "notification_name", value: "setting", "user"),

    // Events that add, change or remove objects.
    "drafts": objects("drafts", one: "draft", many: "drafts", id: "draft_id"),
    "saved_snippets": objects("saved_snippets", one: "saved_snippet", id: "saved_snippet_id"),
    "scheduled_messages": objects(
      "scheduled_messages", one: "scheduled_message", many: "scheduled_messages",
      id: "scheduled_message_id"),
    "reminders": objects("reminders", many: "reminders", id: "reminder_id"),
    "realm_domains": objects("realm_domains", one: "realm_domain", id: "domain"),
    "navigation_view": objects(
      "navigation_views", one: "navigation_view", id: "fragment", data: "data"),
    "channel_folder": objects(
      "channel_folders", one: "channel_folder", id: "channel_folder_id", data: "data", "order"),
    "realm_bot": objects("realm_bots", one: "bot"),
    "user_group": ZulipRule(
      .groups,
      knows: ["group", "group_id", "data", "user_ids", "direct_subgroup_ids", "subgroup_ids"],
      ops: ObjectChange.ops.union([
        "add_members", "remove_members", "add_subgroups", "remove_subgroups",
      ])),
    "user_topic": ZulipRule(
      .topic, knows: ["stream_id", "topic_name", "last_updated", "visibility_policy"]),
    "user_status": ZulipRule(
      .status,
      knows: ["user_id", "away", "status_text", "emoji_name", "emoji_code", "reaction_type"]),

    // Users and channels, which are in several fields.
    "realm_user": ZulipRule(.users, knows: ["person"], ops: ["add", "remove", "update"]),
    "stream": ZulipRule(
      .channels,
      knows: [
        "streams", "stream_ids", "stream_id", "name", "property", "value", "rendered_description",
        "history_public_to_subscribers", "is_web_public",
      ], ops: ["create", "delete", "update"]),
    "subscription": ZulipRule(
      .subscriptions,
      knows: [
        "subscriptions", "stream_id", "stream_ids", "user_id", "user_ids", "property", "value",
      ], ops: ["add", "remove", "update", "peer_add", "peer_remove"]),

    // Messages: unread and starred ones, and conversations.
    "message": ZulipRule(.messages, knows: ["message", "flags", "local_message_id"]),
    "update_message": ZulipRule(
      .messages,
      knows: [
        "content", "edit_timestamp", "flags", "is_me_message", "message_id", "message_ids",
        "new_stream_id", "orig_content", "orig_rendered_content", "orig_subject", "orig_topic",
        "propagate_mode", "rendered_content", "rendering_only", "stream_id", "stream_name",
        "subject", "topic", "topic_links", "user_id",
      ]),
    "delete_message": ZulipRule(
      .messages,
      knows: [
        "message_id", "message_ids", "message_type", "stream_id", "topic", "sender_id",
        "recipient_id",
      ]),
    "update_message_flags": ZulipRule(
      .messages, knows: ["operation", "flag", "messages", "all", "message_details"],
      ops: ["add", "remove"]),

    // About messages themselves, which are not held here.
    "reaction": ZulipRule(
      .nothing,
      knows: ["emoji_code", "emoji_name", "message_id", "reaction_type", "user", "user_id"],
      ops: ["add", "remove"]),
    "submessage": nothing("content", "message_id", "msg_type", "sender_id", "submessage_id"),
    // For the presence model.
    "presence": nothing("email", "presence", "presences", "server_timestamp", "user_id"),
    "typing": nothing("message_type", "recipients", "sender", "stream_id", "topic"),
    "typing_edit_message": nothing("message_id", "recipient", "sender_id"),
    // About data that `/register` does not give.
    "attachment": nothing("attachment", "upload_space_used"),
    "realm_export": nothing("exports"),
    "realm_export_consent": nothing("consented", "user_id"),
    "invites_changed": nothing(),
    // About the queue, or for the web app.
    "heartbeat": nothing(),
    "web_reload_client": nothing("immediate"),
  ]

  // MARK: Builders

  private static func replace(_ field: String, with name: String? = nil) -> ZulipRule {
    ZulipRule(.replace(field, with: name ?? field), knows: [name ?? field])
  }

  private static func fields(_ names: [String]) -> ZulipRule {
    ZulipRule(.fields(names), knows: Set(names))
  }

  private static func settings(name: String, value: String, _ others: String...) -> ZulipRule {
    ZulipRule(.settings(name: name, value: value), knows: Set([name, value] + others))
  }

  private static func objects(
    _ field: String, one: String? = nil, many: String? = nil, id: String? = nil,
    data: String? = nil, _ others: String...
  ) -> ZulipRule {
    ZulipRule(
      .objects(.init(field: field, one: one, many: many, id: id, data: data)),
      knows: Set([one, many, id, data].compactMap { $0 } + others), ops: ObjectChange.ops)
  }

  private static func nothing(_ names: String...) -> ZulipRule {
    ZulipRule(.nothing, knows: Set(names))
  }
}
