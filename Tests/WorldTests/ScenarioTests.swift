import Foundation
import Simulator
import Testing

/// The golden texts in `Simulations/Scenarios`.
enum ScenarioFiles {
  static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Simulations/Scenarios")

  /// Paths below the folder, sorted.
  static let names: [String] = {
    let found = FileManager.default.enumerator(atPath: folder.path)?.allObjects ?? []
    return found.compactMap { $0 as? String }.filter { $0.hasSuffix(".scenario") }.sorted()
  }()

  /// With `REWRITE=1` the fresh output is written into the files, and the difference is reviewed
  /// like code.
  static let rewrites = ProcessInfo.processInfo.environment["REWRITE"] == "1"
}

@Suite struct ScenarioTests {
  @Test(arguments: ScenarioFiles.names)
  func `each scenario gives its written output`(name: String) throws {
    let file = ScenarioFiles.folder.appendingPathComponent(name)
    let text = try String(contentsOf: file, encoding: .utf8)
    let fresh = try Scenario.rewritten(text)
    guard fresh != text else { return }
    if ScenarioFiles.rewrites {
      try Data(fresh.utf8).write(to: file, options: .atomic)
    } else {
      Issue.record("\(name) gives (REWRITE=1 writes it there):\n\(fresh)")
    }
  }

  @Test func `every required scenario exists, and every scenario is required`() {
    let found = Set(ScenarioFiles.names)
    let required = Set(RequiredScenarios.names)
    #expect(RequiredScenarios.names.count == required.count, "a name is listed twice")
    #expect(required.subtracting(found).sorted() == [], "listed, but not there")
    #expect(found.subtracting(required).sorted() == [], "there, but not listed")
  }

  @Test func `every failure has a scenario while registering and one while polling`() {
    let failures = [
      "unreachable", "timed-out", "server-fault", "rate-limited", "unauthorized", "unsupported",
      "expired", "rejected", "malformed", "model-refused",
    ]
    for failure in failures {
      #expect(RequiredScenarios.failures.contains("registering-\(failure)"))
      #expect(RequiredScenarios.failures.contains("polling-\(failure)"))
    }
  }

  @Test(arguments: ScenarioFiles.names)
  func `each scenario begins with its purpose`(name: String) throws {
    let file = ScenarioFiles.folder.appendingPathComponent(name)
    #expect(try String(contentsOf: file, encoding: .utf8).hasPrefix("# "))
  }

  @Test func `rewriting replaces the output and keeps everything else`() throws {
    let text = """
      # Why.

      restored q1:7 age 60s
        something old
      # And then.
      started
      """
    #expect(
      try Scenario.rewritten(text) == """
        # Why.

        restored q1:7 age 60s
          idle finger q1:7 not started
        # And then.
        started
          0: live.polling · connecting since 0, as of none
          poll 1 from q1:7, quick
          arm 1 in 10 s

        """)
  }

  @Test func `rewriting twice changes nothing`() throws {
    let once = try Scenario.rewritten("started\nafter 1s failed timedOut\nrun 1min\n")
    #expect(try Scenario.rewritten(once) == once)
  }

  @Test func `an empty scenario gives an empty output`() throws {
    #expect(try Scenario.rewritten("") == "")
  }

  @Test func `another seed draws other moments`() throws {
    func requests(seed: Int) throws -> String {
      try Scenario.rewritten(
        "seed \(seed)\nserver register after 50ms: failed serverFault\nstarted\nrun 10min\n")
    }
    #expect(try requests(seed: 1) == requests(seed: 1))
    #expect(try requests(seed: 1) != requests(seed: 2).replacing("seed 2", with: "seed 1"))
  }

  @Test(arguments: [
    ("dance", 1, "a directive, or an input such as networkChanged", "\"dance\""),
    ("# why\n\nstarted\nfailed", 4, "a failure such as serverFault", "the end of the line"),
    ("started\nfailed sereverFault", 2, "a failure such as serverFault", "\"sereverFault\""),
    ("started now", 1, "the end of the line", "\"now\""),
    ("started in foreground", 1, "\"background\"", "\"foreground\""),
    (" started extra", 1, "the end of the line", "\"extra\""),
    ("machine spread=fast", 1, "a setting such as spread=30s or durable=no", "\"spread=fast\""),
    ("machine spead=1s", 1, "a setting such as spread=30s or durable=no", "\"spead=1s\""),
    ("machine durable=1", 1, "a setting such as spread=30s or durable=no", "\"durable=1\""),
    (
      "terms sometimes", 1, "longDeadline=100s, lifetime=600s, every=30s or pushed", "\"sometimes\""
    ),
    (
      "started\nmachine spread=1s", 2, "\"machine\" before restored, clients and inputs", "it later"
    ),
    (
      "restored q1:7\nmachine spread=1s", 2, "\"machine\" before restored, clients and inputs",
      "it later"
    ),
    ("started\nrestored q1:7", 2, "\"restored\" before the first input", "it later"),
    ("started\nclients 2", 2, "\"clients\" before the first input", "it later"),
    ("restored q1", 1, "a finger such as q1:7", "\"q1\""),
    ("restored q1:-2", 1, "a finger such as q1:7", "\"q1:-2\""),
    ("restored :7", 1, "a finger such as q1:7", "\":7\""),
    ("after 50 started", 1, "a span of time such as 50ms, 10s, 10min, 1h or 7d", "\"50\""),
    ("after -1s started", 1, "a span of time such as 50ms, 10s, 10min, 1h or 7d", "\"-1s\""),
    (
      "after 9999999999999999d started", 1, "a span of time such as 50ms, 10s, 10min, 1h or 7d",
      "\"9999999999999999d\""
    ),
    ("after 2s started\nat 1s look", 2, "a moment from 2000 on", "1000, which is over"),
    ("polled nothing", 1, "a number, for no request is out", "none"),
    ("fired", 1, "a number, for no timer is out", "none"),
    ("written", 1, "a number, for no write is out", "none"),
    ("started\npolled 1", 2, "\"to\" and an event ID, or \"nothing\"", "the end of the line"),
    ("started\npolled to x", 2, "an event ID", "\"x\""),
    ("server tea after 1s: holds", 1, "register, quick, waiting, poll or gives", "\"tea\""),
    ("server quick after 1s: snapshot", 1, "event, nothing, holds or failed", "\"snapshot\""),
    ("server register after 1s: event", 1, "snapshot, holds or failed", "\"event\""),
    ("server quick after 1s holds", 1, "\":\"", "\"holds\""),
    (
      "server quick after 1s: event, nothing then holds", 1,
      "either \",\" or \"then\" throughout", "\"holds\""
    ),
    ("every 0s: toggled", 1, "a period longer than nothing", "\":\""),
    ("every 1s: polled", 1, "a directive, or an input such as networkChanged", "\"polled\""),
    ("clients 0", 1, "a whole number from 1 to 100000", "\"0\""),
    ("seed -1", 1, "a whole number", "\"-1\""),
    ("run", 1, "a span of time such as 50ms, 10s, 10min, 1h or 7d", "the end of the line"),
    ("restart from scratch", 1, "\"backup\"", "\"scratch\""),
  ])
  func `an invalid line is named`(
    text: String, line: Int, expected: String, found: String
  ) {
    #expect(throws: ScenarioError(line: line, expected: expected, found: found)) {
      try Scenario.rewritten(text)
    }
  }

  @Test func `an error reads as a sentence`() {
    #expect(
      "\(ScenarioError(line: 3, expected: "a failure", found: "\"x\""))"
        == "line 3: expected a failure, found \"x\"")
  }

  @Test func `random text never traps`() {
    let odd = [
      ":", ",", "::", "started:", "=", "machine =", "machine ==1s", "restored ::", "run 0s",
      "at 106751991167d started\nafter 106751991167d look",
      "restored q:9223372036854775807\nstarted",
      "server poll after 0s: event\nrestored q:9223372036854775806\nstarted\nrun 10s",
      "machine paceBurst=0 paceInterval=0s wakeBurst=0\nstarted\nretryRequested",
      "server register after 0s: snapshot\nserver poll after 0s: nothing\nstarted\nrun 1min",
      "machine transientFirst=0ms slowFirst=0ms\nserver register after 0s: failed serverFault\n"
        + "started\nrun 1s",
      "terms longDeadline=0s lifetime=0s every=0s\nrestored q1:1\nstarted\nrun 1s",
      "processes 3\nrestored q1:1\nserver poll after 1ms: holds\nstarted\nrun 1min",
      "world", "world messages clients=", "world event-queue clients=1\nwait 106751991167d",
      "world messages clients=1\nclient 1 opens topic \nclient 1's's\nsee the server has",
      "world messages clients=1\nclient 1 opens the channel\nclient 1 jumps to post 999999999",
      "world messages clients=1\nsomebody posts in in in lunch\nsomebody posts  in x\nwait 1s",
      "world client-view clients=1\nclient 1 creates ,\nclient 1 creates :\nsee client 1 shows ,",
      "\u{0}", "é", "started\r", "\t", "seed 18446744073709551615\nstarted\nrun 1s",
    ]
    for text in odd {
      _ = try? Scenario.rewritten(text)
      _ = try? Scenario.rewritten(String(text.reversed()))
    }
  }
}
