import Foundation
import Synchronization
import UpdateMachine

// Prints figures in one column, one per line, with each baseline below its figure.

/// A figure; its kind says whether more is better.
enum Figure {
  /// Seconds; less is better.
  case time(Double)
  /// Bytes; less is better.
  case bytes(Int64)
  /// An amount per second; more is better.
  case rate(Double, String)

  /// "57.1 ns", "1,016 bytes", "803 MB/s".
  var text: String {
    switch self {
    case .time(let seconds):
      let units: [(Double, String)] = [(1e-6, "ns"), (1e-3, "µs"), (1, "ms"), (.infinity, "s")]
      let scale = [1e9, 1e6, 1e3, 1]
      let index = units.firstIndex { seconds < $0.0 } ?? 3
      return String(format: "%.1f %@", seconds * scale[index], units[index].1)
    case .bytes(let count):
      return count < 0 ? "not measured here" : "\(Figure.grouped(count)) bytes"
    case .rate(let rate, let unit): return "\(Figure.grouped(Int64(rate.rounded()))) \(unit)"
    }
  }

  /// How many times better this figure is than the other.
  func advantage(over other: Figure) -> Double? {
    switch (self, other) {
    case (.time(let ours), .time(let theirs)): theirs / ours
    case (.bytes(let ours), .bytes(let theirs)) where ours > 0 && theirs > 0:
      Double(theirs) / Double(ours)
    case (.rate(let ours, _), .rate(let theirs, _)): ours / theirs
    default: nil
    }
  }

  private static func grouped(_ number: Int64) -> String {
    var text = ""
    for (index, digit) in "\(number)".reversed().enumerated() {
      if index > 0, index % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return String(text.reversed())
  }
}

/// Prints our figure and, below it, others of the same run with how many times better ours is.
/// Bytes and ratios are kept, except ratios to a goal, because a goal is not measured.
func row(_ name: String, _ ours: Figure, beside others: KeyValuePairs<String, Figure> = [:]) {
  line(name, ours.text)
  if case .bytes(let bytes) = ours, bytes >= 0 { keep(.count, "bytes", Double(bytes)) }
  for (other, figure) in others {
    let advantage = ours.advantage(over: figure)
    let value = figure.text + String(repeating: " ", count: max(0, 16 - figure.text.count))
    let text = advantage.map { String(format: "%8.1f ×", $0) } ?? ""
    show("  beside: \(other)", value + text)
    if let advantage, !other.hasPrefix("goal") { keep(.ratio, "beside \(other)", advantage) }
  }
}

/// Prints and keeps a count that is the same in every run of the same code; -1: it cannot be
/// counted here.
func counted(_ name: String, _ number: Int64) {
  line(name, number < 0 ? "not counted here" : "\(number)")
  if number >= 0 { keep(.count, "", Double(number)) }
}

/// Prints a text that is only for readers. A name that begins with spaces belongs to the last one
/// that does not.
func line(_ name: String, _ value: String) {
  let words = name.trimmingCharacters(in: .whitespaces)
  recording.withLock { recording in
    if !name.hasPrefix(" ") { recording.top = words }
    recording.name = name.hasPrefix(" ") ? "\(recording.top), \(words)" : words
  }
  show(name, value)
}

private func show(_ name: String, _ value: String) {
  let text = name.padding(toLength: 60, withPad: " ", startingAt: 0) + value
  recording.withLock { $0.lines.append(text) }
  if !options.isSmoke { print(text) }
}

/// Keeps a figure under the name of the last line.
private func keep(_ kind: KeptKind, _ words: String, _ value: Double) {
  recording.withLock { recording in
    let name = words.isEmpty ? recording.name : "\(recording.name), \(words)"
    let group = "\(recording.group): "
    recording.figures.add(kind, name.hasPrefix(group) ? name : group + name, value)
  }
}

/// The measurements since the group began.
struct Recording {
  var group = ""
  /// The last name that did not begin with spaces. `name` is the last of all, with this before it.
  var top = ""
  var name = ""
  var lines: [String] = []
  var figures = KeptFigures()
}

let recording = Mutex(Recording())

// MARK: Taking time

/// Returns the seconds that `body` takes, the best of five.
func seconds(_ body: () -> Void) -> Double { timed({}, body) }

/// Returns the best of five times of `body`. `prepare` runs before each, and is not timed.
func timed(_ prepare: () -> Void, _ body: () -> Void) -> Double {
  (0..<5).reduce(Double.infinity) { best, _ in
    prepare()
    return min(best, elapsed(body))
  }
}

func elapsed(_ body: () -> Void) -> Double {
  let start = ContinuousClock.now
  body()
  return since(start)
}

func since(_ start: ContinuousClock.Instant) -> Double {
  let elapsed = ContinuousClock.now - start
  return Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
}

/// Returns the numbers below `count`, each once, in a shuffled order that is the same in every run.
func shuffled(_ count: Int) -> [Int64] {
  var chance = SplitMix(1)
  var numbers = (0..<Int64(count)).map { $0 }
  for last in stride(from: count - 1, to: 0, by: -1) {
    numbers.swapAt(last, chance.below(last + 1))
  }
  return numbers
}
