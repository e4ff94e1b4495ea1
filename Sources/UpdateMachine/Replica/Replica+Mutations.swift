extension Replica where Model: MutableModel {
  /// The replica has taken this input, and what is pending hears of it: the outbox is started and
  /// stopped with the machine, hears what the app says, is held back where a pull is to come first,
  /// and is replayed over what is confirmed now.
  /// To be called after every input that it took. Effects are to be performed in their order.
  ///
  /// An outbox that came with a snapshot or the saved form is started then. One that went has
  /// nothing to say any more: whoever performs its effects gives up its push and its timer.
  public mutating func passOn(_ input: Input, at now: Moment) -> [Outbox<Change>.Effects] {
    var all: [Outbox<Change>.Effects] = []
    let isHeldBack = isHeldBack(at: now)
    if let outbox = model?.local.outbox, outbox.isHeldBack != isHeldBack {
      let (first, second) = handle(.heldBack(isHeldBack), at: now)
      if !first.isEmpty { all.append(first) }
      if !second.isEmpty { all.append(second) }
    }
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

  /// What the replica should hear next, after ``passOn(_:at:)`` and after whatever else the outbox was
  /// told; `nil`: nothing. Each wish is given once.
  ///
  /// Where push comes first, a push that was answered is a sign that asking now does better than
  /// waiting: the server is there, and has news. It is told like another network, so it is paid from
  /// the same budget. A question that is out is let be, and asked again after its answer if that does
  /// not confirm what was pushed.
  public mutating func takeInput() -> Input? {
    guard Sync.order == .pushFirst, case .model(let model) = _holding,
      model.local.outbox.wantsPull
    else { return nil }
    switch status {
    case .live(.pausing), .pollFailed:
      change { $0.local.noteAsked() }
      return .networkChanged
    case .stale, .idle, .registering, .registerFailed, .live(.polling), .live(.writing), .halted:
      return nil
    }
  }

  /// Where pull comes first: whether it is still to come.
  func isHeldBack(at now: Moment) -> Bool {
    guard Sync.order == .pullFirst else { return false }
    return finger == nil || freshness(at: now).claim != .connected
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
