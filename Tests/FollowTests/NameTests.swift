import Foundation
import Testing
import ZulipSync

@testable import follow

/// Tests how names in a narrow are understood.
@Suite struct NameTests {
  /// A realm with two channels, and two users, that differ in case only or not at all.
  private static func realm() throws -> ZulipState {
    let text = """
      {"user_id":7,"zulip_feature_level":323,"streams":[],"never_subscribed":[],"unsubscribed":[],
      "subscriptions":[{"stream_id":4,"name":"general"},{"stream_id":5,"name":"Release Notes"},
      {"stream_id":6,"name":"ideas"},{"stream_id":9,"name":"Ideas"}],
      "realm_users":[{"user_id":7,"full_name":"Ada Lovelace","email":"ada@example.org"},
      {"user_id":8,"full_name":"Bo","email":"user8@example.org","delivery_email":"Bo@example.org"},
      {"user_id":9,"full_name":"Cy","email":"cy@example.org"},
      {"user_id":10,"full_name":"cy","email":"cy2@example.org"},
      {"user_id":11,"full_name":"Cy","email":"cy3@example.org"}]}
      """
    return try ZulipState(
      snapshot: ZulipSnapshot(try #require(try ZulipValue(json: Data(text.utf8)).fields)))
  }

  private static func operand(_ text: String) throws -> ZulipNarrow.Operand? {
    try NarrowText(text).narrow(in: try realm()).terms.first?.operand
  }

  @Test(
    arguments: [
      ("channel:general", .number(4)), ("channel:GENERAL", .number(4)),
      ("channel:release notes", .number(5)), ("stream:Release Notes", .number(5)),
      ("channel:ideas", .number(6)), ("channel:Ideas", .number(9)),
      ("sender:7", .number(7)), ("sender:ada@example.org", .number(7)),
      ("sender:ADA@example.org", .number(7)), ("sender:ada lovelace", .number(7)),
      ("sender:bo@example.org", .number(8)), ("sender:user8@example.org", .number(8)),
      ("sender:Bo", .number(8)), ("sender:cy", .number(10)),
      ("dm:ada lovelace, bo,9", .numbers([7, 8, 9])),
    ] as [(String, ZulipNarrow.Operand)])
  func `a name is found in any case, and the exact spelling comes first`(
    _ text: String, _ operand: ZulipNarrow.Operand
  ) throws {
    #expect(try NameTests.operand(text) == operand)
  }

  @Test(arguments: [
    (
      "channel:IDEAS",
      "'IDEAS' may be any of these channels: Ideas, ideas. Type one of them exactly"
    ),
    ("channel:genral", "no channel is called 'genral'. Did you mean 'general'?"),
    ("channel:release", "no channel is called 'release'. Did you mean 'Release Notes'?"),
    ("channel:idea", "no channel is called 'idea'. Did you mean 'Ideas' or 'ideas'?"),
    (
      "channel:zzzzz",
      "no channel is called 'zzzzz'. You are subscribed to: Ideas, Release Notes, general, ideas"
    ),
    (
      "sender:CY",
      "'CY' may be any of these users: cy2@example.org (ID 10), cy3@example.org (ID 11), "
        + "cy@example.org (ID 9). Type an e-mail address or an ID"
    ),
    (
      "dm:7,ada lovlace",
      "no active user here has the name or e-mail 'ada lovlace'. "
        + "Did you mean 'Ada Lovelace <ada@example.org>'?"
    ),
    (
      "sender:ada@exmaple.org",
      "no active user here has the name or e-mail 'ada@exmaple.org'. "
        + "Did you mean 'Ada Lovelace <ada@example.org>'?"
    ),
    (
      "sender:zed@example.com",
      "no active user here has the name or e-mail 'zed@example.com'. "
        + "A number is understood as a user's ID"
    ),
  ])
  func `a name that is not found, or not only once, is said with the nearest ones`(
    _ text: String, _ words: String
  ) {
    #expect(throws: Misuse("--narrow: " + words)) { try NameTests.operand(text) }
  }

  @Test func `a long list of names is cut`() throws {
    let names = (10..<40).map { #"{"stream_id":\#($0),"name":"channel \#($0)"}"# }
    let text = #"{"subscriptions":[\#(names.joined(separator: ","))]}"#
    let fields = try #require(try ZulipValue(json: Data(text.utf8)).fields)
    let state = try ZulipState(snapshot: ZulipSnapshot(fields))
    let error = #expect(throws: Misuse.self) {
      try NarrowText("channel:zzzzzzzz").narrow(in: state)
    }
    #expect(error?.words.hasSuffix("channel 28, channel 29 and 10 more") == true)
  }
}
