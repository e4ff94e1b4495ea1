// ActorEngine: the room where the driver itself is simulated: real actors and tasks, on an executor
// that belongs to the world, with the world's clock, network and disks. It may use World and
// everything below it, and UpdateMachine's Driver.

#if !hasFeature(Embedded)

  /// Runs every job of a world, one after the other, on the thread that asks it to. It is the actors'
  /// serial executor and the preferred executor of all their tasks, so nothing escapes it.
  ///
  /// Which of the ready jobs runs next is a choice of the world's.
  final class WorldExecutor: SerialExecutor, TaskExecutor, @unchecked Sendable {
    /// Ready, oldest first. Touched by one thread only: the world's.
    private var ready: [UnownedJob] = []
    private(set) var count: Int64 = 0
    /// A step has led to more jobs than any driver needs: they will never end.
    private(set) var isStuck = false

    /// A step takes about a dozen.
    private static var most: Int64 { 100_000 }

    func enqueue(_ job: consuming ExecutorJob) { ready.append(UnownedJob(job)) }

    /// Runs jobs until none is ready.
    ///
    /// - Parameter pick: which of so many ready jobs is next, from 0.
    func drain(_ pick: (Int) -> Int) {
      let last = count + WorldExecutor.most
      while !ready.isEmpty, !isStuck {
        if count == last { isStuck = true }
        let job = ready.remove(at: ready.count == 1 ? 0 : pick(ready.count))
        count += 1
        unsafe job.runSynchronously(
          isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
      }
    }
  }

#endif
