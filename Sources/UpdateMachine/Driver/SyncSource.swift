#if !hasFeature(Embedded)

  /// The app's adapter to one server's protocol. All inbound I/O is behind it.
  ///
  /// Every failure is classified here, once; nothing else can be thrown. A failure of no known kind
  /// is `serverFault` if the answer lacks the protocol's envelope (a proxy's page, half a body),
  /// and `malformed` if it has one.
  ///
  /// Calls are made off the actor, in child tasks of `run()`. One register or poll is wanted at a
  /// time. A cancelled one may still be out when the next begins, and a release may go on beside
  /// both. When the surrounding task is cancelled, the call should end soon, with any failure. The
  /// failure is ignored, but `run()` cannot return before the call does. A source needs no
  /// deadlines of its own: the machine's deadline cancels each call.
  public protocol SyncSource<Model, Sync>: Sendable {
    /// What the app holds.
    associatedtype Model: SyncModel
    /// The rules of the protocol: its fingers, its batches, and how one follows on the other.
    associatedtype Sync: SyncProtocol where Sync.Batch.Event == Model.Event

    /// Asks for a snapshot and, atomic with it, a finger. Called only without a finger: at a first
    /// start, and after an expiry or a refusal.
    ///
    /// - Parameter client: the client's name, for a model whose user changes things. The library
    ///   draws it at random, keeps it with the user's changes, and draws another after a log-out.
    ///   Put it into the snapshot, from where the model's ``SyncModel/client`` takes it. A server
    ///   that names its clients itself ignores it.
    func register(
      as client: ClientID
    ) async throws(SyncFailure) -> Registered<Model.Snapshot, Sync.Place>

    /// Asks for the events after a finger, which acknowledges everything up to it, unless a
    /// subscription goes on.
    ///
    /// - Parameters:
    ///   - finger: the place up to which everything is applied and, with a store, written. Where a
    ///     subscription goes on, it may not be written yet.
    ///   - waits: the server may hold the request open until there is news; `false`: it must answer
    ///     at once. In a protocol that pushes, each call with `waits` returns the next push of one
    ///     subscription, and the next call follows at once.
    /// - Returns: events in the order of the log; none if there is no news. Events at or before the
    ///   finger do no harm.
    func poll(after finger: Sync.Place, waits: Bool) async throws(SyncFailure) -> Sync.Batch

    /// Tells the server that a log is no longer needed. Best effort: called once, never repeated,
    /// and cancelled after five seconds.
    func release(_ log: Sync.Place.Log) async

    /// Sends mutations, to be run in their order. One push is out at a time, beside a register, a
    /// poll and a release. Like those, it should end soon when it is cancelled.
    ///
    /// Supplied if the model takes no changes.
    ///
    /// - Parameters:
    ///   - push: the mutations, their client, and the last refusal that is known.
    ///   - finger: the place that the client is at, for a server that must know what the mutations
    ///     were made upon; `nil`: it has none.
    /// - Returns: that the server has them, which of them it has, which it refuses, or that the
    ///   client must poll first. None acknowledges anything: the server may run them later.
    func push(
      _ push: PushRequest<Model.Change>, at finger: Sync.Place?
    ) async throws(PushFailure) -> PushAnswer

    /// As ``push(_:at:)``, with the confirmed state at the finger. It is for a server that runs no
    /// mutations of ours and only stores what they have written: there the source runs them, over
    /// this state, and the server takes their effect if nothing of it has changed since.
    ///
    /// This is what the library calls. By default it leaves the state out, and calls the other.
    ///
    /// - Parameters:
    ///   - push: the mutations, their client, and the last refusal that is known.
    ///   - finger: the place that the client is at; `nil`: it has none.
    ///   - state: what ``SyncModel/state`` says at the finger; `nil`: there is no finger.
    func push(
      _ push: PushRequest<Model.Change>, at finger: Sync.Place?, over state: Model.Change.State?
    ) async throws(PushFailure) -> PushAnswer

    /// Asks for some items of a list, or for one item by its ID. Several calls may be out at once,
    /// beside a register, a poll and a release. Like those, each should end soon when it is
    /// cancelled.
    ///
    /// Supplied if the model holds everything.
    ///
    /// - Parameter request: which items of which list.
    /// - Returns: the items as read at some moment between call and return, in ascending order,
    ///   without a hole; and which ends of the list were reached.
    func page(
      _ request: PageRequest<Model.Lists.Narrow, Model.Lists.ID>
    ) async throws(SyncFailure) -> Model.Lists.Page
  }

  extension SyncSource {
    /// Leaves the state out: the server runs the mutations.
    public func push(
      _ push: PushRequest<Model.Change>, at finger: Sync.Place?, over state: Model.Change.State?
    ) async throws(PushFailure) -> PushAnswer {
      try await self.push(push, at: finger)
    }
  }

  /// The source of a model that takes no changes: nothing is ever pushed.
  extension SyncSource where Model.Change == Never {
    /// Never called, because there is nothing to push.
    public func push(
      _ push: PushRequest<Never>, at finger: Sync.Place?
    ) async throws(PushFailure) -> PushAnswer { .accepted }
  }

  /// The source of a model that holds everything: no page is ever asked for.
  extension SyncSource where Model.Lists == NoLists {
    /// Never called, because there is no list. Throws `unsupported`.
    public func page(
      _ request: PageRequest<NoLists.Narrow, NoLists.ID>
    ) async throws(SyncFailure) -> NoLists.Page { throw .unsupported }
  }

  /// Why a push was not answered.
  public struct PushFailure: Error, Hashable, Sendable {
    /// Classified as for a poll.
    package var failure: SyncFailure
    /// Whether the server may have received the push. `false` only if it certainly has not, for
    /// example without a connection: then its mutations count as never sent.
    package var hasLeft: Bool

    /// If in doubt, leave `hasLeft` true.
    public init(_ failure: SyncFailure, hasLeft: Bool = true) {
      self.failure = failure
      self.hasLeft = hasLeft
    }
  }

  extension PushFailure: CustomStringConvertible {
    public var description: String {
      hasLeft
        ? "A push got no answer (\(failure)). The server may have it. What may be sent twice is "
          + "sent again; the app decides about the rest."
        : "A push did not leave the device (\(failure)). Its changes wait, and are sent again."
    }
  }

  /// The answer to a register.
  public struct Registered<Snapshot: Sendable, Place: Finger>: Sendable {
    /// The server's state at ``finger``.
    public var snapshot: Snapshot
    /// The snapshot's place in the log. Polls ask for what comes after it.
    public var finger: Place
    /// What the server promises: how long a poll may wait, and how long the log is kept.
    public var terms: ServerTerms
    /// Whether the snapshot is all that the server has. If not, polls bring the rest, and until
    /// then the client is not up to date.
    public var isComplete: Bool

    /// Snapshot and finger must be of one moment. A finger from before or after the snapshot
    /// repeats or loses events, and nothing can detect that.
    ///
    /// Say that a snapshot is not complete if it is the first page of many, or if it was read from
    /// a replica that lags.
    public init(snapshot: Snapshot, finger: Place, terms: ServerTerms, isComplete: Bool = true) {
      self.snapshot = snapshot
      self.finger = finger
      self.terms = terms
      self.isComplete = isComplete
    }
  }

#endif
