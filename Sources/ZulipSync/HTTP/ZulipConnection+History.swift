public import MessageSync
public import UpdateMachine

extension ZulipConnection {
  /// A message as it was after an edit, or when it was sent.
  ///
  /// If the organization shows moves only, edits of nothing but the content are missing, and
  /// `previousContent` is `nil`.
  public struct Revision: Hashable, Sendable {
    /// When it was edited or sent, in the server's seconds since the epoch.
    public let time: Int64
    /// The user who edited or sent it; `nil` for old edits, of which the server does not know.
    public let user: UserID?
    /// The content afterwards, as typed.
    public let content: String
    /// The content afterwards, as HTML.
    public let html: String
    /// The content before, as typed; `nil` if this edit did not change it, or if the organization
    /// shows moves only.
    public let previousContent: String?
    /// The topic afterwards; `nil` or empty for a direct message.
    public let topic: String?
    /// The topic before; `nil` if this edit did not change it.
    public let previousTopic: String?
    /// The channel afterwards; `nil` if this edit did not change it.
    public let channel: ChannelID?
    /// The channel before; `nil` if this edit did not change it.
    public let previousChannel: ChannelID?

    init(_ entry: ZulipReading) throws(ZulipError) {
      time = try entry.number("timestamp")
      user = try entry.numberIfPresent("user_id").map { UserID($0) }
      content = try entry.text("content")
      html = try entry.text("rendered_content")
      previousContent = try entry.textIfPresent("prev_content")
      topic = try entry.textIfPresent("topic")
      previousTopic = try entry.textIfPresent("prev_topic")
      channel = try entry.numberIfPresent("stream").map { ChannelID($0) }
      previousChannel = try entry.numberIfPresent("prev_stream").map { ChannelID($0) }
    }
  }

  /// `GET /messages/ID/history`: fetches the revisions of a message, the oldest first. The first is
  /// the message as it was sent; each other one is an edit. Throws `rejected` if the organization
  /// does not show them, or if the user may not see the message.
  public func editHistory(
    of id: MessageID, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) -> [Revision] {
    try await ask(.get, "messages/\(id)/history", within: deadline) { answer throws(ZulipError) in
      var revisions: [Revision] = []
      for entry in try answer.objects("message_history") { revisions.append(try Revision(entry)) }
      return revisions
    }
  }

  /// `POST /messages/render`: has the server turn a text into HTML, as in a message. It sends no
  /// message.
  /// - Parameters:
  ///   - content: the text as typed, in Markdown.
  ///   - deadline: for the whole answer; `nil` means ``ZulipSettings/deadline``.
  public func render(
    _ content: String, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) -> String {
    var form = ZulipForm()
    form.add("content", .text(content))
    return try await ask(.post, "messages/render", form, within: deadline) {
      answer throws(ZulipError) in
      try answer.text("rendered")
    }
  }
}
