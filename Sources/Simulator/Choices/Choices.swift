internal import UpdateMachine

// Choices: the room of all randomness. Every draw of a simulated world goes through one recorded
// list. So a run can be repeated from its seed, or from the list itself, shortened and lowered.
//
// Choices may use: no other room.

/// The source of all randomness in one run.
///
/// Each subsystem draws from its own stream, so one more draw in one of them changes nothing in the
/// others. The least value of every draw is the tamest: nothing happens, nothing is late. So a list
/// that is cut short continues tamely.
///
/// The generator is SplitMix64, and each draw is exactly one word of it. No draw depends on `Int`,
/// whose width differs between platforms.
public struct Choices: Sendable {
  /// The subsystem that draws.
  public enum Stream: UInt8, CaseIterable, Sendable {
    /// Which faults occur, how strong they are, and the tempo of this world.
    case swarm
    /// How long messages take, and which of them are lost or repeated.
    case network
    /// What the server does by itself: delays, failures, heartbeats.
    case server
    /// When the first faults strike, which client, and for how long.
    case faults
    /// What users do, and when.
    case users
    /// When a timer fires within its bounds.
    case timers
    /// How long a disk takes, and how a crash cuts off a write.
    case disks
    /// The changes that are committed at the server, and when.
    case workload
    /// Which of several ready jobs runs next.
    case jobs
    /// The faults added after the first ones: which worlds have them, and when they strike. A
    /// stream of their own lets old seeds keep their stories.
    case weather
    /// The faults of disks and saved forms, added after those.
    case storage
    /// The faults of rows that stay on a disk until they are needed, and of failed reads, added
    /// after those.
    case rows
    /// How often the server wants to be asked, if it leaves that open.
    case cadence
    /// Which clients save nothing beside others that do.
    case machines
    /// Which worlds have updates of the app, and when they come; and which servers take small
    /// pushes only.
    case updates
    /// Which worlds have users who undo, and when they do.
    case undo
    /// Which worlds are hasty, and what happens in them while an answer is awaited.
    case haste
    /// Which servers hide old messages, and from when on.
    case history
    /// Which servers forget the names of clients, and which names.
    case names
    /// How many lists clients keep that no window shows.
    case lists
  }

  /// One recorded draw: its stream and its value.
  package struct Choice: Hashable, Sendable {
    /// The stream.
    package var stream: Stream
    /// The value, from 0.
    package var value: UInt64

    package init(stream: Stream, value: UInt64) {
      self.stream = stream
      self.value = value
    }
  }

  /// The draws so far, in order.
  package private(set) var record: [Choice] = []

  /// The client that the next draws are for, by number; `nil`: no single one. It changes no draw.
  package var owner: Int?
  /// The owner of each draw; empty unless the owners are noted.
  private var owners: [Int?] = []
  private var notesOwners = false

  /// The generators, by stream. Empty: draws beyond the replayed list return 0.
  private var generators: [SplitMix]
  /// The values to return, by stream; `nil`: draw anew.
  private var replay: [[UInt64]]?
  private var replayed: [Int] = []

  /// Draws from generators that are seeded with `seed`.
  public init(seed: UInt64) {
    var seeds = SplitMix(seed)
    generators = Stream.allCases.map { _ in SplitMix(seeds.next()) }
    record.reserveCapacity(2048)
  }

  /// Replays a list, each stream by itself; a stream that has run out returns 0. A value that is
  /// too large for its draw is lowered to the largest that fits.
  ///
  /// - Parameter notesOwners: whether ``record(without:)`` will be asked.
  package init(replaying record: [Choice], notingOwners notesOwners: Bool = false) {
    self.notesOwners = notesOwners
    generators = []
    var values = Stream.allCases.map { _ in [UInt64]() }
    for choice in record { values[Int(choice.stream.rawValue)].append(choice.value) }
    replay = values
    replayed = values.map { _ in 0 }
  }

  /// Replays a list, each stream by itself; a stream that has run out draws from generators seeded
  /// with `seed`.
  package init(replaying record: [Choice], then seed: UInt64) {
    self.init(replaying: record)
    generators = Choices(seed: seed).generators
  }

  /// Draws a number from 0 to `bound` − 1; `bound` is at least 1.
  public mutating func draw(_ stream: Stream, below bound: UInt64) -> UInt64 {
    precondition(bound > 0, "a draw needs a bound of at least 1")
    let value = next(Int(stream.rawValue), below: bound)
    record.append(Choice(stream: stream, value: value))
    if notesOwners { owners.append(owner) }
    return value
  }

  /// The draws so far without those that were for one client. In a world without that client, the
  /// others draw what they drew beside it, as far as they draw the same things.
  package func record(without client: Int) -> [Choice] {
    precondition(owners.count == record.count, "the owners were not noted")
    return zip(record, owners).compactMap { choice, owner in owner == client ? nil : choice }
  }

  /// Draws a number from `range`; its lower end is the tamest.
  public mutating func draw(_ stream: Stream, in range: ClosedRange<Int64>) -> Int64 {
    let width = UInt64(bitPattern: range.upperBound &- range.lowerBound)
    guard width > 0 else { return range.lowerBound }
    return range.lowerBound &+ Int64(bitPattern: draw(stream, below: width &+ 1))
  }

  /// Returns true in `count` of `total` cases; the tamest answer is false.
  public mutating func happens(_ stream: Stream, _ count: UInt64, in total: UInt64) -> Bool {
    guard count > 0 else { return false }
    return draw(stream, below: total) >= total - min(count, total)
  }

  /// Picks an element; the first is the tamest. `elements` is not empty.
  public mutating func pick<Element>(_ stream: Stream, _ elements: [Element]) -> Element {
    elements[Int(draw(stream, below: UInt64(elements.count)))]
  }

  /// Shuffles (Fisher and Yates); the tamest shuffle moves nothing.
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
      guard !generators.isEmpty else { return 0 }
    }
    return generators[stream].below(bound)
  }
}
