internal import UpdateMachine

extension PlaygroundWorld {
  /// The user undoes or redoes. Returns why it cannot be done.
  mutating func takeBack(_ stack: UndoStack, on client: Int) -> String? {
    let verb = stack == .undo ? "undo" : "redo"
    var taken: (outcome: UndoOutcome<App.Model.Change.Refusal>, effects: Client.Effects)
    do throws(MutationError<App.Model.Change.Refusal>) {
      taken =
        try stack == .undo
        ? devices[client].client.undo(at: now) : devices[client].client.redo(at: now)
    } catch {
      return words(error)
    }
    switch taken.outcome {
    case .nothing: return "there is nothing to \(verb)"
    case .undecided(let ticket):
      return "nobody knows yet what the server has done about \(ticket)"
    case .outdated: note(client, "cannot \(verb): somebody has changed it since")
    case .discarded(let ticket): note(client, "takes back \(ticket)" + words(taken.effects))
    case .queued(let ticket): note(client, "makes \(verb) as \(ticket)" + words(taken.effects))
    }
    drawPending(of: client)
    perform(taken.effects, by: client)
    return nil
  }

  /// Why a change cannot be made.
  func words(_ error: MutationError<App.Model.Change.Refusal>) -> String {
    switch error {
    case .nothingHeld: "there is no state yet"
    case .notConnected: "this protocol takes changes only while the client is connected"
    case .full: "too much is pending"
    case .unstorable: "this cannot be saved"
    case .refused: "there is no such item"
    }
  }
}
