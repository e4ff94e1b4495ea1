internal import MessageSync
public import SyncProtocols
public import UpdateMachine

extension ZulipAccount {
  /// Returns all messages that the user has sent and the account does not have yet, oldest first.
  ///
  /// - Parameter local: the local changes, which are kept beside the account.
  package func echoes(_ local: LocalChanges<ZulipOutgoing>) -> [ZulipEcho] {
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

  /// Returns the echoes that will certainly be in a list, oldest first.
  package func echoes(
    _ local: LocalChanges<ZulipOutgoing>, in list: ZulipMessageList
  ) -> [ZulipEcho] {
    echoes(local).filter { list.verdict(on: partialMessage(of: $0.message)) == .yes }
  }

  /// The parts of a message that are known before it has an ID: later than all others, read, and
  /// not starred.
  private func partialMessage(of message: ZulipOutgoing) -> PartialMessage<ZulipContent> {
    var partialMessage = PartialMessage<ZulipContent>(MessageID(.max))
    partialMessage.sender = state.myself
    partialMessage.flags = .read
    partialMessage.flagsShown = [.read, .starred, .historical, .outsideFeed]
    switch message.recipient {
    case .channel(let channel, let topic):
      partialMessage.place = .zulip(channel, topic: topic)
      partialMessage.channel = channel
    case .direct(let users):
      let all = users + [state.myself].compactMap { $0 }
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
  /// Sends the mutations. If a queue is known, it asks the server to identify each message in that
  /// message's event. A server without idempotency gets one mutation at a time.
  public func push(
    _ push: PushRequest<ZulipOutgoing>, at finger: QueueFinger?
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
