internal import SyncProtocols
internal import UpdateMachine

// Oracles: the room of the checks. They compare a client with what a simulator knows and a client
// cannot know: the true server, every other moment, every effect. Each is a small value in a file
// of its own, and a world calls them after every step.
//
// Oracles may use: Run, ServerMessages.

/// All oracles together, with what they remember of each client. They check before and after every
/// input, and the first objection counts.
///
/// A checker changes nothing that it judges. The code that runs the clients (a world or a driver)
/// tells it what happens, so the same checker judges values and actors.
///
/// A client reports the inputs of its machine (``SyncClient/Effects/heard``). The checker repeats
/// them on a machine of its own. After each step the two machines must be equal, and each input is
/// judged by itself.
struct Checker<App: SimulatedApp> {
  typealias Server = App.Server
  typealias Place = Server.Place
  typealias Body = SyncClient<App.Model, Server.Sync>
  typealias Heard = MachineHeard<Place>
  typealias Effects = Machine<Place>.Effects

  /// The settings that all machines share: all but whether they are durable.
  let settings: MachineSettings
  /// The longest one-way latency.
  let latency: TimeSpan
  var accounts: [Account]
  /// Whether the wall clock ever gave this client a wrong age. The next save keeps what follows
  /// from it, so this outlives the process.
  private var hadWrongAge: [Bool]
  /// The verdict, the statistics and the hash.
  var result: RunResult
  /// Whether there is a verdict. Only the first one counts.
  private(set) var hasFound = false

  /// What is remembered of one client. It is a class, so that reading one word of it copies nothing
  /// else.
  final class Account {
    let settings: MachineSettings
    /// The checker's own machine, which takes the same inputs.
    var machine: Machine<Place>?
    var walls = WallsOracle()
    var cell = CellOracle()
    var budget: BudgetOracle
    var honesty = HonestyOracle()
    var table = Table()
    /// The finger's log, and its number on the server.
    var log: Place.Log?
    var logNumber: Int?
    /// The server's position that the finger stands for; −1 if there is none.
    var position: Int64 = -1
    /// How long the device has slept. It counts until the answer to a later request vouches for the
    /// state.
    var sleep: TimeSpan = .zero
    var upToDateAsOf: Moment?
    var hasAskedSinceSleep = false
    /// When the next answer left the server.
    var answerLeft: Moment = .distantPast
    /// Whether the wall clock gave a wrong age for the saved form.
    var hasWrongAge = false
    /// The model's checksum after the last input that was allowed to change it.
    var checksum: UInt64?
    /// Whether the saved form was read.
    var isLoaded = false
    /// The newest change, and how many the outbox knows as overruled; `nil`: not looked at yet.
    var changes: (newest: MutationTicket, overruled: Int)?
    /// Whether the last input may end an outage, or may restart the time it is counted from.
    var endsOutage = false
    /// What its app was told of.
    var told = ToldOracle<App.Model, Server.Sync>()
    var store: StoreOracle

    init(_ settings: MachineSettings) {
      self.settings = settings
      budget = BudgetOracle(settings: settings)
      store = StoreOracle(settings: settings.retry)
    }
  }

  /// What is remembered of a machine while it takes an input.
  struct Before: Sendable {
    var kind: InputKind
    var failure: SyncFailure?
    /// The log of a snapshot.
    var log: Place.Log?
    var terms: ServerTerms?
    /// The age of a saved form that was read.
    var age: TimeSpan?
    /// Whether a poll brought something new.
    var isNews = false
    /// Whether an answer was all that the server had.
    var isComplete = true
    var isRegistering: Bool
    var isOverdue: Bool
    var isAwaiting: Bool
    /// Whether the input is an answer that is awaited.
    var isCurrent = false
    var status: MachineStatus
    var finger: Place?
    /// Whether an attempt has failed since the outage began.
    var hasFailed: Bool
    /// When the open request was sent.
    var sent: Moment
    var waits: Bool
    /// Whether a subscription was out. It stays out when it is answered.
    var isSubscribed: Bool
    /// The machine before the input, kept if the input must not change it.
    var machine: Machine<Place>?

    init(_ heard: Heard, _ machine: Machine<Place>, at now: Moment) {
      kind = InputKind(heard)
      isRegistering = machine.finger == nil
      isOverdue = machine.isOverdue(at: now)
      status = machine.status
      isAwaiting = status.outstanding != nil
      finger = machine.finger
      hasFailed = machine.hasFailed
      sent = status.outstanding?.sent ?? now
      waits = status.outstanding?.waits ?? false
      isSubscribed = waits && machine.terms.cadence == .pushed
      switch heard {
      case .restored(_, _, let age): self.age = age
      case .input(.snapshotArrived(let id, let finger, let terms, let isComplete)):
        isCurrent = machine.isCurrent(id)
        log = finger.log
        self.terms = terms
        self.isComplete = isComplete
      case .input(.failed(let id, let failure)):
        isCurrent = machine.isCurrent(id)
        self.failure = failure
      case .input(.polled(let id, let finger, let isComplete)):
        isCurrent = machine.isCurrent(id)
        isNews = finger != nil
        self.isComplete = isComplete
      case .input(.app), .input(.fired), .input(.written), .input(.writeFailed): break
      }
      if kind.isAnswer, !isCurrent { self.machine = machine }
    }
  }

  /// - Parameter machines: the settings of each client's machine.
  init(machines: [MachineSettings], latency: TimeSpan, seed: UInt64) {
    settings = machines.first ?? MachineSettings()
    self.latency = latency
    accounts = machines.map { Account($0) }
    hadWrongAge = [Bool](repeating: false, count: machines.count)
    result = RunResult(seed: seed)
  }

  /// A new process begins. What its predecessor did does not bind it.
  mutating func beginIncarnation(of client: Int) {
    accounts[client] = Account(accounts[client].settings)
  }

  /// A device wakes. What reached it while it slept is not news.
  mutating func noteSleep(of client: Int, for length: TimeSpan) {
    accounts[client].sleep = max(accounts[client].sleep, length)
    accounts[client].hasAskedSinceSleep = false
  }

  /// Notes when the next answer left the server.
  mutating func noteAnswer(for client: Int, left: Moment) { accounts[client].answerLeft = left }

  /// Notes that the wall clock gives a wrong age for the saved form, so decisions based on it may
  /// be wrong.
  mutating func noteWrongAge(of client: Int) {
    accounts[client].hasWrongAge = true
    hadWrongAge[client] = true
  }

  mutating func report(
    _ oracle: Oracle, _ client: Int?, _ now: Moment, _ expected: String, _ found: String
  ) {
    guard !hasFound else { return }
    hasFound = true
    result.finding = Finding(oracle, client: client, at: now, expected: expected, found: found)
  }

  /// Judges what the app could have seen until now. Called just before an input.
  mutating func look(_ client: Int, _ body: Body, _ server: Server, at now: Moment) {
    guard body.isLoaded else { return }
    result.checks += 1
    let claim = body.freshness(at: now).claim
    if let expected = accounts[client].honesty.look(claim, at: now) {
      report(.honesty, client, now, expected, "\(claim)")
    }
    judgeHonesty(client, claim, body, server, at: now)
    judgeClaim(claim, client, body.machine, at: now)
  }

  /// Counts what became of a user's changes.
  private mutating func count(_ input: Body.Input?, _ client: Int, _ body: Body) {
    guard let outbox = body.local?.outbox else { return }
    let old = accounts[client].changes
    let new = (newest: outbox.newestTicket, overruled: outbox.overruledCount)
    accounts[client].changes = new
    switch input {
    case .pushAnswered(_, .refused): result.changes.refused += 1
    case .pushAnswered(_, .behind), .pushAnswered(_, .acceptedOnly): result.changes.conflicts += 1
    default: break
    }
    guard let old else { return }
    result.changes.overruled += Int64(max(0, new.overruled - old.overruled))
    if input == nil, new.newest > old.newest {
      result.changes.made += Int64(new.newest.number - old.newest.number)
    }
  }

  /// Judges an input's effects, the client against the truth, and what the client claims. Called
  /// after the input, which is `nil` for a user's action.
  mutating func judge(
    _ input: Body.Input?, _ effects: Body.Effects, _ client: Int, _ body: Body, _ server: Server,
    at now: Moment
  ) {
    result.checks += 5
    if let violation = body.violation() {
      report(.walls, client, now, violation.rule, violation.found)
    }
    count(input, client, body)
    let wasLoaded = accounts[client].isLoaded
    accounts[client].isLoaded = body.isLoaded
    let given = Given(input)
    let before = accounts[client].upToDateAsOf
    judgeHeard(input, given, effects, client, body, server, wasLoaded: wasLoaded, at: now)
    let checksum = body.model.map(App.checksum)
    let freshness = body.freshness(at: now)
    judgeTwice(input, given, client, body, checksum, at: now)
    if body.isLoaded {
      judgeReplica(
        client, body, checksum, server, mayChange: effects.changes.contains(.model), at: now)
      judgeAsOf(client, from: before, body, server, at: now)
      let claim = freshness.claim
      if accounts[client].honesty.flickers(to: claim), !accounts[client].endsOutage {
        report(
          .honesty, client, now, "an outage is counted from where it began",
          "\(claim), \(words(of: input))")
      }
      accounts[client].honesty.note(claim, changesAt: body.machine.freshnessChange(after: now))
      judgeHonesty(client, claim, body, server, at: now)
      if given.isForm { judgeRestored(client, body, server, at: now) }
      judgeClaim(claim, client, body.machine, at: now)
      if !HonestyOracle.fits(claim, body.status) {
        report(.honesty, client, now, "a claim that fits \(body.status)", "\(claim)")
      }
    }
    if let expected = accounts[client].store.note(
      input, effects, isLoaded: body.isLoaded, at: now)
    {
      report(.budget, client, now, expected, words(of: input))
    }
    if let objection = accounts[client].told.note(input, effects, body, freshness, at: now) {
      report(.honesty, client, now, objection.expected, "\(objection.found), \(words(of: input))")
    }
    foldHash(client, body, at: now)
  }

  func words(of input: Body.Input?) -> String { input.map { "\($0)" } ?? "the user acts" }

  /// Whether a client is live and up to date with the server's present state.
  func isLevel(
    _ client: Int, _ body: Body, _ server: Server, at now: Moment
  ) -> Bool {
    switch body.status {
    case .live(.polling(let request)) where request.waits: break
    case .live(.polling), .live(.pausing):
      guard case .every = body.machine.terms.cadence else { return false }
    default: return false
    }
    guard accounts[client].position == server.position || hasHeardAll(client, server) else {
      return false
    }
    return body.freshness(at: now).claim == .connected
  }

  /// Whether the client has taken every event announced so far.
  private func hasHeardAll(_ client: Int, _ server: Server) -> Bool {
    accounts[client].position >= 0
      && server.firstNews(after: accounts[client].position) == nil
  }

  // MARK: Oracles A and F

  private mutating func judgeReplica(
    _ client: Int, _ body: Body, _ found: UInt64?, _ server: Server, mayChange: Bool,
    at now: Moment
  ) {
    if mayChange || App.Model.Lists.arePartial {
      accounts[client].checksum = found
    } else if found != accounts[client].checksum {
      // Even while the client is stale, the last model stays readable and unchanged.
      report(.replica, client, now, "a model changes only by what it took whole", "\(body)")
    }
    guard let finger = body.finger else { return }
    guard Server.standsForState(finger) else {
      // The client still shows what it showed before, unless it has begun anew.
      let old = accounts[client].position
      if old >= 0, found != server.checksum(at: old) { accounts[client].position = -1 }
      return
    }
    if accounts[client].log != finger.log {
      accounts[client].log = finger.log
      accounts[client].logNumber = server.index(of: finger.log)
    }
    var position: Int64?
    if let number = accounts[client].logNumber {
      position = server.position(of: finger, inLog: number)
    }
    accounts[client].position = position ?? -1
    var expected: UInt64?
    if let position { expected = server.checksum(at: position) }
    // Of a partial state only the finger is checked here; oracle B checks the rest.
    if App.Model.Lists.arePartial, position != nil { return }
    guard !ReplicaOracle.holds(expected: expected, found: found) else { return }
    let truth = position.map { App.describe(server.truth(at: $0)) }
    report(
      .replica, client, now, truth.map { "at \(finger) \($0)" } ?? "a finger that the server gave",
      "at \(finger) \(body.model.map(App.describe) ?? "no model")")
  }

  /// Within one log a finger only moves forward.
  mutating func judgeFinger(
    _ before: Before, _ client: Int, _ machine: Machine<Place>, at now: Moment
  ) {
    guard let old = before.finger, let new = machine.finger, old.log == new.log,
      Server.number(of: new) < Server.number(of: old)
    else { return }
    report(.replica, client, now, "a finger at or after \(old)", "\(new)")
  }

  /// A finger is dropped without asking only if the server has certainly forgotten its log (rule
  /// 8).
  mutating func judgeDrop(
    _ before: Before, _ client: Int, _ machine: Machine<Place>, _ server: Server, at now: Moment
  ) {
    guard let finger = before.finger, machine.finger == nil, !accounts[client].hasWrongAge else {
      return
    }
    switch before.kind {
    case .failed, .polled, .loggedOut: return  // These inputs ask for it.
    case .restored, .started, .stopped, .foregrounded, .backgrounded, .networkChanged,
      .retryRequested, .credentialsChanged, .snapshotArrived, .fired, .written, .writeFailed:
      break
    }
    guard let number = server.index(of: finger.log), server.isAlive(at: number) else { return }
    report(
      .budget, client, now, "a finger is given up unasked only when its log is gone",
      "\(finger) is alive; \(before.kind), \(machine)")
  }

  /// Whether an input may end an outage or restart its count. The user comes back, and the outage
  /// counts from then; or a complete answer says that all was well at some earlier moment.
  static func endsOutage(_ before: Before) -> Bool {
    switch before.kind {
    case .foregrounded: true
    case .snapshotArrived, .polled: before.isCurrent && before.isComplete
    default: false
    }
  }

  /// An answer speaks for the moment when it left the server. A sleeping device may have held it
  /// back, but for no longer than its request can be open without the machine's noticing the sleep.
  mutating func judgeNews(
    _ before: Before, _ upToDateAsOf: Moment?, _ client: Int, _ machine: Machine<Place>,
    at now: Moment
  ) {
    guard before.kind == .polled, let upToDateAsOf else { return }
    let lain = upToDateAsOf - accounts[client].answerLeft
    let most = machine.terms.longDeadline + settings.late
    guard lain > most else { return }
    report(
      .honesty, client, now, "up to date as of at most \(most) after the answer left the server",
      "\(lain) after, \(machine)")
  }

  /// Checks that a state lacks nothing that was announced before the moment as of which it is said
  /// to be up to date: when a quick poll or a register was sent. A wait is as of its arrival, when
  /// something may have happened since it was answered. A server that has broken its contract may
  /// have left something out, for which no client is to blame.
  private mutating func judgeAsOf(
    _ client: Int, from old: Moment?, _ body: Body, _ server: Server, at now: Moment
  ) {
    guard let upToDateAsOf = accounts[client].upToDateAsOf, upToDateAsOf != old, upToDateAsOf < now,
      body.finger != nil, accounts[client].position >= 0, server.breachCount == 0,
      let news = server.firstNews(after: accounts[client].position), news < upToDateAsOf
    else { return }
    report(
      .honesty, client, now, "up to date as of \(news) at most, when the next change was announced",
      "as of \(upToDateAsOf), \(body.machine)")
  }

  /// Checks that *connected* is never claimed for an older state than promised.
  private mutating func judgeHonesty(
    _ client: Int, _ claim: Freshness.Claim, _ body: Body,
    _ server: Server, at now: Moment
  ) {
    guard claim == .connected else { return }
    let position = accounts[client].position
    guard position != server.position else { return }
    var staleness = TimeSpan.forever
    if position >= 0 {
      guard let news = server.firstNews(after: position) else { return }
      staleness = now - news
    }
    let bound =
      HonestyOracle.bound(
        settings: settings, terms: body.machine.terms, latency: latency)
      + accounts[client].sleep
    if !HonestyOracle.allows(claim, staleness: staleness, bound: bound) {
      report(
        .honesty, client, now, "connected only if at most \(bound) old",
        "connected, \(staleness) old, \(body.machine)")
    }
  }

  /// Checks that a restored state is not said to have been up to date after the server had news for
  /// it. An answer may have lain in the device, and a slow write dates its form late. Story (seed
  /// 298 of posts): the clock went back, so that a form seemed new, and the next save wrote that.
  private mutating func judgeRestored(
    _ client: Int, _ body: Body, _ server: Server, at now: Moment
  ) {
    guard !hadWrongAge[client], accounts[client].position >= 0,
      let level = body.freshness(at: now).upToDateAsOf,
      let news = server.firstNews(after: accounts[client].position)
    else { return }
    let most =
      body.machine.terms.longDeadline + settings.late + latency
      + HonestyOracle.longestWrite
    guard level - news > most else { return }
    report(
      .honesty, client, now, "up to date as of at most \(most) after \(news)",
      "as of \(level), \(body.machine)")
  }
}
