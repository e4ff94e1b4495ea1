public import UpdateMachine

/// The server half: one stream, as a plain value. It gives sequences, and answers reads. It knows
/// nothing of what events mean; their objects are only indexed, for clients that follow a few.
///
/// The counter of sequences is exact. The events themselves are read from replicas, which may get
/// an event later than its successors (``lag``). This stands for an eventually consistent database,
/// in which a read may miss what was written.
package struct StreamServer: Sendable {
  /// The law that all clients are told.
  package var law: StreamConflictLaw
  /// How long the events that are written now stay invisible to reads.
  package var lag = TimeSpan.zero
  /// The most events in one answer.
  package var pageMaximum = 100
  /// How many new events a client may write within a span; `nil`: any number.
  package var rate: (count: Int, per: TimeSpan)?

  package private(set) var stream: StreamID
  package private(set) var events: [StreamEvent] = []
  private var visibleAt: [Moment] = []
  private var sequences = VersionedMap<StreamEventID, StreamSequence>()
  /// The sequences of each object's events, ascending.
  private var index = VersionedMap<ViewKey, [Int64]>()
  /// The greatest `preceding` of each client's events, by its number.
  private var seen = VersionedMap<UInt64, StreamSequence>()
  /// What each client has written lately, by its number.
  private var written = VersionedMap<UInt64, Written>()
  private var clientCount: UInt64 = 0
  private var waits: [Wait] = []
  private var ended: [(waiter: UInt64, answer: Result<StreamBatch, SyncFailure>)] = []
  /// The breach that waits for its occasion.
  package var breach: StreamBreach?
  /// How often the server broke its contract.
  package private(set) var breachCount: Int64 = 0
  /// What reads give as the latest sequence for ever; `nil`: they give the true one.
  private var falseLatest: StreamSequence?

  private struct Written: Sendable {
    var since: Moment
    var count: Int
  }

  private struct Wait: Sendable {
    let waiter: UInt64
    let request: StreamRequest
    let until: Moment
  }

  package init(_ stream: StreamID, law: StreamConflictLaw) {
    self.stream = stream
    self.law = law
  }

  /// The latest sequence that was given.
  package var latest: StreamSequence { StreamSequence(Int64(events.count) - 1) }

  /// The latest sequence of which readers are told.
  private var toldLatest: StreamSequence { falseLatest ?? latest }

  /// What a client had seen, as far as its events tell.
  func seen(by client: ClientID) -> StreamSequence { seen[client.number] ?? .none }

  // MARK: Reads

  /// Answers a register with the first page. A client that has no name yet gets one.
  package mutating func register(
    _ client: ClientID?, scope: [ViewKey]? = nil, at now: Moment
  ) -> StreamSnapshot {
    if client == nil { clientCount += 1 }
    let scope = scope.map { keys in
      keys.sorted().reduce(into: [ViewKey]()) { if $0.last != $1 { $0.append($1) } }
    }
    let request = StreamRequest(stream: stream, scope: scope, holes: [], after: .none)
    let client = client ?? ClientID(clientCount)
    return StreamSnapshot(
      client: client, law: law, scope: scope, seen: seen(by: client),
      batch: answer(to: request, at: now))
  }

  /// Answers a poll at once. Throws `expired` if another stream is meant.
  mutating func read(
    _ request: StreamRequest, at now: Moment
  ) throws(SyncFailure) -> StreamBatch {
    guard request.stream == stream else { throw .expired }
    return answer(to: request, at: now)
  }

  /// As ``read(_:at:)``; `nil`: it waits, until there is a later event or until a moment, and its
  /// answer will be in ``takeEnded()``.
  package mutating func poll(
    _ request: StreamRequest, waiter: UInt64 = 0, waitingUntil end: Moment? = nil, at now: Moment
  ) throws(SyncFailure) -> StreamBatch? {
    guard request.stream == stream else { throw .expired }
    if let end, now < end, request.holes.isEmpty, request.after >= toldLatest {
      waits.append(Wait(waiter: waiter, request: request, until: end))
      return nil
    }
    return answer(to: request, at: now)
  }

  private mutating func answer(to request: StreamRequest, at now: Moment) -> StreamBatch {
    if latest > request.after, request.after > .none, commits(.endsTooSoon) {
      falseLatest = falseLatest ?? request.after
    }
    var batch = page(for: request, at: now)
    breakContract(in: &batch)
    return batch
  }

  private func page(for request: StreamRequest, at now: Moment) -> StreamBatch {
    let last = toldLatest.number
    var batch = StreamBatch(stream: stream, latest: toldLatest)
    var wanted = request.holes.map { (low: max($0.low, 0), high: min($0.high, last)) }
    wanted.append((low: max(request.after.number + 1, 0), high: last))
    var room = max(pageMaximum, 1)
    for (low, high) in wanted where low <= high {
      var next = low
      for sequence in concerning(request.scope, from: low, through: high) {
        if next < sequence, request.scope != nil {
          batch.steps.append(.others(StreamSequence(next), through: StreamSequence(sequence - 1)))
        }
        guard room > 0 else { return batch }
        next = sequence + 1
        guard visibleAt[Int(sequence)] <= now else { continue }
        batch.steps.append(.event(events[Int(sequence)]))
        room -= 1
      }
      if next <= high, request.scope != nil {
        batch.steps.append(.others(StreamSequence(next), through: StreamSequence(high)))
      }
    }
    return batch
  }

  /// The sequences that concern these objects, ascending. By the index: it reads no others.
  private func concerning(
    _ scope: [ViewKey]?, from low: Int64, through high: Int64
  ) -> [Int64] {
    guard let scope else { return Array(low...high) }
    return scope.flatMap { index[$0] ?? [] }.filter { low <= $0 && $0 <= high }.sorted()
  }

  /// The client has stopped waiting.
  package mutating func abandon(_ waiter: UInt64) { waits.removeAll { $0.waiter == waiter } }

  /// The answers of the waits that have ended since the last call.
  package mutating func takeEnded() -> [(
    waiter: UInt64, answer: Result<StreamBatch, SyncFailure>
  )] {
    defer { ended = [] }
    return ended
  }

  // MARK: Writes

  /// Writes the events of a push that are new, each under the next sequence.
  ///
  /// Throws `rateLimited` if the client has written too much, and `serverFault` if nothing could be
  /// written.
  ///
  /// - Parameter failing: the indices of mutations that cannot be written this time.
  /// - Returns: `refused` at a mutation that is no event, or whose maker claims to have seen what
  ///   was never written; `acceptedOnly` if some could not be written.
  package mutating func push(
    _ push: MutationPush, failing: [Int] = [], at now: Moment
  ) throws(SyncFailure) -> PushAnswer {
    var taken: [MutationID] = []
    for (index, mutation) in push.mutations.enumerated() {
      guard let change = StreamChange(arguments: mutation.arguments),
        change.preceding <= latest
      else {
        // Those before it count as run, so all of them must be written.
        if taken.count < index { break }
        wake(at: now)
        return .refused(MutationRefusal(mutation.id, RejectionCode("NO_EVENT")))
      }
      let isNew = sequences[change.id] == nil
      if isNew, failing.contains(index) || !mayWrite(push.client, at: now) { continue }
      taken.append(mutation.id)
      guard isNew else { continue }
      if commits(.acceptsWithoutWriting) { continue }
      let ticket = mutation.arguments["ticket"]?.bits.map { MutationTicket($0) }
      write(change, by: push.client, ticket, at: now)
      if commits(.writesTwice) { write(change, by: push.client, ticket, at: now) }
    }
    wake(at: now)
    if taken.count == push.mutations.count { return .accepted }
    guard taken.isEmpty else { return .acceptedOnly(taken) }
    if let rate, let written = written[push.client.number], written.count >= rate.count {
      let end = written.since + rate.per
      throw .rateLimited(after: max(.milliseconds(1), end - now))
    }
    throw .serverFault
  }

  /// Writes an event under the next sequence.
  mutating func write(
    _ change: StreamChange, by client: ClientID, _ ticket: MutationTicket? = nil, at now: Moment
  ) {
    let sequence = latest.next
    sequences[change.id] = sequence
    index[change.key] = (index[change.key] ?? []) + [sequence.number]
    events.append(
      StreamEvent(sequence: sequence, client: client, change: change, ticket: ticket))
    visibleAt.append(now + lag)
    seen[client.number] = max(change.preceding, seen[client.number] ?? .none)
    written[client.number]?.count += 1
  }

  private mutating func mayWrite(_ client: ClientID, at now: Moment) -> Bool {
    guard let rate else { return true }
    if let window = written[client.number], now < window.since + rate.per {
      return window.count < rate.count
    }
    written[client.number] = Written(since: now, count: 0)
    return rate.count > 0
  }

  // MARK: Time

  /// Ends the waits for which there is something new, or whose time is over.
  package mutating func wake(at now: Moment) {
    let (latest, all) = (toldLatest, waits)
    waits.removeAll { $0.request.after < latest || $0.until <= now }
    for wait in all where wait.request.after < latest || wait.until <= now {
      ended.append((wait.waiter, .success(answer(to: wait.request, at: now))))
    }
  }

  /// Ends the oldest waits although there is nothing new.
  package mutating func endWaits(atMost count: Int = .max, at now: Moment) {
    for wait in waits.prefix(count) {
      ended.append((wait.waiter, .success(answer(to: wait.request, at: now))))
    }
    waits = Array(waits.dropFirst(count))
  }

  /// When the next wait ends by itself; `nil`: none does.
  package var nextDue: Moment? { waits.map { $0.until }.min() }

  /// Restarts: waits break off, events and names stay.
  package mutating func restart() {
    for wait in waits { ended.append((wait.waiter, .failure(.serverFault))) }
    waits = []
    written = VersionedMap()
  }

  /// Loses the stream, and begins another one. Clients are told that theirs has expired.
  package mutating func begin(_ stream: StreamID) {
    restart()
    self.stream = stream
    events = []
    visibleAt = []
    sequences = VersionedMap()
    seen = VersionedMap()
    index = VersionedMap()
  }

  // MARK: Plants

  /// Whether this breach was armed. Then it happens now.
  private mutating func commits(_ occasion: StreamBreach) -> Bool {
    guard breach == occasion else { return false }
    breach = nil
    breachCount += 1
    return true
  }

  /// Breaks the contract in an answer, if that was armed and there is something to break.
  private mutating func breakContract(in batch: inout StreamBatch) {
    let found = batch.steps.indices.dropLast().first { index in
      guard case .event(let one) = batch.steps[index],
        case .event(let two) = batch.steps[index + 1]
      else { return false }
      return two.change.preceding < one.sequence
    }
    if let found, case .event(var one) = batch.steps[found],
      case .event(var two) = batch.steps[found + 1], commits(.swapsSequences)
    {
      swap(&one.sequence, &two.sequence)
      batch.steps[found] = .event(two)
      batch.steps[found + 1] = .event(one)
    }
    if case .event(var event) = batch.steps.last, commits(.namesAnotherMaker) {
      event.client = ClientID(event.client.number + 1)
      batch.steps[batch.steps.count - 1] = .event(event)
    }
  }
}

/// The ways in which the server of a stream can break its contract (*plants*), where a client must
/// trust it. An oracle must catch each.
package enum StreamBreach: String, CaseIterable, Hashable, Sendable {
  /// A push is accepted, and one of its events is never written.
  case acceptsWithoutWriting = "accepts-without-writing"
  /// One event is written twice, under two sequences.
  case writesTwice = "writes-an-event-twice"
  /// A reader gets two events, each with the sequence of the other.
  case swapsSequences = "swaps-two-sequences"
  /// A reader gets an event with the name of another client as its maker.
  case namesAnotherMaker = "names-another-maker"
  /// Reads give the same latest sequence for ever, whatever is written after it.
  case endsTooSoon = "ends-too-soon"
}

extension ServerTerms {
  /// The terms of a stream: a poll waits for the next event, and is given up after 100 s. A place
  /// never expires, since the stream only grows; a year stands for that.
  public static var eventStream: ServerTerms {
    ServerTerms(longDeadline: .seconds(100), lifetime: .seconds(365 * 86_400))
  }
}
