import Foundation
import Testing
import UpdateMachine
import ZulipSync

@testable import simulate

@Suite("check: a realm's state")
struct StateCheckTests {
  private static let file = Shipped.recording("observers.jsonl")

  /// Line numbers of the shipped session that a test names, by what is on them.
  private static func place(
    _ lines: [String], _ client: String, where isIt: (Tree) throws -> Bool
  ) throws -> Int {
    let place = try lines.firstIndex { line in
      guard line.contains("\"client\":\"\(client)\"") else { return false }
      return try isIt(try Tree(line))
    }
    return try #require(place)
  }

  /// The answer to the poll that brought an event in which this text stands.
  private static func poll(_ lines: [String], _ client: String, _ text: String) throws -> Int {
    try place(lines, client) {
      try $0["request", "method"] as? String == "GET" && $0.line.contains(text)
    }
  }

  private static func closing(_ lines: [String], _ client: String) throws -> Int {
    let all = lines.indices.filter {
      lines[$0].contains("\"client\":\"\(client)\"") && lines[$0].contains("/api/v1/register")
    }
    return try #require(all.last)
  }

  @Test func `five observers are level, but for what their server keeps from them`() throws {
    let ran = Ran("check", Self.file)
    #expect(ran.code == .success, "\(ran.text)")
    let lives = ran.out.filter { $0.hasPrefix("  state        ") }
    #expect(
      lives == [
        "  state        hamlet/modern: 1 registered, 347 events, 1 compared with 519 rows, 3 explained",
        "  state        hamlet/legacy: 1 registered, 365 events, 1 compared with 554 rows, 9 explained",
        "  state        iago/modern-admin: 1 registered, 288 events, 1 compared with 543 rows, "
          + "1 explained",
        "  state        zoe/modern: 1 registered, 333 events, 1 compared with 549 rows, 1 explained",
        "  state        polonius/guest: 1 registered, 223 events, 1 compared with 458 rows, "
          + "1 explained",
      ])
    for (excuse, count) in [
      (StateExcuse.mergedFlags, 1), (.gravatar, 5), (.unsetNotification, 8), (.leftTogether, 1),
      (.sentDuringMove, 0), (.unseenChannel, 0),
    ] {
      #expect(ran.out.count { $0.hasSuffix(excuse.rawValue) } == count, "\(excuse)")
    }
    #expect(ran.out.contains("  explained    15"))
    #expect(
      ran.out.contains(
        "    hamlet/modern, line 957: starred_messages[2013]: nothing at the server, null here: "
          + StateExcuse.mergedFlags.rawValue))
  }

  @Test func `other sessions are followed as far as they have a state`() throws {
    let ran = Ran("check", "--orders", "1", Shipped.recording("pages-and-races.jsonl"))
    #expect(ran.out.contains { $0.hasPrefix("  state        hamlet: 4 registered, 31 events") })
    let restarts = Ran("check", Shipped.recording("tornado-restart.jsonl"))
    #expect(
      restarts.out.contains { $0.hasPrefix("  state        hamlet/all-types: 1 registered, 6") })
    // Cut down to what the machine reads.
    #expect(!Ran("check", Shipped.recording("session.jsonl")).text.contains("  state  "))
  }

  // MARK: Tampered sessions

  private static func ran(_ lines: [String]) throws -> (Ran, Scratch) {
    let scratch = try Scratch(lines)
    return (Ran("check", scratch.path), scratch)
  }

  @Test func `an event that was changed is told by key, with both values`() throws {
    var lines = try shippedLines("observers.jsonl")
    let place = try Self.poll(lines, "zoe/modern", #""full_name":"Zoe Q.""#)
    lines[place] = lines[place].replacingOccurrences(of: "Zoe Q.", with: "Zoe X.")
    let closing = try Self.closing(lines, "zoe/modern") + 1
    let (ran, scratch) = try Self.ran(lines)
    #expect(ran.code == .failure)
    for field in ["realm_users[7].full_name", "full_name"] {
      #expect(
        ran.out.contains(
          """
          \(scratch.path):\(closing): \(field), after all events of zoe/modern
            expected  "Zoe Q."
            found     "Zoe X."
          """), "\(ran.text)")
    }
  }

  @Test func `a flag that no merging explains is a difference`() throws {
    var lines = try shippedLines("observers.jsonl")
    let place = try Self.closing(lines, "iago/modern-admin")
    var tree = try Tree(lines[place])
    tree["response", "body", "starred_messages"] = [2050]
    lines[place] = try tree.line
    let (ran, scratch) = try Self.ran(lines)
    #expect(ran.code == .failure)
    #expect(
      ran.out.contains {
        $0.hasPrefix("\(scratch.path):\(place + 1): starred_messages[2050], after all events")
      }, "\(ran.text)")
  }

  @Test func `a count of unread messages that is not what is unread is a difference`() throws {
    var lines = try shippedLines("observers.jsonl")
    let place = try Self.closing(lines, "polonius/guest")
    var tree = try Tree(lines[place])
    tree["response", "body", "unread_msgs", "count"] = 54
    lines[place] = try tree.line
    let (ran, scratch) = try Self.ran(lines)
    #expect(
      ran.out.contains(
        """
        \(scratch.path):\(place + 1): unread_msgs.count, after all events of polonius/guest
          expected  54
          found     55
        """), "\(ran.text)")
  }

  @Test func `an event that lacks what it must have is told`() throws {
    var lines = try shippedLines("observers.jsonl")
    let place = try Self.poll(lines, "zoe/modern", #""full_name":"Zoe Q.""#)
    lines[place] = lines[place].replacingOccurrences(
      of: #""user_id":7,"full_name":"Zoe Q.""#, with: #""full_name":"Zoe Q.""#)
    let (ran, scratch) = try Self.ran(lines)
    #expect(ran.code == .failure)
    #expect(
      ran.out.contains(
        """
        \(scratch.path):\(place + 1): these events
          expected  a state that has them
          found     malformed: realm_user.person.user_id
        """), "\(ran.text)")
  }

  @Test func `what happened while a client registered to compare is not held against it`() throws {
    var lines = try shippedLines("observers.jsonl")
    let closing = try Self.closing(lines, "zoe/modern")
    let proof = try #require(
      lines.indices.first {
        $0 > closing && lines[$0].contains("zoe/modern") && lines[$0].contains(#""method":"GET""#)
      })
    var tree = try Tree(lines[proof])
    tree["response", "body", "events"] = [
      ["id": 400, "type": "alert_words", "alert_words": ["x"]] as [String: Any]
    ]
    lines[proof] = try tree.line
    let (ran, _) = try Self.ran(lines)
    #expect(ran.code == .success, "\(ran.text)")
    #expect(ran.text.contains("zoe/modern: 1 registered, 334 events, 0 compared"), "\(ran.text)")
  }

  // MARK: A queue that was lost

  /// Hamlet's session, in which he loses his queue half-way, and registers again when all has happened:
  /// what came between is in the snapshot alone.
  private static func lostSession() throws -> [String] {
    let lines = try shippedLines("observers.jsonl").filter {
      $0.contains(#""client":"hamlet/modern""#)
    }
    let closing = try closing(lines, "hamlet/modern")
    let proof = try #require(
      lines.indices.first { $0 > closing && lines[$0].contains(#""method":"GET""#) })
    var refused = try Tree(lines[40])
    refused["response", "status"] = 400
    refused["response", "body"] =
      ["result": "error", "msg": "Bad event queue ID", "code": "BAD_EVENT_QUEUE_ID"]
      as [String: Any]
    // It begins again with the new queue, polls it empty, and registers to compare.
    var again = try Tree(lines[closing])
    let sent = try #require(refused["t_end"] as? Double)
    again["t"] = sent + 1
    again["t_end"] = sent + 1.5
    func poll(at moment: Double) throws -> String {
      var poll = try Tree(lines[proof])
      poll["t"] = moment
      poll["t_end"] = moment + 0.1
      poll["request", "params", "queue_id"] = again["response", "body", "queue_id"]
      poll["request", "params", "last_event_id"] = -1
      return try poll.line
    }
    var compared = again
    compared["t"] = sent + 3
    compared["t_end"] = sent + 3.5
    compared["response", "body", "queue_id"] = "another"
    return Array(lines[0..<40])
      + [try refused.line, try again.line, try poll(at: sent + 2), try compared.line]
      + [try poll(at: sent + 4)]
  }

  @Test func `a client that lost its queue is level with what it then registered`() throws {
    let lines = try Self.lostSession()
    let (ran, _) = try Self.ran(lines)
    #expect(ran.code == .success, "\(ran.text)")
    #expect(
      ran.out.contains { $0.hasPrefix("  state        hamlet/modern: 2 registered, ") },
      "\(ran.text)")
    #expect(ran.text.contains("1 compared with 519 rows, 0 explained"))
    // Without the register in between there is nothing to compare with.
    let (other, _) = try Self.ran(Array(lines.prefix(41)))
    #expect(other.text.contains("hamlet/modern: 1 registered"))
    #expect(other.text.contains("0 compared"))
  }

  @Test func `what was explained by a lost queue's events is explained no more`() throws {
    var lines = try Self.lostSession()
    var tree = try Tree(lines[43])
    tree["response", "body", "starred_messages"] = [2013, 2041, 2054, 2117, 2118]
    lines[43] = try tree.line
    let (ran, _) = try Self.ran(lines)
    #expect(ran.code == .failure)
    #expect(ran.text.contains("starred_messages[2013], after all events"))
  }

  // MARK: Rules that the session has no case of

  private static func event(_ json: String) throws -> ZulipEvent {
    try ZulipError.decode(ZulipEvent.self, from: Data(json.utf8))
  }

  private static func states(
    _ expected: ZulipFields?, _ found: ZulipFields
  ) -> StateDifference {
    StateDifference(
      key: ZulipKey("unread_msgs", 9), path: [], expected: expected.map { .fields($0) },
      found: .fields(found))
  }

  @Test func `a message sent during a move is explained if the move does not name it`() throws {
    let sent = try Self.event(
      """
      {"id":1,"type":"message","flags":[],"message":{"id":9,"sender_id":8,"type":"stream",
       "stream_id":4,"subject":"a","display_recipient":"x","content":"","content_type":"text/html",
       "reactions":[]}}
      """)
    func move(_ ids: String) throws -> ZulipEvent {
      try Self.event(
        """
        {"id":2,"type":"update_message","message_id":7,"message_ids":[\(ids)],"stream_id":4,
         "orig_subject":"a","subject":"b","edit_timestamp":1,"rendering_only":false,"flags":[]}
        """)
    }
    var evidence = StateEvidence(ZulipRegistration(), departures: [])
    let difference = StateDifference(
      key: ZulipKey("unread_msgs", 9), path: ["topic"], expected: "b", found: "a")
    evidence.batches = [[sent], [try move("7,8")]]
    #expect(evidence.excuse(for: difference, of: nil) == .sentDuringMove)
    evidence.batches = [[sent], [try move("7,8,9")]]
    #expect(evidence.excuse(for: difference, of: nil) == nil)
    evidence.batches = [[try move("7,8")]]
    #expect(evidence.excuse(for: difference, of: nil) == nil)
  }

  @Test func `what happened in a channel that the user had left is explained`() throws {
    let left = try Self.event(
      #"{"id":1,"type":"subscription","op":"remove","subscriptions":[{"stream_id":4}]}"#)
    var evidence = StateEvidence(ZulipRegistration(), departures: [])
    let place: ZulipFields = ["stream_id": 4, "topic": "a"]
    #expect(evidence.excuse(for: Self.states(nil, place), of: nil) == nil)
    evidence.batches = [[left]]
    #expect(evidence.excuse(for: Self.states(nil, place), of: nil) == .unseenChannel)
    #expect(
      evidence.excuse(for: Self.states(nil, ["stream_id": 5, "topic": "a"]), of: nil) == nil)
  }

  @Test func `keys of bots are not printed`() {
    let difference = StateDifference(
      key: ZulipKey("realm_bots", 64), path: [], expected: nil,
      found: ["api_key": "SECRET", "services": [["token": "SECRET"]], "name": "x"])
    #expect(!difference.texts.found.contains("SECRET"))
    let alone = StateDifference(
      key: ZulipKey("realm_bots", 64), path: ["api_key"], expected: "SECRET", found: "SECRET2")
    #expect(!alone.texts.found.contains("SECRET") && !alone.texts.expected.contains("SECRET"))
  }

  @Test func `the help names what is not compared`() {
    let ran = Ran("check", "--help")
    for field in ZulipState.leftOut.keys { #expect(ran.text.contains("  \(field): "), "\(field)") }
  }
}
