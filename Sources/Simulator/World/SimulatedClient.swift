internal import SyncProtocols
internal import UpdateMachine

/// One device in a world: a client, its user, its disk, and its connection to the server.
///
/// It is a class, because reading one word of a struct in an array copies the whole struct; that
/// took two thirds of a world's time. A class is safe here, because a world is never copied.
final class SimulatedClient<App: SimulatedApp> {
  typealias Sync = App.Server.Sync
  typealias Body = SyncClient<App.Model, Sync>
  typealias Saved = SavedReplica<App.Model, Sync.Place>
  typealias Lists = App.Model.Lists

  /// The client. While no process runs, it is the client of the last process.
  var held: Held
  var user = App.User()
  var isRunning = false
  var incarnation: UInt64 = 0

  /// The durable state. `writtenAt` is when it was written, by the wall clock.
  var disk = App.Disk()
  var writtenAt: Moment = .distantPast
  /// When the last poll left.
  var askedAt: Moment = .distantPast
  /// The user's memory as of the form on the disk. `readMemory` is the same for the form being
  /// read.
  var memory: App.User.Memory = App.User.blank
  var readMemory: App.User.Memory?
  var write: Write?
  /// An older saved form, which may come back.
  var backup: Backup?
  /// Whether the form on the disk is that backup, with no write since.
  var isFormOld = false
  /// The disk is full until this moment.
  var fullUntil: Moment = .distantPast
  /// Whether the client no longer has to become up to date.
  var isLostForEver = false

  /// The last signals that its app has sent.
  var word = Word()
  /// Whether the saved form is being read. `reading` is that form, as it was when the process
  /// began.
  var isReading = false
  var reading: Saved?
  /// How long reading it takes at the start of this process.
  var loadDelay: Int64?
  /// Whether the saved form could not be read. Then it must be set aside before it is replaced.
  var mustSetAside = false
  /// Whether this process is of a newer version of the app, which cannot read the saved model.
  var isUpdated = false
  /// Whether this process leaves rows on the disk. `rowReading` holds the rows being read now.
  var leavesRows = false
  var rowReading: RowReading?

  /// The timers that are armed.
  var timers: [TimerID] = []
  /// The index of the open register or poll.
  var exchange: Int?
  /// The open requests for pages.
  var fetches: [Fetch] = []
  /// Every push sent so far, by number, from any process.
  var pushes: [Sent] = []
  var fetchCount: UInt64 = 0
  /// The last request that began a subscription.
  var subscription: RequestID?

  /// The device sleeps until this moment. Meanwhile nothing reaches the process; what arrives is
  /// kept in `inbox`.
  var asleepUntil: Moment = .distantPast
  var asleepSince: Moment = .distantPast
  var inbox: [Step] = []
  var connection = Connection.open
  var isRevoked = false

  /// The client in place. It cannot be copied by accident, and functions that borrow it can only
  /// read it.
  struct Held: ~Copyable {
    var body: Body
  }

  /// Reading gives a copy of the client; modifying changes the client itself.
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
    /// What a driver's own store wrote. If it is `nil`, the disk decides.
    var step: DiskStep?
    var memory: App.User.Memory
    /// How long the driver had wanted it: the form is dated then.
    var wait: TimeSpan
  }

  /// Rows being read.
  struct RowReading: Sendable {
    /// The client's ID for the reading; `nil` if only the driver knows it.
    var id: RequestID?
    var queries: [RowQuery]
    var fails: Bool
    /// Whether a stop came after the reading began. Then it may be cut short.
    var wasStopped = false
  }

  /// One request for a page.
  struct Fetch: Sendable {
    var number: UInt64
    /// The client's ID for the request.
    var id: RequestID
    var request: PageRequest<Lists.Narrow, Lists.ID>
    /// The state in which the server looked up the IDs.
    var found: App.Truth?
    var page: Lists.Page?
    /// The position at which the rows were read.
    var position: Int64 = 0
  }

  /// One push.
  struct Sent: Sendable {
    var push: PushRequest<App.Model.Change>
    /// As the client has sent it.
    var request: App.Server.Push
    var answer: PushAnswer?
    /// Whether the client has stopped waiting for the result.
    var isGivenUp = false
    /// Whether it has reached the server, and whether an answer or a failure has come back.
    var hasArrived = false
    var hasEnded = false
  }

  enum Connection: Sendable {
    case open
    /// Every attempt fails at once.
    case refused
    /// Requests and answers vanish without notice.
    case silent
  }

  init(settings: ClientSettings) {
    held = Held(body: Body(incarnation: Incarnation(0), settings: settings))
  }

  /// Begins a new process.
  func beginIncarnation(settings: ClientSettings) {
    incarnation += 1
    isRunning = true
    body = Body(incarnation: Incarnation(incarnation), settings: settings)
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
  /// `nil` if an actor sent the request; its ID is not known here.
  var request: RequestID?
  var kind: Kind
  /// The server's name for the client.
  var name: UInt64?
  /// Tells this exchange from earlier ones with the same index.
  var generation: UInt64
  var isCancelled = false
  /// Whether the request waits at the server for news.
  var isWaiting = false
  /// When a sign of life is due that ends its wait.
  var waitsUntil = Moment(milliseconds: .max)
  /// Whether the connection is half open: the answer to a wait will never arrive.
  var isHalfOpen = false
  var outcome: Outcome?
  /// When the answer left the server. What it says may have been true earlier, but not later.
  var left: Moment = .distantPast
  /// The number of pending steps that refer to this exchange.
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

/// A pending step of a world.
enum Step: Sendable {
  case requestArrives(Int)
  case snapshotIsReady(Int, queue: Int)
  case answerArrives(Int)
  case releaseArrives(queue: Int)
  case timerFires(client: Int, incarnation: UInt64, TimerID)
  case sleepEnds(client: Int, incarnation: UInt64, sleeper: UInt64)
  case writeEnds(client: Int, incarnation: UInt64, WriteID, succeeds: Bool)
  case isErased(client: Int, incarnation: UInt64)
  case rowsAreRead(client: Int, incarnation: UInt64)
  /// A heartbeat or a collection may be due at the server.
  case serverIsDue
  case workload
  case disturbance
  case happens(client: Int, Incident)
  case userActs(client: Int, incarnation: UInt64)
  case fetches(client: Int, incarnation: UInt64, Fetching)
  case pushes(client: Int, incarnation: UInt64, Pushing)
  case serverRecovers
  case serverIsSupportedAgain
  case judgement
}

/// Something that the world hands over to a client run by other code.
enum Delivery<App: SimulatedApp>: Sendable {
  typealias Client = SimulatedClient<App>

  case begins(client: Int, incarnation: UInt64, foreground: Bool)
  case crashes(client: Int)
  case loads(client: Int, Client.Saved?, age: TimeSpan?)
  case loadFails(client: Int)
  case writeEnds(client: Int, succeeds: Bool)
  /// `nil` if the rows cannot be read.
  case rowsAreRead(client: Int, [RowAnswer]?)
  case sleepEnds(sleeper: UInt64)
  /// The result of the exchange of this generation.
  case answer(generation: UInt64, Exchange<App>.Outcome)
  case page(client: Int, fetch: UInt64, Result<App.Model.Lists.Page, SyncFailure>)
  case pushed(client: Int, push: UInt64, Result<PushAnswer, PushFailed>)
  case signal(client: Int, AppSignal)
  case action(client: Int, App.User.Action)
}

/// A push without an answer.
struct PushFailed: Error {
  var failure: SyncFailure
  var hasLeft: Bool
}

/// The later consequence of a disturbance.
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
  /// After the faults: the user wants to see the app up to date.
  case isLookedAt
  /// In a hasty world: the user acts, or something goes wrong.
  case isStruck
}
