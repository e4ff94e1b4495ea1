import Foundation
import MessageSync
import Testing
import UpdateMachine
import ZulipSync

@testable import RecordingCheck
@testable import simulate

@Suite("check: a realm's state")
struct StateCheckTests {
  private static let file = Shipped.recording("observers.jsonl")

  /// Finds a line of the shipped session by its content, and returns its number.
  private static func place(
    _ lines: [String], _ client: String, where isIt: (Tree) throws -> Bool
  ) throws -> Int {
    let place = try lines.firstIndex { line in
      guard line.contains("\"client\":\"\(client)\"") else { return false }
      return try isIt(try Tree(line))
    }
    return try #require(place)
  }

  /// The number of the line whose poll brought an event with this text.
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

  private static let sessions = [
    "hamlet/modern: 1 registered, 347 events, 5 pages, 1 compared with 519 rows, 2 explained",
    "hamlet/legacy: 1 registered, 365 events, 8 pages, 1 compared with 554 rows, 9 explained",
    "iago/modern-admin: 1 registered, 288 events, 4 pages, 1 compared with 543 rows, 1 explained",
    "zoe/modern: 1 registered, 333 events, 4 pages, 1 compared with 549 rows, 1 explained",
    "polonius/guest: 1 registered, 223 events, 3 pages, 1 compared with 458 rows, 1 explained",
  ]

  @Test func `five observers are up to date, except where the server withholds events`() throws {
    let ran = Ran("check", "--verbose", "--orders", "1", Self.file)
    #expect(ran.code == .success, "\(ran.text)")
    #expect(
      ran.out.filter { $0.hasPrefix("  state        ") }
        == Self.sessions.map { "  state        \($0)" })
    for (excuse, count) in [
      (StateExcuse.mergedFlags, 0), (.gravatar, 5), (.unsetNotification, 8), (.leftTogether, 1),
    ] {
      #expect(ran.out.count { $0.hasSuffix(excuse.rawValue) } == count, "\(excuse)")
    }
    #expect(ran.out.contains("  explained    14"))
    #expect(
      ran.out.contains("  pages        19: 19 given, 8 of them without contents, 0 of no session"))
  }

  @Test func `a first message is excused only if no event told of it`() throws {
    let full = ZulipRegistration.full
    func excuse(
      _ path: String, _ expected: ZulipValue?, _ found: ZulipValue?, field: String = "streams",
      after events: [ZulipEvent] = []
    ) -> StateExcuse? {
      var evidence = StateEvidence(full, departures: [])
      evidence.batches = [events]
      let difference = StateDifference(
        key: ZulipKey(field, 26), path: [path], expected: expected, found: found)
      return evidence.excuse(for: difference, of: UserID(7))
    }
    #expect(excuse("first_message_id", 2140, .null) == .firstUnseen)
    #expect(excuse("first_message_id", 2140, .null, field: "never_subscribed") == .firstUnseen)
    #expect(excuse("first_message_id", 2140, .null, field: "subscriptions") == nil)
    #expect(excuse("first_message_id", 2140, 2139) == nil)
    #expect(excuse("first_message_id", .null, .null) == nil)
    #expect(excuse("name", 2140, .null) == nil)
    let line =
      #"{"type":"message","id":0,"flags":[],"message":{"id":2140,"sender_id":7,"#
      + #""type":"stream","stream_id":26,"display_recipient":"b","subject":"a","content":"","reactions":[],"#
      + #""content_type":"text/html"}}"#
    let event = try ZulipError.decode(ZulipEvent.self, from: Data(line.utf8))
    #expect(excuse("first_message_id", 2140, .null, after: [event]) == nil)
  }

  private static func event(_ text: String) throws -> ZulipEvent {
    try ZulipError.decode(ZulipEvent.self, from: Data(text.utf8))
  }

  @Test func `a channel made private is excused only if another client was told`() throws {
    let told = try Self.event(
      #"{"type":"stream","id":0,"op":"update","property":"invite_only","value":true,"#
        + #""stream_id":26,"name":"x"}"#)
    #expect(told.channelMadePrivate == 26)
    func excuse(
      _ field: String, _ expected: ZulipValue?, told others: Set<Int64> = [26],
      after events: [ZulipEvent] = []
    ) -> StateExcuse? {
      var evidence = StateEvidence(.full, departures: [], madePrivate: others)
      evidence.batches = [events]
      let difference = StateDifference(
        key: ZulipKey(field, 26), path: [], expected: expected, found: ["name": "x"])
      return evidence.excuse(for: difference, of: UserID(7))
    }
    #expect(excuse("never_subscribed", nil) == .privateUnseen)
    #expect(excuse("streams", nil) == .privateUnseen)
    #expect(excuse("subscriptions", nil) == nil)
    #expect(excuse("streams", ["name": "y"]) == nil)
    #expect(excuse("streams", nil, told: [27]) == nil)
    #expect(excuse("streams", nil, after: [told]) == nil)
  }

  @Test func `legacy muted topics are excused only if each was moved since`() throws {
    let moved = try Self.event(
      #"{"type":"update_message","id":1,"message_id":5,"message_ids":[5],"stream_id":3,"#
        + #""stream_name":"x","orig_subject":"Lunch","subject":"b","propagate_mode":"change_all","#
        + #""edit_timestamp":100,"rendering_only":false,"flags":[]}"#)
    let muted = try Self.event(#"{"type":"muted_topics","id":2,"muted_topics":[]}"#)
    func excuse(
      _ expected: ZulipValue, _ found: ZulipValue, after events: [ZulipEvent]
    ) -> StateExcuse? {
      var evidence = StateEvidence(.full, departures: [])
      evidence.batches = [events]
      let difference = StateDifference(
        key: ZulipKey("muted_topics"), path: [], expected: expected, found: found)
      return evidence.excuse(for: difference, of: UserID(7))
    }
    let lunch: ZulipValue = ["x", "lunch", 90]
    let other: ZulipValue = ["x", "other", 90]
    #expect(excuse([other], [lunch, other], after: [moved]) == .mutedByMove)
    #expect(excuse([lunch], [lunch, other], after: [moved]) == nil)
    #expect(excuse([lunch], [], after: [moved]) == nil)
    #expect(excuse([], [lunch], after: [moved, muted]) == nil)
    #expect(excuse([], [["y", "lunch", 90]], after: [moved]) == nil)
  }

  // MARK: What pages mend

  @Test func `a flag that merging left wrong stays wrong without pages`() throws {
    let (ran, _) = try Self.ran(
      try shippedLines("observers.jsonl").filter { !$0.contains("/api/v1/messages") })
    #expect(ran.code == .success, "\(ran.text)")
    #expect(
      ran.out.contains(
        "    hamlet/modern, line 957: starred_messages[2013]: nothing at the server, null here: "
          + StateExcuse.mergedFlags.rawValue))
    #expect(ran.out.contains("  explained    15"))
  }

  @Test func `a client whose state ignores repairs by pages makes a difference`() throws {
    var deaf = Interpretation()
    deaf.mendsState = false
    let ran = try Ran(checking: [Self.file], deaf)
    #expect(ran.code == .failure)
    let what =
      "starred_messages[2013], after all events of hamlet/modern: "
      + "\(StateExcuse.mergedFlags.rawValue), but the page of line 964 shows it, and mends it"
    #expect(
      ran.out.contains(
        """
        \(Self.file):962: \(what)
          expected  nothing
          found     null
        """), "\(ran.text)")
  }

  /// The part of a check that is about states.
  private static func report(on lines: [String], mendsState: Bool) throws -> StateCheck.Report {
    let scratch = try Scratch(lines)
    return try withExtendedLifetime(scratch) {
      let state = try #require(try Recording(file: scratch.path).state)
      return StateCheck(state, mendsState: mendsState).report
    }
  }

  @Test func `a page that agrees with the events leaves the difference explained`() throws {
    var lines = try shippedLines("observers.jsonl")
    let page = lines[963]
    lines[963] = try Self.changed(page, message: 2013) { $0["flags"] = ["read", "starred"] }
    #expect(page.contains(#""client":"hamlet/modern""#) && page.contains(#"{"id":2013,"#))
    let report = try Self.report(on: lines, mendsState: true)
    #expect(
      report.explained.contains { $0.hasPrefix("hamlet/modern, line 962: starred_messages[2013]") })
    #expect(report.differences.isEmpty, "\(report.differences)")
  }

  /// The audit finds an event that never came. A page shows something else, no event explains it,
  /// and a second reading says the same.
  @Test(arguments: [true, false])
  func `an audit's repair brings the state up to date only if the state is told`(_ mendsState: Bool)
    throws
  {
    var lines = try shippedLines("observers.jsonl")
    let place = try #require(
      lines.firstIndex {
        $0.contains(#""client":"hamlet/modern""#) && $0.contains(#""flag":"starred""#)
          && $0.contains("[2013,2041,2054,2054]")
      })
    lines[place] = lines[place].replacingOccurrences(
      of: "[2013,2041,2054,2054]", with: "[2013,2054,2054]")
    let report = try Self.report(on: lines, mendsState: mendsState)
    let keys = report.differences.map { String($0.what.prefix { $0 != "," }) }
    #expect(keys == (mendsState ? [] : ["starred_messages[2013]", "starred_messages[2041]"]))
  }

  /// A message is moved to a topic with a capital letter by an event that does not name it. In the
  /// recording it was moved twice within one second, and then nobody can tell a new page from an
  /// old one.
  @Test(arguments: [true, false], [true, false])
  func `a message's place is repaired whatever the spelling of its topic`(
    _ mendsState: Bool, _ isNewer: Bool
  ) throws {
    var lines = try shippedLines("observers.jsonl").map {
      $0.replacingOccurrences(of: "\"just one\"", with: "\"Just one\"")
    }
    let place = try #require(
      lines.firstIndex {
        $0.contains(#""client":"hamlet/modern""#) && $0.contains(#""subject":"Just one""#)
      })
    lines[place] = lines[place].replacingOccurrences(
      of: #""message_ids":[2059]"#, with: #""message_ids":[]"#)
    if isNewer {
      lines[962] = try Self.changed(lines[962], message: 2059) { message in
        message["last_edit_timestamp"] = (message["last_edit_timestamp"] as? Int ?? 0) + 1
      }
    }
    let report = try Self.report(on: lines, mendsState: mendsState)
    let row = "unread_msgs[2059].topic"
    let keys = report.differences.map { String($0.what.prefix { $0 != "," }) }
    #expect(
      keys == (mendsState ? [] : ["starred_messages[2013]"])
        + (mendsState && isNewer ? [] : [row]))
    #expect(!report.explained.contains { $0.contains(row) })
  }

  private static func hamlet() throws -> [String] {
    try shippedLines("observers.jsonl").filter { $0.contains(#""client":"hamlet/modern""#) }
  }

  /// A page with one message changed.
  private static func changed(
    _ line: String, message id: Int, _ change: (inout [String: Any]) -> Void
  ) throws -> String {
    var tree = try Tree(line)
    var messages = try #require(tree["response", "body", "messages"] as? [[String: Any]])
    for index in messages.indices where messages[index]["id"] as? Int == id {
      change(&messages[index])
    }
    tree["response", "body", "messages"] = messages
    return try tree.line
  }

  @Test func `sessions of other recordings are followed if they have a state`() throws {
    let ran = Ran("check", "--verbose", "--orders", "1", Shipped.recording("pages-and-races.jsonl"))
    #expect(ran.out.contains { $0.hasPrefix("  state        hamlet: 4 registered, 31 events") })
    let restarts = Ran("check", "--verbose", Shipped.recording("tornado-restart.jsonl"))
    #expect(
      restarts.out.contains { $0.hasPrefix("  state        hamlet/all-types: 1 registered, 6") })
    // This recording was cut down to what the machine reads.
    #expect(
      !Ran("check", "--verbose", Shipped.recording("session.jsonl")).text.contains("  state  "))
  }

  // MARK: Tampered sessions

  private static func ran(_ lines: [String]) throws -> (Ran, Scratch) {
    let scratch = try Scratch(lines)
    return (Ran("check", "--verbose", "--orders", "1", scratch.path), scratch)
  }

  @Test func `a changed event is reported by key, with both values`() throws {
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

  @Test func `a wrong count of unread messages is a difference`() throws {
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

  @Test func `an event without a required field is reported`() throws {
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

  @Test func `events during a comparing register do not count as differences`() throws {
    var lines = try shippedLines("observers.jsonl")
    let closing = try Self.closing(lines, "zoe/modern")
    let proof = try #require(
      lines.indices.first {
        $0 > closing && lines[$0].contains("zoe/modern") && lines[$0].contains("last_event_id")
          && lines[$0].contains("/api/v1/events")
      })
    var tree = try Tree(lines[proof])
    tree["response", "body", "events"] = [
      ["id": 400, "type": "alert_words", "alert_words": ["x"]] as [String: Any]
    ]
    lines[proof] = try tree.line
    let (ran, _) = try Self.ran(lines)
    #expect(ran.code == .success, "\(ran.text)")
    #expect(
      ran.text.contains("zoe/modern: 1 registered, 334 events, 4 pages, 0 compared"), "\(ran.text)")
  }

  // MARK: A queue that was lost

  /// Hamlet's session, changed so that he loses his queue half-way, and registers again after
  /// everything has happened. What came between is only in the snapshot. He asks for a page after
  /// each register, and before he compares.
  /// - Parameter isTold: whether he is told that his queue is gone. If not, he just gives it up.
  private static func lostSession(isTold: Bool = true) throws -> [String] {
    let lines = try hamlet()
    let closing = try closing(lines, "hamlet/modern")
    let proof = try #require(
      lines.indices.first { $0 > closing && lines[$0].contains(#""path":"/api/v1/events""#) })
    var refused = try Tree(lines[40])
    refused["response", "status"] = 400
    refused["response", "body"] =
      ["result": "error", "msg": "Bad event queue ID", "code": "BAD_EVENT_QUEUE_ID"]
      as [String: Any]
    let sent = try #require(refused["t_end"] as? Double)
    // He begins again with the new queue, polls until it is empty, and registers to compare.
    let queue = try Tree(lines[closing])["response", "body", "queue_id"]
    func later(_ line: Int, at seconds: Double) throws -> Tree {
      var tree = try Tree(lines[line])
      tree["t"] = sent + seconds
      tree["t_end"] = sent + seconds + 0.1
      return tree
    }
    func poll(at seconds: Double) throws -> String {
      var poll = try later(proof, at: seconds)
      poll["request", "params", "queue_id"] = queue
      poll["request", "params", "last_event_id"] = -1
      return try poll.line
    }
    var compared = try later(closing, at: 5)
    compared["response", "body", "queue_id"] = "another"
    return Array(lines[0..<40]) + (isTold ? [try refused.line] : [])
      + [try later(closing, at: 1).line, try later(closing + 1, at: 2).line, try poll(at: 3)]
      + [try later(closing + 2, at: 4).line, try compared.line, try poll(at: 6)]
  }

  @Test(arguments: [true, false])
  func `a client that lost its queue is up to date after its next register`(_ isTold: Bool) throws {
    let lines = try Self.lostSession(isTold: isTold)
    let (ran, _) = try Self.ran(lines)
    #expect(ran.code == .success, "\(ran.text)")
    #expect(
      ran.out.contains {
        $0.hasPrefix("  state        hamlet/modern: 2 registered, ")
          && $0.hasSuffix(" 3 pages, 1 compared with 519 rows, 0 explained")
      }, "\(ran.text)")
    // For messages, each queue is a session of its own.
    #expect(
      ran.text.contains("  pages        3: 3 given, 0 of them without contents, 0 of no session"))
    #expect(ran.out.count { $0.hasPrefix("  orders       queue ") } == 2)
    // Without the register in between there is nothing to compare with.
    let (other, _) = try Self.ran(Array(lines.prefix(41)))
    #expect(other.text.contains("hamlet/modern: 1 registered"))
    #expect(other.text.contains("0 compared"))
  }

  @Test func `a page of the new queue that contradicts the events is a difference`() throws {
    var lines = try Self.lostSession()
    // The second page of the new queue begins where the first ends, so both have that message.
    lines[44] = try Self.changed(lines[44], message: 2018) { $0["flags"] = ["collapsed"] }
    let (clean, _) = try Self.ran(lines)
    #expect(clean.code == .success, "the page does not have the message")
    lines[42] = try Self.changed(lines[42], message: 2139) { $0["flags"] = ["starred"] }
    lines[44] = lines[42]
    var again = try Tree(lines[44])
    again["t"] = (again["t"] as? Double ?? 0) + 2
    again["t_end"] = (again["t_end"] as? Double ?? 0) + 2
    lines[44] = try again.line
    lines[42] = try Self.changed(lines[42], message: 2139) { $0["flags"] = ["read"] }
    let (ran, scratch) = try Self.ran(lines)
    #expect(ran.code == .failure)
    #expect(
      ran.out.contains {
        $0.hasPrefix("\(scratch.path):45: message 2139, its flags, in ")
          && $0.hasSuffix("\n  expected  starred\n  found     read")
      }, "\(ran.text)")
  }

  @Test func `events of a lost queue no longer explain differences`() throws {
    var lines = try Self.lostSession()
    var tree = try Tree(lines[45])
    tree["response", "body", "starred_messages"] = [2013, 2041, 2054, 2117, 2118]
    lines[45] = try tree.line
    let (ran, _) = try Self.ran(lines)
    #expect(ran.code == .failure)
    #expect(ran.text.contains("starred_messages[2013], after all events"))
  }

  // MARK: Rules that the session has no case of

  /// Differences between two states of a user who is subscribed to channel 4 and has left 5.
  /// - Parameters:
  ///   - expected: conversations of unread messages in the register.
  ///   - found: the same in the state that is compared with it.
  private static func differences(
    _ expected: [ZulipValue], _ found: [ZulipValue]
  ) throws -> [String] {
    let states = try [expected, found].map { channels in
      let unread: ZulipValue = [
        "streams": .list(channels), "huddles": [], "pms": [], "mentions": [],
      ]
      return try ZulipState(
        snapshot: ZulipSnapshot([
          "subscriptions": [["stream_id": 4]], "unsubscribed": [["stream_id": 5]],
          "never_subscribed": [], "unread_msgs": unread,
        ]))
    }
    return StateDifference.all(from: states[0], to: states[1]).map(\.place)
  }

  private static func topic(
    _ topic: String, in channel: Int64, _ ids: ZulipValue...
  ) -> ZulipValue {
    ["stream_id": .number(channel), "topic": .text(topic), "unread_message_ids": .list(ids)]
  }

  @Test func `topics of unread messages are compared by their keys`() throws {
    let expected = [Self.topic("harvest", in: 4, 1, 2)]
    let spelled = [Self.topic("harvest", in: 4, 1), Self.topic("Harvest", in: 4, 2)]
    #expect(try Self.differences(expected, spelled) == [])
    #expect(
      try Self.differences(expected, [Self.topic("harvests", in: 4, 1, 2)])
        == ["unread_msgs[1].topic", "unread_msgs[2].topic"])
  }

  @Test func `unread messages of a channel that the user has left are not compared`() throws {
    let both = [Self.topic("a", in: 4, 1), Self.topic("a", in: 5, 2)]
    #expect(try Self.differences([Self.topic("a", in: 4, 1)], both) == [])
    #expect(try Self.differences([Self.topic("a", in: 5, 2)], both) == ["unread_msgs[1]"])
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
