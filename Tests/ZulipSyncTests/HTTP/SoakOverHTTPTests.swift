import Foundation
import LoopbackServer
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

#if os(Linux)
  /// Thousands of polls with faults among them: memory stays flat, and no socket is left. In a process
  /// of its own, where nobody else takes memory.
  ///
  /// 1,000 polls, or as many as `ZULIP_SOAK` says: `ZULIP_SOAK=10000 swift test --filter SoakOverHTTPTests`. Many
  /// should be alone, for the other process inherits the sockets that are open when it begins, and to
  /// their servers they then seem open for as long as it goes on.
  @Suite(.timeLimit(.minutes(20))) struct SoakOverHTTPTests {
    @Test func `memory is flat and all sockets are closed at the end`() async throws {
      // Not by the other's output: whoever waits for that keeps a thread that the tests beside need.
      let report = FileManager.default.temporaryDirectory
        .appending(path: "zulip-soak-\(ProcessInfo.processInfo.processIdentifier)").path
      defer { try? FileManager.default.removeItem(atPath: report) }
      await #expect(processExitsWith: .success) { [report = report as String] in
        let text = ProcessInfo.processInfo.environment["ZULIP_SOAK"] ?? ""
        let soak = Soak(count: Int(text) ?? 1000, report: report)
        try await soak.run()
      }
      let figures = try String(contentsOfFile: report, encoding: .utf8)
      print(figures)
      #expect(!figures.contains("wrong"))
    }
  }
#endif

/// A client that polls, for a long time, a server that does wrong.
struct Soak {
  var count: Int
  /// The path of a file where it tells how it went.
  var report: String

  /// What each poll is answered with, in turn; `nil` as what it fails.
  private static let turns: [(Response, SyncFailure?)] = {
    let padding = String(repeating: "x", count: 2000)
    let event = #"{"id":1,"type":"alert_words","alert_words":["\#(padding)"]}"#
    let good = (Response.events(event), nil as SyncFailure?)
    var turns = Array(repeating: good, count: 28)
    turns[3] = (.badGateway, .serverFault)
    turns[6] = (.events(event).with(.cut(after: 500)), .unreachable)
    turns[9] = (.events(event).with(.reset(after: 0)), .unreachable)
    turns[11] = (.events().with(.garbage([22, 3, 1])), .serverFault)
    turns[13] = (
      .error(429, "RATE_LIMIT_HIT", #""retry-after":1.5"#), .rateLimited(after: .milliseconds(1500))
    )
    turns[15] = (.events().with(.halfOpen(after: 40)), .timedOut)
    turns[17] = (.error(400, "BAD_EVENT_QUEUE_ID"), .expired)
    turns[19] = (Response(status: 302, headers: ["Location": "/login"]), .serverFault)
    turns[21] = (.events(event).with(.drip(bytes: 1000, every: .milliseconds(1))), nil)
    turns[23] = (.json(#"{"result":"error","code":"UNAUTHORIZED"}"#, status: 401), .unauthorized)
    turns[23].0.headers["WWW-Authenticate"] = #"Basic realm="zulip""#
    turns[25] = (.events(#"{"type":"message"}"#), .malformed)
    return turns
  }()

  func run() async throws {
    let server = try LoopbackServer { request in
      guard request.method == "GET" else {
        return .success(#""queue_id":"q","last_event_id":-1,"zulip_feature_level":323"#)
      }
      return Soak.turns[(Int(request.query["last_event_id"] ?? "") ?? 0) % Soak.turns.count].0
    }
    var early = (memory: 0, files: 0, threads: 0)
    do {
      let connection = try Ada.connection(to: server)
      for index in 0..<count {
        // What the runtimes take once, they keep.
        if index == count / 3 { early = Soak.usage }
        try await poll(connection, index)
        if index % 40 == 0 { _ = try await connection.register() }
      }
    }
    let open = await server.counters(within: .seconds(20)) { $0.open == 0 }.open
    let late = Soak.usage
    let counters = server.counters
    await server.stop()
    let figures = "\(early) → \(late), \(counters)"
    tell("soak of \(count), kB, descriptors and threads after a third and at the end: \(figures)")
    // FoundationNetworking loses some 300 bytes a request, most of them in libcurl.
    let allowed = 3000 + count * 2 / 3 * 4 / 10
    guard open == 0, late.memory < early.memory + allowed, late.files < early.files + 10,
      late.threads < early.threads + 20
    else { fail("too much of something: \(open) sockets are open, \(figures)") }
  }

  private func tell(_ text: String) {
    try? text.write(toFile: report, atomically: true, encoding: .utf8)
  }

  private func fail(_ text: String) -> Never {
    tell("wrong: \(text)")
    fatalError(text)
  }

  private func poll(_ connection: ZulipConnection, _ index: Int) async throws {
    let place = QueueFinger(queue: QueueID("q"), lastEventID: Int64(index))
    let expected = Soak.turns[index % Soak.turns.count].1
    let deadline: TimeSpan = expected == .timedOut ? .milliseconds(20) : .seconds(20)
    let failure = await Ada.failure { () throws(ZulipFailure) in
      try await connection.events(after: place, waits: false, within: deadline)
    }
    guard failure?.failure == expected else {
      fail(
        "poll \(index): \(String(describing: failure)), not \(String(describing: expected))")
    }
  }

  /// Resident kilobytes, open descriptors, threads.
  private static var usage: (memory: Int, files: Int, threads: Int) {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    func count(_ folder: String) -> Int {
      (try? FileManager.default.contentsOfDirectory(atPath: folder))?.count ?? -1
    }
    return (
      Int(line.filter(\.isNumber)) ?? 0, count("/proc/self/fd"), count("/proc/self/task")
    )
  }
}
