import Foundation
import Testing

@testable import Simulator

/// Tests scenarios of whole clients. ``ScenarioTests`` plays those in `Simulations/Scenarios`.
@Suite struct WorldScenarioTests {
  @Test func `the output of a step stands below it, and a sight has none`() throws {
    let text = """
      # Why.
      world event-queue clients=1
        7: 7: something old

      next
      see client 1 is registering
      client 1 creates Milk
      message 1 is lost
      see client 1 shows Milk

      """
    #expect(
      try Scenario.rewritten(text) == """
        # Why.
        world event-queue clients=1
          0: client 1 started in the foreground → stale: load

        next
          5: client 1 loaded nothing → registering: register 1, arm 1 in 60 s
          5: message 1 leaves client 1: register
        see client 1 is registering
        client 1 creates Milk
          5: client 1 creates item 1, Milk, #1: save 1
        message 1 is lost
          5: message 1 is lost
        see client 1 shows Milk

        """)
  }

  /// What a line can begin with.
  static let beginnings =
    "next, wait, client, message, messages, snapshots, the, somebody or see"

  @Test(arguments: [
    ("dances", beginnings, "\"dances\""),
    (
      "  client 1 creates Milk", "output, which begins with a time; a step is not indented",
      "\"  client 1 creates Milk\""
    ),
    (
      "  # a comment", "output, which begins with a time; a step is not indented",
      "\"  # a comment\""
    ),
    ("started", beginnings, "\"started\""),
    ("world event-queue clients=1", beginnings, "\"world\""),
    ("wait", "a span of time such as 50ms, 10s, 10min, 1h or 7d", "the end of the line"),
    ("wait 10", "a span of time such as 50ms, 10s, 10min, 1h or 7d", "\"10\""),
    ("wait 101d", "a step that can be done now", "one that cannot: that is too long"),
    ("client x crashes", "the number of the client", "\"x\""),
    ("client 0 crashes", "the number of the client", "\"0\""),
    (
      "client 3 crashes", "a step that can be done now",
      "one that cannot: there is no client 3, only 2"
    ),
    (
      "client 1 dances",
      "creates, renames, deletes, opens, scrolls, jumps, closes, sends, gives, undoes, "
        + "redoes, goes, comes, crashes, starts, sleeps, is or logs",
      "\"dances\""
    ),
    ("client 1 creates", "a title", "the end of the line"),
    ("client 1 renames item 0 to Tea", "the number of the item", "\"0\""),
    ("client 1 goes away", "off, on or to", "\"away\""),
    ("client 1's disk is empty", "\"full\"", "\"empty\""),
    ("client 1 is told to jump", "start, stop or retry", "\"jump\""),
    ("client 1 crashes now", "the end of the line", "\"now\""),
    ("client 1 starts", "a step that can be done now", "one that cannot: the app runs already"),
    (
      "message 99 is lost", "a step that can be done now",
      "one that cannot: no message 99 is on its way, and no other"
    ),
    ("the server sleeps", "forgets or restarts", "\"sleeps\""),
    ("somebody sings", "posts, changes, deletes or moves", "\"sings\""),
    ("somebody posts Hello", "a text, then \"in\" and a topic", "\"Hello\""),
    ("client 1 opens lunch", "topic or the", "\"lunch\""),
    (
      "client 1 opens topic lunch", "a step that can be done now",
      "one that cannot: this protocol has no windows: its clients hold everything"
    ),
    ("see", "client or the", "the end of the line"),
    ("see client 1 sees Milk", "shows, claims, is, has or asked", "\"sees\""),
    ("see client 1 has few pending", "a number of changes", "\"few\""),
    (
      "see client 1 claims happiness",
      "unknown, connecting, connected, unreachable, resting or halted", "\"happiness\""
    ),
    ("see client 1 shows Milk, Tea", "client 1 shows Milk, Tea", "nothing"),
    ("see client 1  is idle", "client 1  is idle", "stale"),
    ("see the server has Milk", "the server has Milk", "nothing"),
    ("see client 3 is idle", "client 3 is idle", "there is no client 3, only 2"),
  ])
  func `what cannot be done or seen is named, with what may stand there`(
    line: String, expected: String, found: String
  ) {
    let text = "# Why.\n\nworld event-queue clients=2\n  0: old\n\(line)\n"
    #expect(throws: ScenarioError(line: 5, expected: expected, found: found)) {
      try Scenario.rewritten(text)
    }
  }

  @Test(arguments: [
    (
      "world", "event-queue, client-view, record-sync, table-sync, event-stream or messages",
      "the end of the line"
    ),
    (
      "world zulip clients=1",
      "event-queue, client-view, record-sync, table-sync, event-stream or messages",
      "\"zulip\""
    ),
    ("world event-queue", "clients= and a number from 1 to 4", "the end of the line"),
    ("world event-queue clients=5", "clients= and a number from 1 to 4", "\"clients=5\""),
    ("world event-queue clients=1 now", "the end of the line", "\"now\""),
    (
      "client 1 creates Milk", "a first line such as \"world event-queue clients=2\"",
      "\"client\""
    ),
    (
      "see client 1 is idle", "a first line such as \"world event-queue clients=2\"", "\"see\""
    ),
  ])
  func `a scenario of whole clients begins with its world`(
    line: String, expected: String, found: String
  ) {
    #expect(throws: ScenarioError(line: 2, expected: expected, found: found)) {
      try Scenario.rewritten("# Why.\n\(line)\n")
    }
  }

  @Test func `each example of the article is in the file that it names`() throws {
    let path = "../../Sources/Simulator/Simulator.docc/WritingScenarios.md"
    let article = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: path),
      encoding: .utf8)
    var named: Set<String> = []
    let parts = article.components(separatedBy: "```\n")
    for index in stride(from: 1, to: parts.count, by: 2) {
      let name = try #require(parts[index - 1].matches(of: #/`([a-z-]+)\.scenario`/#).last).output.1
      let file = ScenarioFiles.folder.appending(path: "worlds/\(name).scenario")
      #expect(try String(contentsOf: file, encoding: .utf8).contains("\n" + parts[index]))
      named.insert(String(name))
    }
    #expect(parts.count / 2 == 12)
    #expect(named.count >= 11)
  }
}
