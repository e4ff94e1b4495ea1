internal import SyncProtocols
internal import UpdateMachine

// Situations of the user's changes, the outbox and undo.

extension SituationWatch {
  /// Answers to pushes, and their deadline.
  func recognisePush(_ taken: Taken) {
    switch taken.input {
    case .pushAnswered(let id, let answer):
      note(.secondPushAnswer, if: taken.isCopy)
      note(.pushAnswerAfterLogOut, if: taken.device.isLoggedOut)
      if taken.before.outbox?.isCurrent(id) == true {
        recognise(answer, taken)
      } else if !taken.isCopy {
        recogniseLate(answer, to: id, taken)
      }
    case .fired(let timer) where timer.part == .outbox:
      note(.pushTimesOut, if: taken.push != nil && taken.effects.outbox.cancel != nil)
    default: break
    }
  }

  private func recognise(_ answer: PushAnswer, _ taken: Taken) {
    switch answer {
    case .accepted, .created, .absent: break
    case .refused:
      let later = taken.after.pending.contains { $0.stage == .unsent }
      note(.refusalBeforeLaterChanges, if: later)
    case .acceptedOnly: note(.pushTakenInPart)
    case .behind: note(.pushBehind)
    case .tooLarge: note(.pushTooLarge)
    }
  }

  /// The answer to a push that was given up. A retry carries some of its mutations again.
  private func recogniseLate(_ answer: PushAnswer, to id: RequestID, _ taken: Taken) {
    guard let retry = taken.push, let old = taken.device.pushes.first(where: { $0.id == id }),
      old.first <= retry.last, retry.first <= old.last
    else { return }
    switch answer {
    case .accepted, .created: note(.acceptanceWhileRetryOut)
    case .refused: note(.refusalWhileRetryOut)
    case .absent, .acceptedOnly, .behind, .tooLarge: break
    }
  }

  /// What news of the server's state does to pending changes.
  func recogniseNews(_ taken: Taken) {
    switch taken.input {
    case .batchArrived, .snapshotArrived, .pageArrived, .rowsRead: break
    default: return
    }
    guard let before = taken.before.outbox, let after = taken.after.outbox else { return }
    if before.client != after.client {
      note(.nameLostWithChanges, if: before.count > 0 && before.client != .nameless)
      return
    }
    note(.changeOverruled, if: after.overruledCount > before.overruledCount)
    if let push = taken.push {
      let isInPush = { (id: MutationID?) in
        guard let id else { return false }
        return push.first <= id && id <= push.last
      }
      let isThere = before.pending.contains { isInPush($0.id) }
      let stays = after.pending.contains { isInPush($0.id) }
      note(.confirmationBeforeAnswer, if: isThere && !stays)
    }
    for item in before.pending {
      let ticket = item.ticket
      if case .uncertain = item.stage {
        let state = after.state(of: ticket)
        note(.echoSettlesUncertainChange, if: state == .acknowledged || state == .overruled)
      }
      guard let same = after.pending.first(where: { $0.ticket == ticket }) else { continue }
      note(.changeThrowsOverNews, if: item.refusal == nil && same.refusal != nil)
      note(.thrownChangeHeals, if: item.refusal != nil && same.refusal == nil)
    }
  }

  /// What a user does, while something else goes on.
  func recognise(
    _ deed: Deed, from before: Body, to after: Body, _ effects: Body.Effects,
    _ around: Surroundings, _ device: Device
  ) {
    var push: OutstandingPush?
    if case .pushing(let out)? = before.outbox?.status { push = out }
    let isMade =
      (after.outbox?.newestTicket.number ?? 0) > (before.outbox?.newestTicket.number ?? 0)
    switch deed {
    case .mutates:
      guard isMade else { return }
      note(.changeWhilePushOut, if: push != nil)
      note(.changeWhileSaving, if: around.isSaving)
      note(.changeBeforeFirstState, if: before.model == nil)
    case .undoes:
      let count = before.pending.count
      note(.undoOfUnsentChange, if: !isMade && after.pending.count < count)
      guard isMade, let push, let undo = newest(after)?.takesBack else { return }
      note(.undoOfChangeInPush, if: carries(push, before) { $0.tickets.contains(undo) })
    case .redoes:
      guard isMade, let push, let undo = newest(after)?.takesBack else { return }
      note(
        .redoWhileUndoInPush,
        if: carries(push, before) { $0.tickets.contains(undo) && $0.takesBack != nil })
    case .decides: note(.decisionWhilePushOut, if: push != nil)
    case .retries(let ticket):
      note(.decisionWhilePushOut, if: push != nil)
      note(.retryOfUncertainChange, if: before.outbox?.state(of: ticket) == .uncertain)
    case .opens(let narrow):
      let isOut = device.fetches.contains { $0.narrow == narrow }
      note(.windowSharesFetch, if: isOut && effects.pages.fetch.isEmpty)
    }
  }

  /// The change that was made last, while it is pending.
  private func newest(_ body: Body) -> PendingMutation<Model.Change>? {
    guard let ticket = body.outbox?.newestTicket else { return nil }
    return body.pending.first { $0.tickets.contains(ticket) }
  }

  /// Whether a push carries a pending mutation like this.
  private func carries(
    _ push: OutstandingPush, _ body: Body, where isMeant: (PendingMutation<Model.Change>) -> Bool
  ) -> Bool {
    body.pending.contains { item in
      guard let id = item.id else { return false }
      return push.first <= id && id <= push.last && isMeant(item)
    }
  }

  /// A push reaches the server.
  ///
  /// - Parameters:
  ///   - number: the same for each copy of a push.
  ///   - isOfProcess: whether the process that sent it still runs.
  func pushArrives(
    _ client: Int, _ push: PushRequest<Model.Change>, number: UInt64, isOfProcess: Bool,
    _ body: Body
  ) {
    let device = devices[client]
    note(.pushAfterCrash, if: !isOfProcess)
    if isOfProcess { note(.pushAfterLogOut, if: device.isLoggedOut) }
    if device.arrived.contains(number), isOfProcess, let outbox = body.outbox,
      outbox.client == push.client
    {
      let isPending = outbox.pending.contains { item in
        push.mutations.contains { $0.id == item.id }
      }
      note(.pushAgainAfterConfirmation, if: !isPending)
    }
    device.arrived.append(number)
  }
}
