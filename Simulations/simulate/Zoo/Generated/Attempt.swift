import Foundation
import Simulator

/// One way in which a generated bug may be found.
struct Attempt: Sendable {
  /// What finds it. Only simulations are repeatable and draw what happens. Real processes that are
  /// killed are neither.
  enum Kind: Sendable { case simulation, processes, conversation }

  var kind: Kind
  /// What the report calls it: "ledger", "ledger actor", "explore messages", "check".
  var name: String
  /// The product of the package that is run.
  var product = "simulate"
  /// The command's words, without seeds.
  var words: [String]
  /// The runs in one second of one core of the machine on which this was measured (2 cores, 2.4
  /// GHz): by them a budget in seconds is a number of seeds, the same on any machine. `nil`: it has
  /// no seeds.
  var rate: Int?
  /// About the seconds that it takes, if it has no seeds.
  var seconds = 1
  /// What is added to the words, one run for each.
  var variants: [[String]] = [[]]
  /// Whether every run must find something: what its server does wrong. Otherwise none may. What
  /// the server's twin objects to (oracle K) is not that: the twin does the same wrong.
  var mustFind = false

  /// The seeds of a budget.
  func seeds(_ seconds: Double) -> Int { Int(Double(rate ?? 0) * seconds) }

  /// The words for some seeds.
  func words(from first: Int, _ count: Int) -> [String] {
    rate == nil ? words : words + ["--first", "\(first)", "--seeds", "\(count)"]
  }

  /// Every world in both engines, the small worlds of the explorer, servers that break their
  /// contracts, killed processes; then what is no simulation: recorded conversations, scenarios
  /// with golden output, recordings of a server.
  static func all(in package: URL) -> [Attempt] {
    let rates: [(LibraryWorld, value: Int, actor: Int)] = [
      (.directory, 1070, 109), (.messages, 154, 39), (.posts, 83, 28), (.ledger, 79, 38),
      (.records, 47, 24), (.tables, 62, 31), (.streams, 11, 8), (.tasks, 36, 19),
      (.zulip, 27, 13), (.etcd, 45, 20),
    ]
    var all: [Attempt] = []
    for (world, value, actor) in rates {
      let place =
        world.spoken == .eventQueue
        ? ["--world", world.rawValue] : ["--protocol", world.spoken.rawValue]
      let words =
        ["run", "--until-failure", "--json", "--jobs", "1", "--shrink", "0", "--longest-run", "15"]
        + place
      all.append(
        Attempt(kind: .simulation, name: world.rawValue, words: words, rate: value))
      all.append(
        Attempt(
          kind: .simulation, name: "\(world.rawValue) actor", words: words + ["--engine", "actor"],
          rate: actor))
    }
    all += [
      Attempt(kind: .simulation, name: "explore", words: ["explore", "--json"], seconds: 30),
      Attempt(
        kind: .simulation, name: "explore client-view",
        words: ["explore", "--json", "--protocol", "client-view"], seconds: 7),
      Attempt(
        kind: .simulation, name: "explore messages",
        words: ["explore", "--json", "--world", "messages"], seconds: 3),
      Attempt(
        kind: .simulation, name: "plants",
        words: [
          "run", "--until-failure", "--json", "--jobs", "1", "--shrink", "0", "--seeds", "100",
        ],
        seconds: 9, variants: Plant.known.map { ["--plant", $0.name] }, mustFind: true),
      Attempt(
        kind: .processes, name: "crash", product: "crash", words: ["--rounds", "60"], seconds: 5),
      Attempt(kind: .conversation, name: "conform", words: ["conform"]),
      Attempt(
        kind: .conversation, name: "scenario",
        words: ["scenario", package.appending(path: "Simulations/Scenarios").path]),
      Attempt(kind: .conversation, name: "check", words: ["check"], seconds: 3),
    ]
    return all
  }
}

/// How often each attempt enters each body, without a bug. A bug changes nothing until its body is
/// entered, so this says which attempts can find it.
struct Reach: Sendable {
  /// For each attempt, the count of each body.
  var counts: [[UInt32]]

  /// The attempts that enter one of these bodies.
  func attempts(_ bodies: [Int]) -> [Int] {
    counts.indices.filter { attempt in bodies.contains { counts[attempt][$0] > 0 } }
  }
}
