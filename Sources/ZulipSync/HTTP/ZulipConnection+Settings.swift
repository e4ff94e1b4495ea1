import MessageSync
internal import UpdateMachine

// What a user sets for good: how far a narrow is read, topics, subscriptions, the status. Each
// request may be repeated.

extension ZulipConnection {
  /// `POST /messages/flags/narrow`: marks all messages of a narrow up to one as read, in as many
  /// requests as the server needs.
  func markRead(
    _ narrow: ZulipNarrow, through last: MessageID, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) {
    // Otherwise each request would find those again that are read.
    let unread = ZulipNarrow(narrow.terms + [.init("is", .text("unread"))])
    var anchor = last
    var includesAnchor = true
    while true {
      var form = ZulipForm()
      form.add("anchor", .number(anchor.number))
      form.add("include_anchor", .bool(includesAnchor))
      form.add("num_before", .number(ZulipConnection.markedMaximum))
      form.add("num_after", 0)
      form.add("narrow", unread.value)
      form.add("op", "add")
      form.add("flag", .text(Flag.read.rawValue))
      let rest = try await ask(.post, "messages/flags/narrow", form, within: deadline) {
        answer throws(ZulipError) -> MessageID? in
        guard try !answer.bool("found_oldest") else { return nil }
        return try answer.numberIfPresent("first_processed_id").map { MessageID($0) }
      }
      // A server that goes no further has done what it can.
      guard let rest, rest < anchor || includesAnchor && rest == anchor else { return }
      anchor = rest
      includesAnchor = false
    }
  }

  /// The most messages that one request may mark. The server takes up to 5000.
  private static var markedMaximum: Int64 { 1000 }

  /// `POST /user_topics`: sets what the user wants of a topic.
  func set(
    _ visibility: ZulipVisibility, of topic: String, in channel: ChannelID,
    within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) {
    var form = ZulipForm()
    form.add("stream_id", .number(channel.number))
    form.add("topic", .text(topic))
    form.add("visibility_policy", .number(visibility.rawValue))
    try await ask(.post, "user_topics", form, within: deadline) { _ throws(ZulipError) in }
  }

  /// `POST` or `DELETE /users/me/subscriptions`, which know channels by name, as it is now.
  func subscribe(
    to channel: ChannelID, isSet: Bool, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) {
    let name = try await ask(.get, "streams/\(channel)", within: deadline) {
      answer throws(ZulipError) in
      try answer.object("stream").text("name")
    }
    var form = ZulipForm()
    let value: ZulipValue = isSet ? ["name": .text(name)] : .text(name)
    form.add("subscriptions", .list([value]))
    try await ask(isSet ? .post : .delete, "users/me/subscriptions", form, within: deadline) {
      _ throws(ZulipError) in
    }
  }

  /// `POST /users/me/status`: sets both parts of the user's status. What is empty is cleared.
  func setStatus(
    _ text: String, _ emoji: Emoji?, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) {
    var form = ZulipForm()
    form.add("status_text", .text(text))
    form.add("emoji_name", .text(emoji?.name ?? ""))
    form.add("emoji_code", .text(emoji?.code ?? ""))
    form.add("reaction_type", .text(emoji?.type ?? ""))
    try await ask(.post, "users/me/status", form, within: deadline) { _ throws(ZulipError) in }
  }
}
