import Foundation
import SyncProtocols
import TestSupport
import Testing
import UpdateMachine

@testable import Simulator

/// Tests the world that a person directs: every step does what it says, and nothing traps.
@Suite struct PlaygroundTests {
  typealias SpokenProtocol = LibraryWorld.SpokenProtocol

  /// The state of a session, read as JSON.
  private func state(_ session: PlaygroundSession) throws -> JSONObject {
    try #require(try JSONValue(parsing: session.state).object)
  }

  private func clients(_ session: PlaygroundSession) throws -> [JSONValue] {
    try #require(try state(session)["clients"]?.array)
  }

  private func perform(_ steps: [String], _ session: inout PlaygroundSession) {
    for step in steps {
      let refusal = session.perform(step)
      #expect(refusal == nil, "\(step): \(refusal ?? "")")
    }
  }

  @Test(arguments: SpokenProtocol.allCases)
  func `what one user makes, the other sees`(spoken: SpokenProtocol) throws {
    var session = PlaygroundSession(spoken, clients: 2)
    perform(["wait 120000", "create 1 Milk", "wait 120000"], &session)
    for client in try clients(session) {
      #expect(client["items"] == [["item": 1, "fields": ["title": "Milk"]]], "\(client)")
      #expect(client["isLevel"] == true)
      #expect(client["claim"] == "connected")
      #expect(client["pending"] == [])
    }
  }

  @Test(arguments: SpokenProtocol.allCases)
  func `after all kinds of trouble everybody shows what the server has`(
    spoken: SpokenProtocol
  ) throws {
    var session = PlaygroundSession(spoken, clients: 2)
    perform(["wait 120000", "create 1 Milk", "next", "next"], &session)
    let open = try #require(try state(session)["messages"]?.array)
    for number in 1...open.count where open[number - 1]["fate"] == "travels" {
      perform(["lose \(number)"], &session)
    }
    perform(
      [
        "wait 200000", "sleep 2 660000", "expire", "wait 1000", "restart clean", "wait 300000",
        "fill 1", "tell 1 backgrounded", "wait 60000", "free 1", "tell 1 foregrounded",
        "clock 1 3600000", "crash 1", "wait 1000", "start 1", "offline 2", "wait 60000",
        "online 2", "wait 1200000",
      ], &session)
    let server = try state(session)["server"]?["items"]
    for client in try clients(session) {
      #expect(client["items"] == server, "\(client)")
      #expect(client["isLevel"] == true)
      #expect(client["claim"] == "connected", "\(client)")
    }
  }

  @Test func `a message that is lost never arrives, and one that is repeated arrives twice`() throws
  {
    var session = PlaygroundSession(.eventQueue, clients: 1)
    perform(["next", "lose 1", "wait 1000"], &session)
    #expect(try clients(session)[0]["hasView"] == true)  // This protocol begins with no items.
    #expect(try clients(session)[0]["status"] == "registering")
    #expect(try state(session)["messages"]?.array?.first?["fate"] == "lost")

    session = PlaygroundSession(.eventQueue, clients: 1)
    perform(["next", "next", "repeat 2", "deliver 2", "next"], &session)
    let told = try #require(try state(session)["notes"]?.array)
    let snapshots = told.filter { $0["text"]?.string?.contains("snapshotArrived") == true }
    #expect(snapshots.count == 1)
    perform(["wait 500"], &session)
    let again = try #require(try state(session)["notes"]?.array)
    #expect(
      again.filter { $0["text"]?.string?.contains("snapshotArrived") == true }.count == 2)
  }

  @Test func `a fork goes its own way, and the same steps lead to the same state`() throws {
    let steps = ["wait 60000", "create 1 Milk", "next", "next", "offline 1", "create 1 Tea"]
    var session = PlaygroundSession(.clientView, clients: 2)
    perform(steps, &session)
    var fork = session
    perform(["online 1", "wait 60000"], &fork)
    #expect(fork.state != session.state)
    perform(["online 1", "wait 60000"], &session)
    #expect(fork.state == session.state)
    var again = PlaygroundSession(.clientView, clients: 2)
    perform(steps + ["online 1", "wait 60000"], &again)
    #expect(again.state == session.state)
  }

  @Test func `a signal that changes nothing is said to be ignored`() throws {
    var session = PlaygroundSession(.eventQueue, clients: 1)
    perform(["wait 1000"], &session)
    func ignored() throws -> [String] {
      try (clients(session)[0]["signals"]?.array ?? []).filter { $0["ignored"] == true }
        .compactMap { $0["word"]?.string }
    }
    #expect(try ignored().contains("credentials-changed"))
    #expect(try !ignored().contains("stopped"))
    #expect(try !ignored().contains("backgrounded"))
    perform(["tell 1 stopped"], &session)
    #expect(try ignored().contains("stopped"))
    #expect(try !ignored().contains("started"))
  }

  @Test(arguments: [
    "", "nothing", "wait", "wait x", "wait -1", "wait 99999999999", "deliver 99", "lose 0",
    "create", "create 1", "create 9 Milk", "set 1 1", "delete 1", "tell 1 nonsense", "start 1",
    "online 1", "restart", "restart now", "next next", "sleep 1", "retry 1 x", "latency 999999999",
    "set 1 7 Tea", "delete 2 1",
  ])
  func `a step that cannot be done says so and changes nothing`(step: String) throws {
    var session = PlaygroundSession(.eventQueue, clients: 2)
    perform(["wait 1000"], &session)
    let before = session.state
    let refusal = session.perform(step)
    #expect(refusal?.isEmpty == false)
    #expect(session.state == before)
  }

  @Test func `a wait in which too much happens changes nothing`() {
    var session = PlaygroundSession(.eventQueue, clients: 4)
    perform(["latency 0", "wait 1000"], &session)
    let before = session.state
    #expect(session.perform("wait 999999999")?.contains("too much") == true)
    #expect(session.state == before)
  }

  @Test(arguments: SpokenProtocol.allCases)
  func `no steps make it trap`(spoken: SpokenProtocol) {
    let words = [
      "next", "next", "next", "wait 1000", "wait 60000", "deliver", "lose", "repeat", "create 1 a",
      "create 2 b", "set 1 1 c", "set 2 1 d", "delete 1 1", "delete 2 2", "offline 1", "online 1",
      "crash 2", "start 2", "fill 1", "free 1", "sleep 2 5000", "clock 1 1000000", "expire",
      "restart keep", "restart clean", "latency 10", "latency 5000", "retry 1 1", "discard 1 1",
      "tell 1 backgrounded", "tell 1 foregrounded", "tell 2 stopped", "tell 2 started",
      "tell 1 logged-out", "tell 1 started", "tell 2 retry", "tell 1 network-changed",
    ]
    for seed in 1...12 as ClosedRange<UInt64> {
      var random = SplitMix(seed)
      var session = PlaygroundSession(spoken, clients: 2)
      for _ in 0..<150 {
        var step = words[Int(random.below(UInt64(words.count)))]
        if ["deliver", "lose", "repeat"].contains(step) { step += " \(random.below(UInt64(40)))" }
        _ = session.perform(step)
      }
      #expect(session.state.contains("clients"))
    }
  }
}

/// Plays the lessons.
@Suite struct PlaygroundLessonTests {
  static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Simulations/Playground/lessons.txt").standardizedFileURL

  static let lessons: [PlaygroundLesson] = {
    do {
      return try PlaygroundLesson.lessons(in: String(contentsOf: file, encoding: .utf8))
    } catch {
      Issue.record("\(file.path): \(error)")
      return []
    }
  }()

  @Test func `there are lessons, each with a complaint, scenes, a question and something to see`() {
    #expect(Self.lessons.count >= 10)
    for lesson in Self.lessons {
      #expect(!lesson.complaint.isEmpty, "\(lesson.title)")
      #expect(lesson.scenes.count >= 2, "\(lesson.title)")
      #expect(lesson.scenes.contains { $0.question != nil }, "\(lesson.title)")
      #expect(lesson.scenes.allSatisfy { !$0.text.isEmpty }, "\(lesson.title)")
      #expect(lesson.scenes.last?.acts.isEmpty == false, "\(lesson.title)")
    }
    #expect(Set(Self.lessons.map { $0.title }).count == Self.lessons.count)
  }

  @Test(arguments: lessons.indices)
  func `what a lesson says is to be seen`(index: Int) {
    let lesson = Self.lessons[index]
    var session = PlaygroundSession(lesson.spoken, clients: lesson.clients)
    for (number, scene) in lesson.scenes.enumerated() {
      for act in scene.acts {
        let found =
          switch act {
          case .step(let step): session.perform(step)
          case .sight(let sight): session.objection(to: sight)
          }
        #expect(found == nil, "\(lesson.title), scene \(number + 1), \(act)")
      }
    }
  }

  @Test(arguments: [
    ("x", 1), ("= A\nnonsense", 2), ("= A\nprotocol none", 2), ("= A\nclients 9", 2),
    ("= A\n--\n> fly", 3), ("= A\n--\n! client 1 flies", 3), ("= A\n--\n! client 1 has x", 3),
  ])
  func `a text that is no lesson is refused with its line`(text: String, line: Int) {
    let mistake = #expect(throws: PlaygroundLesson.Mistake.self) {
      _ = try PlaygroundLesson.lessons(in: text)
    }
    #expect(mistake?.line == line)
  }

  @Test func `a sight that is not there is told as it is`() {
    var session = PlaygroundSession(.eventQueue, clients: 1)
    #expect(session.perform("wait 1000") == nil)
    #expect(session.objection(to: "client 1 claims connected") == nil)
    #expect(session.objection(to: "client 1 claims unreachable") == "connected")
    #expect(session.objection(to: "client 1 is live.polling") == nil)
    #expect(session.objection(to: "client 1 is stale") == "live.polling")
    #expect(session.objection(to: "server has Milk") == "nothing")
    #expect(session.objection(to: "client 1 shows nothing") == nil)
    #expect(session.objection(to: "client 1 has 1 pending") == "0")
  }
}
