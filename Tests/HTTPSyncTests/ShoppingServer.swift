import Foundation
import LoopbackServer
import SyncProtocols
import UpdateMachine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The list as the server has it.
struct ListTruth: ServerTruth, CustomStringConvertible {
  var items: [String]
  var snapshot: [String] { items }
  var description: String { "\(items)" }
  mutating func apply(_ event: String) { items.append(event) }
}

/// An app's server with a log of changes, over HTTP on this machine.
actor ShoppingServer {
  let log = LocalChangeLog(truth: ListTruth(items: ["milk"]))
  /// Answers to give instead of the next ones, by path.
  private var faults: [(path: String, response: LoopbackServer.Response)] = []
  /// Whether the server itself is away, and a proxy answers for it.
  private var isDown = false
  private(set) var registers = 0
  /// How many polls wait for news.
  private var waiting = 0

  static var proxyPage: LoopbackServer.Response {
    .text("<html>Bad Gateway</html>", status: 502, type: "text/html")
  }

  func fail(_ path: String, with response: LoopbackServer.Response) {
    faults.append((path, response))
  }

  func setDown(_ isDown: Bool) { self.isDown = isDown }

  func answer(_ request: LoopbackServer.Request) async -> LoopbackServer.Response {
    if let index = faults.firstIndex(where: { $0.path == request.path }) {
      return faults.remove(at: index).response
    }
    if isDown { return ShoppingServer.proxyPage }
    switch request.path {
    case "/list":
      registers += 1
      return json(await log.register())
    case "/changes":
      guard let epoch = request.query["epoch"],
        let number = request.query["after"].flatMap({ Int64($0) })
      else { return .json("{}", status: 400) }
      let place = ChangeLogPlace(epoch: ChangeLogEpoch(epoch), number: number)
      let waits = request.query["waits"] == "true"
      waiting += waits ? 1 : 0
      defer { waiting -= waits ? 1 : 0 }
      do throws(SyncFailure) {
        return json(try await log.poll(after: place, waits: waits))
      } catch {
        return .json("{}", status: 410)
      }
    default: return .json("{}", status: 404)
    }
  }

  /// Returns once a poll waits. A test ends its client then: on Linux, URLSession may block for
  /// ever if a request is cancelled just as its answer arrives.
  func pollWaits() async {
    while waiting == 0 { await Task.yield() }
  }

  private func json(_ answer: some Encodable) -> LoopbackServer.Response {
    do {
      return .json(String(decoding: try JSONEncoder().encode(answer), as: UTF8.self))
    } catch {
      return .json("{}", status: 500)
    }
  }

  /// Serves over HTTP while `body` runs.
  nonisolated func serving<Result>(
    _ body: (URL, URLSession) async throws -> Result
  ) async throws -> Result {
    let http = try LoopbackServer { await self.answer($0) }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.connectionProxyDictionary = [:]
    let session = URLSession(configuration: configuration)
    let result = try await body(URL(string: http.address)!, session)
    session.invalidateAndCancel()
    await http.stop()
    return result
  }
}
