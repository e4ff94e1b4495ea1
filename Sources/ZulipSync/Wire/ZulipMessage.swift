public import MessageSync
internal import UpdateMachine

/// A message as pages and `message` events carry it.
public struct ZulipMessage: Hashable, Sendable {
  package var id: MessageID
  package var sender: UserID
  /// In seconds since the epoch; 0 if the server did not say.
  package var sentAt: Int64
  package var place: MessagePlace
  /// The topic as it was written; empty in a direct conversation.
  package var topic: String
  /// In a channel: its name at that time, which Zulip's legacy narrows use.
  package var channelName: String?
  /// In a direct conversation: all participants, oneself included.
  package var participants: [UserID]
  package var content: ZulipContent
  /// The time of the last edit or move, in seconds since the epoch; 0 if there was none. The server
  /// gives whole seconds, so several changes may share one.
  package var version: Int64
  package var flags: MessageFlags
  /// Unique, in ascending order.
  package var reactions: [MessageReaction]

  /// The message as the library holds it.
  public var message: ChatMessage<ZulipContent> {
    ChatMessage(
      id: id, sender: sender, sentAt: sentAt, place: place, content: content, version: version,
      flags: flags,
      reactions: reactions)
  }

  /// The message as a list of its channel shows it, or the message alone. It is marked as one that
  /// may be in no other list if it is historical, and has no flag that only a row of the user's can
  /// have.
  package var messageOfChannel: ChatMessage<ZulipContent> {
    var message = message
    if flags == [.read, .historical] { message.flags.insert(.outsideFeed) }
    return message
  }
}

extension ZulipMessage: Decodable {
  private enum ContentType: String {
    case html = "text/html"
    case markdown = "text/x-markdown"
  }

  /// Throws errors that `ZulipError.init(_:)` turns into a path.
  public init(from decoder: any Decoder) throws {
    let message = try ZulipReading(decoder)
    try self.init(message, flags: message.has("flags") ? message.texts("flags") : [])
  }

  /// - Parameter flags: Zulip's names. In a page they are in the message, in an event beside it.
  init(_ message: ZulipReading, flags names: [String]) throws(ZulipError) {
    id = MessageID(try message.number("id"))
    sender = UserID(try message.number("sender_id"))
    sentAt = try message.numberIfPresent("timestamp") ?? 0
    switch try message.word("type", ZulipMessageType.self) {
    case .channel:
      topic = try message.text(message.name(.topic))
      channelName = try message.text("display_recipient")
      participants = []
      place = .zulip(ChannelID(try message.number("stream_id")), topic: topic)
    case .direct:
      topic = ""
      participants = []
      for user in try message.objects("display_recipient") {
        participants.append(UserID(try user.number("id")))
      }
      place = .direct(ConversationID(zulip: participants))
    }
    let text = try message.text("content")
    switch try message.word("content_type", ContentType.self) {
    case .html: content = ZulipContent(text, .rendered)
    case .markdown: content = ZulipContent(text, .raw)
    }
    // Newer servers give the times of an edit and of a move separately.
    version = max(
      try message.numberIfPresent("last_edit_timestamp") ?? 0,
      try message.numberIfPresent("last_moved_timestamp") ?? 0)
    flags = MessageFlags(zulip: names)
    var all: Set<MessageReaction> = []
    for reaction in try message.objects("reactions") { all.insert(try MessageReaction(reaction)) }
    reactions = all.sorted()
  }
}

extension MessageReaction {
  init(_ reaction: ZulipReading) throws(ZulipError) {
    let user = UserID(try reaction.number("user_id"))
    let type = try reaction.text("reaction_type")
    self.init(user: user, zulip: type, try reaction.text("emoji_code"))
  }
}
