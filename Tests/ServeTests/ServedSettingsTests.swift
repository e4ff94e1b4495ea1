import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipServer

/// What users set at the server: topics, the status, and how far a narrow is read.
@Suite struct ServedSettingsTests {
  @Test func `a topic is set for one user, and a register tells it`() throws {
    var bench = ServerBench()
    let (ada, bo) = (try bench.register(0), try bench.register(1))
    func set(_ topic: String, _ policy: Int) throws {
      _ = try bench.get(
        0, "POST", "user_topics",
        [("stream_id", "1"), ("topic", topic), ("visibility_policy", "\(policy)")])
    }
    try set("Lunch", 1)
    try set("lunch", 3)
    let events = try bench.events(0, ada, after: -1)
    #expect(events.map { $0["type"] } == ["user_topic", "user_topic"])
    #expect(events.last?["topic_name"] == "lunch" && events.last?["visibility_policy"] == 3)
    #expect(try bench.events(1, bo, after: -1) == [])
    var topics = try bench.get(0, "POST", "register")["user_topics"]?.array
    #expect(topics?.count == 1 && topics?.first?["visibility_policy"] == 3)
    #expect(try bench.get(1, "POST", "register")["user_topics"] == [])
    try set("LUNCH", 0)
    topics = try bench.get(0, "POST", "register")["user_topics"]?.array
    #expect(topics == [])
    for (channel, policy, words) in [
      ("99", "1", "Invalid channel ID"), ("1", "4", "Invalid visibility_policy"),
    ] {
      let answer = try bench.answer(
        0, "POST", "user_topics",
        [("stream_id", channel), ("topic", "a"), ("visibility_policy", policy)])
      #expect(answer.status == 400 && answer.json?["msg"]?.string == words)
    }
  }

  @Test func `a status is told to everybody, and cleared`() throws {
    var bench = ServerBench()
    let queue = try bench.register(1)
    let user = try #require(bench.server.realm.users.first?.id)
    let emoji = Emoji.known[0]
    _ = try bench.get(
      0, "POST", "users/me/status", [("status_text", "out"), ("emoji_name", emoji.name)])
    let told = try #require(try bench.events(1, queue, after: -1).first)
    #expect(told["type"] == "user_status" && told["user_id"] == .integer(user))
    #expect(told["status_text"] == "out" && told["emoji_code"] == .string(emoji.code))
    let statuses = try bench.get(2, "POST", "register")["user_status"]
    #expect(statuses?["\(user)"]?["status_text"] == "out")
    // What is not named stays.
    _ = try bench.get(0, "POST", "users/me/status", [("status_text", "")])
    let left = try bench.get(2, "POST", "register")["user_status"]
    #expect(left?["\(user)"]?["status_text"] == nil)
    #expect(left?["\(user)"]?["emoji_name"] == .string(emoji.name))
    _ = try bench.get(0, "POST", "users/me/status", [("emoji_name", "")])
    #expect(try bench.get(2, "POST", "register")["user_status"] == [:])
    let wrong = try bench.answer(0, "POST", "users/me/status", [("emoji_name", "nothing")])
    #expect(wrong.status == 400)
  }

  @Test func `a narrow is read up to a message, part by part`() throws {
    var bench = ServerBench()
    var ids: [Int64] = []
    for number in 1...5 {
      ids.append(try bench.send(0, "\(number)", topic: number == 4 ? "other" : "talk"))
    }
    let queue = try bench.register(1)
    func read(_ anchor: Int64, _ before: Int, includes: Bool = true) throws -> JSONValue {
      try bench.get(
        1, "POST", "messages/flags/narrow",
        [
          ("anchor", "\(anchor)"), ("num_before", "\(before)"), ("num_after", "0"),
          ("include_anchor", "\(includes)"), ("op", "add"), ("flag", "read"),
          (
            "narrow",
            #"[{"operator":"topic","operand":"talk"},{"operator":"is","operand":"unread"}]"#
          ),
        ])
    }
    let first = try read(ids[3], 2)
    #expect(first["updated_count"] == 2 && first["found_oldest"] == false)
    #expect(first["first_processed_id"] == .integer(ids[1]))
    let rest = try read(ids[1], 2, includes: false)
    #expect(rest["updated_count"] == 1 && rest["found_oldest"] == true)
    let none = try read(ids[3], 2)
    #expect(none["updated_count"] == 0 && none["first_processed_id"] == .null)
    let events = try bench.events(1, queue, after: -1)
    // The server merges them.
    let told = events.flatMap { $0["messages"]?.array ?? [] }
    #expect(told.compactMap(\.int64).sorted() == Array(ids[0...2]))
    let flags = ids.map {
      bench.server.realm.message($0)?.flags(of: bench.server.realm.users[1].id)
    }
    #expect(flags == [.read, .read, .read, [], []])
  }

  @Test func `a channel is looked up by its ID`() throws {
    var bench = ServerBench()
    #expect(try bench.get(0, "GET", "streams/2")["stream"]?["name"] == "kitchen")
    #expect(try bench.answer(0, "GET", "streams/77").json?["msg"]?.string == "Invalid channel ID")
  }
}
