import Foundation
import LoopbackServer
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Replays what a real server once answered, over a socket with faults.
@Suite(.timeLimit(.minutes(5))) struct ReplayOverHTTPTests {
  /// One observer's session, as a server that answers by finger. If asked again, it gives the same
  /// again.
  private final class Recording: Sendable {
    let register: String
    let events: [(id: Int64, json: String)]
    /// The last ID of each answer.
    let ends: [Int64]
    let count = Shared(0)
    /// Whether the server has begun to give events.
    let hasBegun = Shared(false)
    let atEnd: AsyncStream<Void>
    private let end: AsyncStream<Void>.Continuation

    init(_ observer: RecordedObserver) {
      register = ZulipValue.fields(observer.start.fields).description
      events = observer.events.map { ($0.id, ZulipValue.fields($0.fields).description) }
      ends = observer.answers.compactMap { $0.events.last?.id }
      (atEnd, end) = AsyncStream.makeStream()
    }

    func answer(_ request: LoopbackServer.Request) async -> Response {
      let right = await rightAnswer(request)
      let count = count.change { count in
        count += 1
        return count
      }
      switch count % 12 {
      case 1: return right.with(.cut(after: 200))
      case 3: return .badGateway
      case 5: return right.with(.reset(after: 150))
      case 7: return .error(429, "RATE_LIMIT_HIT", #""retry-after":0.001"#)
      case 9: return .text("<html>", type: "text/html")
      case 11: return right.with(.drip(bytes: 4000, every: .milliseconds(1)))
      default: return right
      }
    }

    private func rightAnswer(_ request: LoopbackServer.Request) async -> Response {
      guard request.method == "GET" else { return .json(register) }
      if request.path == "/api/v1/messages" {
        // No message was sent before the session. Requests for single messages are refused.
        guard request.query["narrow"] == nil else { return .error(400, "BAD_REQUEST") }
        return .success(
          #""messages":[],"anchor":10000000000000000,"found_anchor":false,"found_oldest":true,"#
            + #""found_newest":true,"history_limited":false"#)
      }
      guard hasBegun.value else { return .events() }
      let last = Int64(request.query["last_event_id"] ?? "") ?? 0
      guard let end = ends.first(where: { $0 > last }) else {
        self.end.yield()
        await untilCancelled()
        return .events()
      }
      let next = events.filter { $0.id > last && $0.id <= end }
      return .events(next.map(\.json).joined(separator: ","))
    }
  }

  @Test(arguments: ["hamlet/modern", "polonius/guest"])
  func `a session over a bad network ends where the same events end`(name: String) async throws {
    let observer = RecordedObserver.named(name)
    let recording = Recording(observer)
    var expected = try ZulipAccount(
      snapshot: .init(observer.start, .rendered))
    let everything = expected.list(ZulipNarrow([]))
    expected.lists.open(everything)
    let fetch = RequestID(incarnation: Incarnation(1), part: .pages, number: 1)
    expected.lists.begin(fetch, PageRequest(everything, .newest, before: 1, after: 0))
    let nothing = MessagePage<ZulipContent>(messages: [], foundOldest: true, foundNewest: true)
    #expect(expected.lists.take(nothing, for: fetch) == .taken)
    for answer in observer.answers {
      expected.lists.asked()
      for event in answer.events where event.type != "heartbeat" { try expected.apply(event) }
      expected.lists.answered()
    }

    try await Ada.serve {
      await recording.answer($0)
    } while: { server, connection in
      let machine = UpdateMachine(
        source: ZulipAccountSource(
          connection, ZulipRegister(client: observer.start.registration)),
        settings: .quick)
      let running = Task { await machine.run() }
      let views = await machine.openWindow(on: everything, showing: .newest(1))
      for await view in views where view.reachesBeginning && view.reachesEnd { break }
      recording.hasBegun.change { $0 = true }
      for await _ in recording.atEnd { break }
      let account = try #require(await machine.state.model)
      await machine.stop()
      await running.value
      #expect(account.realm.differences(from: expected.realm) == [])
      // A subscription makes a list unknown. Which messages are held then depends on when a page
      // came.
      let both = expected.messages.messages.filter { account.messages[$0.id] != nil }
      #expect(both.filter { account.messages[$0.id] != $0 }.map(\.id) == [])
      #expect(both.count > 30)
      #expect(recording.count.value > recording.ends.count, "faults made the client ask again")
      await server.reaches { $0.answering == 0 }
    }
  }
}
