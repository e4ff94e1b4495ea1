// Presence: the room of a key that lives as long as its client: what to ask next, so that the key
// is there. It has no clock, and does no I/O.
//
// Presence may use: Wire.

public import UpdateMachine

/// Keeps one key present, with a lease that the cluster ends if it is not renewed.
///
/// It works in rounds, each with one member, from the first question to the last. A round has
/// three steps, and leaves out what is not needed:
///
///     look at the key ──▶ renew the lease, or grant one ──▶ write the key with the lease
///
/// The first step is answered by a quorum, so it also shows whether the member has the history
/// that the client knows. Nothing is granted or written at a member that does not. Because each
/// round looks at the key, whatever has happened to it is mended: it was deleted, its lease ran
/// out, the cluster lost both, or another client has the same key.
struct EtcdPresence: Hashable {
  /// What to ask the member.
  enum Question: Hashable {
    case look(EtcdRangeRequest)
    case grant(EtcdLeaseRequest)
    case renew(EtcdLeaseRequest)
    case write(EtcdTransaction)
  }

  /// What the member said.
  enum Answer: Hashable {
    case looked(EtcdRangeAnswer)
    case granted(EtcdLease)
    case renewed(EtcdLease)
    case written(EtcdTransactionAnswer)
    /// A write was refused, because there is no such lease.
    case leaseNotFound
  }

  /// What to do about an answer.
  enum Step: Hashable {
    case ask(Question)
    /// End the round: the member is of another history. Begin one with the next member.
    case passOver
    case end(Ending)
  }

  /// How a round ends.
  enum Ending: Hashable {
    /// Wait for a time in this range, and begin the next round.
    case rest(from: TimeSpan, to: TimeSpan)
    /// No later round would do better.
    case fail(EtcdPresenceError)
  }

  /// Why no member has done its part.
  enum Failure: Hashable {
    /// All say that they are of another history than the client knows.
    case otherHistory
    case other(SyncFailure)
  }

  /// The key, with the prefix.
  let key: [UInt8]
  let value: [UInt8]
  /// In seconds, as it is asked for.
  let timeToLive: Int64
  /// The lease; 0: there is none.
  private(set) var lease: Int64 = 0
  /// In seconds, as the cluster has granted it.
  private var granted: Int64
  /// What a quorum said last; `nil`: nothing yet.
  private var history: EtcdHeader?
  /// What the key held when this round began.
  private var found: EtcdKeyValue?
  /// How often this round has looked.
  private var looks = 0
  /// How many rounds have failed in a row.
  private var failures: Int64 = 0

  /// Another client that writes the same key may be faster, but not for long.
  static let lookMaximum = 3
  static let firstRetry = TimeSpan.milliseconds(500)
  static let longestRetry = TimeSpan.seconds(30)
  static let leastPatience = TimeSpan.seconds(2)
  /// In seconds. etcd raises what is less than its own least, which is 2 by default.
  static let timesToLive: ClosedRange<Int64> = 1...86_400

  init(key: [UInt8], value: [UInt8], timeToLive: Int64) {
    self.key = key
    self.value = value
    self.timeToLive = EtcdPresence.allowed(timeToLive)
    granted = self.timeToLive
  }

  private static func allowed(_ seconds: Int64) -> Int64 {
    min(max(seconds, timesToLive.lowerBound), timesToLive.upperBound)
  }

  // MARK: A round

  /// Begins a round. One that has not come to its end is given up.
  mutating func begin() -> Question {
    looks = 0
    return look()
  }

  private mutating func look() -> Question {
    looks += 1
    return .look(EtcdRangeRequest(EtcdSpan(key: key)))
  }

  /// Takes the answer to what was asked last.
  mutating func handle(_ answer: Answer) -> Step {
    switch answer {
    case .looked(let answer): return looked(answer)
    case .granted(let lease):
      guard lease.header.cluster == history?.cluster else { return .passOver }
      self.lease = lease.id
      granted = EtcdPresence.allowed(lease.timeToLive)
      return write()
    case .renewed(let lease):
      guard lease.header.cluster == history?.cluster else { return .passOver }
      // The lease has run out, or the cluster has lost it.
      guard lease.timeToLive > 0 else { return grant() }
      return found?.lease == self.lease ? .end(rest()) : write()
    case .written(let answer):
      guard knows(answer.header) else { return .passOver }
      history = answer.header
      return answer.succeeded ? .end(rest()) : lookAgain()
    case .leaseNotFound:
      lease = 0
      return lookAgain()
    }
  }

  /// Whether what a quorum says is of the history that the client knows, as far as an answer's
  /// beginning tells.
  func knows(_ header: EtcdHeader) -> Bool {
    guard let history else { return true }
    return header.cluster == history.cluster && header.revision >= history.revision
      && header.term >= history.term
  }

  private mutating func looked(_ answer: EtcdRangeAnswer) -> Step {
    guard knows(answer.header) else { return .passOver }
    history = answer.header
    found = answer.range.pairs.first
    if let found, found.lease == 0 { return .end(.fail(.keyIsTaken)) }
    return lease == 0 ? grant() : .ask(.renew(.renew(lease)))
  }

  private mutating func grant() -> Step {
    lease = 0
    return .ask(.grant(.grant(seconds: timeToLive)))
  }

  /// Writes the key, if it still holds what was found.
  private func write() -> Step {
    var transaction = EtcdTransaction()
    transaction.comparisons = [.modified(key, at: found?.modified ?? 0)]
    transaction.success = [.put(key, value, lease: lease)]
    return .ask(.write(transaction))
  }

  private mutating func lookAgain() -> Step {
    looks < EtcdPresence.lookMaximum ? .ask(look()) : .end(retry(after: nil))
  }

  // MARK: Between rounds

  /// Two renewals may fail before the lease ends; of those that a member leaves without an answer,
  /// one.
  private var interval: TimeSpan { .milliseconds(granted * 1000 / 3) }

  /// How long a member may take for a question. One that is silent must not take all the time that
  /// the lease lives, unless that is hardly longer than a slow answer takes.
  var patience: TimeSpan { max(longestWait, EtcdPresence.leastPatience) }

  /// The longest wait after a failure.
  private var longestWait: TimeSpan { min(interval, EtcdPresence.longestRetry) }

  private mutating func rest() -> Ending {
    failures = 0
    return .rest(from: interval, to: interval)
  }

  /// Waits longer after each failure, but not long: when the network is back, the key soon is, too.
  private mutating func retry(after least: TimeSpan?) -> Ending {
    let most = EtcdPresence.firstRetry.doubled(times: failures, cap: longestWait)
    failures = min(failures + 1, 30)
    let least = least ?? .zero
    return .rest(from: max(.milliseconds(most.milliseconds / 2), least), to: max(most, least))
  }

  /// Ends a round in which each member has failed.
  mutating func failed(_ failure: Failure) -> Ending {
    switch failure {
    case .otherHistory:
      // No lease of that history is one of this one.
      lease = 0
      history = nil
      return retry(after: nil)
    case .other(let failure):
      switch failure {
      case .unauthorized, .unsupported, .rejected: return .fail(.refused(failure))
      case .rateLimited(let least): return retry(after: least)
      case .unreachable, .timedOut, .serverFault, .expired, .malformed, .modelRefused:
        return retry(after: nil)
      }
    }
  }
}

/// The reason why a client is no longer shown as present. What it has written goes when its time to
/// live has passed, at the latest.
public enum EtcdPresenceError: Error, Hashable, Sendable {
  /// The key begins with a zero byte: it is one of the library's own. Nothing was sent.
  case reservedKey
  /// The key holds something that was written to stay, so it was left alone. Another key helps.
  case keyIsTaken
  /// The cluster refuses for good: user or password is wrong, the user may not write the key, the
  /// value is too large, or the cluster does not know such requests.
  case refused(SyncFailure)
}
