import Foundation
import LoopbackServer
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests a whole session of an account, through the driver, URLSession and a socket.
@Suite(.timeLimit(.minutes(3))) struct LifeOverHTTPTests {
  /// A server that gives the answers of a list, and then waits as if it had no news.
  private final class Script: Sendable {
    private let registers: Shared<[Response]>
    private let polls: Shared<[Response]>
    let released = Shared<[String]>([])
    /// The fingers of the polls, in order, like "q1:-1".
    let asked = Shared<[String]>([])

    init(registers: [Response], polls: [Response]) {
      self.registers = Shared(registers)
      self.polls = Shared(polls)
    }

    func answer(_ request: LoopbackServer.Request) async -> Response {
      switch (request.method, request.path) {
      case ("POST", "/api/v1/register"):
        return registers.change { $0.isEmpty ? nil : $0.removeFirst() } ?? .badGateway
      case ("GET", "/api/v1/events"):
        let place = "\(request.query["queue_id"] ?? ""):\(request.query["last_event_id"] ?? "")"
        asked.change { $0.append(place) }
        if let next = polls.change({ $0.isEmpty ? nil : $0.removeFirst() }) { return next }
        if request.query["dont_block"] == "true" { return .events() }
        await untilCancelled()
        return .events()
      case ("DELETE", "/api/v1/events"):
        released.change { $0.append(request.form?["queue_id"] ?? "") }
        return .success()
      default: return .error(404, "BAD_REQUEST")
      }
    }
  }

  private static func registered(_ queue: String, _ word: String) -> Response {
    .success(
      #""queue_id":"\#(queue)","last_event_id":-1,"zulip_feature_level":323,"alert_words":["\#(word)"]"#
    )
  }

  private static func word(_ id: Int, _ word: String) -> Response {
    .events(#"{"id":\#(id),"type":"alert_words","alert_words":["\#(word)"]}"#)
  }

  @Test func `a client follows through faults and an expiry until its log-out`() async throws {
    let script = Script(
      registers: [
        .badGateway, Self.registered("q1", "a").with(.cut(after: 150)), Self.registered("q1", "a"),
        .error(429, "RATE_LIMIT_HIT", #""retry-after":0.05"#), Self.registered("q2", "d"),
      ],
      polls: [
        .events(), Self.word(0, "b"), .badGateway, Self.word(1, "lost").with(.reset(after: 60)),
        Self.word(1, "lost").with(.cut(after: 120)), .text("<html>", type: "text/html"),
        Self.word(1, "c"), Response(status: 304), .events().with(.garbage([1, 2, 3])),
        .error(429, "RATE_LIMIT_HIT", #""retry-after":0.05"#),
        .events(#"{"id":3,"type":"heartbeat"}"#), .error(400, "BAD_EVENT_QUEUE_ID"),
        Self.word(0, "e"), .events(#"{"id":1,"type":"brand_new","x":1}"#), Self.word(2, "f"),
      ])
    try await Ada.serve {
      await script.answer($0)
    } while: { server, connection in
      let machine = UpdateMachine(source: ZulipSource(connection), settings: .quick)
      let running = Task { await machine.run() }
      let words = Shared<[String]>([])
      for await state in await machine.states() {
        guard let word = state.model?["alert_words"]?.list?.first?.text else { continue }
        words.change { if $0.last != word { $0.append(word) } }
        if word == "f" { break }
      }
      // Some states may be skipped, but none comes twice, and none that never was.
      #expect(words.value == words.value.sorted() && !words.value.contains("lost"))
      let counts = await machine.state.model?.counts
      #expect(counts?.unknownTypes == ["brand_new": 1])
      // The client goes on, and waits for news.
      await server.reaches { $0.answering == 1 }
      try await machine.logOut()
      await running.value
      #expect(script.released.value == ["q2"])
      let asked = script.asked.value
      #expect(asked.first == "q1:-1" && asked.last == "q2:2")
      #expect(
        asked.filter { $0 == "q1:0" }.count == 5, "what was not taken is asked again: \(asked)")
      let after = await server.reaches { $0.answering == 0 }
      #expect(after.requests == 5 + 16 + 1)
    }
  }

  @Test func `stop ends the poll that waits, and keeps the queue`() async throws {
    let script = Script(registers: [Self.registered("q1", "a")], polls: [])
    try await Ada.serve {
      await script.answer($0)
    } while: { server, connection in
      let machine = UpdateMachine(source: ZulipSource(connection))
      let running = Task { await machine.run() }
      await server.reaches { $0.requests == 2 && $0.answering == 1 }
      let time = await ContinuousClock().measure {
        await machine.stop()
        await running.value
      }
      #expect(time < .seconds(10))
      #expect(script.released.value == [])
      await server.reaches { $0.answering == 0 && $0.open == 0 }
    }
  }

  @Test func `a revoked key halts the machine`() async throws {
    try await Ada.serve { _ in
      var answer = Response.error(401, "INVALID_API_KEY")
      answer.headers["WWW-Authenticate"] = #"Basic realm="zulip""#
      return answer
    } while: { server, connection in
      let machine = UpdateMachine(source: ZulipSource(connection))
      let running = Task { await machine.run() }
      for await state in await machine.states()
      where state.status == MachineStatus.halted(.credentials) { break }
      #expect(server.counters.requests == 1)
      await machine.stop()
      await running.value
    }
  }
}
