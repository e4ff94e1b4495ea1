#if !hasFeature(Embedded)

  internal import UpdateMachine

  /// A server in this process, in real time, whose polls may wait for news.
  protocol LocalServer: Actor {
    var clock: any DriverClock { get }
    /// Empty at first. Only the extension below uses it.
    var waitingPolls: WaitingPolls { get set }
  }

  /// The polls that wait for news.
  struct WaitingPolls: Sendable {
    fileprivate struct Wait: Sendable {
      var number: UInt64
      var continuation: CheckedContinuation<Void, Never>
    }

    /// In the order in which they came.
    fileprivate var waits: [Wait] = []
    fileprivate var count: UInt64 = 0

    /// How long a poll waits. It is less than the deadline in the terms of these servers.
    static var patience: TimeSpan { .seconds(50) }
  }

  extension LocalServer {
    /// Returns the first answer that is news. If there is none in time, or if the client gives up,
    /// it returns the last answer.
    ///
    /// - Parameters:
    ///   - answer: reads the present answer. It is called at once, and whenever there may be news.
    ///   - isNews: whether the client learns something from an answer. If a poll must not wait,
    ///     it is always `true`.
    func firstNews<Answer>(
      in answer: () throws(SyncFailure) -> Answer, isNews: (Answer) -> Bool
    ) async throws(SyncFailure) -> Answer {
      let end = clock.now + WaitingPolls.patience
      while true {
        let present = try answer()
        if isNews(present) || Task.isCancelled || end <= clock.now { return present }
        await waitForNews(until: end)
      }
    }

    /// Lets every waiting poll look again. To be called after each change.
    func tellNews() {
      let waits = waitingPolls.waits
      waitingPolls.waits = []
      for wait in waits { wait.continuation.resume() }
    }

    /// Returns when there may be news, at `end`, or when the client gives up.
    private func waitForNews(until end: Moment) async {
      waitingPolls.count += 1
      let poll = waitingPolls.count
      await withDiscardingTaskGroup { group in
        group.addTask {
          do {
            try await self.clock.sleep(until: end)
          } catch {}  // The wait was cancelled: there is news, or nobody waits any more.
          await self.wake(poll)
        }
        await withCheckedContinuation {
          waitingPolls.waits.append(WaitingPolls.Wait(number: poll, continuation: $0))
        }
        group.cancelAll()
      }
    }

    private func wake(_ poll: UInt64) {
      guard let index = waitingPolls.waits.firstIndex(where: { $0.number == poll }) else { return }
      waitingPolls.waits.remove(at: index).continuation.resume()
    }
  }

#endif
