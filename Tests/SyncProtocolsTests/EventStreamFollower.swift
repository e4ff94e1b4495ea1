import SyncProtocols
import UpdateMachine

typealias StreamClient = SyncClient<StreamModel, EventStream>

/// A real client with a disk. The test decides when its requests are answered and its writes end.
struct StreamDevice {
  private(set) var client: StreamClient
  private(set) var question: (id: RequestID, place: StreamPlace?, waits: Bool)?
  private(set) var push: PushRequest<StreamChange>?
  private(set) var save: (write: WriteID, saved: SavedReplica<StreamModel, StreamPlace>?)?
  private(set) var reports: [SyncReport] = []
  private var timers: [TimerArm] = []
  private var disk: SavedReplica<StreamModel, StreamPlace>?
  private var incarnation: UInt64 = 1

  init(at now: Moment) {
    client = SyncClient(incarnation: Incarnation(1))
    hear(.app(.started(foreground: true)), at: now)
  }

  var model: StreamModel? { client.model }

  mutating func make(_ change: StreamChange, at now: Moment) throws {
    guard client.view != nil else { return }
    perform(try client.mutate(change, at: now).effects, at: now)
  }

  /// Answers the register or poll that is out.
  mutating func answer(_ result: Result<StreamBatch, SyncFailure>, at now: Moment) {
    guard let id = question?.id else { return }
    question = nil
    switch result {
    case .success(let batch): hear(.batchArrived(id, batch), at: now)
    case .failure(let failure): hear(.failed(id, failure, hasLeft: true), at: now)
    }
  }

  mutating func answer(_ snapshot: StreamSnapshot, at now: Moment) {
    guard let id = question?.id, let opening = snapshot.opening else { return }
    question = nil
    hear(
      .snapshotArrived(
        id, snapshot, finger: opening.place, terms: .eventStream, isComplete: opening.isComplete),
      at: now)
  }

  mutating func answerPush(_ result: Result<PushAnswer, SyncFailure>, at now: Moment) {
    guard let id = push?.id else { return }
    push = nil
    switch result {
    case .success(let answer): hear(.pushAnswered(id, answer), at: now)
    case .failure(let failure): hear(.failed(id, failure, hasLeft: true), at: now)
    }
  }

  mutating func endSave(at now: Moment) {
    guard let (write, saved) = save else { return }
    save = nil
    // The disk holds rows.
    let rows = saved?.rows(since: nil).compactMap { row in row.value.map { (row.key, $0) } } ?? []
    let sorted = rows.sorted { $0.0 < $1.0 }.map { (key: $0.0, value: $0.1) }
    do {
      disk = try saved.map { _ in try SavedReplica(stored: try RowReader(sorted)) }
    } catch {
      fatalError("what was saved cannot be read: \(error)")
    }
    hear(.written(write), at: now)
  }

  mutating func crash(at now: Moment) {
    incarnation += 1
    client = SyncClient(incarnation: Incarnation(incarnation))
    (question, push, save, timers) = (nil, nil, nil, [])
    hear(.app(.started(foreground: true)), at: now)
  }

  /// Fires all timers that are due.
  mutating func pass(to now: Moment) {
    while let index = timers.firstIndex(where: { $0.range.latest <= now }) {
      hear(.fired(timers.remove(at: index).timer), at: now)
    }
  }

  mutating func hear(_ input: StreamClient.Input, at now: Moment) {
    perform(client.handle(input, at: now), at: now)
  }

  private mutating func perform(_ effects: StreamClient.Effects, at now: Moment) {
    var loads = false
    for effect in effects.list {
      switch effect {
      case .cancel(let id):
        if id == question?.id { question = nil }
        if id == push?.id { push = nil }
      case .disarm(let timer): timers.removeAll { $0.timer == timer }
      case .register(let id): question = (id, nil, false)
      case .poll(let id, let place, let waits): question = (id, place, waits)
      case .push(let request, _): push = request
      case .arm(let id, let range): timers.append(TimerArm(timer: id, range: range))
      case .save(let write): save = (write, client.saved)
      case .load: loads = true
      case .report(let report): reports.append(report)
      case .release, .read, .erase, .fetch: break
      }
    }
    if loads { hear(.loaded(disk, age: nil), at: now) }
  }
}

/// Some devices, one server, and what is between them.
struct StreamWorld {
  var server: StreamServer
  var devices: [StreamDevice]
  var draws: Draws
  private(set) var now = Moment(milliseconds: 0)
  /// Every change that a user made, and how much of the stream its view showed.
  private(set) var made: [(id: StreamEventID, device: Int, seen: StreamSequence)] = []
  private(set) var counts: [String: Int] = [:]
  /// What went wrong; `nil`: nothing.
  private(set) var violation: String?
  private var late: [MutationPush] = []

  /// How far each device's clock is ahead of the one before.
  private let skew: TimeSpan

  init(
    seed: UInt64 = 1, devices count: Int, law: StreamConflictLaw = .firstWriterWins,
    skew: TimeSpan = .zero
  ) {
    self.skew = skew
    server = StreamServer(StreamID(1), law: law)
    draws = Draws(seed: seed)
    devices = []
    for index in 0..<count { devices.append(StreamDevice(at: clock(index))) }
  }

  /// What a device's clock shows.
  func clock(_ index: Int) -> Moment { now + skew * Int64(index) }

  mutating func count(_ what: String) { counts[what, default: 0] += 1 }

  mutating func make(_ index: Int, _ key: String, _ kind: StreamChange.Kind) throws {
    let id = StreamEventID(high: UInt64(index), low: UInt64(made.count + 1))
    let seen = devices[index].client.view?.latest ?? .none
    try devices[index].make(StreamChange(id, ViewKey(key), kind), at: clock(index))
    made.append((id, index, seen))
  }

  mutating func edit(
    _ index: Int, _ ticket: MutationTicket, _ key: String, _ kind: StreamChange.Kind
  ) {
    let id = StreamEventID(high: UInt64(index), low: UInt64(made.count + 1) << 32)
    let change = StreamChange(id, ViewKey(key), kind)
    devices[index].hear(.mutation(.edited(ticket, change)), at: clock(index))
  }

  mutating func pass(_ span: TimeSpan) {
    now = now + span
    for index in devices.indices { devices[index].pass(to: clock(index)) }
  }

  /// The server answers a register or a poll; it never waits here.
  mutating func serve(_ index: Int, losing: Bool = false) {
    guard let question = devices[index].question else { return }
    if losing { return devices[index].answer(.failure(.unreachable), at: clock(index)) }
    if let place = question.place {
      if !place.holes(atMost: 1).isEmpty { count("holes") }
      do throws(SyncFailure) {
        let batch = try server.poll(place.request, at: now)
        devices[index].answer(.success(batch ?? server.nothing), at: clock(index))
      } catch {
        devices[index].answer(.failure(error), at: clock(index))
      }
    } else {
      let client = devices[index].model?.client ?? ClientID(UInt64(index + 1))
      devices[index].answer(server.register(client, at: now), at: clock(index))
    }
    check(index)
  }

  /// The server takes a push.
  mutating func take(
    _ index: Int, failing: [Int] = [], losingAnswer: Bool = false, again: Bool = false
  ) {
    guard let request = devices[index].push else { return }
    let push = MutationPush(request)
    if again { late.append(push) }
    let result: Result<PushAnswer, SyncFailure>
    do throws(SyncFailure) {
      result = .success(try server.push(push, failing: failing, at: now))
    } catch {
      result = .failure(error)
    }
    if case .success(.acceptedOnly) = result { count("taken in part") }
    if case .failure(.rateLimited) = result { count("rate limited") }
    devices[index].answerPush(losingAnswer ? .failure(.timedOut) : result, at: clock(index))
  }

  /// An old push arrives once more.
  mutating func repeatPush() {
    guard let push = late.popLast() else { return }
    count("repeated pushes")
    do throws(SyncFailure) {
      _ = try server.push(push, at: now)
    } catch {
      count("refused repeats")  // Nobody waits for the answer to a repeat, so nothing follows.
    }
  }

  /// Lets everything be answered, until all is at rest. Users give up what they cannot do.
  mutating func settle() {
    for _ in 0..<100 where !isAtRest {
      for index in devices.indices {
        serve(index)
        take(index)
        devices[index].endSave(at: clock(index))
        for aside in devices[index].client.setAside {
          count("set aside")
          devices[index].hear(.mutation(.discarded(aside.ticket)), at: clock(index))
        }
      }
      pass(.seconds(30))
    }
  }

  private var isAtRest: Bool {
    devices.indices.allSatisfy { index in
      let (client, save) = (devices[index].client, devices[index].save)
      return client.pending.isEmpty && save == nil && client.finger?.latest == server.latest
        && client.freshness(at: clock(index)).claim == .connected
    }
  }

  /// A client with a hole is not connected, once the time is over for which an outage is kept from
  /// the user; and it shows no event beyond the hole.
  private mutating func check(_ index: Int) {
    guard let place = devices[index].client.finger, let model = devices[index].model else { return }
    let freshness = devices[index].client.freshness(at: clock(index) + .seconds(1))
    if !place.isLevel, freshness.claim == .connected { violation = "\(place) is connected" }
    let hole = place.holes(atMost: 1).first?.low ?? place.latest.number + 1
    if model.state.latest.number != hole - 1 { violation = "\(place) shows \(model.state.latest)" }
    if let violation = devices[index].client.violation() { self.violation = "\(violation)" }
  }
}

extension StreamServer {
  var nothing: StreamBatch { StreamBatch(stream: stream, latest: latest) }

  /// The objects of the whole stream, made from scratch by the simplest possible code.
  var objects: [String: [String: JSONValue]] {
    let sorted = inCausalOrder
    var found: [String: [String: JSONValue]] = [:]
    var dead: [String: (fields: [String: JSONValue]?, by: StreamEvent)] = [:]
    for event in sorted {
      let key = event.change.key.text
      switch event.change.kind {
      case .delete:
        if dead[key] == nil { dead[key] = (found.removeValue(forKey: key), event) }
      case .insert(let fields), .update(let fields):
        let change = Dictionary(uniqueKeysWithValues: fields.map { ($0.key.text, $0.value) })
        var base = found[key]
        let isInsert = event.change.kind == .insert(fields)
        if let deletion = dead[key] {
          let knew =
            deletion.by.sequence <= event.change.preceding || deletion.by.client == event.client
          if knew, isInsert {
            base = [:]
          } else if !knew, law == .lastWriterWins {
            base = deletion.fields ?? (isInsert ? [:] : nil)
          } else {
            continue
          }
        } else if isInsert, base == nil {
          base = [:]
        }
        guard let base else { continue }
        dead[key] = nil
        found[key] = base.merging(change) { $1 }
      }
    }
    return found
  }

  /// All events, sorted as the seed says.
  var inCausalOrder: [StreamEvent] {
    events.sorted {
      ($0.change.preceding.number, $0.client.number, $0.change.clientSequence)
        < ($1.change.preceding.number, $1.client.number, $1.change.clientSequence)
    }
  }
}

extension StreamState {
  /// The objects as plain dictionaries.
  var plain: [String: [String: JSONValue]] {
    var plain: [String: [String: JSONValue]] = [:]
    for (key, object) in objects {
      plain[key.text] = Dictionary(
        uniqueKeysWithValues: object.fields.map { ($0.key.text, $0.value) })
    }
    return plain
  }
}
