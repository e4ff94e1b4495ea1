internal import MessageSync
internal import Simulator
internal import UpdateMachine
internal import ZulipServer
internal import ZulipSync

// The user's drafts, and what the user is owed of them.

extension ZulipUser {
  /// Creates a draft, or edits or deletes one that is seen: as the state has it or, as an app that
  /// has just made it, without an ID.
  func anyDraft(
    _ client: Body, _ truth: ZulipTruth, _ choices: inout Choices
  ) -> ZulipChange {
    let seen = client.local?.view.state.realm.drafts ?? []
    let outbox = client.local?.outbox
    let draft = ZulipDraft(
      choices.pick(
        .users,
        [
          nil, .direct([UserID(9)]), .direct([]), .channel(ChannelID(1), topic: "lunch"),
          .channel(ChannelID(4), topic: "soup"),
        ]),
      "draft \(outbox?.client.number ?? 0).\(outbox?.newestTicket.number ?? 0)."
        + "\(truth.changeCount)",
      at: truth.time)
    guard !seen.isEmpty, choices.happens(.users, 3, in: 4) else {
      return .draft(nil, becomes: draft)
    }
    var former = seen[Int(choices.draw(.users, below: UInt64(seen.count)))]
    if choices.happens(.users, 1, in: 2) {
      former = ZulipDraft(former.recipient, former.content, at: former.editedAt)
    }
    let isEdit = choices.happens(.users, 2, in: 3)
    return .draft(former, becomes: isEdit ? draft : nil)
  }

  /// Each text is of one change. So two drafts with one text were created by one change. An undo
  /// may create once more what was deleted, but it has deleted it first.
  static func objectionToCopiedDrafts(_ truth: ZulipTruth) -> UserObjection? {
    let drafts = truth.realm.settings.drafts(of: ZulipTruth.me)
    let copy = drafts.first { one in
      drafts.contains { $0.id < one.id && $0.text == one.text && $0.time == one.time }
    }
    return copy.map { UserObjection(.input, "it is created once", "\($0.text) again") }
  }

  /// The last that was made of a draft shows, and shows once.
  static func objection(
    toDrafts view: ZulipState, under outbox: Outbox<ZulipChange>
  ) -> UserObjection? {
    let shown = view.drafts
    var last: [(object: String?, draft: ZulipDraft?)] = []
    for pending in outbox.pending where pending.refusal == nil {
      guard case .draft(let former, let draft) = pending.change, former != nil || draft != nil
      else { continue }
      last.removeAll { $0.object == pending.change.object }
      last.append((pending.change.object, draft))
      guard draft == nil, let former else { continue }
      if shown.contains(where: { $0.id == former.id }) {
        return UserObjection(
          .honesty, "a deleted draft does not show", "\(former.content); \(outbox)")
      }
    }
    for draft in last.compactMap(\.draft) {
      let count = shown.count { $0.content == draft.content && $0.editedAt == draft.editedAt }
      if count == 1 { continue }
      return UserObjection(
        .honesty, "a draft shows once: \(draft.content)", "\(count) times; \(outbox)")
    }
    return nil
  }
}
