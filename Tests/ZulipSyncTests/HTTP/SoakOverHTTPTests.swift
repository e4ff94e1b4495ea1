import Foundation
import LoopbackServer
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

#if os(Linux)
  /// Sends thousands of requests, some with faults. Memory must stay flat, and no socket may be
  /// left. It runs in a process of its own, where nothing else takes memory.
  ///
  /// A release build, which is as fast as an app, makes 10,000 polls; a debug build makes fewer.
  /// `ZULIP_SOAK=100000 swift test --filter SoakOverHTTPTests` sets the number.
  @Suite(.timeLimit(.minutes(20))) struct SoakOverHTTPTests {
    @Test func `memory is flat and all sockets are closed at the end`() async throws {
      // The report is a file and not the process's output, because waiting for output blocks a
      // thread that parallel tests need.
      let report = FileManager.default.temporaryDirectory
        .appending(path: "zulip-soak-\(ProcessInfo.processInfo.processIdentifier)").path
      defer { try? FileManager.default.removeItem(atPath: report) }
      await #expect(processExitsWith: .success) { [report = report as String] in
        let text = ProcessInfo.processInfo.environment["ZULIP_SOAK"] ?? ""
        let soak = Soak(count: Int(text) ?? Soak.usual, report: report)
        try await soak.run()
      }
      let figures = try String(contentsOfFile: report, encoding: .utf8)
      print(figures)
      #expect(!figures.contains("wrong"))
    }
  }
#endif

/// A client that polls a faulty server for a long time.
struct Soak {
  /// The number of polls that are counted.
  var count: Int
  /// The path of the file that gets the report.
  var report: String

  #if DEBUG
    static let usual = 1000
  #else
    static let usual = 10_000
  #endif

  /// The number of polls before those. The runtimes take some memory once and keep it.
  private static let warmUp = 1000

  /// How many bytes memory may grow for each poll. FoundationNetworking and libcurl leak some 350;
  /// an exchange or an answer that is kept has more than 2,000.
  private static let growth = 600
  /// How many bytes the allocator may keep at one time and not at another.
  private static let slack = 1_000_000

  /// The answers to polls, in turn, and the failure of each; `nil` if it succeeds.
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

  /// The answers to sends and registers, in turn, and the failure of each.
  private static let fates: [(Response, SyncFailure?)] = {
    let good = Response.success(
      #""id":1,"queue_id":"q","last_event_id":-1,"zulip_feature_level":323"#)
    return [
      (good, nil), (good.with(.cut(after: 0)), .unreachable),
      (good.with(.reset(after: 0)), .unreachable), (good.with(.halfOpen(after: 0)), .timedOut),
      (good, nil), (good.with(.cut(after: 90)), .unreachable),
      (good.with(.halfOpen(after: 90)), .timedOut), (.badGateway, .serverFault),
      (good.with(.garbage([22, 3, 1])), .serverFault),
    ]
  }()

  func run() async throws {
    let sent = Shared(0)
    let server = try LoopbackServer { request in
      if request.path == "/api/v1/users/me" {
        await untilCancelled()
        return .success()
      }
      let last = request.query["last_event_id"].flatMap { Int($0) }
      return last.map { Soak.turns[$0 % Soak.turns.count].0 }
        ?? Soak.fates[sent.value % Soak.fates.count].0
    }
    var early = Soak.usage
    var time = Duration.zero
    do {
      // The clock leaps, so that no request is kept waiting by the rate limits in between.
      let connection = try Ada.connection(to: server, clock: LeapClock())
      try await ask(0..<Soak.warmUp, connection, server, sent)
      early = Soak.usage
      time = try await ContinuousClock().measure {
        try await ask(Soak.warmUp..<Soak.warmUp + count, connection, server, sent)
      }
    }
    let open = await server.counters(within: .seconds(20)) { $0.open == 0 && $0.answering == 0 }
    let late = Soak.usage
    await server.stop()
    let growth = (late.memory - early.memory) * 1024
    let figures = """
      \(growth / count) bytes a poll, \(early) → \(late) (kB, descriptors, threads), \(open)
      """
    tell("soak of \(count) polls in \(time): \(figures)")
    guard open.open == 0, open.answering == 0, late.files < early.files + 10,
      late.threads < early.threads + 20
    else { fail("too much of something: \(figures)") }
    // Under the thread sanitizer this says nothing, because its own memory grows with everything
    // that is done.
    guard ProcessInfo.processInfo.environment["TSAN_OPTIONS"] == nil else { return }
    if growth > Soak.slack + count * Soak.growth { fail("too much memory: \(figures)") }
  }

  private func ask(
    _ polls: Range<Int>, _ connection: ZulipConnection, _ server: LoopbackServer,
    _ sent: Shared<Int>
  ) async throws {
    for index in polls {
      try await poll(connection, index)
      if index % 20 == 0 { try await send(connection, sent, registers: index % 40 == 0) }
      if index % 50 == 0 { await cancel(connection, server) }
    }
  }

  private func tell(_ text: String) {
    try? text.write(toFile: report, atomically: true, encoding: .utf8)
  }

  private func fail(_ text: String) -> Never {
    tell("wrong: \(text)")
    fatalError(text)
  }

  private func check(_ failure: ZulipFailure?, is expected: SyncFailure?, _ what: String) {
    guard failure?.failure != expected else { return }
    fail("\(what): \(String(describing: failure)), not \(String(describing: expected))")
  }

  private func deadline(_ expected: SyncFailure?) -> TimeSpan {
    expected == .timedOut ? .milliseconds(20) : .seconds(20)
  }

  private func poll(_ connection: ZulipConnection, _ index: Int) async throws {
    let place = QueueFinger(queue: QueueID("q"), lastEventID: Int64(index))
    let expected = Soak.turns[index % Soak.turns.count].1
    let failure = await Ada.failure { () throws(ZulipFailure) in
      try await connection.events(after: place, waits: false, within: deadline(expected))
    }
    check(failure, is: expected, "poll \(index)")
  }

  private func send(
    _ connection: ZulipConnection, _ sent: Shared<Int>, registers: Bool
  ) async throws {
    let index = sent.change { sent in
      sent += 1
      return sent
    }
    let expected = Soak.fates[index % Soak.fates.count].1
    var form = ZulipForm()
    form.add("content", .text("message \(index)"))
    let failure = await Ada.failure { () throws(ZulipFailure) in
      if registers {
        _ = try await connection.register(within: deadline(expected))
      } else {
        try await connection.ask(.post, "messages", form, within: deadline(expected)) {
          _ throws(ZulipError) in
        }
      }
    }
    check(failure, is: expected, "request \(index)")
  }

  /// Gives up a waiting request, with or without a body, once the server has it.
  private func cancel(_ connection: ZulipConnection, _ server: LoopbackServer) async {
    for method in [ZulipConnection.Method.get, .post] {
      let asking = Task {
        await Ada.failure { () throws(ZulipFailure) in
          try await connection.ask(method, "users/me", within: .seconds(60)) {
            _ throws(ZulipError) in
          }
        }
      }
      _ = await server.counters(within: .seconds(20)) { $0.answering == 1 }
      asking.cancel()
      check(await asking.value, is: .unreachable, "cancelled")
      _ = await server.counters(within: .seconds(20)) { $0.answering == 0 }
    }
  }

  /// The resident kilobytes, open descriptors and threads of this process.
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
