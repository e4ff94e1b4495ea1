import MessageSync
import UpdateMachine

extension ZulipEvent: Decodable {
  private enum Change: String {
    case add, remove
  }

  /// Throws errors that `ZulipError.init(_:)` turns into a path.
  public init(from decoder: any Decoder) throws { try self.init(ZulipReading(decoder)) }

  init(_ event: ZulipReading) throws(ZulipError) {
    fields = event.fields
    id = try event.number("id")
    type = try event.text("type")
    kind =
      switch type {
      case "message":
        .sent(try ZulipMessage(event.object("message"), flags: event.texts("flags")))
      case "update_message": .updated(try ZulipUpdate(event))
      case "delete_message": .deleted(try event.messageIDs(.messages))
      case "update_message_flags": try ZulipFlagging(event).map { .flagged($0) } ?? .ignored
      case "reaction": try ZulipEvent.reacted(event)
      case "subscription": try ZulipEvent.covered(event)
      default: .ignored
      }
  }

  private static func reacted(_ event: ZulipReading) throws(ZulipError) -> Kind {
    guard let change = Change(rawValue: try event.text("op")) else { return .ignored }
    let id = MessageID(try event.number("message_id"))
    return .reacted(id, try MessageReaction(event), isSet: change == .add)
  }

  /// Other changes of a subscription do not concern messages.
  private static func covered(_ event: ZulipReading) throws(ZulipError) -> Kind {
    guard let change = Change(rawValue: try event.text("op")) else { return .ignored }
    var channels: [ChannelID] = []
    for channel in try event.objects("subscriptions") {
      channels.append(ChannelID(try channel.number("stream_id")))
    }
    return .covered(channels, follows: change == .add)
  }
}

extension ZulipFlagging {
  private enum Change: String {
    case add, remove
  }

  /// `nil` if this library does not know the `op`.
  init?(_ event: ZulipReading) throws(ZulipError) {
    guard let change = Change(rawValue: try event.text(event.name(.op))) else { return nil }
    isSet = change == .add
    flags = MessageFlags(zulip: try event.text("flag"))
    ids = try event.numbers("messages").map { MessageID($0) }
    isAll = try event.boolIfPresent("all") ?? false
    guard !isSet, flags == .read, event.has("message_details") else { return }
    let all = try event.object("message_details")
    var unread: [Unread] = []
    for id in ids where all.fields["\(id)"] != nil {
      unread.append(try Unread(id, all.object("\(id)")))
    }
    self.unread = unread
  }
}

extension ZulipFlagging.Unread {
  init(_ id: MessageID, _ details: ZulipReading) throws(ZulipError) {
    self.id = id
    switch try details.word("type", ZulipMessageType.self) {
    case .channel:
      let channel = ChannelID(try details.number("stream_id"))
      place = .channel(channel, topic: try details.text("topic"))
    case .direct: place = .direct(try details.numbers("user_ids").map { UserID($0) })
    }
    mentionsUser = details.fields["mentioned"]?.bool == true
  }
}

extension ZulipUpdate {
  init(_ event: ZulipReading) throws(ZulipError) {
    let isRenderingOnly = try event.bool("rendering_only")
    version = isRenderingOnly ? nil : try event.number("edit_timestamp")
    edit = try Edit(event)
    moved = []
    // Every move names the old topic. It names the new topic or channel only if that has changed.
    guard ZulipSpelling.ofMoves.contains(where: { event.fields[$0] != nil }) else { return }
    let channel = ChannelID(try event.number("stream_id"))
    let topic = try event.text(event.name(.oldTopic))
    let newChannel = try event.numberIfPresent("new_stream_id").map { ChannelID($0) }
    newTopic = try event.textIfPresent(event.name(.topic))
    move = .init(
      from: .zulip(channel, topic: topic),
      to: .zulip(newChannel ?? channel, topic: newTopic ?? topic))
    moved = try event.numbers("message_ids").map { MessageID($0) }
  }
}

extension ZulipUpdate.Edit {
  /// `nil` if the content has not changed.
  init?(_ event: ZulipReading) throws(ZulipError) {
    guard event.fields["rendered_content"] != nil || event.fields["content"] != nil else {
      return nil
    }
    flags = MessageFlags(zulip: try event.texts("flags")).intersection(.contentFlags)
    id = MessageID(try event.number("message_id"))
    rendered = try event.text("rendered_content")
    raw = try event.text("content")
  }
}
