extension Outbox {
  /// What happened. What the confirmed state says does not come here, but in band, with the model
  /// that takes it: ``confirm(through:refusal:)`` and ``echo(of:)``.
  public enum Input: Sendable {
    /// What the app says. ``AppSignal/started(foreground:)``: it wants its changes sent from now on.
    case app(AppSignal)
    /// The protocol wants to be level before anything more is pushed; or no longer does.
    case heldBack(Bool)
    /// The outbox as it was at this version is durable.
    case stored(upTo: OutboxVersion)
    /// A push was answered.
    case answered(RequestID, PushAnswer)
    /// A push ended any other way. `hasLeft`: the server may have heard of it. If not, as when there
    /// was no connection, what was in it is as if it had never been sent.
    case failed(RequestID, SyncFailure, hasLeft: Bool)
    /// A timer fired, at any time after it was armed.
    case fired(TimerID)
    /// The app wants a refused or uncertain mutation tried again as it is.
    case retried(MutationTicket)
    /// The app wants a mutation that the server itself refused tried again as another, or one that
    /// never left changed (``Outbox/canEdit(_:)``). Taken also if the outbox is full by it.
    case edited(MutationTicket, Change)
    /// The app gives up a mutation that is refused, uncertain or never left.
    case discarded(MutationTicket)
  }
}

/// What a server says to a push. It acknowledges nothing.
public enum PushAnswer: Hashable, Sendable {
  /// The server has them. It may run them later.
  case accepted
  /// All before this one were run; this one never will be, and its ID is consumed. Those after it
  /// were ignored. Said also, and nothing done, while the client does not know of it.
  case refused(MutationRefusal)
}

extension Outbox.Input: Equatable where Change: Equatable {}

extension PushAnswer: CustomStringConvertible {
  public var description: String {
    switch self {
    case .accepted: "accepted"
    case .refused(let refusal): refusal.description
    }
  }
}

extension Outbox.Input: CustomStringConvertible {
  public var description: String {
    switch self {
    case .app(let signal): signal.description
    case .heldBack(true): "held back"
    case .heldBack(false): "no longer held back"
    case .stored(let version): "stored \(version)"
    case .answered(let id, let answer): "answered \(id) \(answer)"
    case .failed(let id, let failure, hasLeft: true): "failed \(id) \(failure)"
    case .failed(let id, let failure, hasLeft: false): "failed \(id) \(failure), never left"
    case .fired(let timer): "fired \(timer)"
    case .retried(let ticket): "retried \(ticket)"
    case .edited(let ticket, let change): "edited \(ticket) to \(change.name)"
    case .discarded(let ticket): "discarded \(ticket)"
    }
  }
}
