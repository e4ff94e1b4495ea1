import MessageSync
internal import UpdateMachine

// What a user sets for good: how far a narrow is read, topics, subscriptions, the status. Each
// request may be repeated.

extension ZulipConnection {
  /// `POST /messages/flags/narrow`: marks all messages of a narrow up to one as read, in as many
  /// requests as the server needs. If a later one fails, the earlier ones have left.
  func markRead(
    _ narrow: ZulipNarrow, through last: MessageID, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) {
    var anchor = last
    for count in 0..<ZulipConnection.requestMaximum {
      let rest: MessageID?
      do throws(ZulipFailure) {
        rest = try await markRead(narrow, upTo: anchor, isFirst: count == 0, within: deadline)
      } catch {
        var failure = error
        if count > 0 { failure.hasLeft = true }
        throw failure
      }
      // A server that goes no further has done what it can.
      guard let rest, rest < anchor || count == 0 && rest == anchor else { return }
      anchor = rest
    }
  }

  /// Marks the newest unread messages of a narrow as read. Returns the oldest of them; `nil`: there
  /// are no others.
  private func markRead(
    _ narrow: ZulipNarrow, upTo anchor: MessageID, isFirst: Bool, within deadline: TimeSpan?
  ) async throws(ZulipFailure) -> MessageID? {
    // Otherwise each request would find those again that are read.
    let unread = ZulipNarrow(narrow.terms + [.init("is", .text("unread"))])
    var form = ZulipForm()
    form.add("anchor", .number(anchor.number))
    form.add("include_anchor", .bool(isFirst))
    form.add("num_before", .number(ZulipConnection.markedMaximum))
    form.add("num_after", 0)
    form.add("narrow", unread.value)
    form.add("op", "add")
    form.add("flag", .text(Flag.read.rawValue))
    return try await ask(.post, "messages/flags/narrow", form, within: deadline) {
      answer throws(ZulipError) -> MessageID? in
      guard try !answer.bool("found_oldest") else { return nil }
      return try answer.numberIfPresent("first_processed_id").map { MessageID($0) }
    }
  }

  /// The most messages that one request may mark: the server's own limit, so that mostly one event
  /// tells of them all.
  private static var markedMaximum: Int64 { 5000 }

  /// The most requests for one narrow. No user has more unread messages.
  private static var requestMaximum: Int { 50 }

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

  /// `GET /users/me`: returns the user whose key the connection has.
  func myself(within deadline: TimeSpan? = nil) async throws(ZulipFailure) -> UserID {
    try await ask(.get, "users/me", within: deadline) { answer throws(ZulipError) in
      UserID(try answer.number("user_id"))
    }
  }

  /// `POST` or `DELETE /users/me/subscriptions`, which know channels by name, as it is now. A user
  /// who cannot see a channel has no subscription that could be ended.
  func subscribe(
    to channel: ChannelID, isSet: Bool, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) {
    let name: String
    do throws(ZulipFailure) {
      name = try await ask(.get, "streams/\(channel)", within: deadline) {
        answer throws(ZulipError) in
        try answer.object("stream").text("name")
      }
    } catch {
      if !isSet, case .rejected = error.failure { return }
      throw error
    }
    var form = ZulipForm()
    let value: ZulipValue = isSet ? ["name": .text(name)] : .text(name)
    form.add("subscriptions", .list([value]))
    try await ask(isSet ? .post : .delete, "users/me/subscriptions", form, within: deadline) {
      _ throws(ZulipError) in
    }
  }

  /// `POST /users/me/status`: sets both parts of the user's status. What is empty is cleared. The
  /// server finds the code and the type of an emoji only if they are left out.
  func setStatus(
    _ text: String, _ emoji: Emoji?, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) {
    var form = ZulipForm()
    form.add("status_text", .text(text))
    form.add("emoji_name", .text(emoji?.name ?? ""))
    form.add("emoji_code", emoji?.code.map { .text($0) })
    form.add("reaction_type", emoji?.type.map { .text($0) })
    try await ask(.post, "users/me/status", form, within: deadline) { _ throws(ZulipError) in }
  }
}
