package import LoopbackServer
internal import SyncProtocols
internal import UpdateMachine

/// Runs a ``ServedSite`` on a socket of the loopback address, in real time. It decides nothing.
package actor ServeDriver {
  package typealias Response = LoopbackServer.Response
  package typealias Request = LoopbackServer.Request

  /// The settings of a server.
  package struct Options: Sendable {
    package var port: UInt16 = 9991
    package var users = 4
    package var faults = FaultSwitches()
    package var seed: UInt64 = 1

    package init() {}
  }

  private var site: ServedSite
  private let clock = SystemClock()
  /// Takes each line of the conversation, in order.
  private let tell: @Sendable (String) -> Void
  private var toldLines: Int64 = 0
  private var waiters: [UInt64: CheckedContinuation<Response, Never>] = [:]

  package init(_ options: Options, tell: @escaping @Sendable (String) -> Void) {
    self.tell = tell
    site = ServedSite(
      users: options.users, faults: options.faults, seed: options.seed, at: clock.now,
      wall: clock.wallTime)
  }

  /// The most that clients may send or keep open. With these, they can make the server hold some
  /// 20 MiB of requests.
  private static var limits: LoopbackServer.Settings {
    var settings = LoopbackServer.Settings()
    settings.bodyLimit = 128 << 10
    settings.headLimit = 32 << 10
    settings.connectionLimit = 128
    settings.idleTime = .seconds(60)
    return settings
  }

  /// Starts to listen.
  package nonisolated func listen(
    on port: UInt16
  ) throws(LoopbackServerError) -> LoopbackServer {
    try LoopbackServer(port: port, settings: ServeDriver.limits) { request in
      await self.answer(request)
    }
  }

  package var users: [RealmUser] { site.server.realm.users }

  /// Lets time pass, until its task is cancelled.
  package func run() async {
    while !Task.isCancelled {
      site.advance(to: clock.now)
      deliver()
      do throws(CancellationError) {
        // Whatever is due may be late by this much.
        try await clock.sleep(until: clock.now + .milliseconds(100))
      } catch {
        return
      }
    }
  }

  /// Answers one request.
  package func answer(_ request: Request) async -> Response {
    if let api = APIRequest(request) {
      let outcome = site.handle(api, at: clock.now)
      deliver()
      guard case .waits(let waiter) = outcome else { return ServeDriver.response(outcome) }
      return await wait(waiter)
    }
    let response = page(request)
    deliver()
    return response
  }

  // MARK: Requests that wait

  /// Waits until the request has its answer, or its client goes away.
  private func wait(_ waiter: UInt64) async -> Response {
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        do throws(CancellationError) {
          while true { try await self.clock.sleep(until: self.clock.now + .seconds(3_600)) }
        } catch {
          await self.abandon(waiter)
        }
      }
      let response = await withCheckedContinuation { waiters[waiter] = $0 }
      group.cancelAll()
      return response
    }
  }

  private func abandon(_ waiter: UInt64) {
    guard let gone = waiters.removeValue(forKey: waiter) else { return }
    site.abandon(waiter: waiter, at: clock.now)
    deliver()
    gone.resume(returning: Response(status: 502))
  }

  /// Sends the answers of ended waits, and tells the new lines.
  private func deliver() {
    for finished in site.takeFinished(at: clock.now) {
      waiters.removeValue(forKey: finished.waiter)?
        .resume(returning: ServeDriver.response(finished.outcome))
    }
    for line in site.lines(after: toldLines) { tell(line) }
    toldLines = site.lineCount
  }

  private static func response(_ outcome: ServedSite.Outcome) -> Response {
    switch outcome {
    case .answered(let answer, let late):
      answer.response.delayed(by: .milliseconds(late.milliseconds))
    case .lost(let late):
      Response(status: 502).with(.cut(after: 0)).delayed(by: .milliseconds(late.milliseconds))
    case .waits: Response(status: 500)  // A request waits once.
    }
  }

  // MARK: The page

  /// Answers a request that is not for the API: the page, and what the page asks.
  private func page(_ request: Request) -> Response {
    guard ServeDriver.isLocal(request.headers["Host"]) else {
      return .text("This server answers to 127.0.0.1 and localhost only.\n", status: 400)
    }
    switch (request.method, request.path) {
    case ("GET", "/"):
      var page = Response(body: PackageResources.page_html)
      page.headers = [
        "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store",
        "Content-Security-Policy":
          "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
          + "connect-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'",
      ]
      return page
    case ("GET", "/control/state"):
      let number = request.query["after"].flatMap { Int64($0) } ?? 0
      return .json(site.state(after: number, at: clock.now).description)
    case ("POST", let path) where path.hasPrefix("/control/"):
      // Pages of other sites cannot send this header without asking, and nobody grants it.
      guard request.headers["X-Serve"] != nil else {
        return ServeDriver.complaint("send the header X-Serve: 1", status: 403)
      }
      do throws(PageError) {
        let body = try? JSONValue(parsing: request.text)
        let command = try site.command(String(path.dropFirst("/control/".count)), body)
        site.perform(command, at: clock.now)
        return .json(#"{"done":true}"#)
      } catch {
        return ServeDriver.complaint(error.message, status: 400)
      }
    default: return .text("There is a page at / and an API at /api/v1/.\n", status: 404)
    }
  }

  private static func complaint(_ words: String, status: Int) -> Response {
    .json(JSONValue.object(["error": .string(words)]).description, status: status)
  }

  /// Whether the header names this computer. A name that somebody's server points here would let a
  /// stranger's page read the answers.
  private static func isLocal(_ host: String?) -> Bool {
    guard let host else { return false }
    let name = host.prefix { $0 != ":" }
    return name == "127.0.0.1" || name == "localhost"
  }
}
