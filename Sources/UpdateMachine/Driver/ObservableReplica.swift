#if !hasFeature(Embedded)

  public import Observation

  /// A replica's state for the main actor: what SwiftUI or any other observer can watch.
  ///
  ///     @State private var replica = ObservableReplica(machine)
  ///     …
  ///     ContentView(replica.state).task { await replica.follow() }
  ///
  /// It keeps the machine alive.
  @MainActor
  @Observable
  public final class ObservableReplica<Origin: SyncSource> {
    /// The newest state. *Unknown* until ``follow()`` has begun.
    public private(set) var state: ReplicaState<Origin.Model>

    /// For everything except observing: `run()`, `logOut()`, the app's signals.
    @ObservationIgnored
    public let machine: UpdateMachine<Origin>

    /// Begins *unknown*; nothing is read before ``follow()``.
    public init(_ machine: UpdateMachine<Origin>) {
      self.machine = machine
      state = ReplicaState(
        holding: .unknown, status: nil, freshness: Freshness(.unknown, upToDateAsOf: nil),
        at: machine.clock.now)
    }

    /// Keeps ``state`` up to date, on the main actor, until the surrounding task is cancelled.
    /// States that come faster than the main actor is free are skipped. It does not run the
    /// machine: call its `run()` elsewhere. May be called again after it has returned.
    public func follow() async {
      for await newer in await machine.states() { state = newer }
    }
  }

#endif
