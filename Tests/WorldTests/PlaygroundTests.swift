import Foundation
import SyncProtocols
import TestSupport
import Testing
import UpdateMachine

@testable import Simulator

/// Tests the world that a person directs: every step does what it says, and nothing traps.
@Suite struct PlaygroundTests {
  /// The protocols whose users make items.
  static let ofItems = PlayedProtocol.allCases.filter { $0 != .messages }

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

  @Test(arguments: ofItems)
  func `what one user makes, the other sees`(played: PlayedProtocol) throws {
    var session = PlaygroundSession(played, clients: 2)
    perform(["wait 2min", "client 1 creates Milk", "wait 2min"], &session)
    for client in try clients(session) {
      #expect(client["items"] == [["item": 1, "fields": ["title": "Milk"]]], "\(client)")
      #expect(client["isLevel"] == true)
      #expect(client["claim"] == "connected")
      #expect(client["pending"] == [])
    }
  }

  @Test(arguments: ofItems)
  func `after all kinds of trouble everybody shows what the server has`(
    played: PlayedProtocol
  ) throws {
    var session = PlaygroundSession(played, clients: 2)
    perform(["wait 2min", "client 1 creates Milk", "next", "next"], &session)
    let open = try #require(try state(session)["messages"]?.array)
    for number in 1...open.count where open[number - 1]["fate"] == "travels" {
      perform(["message \(number) is lost"], &session)
    }
    perform(
      [
        "wait 200s", "client 2 sleeps 11min", "the server forgets its logs", "wait 1s",
        "the server restarts and forgets its clients", "wait 5min",
        "client 1's disk is full", "client 1 goes to the background", "wait 1min",
        "client 1's disk has room", "client 1 comes to the foreground",
        "client 1's clock jumps 1h", "client 1 crashes", "wait 1s", "client 1 starts",
        "client 2 goes off line", "wait 1min",
        "client 2 goes on line", "wait 20min",
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
    perform(["next", "message 1 is lost", "wait 1s"], &session)
    #expect(try clients(session)[0]["hasView"] == true)  // This protocol begins with no items.
    #expect(try clients(session)[0]["status"] == "registering")
    #expect(try state(session)["messages"]?.array?.first?["fate"] == "lost")

    session = PlaygroundSession(.eventQueue, clients: 1)
    perform(["next", "next", "message 2 is repeated", "message 2 arrives", "next"], &session)
    let told = try #require(try state(session)["notes"]?.array)
    let snapshots = told.filter { $0["text"]?.string?.contains("snapshotArrived") == true }
    #expect(snapshots.count == 1)
    perform(["wait 500ms"], &session)
    let again = try #require(try state(session)["notes"]?.array)
    #expect(
      again.filter { $0["text"]?.string?.contains("snapshotArrived") == true }.count == 2)
  }

  @Test func `a snapshot that takes time is of the moment when it is read, and so is its finger`()
    throws
  {
    var session = PlaygroundSession(.eventQueue, clients: 2)
    perform(["client 1 crashes", "wait 1s", "snapshots take 2s", "client 1 starts"], &session)
    perform(["wait 500ms"], &session)
    #expect(try state(session)["server"]?["makesSnapshotFor"] == [1])
    perform(["client 2 creates Milk", "wait 1s"], &session)
    #expect(try clients(session)[0]["status"] == "registering")
    #expect(try clients(session)[0]["items"] == [])
    perform(["wait 800ms"], &session)
    #expect(try state(session)["server"]?["makesSnapshotFor"] == [])
    #expect(try clients(session)[0]["items"] == [["item": 1, "fields": ["title": "Milk"]]])
    let notes = try #require(try state(session)["notes"]?.array).compactMap { $0["text"]?.string }
    #expect(notes.contains { $0.contains("snapshot, finger q2:0") }, "\(notes)")
  }

  @Test func `the waits of clients differ, so that they do not ask together`() throws {
    var session = PlaygroundSession(.eventQueue, clients: 3)
    perform(["wait 10min", "the server restarts and forgets its clients", "wait 500ms"], &session)
    let ends = try clients(session).map { try #require($0["timers"]?.array?.first?["at"]?.int64) }
    #expect(ends == ends.sorted(by: >) && Set(ends).count == 3, "\(ends)")
  }

  @Test func `a fork goes its own way, and the same steps lead to the same state`() throws {
    let steps = [
      "wait 1min", "client 1 creates Milk", "next", "next", "client 1 goes off line",
      "client 1 creates Tea",
    ]
    var session = PlaygroundSession(.clientView, clients: 2)
    perform(steps, &session)
    var fork = session
    perform(["client 1 goes on line", "wait 1min"], &fork)
    #expect(fork.state != session.state)
    perform(["client 1 goes on line", "wait 1min"], &session)
    #expect(fork.state == session.state)
    var again = PlaygroundSession(.clientView, clients: 2)
    perform(steps + ["client 1 goes on line", "wait 1min"], &again)
    #expect(again.state == session.state)
  }

  @Test func `a signal that changes nothing is said to be ignored`() throws {
    var session = PlaygroundSession(.eventQueue, clients: 1)
    perform(["wait 1s"], &session)
    func ignored() throws -> [String] {
      try (clients(session)[0]["signals"]?.array ?? []).filter { $0["ignored"] == true }
        .compactMap { $0["word"]?.string }
    }
    #expect(try ignored().contains("credentials-changed"))
    #expect(try !ignored().contains("stopped"))
    #expect(try !ignored().contains("backgrounded"))
    perform(["client 1 is told to stop"], &session)
    #expect(try ignored().contains("stopped"))
    #expect(try !ignored().contains("started"))
  }

  @Test(arguments: [
    "", "nothing", "wait", "wait x", "wait -1ms", "wait 99999999999ms", "message 99 arrives",
    "message 0 is lost",
    "client", "client 1", "client x creates Milk", "client 1 creates", "client 1 creates ",
    "client 9 creates Milk", "client 1 renames item 1 to ", "client 1 deletes item",
    "client 1 is told nonsense", "client 1 starts", "client 1 goes on line", "client 1's disk",
    "client 1's creates Milk", "client 1 disk is full", "the server", "the server restarts now",
    "next next", "client 1 sleeps", "client 1 sends change x again", "messages take 999999999ms",
    "client 1 renames item 7 to Tea", "client 2 deletes item 1", "message 1 is", "see",
    "client 1 sleeps 101d", "client 1's clock jumps 106751991167d", "wait 101d",
    "client 1 opens topic lunch", "client 1 scrolls up", "client 1 closes its window",
    "somebody posts Hello", "somebody posts Hello in", "somebody posts Hello in lunch",
    "somebody deletes post 1",
  ])
  func `a step that cannot be done says so and changes nothing`(step: String) throws {
    var session = PlaygroundSession(.eventQueue, clients: 2)
    perform(["wait 1s"], &session)
    let before = session.state
    let refusal = session.perform(step)
    #expect(refusal?.isEmpty == false)
    #expect(session.state == before)
  }

  @Test func `a wait in which too much happens changes nothing`() {
    var session = PlaygroundSession(.eventQueue, clients: 4)
    perform(["messages take 0ms", "wait 1s"], &session)
    let before = session.state
    #expect(session.perform("wait 999999999ms")?.contains("too much") == true)
    #expect(session.state == before)
  }

  @Test(arguments: PlayedProtocol.allCases)
  func `after what chance directs everybody comes level again`(played: PlayedProtocol) throws {
    for seed in 1...12 as ClosedRange<UInt64> {
      var session = PlaygroundSession(played, clients: 2)
      var steps: [String] = []
      for number in 0..<60 {
        steps.append(session.stepByChance(seed: seed, number: number))
        #expect(session.stepByChance(seed: seed, number: number) == steps.last)
        perform([steps[number]], &session)
      }
      #expect(Set(steps).count > 12, "\(steps)")
      for client in 1...2 {
        for end in [
          "'s disk has room", " starts", " goes on line", " comes to the foreground",
          " is told to retry",
        ] { _ = session.perform("client \(client)\(end)") }
      }
      perform(["messages take 100ms", "snapshots take 0s", "wait 20min", "wait 20min"], &session)
      for client in try clients(session) {
        let isDecided = client["pending"] == [] && client["setAside"] == []
        #expect(client["claim"] == "connected", "\(played) \(seed): \(client) \(steps)")
        #expect(client["isLevel"] == true || !isDecided, "\(played) \(seed): \(client) \(steps)")
      }
      #expect(PlaygroundSession.told(seed: seed) == PlaygroundSession.told(seed: seed))
    }
    #expect(PlaygroundSession.told(seed: 1) != PlaygroundSession.told(seed: 7))
  }

  /// Embedded Swift cannot print a value that describes itself by its members. The page of seed 33
  /// said so to its user.
  @Test func `why a change is set aside is told in words that the page has, too`() {
    var session = PlaygroundSession(.tableSync, clients: 2)
    for number in 0..<60 {
      perform([session.stepByChance(seed: 33, number: number)], &session)
    }
    #expect(session.state.contains("\"refused by the server: unknown\""))
  }

  @Test(arguments: PlayedProtocol.allCases)
  func `no steps make it trap`(played: PlayedProtocol) {
    let words = [
      "next", "next", "next", "wait 1s", "wait 1min", "arrives", "is lost", "is repeated",
      "client 1 creates a",
      "client 2 creates b", "client 1 renames item 1 to c", "client 2 renames item 1 to d",
      "client 1 deletes item 1", "client 2 deletes item 2", "client 1 goes off line",
      "client 1 goes on line",
      "client 2 crashes", "client 2 starts", "client 1's disk is full", "client 1's disk has room",
      "client 2 sleeps 5s", "client 1's clock jumps 1000s", "the server forgets its logs",
      "the server restarts", "the server restarts and forgets its clients", "messages take 10ms",
      "messages take 5s", "client 1 sends change 1 again", "client 1 gives up change 1",
      "client 1 goes to the background", "client 1 comes to the foreground",
      "client 2 is told to stop", "client 2 is told to start",
      "client 1 logs out", "client 1 is told to start", "client 2 is told to retry",
      "client 1 is told of another network",
      "client 1 opens topic lunch", "client 1 opens the channel", "client 2 opens topic dinner",
      "client 1 scrolls up", "client 2 scrolls down", "client 1 jumps to post 7",
      "client 2 jumps to the end", "client 2 closes its window", "somebody posts a in lunch",
      "somebody changes post 7 to b", "somebody moves post 8 to lunch", "somebody deletes post 9",
    ]
    for seed in 1...12 as ClosedRange<UInt64> {
      var random = SplitMix(seed)
      var session = PlaygroundSession(played, clients: 2)
      for _ in 0..<150 {
        var step = words[Int(random.below(UInt64(words.count)))]
        if ["arrives", "is lost", "is repeated"].contains(step) {
          step = "message \(random.below(UInt64(40))) \(step)"
        }
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
    #expect(Self.lessons.count >= 14)
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
    var session = PlaygroundSession(lesson.played, clients: lesson.clients)
    for (number, scene) in lesson.scenes.enumerated() {
      for act in scene.acts {
        let found =
          switch act {
          case .step(let step): session.perform(step)
          case .sight(let sight), .rightSight(let sight): session.objection(to: sight)
          }
        #expect(found == nil, "\(lesson.title), scene \(number + 1), \(act)")
      }
    }
  }

  @Test func `each lesson ends with a rule of the Zoo that can be switched off`() {
    let zoo = Self.file.deletingLastPathComponent().appending(path: "../Zoo")
    for lesson in Self.lessons {
      #expect(!lesson.breaks.isEmpty, "\(lesson.title)")
      for broken in lesson.breaks {
        let mutant = zoo.appending(path: "\(broken.mutant).mutant").standardizedFileURL.path
        #expect(FileManager.default.fileExists(atPath: mutant), "\(mutant)")
        #expect(!broken.text.isEmpty, "\(lesson.title)")
        for kind in [PlaygroundLesson.Act.step(""), .sight(""), .rightSight("")] {
          #expect(broken.acts.contains { $0.isOfKind(kind) }, "\(broken.mutant): \(kind)")
        }
      }
    }
  }

  /// `Tests/playground` plays the same without the rule.
  @Test(arguments: lessons.indices)
  func `with the rule in force the steps of a break do no harm`(index: Int) {
    for broken in Self.lessons[index].breaks {
      var session = PlaygroundSession(broken.played, clients: broken.clients)
      var harm = 0
      for act in broken.acts {
        switch act {
        case .step(let step): #expect(session.perform(step) == nil, "\(broken.mutant): \(step)")
        case .sight(let sight): if session.objection(to: sight) != nil { harm += 1 }
        case .rightSight(let sight):
          let found = session.objection(to: sight)
          #expect(found == nil, "\(broken.mutant): \(sight), but: \(found ?? "")")
        }
      }
      #expect(harm > 0, "\(broken.mutant): what it calls harm is to be seen with the rule, too")
    }
  }

  @Test(arguments: [
    ("x", 1), ("= A\nnonsense", 2), ("= A\nprotocol none", 2), ("= A\nclients 9", 2),
    ("= A\nbreak x", 2), ("= A\n--\nbreak x\nx", 4), ("= A\n--\nbreak x\nprotocol none", 4),
    ("= A\n--\nbreak x\n--\n! right: fly", 5), ("= A\n--\nbreak x\n--\n--", 5),
    ("= A\n--\nbreak x\n--\n> fly", 5),
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
    #expect(session.perform("wait 1s") == nil)
    #expect(session.objection(to: "client 1 claims connected") == nil)
    #expect(session.objection(to: "client 1 claims unreachable") == "connected")
    #expect(session.objection(to: "client 1 is live.polling") == nil)
    #expect(session.objection(to: "client 1 is stale") == "live.polling")
    #expect(session.objection(to: "the server has Milk") == "nothing")
    #expect(session.objection(to: "client 1 shows nothing") == nil)
    #expect(session.objection(to: "client 1 has 1 pending") == "0")
    #expect(session.objection(to: "client 1's change 1 is uncertain") == "not pending")
    #expect(session.objection(to: "client 2 shows Milk") == "there is no client 2, only 1")
    #expect(
      session.objection(to: "client 1 claims conected")
        == "expected unknown, connecting, connected, unreachable, resting or halted, "
        + "found \"conected\"")
    #expect(session.objection(to: "client 1 asked at least 2 times in a minute") == nil)
    #expect(session.objection(to: "client 1 asked at most 1 times in a minute") == "2 times")
    #expect(session.objection(to: "the server was asked at least 3 times in a second") == "2 times")
    #expect(session.objection(to: "the server was asked at most 2 times in a second") == nil)
  }

  @Test func `a break says what its session is, unless it is the lesson's`() throws {
    let text = """
      = A
      protocol client-view
      clients 3
      -- A scene.
      break some-mutant
      -- Told.
      More.
      > wait 1ms
      ! client 1 shows nothing
      ! right: client 1 shows Milk
      break another-mutant
      protocol event-stream
      clients 1
      -- Told.
      """
    let breaks = try #require(try PlaygroundLesson.lessons(in: text).first).breaks
    #expect(breaks.map(\.mutant) == ["some-mutant", "another-mutant"])
    #expect(breaks.map(\.played) == [.clientView, .eventStream])
    #expect(breaks.map(\.clients) == [3, 1])
    #expect(breaks.map(\.text) == ["Told. More.", "Told."])
    #expect(
      breaks[0].acts == [
        .step("wait 1ms"), .sight("client 1 shows nothing"), .rightSight("client 1 shows Milk"),
      ])
  }
}

extension PlaygroundLesson.Act {
  fileprivate func isOfKind(_ other: Self) -> Bool {
    switch (self, other) {
    case (.step, .step), (.sight, .sight), (.rightSight, .rightSight): true
    default: false
    }
  }
}

/// Tests the search for harm. Here no rule can be switched off, so what is called broken is a
/// session in which something else went wrong before.
@Suite struct PlaygroundSearchTests {
  private func search(
    _ right: [String], _ broken: [String], clients: Int = 2, upTo depth: Int
  ) -> PlaygroundSearch {
    func session(_ steps: [String]) -> PlaygroundSession {
      var session = PlaygroundSession(.eventQueue, clients: clients)
      for step in ["wait 1s"] + steps { #expect(session.perform(step) == nil) }
      return session
    }
    var search = PlaygroundSearch(
      right: session(right), broken: session(broken), clients: clients)
    while search.outcome == .searching, search.depth <= depth { search.advance(1) { _ in } }
    return search
  }

  private func harm(_ search: PlaygroundSearch) -> (steps: [String], harm: String)? {
    guard case .found(let steps, _, let harm) = search.outcome else { return nil }
    return (steps, harm)
  }

  @Test func `two sessions in which the same is done show no harm`() {
    let search = search([], [], upTo: 1)
    #expect(search.outcome == .searching, "\(search.json)")
    #expect(search.tried > 8)
    #expect(search.depth == 2)
  }

  @Test func `a client that never comes back is harm`() throws {
    let found = try #require(harm(search([], ["client 1 sleeps 20h"], upTo: 1)))
    #expect(found.steps.count == 1)
    #expect(found.harm.contains("client 1"))
  }

  @Test func `other items at the server are harm`() throws {
    let found = try #require(harm(search(["wait 500ms"], ["client 1 creates Salt"], upTo: 1)))
    #expect(found.harm == "the server has other items than with the rule")
  }

  @Test func `a claim is harm only where the right client does not make it`() throws {
    let offline = ["client 1 goes off line", "wait 1s"]
    let search = search(offline, ["wait 1s"], upTo: 2)
    let found = try #require(harm(search))
    // The server has the item already, and client 1 does not know it.
    #expect(found.steps == ["client 2 creates Milk", "wait 150ms"])
    #expect(search.depth == 2)
    #expect(search.json.contains("\"state\":\"found\""), "\(search.json)")
    #expect(found.harm == "client 1 claims connected, and differs from the server")
  }
}
