internal import MessageSync
public import SyncProtocols
public import UpdateMachine

extension ZulipAccount {
  /// Returns all messages that the user has sent and the account does not have yet, oldest first.
  ///
  /// - Parameter local: the local changes, which are kept beside the account.
  package func echoes(_ local: LocalChanges<ZulipChange>) -> [ZulipEcho] {
    let outbox = local.outbox
    var echoes: [ZulipEcho] = []
    for pending in outbox.pending where pending.refusal == nil {
      guard case .send(let message) = pending.change else { continue }
      let state: ZulipEcho.State =
        switch outbox.state(of: pending.ticket) {
        case .uncertain: .uncertain
        case .sent: .sent
        default: .queued
        }
      echoes.append(ZulipEcho(ticket: pending.ticket, message: message, state: state))
    }
    for aside in outbox.setAside {
      guard case .send(let message) = aside.change else { continue }
      let state: ZulipEcho.State =
        switch aside.reason {
        case .threw(let refusal): .impossible(refusal)
        case .refused(let code): .refused(code)
        }
      echoes.append(ZulipEcho(ticket: aside.ticket, message: message, state: state))
    }
    return echoes.sorted { $0.ticket < $1.ticket }
  }

  /// Returns the echoes that will certainly be in a list, oldest first. One that the list has by
  /// now is shown there.
  package func echoes(
    _ local: LocalChanges<ZulipChange>, in list: ZulipMessageList
  ) -> [ZulipEcho] {
    echoes(local).filter { echo in
      let pending = local.outbox.pending.first { $0.ticket == echo.ticket }
      if let id = pending?.created, lists.message(MessageID(id), in: list) != nil { return false }
      return list.verdict(on: partialMessage(of: echo.message)) == .yes
    }
  }

  /// The parts of a message that are known before it has an ID: later than all others, read, and
  /// not starred.
  func partialMessage(of message: ZulipOutgoing) -> PartialMessage<ZulipContent> {
    var partialMessage = PartialMessage<ZulipContent>(MessageID(.max))
    partialMessage.sender = realm.myself
    partialMessage.flags = .read
    partialMessage.flagsShown = [.read, .starred, .historical, .outsideFeed]
    switch message.recipient {
    case .channel(let channel, let topic):
      partialMessage.place = .zulip(channel, topic: topic)
      partialMessage.channel = channel
    case .direct(let users):
      let all = users + [realm.myself].compactMap { $0 }
      partialMessage.place = .direct(ConversationID(zulip: all))
    }
    return partialMessage
  }
}

extension ReplicaState where Model == ZulipAccount {
  /// All messages that the user has sent and the account does not have yet, oldest first.
  public var echoes: [ZulipEcho] {
    guard let model, let local else { return [] }
    return model.echoes(local)
  }

  /// Returns the echoes that will certainly be in a list, oldest first. The list's views and the
  /// account's states arrive separately: for a moment a message may be in both, or in neither.
  public func echoes(in list: ZulipMessageList) -> [ZulipEcho] {
    guard let model, let local else { return [] }
    return model.echoes(local, in: list)
  }
}

extension ZulipAccountSource {
  /// Sends the changes. A refusal carries the server's own words where its code says nothing. If a
  /// queue is known, the server is asked to identify each message in that message's event. A server
  /// without idempotency gets one change at a time. A message that may have been sent before is
  /// looked for in its conversation.
  public func push(
    _ push: PushRequest<ZulipChange>, at finger: QueueFinger?
  ) async throws(PushFailure) -> PushAnswer {
    var answer = PushAnswer.accepted
    for item in push.mutations {
      do throws(ZulipFailure) {
        if let above = push.seeksAbove {
          return try await search(for: item.change, above: MessageID(above))
        }
        answer = try await make(item.change, as: ZulipLocalID(push.client, item.ticket))
      } catch {
        throw PushFailure(error.failureOfChange, hasLeft: error.hasLeft)
      }
    }
    return push.mutations.count == 1 ? answer : .accepted
  }

  private func make(
    _ change: ZulipChange, as local: ZulipLocalID
  ) async throws(ZulipFailure) -> PushAnswer {
    let ceiling = ZulipSource.ceiling
    switch change {
    case .send(let message):
      let id = try await connection.send(
        message.recipient, message.content,
        echo: stateSource.queue.current.map { .init(queue: $0, localID: local.text) },
        within: ceiling)
      return .created(id.number)
    case .edit(let id, let edit):
      do throws(ZulipFailure) {
        try await connection.edit(id, edit, within: ceiling)
      } catch {
        // An earlier copy may have done it, and the server not take a second one.
        guard case .rejected = error.failure, try await isDone(edit, id) else { throw error }
      }
    case .flag(let ids, let flag, let isSet):
      try await connection.setFlag(flag, of: ids, isSet: isSet, within: ceiling)
    case .delete(let id):
      do throws(ZulipFailure) {
        try await connection.delete(id, within: ceiling)
      } catch {
        // An earlier copy, or somebody else, may have deleted it.
        guard case .rejected = error.failure, try await isGone(id) else { throw error }
      }
    case .react(let id, let emoji, let isSet):
      do throws(ZulipFailure) {
        try await connection.react(to: id, with: emoji, isSet: isSet, within: ceiling)
      } catch {
        let done = RejectionCode(isSet ? "REACTION_ALREADY_EXISTS" : "REACTION_DOES_NOT_EXIST")
        guard error.failure == .rejected(done) else { throw error }
      }
    case .read(let narrow, let last):
      do throws(ZulipFailure) {
        try await connection.markRead(narrow, through: last, within: ceiling)
      } catch {
        // Nothing of such a narrow is in the user's sight. All reading would wait for a decision.
        guard error.failure == .rejected(RejectionCode("BAD_NARROW")) else { throw error }
      }
    case .topic(let channel, let topic, let visibility):
      try await connection.set(visibility, of: topic, in: channel, within: ceiling)
    case .subscribe(let channel, let isSet):
      try await connection.subscribe(to: channel, isSet: isSet, within: ceiling)
    case .status(let text, let emoji):
      try await connection.setStatus(text, emoji, within: ceiling)
    case .draft(let former, let draft): return try await replace(former, by: draft)
    }
    return .accepted
  }

  /// Whether a message is as an edit wants it.
  private func isDone(
    _ edit: ZulipConnection.Edit, _ id: MessageID
  ) async throws(ZulipFailure) -> Bool {
    do throws(ZulipFailure) {
      let found = try await connection.message(id, form: .raw, within: ZulipSource.ceiling).message
      return edit.content.map { ZulipAccount.isSame(found.content.text, $0) } ?? true
        && (!edit.isMove || edit.isIn(found.place))
    } catch {
      guard case .rejected = error.failure else { throw error }
      return false
    }
  }

  /// Whether there is no such message, or it is out of the user's sight: the server does not say
  /// which.
  private func isGone(_ id: MessageID) async throws(ZulipFailure) -> Bool {
    do throws(ZulipFailure) {
      _ = try await connection.message(id, form: .raw, within: ZulipSource.ceiling)
      return false
    } catch {
      guard error.failure == .rejected(.badRequest) else { throw error }
      return true
    }
  }
}
