// Driver: the room of the actor that performs what the values below it decide. It owns the way to
// the app: the source and store protocols, the clock, observation. It decides nothing: there is no
// rule of the protocol here.
//
// Driver may use: every other room.

#if !hasFeature(Embedded)

  /// The app's adapter to one server's protocol: all I/O of the inbound side is behind it.
  ///
  /// Every failure is classified here, once, and nothing else can be thrown. What an adapter cannot
  /// place is `serverFault` if the answer lacks the protocol's envelope (a proxy's page, half a
  /// body), and `malformed` if it has one.
  ///
  /// Calls are made off the actor, in child tasks of `run()`. One register or poll is wanted at a
  /// time; one that was given up may not have ended when the next begins, and a release may go on
  /// beside both. When the surrounding task is cancelled, the call should end soon, with whatever
  /// failure: nobody believes what it says then, but `run()` cannot return before it does. A source
  /// need not have deadlines of its own: each call is cancelled at the machine's.
  public protocol Source<Model, Sync>: Sendable {
    /// What the app holds.
    associatedtype Model: SyncModel
    /// The rules of the protocol: its fingers, its batches, and how one follows on the other.
    associatedtype Sync: SyncProtocol where Sync.Batch.Event == Model.Event

    /// Asks for a snapshot and, atomic with it, a finger. Called without a finger only: at a first
    /// start, and after an expiry or a refusal.
    func register() async throws(SyncFailure) -> Registered<Model.Snapshot, Sync.Place>

    /// Asks for what came after a finger, which acknowledges everything up to it.
    ///
    /// - Parameters:
    ///   - finger: the place up to which everything is applied and, if there is a store, written.
    ///   - waits: the server may hold the question open until there is news; `false`: it must answer
    ///     at once. For a protocol that pushes, each call with `waits` gives the next push of one
    ///     subscription, and the next call follows at once.
    /// - Returns: events in the order of the log; none, if there is no news. Events at or before the
    ///   finger do no harm.
    func poll(after finger: Sync.Place, waits: Bool) async throws(SyncFailure) -> Sync.Batch

    /// Tells the server that a log is wanted no more. Best effort: called once, never again, and
    /// cancelled after ``UpdateMachine/releaseTime``.
    func release(_ log: Sync.Place.Log) async

    /// Sends mutations, in the order in which they are to be run. One push is out at a time, beside a
    /// register, a poll and a release; one that is cancelled should end soon, as those should.
    ///
    /// Supplied where the model takes no changes.
    ///
    /// - Parameter push: the mutations, whose they are, and the last refusal that is known.
    /// - Returns: that the server has them, or which of them it refuses. Neither acknowledges
    ///   anything: it may run them later.
    func push(
      _ push: Outbox<Model.Change>.Push
    ) async throws(PushFailure) -> PushAnswer

    /// Asks for some items of a list, or for one by its ID. Several may be out at once, beside a
    /// register, a poll and a release; one that is cancelled should end soon, as those should.
    ///
    /// Supplied where the model holds everything.
    ///
    /// - Parameter request: which items of which list.
    /// - Returns: the items as they are read at some moment between call and return, in ascending
    ///   order, without a hole; and which of the list's ends were reached.
    func page(
      _ request: PageRequest<Model.Lists.Narrow, Model.Lists.ID>
    ) async throws(SyncFailure) -> Model.Lists.Page

    /// How eagerly pages are fetched from this server. Asked once, before the first. By default right
    /// for most.
    var pageSettings: PageSettings { get }
  }

  extension Source {
    public var pageSettings: PageSettings { PageSettings() }
  }

  /// The source of a model that takes no changes: nothing is ever pushed.
  extension Source where Model.Change == Never {
    public func push(
      _ push: Outbox<Never>.Push
    ) async throws(PushFailure) -> PushAnswer { .accepted }
  }

  /// The source of a model that holds everything: no page is ever asked for.
  extension Source where Model.Lists == NoLists {
    public func page(
      _ request: PageRequest<NoLists.Narrow, NoLists.ID>
    ) async throws(SyncFailure) -> NoLists.Page { throw .unsupported }
  }

  /// Why a push was not answered.
  public struct PushFailure: Error, Hashable, Sendable {
    /// Classified as for a poll.
    public var failure: SyncFailure
    /// Whether the server may have heard of it. `false` only if it certainly has not, as when there
    /// was no connection: what was in the push then is as if it had never been sent.
    public var hasLeft: Bool

    /// In doubt, it has left.
    public init(_ failure: SyncFailure, hasLeft: Bool = true) {
      self.failure = failure
      self.hasLeft = hasLeft
    }
  }

  /// What a register brings.
  public struct Registered<Snapshot: Sendable, Place: Finger>: Sendable {
    /// The server's state at ``finger``.
    public var snapshot: Snapshot
    /// The place in the log that the snapshot is of; what comes after it is polled for.
    public var finger: Place
    /// What the server promises: how long a poll may wait, and how long the log is kept.
    public var terms: Terms

    /// Snapshot and finger must be of one moment: a finger that is asked for before or after the
    /// snapshot loses events or gives them twice, and nobody can tell.
    public init(snapshot: Snapshot, finger: Place, terms: Terms) {
      self.snapshot = snapshot
      self.finger = finger
      self.terms = terms
    }
  }

#endif
