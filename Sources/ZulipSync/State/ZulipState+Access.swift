public import MessageSync
internal import UpdateMachine

/// A user or bot as the realm knows them.
public struct ZulipUser: Hashable, Sendable {
  /// The user's ID in the realm.
  public var id: UserID
  /// Whether the user may still log in.
  public var isActive: Bool
  /// All fields that the server gives, under its names.
  public var fields: ZulipFields

  /// The full name; empty if the server gave none.
  public var name: String { fields["full_name"]?.text ?? "" }
  /// The address to show. It need not accept mail.
  public var email: String { fields["email"]?.text ?? "" }
  /// The real address; `nil` if the user hides it from this user.
  public var deliveryEmail: String? { fields["delivery_email"]?.text }
  /// 100 owner, 200 administrator, 300 moderator, 400 member, 600 guest.
  public var role: Int64 { fields["role"]?.number ?? 400 }
  /// Whether it is a bot; `false` if the server does not say.
  public var isBot: Bool { fields["is_bot"]?.bool ?? false }
  /// The avatar's URL; `nil` if Gravatar has it, under the user's e-mail address.
  public var avatar: String? { fields["avatar_url"]?.text }
}

/// A channel that the user sees.
public struct ZulipChannel: Hashable, Sendable {
  /// The channel's ID in the realm. A renamed channel keeps it.
  public var id: ChannelID
  /// Whether the user is subscribed to it, and so gets its messages.
  public var isSubscribed: Bool
  /// All fields that the server gives, under its names. For a subscribed channel, the
  /// subscription's too.
  public var fields: ZulipFields

  /// The present name; empty if the server gave none.
  public var name: String { fields["name"]?.text ?? "" }
  /// The description as typed, in Markdown; may be empty.
  public var description: String { fields["description"]?.text ?? "" }
  /// Whether only invited users can join.
  public var isPrivate: Bool { fields["invite_only"]?.bool ?? false }
  /// Whether it is archived, and takes no messages.
  public var isArchived: Bool { fields["is_archived"]?.bool ?? false }
  /// Whether the subscription is muted.
  public var isMuted: Bool { fields["is_muted"]?.bool ?? false }
  /// Whether the user has pinned the subscription; `false` if there is none.
  public var isPinned: Bool { fields["pin_to_top"]?.bool ?? false }
  /// The subscription's colour as a CSS text such as "#76ce90"; `nil` if there is none.
  public var color: String? { fields["color"]?.text }
  /// In ascending order; `nil` if they were not requested.
  public var subscribers: [UserID]? { fields["subscribers"]?.numbers?.map { UserID($0) } }
}

/// A group of users.
package struct ZulipGroup: Hashable, Sendable {
  package var id: Int64
  package var fields: ZulipFields

  package var name: String { fields["name"]?.text ?? "" }
  /// The direct members, in ascending order.
  package var members: [UserID] { (fields["members"]?.numbers ?? []).map { UserID($0) } }
  /// Groups whose members are all members of this group.
  package var subgroups: [Int64] { fields["direct_subgroup_ids"]?.numbers ?? [] }
}

/// A user's setting for a topic.
public enum ZulipVisibility: Int64, Sendable {
  /// As the channel is set.
  case inherited = 0
  /// Muted, even in a channel that is not muted.
  case muted = 1
  /// Not muted, even in a muted channel.
  case unmuted = 2
  /// Followed, and so not muted, even in a muted channel.
  case followed = 3
}

extension ZulipState {
  /// The fields of `/register` that are not part of the state, each with the reason.
  package static var leftOut: [String: String] { ZulipTable.leftOut }

  // MARK: Any field

  /// A field that is one row, under the server's name; `nil` if the server gave none, or if it has
  /// objects.
  public subscript(field: String) -> ZulipValue? {
    ZulipTable.shapes[field] == nil ? rows[ZulipKey(field)] : nil
  }

  /// One object of a field, or one entry of a dictionary.
  package subscript(key: ZulipKey) -> ZulipValue? { rows[key] }

  /// Returns a realm's setting by the name that its events use: "name", "description".
  public func realmSetting(_ name: String) -> ZulipValue? { self["realm_" + name] }

  /// Returns one of the user's own settings.
  public func setting(_ name: String) -> ZulipValue? {
    rows[ZulipKey("user_settings", name)] ?? self[name]
  }

  /// Zulip's feature level: the protocol changes that the server knows.
  public var featureLevel: Int64 { self["zulip_feature_level"]?.number ?? 0 }

  /// The user's own ID; `nil` if it was not requested.
  public var myself: UserID? { me.map { UserID($0) } }

  // MARK: Users and groups

  /// The active users, by ID.
  public var users: [ZulipUser] {
    objects(of: "realm_users").compactMap { user($0.key, $0.value, isActive: true) }
  }

  /// Returns a user, active or not, or one of the server's own bots.
  public func user(_ id: UserID) -> ZulipUser? {
    for field in ["realm_users", "realm_non_active_users", "cross_realm_bots"] {
      let key = ZulipKey(field, id.number)
      guard let value = rows[key] else { continue }
      return user(key, value, isActive: field != "realm_non_active_users")
    }
    return nil
  }

  private func user(_ key: ZulipKey, _ value: ZulipValue, isActive: Bool) -> ZulipUser? {
    value.fields.map { ZulipUser(id: UserID(key.number), isActive: isActive, fields: $0) }
  }

  /// All groups, by ID.
  package var groups: [ZulipGroup] {
    objects(of: "realm_user_groups").compactMap { key, value in
      value.fields.map { ZulipGroup(id: key.number, fields: $0) }
    }
  }

  package func group(_ id: Int64) -> ZulipGroup? {
    object(ZulipKey("realm_user_groups", id)).map { ZulipGroup(id: id, fields: $0) }
  }

  // MARK: Channels and topics

  private static let places = ["subscriptions", "unsubscribed", "never_subscribed", "streams"]

  /// All channels that the user can see, by ID.
  public var channels: [ZulipChannel] {
    var ids: Set<Int64> = []
    for field in ZulipState.places {
      for (key, _) in objects(of: field) { ids.insert(key.number) }
    }
    return ids.sorted().compactMap { channel(ChannelID($0)) }
  }

  /// The channels that the user is subscribed to, by ID.
  public var subscriptions: [ZulipChannel] {
    objects(of: "subscriptions").compactMap { key, value in
      value.fields.map {
        ZulipChannel(id: ChannelID(key.number), isSubscribed: true, fields: $0)
      }
    }
  }

  /// Returns a channel, subscribed or not; `nil` if the user cannot see it.
  public func channel(_ id: ChannelID) -> ZulipChannel? {
    for field in ZulipState.places {
      guard let fields = object(ZulipKey(field, id.number)) else { continue }
      return ZulipChannel(id: id, isSubscribed: field == "subscriptions", fields: fields)
    }
    return nil
  }

  /// The facts needed to read legacy narrows and direct conversations.
  package var directory: ZulipNarrow.Directory {
    var names: [String: ChannelID] = [:]
    for channel in channels { names[channel.name] = channel.id }
    return ZulipNarrow.Directory(me: myself, channels: names)
  }

  /// Returns the user's setting for a topic, in any spelling.
  public func visibility(of topic: String, in channel: ChannelID) -> ZulipVisibility {
    let policy = object(ZulipState.topic(channel.number, topic))?["visibility_policy"]?.number
    return policy.flatMap { ZulipVisibility(rawValue: $0) } ?? .inherited
  }

  func isMuted(_ channel: Int64, topic: String) -> Bool {
    switch visibility(of: topic, in: ChannelID(channel)) {
    case .muted: return true
    case .unmuted, .followed: return false
    case .inherited:
      let fields = object(ZulipKey("subscriptions", channel))
      return fields?["is_muted"]?.bool ?? false
    }
  }

  // MARK: Unread and starred messages

  /// A message that the user has not read.
  public struct Unread: Hashable, Sendable {
    /// The message's ID.
    public var id: MessageID
    /// The topic as it was written.
    public var topic: String
    /// Where the message is: a topic of a channel, or a direct conversation.
    public var place: MessagePlace
    /// Whether it counts as a mention.
    public var isMention: Bool
    /// Whether its topic or its channel is muted, so that it does not count.
    public var isMuted: Bool
  }

  /// The unread messages, in ascending order, except those of channels that the user has left. If
  /// ``hasMoreUnread``, the oldest are missing. O(unread).
  public var unread: [Unread] {
    objects(of: "unread_msgs").compactMap { key, value in
      guard let fields = value.fields, isListed(fields) else { return nil }
      let isMention = fields["mentioned"]?.bool ?? false
      guard let channel = fields["stream_id"]?.number else {
        // The row has the others, or all; the conversation's ID is made of all.
        let users = (fields["user_ids"]?.numbers ?? []) + [me].compactMap { $0 }
        return Unread(
          id: MessageID(key.number), topic: "",
          place: .direct(ConversationID(zulip: users.map { UserID($0) })), isMention: isMention,
          isMuted: false)
      }
      let topic = fields["topic"]?.text ?? ""
      return Unread(
        id: MessageID(key.number), topic: topic, place: .zulip(ChannelID(channel), topic: topic),
        isMention: isMention, isMuted: isMuted(channel, topic: topic))
    }
  }

  /// The number of unread messages that are not muted. O(unread).
  public var unreadCount: Int { unread.count { !$0.isMuted } }

  /// Whether the user has so many unread messages that the server sent only the newest.
  public var hasMoreUnread: Bool {
    rows[ZulipKey("unread_msgs")]?.fields?["old_unreads_missing"]?.bool ?? false
  }

  /// Whether a message is among ``unread``. O(log unread). `false` says nothing of the oldest if
  /// ``hasMoreUnread``.
  public func isUnread(_ id: MessageID) -> Bool {
    object(ZulipState.unread(id.number)).map { isListed($0) } ?? false
  }

  /// Whether a row is of a message that counts as unread. Like the server, the state keeps the rows
  /// of a channel that the user leaves, and lists them again when the user is back.
  private func isListed(_ unread: ZulipFields) -> Bool {
    guard let channel = unread["stream_id"]?.number, holds("subscriptions"),
      !rows.contains(ZulipKey("subscriptions", channel))
    else { return true }
    // Without the capability for archived channels a client does not see that it is subscribed to
    // one. The server counts its messages.
    return !registration.keepsArchivedChannels
      && !["unsubscribed", "never_subscribed"].contains { rows.contains(ZulipKey($0, channel)) }
  }

  /// The starred messages, in ascending order.
  public var starred: [MessageID] {
    objects(of: "starred_messages").map { MessageID($0.key.number) }
  }
}
