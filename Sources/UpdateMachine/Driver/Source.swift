// Driver: the room of the actor that performs what the values below it decide. It owns the way to
// the app: the source and store protocols, the clock, observation. It decides nothing: there is no
// rule of the protocol here. It may use every room below it.

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
