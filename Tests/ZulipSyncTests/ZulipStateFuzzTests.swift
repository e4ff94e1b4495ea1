import Foundation
import SyncProtocols
import TestSupport
import Testing
import UpdateMachine
import ZulipSync

@Suite("A realm's state after invalid events")
struct ZulipStateFuzzTests {
  private static let strange: [ZulipValue] = [
    .null, true, 0, -1, .number(.max), .number(.min), .fraction(1e300), .fraction(0.5), "", "add",
    "remove", "update", "stream", "7", [], [7], [.null], ["x"], [:], ["user_id": 7],
    [["user_id": 7]], [.number(.max), .number(.min)],
  ]

  /// A copy of a value in which about one part in `count` is replaced, removed or doubled.
  private static func mutated(
    _ value: ZulipValue, _ random: inout SplitMix, oneOf count: Int
  ) -> ZulipValue {
    if Int.random(in: 0..<count, using: &random) == 0 {
      return strange.randomElement(using: &random) ?? .null
    }
    switch value {
    case .fields(let fields):
      var entries: [ZulipFields.Entry] = []
      for entry in fields.entries {
        if Int.random(in: 0..<count, using: &random) == 0 { continue }
        entries.append(.init(entry.name, mutated(entry.value, &random, oneOf: count)))
      }
      return .fields(ZulipFields(entries))
    case .list(let list):
      var elements: [ZulipValue] = []
      for element in list {
        elements.append(mutated(element, &random, oneOf: count))
        if Int.random(in: 0..<count, using: &random) == 0 { elements.append(element) }
      }
      return .list(elements)
    case .null, .bool, .number, .fraction, .text: return value
    }
  }

  /// Reads everything that an app reads.
  private static func look(at state: ZulipState) -> Int {
    state.users.count + state.channels.count + state.groups.count + state.unreadCount
      + state.starred.count + state.directory.channels.count
      + state.users.reduce(0) { $0 + $1.name.count + Int(truncatingIfNeeded: $1.role) }
  }

  @Test(arguments: ["hamlet/modern", "hamlet/legacy", "polonius/guest"])
  func `an invalid event is refused with its whole batch`(_ name: String) throws {
    let observer = RecordedObserver.named(name)
    var random = SplitMix(7)
    var state = try ZulipState(snapshot: observer.start)
    var counts = (applied: 0, refused: 0, unread: 0)
    for event in observer.events {
      for count in [6, 20, 60, 200] {
        let wrong = Self.mutated(.fields(event.fields), &random, oneOf: count)
        guard let event = try? ZulipEvent(wrong) else {
          counts.unread += 1
          continue
        }
        let before = state
        var after = state
        do throws(ZulipError) {
          try after.apply(event)
          counts.applied += 1
          if counts.applied % 16 == 0 { _ = Self.look(at: after) }
        } catch {
          counts.refused += 1
          #expect(after == before)
          #expect(after.counts == before.counts)
          guard case .malformed(let path) = error else { continue }
          #expect(path.hasPrefix(event.type), "\(path)")
        }
      }
      try state.apply(event)
    }
    // Each of these must happen often, or nothing was tested.
    #expect(counts.applied > 100 && counts.refused > 30 && counts.unread > 100, "\(counts)")
  }

  @Test func `a client keeps its state when the last event of a batch is invalid`() throws {
    let observer = RecordedObserver.named("hamlet/modern")
    let now = Moment(milliseconds: 0)
    var settings = ClientSettings()
    settings.hasStore = false
    var client = SyncClient<ZulipState, EventQueue<ZulipEvent>>(
      incarnation: Incarnation(1), settings: settings)
    _ = client.handle(.app(.started(foreground: true)), at: now)
    let register = try #require(client.status.outstanding)
    let finger = QueueFinger(queue: QueueID("q"), lastEventID: -1)
    let terms = ServerTerms(longDeadline: .seconds(100), lifetime: .seconds(600))
    let effects = client.handle(
      .snapshotArrived(register.id, observer.start, finger: finger, terms: terms), at: now)
    if let arm = effects.machine.arm, client.status.outstanding == nil {
      _ = client.handle(.fired(arm.timer), at: arm.range.latest)
    }
    let poll = try #require(client.status.outstanding)
    let before = client.model
    let wrong = try ZulipEvent(
      #"{"id":999,"type":"realm_user","op":"update","person":{"full_name":"x"}}"#)
    let batch = ZulipEvents(observer.events.prefix(50) + [wrong]).batch
    _ = client.handle(.batchArrived(poll.id, batch), at: now)
    #expect(client.model == before)
    #expect(client.finger == nil)
    // That event alone is refused.
    var state = try #require(before)
    for event in observer.events.prefix(50) { try state.apply(event) }
    #expect(state != before)
    #expect(throws: ZulipError.malformed(path: "realm_user.person.user_id")) {
      try state.apply(wrong)
    }
  }

  @Test func `an invalid register is a state or an error`() throws {
    var random = SplitMix(11)
    var counts = (read: 0, refused: 0)
    for observer in RecordedObserver.all {
      // Long fields are changed less, or they would always fail.
      for _ in 0..<60 {
        let field = observer.start.fields.entries.randomElement(using: &random)
        guard let field else { continue }
        let count = [4, 40, 400].randomElement(using: &random) ?? 40
        let fields = ZulipFields([
          .init(field.name, Self.mutated(field.value, &random, oneOf: count)),
          .init(
            "unread_msgs",
            Self.mutated(
              observer.closing.fields["unread_msgs"] ?? .null, &random, oneOf: 400)),
        ])
        do throws(ZulipError) {
          _ = Self.look(at: try ZulipState(snapshot: ZulipSnapshot(fields)))
          counts.read += 1
        } catch {
          counts.refused += 1
        }
      }
    }
    #expect(counts.read > 50 && counts.refused > 20, "\(counts)")
  }

  @Test func `a damaged saved form is a state or an error`() throws {
    var random = SplitMix(13)
    let observer = RecordedObserver.named("hamlet/modern")
    let state = try ZulipState(snapshot: observer.start)
    var writer = RowWriter()
    state.store(since: nil, into: &writer)
    let rows = writer.rows.compactMap { row in row.value.map { (key: row.key, value: $0) } }
    var counts = (read: 0, refused: 0)
    for _ in 0..<120 {
      var damaged = rows
      let index = Int.random(in: 0..<rows.count, using: &random)
      let place = Int.random(in: 0..<rows[index].value.count, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: damaged[index].value[place] = UInt8.random(in: 0...255, using: &random)
      case 1: damaged[index].value.removeSubrange(place...)
      case 2: damaged[index].value = rows.randomElement(using: &random)?.value ?? []
      default: damaged[index].key.bytes.removeLast()
      }
      do {
        var wrong = try ZulipState(stored: RowReader(damaged))
        _ = Self.look(at: wrong)
        for event in observer.events.suffix(80) { try? wrong.apply(event) }
        counts.read += 1
      } catch {
        counts.refused += 1
      }
    }
    #expect(counts.read > 20 && counts.refused > 20, "\(counts)")
  }

  @Test func `a truncated answer is an error`() throws {
    let observer = RecordedObserver.named("zoe/modern")
    let fields = observer.answers.first { $0.events.count > 1 }?.events.map(\.fields) ?? []
    let value: ZulipValue = ["events": .list(fields.map { .fields($0) })]
    let bytes = Array("\(value)".utf8)
    #expect(bytes.count > 500)
    for count in 0..<bytes.count {
      #expect(throws: ZulipError.self) {
        try ZulipError.decode(ZulipEvents.self, from: Data(bytes.prefix(count)))
      }
    }
  }

  static let malformed: [(event: String, path: String)] = [
    (#"{"type":"alert_words"}"#, "alert_words.alert_words"),
    (#"{"type":"alert_words","alert_words":7}"#, "alert_words.alert_words"),
    (#"{"type":"realm","op":"update","property":"name"}"#, "realm.value"),
    (#"{"type":"realm","op":"update","property":"name","value":7}"#, "realm.value"),
    (#"{"type":"realm","property":"name","value":"x"}"#, "realm.op"),
    (#"{"type":"realm","op":"update_dict","data":{"name":[]}}"#, "realm.data.name"),
    (
      #"{"type":"user_settings","op":"update","property":"enter_sends","value":1}"#,
      "user_settings.value"
    ),
    (#"{"type":"drafts","op":"add","drafts":[{}]}"#, "drafts.drafts[0].id"),
    (#"{"type":"drafts","op":"remove"}"#, "drafts.draft_id"),
    (
      #"{"type":"user_group","op":"add_members","group_id":9,"user_ids":["7"]}"#,
      "user_group.user_ids[0]"
    ),
    (
      #"{"type":"realm_user","op":"update","person":{"user_id":7,"full_name":true}}"#,
      "realm_user.person.full_name"
    ),
    (
      #"{"type":"realm_user","op":"update","person":{"user_id":7,"is_active":1}}"#,
      "realm_user.person.is_active"
    ),
    (#"{"type":"stream","op":"create","streams":[{"name":"x"}]}"#, "stream.streams[0].stream_id"),
    (#"{"type":"subscription","op":"peer_add","stream_ids":[3]}"#, "subscription.user_ids"),
    (#"{"type":"user_topic","stream_id":3,"topic_name":"a"}"#, "user_topic.visibility_policy"),
    (#"{"type":"user_status","user_id":7,"status_text":1}"#, "user_status.status_text"),
    (
      #"{"type":"update_message_flags","op":"remove","flag":"read","messages":[1]}"#,
      "update_message_flags.message_details"
    ),
  ]

  @Test(arguments: malformed.indices)
  func `a missing field of an event is reported only by its path`(_ index: Int) throws {
    let (event, path) = Self.malformed[index]
    var state = try ZulipState(snapshot: RecordedObserver.named("hamlet/modern").start)
    let before = state
    #expect(throws: ZulipError.malformed(path: path)) { try state.apply(try ZulipEvent(event)) }
    #expect(state == before)
  }

  @Test func `unknown event types are ignored and counted`() throws {
    var state = try ZulipState(#"{"realm_name":"a","realm_users":[]}"#)
    let events = [
      #"{"type":"mood","mood":7}"#, #"{"type":"mood"}"#,
      #"{"type":"realm","op":"update","property":"name","value":"b","mood":1}"#,
      #"{"type":"realm","op":"update","property":"mood","value":"b"}"#,
      #"{"type":"drafts","op":"remove","draft_id":1}"#,
      #"{"type":"realm_user","op":"update","person":{"user_id":7,"full_name":"x"}}"#,
      #"{"type":"realm","op":"deactivated"}"#, #"{"type":"presence","user_id":7}"#,
    ]
    for event in events { try state.apply(try ZulipEvent(event)) }
    #expect(state.realmSetting("name") == "b")
    #expect(state.counts.unknownTypes == ["mood": 2])
    #expect(state.counts.unknownFields == ["realm.mood": 1])
    #expect(state.counts.notHeld == 2)
    #expect(state.counts.strays == 1)
  }

  /// One rule for all types: what is not known is ignored and counted. A register for each would
  /// never end on a server that is newer than the app.
  @Test(arguments: [
    ("reaction", #""message_id":1,"user_id":7,"emoji_code":"1f389","reaction_type":"x""#),
    ("update_message_flags", #""flag":"read","messages":[1]"#), ("realm_user", #""person":{}"#),
    ("update_message_flags", ""), ("stream", ""), ("subscription", ""), ("drafts", ""),
    ("user_group", #""group_id":1"#), ("realm", #""property":"name","value":"b""#),
    ("realm_user_settings_defaults", #""property":"a","value":1"#),
  ])
  func `an unknown op is ignored and counted`(type: String, fields: String) throws {
    var state = try ZulipState(
      #"{"realm_name":"a","realm_users":[],"streams":[],"subscriptions":[],"drafts":[],"#
        + #""realm_user_groups":[],"unread_msgs":{"streams":[],"huddles":[],"pms":[],"#
        + #""mentions":[]},"realm_user_settings_defaults":{"a":1}}"#)
    let before = state
    let text = #"{"type":"\#(type)","op":"swap"\#(fields.isEmpty ? "" : ",")\#(fields)}"#
    let event = try ZulipEvent(text)
    try state.apply(event)
    #expect(state == before)
    #expect(event.changes(.rendered).isEmpty)
    #expect(state.counts.unknownOps == ["\(type).swap": 1])
  }

  @Test func `the counts of unknown event types are limited`() throws {
    var state = try ZulipState("{}")
    for number in 0..<300 { try state.apply(try ZulipEvent(#"{"type":"t\#(number)"}"#)) }
    #expect(state.counts.unknownTypes.count == 101)
    #expect(state.counts.unknownTypes[""] == 200)
  }
}
