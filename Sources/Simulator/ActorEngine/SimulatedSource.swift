#if !hasFeature(Embedded)

  internal import SyncProtocols
  internal import UpdateMachine

  /// A driver's connection to the world's network.
  struct SimulatedSource<App: SimulatedApp>: SyncSource {
    typealias Model = App.Model
    typealias Sync = App.Server.Sync

    let incarnation: SimulatedIncarnation<App>

    func register(
      as client: ClientID
    ) async throws(SyncFailure) -> Registered<Model.Snapshot, Sync.Place> {
      switch await ask(.register) {
      case .failed(let failure): throw failure
      case .reply(.registered(let snapshot, let finger, let terms)):
        return Registered(
          snapshot: snapshot, finger: finger, terms: terms,
          isComplete: App.Server.isComplete(snapshot))
      case .reply(let reply): throw reply.failure() ?? .malformed
      }
    }

    func poll(
      after finger: Sync.Place, waits: Bool
    ) async throws(SyncFailure) -> Sync.Batch {
      switch await ask(.poll(finger, waits: waits)) {
      case .failed(let failure): throw failure
      case .reply(.batch(let batch)): return batch
      case .reply(let reply): throw reply.failure() ?? .malformed
      }
    }

    func release(_ log: Sync.Place.Log) async { incarnation.engine?.release(log, incarnation) }

    /// Never called: the driver passes the state, too.
    func push(
      _ push: PushRequest<Model.Change>, at finger: Sync.Place?
    ) async throws(PushFailure) -> PushAnswer { .behind }

    func push(
      _ push: PushRequest<Model.Change>, at finger: Sync.Place?, over state: Model.Change.State?
    ) async throws(PushFailure) -> PushAnswer {
      let call = SimulatedCall<Pushed>()
      let pushed = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          call.continuation = continuation
          if call.isGivenUp { return call.end(with: SimulatedSource.noAnswer) }
          incarnation.engine?.send(push, at: finger, over: state, call, incarnation)
        }
      } onCancel: {
        call.isGivenUp = true
        incarnation.engine?.giveUp(call)
      }
      switch pushed {
      case .success(let answer): return answer
      case .failure(let failed): throw PushFailure(failed.failure, hasLeft: failed.hasLeft)
      }
    }

    func page(_ request: Request) async throws(SyncFailure) -> Model.Lists.Page {
      let call = SimulatedCall<Paged>()
      let page = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          call.continuation = continuation
          if call.isGivenUp { return call.end(with: .failure(.unreachable)) }
          incarnation.engine?.fetch(request, call, incarnation)
        }
      } onCancel: {
        call.isGivenUp = true
        incarnation.engine?.giveUp(call)
      }
      return try page.get()
    }

    typealias Pushed = Result<PushAnswer, PushFailed>
    typealias Paged = Result<Model.Lists.Page, SyncFailure>
    typealias Request = PageRequest<Model.Lists.Narrow, Model.Lists.ID>

    /// The result of a push that was given up.
    static var noAnswer: Pushed { .failure(PushFailed(failure: .unreachable, hasLeft: true)) }

    /// Sends a request and waits for its result. A request that is given up ends at once, unless
    /// its answer is already on its way and still arrives.
    private func ask(_ kind: Exchange<App>.Kind) async -> Exchange<App>.Outcome {
      let call = SimulatedCall<Exchange<App>.Outcome>()
      return await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          call.continuation = continuation
          if call.isGivenUp { return call.end(with: .failed(.unreachable)) }
          incarnation.engine?.send(kind, call, incarnation)
        }
      } onCancel: {
        call.isGivenUp = true
        incarnation.engine?.giveUp(call, incarnation)
      }
    }
  }

  /// A request that waits for its answer.
  final class SimulatedCall<Answer: Sendable>: @unchecked Sendable {
    var continuation: CheckedContinuation<Answer, Never>?
    var client = 0
    /// The world's number for the request.
    var number: UInt64?
    var isGivenUp = false

    func end(with answer: Answer) {
      let waiting = continuation
      continuation = nil
      waiting?.resume(returning: answer)
    }
  }

  extension Array {
    /// The number of open calls that a client still waits for.
    func awaited<Answer>(by client: Int) -> Int where Element == SimulatedCall<Answer> {
      var count = 0
      for call in self where call.client == client && !call.isGivenUp { count += 1 }
      return count
    }

    mutating func take<Answer>(
      _ number: UInt64, of client: Int? = nil
    ) -> Element? where Element == SimulatedCall<Answer> {
      let index = firstIndex { $0.number == number && (client == nil || $0.client == client) }
      return index.map { remove(at: $0) }
    }
  }

  /// A driver's connection to the world's disks.
  struct SimulatedStore<App: SimulatedApp>: ReplicaStore {
    typealias Model = App.Model
    typealias Place = App.Server.Place

    let incarnation: SimulatedIncarnation<App>

    func load() async throws(StoreError) -> DatedReplica<Model, Place>? {
      let loaded = await withCheckedContinuation {
        (continuation: CheckedContinuation<SimulatedIncarnation<App>.Loaded, Never>) in
        guard let engine = incarnation.engine else {
          return continuation.resume(returning: .found(nil))
        }
        engine.load(continuation, incarnation)
      }
      switch loaded {
      case .found(let replica):
        guard let replica, isUpdated, replica.replica.outbox != nil else { return replica }
        incarnation.unreadable = replica
        throw .unreadable("this version of the app has another model")
      case .failed: throw .failed("the disk cannot be read now")
      }
    }

    /// Whether the process is of a version of the app that cannot read the saved model.
    private var isUpdated: Bool {
      incarnation.engine?.world.clients[incarnation.client].isUpdated ?? false
    }

    func loadChanges() async throws(StoreError) -> SavedChanges<Model.Change>? {
      incarnation.unreadable?.replica.outbox.map { SavedChanges(outbox: $0) }
    }

    func read(_ queries: [RowQuery]) async throws(StoreError) -> [RowAnswer] {
      throw .failed("a disk of values leaves no rows unloaded")
    }

    func save(_ replica: DatedReplica<Model, Place>) async throws(StoreError) {
      let isDone = await withCheckedContinuation { continuation in
        incarnation.save = continuation
        incarnation.engine?.save(replica, nil, incarnation)
      }
      if !isDone { throw .failed("the disk is full") }
    }

    func erase() async throws(StoreError) { incarnation.engine?.erase(incarnation) }
  }

  /// The world's clock and randomness, as a driver sees them.
  struct SimulatedClock<App: SimulatedApp>: DriverClock, Chance {
    let incarnation: SimulatedIncarnation<App>

    var now: Moment { incarnation.engine?.world.now ?? .distantPast }

    var wallTime: WallTime { WallTime(milliseconds: now.milliseconds) }

    func sleep(until moment: Moment) async throws(CancellationError) {
      let sleeper = SimulatedSleeper()
      let isOver = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          sleeper.continuation = continuation
          if sleeper.isOver { return sleeper.end(false) }
          incarnation.engine?.sleep(until: moment, sleeper, incarnation)
        }
      } onCancel: {
        incarnation.engine?.wake(sleeper)
        sleeper.end(false)
      }
      if !isOver { throw CancellationError() }
    }

    func draw(from range: MomentRange) -> Moment {
      incarnation.engine?.draw(range, incarnation) ?? range.latest
    }

    func newIncarnation() -> Incarnation { Incarnation(incarnation.number) }

    /// The world's servers name their clients.
    func newSeed() -> UInt64 { incarnation.number }
  }

  /// A task that sleeps until a moment.
  final class SimulatedSleeper: @unchecked Sendable {
    var continuation: CheckedContinuation<Bool, Never>?
    var client = 0
    var number: UInt64 = 0
    /// The moment at which it should end.
    var due = Moment(milliseconds: 0)
    /// Whether it is the machine's timer, or waits for the moment at which a banner changes.
    var isTimer = false
    var isAlarm = false
    /// Whether the sleep has ended.
    private(set) var isOver = false

    func end(_ result: Bool) {
      isOver = true
      let waiting = continuation
      continuation = nil
      waiting?.resume(returning: result)
    }
  }

#endif
