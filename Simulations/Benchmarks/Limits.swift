import CAllocations
import Foundation

// The limits of the figures, kept in git. Limits.txt has one line for each figure: kind, name and
// value. Ratios and counts are kept. Times are not, because they depend on the computer.

/// The kind of a kept figure.
enum KeptKind: String {
  /// How many times better ours is than the baseline of the same run; more is better. Fails below
  /// 0.7 times the kept value.
  case ratio
  /// A number of allocations, bytes, requests, jobs or rows; less is better. Fails more than 5 %
  /// above the kept value; if that is 0, any other count fails.
  case count
}

/// One figure, kept or measured.
struct KeptFigure {
  var kind: KeptKind
  var value: Double

  /// Takes the value of another run if it is better.
  mutating func improve(_ other: Double) {
    value = kind == .ratio ? max(value, other) : min(value, other)
  }

  /// Takes the value of another run if it is worse.
  mutating func worsen(_ other: Double) {
    value = kind == .ratio ? min(value, other) : max(value, other)
  }

  /// Whether a measured value is within the limit.
  func allows(_ found: Double) -> Bool {
    switch kind {
    case .ratio: found >= value * 0.7
    case .count: found <= value * 1.05
    }
  }

  var text: String { KeptFigure.text(value) }

  static func text(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15
      ? "\(Int64(value))" : String(format: value < 1 ? "%.3f" : value < 10 ? "%.2f" : "%.1f", value)
  }
}

/// The figures of one or more runs, in the order in which they were measured.
struct KeptFigures {
  private(set) var names: [String] = []
  private(set) var figures: [String: KeptFigure] = [:]

  mutating func add(_ kind: KeptKind, _ name: String, _ value: Double) {
    if figures[name] == nil { names.append(name) }
    precondition(figures[name] == nil, "two figures are named \(name)")
    figures[name] = KeptFigure(kind: kind, value: value)
  }

  /// Merges another run's figures into these by `join`. A figure that only one of them has is taken
  /// unchanged.
  mutating func join(_ other: KeptFigures, _ join: (inout KeptFigure, Double) -> Void) {
    for name in other.names {
      guard let figure = other.figures[name] else { continue }
      if figures[name] == nil { names.append(name) }
      var joined = figures[name] ?? figure
      join(&joined, figure.value)
      figures[name] = joined
    }
  }

  // MARK: As text

  init() {}

  /// Parses lines of kind, name and value, separated by tabs. `#` begins a comment.
  init(text: String) {
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let fields = line.split(separator: "\t").map(String.init)
      guard fields.count == 3, let kind = KeptKind(rawValue: fields[0]),
        let value = Double(fields[2])
      else { preconditionFailure("Limits.txt: a line is not kind, name and value: \(line)") }
      add(kind, fields[1], value)
    }
  }

  func lines(of group: String) -> [String] {
    names.filter { KeptFigures.group(of: $0) == group }.map { name in
      let figure = figures[name] ?? KeptFigure(kind: .count, value: 0)
      return "\(figure.kind.rawValue)\t\(name)\t\(figure.text)"
    }
  }

  /// Names begin with their group: "map: …".
  static func group(of name: String) -> String { String(name.prefix { $0 != ":" }) }

  // MARK: Against each other

  /// Whether another run might help: a measured ratio is too bad. A figure that is not kept or not
  /// measured would stay so.
  func isWorthAnother(_ found: KeptFigures) -> Bool {
    names.contains { name in
      guard let kept = figures[name], let measured = found.figures[name] else { return false }
      return kept.kind == .ratio && !kept.allows(measured.value)
    }
  }

  /// Describes what is wrong with a group's measured figures, one line each.
  func complaints(about found: KeptFigures, in group: String) -> [String] {
    var complaints: [String] = []
    for name in names where KeptFigures.group(of: name) == group {
      guard let kept = figures[name] else { continue }
      guard let measured = found.figures[name] else {
        // Allocations and memory can be counted only with glibc.
        if kept.kind == .count, allocation_count() < 0 { continue }
        complaints.append("\(name): is kept, but was not measured. \(KeptFigures.advice)")
        continue
      }
      if kept.allows(measured.value) { continue }
      let unit = kept.kind == .ratio ? " × its baseline" : ""
      complaints.append(
        "\(name): kept \(kept.text)\(unit), found \(measured.text). Mend what made it worse. "
          + "If it must be so: \(KeptFigures.advice)")
    }
    for name in found.names where figures[name] == nil {
      complaints.append("\(name): is measured, but not kept. \(KeptFigures.advice)")
    }
    return complaints
  }

  static let advice = "`Benchmarks --smoke --write` keeps what is found now."
}
