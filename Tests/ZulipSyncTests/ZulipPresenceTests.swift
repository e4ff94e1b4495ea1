import Foundation
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine
import ZulipSync

@Suite("Who is there, and who is typing")
struct ZulipPresenceTests {
  private static func moment(_ seconds: Int64) -> Moment { Moment(milliseconds: seconds * 1_000) }

  private static func presence(_ presences: String = "{}") throws -> ZulipPresence {
    let text = """
      {"presences":\(presences),"server_timestamp":1000000.5,
       "server_presence_offline_threshold_seconds":200,
       "server_typing_started_expiry_period_milliseconds":45000}
      """
    let fields = try ZulipValue(json: Data(text.utf8)).fields ?? [:]
    return try ZulipPresence(snapshot: .init(fields, at: moment(50)))
  }

  private static func heard(_ json: String, at seconds: Int64) throws -> ZulipHeard {
    ZulipHeard(try ZulipEvent(json), at: moment(seconds))
  }

  private static func typing(_ op: String, by user: Int, _ place: String) -> String {
    #"{"type":"typing","op":"\#(op)","sender":{"user_id":\#(user)},\#(place)}"#
  }

  private static let inChannel = #""message_type":"stream","stream_id":4,"topic":"Castle""#
  private static let castle = MessagePlace.zulip(ChannelID(4), topic: "castle")

  @Test func `a recorded session ends in the state of a new register`() throws {
    for observer in RecordedObserver.all where observer.name != "hamlet/legacy" {
      var presence = try ZulipPresence(snapshot: .init(observer.start.fields, at: Self.moment(0)))
      for event in observer.events {
        try presence.apply(ZulipHeard(event, at: Self.moment(1)))
      }
      let closing = try ZulipPresence(snapshot: .init(observer.closing.fields, at: Self.moment(2)))
      // One user was deactivated and came back; another is gone.
      #expect(presence.people == closing.people)
      #expect(closing.people.count == 49)
    }
  }

  @Test func `a status ends by itself, by the server's clock`() throws {
    let seven = UserID(7)
    let presence = try Self.presence(
      #"{"7":{"active_timestamp":999900,"idle_timestamp":999950},"8":{"idle_timestamp":1000000}}"#)
    // The server's second 1,000,000.5 is our second 50, so 999,900 + 200 is our 149.5.
    #expect(presence.status(of: seven, at: Moment(milliseconds: 149_499)) == .active)
    #expect(presence.status(of: seven, at: Moment(milliseconds: 149_500)) == .idle)
    #expect(presence.status(of: seven, at: Moment(milliseconds: 199_500)) == .offline)
    #expect(presence.status(of: UserID(8), at: Self.moment(50)) == .idle)
    #expect(presence.status(of: UserID(9), at: Self.moment(50)) == .offline)
    #expect(presence.nextChange(after: Self.moment(50)) == Moment(milliseconds: 149_500))
    #expect(presence.nextChange(after: Self.moment(150)) == Moment(milliseconds: 199_500))
    #expect(presence.nextChange(after: Self.moment(300)) == nil)
  }

  @Test func `a client's report moves a status only forward`() throws {
    var presence = try Self.presence(#"{"7":{"active_timestamp":900000,"idle_timestamp":999999}}"#)
    let event = """
      {"type":"presence","user_id":7,"server_timestamp":1000100,
       "presence":{"website":{"client":"website","status":"active","timestamp":1000099}}}
      """
    try presence.apply(try Self.heard(event, at: 151))
    #expect(presence.status(of: UserID(7), at: Self.moment(151)) == .active)
    let old = event.replacingOccurrences(of: "1000099", with: "5")
    try presence.apply(try Self.heard(old, at: 152))
    #expect(presence.people[UserID(7)]?.lastActive == 1_000_099)
    let newer = #"{"type":"presence","presences":{"8":{"active_timestamp":1000100}}}"#
    try presence.apply(try Self.heard(newer, at: 152))
    #expect(presence.status(of: UserID(8), at: Self.moment(152)) == .active)
  }

  @Test func `a delayed event does not move the clock back`() throws {
    var presence = try Self.presence()
    let event = """
      {"type":"presence","user_id":7,"server_timestamp":1000010.5,
       "presence":{"website":{"status":"active","timestamp":1000010}}}
      """
    // The event was written at our 60 and came at our 200. What it says ends at 60 + 199.5.
    try presence.apply(try Self.heard(event, at: 200))
    #expect(presence.status(of: UserID(7), at: Moment(milliseconds: 259_499)) == .active)
    #expect(presence.status(of: UserID(7), at: Moment(milliseconds: 259_500)) == .offline)
    // An event that travelled faster than all others shows that the register was 2 s slower.
    try presence.apply(
      try Self.heard(event.replacingOccurrences(of: "1000010.5", with: "1000203.5"), at: 251))
    #expect(presence.status(of: UserID(7), at: Moment(milliseconds: 257_499)) == .active)
    #expect(presence.status(of: UserID(7), at: Moment(milliseconds: 257_500)) == .offline)
  }

  @Test func `typing ends by an event, or by time alone`() throws {
    var presence = try Self.presence()
    try presence.apply(try Self.heard(Self.typing("start", by: 7, Self.inChannel), at: 60))
    try presence.apply(try Self.heard(Self.typing("start", by: 8, Self.inChannel), at: 70))
    #expect(presence.typists(in: Self.castle, at: Self.moment(104)) == [UserID(7), UserID(8)])
    #expect(presence.nextChange(after: Self.moment(70)) == Self.moment(105))
    #expect(presence.typists(in: Self.castle, at: Self.moment(105)) == [UserID(8)])
    try presence.apply(try Self.heard(Self.typing("start", by: 7, Self.inChannel), at: 100))
    #expect(presence.typists(in: Self.castle, at: Self.moment(105)) == [UserID(7), UserID(8)])
    try presence.apply(try Self.heard(Self.typing("stop", by: 8, Self.inChannel), at: 101))
    #expect(presence.typists(in: Self.castle, at: Self.moment(105)) == [UserID(7)])
    let direct = #""message_type":"direct","recipients":[{"user_id":8},{"user_id":7}]"#
    try presence.apply(try Self.heard(Self.typing("start", by: 8, direct), at: 101))
    let both = MessagePlace.direct(ConversationID(zulip: [UserID(7), UserID(8)]))
    #expect(presence.typists(in: both, at: Self.moment(102)) == [UserID(8)])
  }

  @Test func `a deactivated user is offline`() throws {
    var presence = try Self.presence(#"{"7":{"active_timestamp":1000000}}"#)
    try presence.apply(try Self.heard(Self.typing("start", by: 7, Self.inChannel), at: 60))
    let gone = #"{"type":"realm_user","op":"update","person":{"user_id":7,"is_active":false}}"#
    try presence.apply(try Self.heard(gone, at: 61))
    #expect(presence.status(of: UserID(7), at: Self.moment(61)) == .offline)
    #expect(presence.typists.isEmpty)
    let back = gone.replacingOccurrences(of: "false", with: "true")
    try presence.apply(try Self.heard(back, at: 62))
    #expect(presence.status(of: UserID(7), at: Self.moment(62)) == .active)
  }

  @Test func `an invalid event changes nothing, and the number of entries is limited`() throws {
    var presence = try Self.presence(#"{"7":{"active_timestamp":1000000}}"#)
    let before = presence
    for (event, path) in [
      (
        #"{"type":"presence","user_id":7,"presence":{"a":{"status":"active"}}}"#,
        "presence.presence.a.timestamp"
      ),
      (#"{"type":"presence","presences":{"x":{}}}"#, "presence.presences.user"),
      (
        #"{"type":"typing","op":"start","sender":{},"message_type":"stream"}"#,
        "typing.sender.user_id"
      ),
      (Self.typing("jump", by: 7, Self.inChannel), "typing.op"),
      (
        #"{"type":"presence","presences":{},"server_timestamp":1e300}"#, "presence.server_timestamp"
      ),
    ] {
      #expect(throws: ZulipError.malformed(path: path)) {
        try presence.apply(try Self.heard(event, at: 60))
      }
    }
    #expect(presence == before)
    for user in 0..<1_500 {
      try presence.apply(try Self.heard(Self.typing("start", by: user, Self.inChannel), at: 60))
    }
    #expect(presence.typists.count == 1_000)
    #expect(presence.typists.last?.user == UserID(1_499))
    try presence.apply(try Self.heard(Self.typing("start", by: 9, Self.inChannel), at: 9_000))
    #expect(presence.typists.map(\.user) == [UserID(9)])
  }

  @Test func `extreme times do not trap`() throws {
    var presence = try Self.presence(
      #"{"7":{"active_timestamp":9223372036854775807,"idle_timestamp":-9223372036854775808}}"#)
    #expect(presence.status(of: UserID(7), at: Self.moment(1)) == .active)
    let far = #"{"type":"presence","presences":{},"server_timestamp":-9223372036854775808}"#
    try presence.apply(ZulipHeard(try ZulipEvent(far), at: .distantPast))
    _ = presence.nextChange(after: Self.moment(0))
    _ = presence.status(of: UserID(7), at: Moment(milliseconds: .max))
  }

  @Test func `a replica keeps presence up to date from its own queue`() throws {
    let event = try ZulipEvent(Self.typing("start", by: 7, Self.inChannel))
    let heartbeat = try ZulipEvent(#"{"type":"heartbeat","id":5}"#)
    let batch = ZulipEvents([event, heartbeat]).batch.heard(at: Self.moment(60))
    #expect(batch.event(at: 0) == ZulipHeard(event, at: Self.moment(60)))
    #expect(batch.event(at: 1) == nil)
    #expect(batch.count == 2)
  }
}
