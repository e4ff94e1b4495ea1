import UpdateMachine

// The user's drafts. Creating one twice makes two; all else may be repeated.

extension ZulipConnection {
  /// `POST /drafts`: creates a draft. Returns its ID.
  func createDraft(
    _ draft: ZulipFields, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) -> Int64 {
    var form = ZulipForm()
    form.add("drafts", .list([.fields(draft)]))
    return try await ask(.post, "drafts", form, within: deadline) { answer throws(ZulipError) in
      guard let id = try answer.numbers("ids").first else { throw answer.malformed("ids") }
      return id
    }
  }

  /// `PATCH /drafts/ID`: replaces a draft.
  func editDraft(
    _ id: Int64, _ draft: ZulipFields, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) {
    var form = ZulipForm()
    form.add("draft", .fields(draft))
    try await ask(.patch, "drafts/\(id)", form, within: deadline) { _ throws(ZulipError) in }
  }

  /// `DELETE /drafts/ID`.
  func deleteDraft(_ id: Int64, within deadline: TimeSpan? = nil) async throws(ZulipFailure) {
    try await ask(.delete, "drafts/\(id)", within: deadline) { _ throws(ZulipError) in }
  }

  /// `GET /drafts`: fetches all drafts, with their IDs.
  func drafts(
    within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) -> [(id: Int64, fields: ZulipFields)] {
    try await ask(.get, "drafts", within: deadline) { answer throws(ZulipError) in
      var drafts: [(id: Int64, fields: ZulipFields)] = []
      for draft in try answer.objects("drafts") {
        drafts.append((try draft.number("id"), draft.fields))
      }
      return drafts
    }
  }
}
