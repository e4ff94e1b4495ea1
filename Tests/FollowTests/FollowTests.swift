import Foundation
import LoopbackServer
import Testing

@testable import follow

/// `follow` as a process, against a server on this computer.
@Suite(.timeLimit(.minutes(3)), .serialized) struct FollowTests {
  @Test func `it prints what is there, then what has come since, and goes on from its finger`()
    async throws
  {
    let realm = FakeRealm(["one", "two", "three"])
    try await LoopbackServer.serving {
      await realm.answer($0)
    } while: { server in
      let user = try User(server)
      defer { user.clear() }
      let first = try await user.follow("--once", "--count", "2")
      #expect(first.code == 0, "\(first.errors)")
      #expect(first.lines == ["[general > lunch] Bo: two", "[general > lunch] Bo: three"])
      #expect(first.errors.contains("connected"))
      realm.send("four")
      realm.send("five")
      let second = try await user.follow("--once", "--json")
      #expect(second.code == 0, "\(second.errors)")
      #expect(second.lines.count == 2)
      #expect(
        second.lines.first
          == #"{"channel":4,"channel_name":"general","content":"four","id":4,"is_read":false,"#
          + #""sender":8,"sender_name":"Bo","topic":"lunch"}"#)
      #expect(realm.registers == 1, "the queue was kept, and so was the finger")
      #expect(realm.releases == 0)
      let mode = try FileManager.default.attributesOfItem(atPath: user.file)[.posixPermissions]
      #expect(mode as? Int == 0o600)
      #expect(!(first.all + second.all).contains(User.key))
    }
  }

  @Test func `Ctrl-C ends it in order and keeps the queue; a log-out does not`() async throws {
    let realm = FakeRealm(["one"])
    try await LoopbackServer.serving {
      await realm.answer($0)
    } while: { server in
      let user = try User(server)
      defer { user.clear() }
      let running = try user.begin("--narrow", "channel:general/topic:lunch")
      try await running.prints("[general > lunch] Bo: one")
      realm.send("two")
      try await running.prints("[general > lunch] Bo: two")
      running.process.interrupt()
      let ended = await running.end()
      #expect(ended.code == 130, "\(ended.errors)")
      #expect(realm.releases == 0)
      let out = try await user.follow("--log-out")
      #expect(out.code == 0 && out.errors.contains("logged out"), "\(out.errors)")
      #expect(realm.releases == 1)
      let again = try await user.follow("--once", "--count", "1")
      #expect(again.lines == ["[general > lunch] Bo: two"], "\(again.errors)")
      #expect(realm.registers == 2)
    }
  }

  @Test func `a refused key ends it with a word, and nothing of the key`() async throws {
    try await LoopbackServer.serving { _ in
      .json(#"{"result":"error","msg":"no","code":"UNAUTHORIZED"}"#, status: 401)
    } while: { server in
      let user = try User(server)
      defer { user.clear() }
      let run = try await user.follow("--once")
      #expect(run.code == 1)
      #expect(run.errors.contains("refuses the key"))
      #expect(!run.all.contains(User.key))
    }
  }

  @Test func `two at once are refused, and an unknown channel is told with those there are`()
    async throws
  {
    let realm = FakeRealm(["one"])
    try await LoopbackServer.serving {
      await realm.answer($0)
    } while: { server in
      let user = try User(server)
      defer { user.clear() }
      let running = try user.begin()
      try await running.prints("[general > lunch] Bo: one")
      let second = try await user.follow("--once")
      #expect(second.code == 1 && !second.errors.isEmpty)
      running.process.interrupt()
      _ = await running.end()
      let unknown = try await user.follow("--once", "--narrow", "channel:nowhere")
      #expect(unknown.code != 0)
      #expect(unknown.errors.contains("general"), "\(unknown.errors)")
    }
  }

  // MARK: Words

  @Test(arguments: [
    ["--site"], ["--count", "-1"], ["--count", "many"], ["--key", "x"], ["--narow", "x"], ["x"],
  ]) func `bad words are refused`(_ words: [String]) {
    #expect(throws: Misuse.self) { try Options(words) }
  }

  @Test(arguments: ["channel", "colour:red", "is:blue", ":", "channel:"])
  func `bad narrows are refused`(_ text: String) {
    #expect(throws: Misuse.self) { try NarrowText(text) }
  }

  @Test func `a file's key goes to the file's site alone`() throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())").path
    try "[api]\nemail=a@example.org\nkey=abc\nsite=https://one.example.org\n".write(
      toFile: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: file) }
    let own = try Credentials(try Options(["--zuliprc", file]), [:])
    #expect(own.site == "https://one.example.org" && own.email == "a@example.org")
    #expect(own.key == "abc")
    let other = try Options(["--zuliprc", file, "--site", "https://two.example.org"])
    #expect(throws: Misuse.self) { try Credentials(other, [:]) }
    #expect(try Credentials(other, ["ZULIP_API_KEY": "def"]).key == "def")
  }
}
