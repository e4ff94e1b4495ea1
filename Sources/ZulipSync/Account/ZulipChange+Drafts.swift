internal import MessageSync
internal import SyncProtocols
public import UpdateMachine

// Drafts: how a change finds the draft that it is about. A draft that the server has given no ID
// has one of the library's own, below 0, after the ticket of its creation. Changes that were made
// of it then keep that ID. Once the draft has another, they find it by what it was.

extension ZulipChange {
  /// Notes which draft a change is about, as its user sees it.
  public mutating func stamp(
    from account: ZulipAccount, ticket: MutationTicket, inPlaceOf old: ZulipChange?
  ) {
    guard case .draft(var former, var draft) = self else { return }
    let me = account.realm.myself
    former?.addressOthers(than: me)
    draft?.addressOthers(than: me)
    if let named = former, let held = account.realm.draft(named) { former = held }
    var own = ZulipDraft.ID(number: -Int64(clamping: ticket.number))
    if case .draft(nil, let earlier?) = old { own = earlier.id }
    draft?.id = former?.id ?? own
    self = .draft(former, becomes: draft)
  }

  /// Of several edits only the last form counts, and nothing is left of what was created and
  /// deleted again.
  static func coalesced(
    _ former: ZulipDraft?, _ draft: ZulipDraft, with later: ZulipDraft?
  ) -> ZulipChange {
    var last = later
    last?.id = draft.id
    return .draft(former, becomes: last)
  }

  /// The change that takes back another one. It finds the draft by what it has become, so that
  /// nothing is taken back that somebody has changed since.
  static func inverse(
    of former: ZulipDraft?, _ draft: ZulipDraft?, from before: ZulipState, to after: ZulipState
  ) -> ZulipChange? {
    var old = former.flatMap { before.draft($0) }
    var new = draft.flatMap { after.draft($0) }
    guard (old == nil) == (former == nil), (new == nil) == (draft == nil) else { return nil }
    if former == nil, let draft, before.draft(draft) != nil { return nil }
    old?.id = ZulipDraft.ID(number: 0)
    new?.id = ZulipDraft.ID(number: 0)
    return old == new ? nil : .draft(new, becomes: old)
  }
}

extension ZulipAccount {
  /// Shows a draft in the place of another one, or of none.
  mutating func show(
    _ draft: ZulipDraft?, inPlaceOf former: ZulipDraft?
  ) throws(ZulipOutgoing.Refusal) {
    try draft?.check(in: realm)
    guard realm.holdsDrafts else { return }
    let held = former.flatMap { realm.draft($0) }
    if former != nil, held == nil {
      // To delete what is gone is no mistake. What was undone of it must not go with it.
      if draft == nil { return }
      throw .draftGone
    }
    if former == nil, let draft, realm.draft(draft) != nil { throw .draftExists }
    realm.replace(held, by: draft)
  }

  /// Whether an event is what a change of drafts has made of one.
  func shows(
    _ draft: ZulipDraft?, inPlaceOf former: ZulipDraft?, after event: ZulipEvent
  ) -> Bool {
    func isSame(_ value: ZulipValue?) -> Bool {
      guard let draft, let fields = value?.fields, let id = fields["id"]?.number else {
        return false
      }
      let isNamed = former.map { $0.id.number <= 0 || $0.id.number == id } ?? true
      return isNamed && ZulipDraft(fields, id, in: realm).isSame(as: draft)
    }
    switch event.fields["op"]?.text.flatMap({ ObjectChange($0) }) {
    case .comes:
      return former == nil && event.fields["drafts"]?.list?.contains { isSame($0) } ?? false
    case .changes: return former != nil && isSame(event.fields["draft"])
    case .goes:
      // One without an ID may be another: the answer to the request says which it was.
      guard let former, former.id.number > 0, draft == nil else { return false }
      return event.fields["draft_id"]?.number == former.id.number
    case .orders, nil: return false
    }
  }
}

extension ZulipAccountSource {
  /// Makes a change of a draft. One without an ID of the server's is looked up by what it was.
  func replace(
    _ former: ZulipDraft?, by draft: ZulipDraft?
  ) async throws(ZulipFailure) -> PushAnswer {
    let ceiling = ZulipSource.ceiling
    guard let former else {
      // One that was deleted before it left.
      guard let draft else { return .accepted }
      return .created(try await connection.createDraft(draft.fields, within: ceiling))
    }
    var id = former.id.number
    if id <= 0 {
      let all = try await connection.drafts(within: ceiling)
      func find(_ draft: ZulipDraft) -> Int64? {
        all.first { ZulipDraft($0.fields, $0.id, in: nil).isSame(as: draft) }?.id
      }
      if let found = find(former) {
        id = found
      } else if let draft, find(draft) == nil {
        throw ZulipAccountSource.noSuchDraft
      } else {
        return .accepted  // An earlier copy has done it, or another device.
      }
    }
    if let draft {
      try await connection.editDraft(id, draft.fields, within: ceiling)
      return .accepted
    }
    do throws(ZulipFailure) {
      try await connection.deleteDraft(id, within: ceiling)
    } catch {
      guard case .rejected = error.failure, try await isDraftGone(id) else { throw error }
    }
    // No event says of one without an ID which it was.
    return former.id.number > 0 ? .accepted : .created(id)
  }

  /// Whether the server has no such draft. It has none where drafts are switched off.
  private func isDraftGone(_ id: Int64) async throws(ZulipFailure) -> Bool {
    do throws(ZulipFailure) {
      return try await !connection.drafts(within: ZulipSource.ceiling).contains { $0.id == id }
    } catch {
      guard case .rejected = error.failure else { throw error }
      return true
    }
  }

  /// What the server would say if it could be asked about a draft without an ID.
  private static var noSuchDraft: ZulipFailure {
    var failure = ZulipFailure(.rejected(.badRequest), .refused(.badRequest))
    failure.words = "There is no such draft"
    return failure
  }
}
