#if !hasFeature(Embedded)

  private import Foundation

  /// A driver's source of time. Called from the actor and from its child tasks.
  public protocol DriverClock: Sendable {
    /// The present moment, in milliseconds from any origin. The clock never leaps or goes back, and
    /// counts the time that the device sleeps.
    var now: Moment { get }

    /// The wall clock's time. It may leap, and decides only the age of a saved form.
    var wallTime: WallTime { get }

    /// Returns at `moment` or soon after; throws when the task is cancelled.
    func sleep(until moment: Moment) async throws(CancellationError)
  }

  /// The system's clocks. Moments count from the start of the process.
  public struct SystemClock: DriverClock {
    private static let origin = ContinuousClock().now

    /// All instances are the same clock.
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

  /// A driver's source of chance. Called on the actor, and while the actor is made; must not block.
  package protocol Chance: Sendable {
    /// Returns a random moment of the range, both ends included, all equally likely.
    func draw(from range: MomentRange) -> Moment

    /// Returns a number that no start of this replica ever had. Called once by each machine.
    func newIncarnation() -> Incarnation

    /// Returns a random number, from which the client draws its names. Called once by each machine.
    func newSeed() -> UInt64
  }

  /// The system's generator.
  package struct SystemChance: Chance {
    /// All instances draw from the same generator.
    package init() {}

    package func draw(from range: MomentRange) -> Moment {
      var generator = SystemRandomNumberGenerator()
      return Moment(
        milliseconds: Int64.random(
          in: range.earliest.milliseconds...range.latest.milliseconds, using: &generator))
    }

    package func newIncarnation() -> Incarnation {
      var generator = SystemRandomNumberGenerator()
      return Incarnation(generator.next())
    }

    package func newSeed() -> UInt64 {
      var generator = SystemRandomNumberGenerator()
      return generator.next()
    }
  }

#endif
