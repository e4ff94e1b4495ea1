#if !hasFeature(Embedded)

  public import Observation

  /// A replica's state for the main actor: what SwiftUI or any other observer can watch.
  ///
  ///     @State private var replica = ObservableReplica(machine)
  ///     …
  ///     ContentView(replica.state).task { await replica.follow() }
  ///
  /// Holds the machine for as long as it is held itself.
  @MainActor
  @Observable
  public final class ObservableReplica<Origin: Source> {
    /// The newest state. *Unknown* until ``follow()`` has begun.
    public private(set) var state: ReplicaState<Origin.Model>

    /// For everything but looking: `run()`, `logOut()`, what the app says.
    @ObservationIgnored
    public let machine: UpdateMachine<Origin>

    /// Begins *unknown*; nothing is read before ``follow()``.
    public init(_ machine: UpdateMachine<Origin>) {
      self.machine = machine
      state = ReplicaState(
        holding: .unknown, status: nil, freshness: Freshness(.unknown, levelAsOf: nil),
        at: machine.clock.now)
    }

    /// Keeps ``state`` new until the surrounding task is cancelled, on the main actor: states that
    /// come faster than it is free are skipped. Runs nothing: somebody calls the machine's `run()`.
    /// May be called again when it has returned.
    public func follow() async {
      for await newer in await machine.states() { state = newer }
    }
  }

#endif
