/// What an outbox is doing.
public enum OutboxStatus: Hashable, Sendable {
  /// Nothing is wanted of the server: not started, in the background, nothing to send, or something
  /// in the way (``OutboxBlock``).
  case resting
  /// What is to be sent is being written; once it is durable, it leaves.
  case storing
  /// A push is out. The timer is its deadline.
  case pushing(OutstandingPush)
  /// Waits after a failure. The timer says until when.
  case waiting
  /// Waits for the pace, or because the server asked for it. The timer says until when.
  case pausing
  /// All is accepted, and not yet confirmed. At the timer it is sent again.
  case confirming
  /// Only the app can go on.
  case halted(MachineStatus.Halt)
}

/// The push that is out.
public struct OutstandingPush: Hashable, Sendable {
  /// Its name; only an answer to it is believed.
  public var id: RequestID
  /// What it holds: mutations of these IDs, all of them between the two.
  public var first: MutationID
  public var last: MutationID

  @inlinable
  public init(id: RequestID, first: MutationID, last: MutationID) {
    self.id = id
    self.first = first
    self.last = last
  }
}

/// Why an outbox that is started, in the foreground and not empty sends nothing.
public enum OutboxBlock: Hashable, Sendable {
  /// The server has refused a mutation for good: retry, edit or discard it.
  case refused(MutationTicket)
  /// The next to be sent threw in replay: a newer state may heal it; else edit or discard it.
  case threw(MutationTicket)
  /// Nobody knows whether the one before the next has reached the server: its echo may still come;
  /// else retry or discard it.
  case uncertain(MutationTicket)
  /// The protocol wants to be level first.
  case heldBack
}

extension OutboxStatus: CustomStringConvertible {
  public var description: String {
    switch self {
    case .resting: "resting"
    case .storing: "storing"
    case .pushing(let push): "pushing \(push.first) to \(push.last)"
    case .waiting: "waiting"
    case .pausing: "pausing"
    case .confirming: "confirming"
    case .halted(let halt): "halted(\(halt))"
    }
  }
}

extension OutboxBlock: CustomStringConvertible {
  public var description: String {
    switch self {
    case .refused(let ticket): "refused \(ticket)"
    case .threw(let ticket): "threw \(ticket)"
    case .uncertain(let ticket): "uncertain \(ticket)"
    case .heldBack: "held back"
    }
  }
}
