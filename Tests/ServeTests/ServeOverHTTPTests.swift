import Foundation
import Testing
import UpdateMachine
import ZulipSync

@testable import ZulipServer

/// Tests `simulate serve` as a process, with clients that are processes, too.
@Suite("Clients of `simulate serve`", .timeLimit(.minutes(5)), .serialized)
struct ServeOverHTTPTests {
  // MARK: Our own client

  @Test func `follow prints each message once, though its queue expires again and again`()
    async throws
  {
    try await Served.with("--expire-every", "2") { served in
      let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("serve-\(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let ada = RealmUser(number: 0)
      let follow = try Running(
        Place.program("follow"),
        [
          "--site", served.address, "--email", ada.email, "--state",
          folder.appendingPathComponent("state.db").path,
        ], environment: ["ZULIP_API_KEY": ada.key, "TZ": "UTC", "HOME": folder.path])
      await follow.prints("Di: Soup at noon?")
      for number in 1...3 {
        try await served.send("m\(number)")
        await follow.prints("[general > t] Bo: m\(number)\n")
        _ = try await served.ask(
          nil, "POST", "/control/\(number == 2 ? "restart" : "expire")", "{}")
        await served.running.prints("Ada       register", times: number + 1)
      }
      // What is sent while it has no queue comes by a page.
      try await served.send("last")
      await follow.prints("[general > t] Bo: last\n")
      #expect(await follow.interrupt() == 130)
      let texts = follow.output.split(separator: "\n").compactMap { $0.split(separator: " ").last }
      #expect(texts.suffix(4) == ["m1", "m2", "m3", "last"], "\(follow.output)")
      #expect(texts.count == 7, "\(follow.output)")
      #expect(served.running.output.contains("400 BAD_EVENT_QUEUE_ID"))
    }
  }

  @Test func `follow gets everything through lost answers and errors`() async throws {
    try await Served.with("--errors", "40", "--lose-answers", "30", "--seed", "3") { served in
      let ada = RealmUser(number: 0)
      let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("serve-\(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let follow = try Running(
        Place.program("follow"),
        [
          "--site", served.address, "--email", ada.email, "--state",
          folder.appendingPathComponent("state.db").path,
        ], environment: ["ZULIP_API_KEY": ada.key, "TZ": "UTC", "HOME": folder.path])
      await follow.prints("Di: Soup at noon?")
      let message = #"{"user":9,"channel":1,"topic":"t","text":"through it all"}"#
      #expect(try await served.ask(nil, "POST", "/control/send", message).status == 200)
      await follow.prints("[general > t] Bo: through it all\n")
      #expect(await follow.interrupt() == 130)
      #expect(follow.output.components(separatedBy: "through it all").count == 2)
      #expect(served.running.output.contains("  fault     "))
    }
  }

  @Test func `our login brings a key that the server takes, and a wrong password does not`()
    async throws
  {
    try await Served.with { served in
      let ada = RealmUser(number: 0)
      let site = try ZulipSite(served.address)
      let login = try ZulipLogin(to: site)
      let server = try await login.server()
      #expect(server.takesPassword && server.asksForEmail)
      #expect(server.realmName == "simulate serve")
      do throws(ZulipFailure) {
        _ = try await login.logIn(as: ada.email, password: "wrong")
        Issue.record("the server takes any password")
      } catch {
        #expect(error.reason == .refused(.wrongPassword))
      }
      let account = try await login.logIn(as: ada.email, password: ada.password)
      let connection = try ZulipConnection(to: site, email: account.email, key: account.key)
      let me = try await connection.ask(.get, "users/me")
      #expect(me["full_name"]?.text == ada.name)
      try await connection.sendPresence(isActive: true, hasNewInput: true)
      try await connection.sendTyping(to: .direct([account.user]))
      let channels = try await connection.ask(.get, "streams")["streams"]?.list
      let stream = try #require(channels?.first?.fields?["stream_id"])
      try await connection.ask(
        .post, "typing", ["op": "stop", "type": "stream", "stream_id": stream, "topic": "t"])
      await served.running.prints("Ada stops typing")
    }
  }

  @Test func `a draft of our client is made, changed and taken back`() async throws {
    try await Served.with { served in
      let ada = RealmUser(number: 0)
      let connection = try ZulipConnection(
        to: ZulipSite(served.address), email: ada.email, key: ZulipAPIKey(ada.key))
      let machine = UpdateMachine(source: ZulipAccountSource(connection), store: MemoryStore())
      let running = Task { await machine.run() }
      for await state in await machine.states() where state.model != nil { break }
      let first = ZulipDraft(.direct([]), "note ", at: 5)
      let second = ZulipDraft(nil, "later", at: 6)
      func drafts() async throws -> [String?] {
        let answer = try await connection.ask(.get, "drafts")
        return answer["drafts"]?.list?.map { $0.fields?["content"]?.text } ?? []
      }
      let created = try await machine.mutate(.draft(nil, becomes: first))
      #expect(await machine.acknowledged(created.ticket) == .acknowledged)
      let edited = try await machine.mutate(.draft(first, becomes: second))
      #expect(await machine.acknowledged(edited.ticket) == .acknowledged)
      #expect(try await drafts() == ["later"])
      for expected in [["note"], []] {
        guard case .queued(let undo) = try await machine.undo() else {
          Issue.record("it can be undone")
          continue
        }
        #expect(await machine.acknowledged(undo) == .acknowledged)
        #expect(try await drafts() == expected)
      }
      await machine.stop()
      await running.value
    }
  }

  // MARK: The official Python client

  @Test(.enabled("python3 or the package zulip from PyPI is not to be had here") { Python.isThere })
  func `the official Python client registers, polls, sends, reads and survives expiry`()
    async throws
  {
    try await Served.with { served in
      let (ada, di) = (RealmUser(number: 0), RealmUser(number: 3))
      let client = try Running(
        Python.interpreter,
        ["python3", Place.root.appendingPathComponent("Tests/Serve/client.py").path],
        environment: [
          "SITE": served.address, "EMAIL": ada.email, "KEY": ada.key, "OTHER_EMAIL": di.email,
          "OTHER_KEY": di.key, "PYTHONPATH": Python.packages,
        ])
      #expect(await client.end() == 0, "\(client.output)\n\(client.errors)")
      #expect(client.output.hasSuffix("All is well.\n"), "\(client.output)")
    }
  }

  // MARK: The article

  @Test(.enabled("curl is not here") { Place.has("curl") })
  func `the article's commands work as they are pasted`() async throws {
    let article = Place.root.appendingPathComponent(
      "Sources/Simulator/Simulator.docc/ServingZulip.md")
    let text = try String(contentsOf: article, encoding: .utf8)
    let blocks = text.components(separatedBy: "```sh\n").dropFirst()
      .map { $0.components(separatedBy: "```\n")[0] }
    #expect(blocks.count >= 6)
    try await Served.with { served in
      let script = (["set -eu"] + blocks).joined(separator: "\necho; echo NEXT\n")
        .replacing("http://127.0.0.1:9991", with: served.address)
      let shell = try Running(Place.bash, ["-c", script])
      #expect(await shell.end() == 0, "\(shell.errors)")
      let answers = shell.output.components(separatedBy: "NEXT\n").dropFirst()
      let shown = text.components(separatedBy: "```json\n").dropFirst()
        .map { $0.components(separatedBy: "```\n")[0] }
      for one in shown {
        let wanted = one.filter { !$0.isWhitespace }
        let isThere = answers.contains { $0.filter { !$0.isWhitespace }.contains(wanted) }
        #expect(isThere, "no command answers \(one)but:\n\(shell.output)")
      }
      #expect(shown.count >= 3)
    }
  }

  // MARK: What goes wrong

  @Test func `nobody without a key gets in, and faults do what their switches say`() async throws {
    try await Served.with { served in
      // On Linux a URLSession never ends a request whose answer asks to log in.
      let refused = try await RawBytes.exchange(
        "GET /api/v1/users/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        with: served.address)
      #expect(refused.hasPrefix("HTTP/1.1 401 ") && refused.contains("WWW-Authenticate: Basic"))
      #expect(refused.contains("\"code\":\"UNAUTHORIZED\""))
      #expect(try await served.ask(0, "GET", "/api/v1/users/me").status == 200)
      let set = { (faults: String) in
        try await served.ask(nil, "POST", "/control/faults", faults).status
      }
      #expect(try await set(#"{"errors":100}"#) == 200)
      #expect([500, 502].contains(try await served.ask(0, "GET", "/api/v1/users/me").status))
      #expect(try await set(#"{"errors":0,"lose-answers":100}"#) == 200)
      await #expect(throws: (any Error).self) { try await served.ask(0, "GET", "/api/v1/users/me") }
      #expect(try await set(#"{"lose-answers":0,"latency":400}"#) == 200)
      let start = ContinuousClock.now
      #expect(try await served.ask(0, "GET", "/api/v1/users/me").status == 200)
      #expect(ContinuousClock.now - start >= .milliseconds(400))
      #expect(try await set(#"{"latency":0,"rate-requests":1,"rate-seconds":9}"#) == 200)
      #expect(try await served.ask(0, "GET", "/api/v1/users/me").status == 200)
      let limited = try await served.ask(0, "GET", "/api/v1/users/me")
      #expect(limited.status == 429 && limited.body.contains("retry-after"))
      #expect(try await set(#"{"errors":-1}"#) == 400)
      await served.running.prints("page      sets errors to 100\n")
      await served.running.prints("nobody    GET /users/me → 401 UNAUTHORIZED\n")
    }
  }

  @Test func `the page is one file, and takes orders from itself alone`() async throws {
    try await Served.with { served in
      let page = try await served.ask(nil, "GET", "/")
      #expect(page.status == 200 && page.body.contains("<title>simulate serve</title>"))
      #expect(!page.body.contains("://"), "it loads nothing from elsewhere")
      let state = try await served.ask(nil, "GET", "/control/state?after=0")
      #expect(state.body.contains("\"queues\":[]"))
      #expect(!state.body.contains(RealmUser(number: 0).key))
      let raw = try await RawBytes.exchange(
        "POST /control/restart HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
          + "Content-Length: 2\r\n\r\n{}",
        with: served.address)
      #expect(raw.hasPrefix("HTTP/1.1 403 "), "without the header that only our page can send")
      let other = try await RawBytes.exchange(
        "GET /control/state HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        with: served.address)
      #expect(other.hasPrefix("HTTP/1.1 400 "))
    }
  }

  @Test func `bytes that are no HTTP end their connection, and nothing else`() async throws {
    try await Served.with { served in
      var chance = SystemSeed(state: 7)
      for _ in 0..<60 {
        let count = Int(chance.next() % 300)
        let bytes = (0..<count).map { _ in
          Character(Unicode.Scalar(UInt8(truncatingIfNeeded: chance.next() >> 9)))
        }
        let start = ["", "GET ", "POST /api/v1/messages HTTP/1.1\r\n"][Int(chance.next() % 3)]
        _ = try await RawBytes.exchange(start + String(bytes) + "\r\n\r\n", with: served.address)
      }
      let large = "POST /api/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n"
      let answer = try await RawBytes.exchange(large, with: served.address)
      #expect(answer.hasPrefix("HTTP/1.1 413 "))
      #expect(try await served.ask(0, "GET", "/api/v1/users/me").status == 200)
    }
  }

  // MARK: The command

  @Test func `it ends by itself after --seconds, and prints nothing more with --quiet`()
    async throws
  {
    let served = try await Served(["--seconds", "2", "--quiet"])
    #expect(try await served.ask(0, "GET", "/api/v1/users/me").status == 200)
    #expect(await served.running.end() == 0)
    #expect(served.running.output.hasSuffix("call_on_each_event(print)\"\n"))
    #expect(served.running.errors == "")
  }

  @Test(arguments: [
    (["--port", "70000"], "--port needs a whole number from 0 to 65535, found \"70000\""),
    (["--errors", "101"], "--errors needs a whole number from 0 to 100, found \"101\""),
    (["--rate-limit", "5"], "--rate-limit needs two numbers, such as 200/60"),
    (["--users", "0"], "--users needs a whole number from 1 to 100, found \"0\""),
    (["file"], "unexpected \"file\""),
  ])
  func `bad usage is refused with what to do`(words: [String], message: String) async throws {
    let run = try Running(Place.program("simulate"), ["serve"] + words)
    #expect(await run.end() == 2)
    #expect(run.errors.contains(message), "\(run.errors)")
    #expect(run.errors.contains("simulate serve --help"))
  }

  @Test func `a port in use is an error that names another way`() async throws {
    try await Served.with { served in
      let port = served.address.split(separator: ":").last.map(String.init) ?? ""
      let run = try Running(Place.program("simulate"), ["serve", "--port", port])
      #expect(await run.end() == 1)
      #expect(run.errors.contains("is in use") && run.errors.contains("--port 0"))
    }
  }
}
