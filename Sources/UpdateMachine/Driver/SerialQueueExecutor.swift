#if !hasFeature(Embedded)

  private import Dispatch

  /// An executor that runs an actor's jobs one after the other on its own queue. ``UpdateMachine``
  /// uses it unless it is given another, for example a simulator's.
  package final class SerialQueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    /// - Parameter label: the queue's name in crash reports and profilers.
    package init(label: String = "UpdateMachine") { queue = DispatchQueue(label: label) }

    /// For the runtime: runs a job after all earlier ones. May be called from any thread.
    package func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
  }

#endif
