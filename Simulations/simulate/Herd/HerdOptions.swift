import Foundation
import Simulator
import UpdateMachine

/// What `herd` is asked to play.
struct HerdOptions {
  /// Settings of the machine, and how they were typed.
  struct Variant {
    var label: String
    var machine: MachineSettings
    var policy = HerdPolicy.ours
  }

  static let names = [
    "--clients", "--story", "--capacity", "--snapshot-cost", "--backlog", "--shedding",
    "--retry-after", "--lifetime", "--policy", "--settings", "--against", "--svg", "--seed",
  ]
  static let flags = ["--json", "--knobs", "--whole"]

  var stories = HerdStory.Name.allCases
  /// The herd, with the first variant's settings.
  var herd = HerdSettings()
  var variants: [Variant]
  var svg: String?
  var json: Bool
  var knobs: Bool
  /// Whether nothing is left out of a long outage.
  var whole: Bool

  init(_ arguments: Arguments) throws {
    json = arguments.has("--json")
    knobs = arguments.has("--knobs")
    whole = arguments.has("--whole")
    if let name = arguments.values["--story"], name != "all" {
      stories = [try HerdOptions.named(name, "story")]
    }
    if let clients = try arguments.number("--clients", in: 100...10_000_000) {
      herd.clients = clients
    }
    if let seed = try arguments.number("--seed", in: UInt64(0)...UInt64(1 << 62)) {
      herd.seed = seed
    }
    herd.server = try HerdOptions.server(arguments, clients: herd.clients)
    variants = try HerdOptions.variants(arguments)
    if let file = arguments.values["--svg"] {
      try PictureOptions.requireFolder(of: file)
      svg = file
    }
    guard !knobs || arguments.values["--policy"] == nil && arguments.values["--against"] == nil
    else {
      throw UsageError(
        message: "--knobs changes one setting after the other, so leave out --policy and --against")
    }
    guard !knobs || svg == nil && !json else {
      throw UsageError(message: "--knobs prints a table, so leave out --json and --svg")
    }
  }

  private static func server(
    _ arguments: Arguments, clients: Int
  ) throws(UsageError) -> HerdServerSettings {
    var server = HerdServerSettings()
    server.capacity =
      try arguments.number("--capacity", in: 1...1_000_000) ?? Int64(max(clients / 100, 1))
    if let cost = try arguments.number("--snapshot-cost", in: Int64(1)...10_000) {
      server.snapshotCost = cost
    }
    if let seconds = try arguments.number("--backlog", in: Int64(0)...3600) {
      server.backlog = seconds * 1000
    }
    if let name = arguments.values["--shedding"] { server.shedding = try named(name, "shedding") }
    if let seconds = try arguments.number("--retry-after", in: Int64(1)...3600) {
      guard server.shedding == .fixed else {
        throw UsageError(message: "--retry-after has a meaning only with --shedding fixed")
      }
      server.retryAfter = seconds * 1000
    }
    if let seconds = try arguments.number("--lifetime", in: Int64(1)...86_400) {
      server.lifetime = seconds * 1000
    }
    return server
  }

  /// The value of an option that has a few.
  private static func named<Value: CaseIterable & RawRepresentable>(
    _ name: String, _ kind: String
  ) throws(UsageError) -> Value where Value.RawValue == String {
    guard let value = Value(rawValue: name) else {
      let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
      throw UsageError(message: "unknown \(kind) \"\(name)\". There are: \(names)")
    }
    return value
  }

  private static func variants(_ arguments: Arguments) throws -> [Variant] {
    var variants = [Variant(label: "default", machine: MachineSettings())]
    if let text = arguments.values["--settings"] {
      let settings = try HerdNumbers.settings(text)
      // Compared with the defaults, unless with others.
      variants.append(Variant(label: HerdNumbers.label(text), machine: settings))
    }
    if let text = arguments.values["--against"] {
      guard variants.count == 2 else {
        throw UsageError(message: "--against needs --settings, which it is compared with")
      }
      variants[0] = Variant(
        label: HerdNumbers.label(text), machine: try HerdNumbers.settings(text))
    }
    guard let name = arguments.values["--policy"] else { return variants }
    let policies: [HerdPolicy]
    if name == "all" {
      policies = HerdPolicy.allCases
    } else {
      let policy: HerdPolicy = try named(name, "policy")
      policies = [policy]
    }
    if arguments.values["--settings"] != nil, arguments.values["--against"] == nil {
      variants.removeFirst()
    }
    return policies.flatMap { policy in
      variants.map { variant in
        let label = variant.label == "default" ? "" : ", \(variant.label)"
        return Variant(
          label: policy.rawValue + label, machine: variant.machine, policy: policy)
      }
    }
  }

  func settings(_ variant: Variant) -> HerdSettings {
    var settings = herd
    settings.machine = variant.machine
    settings.policy = variant.policy
    return settings
  }
}

/// The machine's settings as text: `spread=120,slowCap=2min`, or a file with one in each line.
enum HerdNumbers {
  /// The spans that a story can be played with.
  static let allowed: ClosedRange<Int64> = 10...3_600_000

  static func settings(_ text: String) throws -> MachineSettings {
    var settings = MachineSettings()
    for pair in try pairs(text) {
      let parts = pair.split(separator: "=", maxSplits: 1).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      guard parts.count == 2 else {
        throw UsageError(
          message: "\"\(pair)\" is no setting. Write one as spread=120 or slowCap=2min")
      }
      guard let span = span(parts[1]) else {
        throw UsageError(
          message: "\(parts[0]) needs a time such as 400ms, 120 (seconds) or 2min, found "
            + "\"\(parts[1])\"")
      }
      let mayBeZero = ["spread", "debounce"].contains(parts[0])
      guard allowed.contains(span.milliseconds) || mayBeZero && span == .zero else {
        throw UsageError(
          message: "\(parts[0]) can be from 10ms to 60min here"
            + (mayBeZero ? ", or 0" : "") + ", found \"\(parts[1])\"")
      }
      guard settings.set(parts[0], to: span) else {
        let names = MachineSettings.spans.joined(separator: ", ")
        throw UsageError(message: "unknown setting \"\(parts[0])\". There are: \(names)")
      }
    }
    return settings
  }

  /// The settings in a list, or in a file's lines. Lines that begin with # are comments.
  private static func pairs(_ text: String) throws -> [String] {
    if text.contains("=") { return text.split(separator: ",").map(String.init) }
    guard let bytes = FileManager.default.contents(atPath: text) else {
      throw FileError(
        message: "\(text): there is no such file. Settings are a file, or a list such as "
          + "spread=120,slowCap=2min")
    }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
      .map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty && !$0.hasPrefix("#") }
  }

  /// A short name for settings: the list, or the file's name.
  static func label(_ text: String) -> String {
    text.contains("=") ? text : URL(fileURLWithPath: text).lastPathComponent
  }

  /// "400ms", "120", "120s", "2min".
  static func span(_ text: String) -> TimeSpan? {
    for (unit, factor) in [("ms", Int64(1)), ("min", 60_000), ("s", 1000), ("", 1000)]
    where text.hasSuffix(unit) {
      guard let number = Int64(text.dropLast(unit.count)), (0...10_000_000).contains(number) else {
        return nil
      }
      return .milliseconds(number * factor)
    }
    return nil
  }
}
