import Foundation
import Testing

@testable import simulate

/// Tests `simulate explore` as it is typed.
struct ExploreCommandTests {
  @Test(arguments: [
    ("explore --model x", "unknown model \"x\". There are: event-queue, two-phase-commit"),
    ("explore --model", "--model needs a value"),
    (
      "explore --protocol x", "unknown protocol \"x\". There are: event-queue, client-view"
    ),
    (
      "explore --model two-phase-commit --protocol client-view",
      "--protocol cannot be combined with --model"
    ),
    ("explore --world x", "unknown world \"x\". There are: messages"),
    ("explore --changes 2", "--changes has no meaning for event-queue"),
    ("explore --signals", "--signals has no meaning for event-queue"),
    (
      "explore --protocol client-view --clients 2",
      "--clients has no meaning for client-view"
    ),
    (
      "explore --protocol client-view --changes 4",
      "--changes needs a whole number from 1 to 3, found \"4\""
    ),
    ("explore --clients 4", "--clients needs a whole number from 1 to 3, found \"4\""),
    ("explore --no-symmetry", "--no-symmetry needs several --clients"),
    ("explore --by-client --clients 1", "--by-client needs several --clients"),
    (
      "explore --clients 2 --by-client --depth 5",
      "--by-client visits every client, so leave out --depth, --share and --walks"
    ),
    (
      "explore --clients 2 --seeds 5",
      "--seeds compares runs with one client, so leave out --clients"
    ),
    ("explore --world messages --by-client", "--by-client has no meaning for messages"),
    ("explore --queue-length 0", "--queue-length needs a whole number from 1 to 3, found \"0\""),
    ("explore --depth 0", "--depth needs a whole number from 1 to 1000000, found \"0\""),
    ("explore --votes 2", "--votes has no meaning for event-queue"),
    (
      "explore --model two-phase-commit --clients 2",
      "--clients has no meaning for two-phase-commit"
    ),
    ("explore --world messages --clients 0", "--clients has no meaning for messages"),
    ("explore --world messages --seeds 5", "--seeds has no meaning for messages"),
    (
      "explore --world messages --changes 5",
      "--changes needs a whole number from 0 to 4, found \"5\""
    ),
    ("explore --json=1", "--json takes no value"),
    ("explore --share 0", "--share needs a whole number from 1 to 1000000, found \"0\""),
    (
      "explore --share 5 --walks 5",
      "--share and --walks cannot be combined: both limit the walks"
    ),
    (
      "explore --walks 5 --depth 3",
      "--share and --walks need a whole world, so leave out --depth"
    ),
    ("explore two-phase-commit", "unexpected \"two-phase-commit\""),
    (
      "explore --model two-phase-commit --participants 0",
      "--participants needs a whole number from 1 to 15, found \"0\""
    ),
    (
      "explore --model two-phase-commit --participants 16",
      "--participants needs a whole number from 1 to 15, found \"16\""
    ),
    (
      "explore --model two-phase-commit --votes 4",
      "--votes needs a whole number from 0 to 3, found \"4\""
    ),
    (
      "explore --model two-phase-commit --memory 0",
      "--memory needs a whole number from 1 to 1000000, found \"0\""
    ),
  ])
  func `bad usage gives exit code 2 and says what to type`(typed: String, said: String) {
    let ran = CommandRun(typed)
    #expect(ran.code == .usage)
    #expect(ran.output == [])
    #expect(ran.errors.first == "simulate explore: \(said)")
    #expect(ran.errors.last == "Type: swift run -c release simulate explore --help")
  }

  @Test func `help names every option`() {
    for option in ExploreOptions.names + ExploreOptions.flags {
      #expect(Simulate.exploreCommand.help.contains("  \(option) "))
    }
  }

  @Test func `random walks say which share of the states they reach`() throws {
    let ran = CommandRun("explore --model two-phase-commit --walks 100 --json")
    #expect(ran.code == .success)
    let table = ran.output.joined(separator: "\n")
    for line in ["uniform 1 walks, 22 steps, ", "uniform 100 walks, 2200 steps, ", "novelty 64"] {
      #expect(table.contains(line), "\(line) is in \(table)")
    }
    let json = try #require(ran.output.last)
    #expect(json.contains("\"walks\":[{\"way\":\"uniform\",\"walks\":1,\"steps\":22,"))
    let again = CommandRun("explore --model two-phase-commit --walks 100")
    #expect(
      ran.output.filter { $0.contains(" walks, ") }
        == again.output.filter {
          $0.contains(" walks, ")
        })
  }

  @Test func `event-queue is the default, to the given depth`() throws {
    let ran = CommandRun("explore --clients 2 --queue-length 2 --depth 4 --json")
    #expect(ran.code == .success)
    let table = try #require(ran.output.first)
    #expect(table.contains("event-queue, clients: 2, events in a queue: 2"))
    #expect(table.contains("at the depth limit, with "))
    let json = try ran.json()
    #expect(json["clients"] as? Int == 2)
    #expect(json["queueLength"] as? Int == 2)
    #expect(json["depth"] as? Int == 4)
    #expect(json["ending"] as? String == "depthLimit")
    #expect(json["violation"] is NSNull)
    #expect((json["missingRows"] as? [String])?.contains("store") == true)
  }

  @Test func `without symmetry there are more states of two clients`() throws {
    let with = try CommandRun("explore --clients 2 --depth 5 --json").json()
    let ran = CommandRun("explore --clients 2 --depth 5 --no-symmetry --json")
    #expect(try #require(ran.output.first).contains("events in a queue: 1, without symmetry"))
    let all = try #require(try ran.json()["distinct"] as? Int)
    let some = try #require(with["distinct"] as? Int)
    #expect(all > some && all < 2 * some)
  }

  @Test func `two clients are visited client by client, as far as memory goes`() throws {
    let ran = CommandRun("explore --clients 2 --by-client --memory 1 --json")
    #expect(ran.code == .usage)
    #expect(try #require(ran.output.first).contains("clients: 2, events in a queue: 1, client by"))
    #expect(try #require(ran.errors.first).contains("1 MB are full"))
    let json = try ran.json()
    #expect(json["ending"] as? String == "memoryLimit")
    #expect(json["recurring"] == nil)
  }

  #if !DEBUG
    @Test func `two clients are closed, client by client`() throws {
      let ran = CommandRun("explore --clients 2 --by-client --json")
      #expect(ran.code == .success)
      let table = try #require(ran.output.first)
      #expect(table.contains("closed: every client was visited, and everything holds of all"))
      let json = try ran.json()
      #expect(json["distinct"] as? Int == 1_291_946)
      #expect(json["recurring"] as? Int == 9)
      #expect(json["recurringCrowds"] as? Int == 45)
      #expect((json["missingRows"] as? [String]) == [])
    }
  #endif

  @Test func `the client-view world with its outbox is explored completely`() throws {
    let ran = CommandRun("explore --protocol client-view --refusals 0 --json")
    #expect(ran.code == .success)
    let table = try #require(ran.output.first)
    #expect(table.contains("client-view, changes: 1, refusals: 0"))
    let json = try ran.json()
    #expect(json["model"] as? String == "client-view")
    #expect(json["changes"] as? Int == 1)
    #expect(json["ending"] as? String == "closed")
    #expect(json["violation"] is NSNull)
    #expect(json["missing"] as? [String] == ["halted", "set aside", "given up"])
  }

  @Test func `a world of messages without changes is one page that comes or is lost`() throws {
    let ran = CommandRun("explore --world messages --changes 0 --json")
    #expect(ran.code == .success)
    #expect(try #require(ran.output.first).contains("messages, changes: 0"))
    let json = try ran.json()
    #expect(json["ending"] as? String == "closed")
    #expect(json["distinct"] as? Int == 12)
  }

  @Test func `a closed state space is reported as a table and as JSON`() throws {
    let ran = CommandRun("explore --model two-phase-commit --participants 4 --json")
    #expect(ran.code == .success)
    #expect(ran.errors == [])
    let table = try #require(ran.output.first)
    #expect(table.contains("ended                 closed: every state was visited"))
    let json = try ran.json()
    #expect(json["distinct"] as? Int == 1568)
    #expect(json["depth"] as? Int == 14)
    #expect(json["participants"] as? Int == 4)
    #expect(json["votes"] as? Int == 4)
    #expect(json["ending"] as? String == "closed")
    #expect(json["counterexampleSteps"] is NSNull)
    #expect(table.contains("states generated      \(try #require(json["generated"] as? Int))\n"))
    for name in ["seconds", "statesPerSecond", "bytesPerState"] {
      #expect(try #require(json[name] as? Double) >= 0)
    }
  }

  @Test func `a violation is printed with the path to it and gives exit code 1`() throws {
    let ran = CommandRun("explore --model two-phase-commit --participants 3 --votes 2 --json")
    #expect(ran.code == .failure)
    #expect(ran.output.contains { $0.hasPrefix("7. ") })
    #expect(!ran.output.contains { $0.hasPrefix("8. ") })
    #expect(ran.output.contains { $0.hasPrefix("Does not hold: ") })
    let json = try ran.json()
    #expect(json["ending"] as? String == "violated")
    #expect(json["counterexampleSteps"] as? Int == 7)
  }

  @Test func `explore says how far it came and what to do when memory is full`() throws {
    let ran = CommandRun("explore --model two-phase-commit --participants 8 --memory 1 --json")
    #expect(ran.code == .usage)
    let error = try #require(ran.errors.first)
    #expect(error.contains("1 MB are full"))
    #expect(error.contains("Allow more with --memory, limit the depth with --depth"))
    #expect(try ran.json()["ending"] as? String == "memoryLimit")
  }
}
