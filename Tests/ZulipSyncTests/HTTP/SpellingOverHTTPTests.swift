import Foundation
import LoopbackServer
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests fields that servers have renamed, over a socket. Each name must be understood alike.
@Suite(.timeLimit(.minutes(3))) struct SpellingOverHTTPTests {
  /// An event as most servers write it, and the spellings of other servers.
  struct Case: CustomTestStringConvertible {
    var event: String
    var changes: [(old: String, new: String)]

    init(_ event: String, _ changes: (String, String)...) {
      self.event = event
      self.changes = changes.map { (old: $0.0, new: $0.1) }
    }

    var testDescription: String { changes.map(\.new).joined(separator: ", ") }

    var other: String {
      changes.reduce(event) { RecordedLines.changed($0, $1.old, $1.new) }
    }
  }

  private static func message(_ id: Int, _ place: String) -> String {
    """
    {"type":"message","id":1,"flags":[],"message":{"id":\(id),"sender_id":8,\(place),\
    "content":"a","content_type":"text/html","reactions":[]}}
    """
  }

  private static let inChannel =
    #""type":"stream","stream_id":4,"subject":"Lunch","display_recipient":"general""#
  private static let direct =
    #""type":"private","display_recipient":[{"id":7},{"id":8}],"subject":"""#

  /// Two unread messages: 5 in a channel, and starred; 6 in a direct conversation.
  private static let register = """
    "queue_id":"q1","last_event_id":-1,"zulip_feature_level":323,"user_id":7,"streams":[],\
    "subscriptions":[{"stream_id":4,"name":"general","is_muted":false,"subscribers":[7]}],\
    "realm_user_groups":[{"id":1,"name":"g","members":[],"direct_subgroup_ids":[]}],\
    "starred_messages":[5],"unread_msgs":{"streams":[{"stream_id":4,"topic":"Lunch",\
    "unread_message_ids":[5]}],"huddles":[],"pms":[{"other_user_id":8,"unread_message_ids":[6]}],\
    "mentions":[]}
    """

  static let cases = [
    Case(message(9, inChannel), (#""subject""#, #""topic""#)),
    Case(message(9, inChannel), (#""stream","#, #""channel","#)),
    Case(message(9, inChannel), (#""subject":"Lunch""#, #""subject":"Lunch","topic":"x""#)),
    Case(message(9, direct), ("private", "direct")),
    Case(
      #"""
      {"type":"update_message","id":1,"message_id":5,"message_ids":[5],"edit_timestamp":9,"flags":[],
       "rendering_only":false,"stream_id":4,"orig_subject":"Lunch","subject":"Dinner"}
      """#,
      (#""orig_subject""#, #""orig_topic""#), (#""subject""#, #""topic""#)),
    Case(
      #"{"type":"delete_message","id":1,"message_ids":[5],"message_type":"stream","stream_id":4}"#,
      (#""message_ids":[5]"#, #""message_id":5"#), ("stream\"", "channel\"")),
    Case(
      #"{"type":"update_message_flags","id":1,"op":"add","flag":"starred","messages":[6]}"#,
      (#""op""#, #""operation""#)),
    Case(
      #"{"type":"update_message_flags","id":1,"op":"remove","flag":"starred","messages":[5]}"#,
      (#""op""#, #""operation""#)),
    Case(
      #"""
      {"type":"update_message_flags","id":1,"op":"remove","flag":"read","messages":[3,4],
       "message_details":{"3":{"type":"stream","stream_id":4,"topic":"x"},
                          "4":{"type":"private","user_ids":[8]}}}
      """#,
      (#""op""#, #""operation""#), (#""stream""#, #""channel""#), ("private", "direct")),
    Case(
      #"{"type":"subscription","id":1,"op":"peer_add","user_ids":[8],"stream_ids":[4]}"#,
      (#""user_ids":[8]"#, #""user_id":8"#), (#""stream_ids":[4]"#, #""stream_id":4"#)),
    Case(
      #"{"type":"user_group","id":1,"op":"add_subgroups","group_id":1,"direct_subgroup_ids":[2]}"#,
      ("direct_subgroup_ids", "subgroup_ids")),
  ]

  /// The state of a client after a register and a poll with one event.
  private func take(
    _ event: String?, register: String = register
  ) async throws -> (state: ZulipState, kind: ZulipEvent.Kind?) {
    var result: (ZulipState, ZulipEvent.Kind?)?
    try await Ada.serve { request in
      request.method == "POST" ? .success(register) : .events(event ?? "")
    } while: { _, connection in
      var asked = ZulipRegister()
      asked.client.includesSubscribers = true
      let registered = try await connection.register(asked)
      var state = try ZulipState(snapshot: registered.snapshot)
      let batch = try await connection.events(after: registered.finger, waits: false)
      let taken = batch.events.first?.event
      if let taken { try state.apply(taken) }
      #expect(state.counts.unknownFields.isEmpty)
      result = (state, taken?.kind)
    }
    return try #require(result)
  }

  @Test(arguments: cases)
  func `an event is the same whichever names its server uses`(spelled: Case) async throws {
    let before = try await take(nil)
    let usual = try await take(spelled.event)
    let other = try await take(spelled.other)
    #expect(usual.state != before.state, "the event changes something")
    #expect(spelled.changes.allSatisfy { spelled.event.contains($0.old) })
    #expect(other.state == usual.state)
    #expect(other.kind == usual.kind)
  }

  @Test func `a register is the same whichever names its server uses`() async throws {
    let usual = try await take(nil)
    let other = try await take(
      nil,
      register: RecordedLines.changed(Self.register, "other_user_id", "sender_id"))
    #expect(other.state == usual.state)
  }

  @Test func `a topic beside an edit is no move`() async throws {
    let edit = #"""
      {"type":"update_message","id":1,"message_id":5,"message_ids":[5],"edit_timestamp":9,"flags":[],
       "rendering_only":false,"content":"b","rendered_content":"b","stream_id":4}
      """#
    let usual = try await take(edit)
    let other = try await take(RecordedLines.changed(edit, #""stream_id":4"#, #""topic":"x""#))
    #expect(other.state == usual.state)
    #expect(other.kind == usual.kind)
  }

  @Test func `a page is the same whichever names its server uses`() async throws {
    let page = Shared(RecordedLines.page)
    try await Ada.serve { _ in
      .json(page.value)
    } while: { _, connection in
      let request = ZulipPageRequest(ZulipNarrow([]), .newest, before: 2, after: 0)
      let usual = try await connection.messages(request)
      page.change { page in
        for (old, new) in [
          (#""subject""#, #""topic""#), (#""stream","#, #""channel","#), ("private", "direct"),
        ] {
          page = RecordedLines.changed(page, old, new)
        }
      }
      #expect(page.value != RecordedLines.page)
      #expect(try await connection.messages(request) == usual)
    }
  }
}
