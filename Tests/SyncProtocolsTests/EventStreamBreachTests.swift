import SyncProtocols
import Testing
import UpdateMachine

/// Tests every way in which the server of a stream can be told to break its contract.
struct EventStreamBreachTests {
  private let now = Moment(milliseconds: 0)

  private func server(with count: UInt64 = 2, breach: StreamBreach?) throws -> StreamServer {
    var server = StreamServer(StreamID(1), law: .ask)
    server.breach = breach
    for number in 0..<count {
      let change = StreamChange(id(number), ViewKey("o\(number)"), .insert([:]))
      let mutation = NamedMutation(
        id: MutationID(number + 1), name: change.name, arguments: change.arguments(ticket: nil))
      let push = MutationPush(client: ClientID(1), knownRefusal: .none, mutations: [mutation])
      #expect(try server.push(push, at: now) == .accepted)
    }
    return server
  }

  private func numbers(_ steps: [StreamStep]) -> [UInt64] {
    steps.map { step in
      if case .event(let event) = step { event.change.id.low } else { 99 }
    }
  }

  @Test func `accepts-without-writing: an event is accepted, and is not on the stream`() throws {
    let server = try server(breach: .acceptsWithoutWriting)
    #expect(server.events.map(\.change.id.low) == [1])
    #expect((server.breach, server.breachCount) == (nil, 1))
  }

  @Test func `writes-an-event-twice: it has two sequences`() throws {
    let server = try server(breach: .writesTwice)
    #expect(server.events.map(\.change.id.low) == [0, 0, 1])
    #expect((server.breach, server.breachCount) == (nil, 1))
  }

  @Test func `swaps-two-sequences: one answer is wrong, the next is right`() throws {
    var server = try server(breach: .swapsSequences)
    #expect(numbers(server.register(nil, at: now).batch.steps) == [1, 0])
    #expect(numbers(server.register(nil, at: now).batch.steps) == [0, 1])
    #expect((server.breach, server.breachCount) == (nil, 1))
  }

  @Test func `names-another-maker: one answer is wrong, the next is right`() throws {
    var server = try server(breach: .namesAnotherMaker)
    let wrong = server.register(nil, at: now).batch.steps
    let right = server.register(nil, at: now).batch.steps
    #expect(numbers(wrong) == numbers(right))
    #expect(wrong != right)
    #expect((server.breach, server.breachCount) == (nil, 1))
  }

  @Test func `ends-too-soon: the latest sequence is the same for ever`() throws {
    var server = try server(with: 3, breach: .endsTooSoon)
    let after = StreamSequence(1)
    var place = StreamPlace(stream: StreamID(1))
    _ = place.take(events(0...1), latest: 1)
    let batch = try #require(try server.poll(place.request, at: now))
    #expect(batch == StreamBatch(stream: StreamID(1), latest: after))
    #expect(server.register(nil, at: now).batch.latest == after)
    #expect((server.breach, server.breachCount) == (nil, 1))
  }
}
