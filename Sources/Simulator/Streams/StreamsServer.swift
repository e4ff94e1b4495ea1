package import SyncProtocols
package import UpdateMachine

/// The server of a stream in a world. Position *p* is after *p* events.
package struct StreamsServer: SingleLogServer, TwinnedServer {
  package typealias Truth = StreamsTruth
  package typealias Sync = EventStream

  package static let log = StreamID(1)

  private(set) var server: StreamServer
  package private(set) var truth: StreamsTruth
  private var moments: [Moment] = []
  var twin = StreamTwin()
  package var unlikeTwin: String?
  /// What was asked by those who wait, and how long they will.
  var asked = VersionedMap<UInt64, Asked>()
  private var checksums: [UInt64]
  private var ended: [EndedWait<StreamSnapshot, EventStream>] = []
  /// The mutations of the next push that cannot be written this time.
  private var failing: [Int] = []
  package private(set) var timeUntilNextPush: TimeSpan?
  /// Whether the next poll is told that its place has expired.
  private var isExpired = false
  private var isDrawn = false
  private var isCalm = false
  private(set) var now: Moment
  private let cadence: Cadence

  struct Asked: Sendable {
    var request: StreamRequest
    var until: Moment
  }

  package init(truth: StreamsTruth, settings: ServerSettings, at now: Moment) {
    server = StreamServer(StreamsServer.log, law: truth.law)
    self.truth = truth
    self.now = now
    cadence = settings.cadence
    checksums = [truth.checksum]
  }

  // MARK: The truth, now and before

  package var position: Int64 { Int64(moments.count) }

  package func checksum(at position: Int64) -> UInt64 { checksums[Int(position)] }

  package func truth(at position: Int64) -> StreamsTruth { truth.truth(at: Int(position)) }

  package func firstNews(after position: Int64) -> Moment? {
    position < self.position ? moments[Int(position)] : nil
  }

  /// What is held may shrink if the stream is read anew. The latest sequence never does.
  package static func number(of finger: StreamPlace) -> Int64 { finger.latest.number }

  package static func newest(in batch: StreamBatch) -> Int64? { batch.latest.number }

  package static func isComplete(_ snapshot: StreamSnapshot) -> Bool {
    snapshot.opening?.isComplete ?? false
  }

  /// The events up to the first hole are shown.
  package func position(of finger: StreamPlace, inLog index: Int) -> Int64? {
    let first = finger.held.interval(holding: .id(StreamSequence(0)))
    let position = (first?.high ?? -1) + 1
    return position <= self.position && finger.latest <= server.latest ? position : nil
  }

  // MARK: The single log

  package var terms: ServerTerms {
    var terms = ServerTerms.eventStream
    terms.cadence = cadence
    return terms
  }

  /// Clients ask again and again, or subscribe.
  package static var cadences: [Cadence] { [.waits, .pushed] }

  // MARK: Reads

  package mutating func finishRegister(
    _ log: StreamID, for name: UInt64?, at now: Moment
  ) -> Reply {
    self.now = now
    let snapshot = server.register(name.map { ClientID($0) }, at: now)
    judge(snapshot, twin.register(name, truth.law, server, at: now))
    guard let opening = snapshot.opening else { return .refused(.serverError) }
    return .registered(snapshot, opening.place, terms)
  }

  package mutating func poll(
    _ finger: StreamPlace, waits: Bool, waiter: UInt64, heartbeatAfter: TimeSpan, at now: Moment
  ) -> Reply? {
    self.now = now
    if isExpired {
      isExpired = false
      return .refused(.badQueue)
    }
    do throws(SyncFailure) {
      let end = waits ? now + heartbeatAfter : nil
      let batch = try server.poll(finger.request, waiter: waiter, waitingUntil: end, at: now)
      judge(isHeld: batch == nil, finger.request, until: end)
      guard let batch else {
        if let end { asked[waiter] = Asked(request: finger.request, until: end) }
        return nil
      }
      judge(batch, twin.answer(to: finger.request, server, at: now))
      return .batch(batch)
    } catch {
      return .refused(.badQueue)
    }
  }

  package mutating func abandon(waiter: UInt64) {
    asked.removeValue(forKey: waiter)
    server.abandon(waiter)
  }

  package var hasFinished: Bool { !ended.isEmpty }

  package mutating func takeFinished() -> [EndedWait<StreamSnapshot, EventStream>] {
    defer { ended = [] }
    return ended
  }

  private mutating func takeEnded(_ reason: WaitEnd) {
    let (all, end) = (asked, twin.end)
    for (waiter, answer) in server.takeEnded() {
      let request = asked.removeValue(forKey: waiter)?.request
      switch answer {
      case .success(let batch):
        if let request { judge(batch, twin.answer(to: request, server, at: now)) }
        ended.append(EndedWait(waiter: waiter, reply: .batch(batch)))
      case .failure: ended.append(EndedWait(waiter: waiter, reply: .refused(.badGateway)))
      }
    }
    judgeWaits(of: all, reason, end: end)
  }

  // MARK: Writes

  package static var knowsPushesAgain: Bool { true }

  package mutating func push(_ push: MutationPush, at now: Moment) -> PushAnswer? {
    let failing = failing
    self.failing = []
    return self.push(push, failing: failing, at: now)
  }

  private mutating func push(
    _ push: MutationPush, failing: [Int], at now: Moment
  ) -> PushAnswer? {
    self.now = now
    let outcome: StreamTwin.Outcome
    do throws(SyncFailure) {
      outcome = .answered(try server.push(push, failing: failing, at: now))
    } catch {
      outcome = .failed(error)
    }
    judge(outcome, twin.push(push, failing: failing, server, at: now))
    for event in server.events.dropFirst(moments.count) {
      judge(event, twin.event(at: moments.count))
      truth.append(event)
      moments.append(now)
      checksums.append(truth.checksum)
    }
    takeEnded(.woken)
    timeUntilNextPush = nil
    switch outcome {
    case .answered(let answer): return answer
    case .failed(.rateLimited(let wait)): timeUntilNextPush = wait
    case .failed: break
    }
    return nil
  }

  /// There is nothing to note: a refused client asks again under another ID.
  package mutating func reject(_ push: MutationPush, at now: Moment) -> Bool { true }

  package mutating func commit(_ change: StreamsTruth.Change, at now: Moment) {
    let mutation = NamedMutation(
      id: MutationID(1), name: change.change.name, arguments: change.change.arguments(ticket: nil))
    let push = MutationPush(client: change.client, knownRefusal: .none, mutations: [mutation])
    _ = self.push(push, failing: [], at: now)
  }

  // MARK: What happens there

  package var nextDue: Moment { server.nextDue ?? Moment(milliseconds: .max) }

  package mutating func advance(to now: Moment) {
    self.now = now
    server.wake(at: now)
    takeEnded(.woken)
  }

  package mutating func announceNothing() {
    server.endWaits(at: now)
    takeEnded(.all)
  }

  /// A stream never expires. But a server may tell a client that its place has, say because it has
  /// moved to another host. The client reads the stream anew.
  package mutating func expire(_ log: StreamID) { isExpired = !isCalm }

  package mutating func interrupt(_ log: StreamID) {
    server.endWaits(atMost: 1, at: now)
    takeEnded(.one)
  }

  /// Everything is on the server's disk.
  package mutating func restart(keepingQueues: Bool, at now: Moment) {
    self.now = now
    server.restart()
    twin.restart()
    takeEnded(.all)
  }

  package mutating func waver(_ choices: inout Choices, at now: Moment) {
    guard !isCalm else { return }
    if !isDrawn {
      isDrawn = true
      server.pageMaximum = Int(choices.pick(.server, [100, 5, 1]))
      let count = choices.pick(.server, [0, 0, 4, 1])
      server.rate = count == 0 ? nil : (count, .seconds(20))
    }
    server.lag = choices.pick(.server, [.zero, .zero, .milliseconds(300), .seconds(30)])
    failing = (0..<4).filter { _ in choices.happens(.server, 1, in: 8) }
  }

  package mutating func liftLimits() {
    isCalm = true
    isExpired = false
    server.lag = .zero
    server.rate = nil
    failing = []
  }

  package func repeating(_ batch: StreamBatch, from finger: StreamPlace) -> StreamBatch? {
    guard let event = truth.events.first, !batch.steps.isEmpty,
      finger.held.contains(event.sequence)
    else { return nil }
    var batch = batch
    if case .event(let first) = batch.steps[0], first.sequence == event.sequence { return nil }
    batch.steps.insert(.event(event), at: 0)
    return batch
  }

  // MARK: Plants

  package mutating func arm(_ breach: StreamBreach) {
    server.breach = breach
    twin.breach = breach
  }

  package var isArmed: Bool { server.breach != nil }

  package var breachCount: Int64 { server.breachCount }

  package var twinBreachCount: Int64 { twin.breachCount }
}
