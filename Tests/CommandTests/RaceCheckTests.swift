import Foundation
import MessageSync
import Testing
import UpdateMachine
import ZulipSync

@testable import RecordingCheck

/// A recording of one client, written in a test. Each line ends half a second after it was sent,
/// and the next one is sent half a second after that.
struct SmallRecording {
  private(set) var lines: [(number: Int, line: Data)] = []
  var client = "ann"

  /// - Parameter channels: the channels that the user follows.
  init(following channels: [Int], user: Int = 1) throws {
    try register("q", following: channels, user: user)
  }

  var messages: MessageRecording { MessageRecording(lines) }

  /// What the check finds in it, in every order of its pages.
  var report: MessageCheck.Report { report(orders: 500) }

  /// What the check finds in it. With one order it is the recorded one.
  func report(orders: Int) -> MessageCheck.Report {
    MessageCheck(bound: orders, isInterrupted: { false }).report(on: messages)
  }

  mutating func add(
    _ method: String, _ path: String, _ params: [String: Any], _ body: Any,
    status: Int = 200
  ) throws {
    let number = lines.count + 1
    let line: [String: Any] = [
      "t": 1000 + number, "t_end": Double(1000 + number) + 0.5, "client": client,
      "request": ["method": method, "path": "/api/v1/\(path)", "params": params] as [String: Any],
      "response": ["status": status, "body": body] as [String: Any],
    ]
    lines.append((number, try JSONSerialization.data(withJSONObject: line)))
  }

  mutating func register(_ queue: String, following channels: [Int], user: Int = 1) throws {
    let body: [String: Any] = [
      "queue_id": queue, "last_event_id": -1, "user_id": user,
      "subscriptions": channels.map { ["stream_id": $0] },
    ]
    try add("POST", "register", ["apply_markdown": true], body)
  }

  mutating func poll(_ events: [String: Any]..., queue: String = "q") throws {
    try add("GET", "events", ["queue_id": queue, "last_event_id": -1], ["events": events])
  }

  /// Another connection deletes the queue, and then the client hears that it is gone.
  mutating func lose(_ queue: String = "q") throws {
    try add("DELETE", "events", ["queue_id": queue], ["result": "success"])
    try add(
      "GET", "events", ["queue_id": queue, "last_event_id": -1],
      ["result": "error", "code": "BAD_EVENT_QUEUE_ID"], status: 400)
  }

  /// A page of the newest messages, of everything if there are no terms.
  mutating func page(
    _ narrow: [(operator: String, operand: Any)], _ messages: [[String: Any]]
  ) throws {
    let terms = narrow.map { ["operator": $0.operator, "operand": $0.operand] }
    let params: [String: Any] = [
      "anchor": "newest", "num_before": 9, "num_after": 0, "narrow": terms,
    ]
    try add(
      "GET", "messages", params,
      [
        "anchor": 10_000_000_000_000_000, "found_anchor": false, "found_oldest": true,
        "found_newest": true, "history_limited": false, "messages": messages,
      ])
  }

  /// A message as a page shows it.
  static func message(
    _ id: Int, in channel: Int, _ topic: String, flags: [String] = [], edited: Int? = nil
  ) -> [String: Any] {
    var message: [String: Any] = [
      "id": id, "sender_id": 2, "type": "stream", "stream_id": channel, "subject": topic,
      "display_recipient": "x", "content": "<p>hi</p>", "content_type": "text/html",
      "flags": flags, "reactions": [Any](),
    ]
    message["last_edit_timestamp"] = edited
    return message
  }

  /// A direct message as a page shows it.
  static func direct(_ id: Int) -> [String: Any] {
    var message = message(id, in: 0, "")
    message["type"] = "private"
    message["stream_id"] = nil
    message["display_recipient"] = [["id": 1], ["id": 2]]
    return message
  }

  /// The event of a new message.
  static func sent(_ id: Int, in channel: Int, _ topic: String, event: Int) -> [String: Any] {
    var message = message(id, in: channel, topic)
    message["flags"] = nil
    return ["id": event, "type": "message", "flags": [String](), "message": message]
  }

  /// The event of a move to another topic.
  static func moved(
    _ id: Int, in channel: Int, _ topic: String, to target: String, at moment: Int, event: Int
  ) -> [String: Any] {
    [
      "id": event, "type": "update_message", "message_id": id, "message_ids": [id],
      "stream_id": channel, "orig_subject": topic, "subject": target,
      "propagate_mode": "change_one", "edit_timestamp": moment, "rendering_only": false,
      "flags": [String](),
    ]
  }

  static func starred(_ ids: Int..., event: Int) -> [String: Any] {
    [
      "id": event, "type": "update_message_flags", "op": "add", "flag": "starred",
      "messages": ids, "all": false,
    ]
  }

  static func followed(_ channel: Int, event: Int) -> [String: Any] {
    [
      "id": event, "type": "subscription", "op": "add",
      "subscriptions": [["stream_id": channel, "name": "x"] as [String: Any]],
    ]
  }
}

@Suite("check: races of pages and events")
struct RaceCheckTests {
  // MARK: Stale copies

  /// A message is moved, and then a page of its channel shows it where it was before.
  private func afterMove(showing topic: String, edited: Int?) throws -> MessageCheck.Report {
    var recording = try SmallRecording(following: [7])
    try recording.poll(SmallRecording.sent(5, in: 7, "a", event: 0))
    try recording.poll(SmallRecording.moved(5, in: 7, "a", to: "b", at: 100, event: 1))
    try recording.page(
      [("channel", 7)], [SmallRecording.message(5, in: 7, topic, edited: edited)])
    try recording.poll()
    return recording.report
  }

  @Test func `a copy older than an event before the page was asked for is no truth`() throws {
    let report = try afterMove(showing: "a", edited: nil)
    #expect(report.differences.isEmpty, "\(report.differences)")
    let session = try #require(report.sessions.first)
    #expect(session.stale.keys.sorted() == [MessageID(5)])
    #expect(session.stale[MessageID(5)]?.line == 4)
    // If the fetch began before the events, they are applied to the copy.
    #expect((1..<session.orders).contains(session.staleCount))
    #expect(
      report.texts.contains {
        $0.hasPrefix("    queue q: message 5, as an old cache shows it on line 4, in ")
      }, "\(report.texts)")
  }

  @Test func `a copy of the event's own version is the truth`() throws {
    let fresh = try afterMove(showing: "b", edited: 100)
    #expect(fresh.differences.isEmpty && fresh.stale == 0, "\(fresh.differences)")
    let other = try afterMove(showing: "a", edited: 100)
    #expect(other.differences.map(\.expected).contains("7/a"), "\(other.differences)")
    #expect(other.stale == 0)
  }

  @Test func `a stale copy does not excuse what it does not show`() throws {
    let report = try afterMove(showing: "c", edited: nil)
    #expect(report.differences.isEmpty)
    // The next page shows another place than the stale copy and the events.
    var recording = try SmallRecording(following: [7])
    try recording.poll(SmallRecording.sent(5, in: 7, "a", event: 0))
    try recording.poll(SmallRecording.moved(5, in: 7, "a", to: "b", at: 100, event: 1))
    try recording.page([("channel", 7)], [SmallRecording.message(5, in: 7, "a")])
    try recording.page([("channel", 7)], [SmallRecording.message(5, in: 7, "c", edited: 100)])
    try recording.poll()
    #expect(recording.report.differences.contains { $0.expected == "7/c" && $0.found == "7/b" })
  }

  /// Which stale copies are left at the end of the recorded order, and whether they excuse.
  private func contradictions(_ recording: SmallRecording) throws -> [MessageID: Bool] {
    let session = try #require(MessageSessions(recording.messages).sessions.first)
    let race = MessageRace(MessageTruth(session), session.narrows, atMost: 1)
    var found: [MessageID: Bool] = [:]
    MessageTree([race][...]).play(
      while: { true },
      ended: { run, _, _ in found = run.stale.mapValues(\.isContradicted) })
    return found
  }

  @Test func `a stale copy excuses only until a page contradicts it, or after an event`() throws {
    var recording = try SmallRecording(following: [7])
    try recording.poll(SmallRecording.sent(5, in: 7, "a", event: 0))
    try recording.poll(SmallRecording.moved(5, in: 7, "a", to: "b", at: 100, event: 1))
    try recording.page([("channel", 7)], [SmallRecording.message(5, in: 7, "a")])
    try recording.poll()
    #expect(try contradictions(recording) == [MessageID(5): false])
    try recording.page([("channel", 7)], [SmallRecording.message(5, in: 7, "b", edited: 100)])
    try recording.poll()
    #expect(try contradictions(recording) == [MessageID(5): true])
    // An event ends the second reading that would mend the copy.
    try recording.poll(SmallRecording.starred(5, event: 2))
    #expect(try contradictions(recording) == [MessageID(5): false])
  }

  // MARK: Second readings

  @Test func `a second reading mends what a stale copy left`() throws {
    var recording = try SmallRecording(following: [7])
    try recording.poll(SmallRecording.sent(5, in: 7, "a", event: 0))
    try recording.poll(SmallRecording.moved(5, in: 7, "a", to: "b", at: 100, event: 1))
    try recording.page([("channel", 7)], [SmallRecording.message(5, in: 7, "a")])
    #expect(recording.report(orders: 1).differences.isEmpty)
    try recording.page([("channel", 7)], [SmallRecording.message(5, in: 7, "b", edited: 100)])
    try recording.poll()
    let report = recording.report(orders: 1)
    #expect(report.differences.isEmpty, "\(report.differences)")
    #expect(report.stale == 0)
    #expect(report.sessions.contains { $0.suspects > 0 })
  }

  @Test func `a second reading does not excuse what changed without an event`() throws {
    var recording = try SmallRecording(following: [7])
    try recording.page([("channel", 7)], [SmallRecording.message(5, in: 7, "a")])
    try recording.poll()
    try recording.page([("channel", 7)], [SmallRecording.message(5, in: 7, "b", edited: 100)])
    try recording.poll()
    #expect(recording.report.differences.contains { $0.expected == "7/b" && $0.found == "7/a" })
  }

  // MARK: Asking again

  @Test func `a message that a list leaves open is asked for, though the list lacks it`() throws {
    var recording = try SmallRecording(following: [7])
    try recording.page([("is", "dm")], [SmallRecording.direct(3)])
    // Of message 5 nothing is known, so it may be in the list. Message 3 makes the page too old to
    // answer once more.
    try recording.poll(SmallRecording.starred(3, 5, event: 0))
    try recording.page(
      [("channel", 7)], [SmallRecording.message(5, in: 7, "a", flags: ["starred"])])
    try recording.poll()
    let report = recording.report
    #expect(report.differences.isEmpty, "\(report.differences)")
    #expect(report.sessions.contains { $0.askedAgain > 0 })
  }

  @Test func `the newest page answers for those that the store gave up`() throws {
    var recording = try SmallRecording(following: [7])
    try recording.page([("channel", 7)], [])
    try recording.poll(SmallRecording.followed(8, event: 0))
    // The message was moved here from a channel that the user does not follow.
    try recording.page([("channel", 7)], [SmallRecording.message(5, in: 7, "a", edited: 100)])
    try recording.poll()
    let report = recording.report
    #expect(report.differences.isEmpty, "\(report.differences)")
  }

  // MARK: Lost queues

  @Test func `the life of a lost queue ends at its last answered poll`() throws {
    var recording = try SmallRecording(following: [7])
    try recording.page([("channel", 7)], [SmallRecording.message(5, in: 7, "a")])
    try recording.poll()
    // The event of this move was lost with the queue.
    try recording.page([("channel", 7)], [SmallRecording.message(5, in: 7, "b", edited: 100)])
    try recording.lose()
    let sessions = MessageSessions(recording.messages)
    #expect(sessions.sessions.map { $0.pages.map(\.line) } == [[2]])
    #expect(recording.report.differences.isEmpty)
  }
}

@Suite("check: the users of a recording")
struct RecordedUserTests {
  /// Two observers whose names begin with the same word, and a client that never registers.
  private func recording(_ second: String, user: Int) throws -> SmallRecording {
    var recording = try SmallRecording(following: [7])
    recording.client = "obs/iago"
    try recording.register("q1", following: [7], user: 1)
    recording.client = second
    try recording.register("q2", following: [7], user: user)
    recording.client = "iago/actor"
    try recording.page([("channel", 7)], [])
    return recording
  }

  private func read(_ recording: SmallRecording) throws -> Recording {
    let scratch = try Scratch(recording.lines.map { String(decoding: $0.line, as: UTF8.self) })
    return try withExtendedLifetime(scratch) { try Recording(file: scratch.path) }
  }

  @Test func `clients are the users that they registered as`() throws {
    let read = try read(try recording("obs/hamlet", user: 2))
    #expect(read.exchanges.map(\.user) == ["ann", "ann", "obs/hamlet", "iago"])
    #expect(read.messages?.exchanges.map(\.user) == ["ann", "ann", "obs/hamlet", "iago"])
  }

  @Test func `a user that is no number is refused, and a body that is no object names none`()
    throws
  {
    func register(_ body: Any) throws -> SmallRecording {
      var recording = try SmallRecording(following: [7])
      try recording.add("POST", "register", [:], body)
      return recording
    }
    #expect(throws: RecordingError.self) { try read(try register(["user_id": "seven"])) }
    #expect(try read(try register("<html>")).exchanges.last?.registeredUser == nil)
    #expect(try read(try register(["queue_id": "p"])).exchanges.last?.registeredUser == nil)
  }

  @Test func `a client that registers as two users is refused`() throws {
    let wrong = try recording("obs/iago", user: 2)
    #expect {
      _ = try read(wrong)
    } throws: { error in
      (error as? RecordingError)?.message.hasSuffix(
        ":3: obs/iago registers as user 2, but before as user 1") == true
    }
  }
}
