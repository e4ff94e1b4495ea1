import Foundation
import Synchronization

// Runs groups in one of three ways: prints figures for a reader, compares them with Limits.txt, or
// rewrites Limits.txt.

/// All groups, in the order in which they are measured.
let groups: [(name: String, run: @Sendable () async throws -> Void)] = [
  ("machine", { benchmarkMachine() }), ("simulations", { benchmarkSimulations() }),
  ("actors", { benchmarkActors() }), ("observer", { await benchmarkObserver() }),
  ("memory", { benchmarkMemory() }), ("map", { benchmarkMap() }),
  ("knowledge", { benchmarkKnowledge() }), ("lists", { benchmarkLists() }),
  ("stores", { benchmarkStores() }),
  (
    "disk",
    {
      await benchmarkDisk()
      await benchmarkMailOnDisk()
    }
  ),
  ("views", { benchmarkViews() }), ("zulip", { try benchmarkZulip() }),
]

/// Runs a group once.
func measured(_ name: String, _ run: () async throws -> Void) async throws -> Recording {
  recording.withLock { $0 = Recording(group: name) }
  try await run()
  return recording.withLock { $0 }
}

/// Describes how and on which computer the figures were measured.
func headline(_ command: String) -> String {
  """
  # Written by: swift run -c release Benchmarks \(command)
  # On: \(ProcessInfo.processInfo.operatingSystemVersionString), \
  \(ProcessInfo.processInfo.activeProcessorCount) cores

  """
}

// MARK: All of it, for a reader

func measureAll() async throws {
  var text = headline("--write")
  for (name, run) in groups where options.wants(name) {
    say("# \(name)")
    text += "\n# \(name)\n" + (try await measured(name, run)).lines.map { $0 + "\n" }.joined()
  }
  guard options.writes else { return }
  try text.write(to: Options.file("../../.build/Figures.txt"), atomically: true, encoding: .utf8)
}

// MARK: A little of it, against what is kept

/// Measures groups, and compares them with what is kept. Ratios depend on the computer's other
/// work, which comes and goes. So a group with a ratio that is too bad is measured again in a later
/// round, and its best figures count. After four rounds of that, what is still bad is so.
func compare(_ kept: KeptFigures) async throws -> [String] {
  var found: [String: KeptFigures] = [:]
  var open = groups.filter { options.wants($0.name) }
  for round in 1...5 where !open.isEmpty {
    for (name, run) in open {
      say("smoke: \(name)…")
      let begun = ContinuousClock.now
      var figures = try await measured(name, run).figures
      if let earlier = found[name] { figures.join(earlier) { $0.improve($1) } }
      found[name] = figures
      let wrong = kept.complaints(about: figures, in: name)
      let time = String(format: "%.1f s", since(begun))
      let again = round > 1 ? ", round \(round)" : ""
      say("smoke: \(name), \(figures.names.count) figures, \(wrong.count) wrong, \(time)\(again)")
    }
    open.removeAll { name, _ in found[name].map { !kept.isWorthAnother($0) } ?? true }
  }
  return groups.flatMap { name, _ in
    found[name].map { kept.complaints(about: $0, in: name) } ?? []
  }
}

/// Rewrites Limits.txt with the worst figures of three runs.
func rewrite(_ kept: KeptFigures) async throws {
  var text = headline("--smoke --write")
  text += "# The worst of three runs. Sizes are smaller than in a whole run: nothing to quote.\n"
  for (name, run) in groups {
    text += "\n"
    var lines = kept.lines(of: name)
    if options.wants(name) {
      say("smoke: \(name)…")
      var found = try await measured(name, run).figures
      for _ in 1...2 { found.join(try await measured(name, run).figures) { $0.worsen($1) } }
      lines = found.lines(of: name)
    }
    text += lines.map { $0 + "\n" }.joined()
  }
  try text.write(to: Options.file("Limits.txt"), atomically: true, encoding: .utf8)
}

/// Prints a line at once, even to a file: if a group traps, the output shows its name.
func say(_ text: String) {
  print(text)
  fflush(nil)
}
