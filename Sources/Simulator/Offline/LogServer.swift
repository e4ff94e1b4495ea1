package import SyncProtocols
package import UpdateMachine

/// The server of an app whose users change things, in a world: a truth, and logs of numbered
/// changes. Position *p* is after *p* changes. It does with a second copy of a push what the
/// model says of it (`SyncModel.delivery`).
package struct LogServer<App: SimulatedOfflineApp>: PollHoldingServer, CommitLoggingServer {
  package typealias Truth = LoggedTruth<App>
  package typealias Sync = App.Sync
  package typealias Push = PushRequest<App.Model.Change>
  package typealias Event = App.Truth.Event

  package private(set) var truth: LoggedTruth<App>
  package private(set) var commits = CommitLog<LoggedTruth<App>>()
  package var held = HeldPolls<App.Truth.Snapshot, App.Sync>()
  package var now: Moment
  private let cadence: Cadence

  /// The position at which each log began. The last one is alive.
  private var starts: [Int64] = [0]
  /// The rows of the last log.
  private var rows: [LoggedChange<Event>] = []
  /// The number of the last row that was forgotten.
  private var forgotten: Int64 = 0

  /// The most changes in an answer; `nil`: not drawn yet.
  private var pageMaximum: Int?
  /// The most rows that are kept.
  private var retained = Int.max
  /// The library's server, which is given the same.
  private var twin = LogTwin<Event>()
  private var breach: QueueBreach?
  package private(set) var breachCount: Int64 = 0

  package init(truth: LoggedTruth<App>, settings: ServerSettings, at now: Moment) {
    self.truth = truth
    self.now = now
    cadence = settings.cadence
    commits.note(truth, at: now)
  }

  private static var countsIDs: Bool { App.Model.delivery == .exactlyOnce }

  // MARK: Places

  package static func number(of finger: Place) -> Int64 { Sync.number(of: finger) }

  /// Pages say it themselves.
  package static func newest(in batch: Sync.Batch) -> Int64? { nil }

  /// The number of the last change of the living log.
  private var latest: Int64 { position - starts[starts.count - 1] }

  private var lastLog: Int { starts.count - 1 }

  package func position(of finger: Place, inLog index: Int) -> Int64? {
    let number = Sync.number(of: finger)
    let end = index < lastLog ? starts[index + 1] : position
    let position = starts[index] + number
    return number >= 0 && position <= end ? position : nil
  }

  // MARK: Logs

  package static var log: Log { Sync.place(0, inLog: 0).log }

  package func index(of log: Log) -> Int? { starts.indices.first { id(at: $0) == log } }

  package func id(at index: Int) -> Log { Sync.place(0, inLog: index).log }

  package func isAlive(at index: Int) -> Bool { index == lastLog }

  package var aliveQueues: [Log] { [id(at: lastLog)] }

  package func retention(of log: Log) -> (events: Int, expires: Moment?)? { (rows.count, nil) }

  /// A change has no date: how long it is kept depends on what happens.
  package var terms: ServerTerms {
    ServerTerms(longDeadline: .seconds(100), lifetime: .seconds(365 * 86_400), cadence: cadence)
  }

  package static var cadences: [Cadence] {
    [.waits, .waits, .every(.seconds(60)), .every(.seconds(5))]
  }

  // MARK: Requests

  package mutating func beginRegister(at now: Moment) -> Result<Log, RegisterRefusal> {
    .success(id(at: lastLog))
  }

  /// A client without a name gets one with its first snapshot. State and number are read in one
  /// step, also if the log was lost since the request came.
  package mutating func finishRegister(_ log: Log, for name: UInt64?, at now: Moment) -> Reply {
    self.now = now
    var client = ClientID(name ?? 0)
    if name == nil {
      clientCount += 1
      client = ClientID(clientCount)
    }
    var (read, number) = (truth.state, latest)
    switch breach {
    case .staleSnapshot:
      guard let older = truth.past[position - 1], latest > 0, isSeen(older) else { break }
      read = older
      breakContract()
    case .wrongFinger:
      number += 1
      breakContract()
    default: break
    }
    return .registered(read.snapshot(for: client), Sync.place(number, inLog: lastLog), terms)
  }

  private var clientCount: UInt64 = 0

  package static var holdMaximum: TimeSpan { .seconds(3600) }

  package func hasNews(for finger: Place) -> Bool {
    finger.log != id(at: lastLog) || Sync.number(of: finger) != latest
  }

  package mutating func answer(to finger: Place) -> Reply {
    let number = Sync.number(of: finger)
    let isExpired = number < forgotten || number > latest
    guard finger.log == id(at: lastLog), !isExpired || breach == .revivedQueue && number <= latest
    else {
      judge(nil, from: finger)
      return .refused(.badQueue)
    }
    if isExpired { breakContract() }
    let page = page(
      after: number, atMost: pageMaximum ?? 100, exchanged: exchangesEvents(number))
    judge(page, from: finger)
    return .batch(Sync.batch(page, inLog: lastLog))
  }

  /// Compares an answer with the twin's.
  private mutating func judge(_ page: ChangeLogBatch<Event>?, from finger: Place) {
    guard breach == nil, breachCount == 0 else { return }
    let log = finger.log == id(at: lastLog) ? lastLog : lastLog - 1  // One of those before it.
    let answer = page.map {
      LogTwin<Event>.Answer(
        through: $0.through, hasMore: $0.hasMore, numbers: $0.changes.map { $0.number })
    }
    let objection = twin.objection(
      to: answer, after: Sync.number(of: finger), inLog: log, atMost: pageMaximum ?? 100)
    if let objection { truth.noteWrong(objection) }
  }

  /// - Parameter exchanged: whether it has the events of other numbers (a plant).
  private func page(
    after number: Int64, atMost maximum: Int, exchanged: Bool = false
  ) -> ChangeLogBatch<Event> {
    let news = rows.filter { $0.number > number }
    var page = Array(news.prefix(maximum))
    let hasMore = page.count < news.count
    if exchanged { for index in page.indices { page[index].event = rows[index].event } }
    return ChangeLogBatch(
      epoch: LogTwin<Event>.epoch(lastLog), after: number,
      through: hasMore ? page.last?.number ?? latest : latest, hasMore: hasMore, changes: page)
  }

  package func repeating(_ batch: Sync.Batch, from finger: Place) -> Sync.Batch? {
    let number = Sync.number(of: finger)
    guard batch.count > 0, finger.log == id(at: lastLog),
      rows.contains(where: { $0.number == number })
    else { return nil }
    return Sync.batch(page(after: number - 1, atMost: batch.count + 1), inLog: lastLog)
  }

  // MARK: Changes

  package static var knowsPushesAgain: Bool { App.Model.delivery != .atMostOnce }

  package mutating func push(_ push: Push, at now: Moment) -> PushAnswer? {
    self.now = now
    defer { answerHeldWithNews() }
    guard Self.countsIDs else { return runAll(push) }
    if let refusal = refusal(unknownTo: push) { return .refused(refusal) }
    var voided = push.voided[...]
    for item in push.mutations {
      consume(&voided, of: push.client)
      // Any other ID was made before, or comes too early. Both are normal.
      guard item.id == truth.state.progress(of: push.client).last.next else { continue }
      if let refusal = run(item, of: push.client) { return .refused(refusal) }
    }
    return .accepted
  }

  /// A server that does not count makes whatever comes.
  private mutating func runAll(_ push: Push) -> PushAnswer {
    for item in push.mutations {
      if let refusal = run(item, of: push.client) { return .refused(refusal) }
    }
    return .accepted
  }

  private mutating func run(_ item: Push.Item, of client: ClientID) -> MutationRefusal? {
    let (event, refusal) = truth.make(item, by: client, counts: Self.countsIDs)
    log(event)
    return refusal.map { MutationRefusal(item.id, $0.code) }
  }

  private func refusal(unknownTo push: Push) -> MutationRefusal? {
    let progress = truth.state.progress(of: push.client)
    guard let id = progress.refused, id > push.knownRefusal, !push.voided.contains(id) else {
      return nil
    }
    return MutationRefusal(id, progress.reason)
  }

  /// Refuses each mutation that its client has voided, when its turn comes.
  private mutating func consume(_ voided: inout ArraySlice<MutationID>, of client: ClientID) {
    while let id = voided.first, id <= truth.state.progress(of: client).last.next {
      voided.removeFirst()
      guard id == truth.state.progress(of: client).last.next else { continue }
      log(truth.refuse(id, of: client, .none, counts: true))
    }
  }

  /// A server that counts notes that it has refused the first mutation. One that does not has
  /// nothing to note.
  package mutating func reject(_ push: Push, at now: Moment) -> Bool {
    self.now = now
    guard Self.countsIDs else { return true }
    guard let first = push.mutations.first?.id, refusal(unknownTo: push) == nil,
      first == truth.state.progress(of: push.client).last.next
    else { return false }
    log(truth.refuse(first, of: push.client, RejectionCode("REJECTED"), counts: true))
    answerHeldWithNews()
    return true
  }

  package mutating func commit(_ change: LoggedTruth<App>.Change, at now: Moment) {
    self.now = now
    log(truth.make(change))
    answerHeldWithNews()
  }

  /// A change that no client understands.
  package mutating func announceNothing() {
    let none = truth.make(nil)
    log(none, isUnknown: true)
    answerHeldWithNews()
  }

  /// Logs what has led to the present position.
  ///
  /// - Parameter isUnknown: whether it is logged although there is no event.
  private mutating func log(_ event: Event?, isUnknown: Bool = false) {
    commits.note(truth, at: now)
    guard event != nil || isUnknown else { return twin.commit() }
    twin.commit(event, retained: retained)
    if isForgotten(event) { return }
    rows.append(LoggedChange(number: latest, event: event))
    if breach == .reorderedEvents { exchangeLast() }
    forget(rows.count - retained)
  }

  private mutating func forget(_ count: Int) {
    guard 0 < count, 0 < rows.count else { return }
    forgotten = rows[min(count, rows.count) - 1].number
    rows.removeFirst(min(count, rows.count))
  }

  // MARK: What happens there

  package var nextDue: Moment { held.nextDue }

  package mutating func advance(to now: Moment) {
    self.now = now
    answerHeld { $0.until <= now }
  }

  /// Forgets all changes so far.
  package mutating func expire(_ log: Log) {
    forget(rows.count)
    twin.forget()
  }

  /// All is on the server's disk. If the log is lost, the server begins another, with the state
  /// and the counts that it has.
  package mutating func restart(keepingQueues: Bool, at now: Moment) {
    self.now = now
    held.breakOff()
    guard !keepingQueues else { return }
    starts.append(position)
    twin.begin(log: lastLog)
    rows = []
    forgotten = 0
  }

  package mutating func waver(_ choices: inout Choices, at now: Moment) {
    guard pageMaximum == nil else { return }
    pageMaximum = choices.pick(.server, [100, 5, 1])
    retained = choices.pick(.server, [1000, 30, 4])
  }

  package mutating func liftLimits() {}

  // MARK: Plants

  package mutating func arm(_ breach: QueueBreach) { self.breach = breach }

  package var isArmed: Bool { breach != nil }

  private mutating func breakContract() {
    breach = nil
    breachCount += 1
  }

  /// Whether a poll is to be answered with the events that another client would get.
  private mutating func exchangesEvents(_ number: Int64) -> Bool {
    guard breach == .eventsOfAnotherQueue, let first = rows.first, first.number <= number,
      number < latest
    else { return false }
    breakContract()
    return true
  }

  /// Whether clients would see something else in a state.
  private func isSeen(_ other: LoggedTruth<App>.State) -> Bool {
    other.truth.description != truth.description
  }

  /// Whether an event is lost on its way into the log.
  private mutating func isForgotten(_ event: Event?) -> Bool {
    guard breach == .lostEvent || breach == .forgottenDeletion, event != nil,
      let before = truth.past[position - 1], isSeen(before)
    else { return false }
    breakContract()
    return true
  }

  private mutating func exchangeLast() {
    let last = rows.count - 1
    guard last > 0 else { return }
    let event = rows[last].event
    rows[last].event = rows[last - 1].event
    rows[last - 1].event = event
    breakContract()
  }
}
