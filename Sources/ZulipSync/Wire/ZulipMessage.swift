public import UpdateMachine

/// A message as pages and `message` events carry it.
public struct ZulipMessage: Hashable, Sendable {
  public var id: MessageID
  public var sender: UserID
  /// In seconds since the epoch; 0: the server did not tell.
  public var sentAt: Int64
  public var place: Place
  /// The topic as it was written; empty in a direct conversation.
  public var topic: String
  /// In a channel: its name at that time. Zulip's legacy narrows use it.
  public var channelName: String?
  /// In a direct conversation: everybody who takes part, oneself among them.
  public var participants: [UserID]
  public var content: ZulipContent
  /// When it was edited or moved last, in seconds since the epoch; 0: never. The server gives whole
  /// seconds, so that several changes may share one.
  public var version: Int64
  public var flags: MessageFlags
  /// In ascending order, each once.
  public var reactions: [Reaction]

  /// As the library holds it.
  public var message: Message<ZulipContent> {
    Message(
      id: id, sender: sender, sentAt: sentAt, place: place, content: content, version: version,
      flags: flags,
      reactions: reactions)
  }
}

extension ZulipMessage: Decodable {
  private enum Field: String, CodingKey {
    case id, type, subject, topic, content, flags, reactions, timestamp
    case sender = "sender_id"
    case channel = "stream_id"
    case recipients = "display_recipient"
    case contentType = "content_type"
    case edited = "last_edit_timestamp"
    case moved = "last_moved_timestamp"
  }

  private enum ContentType: String {
    case html = "text/html"
    case markdown = "text/x-markdown"
  }

  private struct Recipient: Decodable {
    var id: WholeNumber
  }

  private struct Reacted: Decodable {
    var user: WholeNumber
    var code: String
    var type: String

    enum CodingKeys: String, CodingKey {
      case user = "user_id"
      case code = "emoji_code"
      case type = "reaction_type"
    }
  }

  /// Throws what ``ZulipError/init(_:)`` makes a path of.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Field.self)
    id = try fields.messageID(.id)
    sender = UserID(try fields.number(.sender))
    sentAt = try fields.numberIfPresent(.timestamp) ?? 0
    switch try fields.word(.type, ZulipMessageType.self) {
    case .channel:
      topic = try fields.decode(String.self, forKey: fields.key(.topic))
      channelName = try fields.decode(String.self, forKey: .recipients)
      participants = []
      let channel = ChannelID(try fields.number(.channel))
      place = .zulip(channel, topic: topic)
    case .direct:
      topic = ""
      participants = try fields.decode([Recipient].self, forKey: .recipients).map {
        UserID($0.id.value)
      }
      place = .direct(ConversationID(zulip: participants))
    }
    let text = try fields.decode(String.self, forKey: .content)
    switch try fields.word(.contentType, ContentType.self) {
    case .html: content = ZulipContent(text, .rendered)
    case .markdown: content = ZulipContent(text, .raw)
    }
    // Newer servers tell an edit and a move apart.
    version = max(
      try fields.numberIfPresent(.edited) ?? 0,
      try fields.numberIfPresent(.moved) ?? 0)
    // An event has the flags beside the message.
    flags = MessageFlags(zulip: try fields.decodeIfPresent([String].self, forKey: .flags) ?? [])
    let all = try fields.decode([Reacted].self, forKey: .reactions)
    reactions = Set(
      all.map { Reaction(user: UserID($0.user.value), zulip: $0.type, $0.code) }
    ).sorted()
  }
}
