/// The activity of an outbox.
@usableFromInline
package enum OutboxStatus: Hashable, Sendable {
  /// It wants nothing of the server: it is not started, in the background, has nothing to send, or
  /// is blocked (``OutboxBlock``).
  case resting
  /// It waits until the next mutations are durable, and then sends them.
  case storing
  /// A push is out. The timer is its deadline.
  case pushing(OutstandingPush)
  /// It waits after a failure. The timer says until when.
  case waiting
  /// It waits for the pace, or because the server asked for it. The timer says until when.
  case pausing
  /// All is accepted and not confirmed yet. When the timer fires, it is sent again.
  case confirming
  /// Only the app can go on.
  case halted(MachineStatus.Halt)
}

/// The push that is out.
@usableFromInline
package struct OutstandingPush: Hashable, Sendable {
  /// Its ID. Only an answer to this ID is believed.
  @usableFromInline package var id: RequestID
  /// The first and the last ID that it carries. It carries all between them too.
  @usableFromInline package var first: MutationID
  @usableFromInline package var last: MutationID
  /// How many mutations it carries.
  @usableFromInline package var count: Int
  /// Whether it only asks for what an earlier push has created.
  @usableFromInline package var isSearch: Bool

  @inlinable
  package init(
    id: RequestID, first: MutationID, last: MutationID, count: Int, isSearch: Bool = false
  ) {
    self.isSearch = isSearch
    self.id = id
    self.first = first
    self.last = last
    self.count = count
  }
}

/// The reason why an outbox sends nothing though it is started, in the foreground and not empty.
@usableFromInline
package enum OutboxBlock: Hashable, Sendable {
  /// The server has refused this mutation for good. Retry, edit or discard it.
  case refused(MutationTicket)
  /// The next mutation to send threw in replay. A newer state may heal it; otherwise edit or
  /// discard it.
  case threw(MutationTicket)
  /// This mutation may or may not be at the server. Its echo may still come; otherwise retry or
  /// discard it.
  case uncertain(MutationTicket)
  /// The protocol wants to be up to date first.
  case heldBack
}

extension OutboxStatus: CustomStringConvertible {
  @usableFromInline package var description: String {
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
  @usableFromInline package var description: String {
    switch self {
    case .refused(let ticket): "refused \(ticket)"
    case .threw(let ticket): "threw \(ticket)"
    case .uncertain(let ticket): "uncertain \(ticket)"
    case .heldBack: "held back"
    }
  }
}
