#if !hasFeature(Embedded)

  /// How far a first sync has got, told by a source that knows.
  ///
  ///     func register(as client: ClientID) async throws(SyncFailure) -> Registered<…> {
  ///       for page in 1...pages {
  ///         …
  ///         await SyncProgress.report(Double(page) / Double(pages))
  ///       }
  ///       …
  ///     }
  public enum SyncProgress {
    /// Hears the reports of the call of the source that is going on in this task.
    @TaskLocal static var listener: (@Sendable (Double) async -> Void)?

    /// Tells how much of what the client lacks has come. Call it in a register or a poll of a
    /// ``SyncSource``, in the call's own task or a child of it; anywhere else it does nothing. The
    /// app sees it in ``ReplicaState/progress``, until the client is up to date.
    ///
    /// - Parameter fraction: from 0 to 1; what lies outside is clamped, and no number counts as 0.
    public static func report(_ fraction: Double) async {
      await listener?(fraction > 0 ? min(fraction, 1) : 0)
    }
  }

  extension UpdateMachine {
    /// Calls the source, whose reports of progress count as long as the call is wanted.
    nonisolated func listening<Answer: Sendable>(
      to job: OperationTable<Origin>.Job,
      _ call: @Sendable () async throws(SyncFailure) -> Answer
    ) async throws(SyncFailure) -> Answer {
      let listener: @Sendable (Double) async -> Void = { [weak self] in
        await self?.note(progress: $0, of: job.id)
      }
      let answer = await SyncProgress.$listener.withValue(listener) {
        () async -> Result<Answer, SyncFailure> in
        // Nothing is sent after `stop()`.
        guard !job.cancelled.isSet else { return .failure(.unreachable) }
        do throws(SyncFailure) {
          return .success(try await call())
        } catch {
          return .failure(error)
        }
      }
      return try answer.get()
    }

    private func note(progress: Double, of call: OperationID) {
      guard !operations.isCancelled(call), progress != self.progress else { return }
      self.progress = progress
      publish()
    }
  }

#endif
