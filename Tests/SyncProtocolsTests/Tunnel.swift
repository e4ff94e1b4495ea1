import Synchronization
import Testing
import UpdateMachine

/// A client's connection to its server, which a test can close.
struct Tunnel<Source: SyncSource>: SyncSource where Source.Model.Lists == NoLists {
  typealias Model = Source.Model
  typealias Sync = Source.Sync

  let source: Source
  let door = Door()

  actor Door {
    private(set) var isOpen = true
    func set(_ isOpen: Bool) { self.isOpen = isOpen }
  }

  private func pass() async throws(SyncFailure) {
    if !(await door.isOpen) { throw .unreachable }
  }

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<Model.Snapshot, Sync.Place> {
    try await pass()
    return try await source.register(as: client)
  }

  func poll(after finger: Sync.Place, waits: Bool) async throws(SyncFailure) -> Sync.Batch {
    try await pass()
    let batch = try await source.poll(after: finger, waits: waits)
    try await pass()
    return batch
  }

  func release(_ log: Sync.Place.Log) async { await source.release(log) }

  func push(
    _ push: PushRequest<Model.Change>, at finger: Sync.Place?
  ) async throws(PushFailure) -> PushAnswer {
    do throws(SyncFailure) { try await pass() } catch { throw PushFailure(error, hasLeft: false) }
    return try await source.push(push, at: finger)
  }
}

extension UpdateMachine {
  /// Returns once a state is as it should be. It waits only for the state itself, not for a time.
  nonisolated func wait(
    until isRight: (ReplicaState<Origin.Model>) -> Bool
  ) async {
    for await state in await states() where isRight(state) { return }
    Issue.record("the machine went away")
  }
}

/// A clock whose time passes only while somebody sleeps, if it passes at all.
final class SleeperClock: DriverClock {
  private let time = Mutex(Moment(milliseconds: 0))
  let passes: Bool
  /// One for each sleep that begins.
  let sleeps = AsyncStream.makeStream(of: Void.self)

  init(passes: Bool) { self.passes = passes }

  var now: Moment { time.withLock { $0 } }
  var wallTime: WallTime { WallTime(milliseconds: 0) }

  func sleep(until moment: Moment) async throws(CancellationError) {
    sleeps.continuation.yield()
    if passes { return time.withLock { $0 = max($0, moment) } }
    for await _ in AsyncStream.makeStream(of: Never.self).stream {}
    throw CancellationError()
  }
}

/// Kills the process of a machine: what it does later reaches no disk. Returns the store of the
/// next process.
func killed<Origin: SyncSource>(
  _ machine: UpdateMachine<Origin>,
  _ store: MemoryStore
) async throws -> MemoryStore {
  let saved = try #require(try await store.load())
  let next = MemoryStore()
  try await next.checkpoint(saved)
  await machine.stop()
  return next
}
