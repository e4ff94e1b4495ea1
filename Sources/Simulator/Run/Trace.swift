internal import SyncProtocols
package import UpdateMachine

/// The conversation of one run, event by event: virtual time, actor, event.
public struct Trace: Sendable {
  /// One event of the conversation.
  package struct Event: Hashable, Sendable {
    /// When, in the world's time.
    package var at: Moment
    /// The number of the world's step in which it happened, from 1.
    package var step: Int64
    /// Who acted: a client, the server, a fault, the world.
    package var who: String
    /// What happened, in one line.
    package var what: String
    /// The number of the client concerned; `nil`: all clients.
    package var client: Int?
    /// Whether it shows what a client holds, rather than an event.
    package var isPicture = false
    /// What the client is after it; `nil`: as before, or it is about no client.
    var state: SpaceTime.LaneState?
    /// Whether the client has taken a snapshot with its finger.
    var isSeam = false

    /// A line like "0:12.345  client 1  written 1 → live.polling: …".
    package var line: String {
      "\(Trace.clock(at))  \(Trace.padded(who, to: 8))  \(what)"
    }
  }

  /// The events in the order in which they happened.
  package private(set) var events: [Event] = []
  /// The number of choices drawn before the first step, and by the end of each step.
  package private(set) var choices: [Int64] = []
  /// A name for each step. The first entry is what precedes the first step.
  package private(set) var steps: [String] = []

  /// The inputs of the clients' machines, in order.
  private(set) var inputs: [MachineInput] = []

  /// The messages between clients and server, and what lasts beside their lanes.
  var drawing = SpaceTime(title: "", lanes: [])

  /// The names of the changes that users made and decided about, each with how often, in the order
  /// of the first.
  private(set) var changes: [(name: String, count: Int64)] = []

  private var breaches: Int64 = 0

  package init() {}

  /// One line per event.
  public var lines: [String] { events.map { $0.line } }

  /// The lines as one text, for a test's attachment.
  public var text: String { lines.joined(separator: "\n") }

  mutating func note(
    _ now: Moment, step: Int64, _ who: String, _ what: String, about client: Int?,
    isPicture: Bool = false, state: SpaceTime.LaneState? = nil, isSeam: Bool = false
  ) {
    events.append(
      Event(
        at: now, step: step, who: who, what: what, client: client, isPicture: isPicture,
        state: state, isSeam: isSeam))
  }

  mutating func noteInput(_ input: MachineInput) { inputs.append(input) }

  mutating func noteChange(_ name: String) {
    if let index = changes.firstIndex(where: { $0.name == name }) {
      changes[index].count += 1
    } else {
      changes.append((name, 1))
    }
  }

  /// Notes how often the server has broken its contract so far; returns whether the count is new.
  mutating func noteBreaches(_ count: Int64) -> Bool {
    defer { breaches = count }
    return count > breaches
  }

  /// Notes the end of a step.
  mutating func noteStep(_ name: String, choices count: Int64) {
    steps.append(name)
    choices.append(count)
  }

  /// Minutes, seconds and milliseconds, like "12:03.450".
  static func clock(_ moment: Moment) -> String {
    let milliseconds = moment.milliseconds
    let seconds = milliseconds / 1000 % 60
    let rest = milliseconds % 1000
    let minutes = padded("\(milliseconds / 60_000)", before: 3)
    return "\(minutes):\(zeros(seconds, to: 2)).\(zeros(rest, to: 3))"
  }

  /// The same without leading spaces.
  static func trimmedClock(_ moment: Moment) -> String {
    String(decoding: clock(moment).utf8.drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
  }

  private static func zeros(_ number: Int64, to width: Int) -> String {
    let text = "\(number)"
    return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
  }

  /// Pads with leading spaces.
  package static func padded(_ text: String, before width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.utf8.count)) + text
  }

  /// Pads with trailing spaces.
  static func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.utf8.count))
  }
}

/// An input of one client's machine.
struct MachineInput: Sendable {
  var at: Moment
  var client: Int
  /// The number of the client's process, from 1.
  var incarnation: UInt64
  var settings: MachineSettings
  var what: What

  enum What: Sendable {
    /// The machine starts again from its saved form.
    case restored(QueueFinger, ServerTerms, age: TimeSpan?)
    case input(Machine<QueueFinger>.Input)
  }
}
