// ActorEngine: the room where the driver itself is simulated: real actors and tasks, on an
// executor that belongs to the world, with the world's clock, network and disks.
//
// ActorEngine may use: Choices, Disk, Oracles, Run, World.

#if !hasFeature(Embedded)

  /// Runs every job of a world, one after the other, on the thread that asks it to: those of tasks
  /// that are on no actor, and those of each driver's ``DriverExecutor``; so nothing escapes it.
  ///
  /// Which of the ready jobs runs next is a choice of the world's.
  final class WorldExecutor: TaskExecutor, @unchecked Sendable {
    /// Ready, oldest first, with the executor that it is isolated to. Touched by one thread only: the
    /// world's.
    private var ready: [(job: UnownedJob, owner: DriverExecutor?)] = []
    private(set) var count: Int64 = 0
    /// A step has led to more jobs than any driver needs: they will never end.
    private(set) var isStuck = false

    /// A step takes some dozens.
    private static var most: Int64 { 100_000 }

    func enqueue(_ job: consuming ExecutorJob) { ready.append((UnownedJob(job), nil)) }

    fileprivate func enqueue(_ job: UnownedJob, _ owner: DriverExecutor) {
      ready.append((job, owner))
    }

    var isIdle: Bool { ready.isEmpty }

    /// Runs jobs until none is ready, or so many.
    ///
    /// - Parameter pick: which of so many ready jobs is next, from 0.
    func drain(atMost most: Int64 = .max, _ pick: (Int) -> Int) {
      var left = min(most, WorldExecutor.most)
      while !ready.isEmpty, !isStuck {
        guard left > 0 else {
          isStuck = most > WorldExecutor.most
          return
        }
        left -= 1
        count += 1
        let next = ready.remove(at: ready.count == 1 ? 0 : pick(ready.count))
        if let owner = next.owner {
          unsafe next.job.runSynchronously(
            isolatedTo: owner.asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        } else {
          unsafe next.job.runSynchronously(on: asUnownedTaskExecutor())
        }
      }
    }
  }

  /// One driver's own executor: a task that comes to its actor has to queue, as on a real device.
  final class DriverExecutor: SerialExecutor, @unchecked Sendable {
    private let world: WorldExecutor

    init(_ world: WorldExecutor) { self.world = world }

    func enqueue(_ job: consuming ExecutorJob) { world.enqueue(UnownedJob(job), self) }
  }

#endif
