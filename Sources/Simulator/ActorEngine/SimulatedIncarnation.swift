#if !hasFeature(Embedded)

  internal import UpdateMachine

  /// One process of one client, as the driver's adapters see it. After a crash its adapters are
  /// disconnected.
  ///
  /// All of it runs on the world's thread, on the world's executor. That makes `@unchecked` sound.
  final class SimulatedIncarnation<App: SimulatedApp>: @unchecked Sendable {
    let client: Int
    let number: UInt64
    /// `nil`: the process is gone.
    weak var engine: ActorEngine<App>?
    /// The number of calls of `run()` that have not returned: a second one may wait for the first
    /// to end.
    var runs = 0
    /// The signals that the driver has not finished handling.
    var signals = 0
    /// Whether the app has said start and the driver has not begun.
    var awaitsStart = false
    /// The ranges of timers to arm, and the drawn moments without a sleep yet: a timer may be
    /// disarmed before its task begins.
    var armed: [MomentRange] = []
    var drawn: [Moment] = []

    var load: CheckedContinuation<Loaded, Never>?
    /// What this version of the app could not read whole.
    var unreadable: DatedReplica<App.Model, App.Server.Place>?
    var read: CheckedContinuation<[RowAnswer]?, Never>?
    var save: CheckedContinuation<Bool, Never>?
    /// Whether the store is at work.
    var usesStore: Bool { load != nil || read != nil || save != nil }
    /// The state that a store of rows was asked to save.
    var saving: DatedReplica<App.Model, App.Server.Place>?

    /// The user's memory that belongs to the current save.
    var memory: App.User.Memory?

    /// The user's current action, and those that follow.
    var action: App.User.Action?
    var actions: [App.User.Action] = []
    /// How many inputs the client has had from its user, and from its app.
    var inputs = (user: 0, app: 0)
    /// The windows that its user has open.
    var windows: [WindowViews<App.Model.Lists>] = []
    /// The requests for pages that the client wants and has not sent yet.
    var fetches: [(id: RequestID, request: SimulatedSource<App>.Request)] = []

    /// Whether an app reads the states that its machine publishes, and the last one it has read.
    var hasAudience = false
    var seen: ReplicaState<App.Model>?
    /// The moments at which its banner may change by time alone, as far as it was told so far; and
    /// those of them that are also the moment of a timer.
    var bannerChanges: [Moment] = []
    var sharedMoments: [Moment] = []
    /// What the app's screens have read: windows, queries of the view and of the model, and waits
    /// for changes.
    var screens = Screens<App>()

    /// The result of a load.
    enum Loaded: Sendable {
      case found(DatedReplica<App.Model, App.Server.Place>?)
      case failed
    }

    init(client: Int, number: UInt64, engine: ActorEngine<App>) {
      self.client = client
      self.number = number
      self.engine = engine
    }
  }

#endif
