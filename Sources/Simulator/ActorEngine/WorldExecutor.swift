#if !hasFeature(Embedded)

  /// Runs all jobs of a world one after the other, on the thread that calls it: those of tasks
  /// without an actor, and those of each driver's ``DriverExecutor``. So no job escapes it.
  ///
  /// The world draws which of the ready jobs runs next.
  final class WorldExecutor: TaskExecutor, @unchecked Sendable {
    /// The ready jobs, oldest first, each with the executor it is isolated to. Used only by the
    /// world's thread.
    private var ready: [(job: UnownedJob, owner: DriverExecutor?)] = []
    private(set) var count: Int64 = 0
    /// Whether a step caused more jobs than any driver needs: they will never end.
    private(set) var isStuck = false

    /// The job limit of a step; a usual step takes some dozens.
    private static var most: Int64 { 100_000 }

    func enqueue(_ job: consuming ExecutorJob) { ready.append((UnownedJob(job), nil)) }

    fileprivate func enqueue(_ job: UnownedJob, _ owner: DriverExecutor) {
      ready.append((job, owner))
    }

    var isIdle: Bool { ready.isEmpty }

    /// Runs jobs until none is ready, or up to `most`.
    ///
    /// - Parameter pick: chooses among this number of ready jobs, from 0.
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

  /// One driver's own executor: tasks queue for its actor, as on a real device.
  final class DriverExecutor: SerialExecutor, @unchecked Sendable {
    private let world: WorldExecutor

    init(_ world: WorldExecutor) { self.world = world }

    func enqueue(_ job: consuming ExecutorJob) { world.enqueue(UnownedJob(job), self) }
  }

#endif
