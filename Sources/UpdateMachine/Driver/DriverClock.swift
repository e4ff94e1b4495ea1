#if !hasFeature(Embedded)

  private import Foundation

  /// Where a driver's time comes from. Asked from the actor and from its child tasks.
  public protocol DriverClock: Sendable {
    /// The present moment, in milliseconds from any origin, of a clock that never leaps or goes back,
    /// and counts the time that the device sleeps.
    var now: Moment { get }

    /// What the wall clock shows. It may leap; only the age of a saved form hangs on it.
    var wallTime: WallTime { get }

    /// Returns at that moment or soon after, or throws when the task is cancelled.
    func sleep(until moment: Moment) async throws(CancellationError)
  }

  /// The system's clocks. Moments count from the start of the process.
  public struct SystemClock: DriverClock {
    private static let origin = ContinuousClock().now

    /// Every one is the same clock.
    public init() { _ = SystemClock.origin }

    public var now: Moment {
      let elapsed = (ContinuousClock().now - SystemClock.origin).components
      return Moment(
        milliseconds: elapsed.seconds * 1000 + elapsed.attoseconds / 1_000_000_000_000_000)
    }

    public var wallTime: WallTime {
      WallTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    }

    public func sleep(until moment: Moment) async throws(CancellationError) {
      let deadline = SystemClock.origin + .milliseconds(moment.milliseconds)
      do {
        try await ContinuousClock().sleep(until: deadline)
      } catch {
        throw CancellationError()  // The only error that sleeping throws.
      }
    }
  }

  /// Where a driver's chance comes from. Asked on the actor, and when that is made; must not block.
  public protocol Chance: Sendable {
    /// A moment of the range, both ends included, each as likely as the others.
    func draw(from range: MomentRange) -> Moment

    /// A life that no start of this replica ever had. Asked once by each machine.
    func newLife() -> Life
  }

  /// The system's generator.
  public struct SystemChance: Chance {
    /// Every one draws from the same generator.
    public init() {}

    public func draw(from range: MomentRange) -> Moment {
      var generator = SystemRandomNumberGenerator()
      return Moment(
        milliseconds: Int64.random(
          in: range.earliest.milliseconds...range.latest.milliseconds, using: &generator))
    }

    public func newLife() -> Life {
      var generator = SystemRandomNumberGenerator()
      return Life(generator.next())
    }
  }

#endif
