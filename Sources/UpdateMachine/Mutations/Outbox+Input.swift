extension Outbox {
  /// An event that the host feeds to the outbox. News from the confirmed state does not come here.
  /// The model passes it on as it takes it: ``confirm(through:refusal:)`` and ``echo(of:)``.
  @usableFromInline
  package enum Input: Sendable {
    /// A signal from the app. ``AppSignal/started(foreground:)``: it wants its changes sent from
    /// now on.
    case app(AppSignal)
    /// The client must be up to date, or further, before the next push (`true`), or no longer.
    case heldBack(Bool)
    /// The outbox as of this version is durable.
    case stored(upTo: OutboxVersion)
    /// A push was answered.
    case answered(RequestID, PushAnswer)
    /// A push ended without an answer. `hasLeft`: the server may have heard of it. If not (there
    /// was no connection, say), its mutations count as never sent.
    case failed(RequestID, SyncFailure, hasLeft: Bool)
    /// A timer fired, at any time after it was armed.
    case fired(TimerID)
    /// The app wants a refused or uncertain mutation tried again unchanged.
    case retried(MutationTicket)
    /// The app changes a mutation that the server itself refused, or that never left
    /// (``Outbox/canEdit(_:)``). Taken even if the edit makes the outbox too full.
    case edited(MutationTicket, Change)
    /// The app discards a mutation that is refused, is uncertain or has not left.
    case discarded(MutationTicket)
  }
}

/// A server's answer to a push. It acknowledges nothing.
public enum PushAnswer: Hashable, Sendable {
  /// The server has the mutations. It may run them later.
  case accepted
  /// The server has the one mutation of the push, and has given what the mutation created this ID.
  /// Once the model holds that (``SyncModel/holds(_:created:)``), the mutation is acknowledged,
  /// even if its event is still to come, or never comes. Where the server counts IDs
  /// (``MutationDelivery/exactlyOnce``) this is the same as ``accepted``.
  case created(Int64)
  /// The server has nothing that the mutation has created. Only where that was asked
  /// (``PushRequest/seeksAbove``). From now on the mutation is uncertain for the app, too: it may
  /// still be on its way.
  case absent
  /// The server ran all before this one. It will never run this one, whose ID is consumed, and it
  /// ignored those after it. It answers every push so, and runs nothing, until the client knows of
  /// the refusal.
  case refused(MutationRefusal)
  /// The server has these mutations of the push. It has done nothing about the others, which are
  /// sent again.
  case acceptedOnly([MutationID])
  /// The server has done nothing, and will do nothing about this push, because the client has not
  /// seen something that these mutations touch. They are sent again when its finger has moved, or
  /// when a later poll was answered in full.
  case behind
  /// The server has done nothing, because the push is too large for it. Its mutations are sent in
  /// smaller pushes. One that is too large alone is set aside (``RejectionCode/tooLarge``). It
  /// cannot be edited: another copy of the push may still be taken.
  case tooLarge
}

extension Outbox.Input: Equatable where Change: Equatable {}

extension PushAnswer: CustomStringConvertible {
  public var description: String {
    switch self {
    case .accepted: "accepted"
    case .created(let id): "created \(id)"
    case .absent: "absent"
    case .refused(let refusal): refusal.description
    case .acceptedOnly(let ids): "accepted only \(ids)"
    case .behind: "behind"
    case .tooLarge: "too large"
    }
  }
}

extension Outbox.Input: CustomStringConvertible {
  @usableFromInline package var description: String {
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
