internal import SyncProtocols
internal import UpdateMachine

/// One device in a world: a replica, the disk under it, its way to the
/// server.
struct SimulatedClient<App: SimulatedApp>: Sendable {
  typealias Sync = App.Server.Sync
  typealias Body = Replica<App.Model, Sync>
  typealias Saved = SavedReplica<App.Model, Sync.Place>

  /// The last life's, while the process is not running.
  var replica: Body
  var reader = App.Reader()
  var writer = App.Writer()
  var writerDisk = WriterDisk<App.Writer.Memory, Saved>(App.Writer.blank)
  var isRunning = false
  var life: UInt64 = 0

  /// What is durable, and when it was written by the wall clock.
  var disk = App.Disk()
  var writtenAt: Moment = .distantPast
  var write: Write?
  /// An older saved form that may come back.
  var backup: Backup?
  /// What is on the disk came back from there, and nothing was written since.
  var isFormOld = false
  /// Until then nothing can be written.
  var fullUntil: Moment = .distantPast
  /// Nobody can expect it to become level any more.
  var isLostForEver = false
  /// An erase that waits for the write under way.
  var erasesAfterWrite = false

  /// What its app said last.
  var word = Word()
  /// The saved form is being read: what is read is what was there when its process began.
  var isReading = false
  var reading: Saved?

  /// The timer that is armed.
  var timer: TimerID?
  /// Where the request that is out is.
  var exchange: Int?

  /// Asleep until then: nothing reaches the process; what comes is kept for later.
  var asleepUntil: Moment = .distantPast
  var asleepSince: Moment = .distantPast
  var inbox: [Step] = []
  var connection = Connection.open
  var isRevoked = false

  /// A copy of what was on the disk.
  struct Backup: Sendable {
    var disk: App.Disk
    var writtenAt: Moment
    /// For a writer: what was known then.
    var memory: App.Writer.Memory
  }

  struct Write: Sendable {
    var id: WriteID
    /// `nil`: the finger was dropped in the same step, so there is nothing to write.
    var saved: Saved?
    /// What a driver's own store wrote; `nil`: that is for the disk to say.
    var step: DiskStep?
    /// For a writer: when it was taken, and what was known then.
    var number: UInt64 = 0
    var memory: App.Writer.Memory?
  }

  enum Connection: Sendable {
    case open
    /// Every attempt fails at once.
    case refused
    /// Everything vanishes.
    case silent
  }

  init(settings: MachineSettings) { replica = Body(life: Life(0), settings: settings) }

  /// A new process.
  mutating func beginLife(settings: MachineSettings) {
    life += 1
    isRunning = true
    replica = Body(life: Life(life), settings: settings)
    timer = nil
    exchange = nil
  }
}

/// One request on its way, and its answer.
struct Exchange<App: SimulatedApp>: Sendable {
  var client: Int
  /// `nil`: an actor asks, and keeps the request's ID to itself.
  var request: RequestID?
  var kind: Kind
  /// What the server calls the client.
  var name: UInt64?
  /// Told apart from earlier users of the same place.
  var generation: UInt64
  var isCancelled = false
  /// Waits at the server for news.
  var isWaiting = false
  /// The answer to a wait will never come back: the connection is half open.
  var isHalfOpen = false
  var outcome: Outcome?
  /// When the answer left the server: what it says was so then at the latest.
  var left: Moment = .distantPast
  /// How many pending steps name it.
  var references: Int64 = 0

  enum Kind: Sendable {
    case register
    case poll(App.Server.Place, waits: Bool)
  }

  enum Outcome: Sendable {
    case reply(App.Server.Reply)
    case failed(SyncFailure)
  }
}

/// What is pending in a world.
enum Step: Sendable {
  case requestArrives(Int)
  case snapshotIsReady(Int, queue: Int)
  case answerArrives(Int)
  case releaseArrives(queue: Int)
  case timerFires(client: Int, life: UInt64, TimerID)
  case sleepEnds(client: Int, life: UInt64, sleeper: UInt64)
  case writeEnds(client: Int, life: UInt64, WriteID, succeeds: Bool)
  /// A heartbeat or a collection may be due at the server.
  case serverIsDue
  case workload
  case disturbance
  case happens(client: Int, Incident)
  case reads(client: Int, life: UInt64, Reading)
  case writes(client: Int, life: UInt64, Writing)
  case serverRecovers
  case serverIsSupportedAgain
  case judgement
}

/// What a user or a system says to an app.
enum AppSignal: Sendable {
  case started(foreground: Bool)
  case stopped
  case loggedOut
  case foregrounded
  case backgrounded
  case networkChanged
  case retryRequested
  case credentialsChanged
}

/// Something that reaches a client, where the world does not run its replica but hands it over.
enum Delivery<App: SimulatedApp>: Sendable {
  case begins(client: Int, life: UInt64, foreground: Bool)
  case crashes(client: Int)
  case loads(client: Int, SavedReplica<App.Model, App.Server.Place>?, age: TimeSpan?)
  case writeEnds(client: Int, succeeds: Bool)
  case sleepEnds(sleeper: UInt64)
  /// What came of the exchange of this generation.
  case answer(generation: UInt64, Exchange<App>.Outcome)
  case signal(client: Int, AppSignal)
}

/// What a disturbance leaves to be done later.
enum Incident: Sendable {
  case starts
  case crashes
  case loads
  case wakes
  case foregrounds
  case backgrounds
  case changesNetwork
  case retries
  case reconnects
  case getsCredentials
  case isStopped
  case isStartedAgain
  /// After the faults: the user wants to see it level.
  case isLookedAt
}
