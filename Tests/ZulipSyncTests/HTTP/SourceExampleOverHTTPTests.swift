import Foundation
import LoopbackServer
import SyncProtocols
import Synchronization
import Testing
import UpdateMachine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// Article example begins: source
/// A source for a server that answers in JSON at two addresses.
struct ShoppingSource: SyncSource {
  typealias Model = ShoppingList
  typealias Sync = EventQueue<String>

  var site: URL
  var session: URLSession

  private struct Start: Decodable {
    var queue: String
    var last: Int64
    var items: [String]
  }

  private struct News: Decodable {
    var id: Int64
    var added: String
  }

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<[String], QueueFinger> {
    let start: Start = try await ask("register")
    return Registered(
      snapshot: start.items,
      finger: QueueFinger(queue: QueueID(start.queue), lastEventID: start.last),
      terms: ServerTerms(longDeadline: .seconds(90), lifetime: .minutes(10)))
  }

  func poll(
    after finger: QueueFinger, waits: Bool
  ) async throws(SyncFailure) -> QueueBatch<String> {
    let place = "queue=\(finger.queue)&after=\(finger.lastEventID)&waits=\(waits)"
    let news: [News] = try await ask("events?" + place)
    return QueueBatch(
      queue: finger.queue, events: news.map { QueuedEvent(id: $0.id, event: $0.added) })
  }

  func release(_ queue: QueueID) async {}

  /// One request. Each way in which it can end is classified here, and nowhere else.
  private func ask<Answer: Decodable>(_ path: String) async throws(SyncFailure) -> Answer {
    let (data, response): (Data, URLResponse)
    do {
      (data, response) = try await session.data(from: URL(string: path, relativeTo: site)!)
    } catch let error as URLError where error.code == .timedOut {
      throw .timedOut
    } catch {
      throw .unreachable
    }
    // A proxy's page is no answer of ours, whatever its status says.
    guard response.mimeType == "application/json" else { throw .serverFault }
    switch (response as? HTTPURLResponse)?.statusCode ?? 0 {
    case 200: break
    case 401: throw .unauthorized
    case 410: throw .expired  // The server has forgotten the queue.
    case 429: throw .rateLimited(after: nil)
    case 400..<500: throw .rejected(RejectionCode("refused"))
    default: throw .serverFault
    }
    do { return try JSONDecoder().decode(Answer.self, from: data) } catch { throw .malformed }
  }
}

/// What the app holds: the things to buy.
struct ShoppingList: SyncModel {
  typealias Refusal = Never
  var items: [String]
  init(snapshot: [String]) { items = snapshot }
  mutating func apply(_ event: String) { items.append(event) }
}
// Article example ends

/// Checks that the source in GettingStarted follows a server over HTTP.
@Suite(.timeLimit(.minutes(1))) struct SourceExampleOverHTTPTests {
  /// The server's side: what was added, in order. The number of an addition is its event's ID.
  private final class Server: Sendable {
    let items = Mutex(["milk"])
    /// Answers to give instead of the next ones, by path.
    let faults = Mutex<[(path: String, response: LoopbackServer.Response)]>([])

    func answer(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
      let fault = faults.withLock { faults in
        faults.firstIndex { $0.path == request.path }.map { faults.remove(at: $0).response }
      }
      if let fault { return fault }
      let items = items.withLock { $0 }
      switch request.path {
      case "/register":
        let list = items.map { "\"\($0)\"" }.joined(separator: ",")
        return .json("{\"queue\":\"q1\",\"last\":\(items.count),\"items\":[\(list)]}")
      case "/events":
        let after = request.query["after"].flatMap { Int($0) } ?? 0
        let news = items.enumerated().dropFirst(after).map { index, item in
          "{\"id\":\(index + 1),\"added\":\"\(item)\"}"
        }
        let answer = LoopbackServer.Response.json("[\(news.joined(separator: ","))]")
        return news.isEmpty && request.query["waits"] == "true"
          ? answer.delayed(by: .milliseconds(100)) : answer
      default: return .init(status: 404)
      }
    }
  }

  /// Follows a server until its list has these items; returns how many registers that took.
  private func follow(
    _ server: Server, adding item: String, until wanted: [String]
  ) async throws -> Int {
    let registers = Mutex(0)
    let http = try LoopbackServer { request in
      if request.path == "/register" { registers.withLock { $0 += 1 } }
      return server.answer(request)
    }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.connectionProxyDictionary = [:]
    let session = URLSession(configuration: configuration)
    let site = try #require(URL(string: http.address))
    let machine = UpdateMachine(source: ShoppingSource(site: site, session: session))
    async let following: Void = machine.run()
    var isAdded = false
    for await state in await machine.states() {
      guard let list = state.model else { continue }
      if list.items == wanted { break }
      if !isAdded { server.items.withLock { $0.append(item) } }
      isAdded = true
    }
    await machine.stop()
    await following
    session.invalidateAndCancel()
    await http.stop()
    return registers.withLock { $0 }
  }

  @Test func `the article's source follows a list`() async throws {
    #expect(try await follow(Server(), adding: "tea", until: ["milk", "tea"]) == 1)
  }

  @Test func `the article's source tells a proxy's page from a forgotten queue`() async throws {
    let server = Server()
    server.faults.withLock { $0.append(("/events", .text("<html>", type: "text/html"))) }
    #expect(try await follow(server, adding: "tea", until: ["milk", "tea"]) == 1)
    server.faults.withLock { $0.append(("/events", .json("{}", status: 410))) }
    #expect(try await follow(server, adding: "soap", until: ["milk", "tea", "soap"]) == 2)
  }
}
