import Foundation
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipServer

/// The server still answers as is written down in `Simulations/Recordings/points.jsonl`: what a
/// strict client stumbled over on a real server, point by point. `simulate check` reads the file.
///
/// `RECORD_POINTS=1 swift test --filter PointsTests` writes it anew, after a change that is meant.
@Suite struct PointsTests {
  /// A conversation as it is written down.
  private struct Book {
    var bench = ServerBench()
    var lines: [String] = []
    private static let names = ["ada", "ben", "cy", "dee"]

    /// Asks, and writes down what was answered.
    @discardableResult
    mutating func ask(
      _ step: String, _ user: Int, _ method: String, _ path: String,
      _ parameters: [(String, String)] = []
    ) throws -> JSONValue {
      bench.now = bench.now + .milliseconds(100)
      let answer = try bench.answer(user, method, path, parameters)
      var params = JSONObject()
      for (name, value) in parameters { params[name] = Book.parameter(name, value) }
      let time = JSONValue.string(
        "\(1_800_000_000 + bench.now.milliseconds / 1000).\(bench.now.milliseconds / 100 % 10)")
      let body = try #require(answer.json)
      let line: JSONObject = [
        "client": .string("\(Book.names[user])/points"), "step": .string(step),
        "request": .object([
          "method": .string(method), "path": .string("/api/v1/\(path)"), "params": .object(params),
        ]),
        "response": .object(["status": .integer(Int64(answer.status)), "body": body]),
      ]
      let rest = JSONValue.object(line).description.dropFirst()
      lines.append("{\"t\":\(time.string!),\"t_end\":\(time.string!),\(rest)")
      return body
    }

    /// A parameter as the other recordings have it: JSON is a value, and a text is a text.
    private static func parameter(_ name: String, _ value: String) -> JSONValue {
      guard !["content", "topic", "status_text", "queue_id", "to"].contains(name),
        let json = try? JSONValue(parsing: value)
      else { return .string(value) }
      return json
    }

    mutating func send(
      _ step: String, _ user: Int, _ text: String, to channel: String, topic: String = "t"
    ) throws -> Int64 {
      let answer = try ask(
        step, user, "POST", "messages",
        [("type", "stream"), ("to", channel), ("topic", topic), ("content", text)])
      return try #require(answer["id"]?.int64)
    }

    mutating func page(_ step: String, _ user: Int, _ narrow: String) throws -> JSONValue {
      try ask(
        step, user, "GET", "messages",
        [("anchor", "newest"), ("num_before", "9"), ("num_after", "0"), ("narrow", narrow)])
    }

    mutating func follow(_ step: String, _ user: Int, _ channel: String, _ isSet: Bool) throws {
      try ask(
        step, user, isSet ? "POST" : "DELETE", "users/me/subscriptions",
        [("subscriptions", isSet ? #"[{"name":"\#(channel)"}]"# : #"["\#(channel)"]"#)])
    }

    /// Registers anew. Returns one field of the state.
    mutating func register(
      _ step: String, _ user: Int, _ type: String, _ field: String
    ) throws -> JSONValue {
      let body = try ask(
        step, user, "POST", "register",
        [("event_types", #"["\#(type)"]"#), ("fetch_event_types", #"["\#(type)"]"#)])
      return try #require(body[field], "\(step): \(field)")
    }
  }

  /// Asks for all points. What an answer must show is expected here, beside the file.
  private static func played() throws -> Book {
    var book = Book()
    try historical(&book)
    try own(&book)
    try state(&book)
    try changes(&book)
    return book
  }

  /// Points 1 and 2: messages of which the user has no row.
  private static func historical(_ book: inout Book) throws {
    try book.follow("P1 leaves", 1, "general", false)
    let id = try book.send("P1 sent meanwhile", 0, "one", to: "general")
    try book.follow("P1 comes back", 1, "general", true)
    let channel = try book.page(
      "P1 the channel's page", 1, #"[{"operator":"channel","operand":1}]"#)
    #expect(channel.ids.last == id)
    let flags = channel["messages"]?.array?.last?["flags"]?.array
    #expect(flags?.contains("historical") == true)
    let alone = try book.page("P1 asked for by its ID", 1, #"[{"operator":"id","operand":\#(id)}]"#)
    #expect(alone.ids == [] && alone.found.contains("on"))
    let single = try book.ask("P1 the message itself", 1, "GET", "messages/\(id)")
    #expect(single["message"]?["id"]?.int64 == id)
    #expect(try !book.page("P2 everything", 1, "[]").ids.contains(id))
    try book.ask(
      "P2 starred", 1, "POST", "messages/flags",
      [("messages", "[\(id)]"), ("op", "add"), ("flag", "starred")])
    #expect(try book.page("P2 everything, with its row", 1, "[]").ids.contains(id))
  }

  /// Points 4, 7 and 9: what the user sends, and a narrow that is none.
  private static func own(_ book: inout Book) throws {
    let queue = try book.register("P7 a queue", 1, "message", "queue_id").string ?? ""
    let id = try book.send("P7 sent elsewhere", 1, "here I am", to: "library")
    let events = try book.ask(
      "P7 no event", 1, "GET", "events",
      [("queue_id", queue), ("last_event_id", "-1"), ("dont_block", "true")])
    #expect(events["events"]?.array == [])
    let page = try book.page("P7 shown", 1, #"[{"operator":"channel","operand":"library"}]"#)
    #expect(page.ids == [id])
    let answer = try book.ask(
      "P4 read by its sender", 1, "POST", "messages",
      [
        ("type", "stream"), ("to", "general"), ("topic", "t"), ("content", "mine"),
        ("read_by_sender", "true"),
      ])
    let mine = try book.ask("P4 looked at", 1, "GET", "messages/\(answer["id"]?.int64 ?? 0)")
    #expect(mine["message"]?["flags"]?.array?.contains("read") == true)
    let refused = try book.page("P9 is:read", 1, #"[{"operator":"is","operand":"read"}]"#)
    #expect(refused["code"]?.string == "BAD_NARROW")
  }

  /// Point 8: what a register says.
  private static func state(_ book: inout Book) throws {
    try book.ask("P8 a status", 1, "POST", "users/me/status", [("status_text", "out")])
    let status = try book.register("P8 there", 1, "user_status", "user_status")
    #expect(status["9"]?["status_text"]?.string == "out")
    try book.ask("P8 cleared", 1, "POST", "users/me/status", [("status_text", "")])
    #expect(try book.register("P8 no row", 1, "user_status", "user_status").object == [:])
    let id = try book.send("P8 unread", 0, "two", to: "general", topic: "Lunch")
    let unread = try book.register("P8 counted", 1, "message", "unread_msgs")
    #expect(unread["count"]?.int64 ?? 0 > 0)
    try book.follow("P8 leaves", 1, "general", false)
    let left = try book.register("P8 left out", 1, "message", "unread_msgs")
    let ids = left["streams"]?.array?.flatMap { $0["unread_message_ids"]?.array ?? [] }
    #expect(ids?.contains(.integer(id)) == false)
    try book.follow("P8 back", 1, "general", true)
  }

  /// Points 12 and 14: settings, reading a narrow, and what only the server can decide.
  private static func changes(_ book: inout Book) throws {
    try book.ask(
      "P12 a topic followed", 1, "POST", "user_topics",
      [("stream_id", "1"), ("topic", "LUNCH"), ("visibility_policy", "3")])
    let followed = try book.page("P14 followed", 1, #"[{"operator":"is","operand":"followed"}]"#)
    #expect(followed.ids.count == 1)
    let narrow = #"[{"operator":"channel","operand":1},{"operator":"is","operand":"unread"}]"#
    let read = try book.ask(
      "P12 a narrow read", 1, "POST", "messages/flags/narrow",
      [
        ("anchor", "newest"), ("include_anchor", "true"), ("num_before", "5000"),
        ("num_after", "0"), ("narrow", narrow), ("op", "add"), ("flag", "read"),
      ])
    #expect(read["result"]?.string == "success")
    #expect(try book.page("P12 none is left", 1, narrow).ids == [])
    #expect(try book.page("P14 links", 1, #"[{"operator":"has","operand":"link"}]"#).ids == [])
    #expect(
      try book.page("P14 a search", 1, #"[{"operator":"search","operand":"TWO"}]"#).ids.count == 1)
  }

  @Test func `the server answers as is written down`() throws {
    let book = try PointsTests.played()
    let file = Place.root.appending(path: "Simulations/Recordings/points.jsonl")
    if ProcessInfo.processInfo.environment["RECORD_POINTS"] != nil {
      try Data((book.lines.joined(separator: "\n") + "\n").utf8).write(to: file)
    }
    let written = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    #expect(written.count == book.lines.count)
    for (number, (line, now)) in zip(written, book.lines).enumerated() {
      #expect(line == now, "points.jsonl:\(number + 1)")
    }
  }
}
