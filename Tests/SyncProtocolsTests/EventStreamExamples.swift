import SyncProtocols
import Testing
import UpdateMachine

// Article example begins: stream source
/// Follows the stream of an app's own server, which speaks JSON.
struct TeamSource: SyncSource {
  typealias Model = StreamModel
  typealias Sync = EventStream

  /// Sends a request with a body, `null` for none, and returns the body of the answer.
  let send: @Sendable (String, JSONValue) async throws(SyncFailure) -> JSONValue

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<StreamSnapshot, StreamPlace> {
    let answer = try await send("begin?client=\(client.number)", .null)
    let snapshot = StreamSnapshot(
      client: client, law: .firstWriterWins, seen: StreamSequence(answer["seen"]?.int64 ?? -1),
      batch: try StreamBatch(answer))
    return try snapshot.registered()
  }

  func poll(after place: StreamPlace, waits: Bool) async throws(SyncFailure) -> StreamBatch {
    let holes = place.holes.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",")
    let query = "stream=\(place.stream.number)&after=\(place.latest)&holes=\(holes)&waits=\(waits)"
    return try StreamBatch(try await send("read?\(query)", .null))
  }

  func push(
    _ push: PushRequest<StreamChange>, at place: StreamPlace?
  ) async throws(PushFailure) -> PushAnswer {
    let events = MutationPush(push).mutations.map { $0.arguments }
    do throws(SyncFailure) {
      _ = try await send("write?client=\(push.client.number)", .array(events))
      return .accepted
    } catch {
      throw PushFailure(error)
    }
  }

  func release(_ stream: StreamID) async {}
}
// Article example ends

/// The server of a team, which knows nothing of what events mean.
private actor TeamServer {
  private var events: [JSONValue] = []

  func answer(_ request: String, _ body: JSONValue) throws(SyncFailure) -> JSONValue {
    let parts = request.split(separator: "?")
    var query: [Substring: Substring] = [:]
    for pair in parts[1].split(separator: "&") {
      let sides = pair.split(separator: "=", omittingEmptySubsequences: false)
      query[sides[0]] = sides[1]
    }
    let client = Int64(query["client"] ?? "")
    switch parts[0] {
    case "begin":
      let own = events.filter { $0["client"]?.int64 == client }
      let seen = own.map { $0["preceding"]?.int64 ?? -1 }.max() ?? -1
      return page(of: [Range(0...Int64.max - 1)], and: ("seen", JSONValue(integerLiteral: seen)))
    case "read":
      guard query["stream"] == "1", let after = Int64(query["after"] ?? "") else { throw .expired }
      let holes = (query["holes"] ?? "").split(separator: ",").map { hole in
        let ends = hole.split(separator: "-").compactMap { Int64($0) }
        return ends[0]..<ends[1] + 1
      }
      return page(of: holes + [after + 1..<Int64.max])
    case "write":
      for event in body.array ?? [] where !events.contains(where: { $0["id"] == event["id"] }) {
        guard case .object(var object) = event, let client else { throw .malformed }
        object["sequence"] = JSONValue(integerLiteral: Int64(events.count))
        object["client"] = JSONValue(integerLiteral: client)
        events.append(.object(object))
      }
      return [:]
    case _: throw .unsupported
    }
  }

  /// At most two events, so that a client needs several.
  private func page(
    of ranges: [Range<Int64>], and more: (String, JSONValue)? = nil
  ) -> JSONValue {
    let found = events.filter { event in
      ranges.contains { $0.contains(event["sequence"]?.int64 ?? -1) }
    }
    var object = JSONObject()
    object["stream"] = 1
    object["latest"] = JSONValue(integerLiteral: Int64(events.count) - 1)
    object["events"] = .array(Array(found.prefix(2)))
    if let more { object[more.0] = more.1 }
    return .object(object)
  }
}

/// Checks that what the article shows does what it says.
@Suite struct EventStreamExampleTests {
  private func wait<Origin: SyncSource>(
    for machine: UpdateMachine<Origin>, until isRight: (StreamState) -> Bool
  ) async where Origin.Model == StreamModel {
    for await state in await machine.states() {
      if let view = state.view, isRight(view) { return }
    }
  }

  @Test func `the article's task is deleted, and brought back by an answer`() async throws {
    var shown: [String] = []
    func show(_ state: StreamState?) {
      let fields = state?.objects["milk"]?.fields
      shown.append(fields.map { "\($0["title"] ?? .null) \($0["done"] ?? .null)" } ?? "nothing")
    }
    let ben = ClientID(.max)  // Of two who have seen the same, the higher comes last.

    // Article example begins: stream
    let server = LocalEventStream(law: .ask)
    let machine = UpdateMachine(source: server.source())
    async let following: Void = machine.run()
    for await state in await machine.states() where state.view != nil { break }

    var random = SystemRandomNumberGenerator()
    func change(_ kind: StreamChange.Kind) -> StreamChange {
      StreamChange(StreamEventID(using: &random), "milk", kind)
    }
    let inserted = try await machine.mutate(change(.insert(["title": "Milk"])))
    show(await machine.state.view)  // "Milk". It is in the view at once, offline, too.
    await machine.acknowledged(inserted.ticket)  // It is on the stream, and everybody has it.
    let deleted = try await machine.mutate(change(.delete))
    await machine.acknowledged(deleted.ticket)

    // Ben was offline. He had seen the insert, not the deletion, and has ticked the task off.
    await server.write(change(.update(["done": true])), by: ben, havingSeen: StreamSequence(0))
    for await state in await machine.states() {
      guard let question = state.view?.questions["milk"] else { continue }
      show(state.view)  // Nothing: it stays deleted until somebody answers.
      let answer = try await machine.mutate(change(.insert(question.fields)))
      await machine.acknowledged(answer.ticket)
      break
    }
    show(await machine.state.view)  // "Milk", done, and no question: for all users.
    await machine.stop()
    // Article example ends

    await following
    #expect(shown == ["\"Milk\" null", "nothing", "\"Milk\" true"])
    #expect(await machine.state.view?.questions.isEmpty == true)
    #expect(await server.events.count == 4)
  }

  @Test func `the article's source reads a stream page by page, and writes to it`() async throws {
    let server = TeamServer()
    let send: @Sendable (String, JSONValue) async throws(SyncFailure) -> JSONValue = {
      (request, body) throws(SyncFailure) in try await server.answer(request, body)
    }
    let one = UpdateMachine(source: TeamSource(send: send))
    async let first: Void = one.run()
    await wait(for: one) { _ in true }
    for number in 0..<7 as Range<UInt64> {
      let change = StreamChange(
        StreamEventID(high: number, low: .max), ViewKey("o\(number)"), .insert([:]))
      let made = try await one.mutate(change)
      await one.retryNow()
      #expect(await one.acknowledged(made.ticket) == .acknowledged)
    }
    let two = UpdateMachine(source: TeamSource(send: send))
    async let second: Void = two.run()
    await wait(for: two) { $0.list.count == 7 }
    #expect(await two.state.view?.objects == one.state.view?.objects)
    await one.stop()
    await two.stop()
    _ = await (first, second)
  }

  @Test func `what is no answer is malformed`() throws {
    let event: JSONValue = [
      "id": [1, 2], "key": "a", "kind": "delete", "client": 3, "sequence": 4,
    ]
    func answer(_ events: JSONValue...) -> JSONValue {
      ["stream": 1, "latest": 4, "events": .array(events)]
    }
    let batch = try StreamBatch(answer(event))
    #expect(
      batch
        == StreamBatch(
          stream: StreamID(1), latest: StreamSequence(4),
          steps: [.event(try #require(StreamEvent(event)))]))
    for wrong in [answer(.null), ["stream": 1, "events": []], ["latest": 1], .null] {
      #expect(throws: SyncFailure.malformed) { try StreamBatch(wrong) }
    }

    let snapshot = StreamSnapshot(client: ClientID(1), law: .ask, batch: batch)
    #expect(try snapshot.registered().finger.holes == [StreamSequence(0)...StreamSequence(3)])
    #expect(try !snapshot.registered().isComplete)
    let twice = StreamSnapshot(
      client: ClientID(1), law: .ask, batch: try StreamBatch(answer(event, event)))
    #expect(throws: SyncFailure.malformed) { try twice.registered() }
  }
}
