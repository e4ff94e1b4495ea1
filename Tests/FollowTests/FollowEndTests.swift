import Foundation
import LoopbackServer
import Testing

/// Tests that `follow --once` does not wait for what cannot come.
@Suite(.timeLimit(.minutes(2)), .serialized) struct FollowEndTests {
  @Test(
    arguments: [
      (400, #"{"result":"error","msg":"no","code":"BAD_NARROW"}"#, "refuses to list", "BAD_NARROW"),
      (200, #"{"result":"success","msg":""}"#, "answer about", "cannot be used"),
    ] as [(Int, String, String, String)])
  func `a list that the server refuses ends --once`(
    _ status: Int, _ answer: String, _ words: String, _ reason: String
  ) async throws {
    let realm = FakeRealm(["one"])
    realm.answerPages(with: .json(answer, status: status))
    try await User.on(realm) { user, _ in
      let run = try await user.follow("--once", "--wait", "20", "--narrow", "channel:general")
      #expect(run.code == 1 && !run.errors.contains("20 s"), "\(run.errors)")
      #expect(run.errors.contains("\(words) 'channel:general'"), "\(run.errors)")
      #expect(run.errors.contains(reason), "\(run.errors)")
      #expect(run.errors.split(separator: "\n").count == 1, "\(run.errors)")
    }
  }

  @Test func `without --once a refused list is said, and asked for again`() async throws {
    let realm = FakeRealm(["one"])
    realm.answerPages(
      with: .json(#"{"result":"error","msg":"no","code":"BAD_NARROW"}"#, status: 400))
    try await User.on(realm) { user, _ in
      let running = try user.begin()
      await running.says("the server refuses it: BAD_NARROW")
      running.process.interrupt()
      #expect(await running.end().code == 130)
    }
  }

  @Test func `a list whose messages are all hidden ends --once`() async throws {
    let realm = FakeRealm(["one"])
    realm.hideMessages()
    try await User.on(realm) { user, _ in
      let run = try await user.follow("--once", "--wait", "20")
      #expect(run.code == 1 && run.errors.contains("hides all messages"), "\(run.errors)")
    }
  }

  /// The saved state still has the subscription when the list is opened.
  @Test(arguments: [["--once", "--wait", "20"], []])
  func `a channel that the user has left meanwhile ends follow`(_ words: [String]) async throws {
    let realm = FakeRealm(["one"])
    try await User.on(realm) { user, _ in
      let narrow = ["--narrow", "channel:general"]
      let first = try await user.follow(narrow + ["--once"])
      #expect(first.code == 0, "\(first.errors)")
      realm.unsubscribe()
      let run = try await user.follow(narrow + words)
      #expect(run.code == 2 && run.errors.contains("not subscribed"), "\(run.errors)")
    }
  }
}
