import CAllocations
import Foundation

// What the figures must not become, kept in git. Limits.txt has one line for each: its kind, its
// name, its value. Times depend on the machine and are not kept: ratios and counts are.

/// What is kept of a figure.
enum KeptKind: String {
  /// How many times better ours is than the baseline of the same run; more is better. Fails below
  /// 0.7 of what is kept.
  case ratio
  /// A number of allocations, bytes, requests, jobs or rows; less is better. Fails 5 % above what
  /// is kept, and at once where that is 0.
  case count
}

/// One figure, as it is kept or as it was measured.
struct KeptFigure {
  var kind: KeptKind
  var value: Double

  /// The same figure of another run, if that is better.
  mutating func improve(_ other: Double) {
    value = kind == .ratio ? max(value, other) : min(value, other)
  }

  /// The same figure of another run, if that is worse.
  mutating func worsen(_ other: Double) {
    value = kind == .ratio ? min(value, other) : max(value, other)
  }

  /// Whether a measured value is within what is kept.
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

/// The figures of one or more runs, in the order in which they came.
struct KeptFigures {
  private(set) var names: [String] = []
  private(set) var figures: [String: KeptFigure] = [:]

  mutating func add(_ kind: KeptKind, _ name: String, _ value: Double) {
    if figures[name] == nil { names.append(name) }
    precondition(figures[name] == nil, "two figures are named \(name)")
    figures[name] = KeptFigure(kind: kind, value: value)
  }

  /// Joins another run's figures by `join`; what is in one of them only is taken as it is.
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

  /// Lines of kind, name and value, with tabs between them; `#` begins a comment.
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

  /// Whether another run might do better: one that is not kept, or was not measured, stays so.
  func isWorthAnother(_ found: KeptFigures) -> Bool {
    names.contains { name in
      guard let kept = figures[name], let measured = found.figures[name] else { return false }
      return kept.kind == .ratio && !kept.allows(measured.value)
    }
  }

  /// What is wrong with a group's measured figures, one line each.
  func complaints(about found: KeptFigures, in group: String) -> [String] {
    var complaints: [String] = []
    for name in names where KeptFigures.group(of: name) == group {
      guard let kept = figures[name] else { continue }
      guard let measured = found.figures[name] else {
        // Allocations and memory are counted with glibc only.
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
