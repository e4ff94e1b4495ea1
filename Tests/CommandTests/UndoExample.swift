import UpdateMachine

// What the user does with a board of titles, as the article *Undo and redo* shows it.

// Article example begins: edits with inverses
enum BoardEdit: Mutation {
  case add(id: String, title: String)
  case rename(id: String, String)
  case remove(id: String)
  /// Puts one thing in the place of another, as undo and redo do; `nil`: nothing.
  case restore(id: String, String?, ifIs: String?)

  typealias Board = VersionedMap<String, String>

  enum Refusal: Error { case gone, changed }

  var name: String {
    switch self {
    case .add: "add"
    case .rename: "rename"
    case .remove: "remove"
    case .restore: "restore"
    }
  }

  func apply(to board: inout Board) throws(Refusal) {
    switch self {
    case .add(let id, let title): board[id] = title
    case .rename(let id, let title):
      guard board[id] != nil else { throw .gone }
      board[id] = title
    case .remove(let id): board[id] = nil
    case .restore(let id, let title, let expected):
      guard board[id] == expected else { throw .changed }
      board[id] = title
    }
  }

  func inverse(from before: Board, to after: Board) -> BoardEdit? {
    guard before[id] != after[id] else { return nil }
    return .restore(id: id, before[id], ifIs: after[id])
  }

  var id: String {
    switch self {
    case .add(let id, _), .rename(let id, _), .remove(let id), .restore(let id, _, _): id
    }
  }
}
// Article example ends

/// What an app makes of an undo.
func undo<Source: SyncSource>(
  _ machine: UpdateMachine<Source>, show: (String) -> Void
) async throws(MutationError<Source.Model.Change.Refusal>) {
  // Article example begins: undo
  switch try await machine.undo() {
  case .queued, .discarded: break  // The view shows it.
  case .outdated: show("Somebody has changed this since.")
  case .undecided: show("Not yet: it is not known what the server has made of it.")
  case .nothing: break
  }
  // Article example ends
}
