/// A mutation in the queue: made by the app, and not known to be in the confirmed state.
public struct PendingMutation<Change: Mutation>: Sendable {
  /// The app's handle. Coalesced mutations have several.
  @usableFromInline package internal(set) var tickets: TicketSet
  /// Its place in the queue: behind all of a lower rank. The number of its ticket, until one that
  /// threw has been moved behind others.
  @usableFromInline var rank: UInt64
  /// The change that is replayed and sent: the last edit of it.
  public internal(set) var change: Change
  /// How far it has got on its way to the server.
  public internal(set) var stage: Stage = .unsent
  /// The error of its last replay; `nil`: it did not throw, and is in the view.
  public internal(set) var refusal: Change.Refusal?
  /// Whether the server may have an earlier copy: it was uncertain, or refused with a whole push,
  /// and is tried again. An echo of that copy acknowledges it. So it may not be edited or
  /// coalesced.
  public internal(set) var mayHaveCopy = false
  /// The server's ID for what it has created; `nil`: unknown.
  @usableFromInline package var created: Int64?
  /// The ID above which the server has numbered what it has created, if it has run it; `nil`: it
  /// has not left, or cannot be found again.
  @usableFromInline var leftAbove: Int64?
  /// Whether the server was asked in vain for what it has created, in this incarnation.
  @usableFromInline var isSought = false
  /// The mutation that its user undoes with it. As long as that one has no effect, this one has
  /// none.
  @usableFromInline package internal(set) var takesBack: MutationTicket?
  /// The outbox's version of its last change that must be durable.
  @usableFromInline var version: OutboxVersion

  @usableFromInline
  init(
    tickets: TicketSet, rank: UInt64? = nil, change: Change, stage: Stage = .unsent,
    mayHaveCopy: Bool = false, takesBack: MutationTicket? = nil, version: OutboxVersion
  ) {
    self.takesBack = takesBack
    self.tickets = tickets
    self.rank = rank ?? tickets.lowerBound.number
    self.change = change
    self.stage = stage
    self.mayHaveCopy = mayHaveCopy
    self.version = version
  }

  /// How far it has got.
  ///
  ///     unsent ⇄ marked ──▶ sent ──▶ accepted ──▶ (gone: acknowledged)
  ///        ▲        └─────▶ uncertain ──▶ (gone: acknowledged, or discarded)
  ///        └──retried──────────┘
  public enum Stage: Hashable, Sendable {
    /// It has never left. It may be edited, discarded and coalesced.
    case unsent
    /// It is about to leave, or out for the first time. It may leave once the mark is durable.
    case marked(MutationID)
    /// It may be at the server, and is sent again until that is known. With
    /// ``MutationDelivery/atMostOnce``, only what is idempotent.
    case sent(MutationID)
    /// The server said that it has it. The confirmed state will tell the result. The moment of the
    /// answer matters only on servers that tell no last mutation ID.
    case accepted(MutationID, at: Moment)
    /// It may be at the server, which cannot recognise a second copy. It is not sent again, but
    /// waits for its echo or for the app. What can be found again is looked for first. Only with
    /// ``MutationDelivery/atMostOnce``.
    case uncertain(MutationID)
  }

  /// The last of its tickets. Servers that echo a client's own ID echo this one.
  @inlinable
  public var ticket: MutationTicket { tickets.upperBound }

  /// Its ID, once it has one.
  @inlinable
  package var id: MutationID? {
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

  var isSent: Bool {
    if case .sent = stage { true } else { false }
  }

  @inlinable
  var isUncertain: Bool {
    if case .uncertain = stage { true } else { false }
  }

  /// Whether it is uncertain, and its source may yet find what it has created.
  @inlinable
  var isToSeek: Bool { isUncertain && leftAbove != nil && !isSought }
}

/// A mutation that the server refused for good. It is not in the view. Nothing that may depend on
/// it is sent until the app retries, edits or discards it; nothing at all, unless each mutation is
/// sent alone.
@usableFromInline
package struct RefusedMutation<Change: Mutation>: Sendable {
  @usableFromInline package internal(set) var tickets: TicketSet
  /// Its rank in the queue when it was refused, and when it is tried again.
  var rank: UInt64
  @usableFromInline package internal(set) var change: Change
  /// Its ID, and the refuser's reason code. The server has consumed the ID, or will when it is told
  /// that the ID is void. 0: the ID was given under an earlier client ID, now lost.
  @usableFromInline package internal(set) var refusal: MutationRefusal
  /// Whether the server may have it all the same (``Outbox/mayHaveCopy(of:)``).
  var mayHaveCopy: Bool
  /// The mutation that its user undoes with it.
  var takesBack: MutationTicket?
  var version: OutboxVersion

  /// The last of its tickets.
  @inlinable
  package var ticket: MutationTicket { tickets.upperBound }
}

/// A mutation that has no effect on the view, for the app to show.
public struct MutationSetAside<Change: Mutation>: Sendable {
  /// The app's handle, for an edit or a discard; also for a retry, if the server refused it.
  public var ticket: MutationTicket
  /// The change that has no effect.
  public var change: Change
  /// Why it has no effect.
  public var reason: Reason

  /// The reason why it has no effect.
  public enum Reason: Sendable {
    /// It threw in the last replay. It is tried again over every newer state. Until it passes, it
    /// is not sent, nor are later ones of the same object; all others go ahead of it.
    case threw(Change.Refusal)
    /// The server refused it for good. Retry, edit or discard it.
    case refused(RejectionCode)
  }

  @inlinable
  package init(ticket: MutationTicket, change: Change, reason: Reason) {
    self.ticket = ticket
    self.change = change
    self.reason = reason
  }
}

/// The state of a mutation, as the app sees it.
public enum MutationState: Hashable, Sendable {
  /// It waits to be sent.
  case queued
  /// It is on its way or at the server, and not in the confirmed state yet. Or it may be at the
  /// server, which is still to be asked.
  case sent
  /// It was sent, and may or may not be at the server; where that can be asked, it was not there.
  /// It waits for its echo or for the app.
  case uncertain
  /// It has no effect on the view: it threw in replay, the server refused it, or this version of
  /// the app cannot read it.
  case setAside
  /// The confirmed state contains it, and does not overrule it.
  case acknowledged
  /// The app discarded it.
  case discarded
  /// The confirmed state made it pointless (``Mutation/isOverruled(by:)``), or contains it without
  /// effect (``SyncModel/overrules(_:)``). It is not sent again.
  case overruled
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
    "\(tickets) \(change.name) \(stage)\(refusal == nil ? "" : ", threw")"
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
    case .overruled: "overruled"
    }
  }
}
