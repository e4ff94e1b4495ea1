import SyncProtocols
import Testing
import UpdateMachine

/// The real client, with the rules and the model of records.
struct RecordClientTests {
  @Test func `the real client pulls pages, pushes, is behind at times, and ends level`() throws {
    var behind = 0
    for seed in 0..<100 as Range<UInt64> {
      var host = RecordHost(seed: seed)
      for number in 0..<5 {
        host.server.set(RecordKey("t", "\(number)"), row(["x": 0]), at: host.now)
      }
      host.hear(.app(.started(foreground: true)))
      for round in 0..<60 as Range<Int64> {
        host.step()
        let key = RecordKey("t", "\(host.draws.below(8))")
        let columns = row(["n": JSONValue(integerLiteral: round)])
        if host.draws.happens(1, in: 2) { host.server.set(key, columns, at: host.now) }
        if host.draws.happens(1, in: 3) { try host.mutate(RecordChange(.create(columns), key)) }
        if host.draws.happens(1, in: 9) { try host.mutate(RecordChange(.delete, key)) }
      }
      host.isCalm = true
      for _ in 0..<60 { host.step() }
      behind += host.behind
      #expect(host.client.pending.isEmpty, "seed \(seed)")
      #expect(host.client.view?.text == host.server.text, "seed \(seed)")
      #expect(host.client.freshness(at: host.now).claim == .connected, "seed \(seed)")
    }
    #expect(behind > 50)
  }
}

/// A host of the real client, whose requests are answered in order, or lost.
struct RecordHost {
  typealias Client = SyncClient<RecordModel, RecordSync>

  private(set) var client: Client
  var server = RecordServer(epoch: 1, pageMaximum: 2)
  var draws: Draws
  var isCalm = false
  private(set) var now = Moment(milliseconds: 1000)
  /// How often the server has answered that the client is behind.
  private(set) var behind = 0
  private var requests: [Client.Effect] = []
  private var timers: [(id: TimerID, range: MomentRange)] = []

  init(seed: UInt64) {
    var settings = ClientSettings()
    settings.hasStore = false
    client = SyncClient(incarnation: Incarnation(1), settings: settings)
    draws = Draws(seed: seed)
  }

  /// Answers the oldest request; if none is out, lets the next timer fire.
  mutating func step() {
    if !requests.isEmpty { return answer(requests.removeFirst()) }
    guard let next = timers.min(by: { $0.range.latest < $1.range.latest }) else { return }
    timers.removeAll { $0.id == next.id }
    now = max(now, next.range.latest)
    hear(.fired(next.id))
  }

  mutating func mutate(_ change: RecordChange) throws {
    guard client.view != nil else { return }
    perform(try client.mutate(change, at: now).effects)
  }

  mutating func hear(_ input: Client.Input) { perform(client.handle(input, at: now)) }

  private mutating func perform(_ effects: Client.Effects) {
    for effect in effects.list {
      switch effect {
      case .register, .poll, .push: requests.append(effect)
      case .arm(let id, let range): timers.append((id, range))
      case .disarm(let id): timers.removeAll { $0.id == id }
      case .cancel, .report, .release, .load, .save, .read, .erase, .fetch: break
      }
    }
  }

  private mutating func answer(_ request: Client.Effect) {
    now = now + .milliseconds(20)
    let isLost = !isCalm && draws.happens(1, in: 6)
    switch request {
    case .register(let id): pull(id, after: nil, isLost: isLost)
    case .poll(let id, let finger, _): pull(id, after: finger, isLost: isLost)
    case .push(let push, let finger):
      guard let finger else { return hear(.failed(push.id, .malformed, hasLeft: true)) }
      let refused = server.push(RecordPush(push.mutations, at: finger), at: now)
      let answer = RecordPush.answer(to: push.mutations, refusing: refused, tookRest: false)
      if answer == .behind { behind += 1 }
      hear(isLost ? .failed(push.id, .timedOut, hasLeft: true) : .pushAnswered(push.id, answer))
    default: return
    }
  }

  private mutating func pull(_ id: RequestID, after finger: RecordFinger?, isLost: Bool) {
    do throws(SyncFailure) {
      let schema = RecordSchema(1)
      let pull = try RecordPull(client: ClientID(7), after: finger, schema: schema)
      guard !isLost else { throw .timedOut }
      guard let answer = server.pull(pull) else { throw .expired }
      guard finger == nil else { return hear(.batchArrived(id, answer)) }
      hear(
        .snapshotArrived(
          id, answer, finger: answer.finger, terms: .recordSync(), isComplete: answer.isWhole))
    } catch {
      hear(.failed(id, error, hasLeft: true))
    }
  }
}
