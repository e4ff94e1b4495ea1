internal import MessageSync
internal import UpdateMachine
internal import ZulipServer
internal import ZulipSync

/// The account's state equals the realm as it was at the client's finger: users, channels,
/// subscriptions, unread and starred messages. It is compared with plain loops over the realm.
enum ZulipStateOracle {
  typealias Objection = ZulipOracle.Objection

  /// - Parameters:
  ///   - isOpen: whether pages or doubts leave open what the state says of a message.
  ///   - isUnheard: whether a message may have changed without an event.
  static func objection(
    to state: ZulipState, _ truth: ZulipTruth, isOpen: (MessageID) -> Bool,
    isUnheard: (MessageID) -> Bool
  ) -> Objection? {
    people(state, truth.realm) ?? channels(state, truth.realm)
      ?? settings(state, truth.realm) ?? unread(state, truth, isOpen)
      ?? starred(state, truth, isOpen, isUnheard) ?? newest(state, truth, isUnheard)
  }

  private static func compare(_ expected: String, _ found: String) -> Objection? {
    expected == found ? nil : Objection(expected: expected, found: found)
  }

  // MARK: Users

  private static func people(_ state: ZulipState, _ realm: Realm) -> Objection? {
    var (expected, found) = ("users", "users")
    for user in realm.users {
      expected += " \(user.id) \(user.name) \(user.isActive)"
      guard let held = state.user(UserID(user.id)) else {
        found += " \(user.id) unknown"
        continue
      }
      found += " \(held.id) \(held.name) \(held.isActive)"
    }
    expected += " active \(realm.users.filter(\.isActive).map(\.id))"
    found += " active \(state.users.map(\.id.number))"
    let me = realm.user(ZulipTruth.me)
    expected += " me \(ZulipTruth.me) \(me?.name ?? "")"
    found += " me \(state.myself?.number ?? 0) \(state["full_name"]?.text ?? "")"
    return compare(expected, found)
  }

  // MARK: Channels

  private static func channels(_ state: ZulipState, _ realm: Realm) -> Objection? {
    let (all, followed) = (state.channels, state.subscriptions)
    guard all.map(\.id.number) == realm.channels.map(\.id) else {
      return compare("channels \(realm.channels.map(\.id))", "channels \(all.map(\.id))")
    }
    for (channel, held) in zip(realm.channels, all) {
      let follows = channel.subscribers.contains(ZulipTruth.me)
      let expected =
        "channel \(channel.id) \(channel.name) \(channel.about) \(channel.isPrivate) "
        + "\(follows) \(follows) \(channel.subscribers)"
      let found =
        "channel \(held.id) \(held.name) \(held.description) \(held.isPrivate) "
        + "\(held.isSubscribed) \(followed.contains { $0.id == held.id }) "
        + "\((held.subscribers ?? []).map(\.number))"
      if let objection = compare(expected, found) { return objection }
      // A channel may be in several fields; each must say the same.
      for field in ["streams", "unsubscribed", "never_subscribed"] {
        guard let fields = state[ZulipKey(field, channel.id)]?.fields else { continue }
        let objection = compare(
          "\(field) \(channel.id) \(channel.name) \(channel.about)",
          "\(field) \(channel.id) \(fields["name"]?.text ?? "") "
            + "\(fields["description"]?.text ?? "")")
        if let objection { return objection }
      }
      guard state[ZulipKey("streams", channel.id)] != nil else {
        return compare("channel \(channel.id) among all", "it is not there")
      }
      let others = ["unsubscribed", "never_subscribed"]
        .filter { state[ZulipKey($0, channel.id)] != nil }
      if others.count != (follows ? 0 : 1) {
        return compare("channel \(channel.id) in one place", "\(follows) \(others)")
      }
    }
    return nil
  }

  // MARK: Settings

  private static func settings(_ state: ZulipState, _ realm: Realm) -> Objection? {
    let topics = realm.settings.topics.filter { $0.user == ZulipTruth.me }
    for channel in realm.channels {
      for topic in ["lunch", "soup"] {
        let policy = topics.first {
          $0.channel == channel.id && $0.topic.lowercased() == topic
        }?.policy
        let found = state.visibility(of: topic, in: ChannelID(channel.id))
        let words = "\(channel.id)/\(topic)"
        if let objection = compare("\(words) \(policy ?? 0)", "\(words) \(found.rawValue)") {
          return objection
        }
      }
    }
    if let objection = drafts(state, realm) { return objection }
    let status = realm.settings.ofUsers.first { $0.user == ZulipTruth.me }?.status
    return compare(
      "status \(status?.text ?? "") \(status?.emojiName ?? "")", "status \(self.status(state))")
  }

  private static func drafts(_ state: ZulipState, _ realm: Realm) -> Objection? {
    var (expected, found) = ("drafts", "drafts")
    for draft in realm.settings.drafts(of: ZulipTruth.me) {
      let place =
        switch draft.place {
        case .channel(let id, let topic): "\(id)/\(topic)"
        case .direct(let members): "@\(members)"
        case nil: ""
        }
      expected += " \(draft.id) \(draft.text) \(place) \(draft.time)"
    }
    for draft in state.drafts {
      let place =
        switch draft.recipient {
        case .channel(let id, let topic): "\(id)/\(topic)"
        case .direct(let users): "@\(Set(users.map(\.number) + [ZulipTruth.me]).sorted())"
        case nil: ""
        }
      found += " \(draft.id.number) \(draft.content) \(place) \(draft.editedAt)"
    }
    return compare(expected, found)
  }

  /// The user's status: its text and its emoji.
  static func status(_ state: ZulipState) -> String {
    let status = state[ZulipKey("user_status", "\(ZulipTruth.me)")]?.fields
    return "\(status?["status_text"]?.text ?? "") \(status?["emoji_name"]?.text ?? "")"
  }

  // MARK: Messages

  /// The unread messages of conversations and followed channels. A state leaves out those of a
  /// channel that the user has left, as a register does.
  private static func unread(
    _ state: ZulipState, _ truth: ZulipTruth, _ isOpen: (MessageID) -> Bool
  ) -> Objection? {
    var (expected, found) = ("unread", "unread")
    for seen in truth.messages where seen.isFollowed && !seen.message.flags.contains(.read) {
      guard !isOpen(seen.message.id) else { continue }
      let isMention = seen.message.flags.contains(.mentioned)
      expected += " \(seen.message.id) \(words(seen.message.place)) \(isMention)"
    }
    for message in state.unread where !isOpen(message.id) {
      found += " \(message.id) \(words(message.place)) \(message.isMention)"
    }
    return compare(expected, found)
  }

  /// A register groups unread messages by the topic in lower case.
  private static func words(_ place: MessagePlace) -> String {
    switch place {
    case .channel(let id, let topic): "\(id)/\(topic.text.lowercased())"
    case .direct(let members): "@\(members.members.map(\.number))"
    }
  }

  /// The starred messages. One that was moved or deleted where the user was told nothing may stay.
  private static func starred(
    _ state: ZulipState, _ truth: ZulipTruth, _ isOpen: (MessageID) -> Bool,
    _ isUnheard: (MessageID) -> Bool
  ) -> Objection? {
    var (expected, found) = ("starred", "starred")
    for seen in truth.messages where seen.isFollowed && seen.message.flags.contains(.starred) {
      if !isOpen(seen.message.id) { expected += " \(seen.message.id)" }
    }
    for id in state.starred where !isOpen(id) {
      let isStarred = truth[id]?.flags.contains(.starred) ?? false
      // A silent move may have taken the row, with the star. It may be in sight again since.
      let hasRow = truth.followed(id).map { !$0.flags.contains(.outsideFeed) } ?? false
      if !hasRow, isStarred || isUnheard(id) { continue }
      found += " \(id)"
    }
    return compare(expected, found)
  }

  /// The newest message, and each conversation's. A deletion does not take them back.
  /// One that was moved away in silence may be missing already, and one that the user cannot hear
  /// of may be the newest once the user has reacted to it: a register is no older than its queue,
  /// and no event says how much newer it is.
  private static func newest(
    _ state: ZulipState, _ truth: ZulipTruth, _ isUnheard: (MessageID) -> Bool
  ) -> Objection? {
    let newest = state["max_message_id"]?.number ?? 0
    let isMissing = newest < truth.newestSent && !isUnheard(MessageID(truth.newestSent))
    let isEarly = newest > truth.realm.lastMessageID && !isUnheard(MessageID(newest))
    if isEarly || isMissing {
      return compare("the newest message is \(truth.newestSent)", "\(newest)")
    }
    for message in truth.realm.messages {
      guard case .direct(let members) = message.place, members.contains(ZulipTruth.me) else {
        continue
      }
      let others = members.filter { $0 != ZulipTruth.me }.map { "\($0)" }
      let key = ZulipKey("recent_private_conversations", others.joined(separator: ","))
      let held = state[key]?.number ?? 0
      if held < message.id {
        return compare("conversation \(others) has \(message.id)", "its newest is \(held)")
      }
    }
    return nil
  }
}
