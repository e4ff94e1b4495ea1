public import MessageSync
public import SyncProtocols
public import UpdateMachine

extension ZulipConnection {
  /// `GET /messages`: some messages of a narrow.
  public func messages(
    _ request: ZulipPageRequest, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) -> ZulipPage {
    try await ask(.get, "messages", request.parameters, within: deadline) {
      answer throws(ZulipError) in
      try ZulipPage(answer)
    }
  }

  /// `GET /messages/ID`: one that the user may see, whether it was sent to him or not. `rejected` if
  /// there is none.
  public func message(
    _ id: MessageID, form: ZulipContent.Form = .rendered
  ) async throws(ZulipFailure) -> ZulipMessage {
    var parameters = ZulipForm()
    parameters.add("apply_markdown", .bool(form == .rendered))
    return try await ask(.get, "messages/\(id)", parameters) { answer throws(ZulipError) in
      // As on a page, and unlike in an event, it must say its flags.
      let message = try answer.object("message")
      return try ZulipMessage(message, flags: message.texts("flags"))
    }
  }

  // MARK: Changing

  /// Where a message goes.
  public enum Recipient: Hashable, Sendable {
    case channel(ChannelID, topic: String)
    /// The others of a direct conversation; oneself alone, or nobody, is a note to oneself.
    case direct([UserID])
  }

  /// What ties a message that is sent to its event.
  public struct Echo: Hashable, Sendable {
    /// The queue whose `message` event is to have ``localID``.
    public var queue: QueueID
    /// The client's own name for the message.
    public var localID: String

    public init(queue: QueueID, localID: String) {
      self.queue = queue
      self.localID = localID
    }
  }

  /// `POST /messages`. Asked twice, it sends twice: of a failure with ``ZulipFailure/hasLeft`` nobody can
  /// tell whether it was sent, but for the echo.
  /// - Parameters:
  ///   - recipient: where it goes.
  ///   - content: as it is typed, in Markdown.
  ///   - echo: what the message's event is to be known by; `nil`: nothing.
  ///   - deadline: of the whole answer; `nil`: ``ZulipSettings/deadline``.
  /// - Returns: the message's ID. Its event may have come before.
  @discardableResult
  public func send(
    _ recipient: Recipient, _ content: String, echo: Echo? = nil,
    within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) -> MessageID {
    var form = ZulipForm()
    switch recipient {
    case .channel(let channel, let topic):
      form.add("type", "stream")
      form.add("to", .number(channel.number))
      form.add("topic", .text(topic))
    case .direct(let users):
      form.add("type", "direct")
      form.add("to", .list(users.map { .number($0.number) }))
    }
    form.add("content", .text(content))
    form.add("queue_id", echo.map { .text($0.queue.text) })
    form.add("local_id", echo.map { .text($0.localID) })
    return try await ask(.post, "messages", form, within: deadline) { answer throws(ZulipError) in
      MessageID(try answer.number("id"))
    }
  }

  /// What is to be otherwise. What is `nil` stays.
  public struct Edit: Hashable, Sendable {
    /// Cannot be changed along with the channel.
    public var content: String?
    public var topic: String?
    public var channel: ChannelID?
    /// Which other messages of the topic move along; of no matter if only the content changes.
    public var moves: Moves = .one
    /// Whether a message in the old topic tells of the move, and one in the new topic.
    public var notifiesOldTopic = false
    public var notifiesNewTopic = false

    public enum Moves: String, Hashable, Sendable {
      case one = "change_one"
      case later = "change_later"
      case all = "change_all"
    }

    public init(content: String? = nil, topic: String? = nil, channel: ChannelID? = nil) {
      self.content = content
      self.topic = topic
      self.channel = channel
    }
  }

  /// `PATCH /messages/ID`: edits a message, moves it, or both.
  public func edit(_ id: MessageID, _ edit: Edit) async throws(ZulipFailure) {
    var form = ZulipForm()
    form.add("content", edit.content.map { .text($0) })
    form.add("topic", edit.topic.map { .text($0) })
    form.add("stream_id", edit.channel.map { .number($0.number) })
    if edit.topic != nil || edit.channel != nil {
      form.add("propagate_mode", .text(edit.moves.rawValue))
      form.add("send_notification_to_old_thread", .bool(edit.notifiesOldTopic))
      form.add("send_notification_to_new_thread", .bool(edit.notifiesNewTopic))
    }
    try await ask(.patch, "messages/\(id)", form) { _ throws(ZulipError) in }
  }

  /// `DELETE /messages/ID`.
  public func delete(_ id: MessageID) async throws(ZulipFailure) {
    try await ask(.delete, "messages/\(id)") { _ throws(ZulipError) in }
  }

  /// An emoji as the server names it.
  public struct Emoji: Hashable, Sendable {
    public var name: String
    /// With ``type``: which one it is, where the name alone does not say.
    public var code: String?
    /// "unicode_emoji", "realm_emoji" or "zulip_extra_emoji".
    public var type: String?

    public init(_ name: String, code: String? = nil, type: String? = nil) {
      self.name = name
      self.code = code
      self.type = type
    }
  }

  /// `POST` or `DELETE /messages/ID/reactions`: one's own reaction. One that is so already is
  /// `rejected`.
  public func react(
    to id: MessageID, with emoji: Emoji, isSet: Bool = true
  ) async throws(ZulipFailure) {
    var form = ZulipForm()
    form.add("emoji_name", .text(emoji.name))
    form.add("emoji_code", emoji.code.map { .text($0) })
    form.add("reaction_type", emoji.type.map { .text($0) })
    try await ask(isSet ? .post : .delete, "messages/\(id)/reactions", form) {
      _ throws(ZulipError) in
    }
  }

  /// Flags that a user sets.
  public enum Flag: String, Hashable, Sendable {
    case read, starred, collapsed
  }

  /// `POST /messages/flags`. Asked twice, it is as if asked once.
  /// - Returns: the messages that it was done to.
  @discardableResult
  public func setFlag(
    _ flag: Flag, of ids: [MessageID], isSet: Bool = true
  ) async throws(ZulipFailure) -> [MessageID] {
    var form = ZulipForm()
    form.add("messages", .list(ids.map { .number($0.number) }))
    form.add("op", isSet ? "add" : "remove")
    form.add("flag", .text(flag.rawValue))
    return try await ask(.post, "messages/flags", form) { answer throws(ZulipError) in
      try answer.numbers("messages").map { MessageID($0) }
    }
  }
}

extension ZulipPageRequest {
  var parameters: ZulipForm {
    var form = ZulipForm()
    form.add("anchor", .text(anchorText))
    form.add("num_before", .number(before))
    form.add("num_after", .number(after))
    form.add("include_anchor", .bool(includesAnchor))
    form.add("apply_markdown", .bool(self.form == .rendered))
    form.add("client_gravatar", true)
    if !narrow.terms.isEmpty { form.add("narrow", narrow.value) }
    return form
  }

  private var anchorText: String {
    switch anchor {
    case .oldest: "oldest"
    case .newest: "newest"
    case .serverChosen: "first_unread"
    case .id(let id): "\(id)"
    }
  }
}

extension ZulipNarrow {
  /// As the server reads it.
  var value: ZulipValue {
    .list(
      terms.map { term in
        let operand: ZulipValue =
          switch term.operand {
          case .number(let number): .number(number)
          case .numbers(let numbers): .list(numbers.map { .number($0) })
          case .text(let text): .text(text)
          }
        return ["operator": .text(term.name), "operand": operand, "negated": .bool(term.isNegated)]
      })
  }
}
