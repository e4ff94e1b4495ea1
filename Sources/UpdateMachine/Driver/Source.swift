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
  /// Calls are made off the actor, one at a time but for a release. When the surrounding task is
  /// cancelled, the call should end soon, with whatever failure: nobody waits for its result, but
  /// `run()` cannot return before it does.
  public protocol Source<Model, Sync>: Sendable {
    associatedtype Model: SyncModel
    associatedtype Sync: SyncProtocol where Sync.Batch.Event == Model.Event

    /// Asks for a snapshot and, atomic with it, a finger.
    func register() async throws(SyncFailure) -> Registered<Model.Snapshot, Sync.Place>

    /// Asks for what came after a finger, which acknowledges everything up to it.
    ///
    /// - Parameter waits: the server may hold the question open until there is news; `false`: it
    ///   must answer at once. For a protocol that pushes, each call with `waits` gives the next push
    ///   of one subscription.
    func poll(after finger: Sync.Place, waits: Bool) async throws(SyncFailure) -> Sync.Batch

    /// Tells the server that a log is wanted no more. Best effort.
    func release(_ log: Sync.Place.Log) async
  }

  /// What a register brings.
  public struct Registered<Snapshot: Sendable, Place: Finger>: Sendable {
    public var snapshot: Snapshot
    public var finger: Place
    public var terms: Terms

    public init(snapshot: Snapshot, finger: Place, terms: Terms) {
      self.snapshot = snapshot
      self.finger = finger
      self.terms = terms
    }
  }

#endif
