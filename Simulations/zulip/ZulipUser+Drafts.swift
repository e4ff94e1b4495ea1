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
      "\(ZulipUser.draftWord)\(outbox?.client.number ?? 0).\(outbox?.newestTicket.number ?? 0)."
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

  /// What the text of a draft begins with that a client has made.
  static let draftWord = "draft "

  /// Nobody has asked to create a draft again that may have arrived.
  static func objectionToCopiedDrafts(_ truth: ZulipTruth) -> UserObjection? {
    let drafts = truth.realm.settings.drafts(of: ZulipTruth.me)
    let copy = drafts.first { $0.text.hasSuffix(ZulipTruth.again) }
    return copy.map { UserObjection(.input, "it is created once", $0.text) }
  }

  /// The confirmed drafts show with what the user has made of them since.
  static func objection(
    toDrafts view: ZulipState, over confirmed: ZulipState, under outbox: Outbox<ZulipChange>
  ) -> UserObjection? {
    var expected = confirmed.drafts
    for pending in outbox.pending where pending.refusal == nil {
      guard case .draft(let former, let draft) = pending.change else { continue }
      if let former {
        // What the server has given an ID is found by that alone.
        let place = expected.firstIndex {
          $0.id == former.id || former.id.number <= 0 && isSame($0, former)
        }
        guard let place else {
          if draft == nil { continue }  // It is gone, as was wanted.
          return UserObjection(
            .honesty, "what a change is about is there: \(former.content)", "\(outbox)")
        }
        expected.remove(at: place)
      } else if let draft, expected.contains(where: { isSame($0, draft) }) {
        return UserObjection(
          .honesty, "what is there is not created: \(draft.content)", "\(outbox)")
      }
      if let draft { expected.append(draft) }
    }
    let (wanted, found) = (words(expected), words(view.drafts))
    return wanted == found
      ? nil : UserObjection(.honesty, "drafts \(wanted)", "\(found); \(outbox)")
  }

  private static func isSame(_ one: ZulipDraft, _ other: ZulipDraft) -> Bool {
    one.content == other.content && one.editedAt == other.editedAt
  }

  private static func words(_ drafts: [ZulipDraft]) -> [String] {
    drafts.map { "\($0.content) \($0.editedAt)" }.sorted()
  }
}
