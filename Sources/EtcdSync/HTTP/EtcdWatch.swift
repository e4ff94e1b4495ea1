import Foundation
import UpdateMachine

/// A watch that goes on from one poll to the next.
struct EtcdWatch: Sendable {
  let exchange: EtcdExchange
  let member: EtcdAddress
  /// When the member was last known to be level with a quorum.
  var checkedAt: Moment

  /// The most events of a batch, apart from those of its last message.
  private static let eventMaximum = 1000

  /// Waits for changes after a finger; `nil`: there are none yet. Throws if the watch is over.
  ///
  /// Takes all that has come, because the client may ask more slowly than others make changes. The
  /// batch is current only if nothing is left, and the watch goes on.
  func batch(
    after finger: EtcdFinger, prefix: [UInt8], within span: TimeSpan
  ) async throws(EtcdFailure) -> EtcdBatch? {
    let clock = SystemClock()
    let end = clock.now + span
    while true {
      guard let message = try await exchange.messageIfAny(within: end - clock.now) else {
        return nil
      }
      guard var (header, events) = try news(in: message, finger) else { continue }
      while exchange.hasLineNow, events.count < EtcdWatch.eventMaximum {
        do throws(EtcdFailure) {
          guard let message = try await exchange.messageIfAny(within: .zero),
            let more = try news(in: message, finger)
          else { continue }
          header = more.header
          events += more.events
        } catch {
          // What has come before counts. The next watch will tell why this one has ended.
          exchange.end(.cancelled)
        }
      }
      let isLast = !exchange.hasLineNow && !exchange.hasEnded
      let batch = try EtcdFailure.reading { () throws(EtcdWireError) in
        try EtcdBatch(events, header, prefix: prefix, after: finger)
      }
      guard var batch else { continue }  // The finger has it already.
      batch.isCurrent = batch.isCurrent && isLast
      return batch
    }
  }

  /// The changes in a message; `nil`: there are none.
  private func news(
    in message: EtcdWatchMessage, _ finger: EtcdFinger
  ) throws(EtcdFailure) -> (header: EtcdHeader, events: [EtcdWatchMessage.Event])? {
    switch message {
    case .created, .canceled: throw EtcdFailure(EtcdWireError(field: "result"))
    case .progress: return nil  // It says no more than the next question will.
    case .events(let header, let events):
      guard header.cluster == finger.cluster.number else { throw .foreign }
      return (header, events)
    }
  }
}

/// What a source remembers from one call to the next.
final class EtcdMemory: @unchecked Sendable {
  private let lock = NSLock()
  /// The watch that nobody reads now, the revision that it has come to, and since when.
  private var kept: (watch: EtcdWatch, revision: Int64, since: DispatchTime)?
  /// Whether the watch will be looked at.
  private var hasTimer = false
  /// The members whose history was found to be the client's, and which have not failed since.
  private var trusted: Set<EtcdAddress> = []
  /// The revision of the last push.
  private var push: Int64 = 0

  /// How long a watch is kept that no poll takes: the machine may have stopped.
  private static let idleTime = DispatchTimeInterval.seconds(10)

  deinit { kept?.watch.exchange.end(.cancelled) }

  // MARK: The watch

  /// Returns the watch, if it goes on and has come exactly to this revision. Any other is ended.
  /// - Parameter moment: its member must have been found level after this.
  func takeWatch(at revision: Int64, checkedAfter moment: Moment) -> EtcdWatch? {
    let kept = lock.withLock {
      let kept = self.kept
      self.kept = nil
      return kept
    }
    guard let kept, kept.revision == revision, !kept.watch.exchange.isOver,
      kept.watch.checkedAt >= moment
    else {
      kept?.watch.exchange.end(.cancelled)
      return nil
    }
    return kept.watch
  }

  /// Keeps a watch for the next poll.
  func keep(_ watch: EtcdWatch, at revision: Int64) {
    let (former, hadTimer) = lock.withLock {
      let before = (kept, hasTimer)
      kept = (watch, revision, .now())
      hasTimer = true
      return before
    }
    former?.watch.exchange.end(.cancelled)
    if !hadTimer { lookLater() }
  }

  private func lookLater() {
    DispatchQueue.global().asyncAfter(deadline: .now() + EtcdMemory.idleTime) { [weak self] in
      self?.endIdleWatch()
    }
  }

  private func endIdleWatch() {
    let (idle, looksAgain): (EtcdWatch?, Bool) = lock.withLock {
      guard let kept else {
        hasTimer = false
        return (nil, false)
      }
      guard kept.since + EtcdMemory.idleTime <= .now() else { return (nil, true) }
      self.kept = nil
      hasTimer = false
      return (kept.watch, false)
    }
    idle?.exchange.end(.cancelled)
    if looksAgain { lookLater() }
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
