// ClientView: the room of Replicache's protocol, client half and server half, as plain values. The
// seed "Replicache" is what is built; what is ours is said to be.
//
// ClientView may use: JSON, Server.

public import UpdateMachine

/// The client half: how the answer to a pull follows on a finger.
///
/// A client *pulls* its user's whole state, the *client view*, from a diff server, which sends only
/// what changed since the state that the client names. It *pushes* its mutations, in order, to the
/// data layer, which owns the truth. How far that has come with them is told by each pull, as the
/// client's last mutation ID, and by nothing else: the answer to a push proves nothing.
///
///     client ──push: mutations──▶ data layer ──whole view, last mutation ID──▶ diff server
///       ▲                                                                          │
///       └────────────── pull: delta or full view, last mutation ID, checksum ──────┘
///
/// Push comes before pull, so that what is pulled has as many of the client's own mutations in it as
/// can be. Nothing but speed hangs on it.
///
/// The seed's *commits* are these values: a snapshot commit is a ``ClientViewModel``, with its server
/// state ID; the local commits on it are the outbox's pending mutations, each with a mutator's name and
/// arguments; and the head is what the view's replay of them makes of a fork of the snapshot. A sync
/// forks from the snapshot, never from the head: a pulled delta is applied to the confirmed state, the
/// mutations above its last mutation ID are replayed on that in order, and the result is shown in one
/// step. Each of these versions is a ``ViewMap``, so each has its checksum.
public enum ClientView<Value: ViewValue>: SyncProtocol {
  public typealias Place = ViewFinger
  public typealias Batch = PulledView<Value>

  /// Pulls are made every minute or so, and a push should show in one sooner.
  @inlinable
  public static var order: PushOrder { .pushFirst }

  /// An answer that confirms less than is confirmed is not believed: the data layer's client view may
  /// lag behind and flap back, and what was confirmed has left the outbox. It is dropped, and the next
  /// pull asks from the same finger.
  ///
  /// The finger moves whenever there is anything to apply: another state, or another last mutation of
  /// the same state. One state ID with two checksums is two states: a gap.
  @inlinable
  public static func advance(
    _ finger: ViewFinger, over pulled: PulledView<Value>
  ) -> Advance<ViewFinger> {
    let next = pulled.finger
    guard next.client == finger.client else { return .gap }  // Somebody else's answer.
    if next.confirmsLess(than: finger) { return .seen }
    if case .delta(let base, _) = pulled.content, base != finger.state { return .gap }
    guard next.state == finger.state else { return .next(next, first: 0) }
    guard next.checksum == finger.checksum else { return .gap }
    let isSame =
      next.lastMutation == finger.lastMutation && next.lastRefusal == finger.lastRefusal
    return isSame ? .seen : .next(next, first: 0)
  }
}

/// Names one state of a user's view, as the diff server numbered it. It names the view alone: the last
/// mutation IDs, which are each client's own, stand beside it.
public struct ServerStateID: Hashable, Sendable {
  /// Which start of the diff server numbered it: one that lost its history must not give a name twice.
  public var epoch: UInt64
  /// Counts up within the epoch; greater is not newer, for a state that comes back keeps its name.
  public var number: UInt64

  @inlinable
  public init(epoch: UInt64, number: UInt64) {
    self.epoch = epoch
    self.number = number
  }
}

/// How many transactions a data layer had committed: of two of its states the one with the greater
/// number is the later. Ours: a data layer that can tell it lets its clients drop whatever is older
/// than what they have, where the last mutation ID alone only shows what is older than their own
/// mutations. It must never count anew, nor may last mutation IDs: to a client that would be the past,
/// for ever, until it logs out and begins as another client.
public struct CommitNumber: Hashable, Comparable, Sendable {
  public var number: UInt64

  @inlinable
  public init(_ number: UInt64) { self.number = number }

  @inlinable
  public static func < (one: CommitNumber, other: CommitNumber) -> Bool {
    one.number < other.number
  }
}

/// A client's place: which state of the view it has, and how far its own mutations are in it.
public struct ViewFinger: Finger, Hashable {
  /// Whose mutations it speaks of.
  public var client: ClientID
  public var state: ServerStateID
  /// Of the whole view, as ``ViewMap`` reckons it.
  public var checksum: UInt64
  /// The client's last mutation that the data layer has seen to: it is in the view, or was refused.
  public var lastMutation: MutationID
  /// The last one that was refused; 0: none was.
  public var lastRefusal: MutationID
  /// `nil`: the data layer does not tell.
  public var commit: CommitNumber?

  @inlinable
  public init(
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

  /// Nobody keeps anything for a client that could be released.
  @inlinable
  public var log: ViewLog { ViewLog() }

  /// Whether it is certainly older than another: fewer mutations or refusals of ours, or an earlier
  /// commit.
  @inlinable
  public func confirmsLess(than other: ViewFinger) -> Bool {
    if lastMutation < other.lastMutation || lastRefusal < other.lastRefusal { return true }
    guard let commit, let otherCommit = other.commit else { return false }
    return commit < otherCommit
  }
}

/// The log of every ``ViewFinger``.
public struct ViewLog: Hashable, Sendable {
  @inlinable
  public init() {}
}

/// A question to the diff server.
public struct PullRequest: Hashable, Sendable {
  public var client: ClientID
  /// The state that the client has; `nil`: none, so it needs the full view.
  public var state: ServerStateID?

  @inlinable
  public init(client: ClientID, state: ServerStateID?) {
    self.client = client
    self.state = state
  }
}

/// One key's part in a delta.
public struct ViewChange<Value: ViewValue>: Equatable, Sendable {
  public var key: ViewKey
  /// The value that it has now; `nil`: it has none any more.
  public var value: Value?

  @inlinable
  public init(key: ViewKey, value: Value?) {
    self.key = key
    self.value = value
  }
}

/// What a pull brings of the view.
public enum ViewContent<Value: ViewValue>: Equatable, Sendable {
  /// What changed since that state; ascending by key, each once. None, if the state is the same.
  case delta(from: ServerStateID, [ViewChange<Value>])
  /// Everything: the client named no state, or one that the diff server does not have (any more).
  case full(VersionedMap<ViewKey, Value>)
}

/// The answer to a pull. It is a snapshot if it answers a register, which names no state; and a batch of
/// one event if it answers a poll. An unknown state ID is no failure: the full view comes as that event,
/// and takes the place of what the client has, in one round trip.
public struct PulledView<Value: ViewValue>: EventBatch, Equatable {
  /// Who pulled.
  public var client: ClientID
  /// The state that it leads to.
  public var state: ServerStateID
  /// Of that state's whole view, as ``ViewMap`` reckons it.
  public var checksum: UInt64
  /// The client's last mutation that the data layer has seen to.
  public var lastMutation: MutationID
  /// The client's last mutation that was refused, and why.
  public var refusal: MutationRefusal?
  /// `nil`: the data layer does not tell.
  public var commit: CommitNumber?
  public var content: ViewContent<Value>

  @inlinable
  public init(
    client: ClientID, state: ServerStateID, checksum: UInt64, lastMutation: MutationID,
    refusal: MutationRefusal? = nil, commit: CommitNumber? = nil, content: ViewContent<Value>
  ) {
    self.client = client
    self.state = state
    self.checksum = checksum
    self.lastMutation = lastMutation
    self.refusal = refusal
    self.commit = commit
    self.content = content
  }

  /// Where the client is once it has taken it.
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
