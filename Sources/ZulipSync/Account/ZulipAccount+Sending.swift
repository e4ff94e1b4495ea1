internal import MessageSync
public import UpdateMachine

extension ZulipAccount {
  /// What the user has sent and the account has not, oldest first: all of it.
  ///
  /// - Parameter local: the changes beside the account.
  public func echoes(_ local: LocalChanges<ZulipOutgoing>) -> [ZulipEcho] {
    let outbox = local.outbox
    var echoes: [ZulipEcho] = []
    for pending in outbox.pending where pending.refusal == nil {
      let state: ZulipEcho.State =
        switch outbox.state(of: pending.ticket) {
        case .uncertain: .uncertain
        case .sent: .sent
        default: .queued
        }
      echoes.append(ZulipEcho(ticket: pending.ticket, message: pending.change, state: state))
    }
    for aside in outbox.setAside {
      let state: ZulipEcho.State =
        switch aside.reason {
        case .threw(let refusal): .impossible(refusal)
        case .refused(let code): .refused(code)
        }
      echoes.append(ZulipEcho(ticket: aside.ticket, message: aside.change, state: state))
    }
    return echoes.sorted { $0.ticket < $1.ticket }
  }

  /// Those of them that will certainly be in a list, oldest first.
  public func echoes(
    _ local: LocalChanges<ZulipOutgoing>, in list: ZulipMessageList
  ) -> [ZulipEcho] {
    echoes(local).filter { list.verdict(on: glimpse(of: $0.message)) == .yes }
  }

  /// What is known of a message before it has an ID: later than all others, read, and not starred.
  private func glimpse(of message: ZulipOutgoing) -> MessageGlimpse<ZulipContent> {
    var glimpse = MessageGlimpse<ZulipContent>(MessageID(.max))
    glimpse.sender = state.myself
    glimpse.flags = .read
    glimpse.flagsShown = [.read, .starred, .historical]
    switch message.recipient {
    case .channel(let channel, let topic):
      glimpse.place = .zulip(channel, topic: topic)
      glimpse.channel = channel
    case .direct(let users):
      let all = users + [state.myself].compactMap { $0 }
      glimpse.place = .direct(ConversationID(zulip: all))
    }
    return glimpse
  }
}

extension ReplicaState where Model == ZulipAccount {
  /// What the user has sent and the account has not, oldest first: all of it.
  public var echoes: [ZulipEcho] {
    guard let model, let local else { return [] }
    return model.echoes(local)
  }

  /// Those of them that will certainly be in a list, oldest first. Its views and the account's states
  /// are told one after the other: for a moment a message may be in both, or in neither.
  public func echoes(in list: ZulipMessageList) -> [ZulipEcho] {
    guard let model, let local else { return [] }
    return model.echoes(local, in: list)
  }
}

extension ZulipAccountSource {
  /// Sends one message, and asks that its event say which it is. A server without idempotency is given
  /// one at a time.
  public func push(
    _ push: Outbox<ZulipOutgoing>.Push
  ) async throws(PushFailure) -> PushAnswer {
    for item in push.mutations {
      let local = ZulipLocalID(push.client, item.ticket)
      do throws(ZulipFailure) {
        try await connection.send(
          item.change.recipient, item.change.content,
          echo: stateSource.queue.current.map { .init(queue: $0, localID: local.text) },
          within: ZulipSource.ceiling)
      } catch {
        throw PushFailure(error.failure, hasLeft: error.hasLeft)
      }
    }
    return .accepted
  }
}
