import Foundation
import UpdateMachine

/// What one of a server's rate limits lets through, once it has refused a request.
///
/// Zulip counts a user's requests of the last minute. When there are too many, `Retry-After` says
/// when one more is allowed, not when many are. A client that has several to send is then refused
/// again at once, and tells its user of one outage after another. So after a refusal one request is
/// sent at a time, with the server's own wait between two, until an answer says that more are left.
struct ZulipRateLimit: Sendable {
  /// The time between two requests; `nil`: the server has refused none, or has said since that
  /// more are left.
  private(set) var pace: TimeSpan?
  /// When the next request may be sent.
  private var opensAt = Moment.distantPast

  /// The wait if the server has not said one.
  private static let usualWait: TimeSpan = .seconds(1)
  /// The longest time between two requests. What the first of them had to wait for was a whole
  /// burst.
  private static let paceMaximum: TimeSpan = .seconds(10)
  /// The longest wait that is kept to here. Beyond it only the machine's own wait counts.
  private static let waitMaximum: TimeSpan = .seconds(60)

  /// Lets a request through, or returns when it may ask again.
  mutating func enter(at now: Moment) -> Moment? {
    guard let pace else { return nil }
    guard opensAt <= now else { return opensAt }
    opensAt = now + pace
    return nil
  }

  /// Notes that the server has refused a request because there were too many.
  /// - Parameter wait: what the server has asked for; `nil`: nothing.
  mutating func refused(for wait: TimeSpan?, at now: Moment) {
    let wait = max(wait ?? ZulipRateLimit.usualWait, .zero)
    pace = min(wait, ZulipRateLimit.paceMaximum)
    opensAt = max(opensAt, now + min(wait, ZulipRateLimit.waitMaximum))
  }

  /// Notes any other answer.
  /// - Parameter left: how many more requests are allowed now; `nil`: the server has not said.
  mutating func answered(left: Int?) {
    if left != 0 { pace = nil }
  }
}

/// The rate limits of a server that a connection knows. Polls are counted apart from all else.
final class ZulipRateLimits: @unchecked Sendable {
  private let lock = NSLock()
  private var polls = ZulipRateLimit()
  private var others = ZulipRateLimit()
  private let clock: any DriverClock

  init(_ clock: any DriverClock) { self.clock = clock }

  private func change<Answer>(
    _ isPoll: Bool, _ body: (inout ZulipRateLimit) -> Answer
  ) -> Answer {
    lock.withLock { isPoll ? body(&polls) : body(&others) }
  }

  /// Returns once a request may be sent. Throws `rateLimited` if that is further away than its
  /// patience, and when the task is cancelled. Then nothing has left.
  /// - Returns: how long it has waited.
  func enter(
    isPoll: Bool, patience: TimeSpan
  ) async throws(ZulipFailure) -> TimeSpan {
    let began = clock.now
    while let opens = change(isPoll, { $0.enter(at: clock.now) }) {
      guard opens - began <= patience else {
        throw ZulipFailure(
          .rateLimited(after: opens - clock.now), .refused(.rateLimitHit), hasLeft: false)
      }
      do throws(CancellationError) {
        try await clock.sleep(until: opens)
      } catch {
        throw ZulipFailure(.unreachable, .cancelled, hasLeft: false)
      }
    }
    return clock.now - began
  }

  /// Notes an answer.
  /// - Parameters:
  ///   - failure: what the answer means; `nil`: a success.
  ///   - left: how many more requests are allowed now; `nil`: the server has not said.
  func answered(isPoll: Bool, _ failure: SyncFailure?, left: Int?) {
    change(isPoll) { limit in
      if case .rateLimited(let wait) = failure {
        limit.refused(for: wait, at: clock.now)
      } else {
        limit.answered(left: left)
      }
    }
  }
}

extension RejectionCode {
  /// Zulip's code for a request beyond a rate limit.
  static var rateLimitHit: RejectionCode { RejectionCode("RATE_LIMIT_HIT") }
}
