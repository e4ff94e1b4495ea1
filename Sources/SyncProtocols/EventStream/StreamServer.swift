package import UpdateMachine

/// The server half: one stream, as a plain value. It gives sequences, and answers reads. It knows
/// nothing of what events mean; their objects are only indexed, for clients that follow a few.
///
/// The counter of sequences is exact. The events themselves are read from replicas, which may get
/// an event later than its successors (``lag``). This stands for the seed's eventually consistent
/// database, in which a read may miss what was written.
package struct StreamServer: Sendable {
  /// The law that all clients are told.
  package var law: ConflictLaw
  /// How long the events that are written now stay invisible to reads.
  package var lag = TimeSpan.zero
  /// The most events in one answer.
  package var pageMaximum = 100
  /// How many new events a client may write within a span; `nil`: any number.
  package var rate: (count: Int, per: TimeSpan)?

  package private(set) var stream: StreamID
  package private(set) var events: [StreamEvent] = []
  private var visibleAt: [Moment] = []
  private var sequences: [StreamEventID: EventSequence] = [:]
  /// The sequences of each object's events, ascending.
  private var index: [ViewKey: [Int64]] = [:]
  private var written: [ClientID: (since: Moment, count: Int)] = [:]
  private var clientCount: UInt64 = 0
  private var waits: [Wait] = []
  private var ended: [(waiter: UInt64, answer: Result<StreamBatch, SyncFailure>)] = []

  private struct Wait: Sendable {
    let waiter: UInt64
    let request: StreamRequest
    let until: Moment
  }

  package init(_ stream: StreamID, law: ConflictLaw) {
    self.stream = stream
    self.law = law
  }

  /// The latest sequence that was given.
  package var latest: EventSequence { EventSequence(Int64(events.count) - 1) }

  // MARK: Reads

  /// Answers a register with the first page. A client that has no name yet gets one.
  package mutating func register(
    _ client: ClientID?, scope: [ViewKey]? = nil, at now: Moment
  ) -> StreamSnapshot {
    if client == nil { clientCount += 1 }
    let scope = scope.map { $0.sorted() }
    let request = StreamRequest(stream: stream, scope: scope, holes: [], after: .none)
    return StreamSnapshot(
      client: client ?? ClientID(clientCount), law: law, scope: scope,
      batch: answer(to: request, at: now))
  }

  /// Answers a poll; `nil`: it waits, until there is a later event or until a moment, and its
  /// answer will be in ``takeEnded()``. Throws `expired` if another stream is meant.
  package mutating func poll(
    _ request: StreamRequest, waiter: UInt64 = 0, waitingUntil end: Moment? = nil, at now: Moment
  ) throws(SyncFailure) -> StreamBatch? {
    guard request.stream == stream else { throw .expired }
    if let end, now < end, request.holes.isEmpty, request.after >= latest {
      waits.append(Wait(waiter: waiter, request: request, until: end))
      return nil
    }
    return answer(to: request, at: now)
  }

  private func answer(to request: StreamRequest, at now: Moment) -> StreamBatch {
    var batch = StreamBatch(stream: stream, latest: latest)
    var wanted = request.holes.map { (low: max($0.low, 0), high: min($0.high, latest.number)) }
    wanted.append((low: max(request.after.number + 1, 0), high: latest.number))
    var room = max(pageMaximum, 1)
    for (low, high) in wanted where low <= high {
      var next = low
      for sequence in concerning(request.scope, from: low, through: high) {
        if next < sequence, request.scope != nil {
          batch.steps.append(.others(IDInterval(low: next, high: sequence - 1)))
        }
        guard room > 0 else { return batch }
        next = sequence + 1
        guard visibleAt[Int(sequence)] <= now else { continue }
        batch.steps.append(.event(events[Int(sequence)]))
        room -= 1
      }
      if next <= high, request.scope != nil {
        batch.steps.append(.others(IDInterval(low: next, high: high)))
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
  /// - Parameter failing: the indices of mutations that cannot be written this time.
  /// - Returns: `refused` at a mutation that is no event, or whose maker claims to have seen what
  ///   was never written. Throws `rateLimited` if the client has written too much, and
  ///   `serverFault` if nothing could be written.
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
      let ticket = mutation.arguments["ticket"]?.bits.map { MutationTicket($0) }
      write(change, by: push.client, ticket, at: now)
    }
    wake(at: now)
    if taken.count == push.mutations.count { return .accepted }
    guard taken.isEmpty else { return .acceptedOnly(taken) }
    if let rate, let written = written[push.client], written.count >= rate.count {
      let end = written.since + rate.per
      throw .rateLimited(after: max(.milliseconds(1), end - now))
    }
    throw .serverFault
  }

  private mutating func write(
    _ change: StreamChange, by client: ClientID, _ ticket: MutationTicket?, at now: Moment
  ) {
    let sequence = latest.next
    sequences[change.id] = sequence
    index[change.key, default: []].append(sequence.number)
    events.append(
      StreamEvent(sequence: sequence, client: client, change: change, ticket: ticket))
    visibleAt.append(now + lag)
    written[client]?.count += 1
  }

  private mutating func mayWrite(_ client: ClientID, at now: Moment) -> Bool {
    guard let rate else { return true }
    let window = written[client]
    if window == nil || window.map({ now >= $0.since + rate.per }) == true {
      written[client] = (since: now, count: 0)
    }
    return (written[client]?.count ?? 0) < rate.count
  }

  // MARK: Time

  /// Ends the waits for which there is something new, or whose time is over.
  package mutating func wake(at now: Moment) {
    let (latest, all) = (latest, waits)
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
    written = [:]
  }

  /// Loses the stream, and begins another one. Clients are told that theirs has expired.
  package mutating func begin(_ stream: StreamID) {
    restart()
    self.stream = stream
    events = []
    visibleAt = []
    sequences = [:]
    index = [:]
  }
}

extension ServerTerms {
  /// The terms of a stream: a poll waits for the next event. A place never expires, since the
  /// stream only grows. A year stands for that.
  package static var eventStream: ServerTerms {
    ServerTerms(longDeadline: .seconds(100), lifetime: .seconds(365 * 86_400))
  }
}
