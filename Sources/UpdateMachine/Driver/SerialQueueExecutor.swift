#if !hasFeature(Embedded)

  private import Dispatch

  /// Runs an actor's jobs one after the other on a queue of its own. What ``UpdateMachine`` uses
  /// unless it is given another executor, as a simulator gives it the world's.
  public final class SerialQueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    /// - Parameter label: what the queue is called in crash reports and profilers.
    public init(label: String = "UpdateMachine") { queue = DispatchQueue(label: label) }

    /// For the runtime: takes a job, from any thread, and runs it after those before it.
    public func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
  }

#endif
