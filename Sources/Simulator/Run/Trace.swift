internal import UpdateMachine

/// The conversation of one run, one line an event: virtual time, who, what.
public struct Trace: Sendable {
  /// One line an event, in the order in which they happened.
  public private(set) var lines: [String] = []

  public init() {}

  mutating func note(_ now: Moment, _ who: String, _ what: String) {
    lines.append("\(Trace.clock(now))  \(Trace.padded(who, to: 8))  \(what)")
  }

  /// Minutes, seconds and milliseconds: "12:03.450".
  static func clock(_ moment: Moment) -> String {
    let milliseconds = moment.milliseconds
    let seconds = milliseconds / 1000 % 60
    let rest = milliseconds % 1000
    return "\(leading(milliseconds / 60_000, to: 3)):\(zeros(seconds, to: 2)).\(zeros(rest, to: 3))"
  }

  private static func zeros(_ number: Int64, to width: Int) -> String {
    let text = "\(number)"
    return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
  }

  private static func leading(_ number: Int64, to width: Int) -> String {
    let text = "\(number)"
    return String(repeating: " ", count: max(0, width - text.utf8.count)) + text
  }

  static func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.utf8.count))
  }
}
