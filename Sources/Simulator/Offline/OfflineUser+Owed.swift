internal import SyncProtocols
internal import UpdateMachine

// What the user of any app is owed.

extension OfflineUser {
  mutating func objection(
    to client: Body, _ truth: Truth, at position: Int64, disk: Outbox<Change>?
  ) -> UserObjection? {
    guard let model = client.model, let local = client.local else { return check.lie }
    if let objection = check.objection(to: local.outbox, disk: disk) { return objection }
    guard
      check.isNews(
        local, confirmed: UInt64(bitPattern: position), truth: UInt64(bitPattern: truth.position))
    else { return nil }
    if let objection = objectionToView(model, local) { return objection }
    if let told = truth.past[position] {
      if let objection = objectionToConfirmation(model, told)
        ?? objectionOfApp(local.view.state, told)
      {
        return objection
      }
    }
    return objectionToMutators(local.outbox.client, truth)
      ?? objectionToOutcomes(local.outbox, truth)
  }

  /// The view is the confirmed state with the pending changes over it.
  private func objectionToView(
    _ model: Model, _ local: LocalChanges<Change>
  ) -> UserObjection? {
    var state = model.state
    var idle: [TicketSet] = []
    for pending in local.outbox.pending {
      var next = state
      // An undo has no effect while the change that it undoes has none.
      var isRefused =
        pending.takesBack.map { undone in idle.contains { $0.contains(undone) } } ?? false
      do throws(Change.Refusal) {
        if !isRefused {
          _ = try pending.change.apply(to: &next)
          state = next
        }
      } catch {
        isRefused = true
      }
      if isRefused { idle.append(pending.tickets) }
      guard isRefused != (pending.refusal != nil) else { continue }
      return UserObjection(
        .input, "a change is set aside when it throws, and only then",
        "\(pending.change) is \(pending): \(local.outbox)")
    }
    guard state.description != local.view.state.description else { return nil }
    return UserObjection(.causality, "\(state)", "\(local.view.state) with \(local.outbox)")
  }

  /// The model says what the server has told of the client's changes.
  private func objectionToConfirmation(
    _ model: Model, _ told: Truth.State
  ) -> UserObjection? {
    guard Model.delivery == .exactlyOnce, let client = model.client else { return nil }
    let progress = told.progress(of: client)
    let (expected, found) = (progress.confirmation, model.confirmation)
    guard expected.last != found.last || expected.refusal?.id != found.refusal?.id else {
      return nil
    }
    func words(_ confirmation: MutationConfirmation) -> String {
      "through \(confirmation.last)" + (confirmation.refusal.map { ", \($0)" } ?? "")
    }
    return UserObjection(
      .input, "the changes of \(client) are confirmed as the server has told: \(words(expected))",
      words(found))
  }

  private func objectionOfApp(
    _ view: Change.State, _ told: Truth.State
  ) -> UserObjection? {
    App.objection(view, told.truth).map {
      UserObjection(
        .app, "the app has no objection to what its user sees",
        "\($0); the user sees \(view), and the server had \(told.truth)")
    }
  }

  /// The server and the client make the same of a change in the same state.
  private mutating func objectionToMutators(
    _ client: ClientID, _ truth: Truth
  ) -> UserObjection? {
    guard App.mutatorsAgree else { return nil }
    while comparedThrough < truth.position {
      comparedThrough += 1
      guard let run = truth.runs[comparedThrough], run.client == client,
        let before = truth.past[comparedThrough - 1], let after = truth.past[comparedThrough],
        let objection = objection(to: run, from: before, to: after)
      else { continue }
      return objection
    }
    return nil
  }

  private func objection(
    to run: Truth.Run, from before: Truth.State, to after: Truth.State
  ) -> UserObjection? {
    guard var state = seen(before, by: run.client), let told = seen(after, by: run.client)
    else { return nil }
    let expected =
      "client and server make the same of \(run.item.ticket), \(run.item.change): from "
      + "\(before.truth) to \(after.truth)"
    do throws(Change.Refusal) {
      _ = try run.item.change.apply(to: &state)
    } catch {
      return UserObjection(.input, expected, "the client's mutator throws \(error)")
    }
    guard state.description != told.description else { return nil }
    return UserObjection(.input, expected, "the client comes to \(state)")
  }

  /// What a client shows of a server's state; `nil`: the model refuses it.
  private func seen(_ state: Truth.State, by client: ClientID) -> Change.State? {
    do throws(Model.Refusal) {
      return try Model(snapshot: state.snapshot(for: client)).state
    } catch {
      return nil
    }
  }

  /// What became of each change.
  private func objectionToOutcomes(
    _ outbox: Outbox<Change>, _ truth: Truth
  ) -> UserObjection? {
    for made in memory.made where !made.isDoubtful {
      let run = truth.run(of: made.sentAs, by: outbox.client)
      let what = "\(made.ticket), \(made.change),"
      if made.isDiscarded {
        guard made.isNeverSent, run != nil else { continue }
        return UserObjection(
          .input, "\(what) was discarded before it was sent, so the server never makes it",
          "it has made it: \(truth)")
      }
      switch outbox.state(of: made.ticket) {
      case .queued, .sent, .uncertain, .setAside, .overruled: continue
      case .acknowledged, nil: if run?.item.change == made.change { continue }
      case .discarded: if made.isUndone || made.takesBack != nil { continue }
      }
      let found = run.map { "\($0.item.change)" } ?? "nothing of it"
      return UserObjection(
        .input, "\(what) is pending or set aside until the server has made it",
        "it is gone, and the server has made \(found): \(outbox)")
    }
    return nil
  }
}
