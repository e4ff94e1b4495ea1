import Foundation
import LoopbackServer
import Testing

/// Tests of `follow send`.
@Suite(.timeLimit(.minutes(3))) struct SendTests {
  private static let place = ["--narrow", "channel:GENERAL/topic:lunch"]

  @Test func `a message is sent to the place that the narrow names`() async throws {
    let realm = FakeRealm(["old"])
    try await User.on(realm) { user, _ in
      let sent = try await user.follow(["send", "At", "noon?"] + Self.place)
      #expect(sent.code == 0 && sent.output == "", "\(sent.errors)")
      let direct = try await user.follow(["send", "--narrow", "dm:bo", "--", "-hi"])
      #expect(direct.code == 0, "\(direct.errors)")
      #expect(realm.sent == ["4/lunch: At noon?", "[8]/: -hi"])
    }
  }

  @Test func `a refused message is given up, with the server's words, and holds up no other`()
    async throws
  {
    let realm = FakeRealm(["old"])
    try await User.on(realm) { user, _ in
      realm.answerSending(
        with: .json(
          #"{"result":"error","msg":"Only admins may","code":"BAD_REQUEST"}"#, status: 400))
      let refused = try await user.follow(["send", "no"] + Self.place)
      #expect(refused.code == 1)
      #expect(refused.errors.contains("the message 'no' was refused: Only admins may"))
      #expect(try await user.follow("--once").code == 0)
      #expect(realm.sent == [])
    }
  }

  @Test func `a message that may have arrived is not sent again, and its user is told`()
    async throws
  {
    let realm = FakeRealm(["old"])
    try await User.on(realm) { user, _ in
      realm.answerSending(with: LoopbackServer.Response(status: 200).with(.reset(after: 0)))
      let lost = try await user.follow(["send", "once"] + Self.place)
      #expect(lost.code == 1)
      #expect(
        lost.errors.contains("the message 'once' may or may not have arrived"), "\(lost.errors)")
    }
  }

  @Test func `without a connection a message is kept, and leaves later`() async throws {
    let realm = FakeRealm(["old"])
    try await User.on(realm) { user, _ in
      #expect(try await user.follow("--once").code == 0)
      realm.answerSending(
        with: .json(
          #"{"result":"error","msg":"slow","code":"RATE_LIMIT_HIT","retry-after":600}"#, status: 429
        ))
      let kept = try await user.follow(["send", "later", "--wait", "2"] + Self.place)
      #expect(kept.code == 1 && kept.errors.contains("The message is kept"), "\(kept.errors)")
      realm.answerSending(with: nil)
      let next = try await user.follow(["send", "and then"] + Self.place)
      #expect(next.code == 0, "\(next.errors)")
      #expect(realm.sent == ["4/lunch: later", "4/lunch: and then"])
    }
  }

  @Test(arguments: [
    (["send"], "send needs words"), (["send", "x"], "send needs --narrow"),
    (["send", "x", "--narrow", "channel:general"], "needs one place"),
    (["send", "x", "--narrow", "is:dm"], "needs one place"),
    (["send", "x", "--narrow", "channel:genral/topic:a"], "Did you mean 'general'"),
    (["send", "x", "--json", "--narrow", "dm:bo"], "--json has no meaning with 'send'"),
  ])
  func `what is no place is bad usage`(words: [String], complaint: String) async throws {
    try await User.on(FakeRealm([])) { user, _ in
      let ended = try await user.follow(words)
      #expect(ended.code == 2 && ended.errors.contains(complaint), "\(ended.errors)")
    }
  }
}
