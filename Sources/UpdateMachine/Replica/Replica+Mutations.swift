extension Replica where Model: MutableModel {
  /// The replica has taken this input, and what is pending hears of it: the outbox is started and
  /// stopped with the machine, hears what the app says, and is replayed over what is confirmed now.
  /// To be called after every input that it took. Effects are to be performed in their order.
  ///
  /// An outbox that came with a snapshot or the saved form is started then. One that went has
  /// nothing to say any more: whoever performs its effects gives up its push and its timer.
  public mutating func passOn(_ input: Input, at now: Moment) -> [Outbox<Change>.Effects] {
    var all: [Outbox<Change>.Effects] = []
    if let heard = outboxInput(for: input) {
      let (first, second) = handle(heard, at: now)
      if !first.isEmpty { all.append(first) }
      if !second.isEmpty { all.append(second) }
    } else {
      let effects = replay(at: now)
      if !effects.isEmpty { all.append(effects) }
    }
    return all
  }

  /// The outbox was told this, and the replica should hear of it; `nil`: it need not. A push that was
  /// answered is a sign that asking now does better than waiting: the server is there, and has news.
  /// It is told like another network, so it is paid from the same budget. A question that is out is
  /// let be.
  public func input(after told: Outbox<Change>.Input) -> Input? {
    guard Sync.pullsAfterPush, case .answered = told else { return nil }
    switch status {
    case .live(.pausing), .pollFailed: return .networkChanged
    case .stale, .idle, .registering, .registerFailed, .live(.polling), .live(.writing), .halted:
      return nil
    }
  }

  private func outboxInput(for input: Input) -> Outbox<Change>.Input? {
    let start = Outbox<Change>.Input.started(
      machine.life, foreground: machine.isInForeground)
    switch input {
    case .started: return _machine.isStarted ? start : nil
    case .stopped, .loggedOut: return .stopped
    case .foregrounded: return .foregrounded
    case .backgrounded: return .backgrounded
    case .networkChanged: return .networkChanged
    case .retryRequested: return .retryRequested
    case .credentialsChanged: return .credentialsChanged
    case .loaded, .snapshotArrived, .batchArrived, .failed, .fired, .written, .writeFailed:
      guard _machine.isStarted, let model, !model.local.outbox.isStarted else { return nil }
      return start
    }
  }
}
