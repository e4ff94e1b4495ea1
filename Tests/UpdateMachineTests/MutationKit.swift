import Testing

@testable import UpdateMachine

// What the tests of local changes on the actor use: a source that is answered by hand, a store that
// can fail and wait, and a bench for the driver.

/// A source with mutations that answers what a test says, when the test says so.
final class PushScript: SyncSource {
  typealias Model = BoardModel
  typealias Sync = BoardSync
  typealias Box = Outbox<BoardChange>

  enum Ask: Sendable {
    case register
    case poll(Spot)
    case release
    case push(PushRequest<BoardChange>)
  }

  enum Answer: Sendable {
    case snapshot(BoardNews, Spot)
    case batch(BoardBatch)
    case pushed(PushAnswer)
    case failure(SyncFailure, hasLeft: Bool = true)
    case done
  }

  let terms: ServerTerms
  typealias Call = ScriptedCalls<Ask, Answer>.Call
  private let calls = ScriptedCalls<Ask, Answer>(whenCancelled: .failure(.malformed))
  private let over = Locked<[Board?]>([])

  /// The states that came with the pushes.
  var pushedOver: [Board?] { over.withLock { $0 } }

  init(terms: ServerTerms) { self.terms = terms }

  var all: [Call] { calls.all }
  /// The calls that have not ended yet.
  var open: [Call] { calls.open }

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<BoardNews, Spot> {
    switch await calls.call(.register) {
    case .snapshot(let news, let spot):
      return Registered(snapshot: news, finger: spot, terms: terms)
    case .failure(let failure, _): throw failure
    case .batch, .pushed, .done: throw .malformed
    }
  }

  func poll(after finger: Spot, waits: Bool) async throws(SyncFailure) -> BoardBatch {
    switch await calls.call(.poll(finger)) {
    case .batch(let batch): return batch
    case .failure(let failure, _): throw failure
    case .snapshot, .pushed, .done: throw .malformed
    }
  }

  func release(_ log: String) async { _ = await calls.call(.release) }

  func push(
    _ push: PushRequest<BoardChange>, at finger: Spot?
  ) async throws(PushFailure) -> PushAnswer {
    switch await calls.call(.push(push)) {
    case .pushed(let answer): return answer
    case .failure(let failure, let hasLeft): throw PushFailure(failure, hasLeft: hasLeft)
    case .snapshot, .batch, .done: throw PushFailure(.malformed)
    }
  }

  func push(
    _ push: PushRequest<BoardChange>, at finger: Spot?, over state: Board?
  ) async throws(PushFailure) -> PushAnswer {
    over.withLock { $0.append(state) }
    return try await self.push(push, at: finger)
  }

  func answer(_ call: Call, _ answer: Answer) { calls.answer(call.number, answer) }
}

extension ScriptedCalls.Call where Ask == PushScript.Ask {
  var push: PushRequest<BoardChange>? { if case .push(let push) = ask { push } else { nil } }
  var isPoll: Bool { if case .poll = ask { true } else { false } }
  var isRegister: Bool { if case .register = ask { true } else { false } }
}

/// A store that fails or waits when a test says so.
final class BoardStore: ReplicaStore {
  typealias Model = BoardModel
  typealias Place = Spot

  private struct State {
    var stored: DatedReplica<BoardModel, Spot>?
    var saves = 0
    var isBusy = false
    var isSlow = false
    var failure: StoreError?
  }
  private let state = Locked(State())
  private let waiters = Waiters<Bool>()

  var stored: SavedReplica<BoardModel, Spot>? { state.withLock { $0.stored?.replica } }
  /// The number of saves, including failed ones.
  var saves: Int { state.withLock { $0.saves } }
  /// Whether an operation is under way.
  var isBusy: Bool { state.withLock { $0.isBusy } }
  /// Whether saves wait for ``finish()``.
  var isSlow: Bool {
    get { state.withLock { $0.isSlow } }
    set { state.withLock { $0.isSlow = newValue } }
  }
  var failure: StoreError? {
    get { state.withLock { $0.failure } }
    set { state.withLock { $0.failure = newValue } }
  }

  func finish() { waiters.tell(saves, true) }

  func loadChanges() async throws(StoreError) -> SavedChanges<BoardModel.Change>? { nil }

  func read(_ queries: [RowQuery]) async throws(StoreError) -> [RowAnswer] {
    throw .failed("nothing was left unloaded")
  }

  func load() async throws(StoreError) -> DatedReplica<BoardModel, Spot>? {
    if let failure { throw failure }
    return state.withLock { $0.stored }
  }

  func save(_ replica: DatedReplica<BoardModel, Spot>) async throws(StoreError) {
    let (number, isSlow) = state.withLock { state in
      #expect(!state.isBusy, "the store does one operation at a time")
      state.isBusy = true
      state.saves += 1
      return (state.saves, state.isSlow)
    }
    if isSlow { _ = await waiters.wait(for: number, letGoWith: nil) }
    let failure = state.withLock { state in
      state.isBusy = false
      if state.failure == nil { state.stored = replica }
      return state.failure
    }
    if let failure { throw failure }
  }

  func erase() async throws(StoreError) { state.withLock { $0.stored = nil } }
}

typealias BoardDriver = UpdateMachine<PushScript>

/// One driver with local changes on the bench, beside its server.
final class MutationBench: DriverStand {
  let executor: StepExecutor
  let clock = HandClock()
  let source: PushScript
  let store: BoardStore?
  var server: BoardServer
  var machine: BoardDriver!
  let reports = Box<[DriverReport]>([])

  init(
    store: BoardStore? = BoardStore(), server: BoardServer = BoardServer(), incarnation: UInt64 = 1,
    terms: ServerTerms = testTerms
  ) {
    executor = StepExecutor()
    source = PushScript(terms: terms)
    self.store = store
    self.server = server
    let chance = FixedChance()
    for _ in 1..<incarnation { _ = chance.newIncarnation() }
    let reports = reports
    machine = BoardDriver(
      source: source, replicas: store, clock: clock, chance: chance, executor: executor,
      reporter: { report in reports.change { $0.append(report) } })
  }

  /// A bench whose driver follows, up to date and saved, with a waiting poll out.
  static func following(
    store: BoardStore? = BoardStore(), server: BoardServer = BoardServer(),
    terms: ServerTerms = testTerms
  ) -> (MutationBench, Started) {
    let bench = MutationBench(store: store, server: server, terms: terms)
    let run = bench.start { await $0.run() }
    bench.serve()
    return (bench, run)
  }

  // MARK: Doing

  /// Makes a change. Returns its ticket, or the error.
  func mutate(
    _ change: BoardChange
  ) -> Result<
    (ticket: MutationTicket, value: BoardChange.Value), MutationError<BoardChange.Refusal>
  > {
    read { machine in
      do throws(MutationError<BoardChange.Refusal>) {
        return .success(try machine.mutate(change))
      } catch {
        return .failure(error)
      }
    }
  }

  /// Makes a change that must succeed. Returns its ticket.
  func ticket(_ change: BoardChange) -> MutationTicket { try! mutate(change).get().ticket }

  /// Waits until a mutation is stored. The box gets the result.
  func awaitStored(_ ticket: MutationTicket) -> Box<Bool?> {
    let told = Box<Bool?>(nil)
    start { told.value = await $0.stored(ticket) }
    drain()
    return told
  }

  /// Waits until a mutation is acknowledged. The box gets the result.
  func awaitAcknowledged(_ ticket: MutationTicket) -> Box<MutationState??> {
    let told = Box<MutationState??>(nil)
    start { told.value = .some(await $0.acknowledged(ticket)) }
    drain()
    return told
  }

  // MARK: The server

  /// Answers the newest open call of a kind.
  func answer(_ answer: PushScript.Answer, _ isMeant: (PushScript.Call) -> Bool) {
    drain()
    guard let call = source.open.last(where: isMeant) else {
      Issue.record("no call of this kind is open")
      return
    }
    source.answer(call, answer)
    drain()
  }

  func push() -> PushScript.Call? { source.open.last { $0.push != nil } }

  /// The open push arrives at the server and is answered.
  func answerPush() {
    guard let push = push()?.push else {
      Issue.record("no push is open")
      return
    }
    let said = server.run(push)
    answer(.pushed(said)) { $0.push != nil }
  }

  func failPush(_ failure: SyncFailure, hasLeft: Bool = true) {
    answer(.failure(failure, hasLeft: hasLeft)) { $0.push != nil }
  }

  /// The server answers the poll with its news.
  func answerPoll() {
    server.spot.index += 1
    answer(.batch(BoardBatch(first: server.spot.index, events: [server.news]))) { $0.isPoll }
  }

  /// The log is lost. The server no longer knows the client's finger.
  func expire() {
    server.spot = Spot(server.spot.log + "'", 0)
    answer(.failure(.expired)) { $0.isPoll }
  }

  /// Answers everything until there is no news.
  func serve() {
    var told: BoardNews?
    drain()
    while let call = source.open.first(where: { !$0.isPoll || told != server.news }) {
      switch call.ask {
      case .register:
        told = server.news
        source.answer(call, .snapshot(server.news, server.spot))
      case .poll(let spot):
        told = server.news
        server.spot.index = max(server.spot.index, spot.index) + 1
        source.answer(
          call, .batch(BoardBatch(first: server.spot.index, events: [server.news])))
      case .push(let push): source.answer(call, .pushed(server.run(push)))
      case .release: source.answer(call, .done)
      }
      drain()
      if source.open.isEmpty { advance(.milliseconds(400)) }
    }
  }

  // MARK: Seeing

  var state: ReplicaState<BoardModel> { read { $0.state } }
  var values: VersionedMap<String, Int64>? { state.view?.values }
  func state(of ticket: MutationTicket) -> MutationState? { read { $0.state(of: ticket) } }

  /// What each push so far contained.
  var pushes: [[String]] {
    source.all.compactMap { $0.push?.mutations.map { "\($0.id) \($0.change.name)" } }
  }

  /// Expects that nobody sleeps, nothing is asked or written, and no operation is under way.
  func expectNothingPending(_ comment: Comment? = nil, at place: SourceLocation = #_sourceLocation)
  {
    #expect(clock.alarms == [], comment, sourceLocation: place)
    #expect(source.open.isEmpty, comment, sourceLocation: place)
    #expect(store?.isBusy != true, comment, sourceLocation: place)
    #expect(read { $0.operations.isIdle }, comment, sourceLocation: place)
  }
}
