import Foundation
import UpdateMachine

/// A watch that goes on from one poll to the next.
struct EtcdWatch: Sendable {
  let exchange: EtcdExchange

  init(_ exchange: EtcdExchange) { self.exchange = exchange }

  /// Waits for changes after a finger; `nil`: there are none yet. Throws if the watch is over.
  func batch(
    after finger: EtcdFinger, prefix: [UInt8], within span: TimeSpan
  ) async throws(EtcdFailure) -> EtcdBatch? {
    let clock = SystemClock()
    let end = clock.now + span
    while true {
      let left = TimeSpan(milliseconds: end.milliseconds - clock.now.milliseconds)
      guard let message = try await exchange.messageIfAny(within: left) else { return nil }
      switch message {
      case .created, .canceled: throw EtcdFailure(EtcdWireError(field: "result"))
      case .progress: continue  // It says no more than the next question will.
      case .events(let header, let events):
        guard header.cluster == finger.cluster.number else { throw .foreign }
        let batch = try EtcdFailure.reading { () throws(EtcdWireError) in
          try EtcdBatch(events, header, prefix: prefix, after: finger)
        }
        if let batch { return batch }  // Otherwise the finger has it already.
      }
    }
  }
}

/// What a source remembers from one call to the next.
final class EtcdMemory: @unchecked Sendable {
  private let lock = NSLock()
  /// The watch that nobody reads now, and the revision that it has come to.
  private var kept: (watch: EtcdWatch, revision: Int64, number: UInt64)?
  private var count: UInt64 = 0
  /// The members whose history was found to be the client's, and which have not failed since.
  private var trusted: Set<EtcdAddress> = []
  /// The revision of the last push.
  private var push: Int64 = 0

  /// How long a watch is kept that no poll takes: the machine may have stopped.
  private static let idleTime = DispatchTimeInterval.seconds(10)

  deinit { kept?.watch.exchange.end(.cancelled) }

  // MARK: The watch

  /// Returns the watch, if it goes on and has come exactly to this revision. Any other is ended.
  func takeWatch(at revision: Int64) -> EtcdWatch? {
    let kept = lock.withLock {
      let kept = self.kept
      self.kept = nil
      return kept
    }
    guard let kept, kept.revision == revision, !kept.watch.exchange.isOver else {
      kept?.watch.exchange.end(.cancelled)
      return nil
    }
    return kept.watch
  }

  /// Keeps a watch for the next poll.
  func keep(_ watch: EtcdWatch, at revision: Int64) {
    let (former, number) = lock.withLock {
      let former = kept
      count += 1
      kept = (watch, revision, count)
      return (former, count)
    }
    former?.watch.exchange.end(.cancelled)
    DispatchQueue.global().asyncAfter(deadline: .now() + EtcdMemory.idleTime) { [weak self] in
      self?.endWatch(number)
    }
  }

  private func endWatch(_ number: UInt64) {
    let idle: EtcdWatch? = lock.withLock {
      guard let kept, kept.number == number else { return nil }
      self.kept = nil
      return kept.watch
    }
    idle?.exchange.end(.cancelled)
  }

  // MARK: Members and pushes

  func trusts(_ member: EtcdAddress) -> Bool { lock.withLock { trusted.contains(member) } }
  func trust(_ member: EtcdAddress) { _ = lock.withLock { trusted.insert(member) } }
  func distrust(_ member: EtcdAddress) { _ = lock.withLock { trusted.remove(member) } }

  var pushedAt: Int64 { lock.withLock { push } }
  func notePush(at revision: Int64) { lock.withLock { push = max(push, revision) } }

  /// Forgets everything: what comes may be of another history.
  func forget() {
    let kept = lock.withLock {
      let kept = self.kept
      self.kept = nil
      trusted = []
      push = 0
      return kept
    }
    kept?.watch.exchange.end(.cancelled)
  }
}
