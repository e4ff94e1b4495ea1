internal import SyncProtocols
internal import UpdateMachine

/// One device in a world: a client, its user, the disk under it, its way to the server.
///
/// It is an object, for a world is never copied, and whoever reads one word of an array's element copies
/// all of it: two thirds of a world's time went there.
final class SimulatedClient<App: SimulatedApp> {
  typealias Sync = App.Server.Sync
  typealias Body = SyncClient<App.Model, Sync>
  typealias Saved = SavedReplica<App.Model, Sync.Place>
  typealias Lists = App.Model.Lists
  typealias Push = Outbox<App.Model.Change>.Push

  /// The last life's, while the process is not running.
  var held: Held
  var user = App.User()
  var isRunning = false
  var life: UInt64 = 0

  /// What is durable, and when it was written by the wall clock.
  var disk = App.Disk()
  var writtenAt: Moment = .distantPast
  /// When a poll last left.
  var askedAt: Moment = .distantPast
  /// What its user knows of what is on the disk, and of what is being read.
  var memory: App.User.Memory = App.User.blank
  var readMemory: App.User.Memory?
  var write: Write?
  /// An older saved form that may come back.
  var backup: Backup?
  /// What is on the disk came back from there, and nothing was written since.
  var isFormOld = false
  /// Until then nothing can be written.
  var fullUntil: Moment = .distantPast
  /// Nobody can expect it to become level any more.
  var isLostForEver = false

  /// What its app said last.
  var word = Word()
  /// The saved form is being read: what is read is what was there when its process began.
  var isReading = false
  var reading: Saved?
  /// How long that takes at the start of this process.
  var loadDelay: Int64?
  /// The saved form could not be read: it is set aside before anything takes its place.
  var mustSetAside = false
  /// This process leaves rows on the disk; those that it reads now.
  var leavesRows = false
  var rowReading: RowReading?

  /// The timers that are armed.
  var timers: [TimerID] = []
  /// Where the register or poll that is out is.
  var exchange: Int?
  /// The questions for pages that are on their way.
  var fetches: [Fetch] = []
  /// Every push that ever left, by number, whoever's process it was.
  var pushes: [Sent] = []
  var fetchCount: UInt64 = 0

  /// Asleep until then: nothing reaches the process; what comes is kept for later.
  var asleepUntil: Moment = .distantPast
  var asleepSince: Moment = .distantPast
  var inbox: [Step] = []
  var connection = Connection.open
  var isRevoked = false

  /// The client where it lies. It cannot be copied unasked: who is handed it only looks at it.
  struct Held: ~Copyable {
    var body: Body
  }

  /// A copy of the client, or the client itself where it is changed.
  var body: Body {
    get { held.body }
    _modify { yield &held.body }
  }

  /// A copy of what was on the disk.
  struct Backup: Sendable {
    var disk: App.Disk
    var writtenAt: Moment
    var memory: App.User.Memory
  }

  struct Write: Sendable {
    var id: WriteID
    var saved: Saved
    /// What a driver's own store wrote; `nil`: that is for the disk to say.
    var step: DiskStep?
    var memory: App.User.Memory
  }

  /// Rows that are being read.
  struct RowReading: Sendable {
    /// What the client calls it; `nil`: a driver keeps that to itself.
    var id: RequestID?
    var queries: [RowQuery]
    var fails: Bool
    /// A stop came since it was begun: it may be cut short.
    var wasStopped = false
  }

  /// One question for a page.
  struct Fetch: Sendable {
    var number: UInt64
    /// What the client calls it.
    var id: RequestID
    var request: PageRequest<Lists.Narrow, Lists.ID>
    /// What the server looked the IDs up in.
    var found: App.Truth?
    var page: Lists.Page?
    /// As of which position it was read.
    var position: Int64 = 0
  }

  /// One push.
  struct Sent: Sendable {
    var push: Push
    var answer: PushAnswer?
    /// Nobody hears what becomes of it.
    var isGivenUp = false
  }

  enum Connection: Sendable {
    case open
    /// Every attempt fails at once.
    case refused
    /// Everything vanishes.
    case silent
  }

  init(settings: ClientSettings) { held = Held(body: Body(life: Life(0), settings: settings)) }

  /// A new process.
  func beginLife(settings: ClientSettings) {
    life += 1
    isRunning = true
    body = Body(life: Life(life), settings: settings)
    timers = []
    exchange = nil
    fetches = []
    isReading = false
    reading = nil
    rowReading = nil
    mustSetAside = false
  }
}

/// One register or poll on its way, and its answer.
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
  case isErased(client: Int, life: UInt64)
  case rowsAreRead(client: Int, life: UInt64)
  /// A heartbeat or a collection may be due at the server.
  case serverIsDue
  case workload
  case disturbance
  case happens(client: Int, Incident)
  case userActs(client: Int, life: UInt64)
  case fetches(client: Int, life: UInt64, Fetching)
  case pushes(client: Int, life: UInt64, Pushing)
  case serverRecovers
  case serverIsSupportedAgain
  case judgement
}

/// Something that reaches a client, where the world does not run it but hands it over.
enum Delivery<App: SimulatedApp>: Sendable {
  typealias Client = SimulatedClient<App>

  case begins(client: Int, life: UInt64, foreground: Bool)
  case crashes(client: Int)
  case loads(client: Int, Client.Saved?, age: TimeSpan?)
  case loadFails(client: Int)
  case writeEnds(client: Int, succeeds: Bool)
  /// `nil`: they cannot be read.
  case rowsAreRead(client: Int, [RowAnswer]?)
  case sleepEnds(sleeper: UInt64)
  /// What came of the exchange of this generation.
  case answer(generation: UInt64, Exchange<App>.Outcome)
  case page(client: Int, fetch: UInt64, Result<App.Model.Lists.Page, SyncFailure>)
  case pushed(client: Int, push: UInt64, Result<PushAnswer, PushFailed>)
  case signal(client: Int, AppSignal)
  case action(client: Int, App.User.Action)
}

/// A push that was not answered.
struct PushFailed: Error {
  var failure: SyncFailure
  var hasLeft: Bool
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
