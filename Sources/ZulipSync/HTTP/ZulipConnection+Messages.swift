public import MessageSync
package import SyncProtocols
public import UpdateMachine

extension ZulipConnection {
  /// `GET /messages`: fetches some messages of a narrow.
  package func messages(
    _ request: ZulipPageRequest, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) -> ZulipPage {
    try await ask(.get, "messages", request.parameters, within: deadline) {
      answer throws(ZulipError) in
      try ZulipPage(answer)
    }
  }

  /// `GET /messages/ID`: fetches one message that the user may see, even if it was not sent to the
  /// user. Throws `rejected` if there is none.
  public func message(
    _ id: MessageID, form: ZulipContent.Form = .rendered
  ) async throws(ZulipFailure) -> ZulipMessage {
    try await message(id, form: form, within: nil)
  }

  func message(
    _ id: MessageID, form: ZulipContent.Form, within deadline: TimeSpan?
  ) async throws(ZulipFailure) -> ZulipMessage {
    var parameters = ZulipForm()
    parameters.add("apply_markdown", .bool(form == .rendered))
    return try await ask(.get, "messages/\(id)", parameters, within: deadline) {
      answer throws(ZulipError) in
      // As on a page, and unlike in an event, the message must have its flags.
      let message = try answer.object("message")
      return try ZulipMessage(message, flags: message.texts("flags"))
    }
  }

  // MARK: Changing

  /// The destination of a message.
  public enum Recipient: Hashable, Sendable {
    /// A topic of a channel, in any spelling. It begins with its first message.
    case channel(ChannelID, topic: String)
    /// The other users of a direct conversation. The user alone means a note to oneself; a message
    /// to nobody is refused.
    case direct([UserID])
  }

  /// The link between a sent message and its event.
  package struct Echo: Hashable, Sendable {
    /// The queue whose `message` event will carry `localID`.
    package var queue: QueueID
    /// The client's own name for the message.
    package var localID: String

    package init(queue: QueueID, localID: String) {
      self.queue = queue
      self.localID = localID
    }
  }

  /// `POST /messages`: sends a message. Calling it twice sends two messages. After a failure with
  /// ``ZulipFailure/hasLeft`` it is unknown whether it was sent. A message from the outbox
  /// (``ZulipOutgoing``) is recognised by its event.
  /// - Parameters:
  ///   - recipient: the destination.
  ///   - content: the text as typed, in Markdown.
  ///   - deadline: for the whole answer; `nil` means ``ZulipSettings/deadline``.
  /// - Returns: the message's ID. Its event may have arrived before.
  @discardableResult
  public func send(
    _ recipient: Recipient, _ content: String, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) -> MessageID {
    try await send(recipient, content, echo: nil, within: deadline)
  }

  /// Sends a message that its event will identify, if there is an echo.
  @discardableResult
  package func send(
    _ recipient: Recipient, _ content: String, echo: Echo?, within deadline: TimeSpan? = nil
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
    // Otherwise the user's own message is unread, unless the server knows the program's name. A
    // server below feature level 236 ignores this.
    form.add("read_by_sender", true)
    form.add("queue_id", echo.map { .text($0.queue.text) })
    form.add("local_id", echo.map { .text($0.localID) })
    return try await ask(.post, "messages", form, within: deadline) { answer throws(ZulipError) in
      MessageID(try answer.number("id"))
    }
  }

  /// The changes of an edit. A `nil` part stays as it is.
  public struct Edit: Hashable, Sendable {
    /// The new content. It cannot be changed together with the channel.
    package var content: String?
    package var topic: String?
    package var channel: ChannelID?
    /// Which other messages of the topic move along. Ignored if only the content changes.
    public var moves: Moves = .one
    /// Whether to post a notice of the move in the old topic. By default none.
    public var notifiesOldTopic = false
    /// Whether to post a notice of the move in the new topic. By default none.
    public var notifiesNewTopic = false

    /// The messages of a topic that move with an edited one.
    public enum Moves: String, Hashable, Sendable {
      /// Only the message itself.
      case one = "change_one"
      /// The message and those after it in its topic.
      case later = "change_later"
      /// All messages of its topic.
      case all = "change_all"
    }

    /// Creates an edit of the given parts. By default only this message moves, and no notice is
    /// posted.
    public init(content: String? = nil, topic: String? = nil, channel: ChannelID? = nil) {
      self.content = content
      self.topic = topic
      self.channel = channel
    }
  }

  /// `PATCH /messages/ID`: edits a message, moves it, or both.
  public func edit(
    _ id: MessageID, _ edit: Edit, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) {
    var form = ZulipForm()
    form.add("content", edit.content.map { .text($0) })
    form.add("topic", edit.topic.map { .text($0) })
    form.add("stream_id", edit.channel.map { .number($0.number) })
    if edit.topic != nil || edit.channel != nil {
      form.add("propagate_mode", .text(edit.moves.rawValue))
      form.add("send_notification_to_old_thread", .bool(edit.notifiesOldTopic))
      form.add("send_notification_to_new_thread", .bool(edit.notifiesNewTopic))
    }
    try await ask(.patch, "messages/\(id)", form, within: deadline) { _ throws(ZulipError) in }
  }

  /// `DELETE /messages/ID`.
  public func delete(
    _ id: MessageID, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) {
    try await ask(.delete, "messages/\(id)", within: deadline) { _ throws(ZulipError) in }
  }

  /// An emoji as the server names it.
  public struct Emoji: Hashable, Sendable {
    package var name: String
    /// The emoji's code, within `type`. Needed where the name alone is ambiguous.
    package var code: String?
    /// "unicode_emoji", "realm_emoji" or "zulip_extra_emoji".
    package var type: String?

    /// Creates an emoji from its name, with its code and type where the name is ambiguous.
    public init(_ name: String, code: String? = nil, type: String? = nil) {
      self.name = name
      self.code = code
      self.type = type
    }
  }

  /// `POST` or `DELETE /messages/ID/reactions`: adds or removes the user's own reaction. Throws
  /// `rejected` if nothing would change.
  public func react(
    to id: MessageID, with emoji: Emoji, isSet: Bool = true, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) {
    var form = ZulipForm()
    form.add("emoji_name", .text(emoji.name))
    form.add("emoji_code", emoji.code.map { .text($0) })
    form.add("reaction_type", emoji.type.map { .text($0) })
    try await ask(isSet ? .post : .delete, "messages/\(id)/reactions", form, within: deadline) {
      _ throws(ZulipError) in
    }
  }

  /// The flags that a user can set.
  public enum Flag: String, Hashable, Sendable {
    /// One of the user's own flags, under the server's name.
    case read, starred, collapsed
  }

  /// `POST /messages/flags`: sets or clears a flag. It is idempotent.
  /// - Returns: the messages that the server reports as changed.
  @discardableResult
  public func setFlag(
    _ flag: Flag, of ids: [MessageID], isSet: Bool = true, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) -> [MessageID] {
    var form = ZulipForm()
    form.add("messages", .list(ids.map { .number($0.number) }))
    form.add("op", isSet ? "add" : "remove")
    form.add("flag", .text(flag.rawValue))
    return try await ask(.post, "messages/flags", form, within: deadline) {
      answer throws(ZulipError) in
      // Without the list it is a success all the same.
      answer.has("messages") ? try answer.numbers("messages").map { MessageID($0) } : []
    }
  }
}

extension ZulipPageRequest {
  package var parameters: ZulipForm {
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
  /// The narrow as JSON for the server.
  var value: ZulipValue {
    .list(
      terms.map(\.wired).map { term in
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

extension ZulipNarrow.Term {
  /// The term in words that the server knows: it lists unread messages and those that are not, but
  /// refuses `is:read`.
  fileprivate var wired: ZulipNarrow.Term {
    guard name == "is", operand == .text("read") else { return self }
    return .init("is", .text("unread"), isNegated: !isNegated)
  }
}
