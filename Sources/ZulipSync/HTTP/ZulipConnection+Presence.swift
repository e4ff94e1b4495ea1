internal import MessageSync
public import UpdateMachine

extension ZulipConnection {
  /// `POST /typing`: tells others that the user is typing, or has stopped.
  ///
  /// Others take the user to be typing until they are told of the end, or until
  /// `server_typing_started_expiry_period_milliseconds` of the server's state have passed. An app
  /// repeats the start each `server_typing_started_wait_period_milliseconds` while the user types.
  /// It does not count as presence.
  ///
  /// Throws `rejected` if a setting of the user forbids it, or for `.direct([])`, of which nobody
  /// would hear.
  /// - Parameters:
  ///   - recipient: where the message would go.
  ///   - isTyping: `false` if the user has stopped.
  ///   - deadline: for the whole answer; `nil` means ``ZulipSettings/deadline``.
  public func sendTyping(
    to recipient: Recipient, isTyping: Bool = true, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) {
    var form = ZulipForm()
    form.add("op", isTyping ? "start" : "stop")
    switch recipient {
    case .channel(let channel, let topic):
      form.add("type", "stream")
      form.add("stream_id", .number(channel.number))
      // Servers below feature level 215 want the channel here. Newer ones ignore it.
      form.add("to", [.number(channel.number)])
      form.add("topic", .text(topic))
    case .direct(let users):
      form.add("type", "direct")
      form.add("to", .list(users.map { .number($0.number) }))
    }
    try await ask(.post, "typing", form, within: deadline) { _ throws(ZulipError) in }
  }

  /// `POST /users/me/presence`: tells others that the user is there. An app repeats it each
  /// `server_presence_ping_interval_seconds` of the server's state (60 s) while it runs for its
  /// user. There is no request for the end: <doc:Presence>.
  /// - Parameters:
  ///   - isActive: whether the user has used the device in the last minutes. Otherwise others see
  ///     the user as idle.
  ///   - hasNewInput: whether the user has done something since the last report.
  ///   - deadline: for the whole answer; `nil` means ``ZulipSettings/deadline``.
  public func sendPresence(
    isActive: Bool, hasNewInput: Bool = false, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) {
    var form = ZulipForm()
    form.add("status", isActive ? "active" : "idle")
    form.add("new_user_input", .bool(hasNewInput))
    // Otherwise the answer has everybody's presence.
    form.add("ping_only", true)
    try await ask(.post, "users/me/presence", form, within: deadline) { _ throws(ZulipError) in }
  }
}
