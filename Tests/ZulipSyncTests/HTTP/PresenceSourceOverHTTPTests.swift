import LoopbackServer
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests presence and typing through the driver, URLSession and a socket, on a queue of their own.
@Suite(.timeLimit(.minutes(3))) struct PresenceSourceOverHTTPTests {
  /// A server that answers each poll with the next answer of the test.
  private final class Script: Sendable {
    private let registers: Shared<[Response]>
    private let answers: AsyncStream<Response>
    private let next: AsyncStream<Response>.Continuation
    /// What was asked: the forms of registers, the event IDs of waiting polls, and the released
    /// queues.
    let forms = Shared<[LoopbackServer.Form?]>([])
    let asked = Shared<[String]>([])
    let released = Shared<[String]>([])

    init(registers: [Response]) {
      self.registers = Shared(registers)
      (answers, next) = AsyncStream.makeStream()
    }

    func say(_ answer: Response) { next.yield(answer) }

    func answer(_ request: LoopbackServer.Request) async -> Response {
      switch (request.method, request.path) {
      case ("POST", "/api/v1/register"):
        forms.change { $0.append(request.form) }
        return registers.change { $0.isEmpty ? nil : $0.removeFirst() } ?? .badGateway
      case ("GET", "/api/v1/events"):
        if request.query["dont_block"] == "true" { return .events() }
        let place = "\(request.query["queue_id"] ?? ""):\(request.query["last_event_id"] ?? "")"
        asked.change { $0.append(place) }
        for await answer in answers { return answer }
        return .events()
      default:
        released.change { $0.append(request.form?["queue_id"] ?? "") }
        return .success()
      }
    }
  }

  private static func registered(_ queue: String, _ presences: String, at second: Int) -> Response {
    .success(
      """
      "queue_id":"\(queue)","last_event_id":-1,"zulip_feature_level":323,\
      "presences":{\(presences)},"server_timestamp":\(second).25,\
      "server_presence_offline_threshold_seconds":200,\
      "server_typing_started_expiry_period_milliseconds":45000
      """)
  }

  private static func typing(_ id: Int, by user: Int) -> Response {
    .events(
      """
      {"id":\(id),"type":"typing","op":"start","sender":{"user_id":\(user)},\
      "message_type":"stream","stream_id":4,"topic":"Lunch"}
      """)
  }

  private static let (ada, bob) = (UserID(7), UserID(8))
  private static let lunch = MessagePlace.zulip(ChannelID(4), topic: "lunch")

  private static func moment(_ seconds: Double) -> Moment {
    Moment(milliseconds: Int64(seconds * 1_000))
  }

  /// Waits for a model that is as it should be, and returns it.
  private static func presence(
    of machine: UpdateMachine<ZulipPresenceSource>, _ isRight: (ZulipPresence) -> Bool
  ) async throws -> ZulipPresence {
    for await state in await machine.states() {
      if let presence = state.model, isRight(presence) { return presence }
    }
    throw CancellationError()
  }

  @Test func `statuses and typing end by time alone, and an expired queue is registered anew`()
    async throws
  {
    let clock = HeldClock(Self.moment(50))
    let script = Script(registers: [
      Self.registered(
        "q1", #""7":{"active_timestamp":999900,"idle_timestamp":999950}"#, at: 1_000_000),
      Self.registered("q2", #""8":{"active_timestamp":1000090}"#, at: 1_000_100),
    ])
    try await Ada.serve {
      await script.answer($0)
    } while: { server, connection in
      let source = ZulipPresenceSource(connection, clock: clock)
      let machine = UpdateMachine(source: source, settings: .quick)
      let running = Task { await machine.run() }
      let first = try await Self.presence(of: machine) { _ in true }
      #expect(first.status(of: Self.ada, at: Self.moment(149.749)) == .active)
      #expect(first.status(of: Self.ada, at: Self.moment(149.75)) == .idle)
      #expect(first.status(of: Self.ada, at: Self.moment(199.75)) == .offline)

      // An event is dated by when its answer comes, not by when the poll was sent.
      await server.reaches { $0.answering == 1 }
      clock.now = Self.moment(60)
      script.say(Self.typing(0, by: 8))
      let second = try await Self.presence(of: machine) { !$0.typists.isEmpty }
      #expect(second.typists(in: Self.lunch, at: Self.moment(104.999)) == [Self.bob])
      #expect(second.typists(in: Self.lunch, at: Self.moment(105)) == [])
      #expect(second.nextChange(after: clock.now) == Self.moment(105))
      await server.reaches { $0.answering == 1 }
      clock.now = Self.moment(70)
      script.say(
        .events(
          """
          {"id":1,"type":"presence","user_id":8,"server_timestamp":1000020.25,\
          "presence":{"website":{"status":"active","timestamp":1000010}}}
          """))
      let third = try await Self.presence(of: machine) { $0.people[Self.bob] != nil }
      #expect(third.status(of: Self.bob, at: Self.moment(259.749)) == .active)
      #expect(third.status(of: Self.bob, at: Self.moment(259.75)) == .offline)

      await server.reaches { $0.answering == 1 }
      clock.now = Self.moment(150)
      script.say(.error(400, "BAD_EVENT_QUEUE_ID"))
      let fourth = try await Self.presence(of: machine) { $0.people[Self.ada] == nil }
      #expect(fourth.typists.isEmpty)
      #expect(fourth.status(of: Self.bob, at: Self.moment(339.749)) == .active)
      #expect(fourth.status(of: Self.bob, at: Self.moment(339.75)) == .offline)
      await server.reaches { $0.answering == 1 }
      try await machine.logOut()
      await running.value
      await server.reaches { $0.answering == 0 }
    }
    #expect(script.asked.value == ["q1:-1", "q1:0", "q1:1", "q2:-1"])
    #expect(script.released.value == ["q2"])
    #expect(script.forms.value.count == 2)
    for form in script.forms.value {
      #expect(form?["event_types"] == #"["presence","typing","realm_user"]"#)
      #expect(form?["fetch_event_types"] == #"["presence","realm"]"#)
      #expect(form?["slim_presence"] == "true")
    }
  }

  @Test func `a malformed event costs the queue, but not the state`() async throws {
    let script = Script(registers: [
      Self.registered("q1", #""7":{"active_timestamp":999900}"#, at: 1_000_000),
      Self.registered("q2", #""8":{"active_timestamp":999900}"#, at: 1_000_000),
    ])
    try await Ada.serve {
      await script.answer($0)
    } while: { server, connection in
      let machine = UpdateMachine(source: ZulipPresenceSource(connection), settings: .quick)
      let running = Task { await machine.run() }
      _ = try await Self.presence(of: machine) { $0.people[Self.ada] != nil }
      script.say(.events(#"{"id":0,"type":"typing","op":"start","sender":"7"}"#))
      let again = try await Self.presence(of: machine) { $0.people[Self.bob] != nil }
      #expect(again.people[Self.ada] == nil)
      await server.reaches { $0.answering == 1 }
      await machine.stop()
      await running.value
    }
    #expect(script.asked.value.last == "q2:-1")
  }
}

/// A clock that shows what a test says. A sleep moves it to the moment of waking.
final class HeldClock: DriverClock {
  private let moment: Shared<Moment>

  init(_ moment: Moment) { self.moment = Shared(moment) }

  var now: Moment {
    get { moment.value }
    set { moment.change { $0 = newValue } }
  }

  var wallTime: WallTime { WallTime(milliseconds: 0) }

  func sleep(until moment: Moment) async throws(CancellationError) {
    self.moment.change { $0 = max($0, moment) }
  }
}
