import Foundation
import MessageSync
import Testing
import UpdateMachine
import ZulipSync

@testable import follow

/// Tests what is typed, and what is kept.
@Suite struct WordTests {
  @Test(arguments: [
    ["--site"], ["--count", "-1"], ["--count", "many"], ["--key", "x"], ["--narow", "x"], ["x"],
    ["--wait", "0"],
  ]) func `invalid options are refused`(_ words: [String]) {
    #expect(throws: Misuse.self) { try Options(words) }
  }

  @Test(arguments: ["channel", "colour:red", "is:blue", ":", "channel:", "--sender:7"])
  func `invalid narrows are refused`(_ text: String) {
    #expect(throws: Misuse.self) { try NarrowText(text) }
  }

  @Test(arguments: [
    ("topic:a\\/b/-is:dm", "topic:a/b -is:dm"), ("topic:", "topic:"), ("topic:a:b", "topic:a:b"),
    (#"topic:a\\"#, #"topic:a\"#),
  ])
  func `a narrow is parsed as it was typed`(_ text: String, _ words: String) throws {
    #expect(try NarrowText(text).words == words)
  }

  @Test func `a file's key goes only to the file's site, and takes precedence there`() throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())").path
    let lines = """
      [other]
      key=def
      [api]
      email=a@example.org
      key=abc
      site=https://one.example.org/
      """
    try lines.write(toFile: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: file) }
    let own = try Credentials(try Options(["--zuliprc", file]), ["ZULIP_API_KEY": "work"])
    #expect(own.site.text == "https://one.example.org" && own.email == "a@example.org")
    #expect(own.key == "abc")
    let same = try Options(["--zuliprc", file, "--site", "https://One.example.org"])
    #expect(try Credentials(same, [:]).key == "abc")
    let other = try Options(["--zuliprc", file, "--site", "https://two.example.org"])
    #expect(throws: Misuse.self) { try Credentials(other, [:]) }
    #expect(try Credentials(other, ["ZULIP_API_KEY": "ghi"]).key == "ghi")
    let plain = try Options(["--zuliprc", file, "--site", "http://one.example.org"])
    #expect(throws: Misuse.self) { try Credentials(plain, ["ZULIP_API_KEY": "ghi"]) }
  }

  /// Only a connection that cannot be made is said to be one.
  @Test func `each failure is said in its own words`() {
    let failures: [SyncFailure] = [
      .unreachable, .timedOut, .serverFault, .rateLimited(after: .seconds(9)), .expired,
      .rejected(RejectionCode("BAD_REQUEST")), .malformed,
    ]
    let words = failures.map { Follower.words($0) }
    #expect(Set(words).count == failures.count)
    #expect(words.count { $0.contains("reached") } == 1)
    #expect(words[5].contains("BAD_REQUEST"))
    #expect(Follower.words(nil) == words[0])
  }

  @Test func `a lower ID that comes later is printed once`() {
    var printed = Printed((1...150).map { MessageID($0 * 2) })
    #expect(printed.ids.count == Int(Printed.span) && printed.floor.number == 100)
    #expect(!printed.note(MessageID(99)) && !printed.note(MessageID(102)))
    #expect(
      printed.note(MessageID(299)) && !printed.note(MessageID(299)) && printed.note(MessageID(301)))
    #expect(printed.ids == printed.ids.sorted() && printed.ids.count == Int(Printed.span))
    #expect(Printed([]).next.number == 1)
    // A server may name any number.
    #expect(Printed([MessageID(.min), MessageID(.max)]).has(MessageID(.min)))
    #expect(Printed(floor: MessageID(.max), ids: []).next == MessageID(.max))
  }

  @Test(
    arguments: [
      (["XDG_STATE_HOME": "/s", "HOME": "/h"], "/s/follow"),
      (["XDG_STATE_HOME": "/s/", "HOME": "/h"], "/s/follow"),
      (["XDG_STATE_HOME": "", "HOME": "/h"], "/h/.local/state/follow"),
      (["XDG_STATE_HOME": "s/t", "HOME": "/h"], "/h/.local/state/follow"),
      (["XDG_STATE_HOME": "~/s", "HOME": "/h"], "/h/.local/state/follow"),
      (["HOME": "/h/"], "/h/.local/state/follow"),
      (["HOME": ""], "/database/.local/state/follow"),
      (["HOME": "h"], "/database/.local/state/follow"),
      ([:], "/database/.local/state/follow"),
    ] as [([String: String], String)])
  func `the default folder is where the XDG specification wants it`(
    _ environment: [String: String], _ folder: String
  ) {
    let path = StateFolder.xdg(environment, home: "/database")
    #expect(NSString(string: path).standardizingPath == folder)
  }

  @Test func `each account has a file of its own`() {
    let names = ["a+b@x", "a_b@x", "a_43_b@x"].map {
      AccountName(site: "https://x", email: $0).fileName
    }
    #expect(Set(names).count == 3 && !names.contains { $0.contains("/") }, "\(names)")
    let name = AccountName(site: "https://x", email: "a@x")
    #expect(name.owns(name.printed("is:dm")) && !name.owns("b" + name.state))
  }
}
