import Foundation
import LoopbackServer
import Testing

/// Tests `follow` as a process, against a server on this computer.
@Suite(.timeLimit(.minutes(5)), .serialized) struct FollowTests {
  @Test func `follow prints old messages, then new ones, and resumes after a restart`()
    async throws
  {
    let realm = FakeRealm(["one", "two", "three"])
    try await User.on(realm) { user, _ in
      let first = try await user.follow("--once", "--count", "2")
      #expect(first.code == 0, "\(first.errors)")
      #expect(first.lines == ["[general > lunch] Bo: two", "[general > lunch] Bo: three"])
      #expect(first.errors.isEmpty, "errors: \(first.errors)")
      realm.send("four")
      realm.send("five")
      let second = try await user.follow("--once", "--json")
      #expect(second.code == 0, "\(second.errors)")
      #expect(second.lines.count == 2)
      #expect(
        second.lines.first
          == #"{"channel":4,"channel_name":"general","content":"four","id":4,"is_read":false,"#
          + #""sender":8,"sender_name":"Bo","topic":"lunch","type":"channel"}"#)
      #expect(realm.registers == 1, "queue and finger were kept")
      #expect(realm.releases == 0)
      let mode = try FileManager.default.attributesOfItem(atPath: user.file)[.posixPermissions]
      #expect(mode as? Int == 0o600)
      #expect(!(first.all + second.all).contains(User.key))
    }
  }

  @Test func `follow prints each missed message once and in order after a long absence`()
    async throws
  {
    let realm = FakeRealm(["first"])
    try await User.on(realm) { user, _ in
      let first = try await user.follow("--once")
      #expect(first.lines == ["[general > lunch] Bo: first"])
      for number in 0..<450 { realm.send("\(number)") }
      let caughtUp = try await user.follow("--once")
      #expect(caughtUp.lines == (0..<450).map { "[general > lunch] Bo: \($0)" })
      // Meanwhile the queue is gone, and with it the events it would have given.
      for number in 450..<800 { realm.send("\(number)") }
      realm.forgetQueue()
      let registered = try await user.follow("--once")
      #expect(registered.code == 0, "\(registered.errors)")
      #expect(registered.lines == (450..<800).map { "[general > lunch] Bo: \($0)" })
      #expect(realm.registers == 2)
      let quiet = try await user.follow("--once")
      #expect(quiet.lines == [])
    }
  }

  @Test(arguments: ["0", "1"])
  func `follow prints all new messages if the history was empty`(_ count: String) async throws {
    let realm = FakeRealm([])
    try await User.on(realm) { user, _ in
      let nothing = try await user.follow("--once", "--count", count)
      #expect(nothing.lines == [])
      realm.send("one", "two", "three")
      let next = try await user.follow("--once", "--count", count)
      #expect(next.lines.count == 3, "\(next.lines)")
      let running = try user.begin("--count", count)
      await running.says("connected")
      realm.send("four")
      await running.prints("[general > lunch] Bo: four")
      running.process.interrupt()
      let ended = await running.end()
      #expect(ended.lines.count == 1)
    }
  }

  @Test func `Ctrl-C ends follow and keeps the queue; a log-out releases the queue`() async throws {
    let realm = FakeRealm(["one"])
    try await User.on(realm) { user, _ in
      let running = try user.begin("--narrow", "channel:general/topic:lunch")
      await running.prints("[general > lunch] Bo: one")
      realm.send("two")
      await running.prints("[general > lunch] Bo: two")
      running.process.interrupt()
      let ended = await running.end()
      #expect(ended.code == 130, "\(ended.errors)")
      #expect(ended.errors.contains("connected"))
      let other = try user.begin()
      await other.prints("[general > lunch] Bo: two")
      other.process.terminate()
      let terminated = await other.end()
      #expect(terminated.code == 143)
      #expect(realm.releases == 0)
      let out = try await user.follow("--log-out")
      #expect(out.code == 0 && out.errors.contains("logged out"), "\(out.errors)")
      #expect(realm.releases == 1)
      // What was printed is not kept either, whatever the narrow was.
      let again = try await user.follow("--once", "--count", "1", "--narrow", "channel:general")
      #expect(again.lines == ["[general > lunch] Bo: two"], "\(again.errors)")
      let narrow = try await user.follow("--once", "--narrow", "channel:general/topic:lunch")
      #expect(narrow.lines.count == 2)
      #expect(realm.registers == 2)
    }
  }

  @Test func `two accounts in one file are independent`() async throws {
    let realm = FakeRealm(["one"])
    try await User.on(realm) { user, _ in
      let ada = try await user.follow("--once")
      #expect(ada.lines.count == 1)
      let bo = try await user.follow("--once", as: "bo@example.org")
      #expect(bo.lines.count == 1)
      #expect(realm.registers == 2)
      let out = try await user.follow("--log-out", as: "bo@example.org")
      #expect(out.code == 0)
      let still = try await user.follow("--once")
      #expect(still.lines == [])
      #expect(realm.registers == 2)
    }
  }

  #if !os(macOS)
    /// The variable is set to a folder of the test's, to nothing, and to a relative path.
    @Test(arguments: ["/state", "", "state"])
    func `the default file is in the state folder of the user's environment`(
      _ variable: String
    ) async throws {
      let realm = FakeRealm(["one"])
      try await User.on(realm) { user, _ in
        let path = variable.hasPrefix("/") ? user.folder.path + variable : variable
        let first = try await user.followOnce(in: ["XDG_STATE_HOME": path])
        #expect(first.code == 0 && first.lines.count == 1, "\(first.errors)")
        let place = variable.hasPrefix("/") ? "state/follow" : ".local/state/follow"
        let folder = user.folder.appendingPathComponent(place).path
        #expect(FileManager.default.fileExists(atPath: folder))
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(names.contains { $0.hasPrefix("ada@example.org_32_") && $0.hasSuffix(".db") })
        let mode = try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions]
        #expect(mode as? Int == 0o700)
        #expect(try await user.followOnce(in: ["XDG_STATE_HOME": path]).lines == [])
      }
    }
  #endif

  // MARK: What is shown

  @Test func `names, topics and times are printed without control characters`() async throws {
    let direct = #"[{"id":7},{"id":8}]"#
    let realm = FakeRealm(sent: [
      .init(text: #"a\u001b]0;title\u0007\nb\u202ec"#, fields: ["timestamp": "1795220766"]),
      .init(text: "x", fields: ["subject": #""Release 10.0\u001b[2J""#]),
      .init(text: "y", fields: ["type": #""private""#, "display_recipient": direct]),
      .init(text: "z", fields: ["type": #""private""#, "display_recipient": #"[{"id":7}]"#]),
    ])
    realm.rename(sender: #"Bo\n[general > lunch] Cy"#)
    try await User.on(realm) { user, _ in
      let run = try await user.follow("--once")
      let name = "Bo [general > lunch] Cy"
      #expect(
        run.lines == [
          "2026-11-21 00:26 [general > lunch] \(name): a]0;title", "    bc",
          "[general > Release 10.0[2J] \(name): x", "[direct: \(name)] \(name): y",
          "[to oneself] \(name): z",
        ])
      realm.forgetQueue()
      realm.send("w")
      let line = try await user.follow("--once", "--json", "--narrow", "is:dm").lines.last ?? ""
      #expect(line.contains(#""members":[7],"#) && line.contains(#""type":"direct""#), "\(line)")
    }
  }

  // MARK: What goes wrong

  @Test func `a refused key ends follow with a message that does not show the key`() async throws {
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

  @Test func `a redirect gets no key and counts as a failure`() async throws {
    let asked = FakeRealm([])
    try await User.on(asked) { elsewhere, _ in
      try await LoopbackServer.serving { request in
        var answer = LoopbackServer.Response(status: 302)
        answer.headers["Location"] = "\(elsewhere.site)\(request.path)"
        return answer
      } while: { server in
        let user = try User(server)
        defer { user.clear() }
        let run = try await user.follow("--once", "--wait", "2")
        #expect(run.code == 1 && run.errors.contains("not up to date after 2 s"), "\(run.errors)")
        #expect(run.errors.contains("redirects to another address"), "\(run.errors)")
        #expect(asked.registers == 0)
      }
    }
  }

  @Test func `follow --once gives up after --wait`() async throws {
    let realm = FakeRealm(["one"])
    try await User.on(realm) { user, _ in
      let well = try await user.follow("--once")
      #expect(well.code == 0)
      realm.fallSilent()
      let run = try await user.follow("--once", "--wait", "1")
      #expect(run.code == 1 && run.errors.contains("not up to date after 1 s"), "\(run.errors)")
    }
  }

  @Test func `a second process is refused, and an unknown channel lists the known ones`()
    async throws
  {
    let realm = FakeRealm(["one"])
    try await User.on(realm) { user, _ in
      let running = try user.begin()
      await running.prints("[general > lunch] Bo: one")
      let second = try await user.follow("--once")
      #expect(second.code == 1 && !second.errors.isEmpty)
      running.process.interrupt()
      _ = await running.end()
      let unknown = try await user.follow("--once", "--narrow", "channel:new")
      #expect(unknown.code == 2)
      #expect(unknown.errors.contains("general"), "\(unknown.errors)")
      // The saved state does not have the channel, but an event brings it.
      realm.subscribe(to: "new")
      let found = try await user.follow("--once", "--narrow", "channel:new")
      #expect(found.code == 0)
      let elsewhere = try await user.follow("--once", "--narrow", "channel:elsewhere")
      #expect(elsewhere.code == 2 && elsewhere.errors.contains("not subscribed"))
    }
  }

  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "Linux alone has one"))
  func `a full disk behind the output ends follow with a message`() async throws {
    let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
    let realm = FakeRealm(["one"])
    try await User.on(realm) { user, _ in
      let run = await (try user.begin("--once", output: full)).end()
      #expect(
        run.code == 1 && run.errors.contains("cannot write to standard output"), "\(run.errors)")
      // The message was not noted as printed.
      let again = try await user.follow("--once")
      #expect(again.lines.count == 1)
    }
  }
}
