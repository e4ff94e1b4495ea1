import Foundation
import LoopbackServer
import Testing

@testable import follow

/// Tests the commands of `follow` that answer once and exit.
@Suite(.timeLimit(.minutes(5)), .serialized) struct FollowCommandTests {
  private static let unread = #"""
    {"pms":[{"other_user_id":8,"unread_message_ids":[11,14]}],
    "huddles":[{"user_ids_string":"7,8,9","unread_message_ids":[15]}],
    "streams":[{"stream_id":4,"topic":"lunch","unread_message_ids":[12,13]},
    {"stream_id":4,"topic":"news","unread_message_ids":[20]},
    {"stream_id":5,"topic":"x","unread_message_ids":[21]},
    {"stream_id":6,"topic":"loud","unread_message_ids":[22,23,24]}],
    "mentions":[12,20,21],"old_unreads_missing":false}
    """#

  @Test func `unread prints the counts of each conversation, and exits`() async throws {
    let realm = FakeRealm(["one"])
    realm.subscribe(to: "Birds")
    realm.subscribe(to: "muted", isMuted: true)
    realm.leaveUnread(FollowCommandTests.unread)
    try await User.on(realm) { user, _ in
      let run = try await user.follow("unread")
      #expect(run.code == 0 && run.errors.isEmpty, "\(run.errors)")
      #expect(
        run.lines == [
          "[direct: Bo, user 9] 1", "[direct: Bo] 2", "[Birds > x] 1 (1 mention)",
          "[general > news] 1 (1 mention)", "[general > lunch] 2 (1 mention)",
          "7 unread (3 mentions), and 3 muted",
        ])
      // The state goes on from there, and nothing was printed by it.
      realm.send("hello")
      let next = try await user.follow("unread", "--json")
      #expect(next.lines.count == 7, "\(next.all)")
      // The new message is in "lunch".
      let lunch = try #require(next.lines.first { $0.contains(#""topic":"lunch""#) })
      #expect(lunch.contains(#""unread":3"#) && lunch.contains(#""channel_name":"general""#))
      #expect(
        next.lines.first
          == #"{"is_muted":false,"members":[7,8,9],"mentions":0,"newest":15,"type":"direct","#
          + #""unread":1}"#)
      #expect(
        next.lines.last
          == #"{"is_complete":true,"mentions":3,"muted":3,"type":"total","unread":8}"#)
      #expect(realm.registers == 1)
      #expect(try await user.follow("--once").lines.count == 2)
    }
  }

  @Test func `unread says that nothing is unread, and that the server listed only the newest`()
    async throws
  {
    let realm = FakeRealm([])
    try await User.on(realm) { user, _ in
      let run = try await user.follow("unread")
      #expect(run.lines == ["0 unread"], "\(run.errors)")
      realm.leaveUnread(
        #"{"pms":[],"huddles":[],"streams":[],"mentions":[],"old_unreads_missing":true}"#)
      realm.forgetQueue()
      let cut = try await user.follow("unread")
      #expect(cut.lines == ["0 unread; there are older ones, which the server does not list"])
      realm.fallSilent()
      let late = try await user.follow("unread", "--wait", "1")
      #expect(late.code == 1 && late.errors.contains("not up to date after 1 s"), "\(late.all)")
      #expect(late.lines.isEmpty)
    }
  }

  @Test func `search prints what the server finds, and says once that it is a snapshot`()
    async throws
  {
    let realm = FakeRealm(["lunch at one", "no", "lunch at two", "lunch at three"])
    try await User.on(realm) { user, _ in
      let run = try await user.follow("search", "lunch", "at", "--count", "2")
      #expect(run.code == 0, "\(run.errors)")
      #expect(
        run.lines == ["[general > lunch] Bo: lunch at two", "[general > lunch] Bo: lunch at three"])
      #expect(
        run.errors == "follow: 2 messages found, and there may be older ones (--count); "
          + "a search is not kept up to date\n")
      let narrow = try await user.follow(
        "search", "one", "--narrow", "channel:General", "--json")
      #expect(narrow.lines.count == 1 && narrow.output.contains(#""id":1"#), "\(narrow.all)")
      #expect(narrow.errors.contains("1 message found; a search"))
      let all = try await user.follow("search", "--narrow", "has:link/dm-including:Bo", "--json")
      #expect(all.code == 0 && all.lines.count == 4, "what this realm does not know, it ignores")
      let undecided = try await user.follow("--once", "--narrow", "is:followed")
      #expect(undecided.code == 2 && undecided.errors.contains("use 'follow search'"))
      let none = try await user.follow("search", "supper")
      #expect(none.code == 0 && none.lines.isEmpty && none.errors.contains("0 messages found"))
      let unknown = try await user.follow("search", "one", "--narrow", "channel:genral")
      #expect(unknown.code == 2 && unknown.errors.contains("Did you mean 'general'?"))
      // What a search has printed does not count as printed.
      #expect(try await user.follow("--once").lines.count == 4)
      realm.answerPages(
        with: .json(#"{"result":"error","msg":"no","code":"BAD_NARROW"}"#, status: 400))
      let refused = try await user.follow("search", "one")
      #expect(refused.code == 1, "\(refused.errors)")
      #expect(refused.errors == "follow: the server refuses the search: BAD_NARROW\n")
    }
  }

  @Test func `the words of a search are joined, and may begin with a minus`() throws {
    #expect(try Options(["search", "a b", "c"]).command == .search("a b c"))
    #expect(try Options(["search", "--json", "unread"]).command == .search("unread"))
    #expect(try Options(["search", "--", "-x", "--json"]).command == .search("-x --json"))
    #expect(try Options(["search", "--narrow", "has:link"]).command == .search(""))
    for words in [["search"], ["search", " "], ["search", "-x"], ["search", "a", "--log-out"]] {
      #expect(throws: Misuse.self) { try Options(words) }
    }
  }

  @Test(arguments: [
    ["unread", "x"], ["unread", "--narrow", "is:dm"], ["unread", "--count", "3"],
    ["unread", "--log-out"], ["unread", "unread"],
  ]) func `options that mean nothing with a command are refused`(_ words: [String]) {
    #expect(throws: Misuse.self) { try Options(words) }
  }

  @Test func `a command takes the options that name the account`() throws {
    let options = try Options(["--wait", "5", "unread", "--json", "--once"])
    #expect(options.command == .unread && options.wait == 5 && options.isJSON)
    #expect(options.endsByItself)
  }
}
