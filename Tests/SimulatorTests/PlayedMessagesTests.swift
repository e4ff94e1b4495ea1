import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// Tests the playground with posts: windows, pages and gaps.
@Suite struct PlayedMessagesTests {
  private func session(_ steps: [String], clients: Int = 1) -> PlaygroundSession {
    var session = PlaygroundSession(.messages, clients: clients)
    perform(steps, &session)
    return session
  }

  private func perform(_ steps: [String], _ session: inout PlaygroundSession) {
    for step in steps {
      let refusal = session.perform(step)
      #expect(refusal == nil, "\(step): \(refusal ?? "")")
    }
  }

  private func client(_ number: Int, _ session: PlaygroundSession) throws -> JSONValue {
    let clients = try #require(session.object["clients"]?.array)
    return clients[number - 1]
  }

  private func bar(_ session: PlaygroundSession) throws -> String {
    try #require(client(1, session)["window"]?["bar"]?.string)
  }

  @Test func `a window shows a gap until its page comes, and the bar says what is known`() throws {
    var session = session(["wait 1s", "client 1 opens topic lunch"])
    #expect(session.objection(to: "client 1 shows a gap") == nil)
    #expect(try bar(session).hasPrefix("........"))
    #expect(try client(1, session)["isLevel"] == false)
    perform(["wait 1s"], &session)
    #expect(
      session.objection(to: "client 1 shows post 34, post 35, post 37, post 38, post 39") == nil)
    #expect(try bar(session).hasSuffix(".##=###=] 1…40"))
    #expect(try client(1, session)["isLevel"] == true)
    perform(["client 1 jumps to post 3"], &session)
    #expect(session.objection(to: "client 1 shows nothing") == "a gap")
  }

  @Test func `a lost page is asked for again`() throws {
    var session = session(["wait 1s", "client 1 opens the channel", "next"])
    let messages = try #require(session.object["messages"]?.array)
    let page = messages.count
    #expect(messages[page - 1]["text"]?.string == "page of 5 posts")
    perform(["message \(page) is lost", "wait 10s"], &session)
    #expect(session.objection(to: "client 1 shows a gap") == nil)
    perform(["wait 1min"], &session)
    #expect(
      session.objection(to: "client 1 shows post 36, post 37, post 38, post 39, post 40") == nil)
  }

  @Test func `what somebody does to posts reaches a window`() {
    var session = session(["wait 1s", "client 1 opens topic lunch", "wait 1s"])
    perform(
      [
        "somebody posts All in one boat in lunch", "somebody changes post 38 to Sorry",
        "somebody deletes post 39", "somebody moves post 37 to dinner",
        "somebody moves post 40 to lunch", "wait 5s",
      ], &session)
    #expect(
      session.objection(to: "client 1 shows post 34, post 35, Sorry, post 40, All in one boat")
        == nil)
    perform(["client 1 scrolls up", "wait 5s"], &session)
    #expect(
      session.objection(to: "client 1 shows post 29, post 30, post 31, post 33, post 34") == nil)
    perform(["client 1 jumps to the end", "client 1 closes its window"], &session)
    #expect(session.objection(to: "client 1 shows nothing") == nil)
    #expect(session.perform("client 1 scrolls up") == "no window is open")
  }

  @Test func `a window is gone with its process, and what is on the disk is not`() throws {
    var session = session(["wait 1s", "client 1 opens topic lunch", "wait 2s"])
    perform(
      [
        "somebody changes post 38 to Sorry", "wait 1s", "client 1 crashes", "client 1 starts",
        "client 1 goes off line", "wait 10ms",
      ], &session)
    #expect(session.objection(to: "client 1 shows nothing") == nil)
    #expect(try client(1, session)["window"] == nil)
    perform(["client 1 opens topic lunch"], &session)
    #expect(
      session.objection(to: "client 1 shows post 34, post 35, post 37, Sorry, post 39") == nil)
  }

  @Test func `after all kinds of trouble every window shows what the server has`() throws {
    var session = session(
      [
        "wait 1s", "client 1 opens topic lunch", "client 2 opens the channel", "next",
        "client 2 goes off line", "somebody deletes post 39", "client 1 jumps to post 3",
        "wait 100ms", "the server forgets its logs", "client 1's disk is full",
        "somebody moves post 3 to dinner", "wait 1min", "client 1 scrolls down",
        "client 2 goes on line", "client 2 jumps to post 10", "the server restarts", "wait 1s",
        "client 1's disk has room", "client 2 goes to the background",
        "somebody changes post 10 to Oh", "wait 11min", "client 2 comes to the foreground",
        "the server restarts and forgets its clients", "wait 20min",
      ], clients: 2)
    for number in 1...2 {
      let client = try client(number, session)
      #expect(client["isLevel"] == true, "\(client)")
      #expect(client["claim"] == "connected", "\(client)")
    }
    perform(["client 2 opens topic dinner", "wait 10s"], &session)
    #expect(try client(2, session)["isLevel"] == true)
  }

  /// Before each of four changes the oldest or the newest message arrives out of turn, and the page
  /// may be read or may come between them.
  @Test(arguments: 0..<32)
  func `pages and events may overtake each other`(order: Int) throws {
    var session = session(["wait 1s", "client 1 opens topic lunch"])
    let deeds = [
      "somebody deletes post 39", "somebody changes post 38 to Sorry",
      "somebody moves post 37 to dinner", "somebody posts Hello in lunch",
    ]
    for (turn, deed) in deeds.enumerated() {
      let travelling = try #require(session.object["messages"]?.array)
        .filter { $0["fate"] == "travels" }.compactMap { $0["number"]?.int64 }
      let number = order >> turn & 1 == 0 ? travelling.first : travelling.last
      if let number { perform(["message \(number) arrives"], &session) }
      perform([deed], &session)
      if order >= 16 { perform(["next"], &session) }
    }
    perform(["wait 2min"], &session)
    #expect(session.objection(to: "client 1 shows post 33, post 34, post 35, Sorry, Hello") == nil)
    #expect(try client(1, session)["isLevel"] == true)
  }

  @Test(arguments: [
    ("client 1 creates Milk", "this protocol has posts, and no items"),
    ("client 1 scrolls down", "no window is open"),
    ("client 1 closes its window", "no window is open"),
    ("somebody deletes post 99", "there is no post 99"),
    ("somebody changes post 41 to x", "there is no post 41"),
  ])
  func `what cannot be done with posts says so`(step: String, why: String) {
    var session = session(["wait 1s"])
    let before = session.state
    #expect(session.perform(step) == why)
    #expect(session.state == before)
  }
}
