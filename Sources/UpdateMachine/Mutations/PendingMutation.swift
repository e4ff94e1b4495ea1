/// A mutation in the queue: made by the app, and not yet known to be in the confirmed state.
public struct PendingMutation<Change: Mutation>: Sendable {
  /// The app's handle; several, one after the other, where mutations were coalesced.
  public internal(set) var tickets: ClosedRange<MutationTicket>
  public internal(set) var change: Change
  public internal(set) var stage: Stage = .unsent
  /// Why it could not be replayed when that was last tried; `nil`: it could, and is in the view.
  public internal(set) var refusal: Change.Refusal?
  /// It was uncertain, or refused with a whole push, and is tried again: a copy of it may be at the
  /// server already, and an echo of that is one of this. So it stays what it is: it may not be edited,
  /// nor coalesced.
  public internal(set) var mayHaveCopy = false
  /// The version of the outbox since which it is as it is, as far as that must be durable.
  @usableFromInline var version: OutboxVersion

  /// How far it has got.
  ///
  ///     unsent ⇄ marked ──▶ sent ──▶ accepted ──▶ (gone: acknowledged)
  ///        ▲        └─────▶ uncertain ──▶ (gone: acknowledged, or discarded)
  ///        └──retried──────────┘
  public enum Stage: Hashable, Sendable {
    /// Has never left. May be edited, discarded and coalesced.
    case unsent
    /// About to leave, or out for the first time. Once that is durable it may leave.
    case marked(MutationID)
    /// May be at the server, and is sent again until it is known to be. Idempotent servers only.
    case sent(MutationID)
    /// The server said that it has it. What it made of it, the confirmed state will say. When the
    /// answer came, is kept where there is no last mutation ID to tell.
    case accepted(MutationID, at: Moment)
    /// May be at the server, which cannot tell a second copy from the first: it is not sent again,
    /// but waits for its echo or for the app. Not with idempotent servers.
    case uncertain(MutationID)
  }

  /// The last of its tickets: what an echo names, where the server echoes an ID of the client's.
  @inlinable
  public var ticket: MutationTicket { tickets.upperBound }

  /// Its ID, once it has one.
  @inlinable
  public var id: MutationID? {
    switch stage {
    case .unsent: nil
    case .marked(let id), .sent(let id), .accepted(let id, _), .uncertain(let id): id
    }
  }

  @inlinable
  var isAccepted: Bool {
    if case .accepted = stage { true } else { false }
  }

  var isMarked: Bool {
    if case .marked = stage { true } else { false }
  }

  @inlinable
  var isUncertain: Bool {
    if case .uncertain = stage { true } else { false }
  }
}

/// A mutation that the server refused for good. It is not in the view, and nothing is sent until the
/// app has said what shall become of it.
public struct RefusedMutation<Change: Mutation>: Sendable {
  public internal(set) var tickets: ClosedRange<MutationTicket>
  public internal(set) var change: Change
  /// The ID that it had, and the word for why of whoever refused it. The server has consumed the ID,
  /// or will when it is told that it is void; 0: it was another client's.
  public internal(set) var refusal: MutationRefusal
  /// The server may have it all the same (``Outbox/mayHaveCopy(of:)``).
  var mayHaveCopy: Bool
  var version: OutboxVersion

  /// The last of its tickets.
  @inlinable
  public var ticket: MutationTicket { tickets.upperBound }
}

/// A mutation that has no effect on the view, for the app to show.
public struct MutationSetAside<Change: Mutation>: Sendable {
  public var ticket: MutationTicket
  public var change: Change
  public var reason: Reason

  /// Who does not want it.
  public enum Reason: Sendable {
    /// It threw when it was last replayed. It is tried again with every newer state; until then it
    /// and all that follow it are not sent.
    case threw(Change.Refusal)
    /// The server refused it for good: to be retried, edited or discarded.
    case refused(RejectionCode)
  }

  @inlinable
  public init(ticket: MutationTicket, change: Change, reason: Reason) {
    self.ticket = ticket
    self.change = change
    self.reason = reason
  }
}

/// What has become of a mutation.
public enum MutationState: Hashable, Sendable {
  /// Waits to be sent.
  case queued
  /// Is on its way, or at the server; not yet in the confirmed state.
  case sent
  /// Was sent, and nobody knows whether the server has it; waits for its echo, or for the app.
  case uncertain
  /// Has no effect on the view: it threw in replay, or the server refused it.
  case setAside
  /// The confirmed state says that it is in.
  case acknowledged
  /// The app gave it up.
  case discarded
}

extension PendingMutation: Equatable where Change: Equatable, Change.Refusal: Equatable {}
extension RefusedMutation: Equatable where Change: Equatable {}
extension MutationSetAside.Reason: Equatable where Change.Refusal: Equatable {}
extension MutationSetAside: Equatable where Change: Equatable, Change.Refusal: Equatable {}

extension PendingMutation.Stage: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unsent: "unsent"
    case .marked(let id): "marked \(id)"
    case .sent(let id): "sent \(id)"
    case .accepted(let id, _): "accepted \(id)"
    case .uncertain(let id): "uncertain \(id)"
    }
  }
}

extension PendingMutation: CustomStringConvertible {
  /// "#3 rename unsent", "#3–5 rename sent 7, threw".
  public var description: String {
    let (first, last) = (tickets.lowerBound, tickets.upperBound)
    let handle = first == last ? "\(first)" : "\(first)–\(last.number)"
    return "\(handle) \(change.name) \(stage)\(refusal == nil ? "" : ", threw")"
  }
}

extension MutationState: CustomStringConvertible {
  public var description: String {
    switch self {
    case .queued: "queued"
    case .sent: "sent"
    case .uncertain: "uncertain"
    case .setAside: "setAside"
    case .acknowledged: "acknowledged"
    case .discarded: "discarded"
    }
  }
}
