import Foundation
import UpdateMachine

/// What one of a server's rate limits lets through, once it has refused a request.
///
/// Zulip counts a user's requests of the last minute. When there are too many, `Retry-After` says
/// when one more is allowed, not when many are. A client that has several to send is then refused
/// again at once, and tells its user of one outage after another. So after a refusal requests leave
/// one after the other, with the server's own wait between two, until the answer to one of them
/// says that more are left.
struct ZulipRateLimit: Sendable {
  /// The time between two requests; `nil`: the server has refused none, or has said since that
  /// more are left.
  private(set) var pace: TimeSpan?
  /// When the next request may leave.
  private var opensAt = Moment.distantPast
  /// How often the server has refused a request. What left before the last refusal tells nothing of
  /// what is left after it.
  private var refusals: UInt64 = 0

  /// The least time between two requests. A wait may be the rest of a longer one.
  private static let paceMinimum: TimeSpan = .seconds(1)
  /// The longest time between two requests. What the first of them had to wait for was a whole
  /// burst.
  private static let paceMaximum: TimeSpan = .seconds(10)
  /// The longest wait that is kept to here. Beyond it only the machine's own wait counts.
  private static let waitMaximum: TimeSpan = .seconds(60)

  /// Whether a request may leave.
  enum Turn: Equatable, Sendable {
    /// It may. With its answer it says that it left in this period.
    case now(period: UInt64)
    /// It may ask again then.
    case later(Moment)
  }

  /// Lets a request through, or says when it may ask again.
  mutating func enter(at now: Moment) -> Turn {
    guard let pace else { return .now(period: refusals) }
    guard opensAt <= now else { return .later(opensAt) }
    opensAt = now + pace
    return .now(period: refusals)
  }

  /// Notes that the server has refused a request because there were too many. If that was one that
  /// kept to the pace, the pace was too quick.
  /// - Parameter wait: what the server has asked for; `nil`: nothing.
  mutating func refused(for wait: TimeSpan?, in period: UInt64, at now: Moment) {
    let wait = max(wait ?? ZulipRateLimit.paceMinimum, .zero)
    opensAt = max(opensAt, now + min(wait, ZulipRateLimit.waitMaximum))
    guard period == refusals else { return }
    refusals += 1
    let slower = max(wait, (pace ?? .zero) * 2, ZulipRateLimit.paceMinimum)
    pace = min(slower, ZulipRateLimit.paceMaximum)
  }

  /// Notes any other answer.
  /// - Parameter left: how many more requests are allowed now; `nil`: the server has not said.
  mutating func answered(left: Int?, in period: UInt64) {
    if left != 0, period == refusals { pace = nil }
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

  /// Returns the period, once a request may leave. Throws `rateLimited` if that is further away
  /// than its patience, and when the task is cancelled. Then nothing has left.
  func enter(isPoll: Bool, patience: TimeSpan) async throws(ZulipFailure) -> UInt64 {
    let end = clock.now + patience
    while true {
      let now = clock.now
      switch change(isPoll, { $0.enter(at: now) }) {
      case .now(let period): return period
      case .later(let opens):
        guard opens <= end else {
          throw ZulipFailure(
            .rateLimited(after: opens - now), .refused(.rateLimitHit), hasLeft: false)
        }
        do throws(CancellationError) {
          try await clock.sleep(until: opens)
        } catch {
          throw ZulipFailure(.unreachable, .cancelled, hasLeft: false)
        }
      }
    }
  }

  /// Notes an answer.
  /// - Parameters:
  ///   - period: when its request left.
  ///   - failure: what the answer means; `nil`: a success.
  ///   - left: how many more requests are allowed now; `nil`: the server has not said.
  func answered(isPoll: Bool, in period: UInt64, _ failure: SyncFailure?, left: Int?) {
    let now = clock.now
    change(isPoll) { limit in
      if case .rateLimited(let wait) = failure {
        limit.refused(for: wait, in: period, at: now)
      } else {
        limit.answered(left: left, in: period)
      }
    }
  }
}

extension RejectionCode {
  /// Zulip's code for a request beyond a rate limit.
  static var rateLimitHit: RejectionCode { RejectionCode("RATE_LIMIT_HIT") }
}
