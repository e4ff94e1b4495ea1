internal import SyncProtocols
public import UpdateMachine

/// The conversation of one run, event by event: virtual time, who, what.
public struct Trace: Sendable {
  /// One thing that was seen.
  public struct Event: Hashable, Sendable {
    /// When, in the world's time.
    public var at: Moment
    /// The number of the world's step in which it happened, from 1.
    public var step: Int64
    /// Whose doing it was: a client, the server, a fault, the world.
    public var who: String
    /// What happened, in one line.
    public var what: String
    /// The number of the client that it is about; `nil`: it is about everybody.
    public var client: Int?
    /// It shows what a client holds: no happening.
    public var isPicture = false

    /// "0:12.345  client 1  written 1 → live.polling: …".
    public var line: String {
      "\(Trace.clock(at))  \(Trace.padded(who, to: 8))  \(what)"
    }
  }

  /// What was seen, in the order in which it happened.
  public private(set) var events: [Event] = []
  /// How many choices had been drawn before the first step, and at the end of each.
  public private(set) var choices: [Int64] = []
  /// What each step was, after what comes before the first.
  public private(set) var steps: [String] = []

  /// What the clients' machines were told, in the order in which it happened.
  private(set) var inputs: [MachineInput] = []

  private var breaches: Int64 = 0

  public init() {}

  /// One line an event.
  public var lines: [String] { events.map { $0.line } }

  /// The lines as one text, as it is attached to a test.
  public var text: String { lines.joined(separator: "\n") }

  mutating func note(
    _ now: Moment, step: Int64, _ who: String, _ what: String, about client: Int?,
    isPicture: Bool = false
  ) {
    events.append(
      Event(at: now, step: step, who: who, what: what, client: client, isPicture: isPicture))
  }

  mutating func noteInput(_ input: MachineInput) { inputs.append(input) }

  /// How often the server has broken its contract by now; whether that is news.
  mutating func noteBreaches(_ count: Int64) -> Bool {
    defer { breaches = count }
    return count > breaches
  }

  /// A step is over.
  mutating func noteStep(_ name: String, choices count: Int64) {
    steps.append(name)
    choices.append(count)
  }

  /// Minutes, seconds and milliseconds: "12:03.450".
  static func clock(_ moment: Moment) -> String {
    let milliseconds = moment.milliseconds
    let seconds = milliseconds / 1000 % 60
    let rest = milliseconds % 1000
    let minutes = padded("\(milliseconds / 60_000)", before: 3)
    return "\(minutes):\(zeros(seconds, to: 2)).\(zeros(rest, to: 3))"
  }

  /// The same without spaces before it.
  static func trimmedClock(_ moment: Moment) -> String {
    String(decoding: clock(moment).utf8.drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
  }

  private static func zeros(_ number: Int64, to width: Int) -> String {
    let text = "\(number)"
    return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
  }

  /// With spaces before it.
  static func padded(_ text: String, before width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.utf8.count)) + text
  }

  /// With spaces after it.
  static func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.utf8.count))
  }
}

/// What the machine of one client was told.
struct MachineInput: Sendable {
  var at: Moment
  var client: Int
  /// Which of the client's processes it was, from 1.
  var life: UInt64
  var settings: MachineSettings
  var what: What

  enum What: Sendable {
    /// The machine begins anew, with what was saved.
    case restored(QueueFinger, Terms, age: TimeSpan?)
    case input(Machine<QueueFinger>.Input)
  }
}
