import UpdateMachine

extension ZulipEvent: Decodable {
  private enum Field: String, CodingKey {
    case id, type, op, operation, message, flags, flag, messages, all, subscriptions
    case messageID = "message_id"
    case messageIDs = "message_ids"
    case user = "user_id"
    case emojiCode = "emoji_code"
    case reactionType = "reaction_type"
  }

  private enum Change: String {
    case add, remove
  }

  private struct Subscription: Decodable {
    var channel: WholeNumber

    enum CodingKeys: String, CodingKey {
      case channel = "stream_id"
    }
  }

  /// Throws what ``ZulipError/init(_:)`` makes a path of.
  public init(from decoder: any Decoder) throws {
    self.fields = try ZulipValue(from: decoder).fields ?? ZulipFields()
    let fields = try decoder.container(keyedBy: Field.self)
    id = try fields.number(.id)
    kind =
      switch try fields.decode(String.self, forKey: .type) {
      case "message": try ZulipEvent.sent(fields)
      case "update_message": .updated(try ZulipUpdate(from: decoder))
      case "delete_message": try ZulipEvent.deleted(fields)
      case "update_message_flags": try ZulipEvent.flagged(fields)
      case "reaction": try ZulipEvent.reacted(fields)
      case "subscription": try ZulipEvent.covered(fields)
      default: .ignored
      }
  }

  private static func sent(_ fields: KeyedDecodingContainer<Field>) throws -> Kind {
    var message = try fields.decode(ZulipMessage.self, forKey: .message)
    message.flags = MessageFlags(zulip: try fields.decode([String].self, forKey: .flags))
    return .sent(message)
  }

  private static func deleted(_ fields: KeyedDecodingContainer<Field>) throws -> Kind {
    .deleted(try fields.messageIDs(spelled: .messages))
  }

  private static func flagged(_ fields: KeyedDecodingContainer<Field>) throws -> Kind {
    let isSet = try fields.word(fields.key(.op), Change.self) == .add
    let flags = MessageFlags(zulip: try fields.decode(String.self, forKey: .flag))
    let ids = try fields.messageIDs(.messages)
    let isAll = try fields.decodeIfPresent(Bool.self, forKey: .all) ?? false
    return .flagged(isAll ? nil : ids, flags, isSet: isSet)
  }

  private static func reacted(_ fields: KeyedDecodingContainer<Field>) throws -> Kind {
    let isSet = try fields.word(.op, Change.self) == .add
    let user = UserID(try fields.number(.user))
    let type = try fields.decode(String.self, forKey: .reactionType)
    let code = try fields.decode(String.self, forKey: .emojiCode)
    return .reacted(
      try fields.messageID(.messageID), Reaction(user: user, zulip: type, code), isSet: isSet)
  }

  /// Of the other changes of a subscription none concerns messages.
  private static func covered(_ fields: KeyedDecodingContainer<Field>) throws -> Kind {
    guard let change = Change(rawValue: try fields.decode(String.self, forKey: .op)) else {
      return .ignored
    }
    let channels = try fields.decode([Subscription].self, forKey: .subscriptions)
    return .covered(channels.map { ChannelID($0.channel.value) }, follows: change == .add)
  }
}

extension ZulipUpdate: Decodable {
  private enum Field: String, CodingKey {
    case content, flags, subject, topic
    case rendered = "rendered_content"
    case messageID = "message_id"
    case messageIDs = "message_ids"
    case edited = "edit_timestamp"
    case isRenderingOnly = "rendering_only"
    case channel = "stream_id"
    case newChannel = "new_stream_id"
    case oldTopic = "orig_subject"
    case oldTopicToo = "orig_topic"
  }

  /// Throws what ``ZulipError/init(_:)`` makes a path of.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Field.self)
    let isRenderingOnly = try fields.decode(Bool.self, forKey: .isRenderingOnly)
    version = isRenderingOnly ? nil : try fields.number(.edited)
    edit = try ZulipUpdate.edit(fields)
    moved = []
    // The old topic is told with every move, the new one only if it is another, and so the channel.
    guard ZulipSpelling.ofMoves.contains(where: { fields.contains(fields.key($0)) }) else { return }
    let channel = ChannelID(try fields.number(.channel))
    let topic = try fields.decode(String.self, forKey: fields.key(.oldTopic))
    let newChannel = try fields.numberIfPresent(.newChannel)
    let newTopic = try fields.decodeIfPresent(String.self, forKey: fields.key(.topic))
    move = .init(
      from: .zulip(channel, topic: topic),
      to: .zulip(newChannel.map { ChannelID($0) } ?? channel, topic: newTopic ?? topic))
    moved = try fields.messageIDs(.messageIDs)
  }

  private static func edit(_ fields: KeyedDecodingContainer<Field>) throws -> Edit? {
    guard fields.contains(.rendered) || fields.contains(.content) else { return nil }
    let flags = MessageFlags(zulip: try fields.decode([String].self, forKey: .flags))
    return Edit(
      id: try fields.messageID(.messageID),
      rendered: try fields.decode(String.self, forKey: .rendered),
      raw: try fields.decode(String.self, forKey: .content),
      flags: flags.intersection(.contentFlags))
  }
}
