internal import SyncProtocols

// The realm's parts as clients read them.

extension Realm {
  /// A message without flags: they stand beside it in events, and in it on pages.
  func json(_ message: RealmMessage, isRendered: Bool) -> JSONObject {
    let sender = user(message.sender)
    var fields: JSONObject = [
      "id": .integer(message.id), "sender_id": .integer(message.sender),
      "sender_full_name": .string(sender?.name ?? ""),
      "sender_email": .string(sender?.email ?? ""), "sender_realm_str": "serve",
      "avatar_url": .null, "timestamp": .integer(message.sentAt),
      "client": .string(message.program), "topic_links": [], "submessages": [],
      "is_me_message": .bool(message.text.hasPrefix("/me ")),
      "content": .string(isRendered ? Markdown.html(message.text) : message.text),
      "content_type": isRendered ? "text/html" : "text/x-markdown",
      "reactions": .array(message.reactions.map { .object($0.json(in: self)) }),
    ]
    if let time = message.editedAt { fields["last_edit_timestamp"] = .integer(time) }
    switch message.place {
    case .channel(let id, let topic):
      fields["type"] = "stream"
      fields["stream_id"] = .integer(id)
      fields["subject"] = .string(topic)
      fields["display_recipient"] = .string(channel(id)?.name ?? "")
      fields["recipient_id"] = .integer(id)
    case .direct(let members):
      fields["type"] = "private"
      fields["subject"] = ""
      fields["recipient_id"] = .integer(1_000 + members.reduce(0) { ($0 * 131 + $1) % 1_000_000 })
      fields["display_recipient"] = .array(
        members.map { member in
          let user = user(member)
          return [
            "id": .integer(member), "email": .string(user?.email ?? ""),
            "full_name": .string(user?.name ?? ""), "is_mirror_dummy": false,
          ]
        })
    }
    return fields
  }

  /// A message as a page shows it to a user: with flags. A message for which the user has no row is
  /// `historical`.
  func json(_ message: RealmMessage, for user: Int64, isRendered: Bool) -> JSONValue {
    var fields = json(message, isRendered: isRendered)
    let flags = message.flags(of: user) ?? [.read, .historical]
    fields["flags"] = .array(flags.names.map { .string($0) })
    return .object(fields)
  }

  func json(_ user: RealmUser) -> JSONObject {
    [
      "user_id": .integer(user.id), "email": .string(user.email),
      "delivery_email": .string(user.email), "full_name": .string(user.name),
      "is_active": .bool(user.isActive), "is_bot": false, "is_admin": false, "is_owner": false,
      "is_guest": false,
      "is_billing_admin": false, "role": 400, "timezone": "", "avatar_url": .null,
      "avatar_version": 1, "date_joined": "2026-01-01T00:00+00:00", "profile_data": [:],
    ]
  }

  /// What is said of a channel to everybody.
  func json(_ channel: RealmChannel) -> JSONObject {
    let first = messages.first { message in
      if case .channel(channel.id, _) = message.place { true } else { false }
    }
    return [
      "stream_id": .integer(channel.id), "name": .string(channel.name),
      "description": .string(channel.about),
      "rendered_description": .string(Markdown.html(channel.about)), "creator_id": .null,
      "date_created": 1_767_225_600, "first_message_id": first.map { .integer($0.id) } ?? .null,
      "history_public_to_subscribers": .bool(!channel.isPrivate),
      "invite_only": .bool(channel.isPrivate), "is_announcement_only": false,
      "is_archived": false, "is_recently_active": true, "is_web_public": false,
      "message_retention_days": .null, "stream_post_policy": 1, "stream_weekly_traffic": .null,
      "can_remove_subscribers_group": 1,
    ]
  }

  /// A channel as a subscriber sees it, with the settings that all subscribers have here.
  func subscription(_ channel: RealmChannel, includesSubscribers: Bool) -> JSONObject {
    var fields = json(channel)
    for name in [
      "audible_notifications", "desktop_notifications", "email_notifications",
      "push_notifications", "wildcard_mentions_notify",
    ] { fields[name] = .null }
    fields["color"] = "#76ce90"
    fields["in_home_view"] = true
    fields["is_muted"] = false
    fields["pin_to_top"] = false
    if includesSubscribers { fields["subscribers"] = .integers(channel.subscribers) }
    return fields
  }

  /// The event of a subscription that began or ended, for the user or for another.
  func subscription(
    of user: Int64, to channel: Int64, _ isSet: Bool, for reader: Int64
  ) -> JSONObject {
    guard reader == user else {
      return [
        "op": isSet ? "peer_add" : "peer_remove", "stream_ids": .integers([channel]),
        "user_ids": .integers([user]),
      ]
    }
    guard let channel = self.channel(channel) else { return ["op": isSet ? "add" : "remove"] }
    if isSet {
      let fields = subscription(channel, includesSubscribers: true)
      return ["op": "add", "subscriptions": [.object(fields)]]
    }
    return [
      "op": "remove",
      "subscriptions": [["stream_id": .integer(channel.id), "name": .string(channel.name)]],
    ]
  }

  /// The event of a channel that gets another name or description.
  func update(of id: Int64, _ property: String, _ value: JSONValue) -> JSONObject {
    let channel = channel(id)
    return [
      "op": "update", "stream_id": .integer(id), "name": .string(channel?.name ?? ""),
      "property": .string(property), "value": value,
    ]
  }

  /// The event of a user who is there.
  func presence(of user: Int64, _ wall: Int64) -> JSONObject {
    [
      "user_id": .integer(user), "email": .string(self.user(user)?.email ?? ""),
      "server_timestamp": .integer(wall),
      "presence": [
        "website": [
          "client": "website", "status": "active", "timestamp": .integer(wall),
          "pushable": false,
        ]
      ],
    ]
  }

  /// The event of a user who begins or stops to type.
  func typing(_ user: Int64, in place: MessageLocation) -> JSONObject {
    func person(_ id: Int64) -> JSONValue {
      ["user_id": .integer(id), "email": .string(self.user(id)?.email ?? "")]
    }
    switch place {
    case .channel(let id, let topic):
      return [
        "message_type": "stream", "sender": person(user), "stream_id": .integer(id),
        "topic": .string(topic),
      ]
    case .direct(let members):
      return [
        "message_type": "direct", "sender": person(user), "recipients": .array(members.map(person)),
      ]
    }
  }

  /// `general > lunch`, or `Ada, Bo`.
  func name(of place: MessageLocation) -> String {
    switch place {
    case .channel(let id, let topic): "\(channel(id)?.name ?? "\(id)") > \(topic)"
    case .direct(let members): members.map { user($0)?.name ?? "\($0)" }.joined(separator: ", ")
    }
  }
}

/// The contents of messages as HTML. Nothing of Markdown is understood but paragraphs and line
/// breaks; all else is shown as it was typed.
enum Markdown {
  static func html(_ text: String) -> String {
    var html = ""
    for paragraph in text.split(separator: "\n\n", omittingEmptySubsequences: true) {
      if !html.isEmpty { html += "\n" }
      html += "<p>"
      for scalar in paragraph.unicodeScalars {
        switch scalar {
        case "&": html += "&amp;"
        case "<": html += "&lt;"
        case ">": html += "&gt;"
        case "\"": html += "&quot;"
        case "\n": html += "<br>\n"
        default: html.unicodeScalars.append(scalar)
        }
      }
      html += "</p>"
    }
    return html
  }
}

/// An emoji that can be used in reactions.
package struct Emoji: Hashable, Sendable {
  package var name: String
  package var code: String
  package var type: String

  /// The emoji that this server knows. A real one knows thousands.
  package static let known: [Emoji] =
    [
      ("+1", "1f44d"), ("-1", "1f44e"), ("tada", "1f389"), ("heart", "2764"), ("smile", "1f642"),
      ("grinning", "1f600"), ("joy", "1f602"), ("cry", "1f622"), ("thinking", "1f914"),
      ("eyes", "1f440"), ("octopus", "1f419"), ("rocket", "1f680"), ("pizza", "1f355"),
      ("coffee", "2615"), ("wave", "1f44b"), ("check", "2705"), ("fire", "1f525"),
      ("working_on_it", "1f6e0"), ("clap", "1f44f"), ("100", "1f4af"),
    ].map { Emoji(name: $0.0, code: $0.1, type: "unicode_emoji") } + [
      Emoji(name: "zulip", code: "zulip", type: "zulip_extra_emoji")
    ]
}
