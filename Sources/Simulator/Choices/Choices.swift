internal import UpdateMachine

// Choices: the room of all chance. Every draw of a simulated world goes through one recorded
// list, so that a run can be repeated from its seed, or from the list itself, shortened and
// lowered.
//
// Choices may use: no other room.

/// All the chance of one run.
///
/// Each subsystem draws from a stream of its own, so that one more draw in one of them changes
/// nothing in the others. The least value of every draw is the tamest one: nothing happens, nothing
/// is late. A list that is cut short therefore goes on tamely.
///
/// The generator is SplitMix64 (Steele, Lea and Flood, 2014). Bounded draws take the high word of a
/// product (Lemire, "Fast random integer generation in an interval", 2019) without his rejection
/// step: the bias is below 2⁻³² for our bounds, and each draw is exactly one word. Neither uses
/// `Int`, whose width differs between platforms.
public struct Choices: Sendable {
  /// Who draws.
  public enum Stream: UInt8, CaseIterable, Sendable {
    /// Which faults there are, how strong, and how fast this world lives.
    case swarm
    case network
    case server
    case faults
    case users
    case timers
    case disks
    case workload
    /// Which of several ready jobs runs next.
    case jobs
    /// The faults that came later than the others, in which worlds they are and when they strike: so
    /// that seeds went on telling the stories they told.
    case weather
    /// The faults of disks and saved forms, which came after those.
    case storage
    /// Rows that are left on a disk until they are needed, and what cannot be read: these came last of all.
    case rows
  }

  /// One draw, as recorded: who drew, and what came.
  public struct Choice: Hashable, Sendable {
    /// Who drew.
    public var stream: Stream
    /// What came, from 0.
    public var value: UInt64

    public init(stream: Stream, value: UInt64) {
      self.stream = stream
      self.value = value
    }
  }

  /// What was drawn so far, in order.
  public private(set) var record: [Choice] = []

  /// The generators, by stream; none: what is not replayed is 0.
  private var states: [UInt64]
  /// The values to give back, by stream; `nil`: draw anew.
  private var replay: [[UInt64]]?
  private var replayed: [Int] = []

  /// Draws from generators that are seeded with `seed`.
  public init(seed: UInt64) {
    states = Stream.allCases.map { stream in
      Digest.mixed(seed &+ 0x9E37_79B9_7F4A_7C15 &* (UInt64(stream.rawValue) + 1))
    }
    record.reserveCapacity(2048)
  }

  /// Gives back what a list says, each stream for itself; where it has nothing left, 0. A value that
  /// is too large for its draw is lowered to the largest that fits.
  public init(replaying record: [Choice]) {
    states = []
    var values = Stream.allCases.map { _ in [UInt64]() }
    for choice in record { values[Int(choice.stream.rawValue)].append(choice.value) }
    replay = values
    replayed = values.map { _ in 0 }
  }

  /// Gives back what a list says, each stream for itself; where it has nothing left, draws from
  /// generators that are seeded with `seed`.
  public init(replaying record: [Choice], then seed: UInt64) {
    self.init(replaying: record)
    states = Choices(seed: seed).states
  }

  /// A number from 0 to `bound` − 1; `bound` is at least 1.
  public mutating func draw(_ stream: Stream, below bound: UInt64) -> UInt64 {
    precondition(bound > 0, "a draw needs a bound of at least 1")
    let value = next(Int(stream.rawValue), below: bound)
    record.append(Choice(stream: stream, value: value))
    return value
  }

  /// A number from `range`, its lower end being the tamest.
  public mutating func draw(_ stream: Stream, in range: ClosedRange<Int64>) -> Int64 {
    let width = UInt64(bitPattern: range.upperBound &- range.lowerBound)
    guard width > 0 else { return range.lowerBound }
    return range.lowerBound &+ Int64(bitPattern: draw(stream, below: width &+ 1))
  }

  /// True in `count` of `total` cases; the tamest answer is no.
  public mutating func happens(_ stream: Stream, _ count: UInt64, in total: UInt64) -> Bool {
    guard count > 0 else { return false }
    return draw(stream, below: total) >= total - min(count, total)
  }

  /// One of the elements, the first being the tamest. `elements` is not empty.
  public mutating func pick<Element>(_ stream: Stream, _ elements: [Element]) -> Element {
    elements[Int(draw(stream, below: UInt64(elements.count)))]
  }

  /// A shuffle (Fisher and Yates); the tamest leaves everything in its place.
  public mutating func shuffle<Element>(_ stream: Stream, _ elements: inout [Element]) {
    var left = elements.count
    while left > 1 {
      let other = left - 1 - Int(draw(stream, below: UInt64(left)))
      elements.swapAt(left - 1, other)
      left -= 1
    }
  }

  private mutating func next(_ stream: Int, below bound: UInt64) -> UInt64 {
    if replay != nil {
      let index = replayed[stream]
      replayed[stream] += 1
      if index < replay![stream].count { return min(replay![stream][index], bound - 1) }
      guard !states.isEmpty else { return 0 }
    }
    states[stream] &+= 0x9E37_79B9_7F4A_7C15
    return Digest.mixed(states[stream]).multipliedFullWidth(by: bound).high
  }
}
