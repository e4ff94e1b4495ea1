import Foundation
import LoopbackServer
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

typealias Response = LoopbackServer.Response

/// A clock that goes on when somebody sleeps, and then at once.
final class LeapClock: DriverClock {
  private let moment = Shared(Moment(milliseconds: 0))
  var now: Moment { moment.value }
  var wallTime: WallTime { WallTime(milliseconds: 1_000_000 + now.milliseconds) }

  func sleep(until later: Moment) async throws(CancellationError) {
    moment.change { $0 = max($0, later) }
  }
}

/// The user of a server on this computer.
enum Ada {
  static let email = "ada+zulip@example.org"
  static let key = "s3cretKeyThatNobodyMaySee0123456"

  static func connection(
    to server: LoopbackServer, _ settings: ZulipSettings = ZulipSettings(),
    clock: any DriverClock = SystemClock()
  ) throws -> ZulipConnection {
    try ZulipConnection(
      to: try ZulipSite(server.address), email: email, key: try ZulipAPIKey(key),
      settings: settings, clock: clock)
  }

  /// Runs `body` with a server and a connection to it, and closes both afterwards.
  static func serve(
    _ settings: ZulipSettings = ZulipSettings(),
    server: LoopbackServer.Settings = LoopbackServer.Settings(),
    answer: @escaping LoopbackServer.Answer,
    while body: (LoopbackServer, ZulipConnection) async throws -> Void
  ) async throws {
    try await LoopbackServer.serving(settings: server, answer: answer) { server in
      try await body(server, try connection(to: server, settings))
    }
  }

  /// Runs `body` with a machine that follows a server, once it holds an account. It ends the
  /// machine, and waits until the server answers nothing more.
  static func follow(
    _ answer: @escaping LoopbackServer.Answer,
    while body: (UpdateMachine<ZulipAccountSource>) async throws -> Void
  ) async throws {
    try await serve(answer: answer) { server, connection in
      let machine = UpdateMachine(
        source: ZulipAccountSource(connection), store: MemoryStore(), settings: .quick)
      let running = Task { await machine.run() }
      for await state in await machine.states() where state.model != nil { break }
      try await body(machine)
      await machine.stop()
      await running.value
      await server.reaches { $0.answering == 0 }
    }
  }

  /// Sends one request. Returns what the server was asked, and what the client made of the answer.
  static func asked<Value: Sendable>(
    _ answer: Response = .success(),
    _ body: (ZulipConnection) async throws(ZulipFailure) -> Value
  ) async throws -> (LoopbackServer.Request, Value) {
    let request = Shared<LoopbackServer.Request?>(nil)
    var value: Value?
    try await serve { asked in
      request.change { $0 = asked }
      return answer
    } while: { _, connection in
      value = try await body(connection)
    }
    return (try #require(request.value), try #require(value))
  }

  /// The failure of a request.
  static func failure(
    of body: () async throws(ZulipFailure) -> some Any
  ) async -> ZulipFailure? {
    do throws(ZulipFailure) {
      _ = try await body()
      return nil
    } catch {
      return error
    }
  }
}

extension Response {
  static func success(_ fields: String = "") -> Response {
    .json(#"{"result":"success","msg":""\#(fields.isEmpty ? "" : ",")\#(fields)}"#)
  }

  static func error(_ status: Int, _ code: String, _ fields: String = "") -> Response {
    .json(
      #"{"result":"error","msg":"secret","code":"\#(code)"\#(fields.isEmpty ? "" : ",")\#(fields)}"#,
      status: status)
  }

  static func events(_ events: String = "") -> Response { success(#""events":[\#(events)]"#) }

  static let badGateway = Response.text("<html>502</html>", status: 502, type: "text/html")
}

extension LoopbackServer {
  /// Waits until the counters are as they should be. Records an issue if they never are.
  @discardableResult
  func reaches(
    at place: SourceLocation = #_sourceLocation,
    _ isRight: @escaping @Sendable (Counters) -> Bool
  ) async -> Counters {
    let counters = await counters(within: .seconds(30), until: isRight)
    if !isRight(counters) { Issue.record("\(counters)", sourceLocation: place) }
    return counters
  }
}

extension LoopbackServer {
  /// A server on a port where nobody listens on the other address of `localhost`. Returns `nil` if
  /// this computer has no such address.
  static func alone(on family: Family, answer: @escaping Answer) async throws -> LoopbackServer? {
    for _ in 0..<100 {
      do throws(LoopbackServerError) {
        let server = try LoopbackServer(on: family, answer: answer)
        if await server.isAlone() { return server }
        await server.stop()
      } catch {
        guard family == .ipv6 else { throw error }
        return nil
      }
    }
    return nil
  }

  private func isAlone() async -> Bool {
    do throws(LoopbackServerError) {
      let other = try LoopbackServer(on: family == .ipv4 ? .ipv6 : .ipv4, port: port) { _ in
        .success()
      }
      await other.stop()
      return true
    } catch {
      return error != .portInUse(port)
    }
  }
}

/// Returns once its task is cancelled.
func untilCancelled() async {
  let (stream, continuation) = AsyncStream<Void>.makeStream()
  for await _ in stream {}
  withExtendedLifetime(continuation) {}
}

/// A value that a test and a server both use.
final class Shared<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var content: Value

  init(_ value: Value) { content = value }

  var value: Value { lock.withLock { content } }

  func change<Result>(_ body: (inout Value) -> Result) -> Result {
    lock.withLock { body(&content) }
  }
}

extension MachineSettings {
  /// Settings whose waits are all very short.
  static var quick: MachineSettings {
    var settings = MachineSettings()
    settings.retry.paceInterval = .milliseconds(1)
    settings.retry.paceBurst = 1000
    settings.retry.transientFirst = .milliseconds(1)
    settings.retry.transientCap = .milliseconds(20)
    settings.retry.slowFirst = .milliseconds(1)
    settings.retry.slowCap = .milliseconds(20)
    settings.retry.retryAfterFloor = .milliseconds(1)
    settings.spread = .milliseconds(1)
    return settings
  }
}

let aFinger = QueueFinger(queue: QueueID("q1"), lastEventID: -1)
