internal import SyncProtocols
internal import UpdateMachine

/// The server half of a stream, said once more in the plainest way, for clients that follow all
/// objects. It is given what the library's server is given, and must say the same. The plants are
/// said again, too: so a server with a plant is judged like any other, and what differs must be
/// what the plant does.
struct StreamTwin: Sendable {
  /// What a push comes to.
  enum Outcome: Equatable, Sendable {
    case answered(PushAnswer)
    case failed(SyncFailure)
  }

  private var events: [StreamEvent] = []
  private var visibleAt: [Moment] = []
  /// What each client has written since a moment, while there is a limit.
  private var windows = VersionedMap<UInt64, Window>()
  private var clientCount: UInt64 = 0
  /// The breach that waits for its occasion.
  var breach: StreamBreach?
  private(set) var breachCount: Int64 = 0
  /// The last sequence that readers will ever hear of.
  private var falseEnd: Int64?

  private struct Window: Sendable {
    var since: Moment
    var count = 0
  }

  /// The last sequence that readers hear of.
  var end: Int64 { falseEnd ?? Int64(events.count) - 1 }

  func event(at index: Int) -> StreamEvent? {
    index < events.count ? events[index] : nil
  }

  private mutating func commits(_ occasion: StreamBreach) -> Bool {
    guard breach == occasion else { return false }
    breach = nil
    breachCount += 1
    return true
  }

  // MARK: Reads

  /// Only a client that knows all there is, and lacks nothing of it, waits.
  func holds(_ request: StreamRequest) -> Bool {
    request.holes.isEmpty && request.after.number >= end
  }

  mutating func register(
    _ name: UInt64?, _ law: StreamConflictLaw, _ server: StreamServer, at now: Moment
  ) -> StreamSnapshot {
    if name == nil { clientCount += 1 }
    let client = ClientID(name ?? clientCount)
    let own = events.filter { $0.client == client }
    let request = StreamPlace(stream: StreamsServer.log).request
    return StreamSnapshot(
      client: client, law: law, seen: own.map { $0.change.preceding }.max() ?? .none,
      batch: answer(to: request, server, at: now))
  }

  /// Of what was asked for, an answer has the first events that can be seen, as many as there is
  /// room for, and nothing else.
  mutating func answer(
    to request: StreamRequest, _ server: StreamServer, at now: Moment
  ) -> StreamBatch {
    if request.after != .none, request.after.number < Int64(events.count) - 1,
      commits(.endsTooSoon), falseEnd == nil
    {
      falseEnd = request.after.number
    }
    var steps: [StreamStep] = []
    func add(_ sequences: Range<Int64>) {
      for sequence in sequences.clamped(to: 0..<end + 1)
      where visibleAt[Int(sequence)] <= now && steps.count < server.pageMaximum {
        steps.append(.event(events[Int(sequence)]))
      }
    }
    for hole in request.holes where hole.low <= hole.high { add(hole.low..<hole.high + 1) }
    add(request.after.number + 1 ..< .max)
    spoil(&steps)
    return StreamBatch(stream: StreamsServer.log, latest: StreamSequence(end), steps: steps)
  }

  private mutating func spoil(_ steps: inout [StreamStep]) {
    switch breach {
    case .swapsSequences:
      let events = steps.compactMap { $0.event }
      let index = zip(events, events.dropFirst()).map { $1.change.preceding < $0.sequence }
        .firstIndex(of: true)
      guard let index, commits(.swapsSequences) else { return }
      var (one, two) = (events[index], events[index + 1])
      (one.sequence, two.sequence) = (two.sequence, one.sequence)
      (steps[index], steps[index + 1]) = (.event(two), .event(one))
    case .namesAnotherMaker:
      guard var event = steps.last?.event, commits(.namesAnotherMaker) else { return }
      event.client = ClientID(event.client.number + 1)
      steps[steps.count - 1] = .event(event)
    case .acceptsWithoutWriting, .writesTwice, .endsTooSoon, nil: break
    }
  }

  // MARK: Writes

  /// Writes the new events of a push, up to the first mutation that is none.
  mutating func push(
    _ push: MutationPush, failing: [Int], _ server: StreamServer, at now: Moment
  ) -> Outcome {
    var taken: [MutationID] = []
    for (index, mutation) in push.mutations.enumerated() {
      let change = StreamChange(arguments: mutation.arguments)
      guard let change, change.preceding.number < Int64(events.count) else {
        if taken.count < index { break }
        return .answered(.refused(MutationRefusal(mutation.id, RejectionCode("NO_EVENT"))))
      }
      if !events.contains(where: { $0.change.id == change.id }) {
        if failing.contains(index) { continue }
        if let rate = server.rate, !hasRoom(push.client, rate, at: now) { continue }
        if !commits(.acceptsWithoutWriting) {
          let ticket = mutation.arguments["ticket"]?.bits.map { MutationTicket($0) }
          let copies = commits(.writesTwice) ? 2 : 1
          for _ in 0..<copies {
            write(change, by: push.client, ticket, visibleAt: now + server.lag)
          }
        }
      }
      taken.append(mutation.id)
    }
    if taken == push.mutations.map({ $0.id }) { return .answered(.accepted) }
    if !taken.isEmpty { return .answered(.acceptedOnly(taken)) }
    guard let rate = server.rate, let window = windows[push.client.number],
      window.count >= rate.count
    else { return .failed(.serverFault) }
    let wait = window.since + rate.per - now
    return .failed(.rateLimited(after: max(wait, .milliseconds(1))))
  }

  private mutating func write(
    _ change: StreamChange, by client: ClientID, _ ticket: MutationTicket?,
    visibleAt moment: Moment
  ) {
    events.append(
      StreamEvent(
        sequence: StreamSequence(Int64(events.count)), client: client, change: change,
        ticket: ticket))
    visibleAt.append(moment)
    windows[client.number]?.count += 1
  }

  private mutating func hasRoom(
    _ client: ClientID, _ rate: (count: Int, per: TimeSpan), at now: Moment
  ) -> Bool {
    if let window = windows[client.number], now - window.since < rate.per {
      return window.count < rate.count
    }
    windows[client.number] = Window(since: now)
    return 0 < rate.count
  }

  /// Events and names are on disk.
  mutating func restart() { windows = VersionedMap() }
}

extension StreamStep {
  fileprivate var event: StreamEvent? {
    if case .event(let event) = self { event } else { nil }
  }
}
