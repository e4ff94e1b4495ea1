// ClientView: the room of Replicache's protocol, client half and server half, as plain values. It
// follows Replicache's design document; comments say which rules are ours.
//
// ClientView may use: JSON, Server.

public import UpdateMachine

/// The client half: how the answer to a pull follows on a finger.
///
/// A client *pulls* its user's whole state, the *client view*, from a diff server. The diff server
/// sends only the changes since the state that the client names. The client *pushes* its mutations,
/// in order, to the data layer, which owns the truth. Only a pull tells which of them have run, as
/// the client's last mutation ID. The answer to a push proves nothing.
///
///     client ──push: mutations──▶ data layer ──whole view, last mutation ID──▶ diff server
///       ▲                                                                          │
///       └────────────── pull: delta or full view, last mutation ID, checksum ──────┘
///
/// A push goes before a pull, so that the pulled view contains as many of the client's own
/// mutations as possible. This affects only speed.
///
/// Replicache's *commits* are these values. A snapshot commit is a `ClientViewModel`, with its
/// server state ID. The local commits on it are the outbox's pending mutations, each a mutator's
/// name with arguments. The head is a fork of the snapshot after their replay. A sync forks from
/// the snapshot, never from the head. It applies the pulled delta to the confirmed state, replays
/// the mutations above its last mutation ID in order, and shows the result in one step. Each of
/// these versions is a ``ViewMap``, so each has its checksum.
public enum ClientView<Value: ViewValue>: SyncProtocol {
  public typealias Place = ViewFinger
  public typealias Batch = PulledView<Value>

  /// Pulls come about once a minute, and the effect of a push should be seen sooner.
  @inlinable
  public static var order: PushOrder { .pushFirst }

  /// Drops an answer that confirms less than the finger does: the data layer's client view may lag
  /// and flap, and confirmed mutations have left the outbox. Such an answer shows that there is
  /// more, whatever it says about itself. The next pull asks from the same finger.
  ///
  /// An answer that is not ``PulledView/isCurrent`` is applied if it leads on, but is incomplete.
  ///
  /// The finger moves whenever there is anything to apply: another state, or another last mutation
  /// in the same state. One state ID with two checksums means two states: a gap.
  ///
  /// A delta from another state than ours is sound, but of no use to us: lost. A diff server that
  /// mixes up its clients' bases sends one, or a proxy that answers a pull from its cache. If it
  /// leads to where we are, it has been taken already: a second copy of it, in a subscription.
  @inlinable
  public static func advance(
    _ finger: ViewFinger, over pulled: PulledView<Value>
  ) -> SyncAdvance<ViewFinger> {
    let next = pulled.finger
    guard next.client == finger.client else { return .gap }  // It is another client's answer.
    if next.confirmsLess(than: finger) { return .incomplete }
    if next.state == finger.state, next.checksum != finger.checksum { return .gap }
    let isSame =
      next.state == finger.state && next.lastMutation == finger.lastMutation
      && next.lastRefusal == finger.lastRefusal
    if isSame { return pulled.isCurrent ? .seen : .incomplete }
    if case .delta(let base, _) = pulled.content, base != finger.state { return .lost }
    return .next(next, first: 0, isComplete: pulled.isCurrent)
  }
}

/// The ID of one state of a user's view, given by the diff server. It covers only the view. Last
/// mutation IDs belong to each client and are kept separately.
public struct ServerStateID: Hashable, Sendable {
  /// Which start of the diff server gave the number. After it loses its history, it must not reuse
  /// a name.
  public var epoch: UInt64
  /// Counts up within the epoch. A greater number is not always newer, because a state that comes
  /// back keeps its ID.
  public var number: UInt64

  /// Creates an ID, as the diff server gave it.
  @inlinable
  public init(epoch: UInt64, number: UInt64) {
    self.epoch = epoch
    self.number = number
  }
}

/// The number of transactions that a data layer has committed. Of two of its states, the one with
/// the greater number is later. This is ours. With it, clients drop any state older than theirs.
/// The last mutation ID alone only reveals states without their own mutations. Neither commit
/// numbers nor last mutation IDs may ever start anew. A client would take that for an older state
/// for ever, until it logs out and begins as another client.
public struct CommitNumber: Hashable, Comparable, Sendable {
  /// The count, which never starts anew.
  public var number: UInt64

  /// Creates a commit number from the data layer's count.
  @inlinable
  public init(_ number: UInt64) { self.number = number }

  @inlinable
  public static func < (one: CommitNumber, other: CommitNumber) -> Bool {
    one.number < other.number
  }
}

/// A client's place: the state of the view that it has, and which of its mutations are in it.
public struct ViewFinger: Finger, Hashable {
  /// The client whose mutations are counted.
  public var client: ClientID
  /// The state of the view that the client has.
  public var state: ServerStateID
  /// The checksum of the whole view, computed as in ``ViewMap``.
  @usableFromInline package var checksum: UInt64
  /// The client's last mutation that the data layer has processed: run or refused.
  @usableFromInline package var lastMutation: MutationID
  /// The last refused mutation; 0: none.
  @usableFromInline package var lastRefusal: MutationID
  /// `nil`: the data layer does not send it.
  @usableFromInline package var commit: CommitNumber?

  @inlinable
  package init(
    client: ClientID, state: ServerStateID, checksum: UInt64, lastMutation: MutationID,
    lastRefusal: MutationID, commit: CommitNumber? = nil
  ) {
    self.client = client
    self.state = state
    self.checksum = checksum
    self.lastMutation = lastMutation
    self.lastRefusal = lastRefusal
    self.commit = commit
  }

  /// An empty log: the server keeps nothing for a client that could be released.
  @inlinable
  public var log: ViewLog { ViewLog() }

  /// Whether it is certainly older than another finger: fewer mutations or refusals of this client,
  /// or an earlier commit.
  @inlinable
  package func confirmsLess(than other: ViewFinger) -> Bool {
    if lastMutation < other.lastMutation || lastRefusal < other.lastRefusal { return true }
    guard let commit, let otherCommit = other.commit else { return false }
    return commit < otherCommit
  }
}

/// The log of every ``ViewFinger``.
public struct ViewLog: Hashable, Sendable {
  @inlinable
  package init() {}
}

/// A request to the diff server.
@usableFromInline
package struct PullRequest: Hashable, Sendable {
  @usableFromInline package var client: ClientID
  /// The state that the client has; `nil`: none, so it needs the full view.
  @usableFromInline package var state: ServerStateID?

  @inlinable
  package init(client: ClientID, state: ServerStateID?) {
    self.client = client
    self.state = state
  }
}

/// The change of one key in a delta.
public struct ViewChange<Value: ViewValue>: Equatable, Sendable {
  /// The key that changed.
  public var key: ViewKey
  /// The new value; `nil`: the key was removed.
  public var value: Value?

  /// Creates the change of a key; `nil` removes it.
  @inlinable
  public init(key: ViewKey, value: Value?) {
    self.key = key
    self.value = value
  }
}

/// The view in the answer to a pull.
public enum ViewContent<Value: ViewValue>: Equatable, Sendable {
  /// The changes since that state; ascending by key, each once. Empty if the state is the same.
  case delta(from: ServerStateID, [ViewChange<Value>])
  /// The whole view. The client named no state, or one that the diff server does not have (any
  /// more).
  case full(VersionedMap<ViewKey, Value>)
}

/// The answer to a pull. For a register, which names no state, it is a snapshot. For a poll, it is
/// a batch of one event. An unknown state ID is no failure: the event then has the full view, which
/// replaces the client's state in one round trip.
public struct PulledView<Value: ViewValue>: EventBatch, Equatable {
  /// The client that pulled.
  public var client: ClientID
  /// The state that it leads to.
  public var state: ServerStateID
  /// The checksum of that state's whole view, computed as in ``ViewMap``.
  public var checksum: UInt64
  /// The client's last mutation that the data layer has processed.
  public var lastMutation: MutationID
  /// The client's last refused mutation, and why.
  public var refusal: MutationRefusal?
  /// `nil`: the data layer does not send it.
  public var commit: CommitNumber?
  /// Whether the view was read from the newest state. `false`: from a replica that lags, so the
  /// client is not up to date. This is ours.
  public var isCurrent: Bool
  /// The view: all of it, or the changes since the state that the client named.
  public var content: ViewContent<Value>

  /// Creates an answer. By default no mutation was refused, there is no commit number, and the view
  /// is current: a server whose answers do not say is taken to read its newest state.
  @inlinable
  public init(
    client: ClientID, state: ServerStateID, checksum: UInt64, lastMutation: MutationID,
    refusal: MutationRefusal? = nil, commit: CommitNumber? = nil, isCurrent: Bool = true,
    content: ViewContent<Value>
  ) {
    self.client = client
    self.state = state
    self.checksum = checksum
    self.lastMutation = lastMutation
    self.refusal = refusal
    self.commit = commit
    self.isCurrent = isCurrent
    self.content = content
  }

  /// The client's finger after it has taken this answer.
  @inlinable
  public var finger: ViewFinger {
    ViewFinger(
      client: client, state: state, checksum: checksum, lastMutation: lastMutation,
      lastRefusal: refusal?.id ?? .none, commit: commit)
  }

  @inlinable
  public var count: Int { 1 }

  @inlinable
  public func event(at index: Int) -> PulledView<Value>? { self }
}

extension ViewLog: CustomStringConvertible {
  public var description: String { "view" }
}

extension ServerStateID: CustomStringConvertible {
  /// "1.4": the fourth of the first epoch.
  public var description: String { "\(epoch).\(number)" }
}

extension ViewFinger: CustomStringConvertible {
  /// "1.4:7", or "1.4:7 refused 6".
  public var description: String {
    "\(state):\(lastMutation)" + (lastRefusal == .none ? "" : " refused \(lastRefusal)")
  }
}
