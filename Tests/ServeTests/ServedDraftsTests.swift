import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipServer

/// Drafts at the server.
@Suite struct ServedDraftsTests {
  private static func draft(
    _ content: String, type: String = "stream", to: String = "[1]", time: String? = "5"
  ) -> String {
    let time = time.map { #","timestamp":\#($0)"# } ?? ""
    return #"{"type":"\#(type)","to":\#(to),"topic":"lunch","content":"\#(content)"\#(time)}"#
  }

  @Test func `drafts are made, edited and deleted, and their user is told`() throws {
    var bench = ServerBench()
    let (ada, bo) = (try bench.register(0), try bench.register(1))
    let me = bench.server.realm.users[0].id
    let list = "[\(Self.draft("one")),\(Self.draft("two ", type: "private", to: "[9,10]"))]"
    let ids = try bench.get(0, "POST", "drafts", [("drafts", list)])["ids"]
    #expect(ids == [1, 2])
    let changed = Self.draft("three", type: "private", to: "[\(me)]", time: "7")
    _ = try bench.get(0, "PATCH", "drafts/1", [("draft", changed)])
    let all = try bench.get(0, "GET", "drafts")
    #expect(all["count"] == 2)
    let three: JSONValue = [
      "id": 1, "type": "private", "to": [.number(JSONNumber(me))], "topic": "",
      "content": "three", "timestamp": 7,
    ]
    let two: JSONValue = [
      "id": 2, "type": "private", "to": [9, 10], "topic": "", "content": "two", "timestamp": 5,
    ]
    #expect(all["drafts"] == [three, two])
    #expect(try bench.get(0, "POST", "register")["drafts"] == [three, two])
    _ = try bench.get(0, "DELETE", "drafts/2")
    let events = try bench.events(0, ada, after: -1)
    #expect(events.map { $0["type"] } == ["drafts", "drafts", "drafts"])
    #expect(events.map { $0["op"] } == ["add", "update", "remove"])
    #expect(events[0]["drafts"]?.array?.map { $0["topic"] } == ["lunch", ""])
    #expect(events[1]["draft"] == three && events[2]["draft_id"] == 2)
    // They are nobody else's.
    #expect(try bench.events(1, bo, after: -1) == [])
    #expect(try bench.get(1, "GET", "drafts")["count"] == 0)
    #expect(try bench.answer(1, "DELETE", "drafts/1").status == 404)
    // No ID comes again.
    let next = try bench.get(0, "POST", "drafts", [("drafts", "[\(Self.draft("x", time: nil))]")])
    #expect(next["ids"] == [3])
    let time = try bench.get(0, "GET", "drafts")["drafts"]?.array?.first?["timestamp"]
    #expect(time == 1_800_000_000)
  }

  @Test func `a draft that says too little is refused, and those beside it`() throws {
    var bench = ServerBench()
    for (draft, words) in [
      (Self.draft(" "), "Message must not be empty"),
      (Self.draft("x", to: "[]"), "Must specify exactly 1 channel ID for channel messages"),
      (Self.draft("x", to: "[77]"), "Invalid channel ID"),
      (Self.draft("x", type: "private", to: "[77]"), "Invalid user ID 77"),
      (Self.draft("x", time: "-1"), "Timestamp must not be negative."),
      (Self.draft("x", type: "letter"), #"Invalid drafts[1]["type"]"#),
      (#"{"id":1}"#, #"drafts[1]["id"] is unexpected"#), ("7", "drafts[1] is not a dict"),
    ] {
      let answer = try bench.answer(
        0, "POST", "drafts", [("drafts", "[\(Self.draft("good")),\(draft)]")])
      #expect(answer.status == 400 && answer.json?["msg"]?.string == words)
    }
    #expect(try bench.get(0, "GET", "drafts")["count"] == 0)
    #expect(try bench.answer(0, "PATCH", "drafts/1", [("draft", "{}")]).status == 404)
    let unaddressed = "[\(Self.draft("x", type: "private", to: "[]"))]"
    _ = try bench.get(0, "POST", "drafts", [("drafts", unaddressed)])
    #expect(try bench.get(0, "GET", "drafts")["drafts"]?.array?.first?["type"] == "")
  }
}
