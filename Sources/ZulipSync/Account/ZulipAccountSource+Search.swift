internal import MessageSync
internal import UpdateMachine

// A message that was sent without an answer is looked for in its conversation. The server tells its
// `local_id` only in the event of the queue that was named when it was sent. So it is recognised by
// what the user wrote, among the user's own messages that came after all that were known then.

extension ZulipAccountSource {
  /// - Parameter id: what was sent has a greater ID.
  func search(
    for change: ZulipChange, above id: MessageID
  ) async throws(ZulipFailure) -> PushAnswer {
    guard case .send(let message) = change, let found = try await find(message, above: id) else {
      return .absent
    }
    return .created(found.number)
  }

  /// Returns the oldest such message; `nil`: there is none.
  private func find(
    _ message: ZulipOutgoing, above id: MessageID
  ) async throws(ZulipFailure) -> MessageID? {
    let me = try await connection.myself(within: ZulipSource.ceiling)
    var last = id
    while true {
      var request = ZulipPageRequest(
        message.recipient.narrow(of: me), .id(last), before: 0, after: 100, form: .raw)
      request.includesAnchor = false
      let page = try await connection.messages(request, within: ZulipSource.ceiling)
      let new = page.messages.filter { $0.id > last }
      if let found = new.first(where: { message.isSent(by: me, as: $0) }) {
        return found.id
      }
      guard !page.foundNewest, let next = new.last?.id else { return nil }
      last = next
    }
  }
}

extension ZulipConnection.Recipient {
  /// What a user has sent there.
  fileprivate func narrow(of me: UserID) -> ZulipNarrow {
    let sender = ZulipNarrow.Term("sender", .number(me.number))
    switch self {
    case .channel(let channel, let topic):
      return ZulipNarrow([
        .init("channel", .number(channel.number)), .init("topic", .text(topic)), sender,
      ])
    case .direct(let users):
      let others = users.isEmpty ? [me] : users
      return ZulipNarrow([.init("dm", .numbers(others.map(\.number))), sender])
    }
  }
}

extension ZulipOutgoing {
  fileprivate func isSent(by user: UserID, as message: ZulipMessage) -> Bool {
    message.sender == user && ZulipAccount.isSame(message.content.text, content)
  }
}
