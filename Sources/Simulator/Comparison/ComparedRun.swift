internal import SyncProtocols
internal import UpdateMachine

/// Hosts a server and the clients of one protocol while their users follow a workload, and counts.
/// It decides nothing: what happens is in the workload, and what clients do is in their effects.
struct ComparedRun<Compared: ComparedProtocol> {
  typealias Client = SyncClient<Compared.Model, Compared.Server.Sync>
  typealias Saved = SavedReplica<Compared.Model, Compared.Server.Place>
  typealias Reply = Compared.Server.Reply

  private enum Step: Sendable {
    case edits(Workload.Edit)
    case happens(Workload.Event, device: Int)
    /// The user looks at what was refused or is uncertain.
    case tends(device: Int)
    /// From here on every change of what a device shows counts.
    case calms
    case arrives(exchange: Int)
    /// Something reaches a client, if it is still the same process.
    case reaches(device: Int, incarnation: UInt64, Client.Input)
    case isAnswered(exchange: Int, Client.Input)
    case fires(device: Int, incarnation: UInt64, TimerID)
    case isWritten(device: Int, incarnation: UInt64, WriteID, Saved)
    case serverRestarts
    case serverIsDue
  }

  private enum Request: Sendable {
    case register(name: UInt64?)
    case poll(Compared.Server.Place, waits: Bool)
    case push(Compared.Server.Push)
  }

  /// A request on its way.
  private struct Exchange: Sendable {
    let id: RequestID
    let device: Int
    let incarnation: UInt64
    let request: Request
    let trip: Workload.Trip
    /// Whether the client still waits for the answer.
    var isOpen = true
  }

  /// A device, with what its user has made and waits to see of the others.
  private struct Device: Sendable {
    var client: Client
    var incarnation: UInt64 = 1
    var isOnline = true
    var disk: (saved: Saved, at: Moment)?
    var timers: [TimerID] = []
    var lastPoll: RequestID?
    var unseen: [(edit: ItemEdit, madeAt: Moment)] = []
    var unsettled: [MutationTicket] = []
    var retried: [MutationTicket] = []
    var shown = ""
  }

  private let workload: Workload
  private var server: Compared.Server
  private var devices: [Device]
  private var exchanges: [Exchange] = []
  private var agenda = Agenda<Step>()
  private var now = Moment(milliseconds: 0)
  private var serverDue = Moment(milliseconds: .max)
  private var measures: ProtocolMeasures
  private var lastChange = Workload.calm
  private var random: SplitMix

  init(_ workload: Workload, seed: UInt64) {
    self.workload = workload
    var settings = ServerSettings()
    settings.cadence = Compared.cadence
    server = Compared.server(settings)
    devices = (0..<workload.devices).map { _ in Device(client: Client(incarnation: Incarnation(1)))
    }
    measures = ProtocolMeasures(Compared.spoken, Compared.cadence)
    random = SplitMix(StateDigest.mixed(seed))
  }

  /// Runs everything. Returns what was counted.
  mutating func run() -> ProtocolMeasures {
    for edit in workload.edits { agenda.add(.edits(edit), at: edit.at) }
    for (at, device, event) in workload.events {
      agenda.add(.happens(event, device: device), at: at)
    }
    agenda.add(.calms, at: Workload.calm)
    for restart in workload.restarts { agenda.add(.serverRestarts, at: restart) }
    for device in devices.indices {
      feed(device, .app(.started(foreground: true)))
      agenda.add(.tends(device: device), at: now)
    }
    while let (at, step) = agenda.takeNext(until: Workload.end) {
      now = at
      take(step)
      endWaits()
    }
    return finish()
  }

  private mutating func take(_ step: Step) {
    switch step {
    case .edits(let edit): make(edit)
    case .happens(let event, let device): happens(event, device)
    case .tends(let device): tend(device)
    case .calms: for device in devices.indices { devices[device].shown = text(of: device) }
    case .arrives(let exchange): arrives(exchange)
    case .reaches(let device, let incarnation, let input):
      if devices[device].incarnation == incarnation { feed(device, input) }
    case .isAnswered(let number, let input):
      let exchange = exchanges[number]
      guard exchange.isOpen, devices[exchange.device].incarnation == exchange.incarnation else {
        return
      }
      exchanges[number].isOpen = false
      feed(exchange.device, input)
    case .fires(let device, let incarnation, let timer):
      guard devices[device].incarnation == incarnation, devices[device].timers.contains(timer)
      else { return }
      devices[device].timers.removeAll { $0 == timer }
      feed(device, .fired(timer))
    case .isWritten(let device, let incarnation, let write, let saved):
      guard devices[device].incarnation == incarnation else { return }
      devices[device].disk = (saved, now)
      feed(device, .written(write))
    case .serverRestarts: server.restart(keepingQueues: false, at: now)
    case .serverIsDue:
      serverDue = Moment(milliseconds: .max)
      server.advance(to: now)
    }
  }

  // MARK: Users

  /// A user can only change what they see.
  private mutating func make(_ planned: Workload.Edit) {
    let (device, edit) = (planned.device, planned.edit)
    if case .create = edit {
    } else {
      guard let view = devices[device].client.view,
        Compared.fields(of: edit.item, in: view) != nil
      else { return }
    }
    measures.changes += 1
    let change = Compared.change(edit, number: UInt64(measures.changes))
    do throws(MutationError<Compared.Model.Change.Refusal>) {
      let made = try devices[device].client.mutate(change, at: now)
      devices[device].unsettled.append(made.ticket)
      if edit.written != nil, devices[device].isOnline {
        for other in devices.indices where other != device && devices[other].isOnline {
          devices[other].unseen.append((edit, now))
        }
      }
      perform(made.effects, by: device)
    } catch {
      measures.lost += 1  // The user is told at once.
    }
  }

  /// Every 20 s the user looks at what was refused or is uncertain: it is tried once more, and
  /// given up if that is refused, too.
  private mutating func tend(_ device: Int) {
    agenda.add(.tends(device: device), at: now + .seconds(20))
    for pending in devices[device].client.pending {
      if case .uncertain = pending.stage { feed(device, .mutation(.retried(pending.ticket))) }
    }
    for aside in devices[device].client.setAside {
      if devices[device].retried.contains(aside.ticket) {
        feed(device, .mutation(.discarded(aside.ticket)))
      } else {
        devices[device].retried.append(aside.ticket)
        feed(device, .mutation(.retried(aside.ticket)))
      }
    }
  }

  private mutating func happens(_ event: Workload.Event, _ device: Int) {
    switch event {
    case .goesOffline:
      devices[device].isOnline = false
      for number in exchanges.indices
      where exchanges[number].isOpen && exchanges[number].device == device {
        let input = Client.Input.failed(exchanges[number].id, .unreachable, hasLeft: true)
        server.abandon(waiter: UInt64(number))
        agenda.add(.isAnswered(exchange: number, input), at: now + .milliseconds(10))
      }
    case .comesBack:
      devices[device].isOnline = true
      feed(device, .app(.networkChanged))
    case .crashes:
      for number in exchanges.indices where exchanges[number].device == device {
        exchanges[number].isOpen = false
        server.abandon(waiter: UInt64(number))
      }
      devices[device].incarnation += 1
      devices[device].timers = []
      devices[device].client = Client(incarnation: Incarnation(devices[device].incarnation))
      feed(device, .app(.started(foreground: true)))
    }
  }

  // MARK: Clients

  private mutating func feed(_ device: Int, _ input: Client.Input) {
    perform(devices[device].client.handle(input, at: now), by: device)
  }

  private mutating func perform(_ effects: Client.Effects, by device: Int) {
    let incarnation = devices[device].incarnation
    effects.each { effect in
      switch effect {
      case .cancel(let request): cancel(request, of: device)
      case .disarm(let timer): devices[device].timers.removeAll { $0 == timer }
      case .report, .read, .fetch: break  // The models hold everything, all of it loaded.
      case .release(let log): _ = server.release(log)
      case .load:
        let disk = devices[device].disk
        reach(device, .loaded(disk?.saved, age: disk.map { now - $0.at }))
      case .save(let write):
        guard let saved = devices[device].client.saved else { break }
        agenda.add(
          .isWritten(device: device, incarnation: incarnation, write, saved),
          at: now + .milliseconds(5))
      case .erase: reach(device, .erased(succeeded: true))
      case .register(let id):
        let name = devices[device].client.model.flatMap(Compared.clientName)
        let json = name.map { JSONValue(integerLiteral: Int64($0)) } ?? .null
        send(.register(name: name), id, by: device, json)
      case .poll(let id, let place, let waits):
        send(.poll(place, waits: waits), id, by: device, Compared.json(place))
      case .push(let push, let finger):
        let push = (id: push.id, sent: Compared.request(push, at: finger))
        send(.push(push.sent), push.id, by: device, Compared.json(push.sent))
      case .arm(let timer, let range):
        devices[device].timers.append(timer)
        let span = range.latest.milliseconds - range.earliest.milliseconds
        let at = Moment(milliseconds: range.earliest.milliseconds + random.below(span + 1))
        agenda.add(.fires(device: device, incarnation: incarnation, timer), at: max(at, now))
      }
    }
    if !effects.changes.isEmpty { look(at: device) }
  }

  private mutating func reach(_ device: Int, _ input: Client.Input) {
    agenda.add(
      .reaches(device: device, incarnation: devices[device].incarnation, input),
      at: now + .milliseconds(5))
  }

  /// Sees what a device shows now, and what has become of its user's changes.
  private mutating func look(at device: Int) {
    guard let view = devices[device].client.view else { return }
    let old = devices[device].unseen
    devices[device].unseen.removeAll {
      guard let written = $0.edit.written else { return true }
      return Compared.fields(of: $0.edit.item, in: view)?[written.field] == .string(written.value)
    }
    if devices[device].unseen.count < old.count {
      let left = devices[device].unseen
      for seen in old where !left.contains(where: { $0.edit == seen.edit }) {
        measures.delays.append(now - seen.madeAt)
      }
    }
    settle(device)
    guard now >= Workload.calm else { return }
    let shown = text(of: device)
    if shown != devices[device].shown { lastChange = now }
    devices[device].shown = shown
  }

  private mutating func settle(_ device: Int) {
    guard let outbox = devices[device].client.local?.outbox else { return }
    let old = devices[device].unsettled
    devices[device].unsettled = []
    for ticket in old {
      switch outbox.state(of: ticket) {
      case .overruled, .discarded: measures.lost += 1
      case .acknowledged, nil: break
      case .queued, .sent, .uncertain, .setAside: devices[device].unsettled.append(ticket)
      }
    }
  }

  /// All items, as a device shows them, and how much is pending.
  private func text(of device: Int) -> String {
    guard let view = devices[device].client.view else { return "nothing" }
    return text(devices[device].client.pending.count) { Compared.fields(of: $0, in: view) }
  }

  private func text(_ pending: Int, _ fields: (Int64) -> JSONObject?) -> String {
    var text = "\(pending) pending"
    for number in 1...Int64(workload.edits.count) {
      guard let fields = fields(number) else { continue }
      text += " \(number)=\(JSONValue.object(fields))"
    }
    return text
  }

  /// A JSON object of all items by their number.
  private func items(_ fields: (Int64) -> JSONObject?) -> String {
    var items = JSONObject()
    for number in 1...Int64(workload.edits.count) {
      items["\(number)"] = fields(number).map { .object($0) }
    }
    return JSONValue.object(items).description
  }

  // MARK: The network

  private mutating func send(
    _ request: Request, _ id: RequestID, by device: Int, _ json: JSONValue
  ) {
    let number = exchanges.count
    let trip = workload.trip(of: device, at: now)
    exchanges.append(
      Exchange(
        id: id, device: device, incarnation: devices[device].incarnation, request: request,
        trip: trip))
    guard devices[device].isOnline else {
      let input = Client.Input.failed(id, .unreachable, hasLeft: false)
      return agenda.add(.isAnswered(exchange: number, input), at: now + .milliseconds(10))
    }
    // A subscription that goes on is no new request.
    if devices[device].lastPoll != id {
      measures.requests += 1
      measures.bytesUp += json.byteCount
    }
    if case .poll = request { devices[device].lastPoll = id }
    if !trip.isRequestLost { agenda.add(.arrives(exchange: number), at: now + trip.there) }
  }

  private mutating func cancel(_ request: RequestID, of device: Int) {
    let incarnation = devices[device].incarnation
    for number in exchanges.indices
    where exchanges[number].isOpen && exchanges[number].device == device
      && exchanges[number].incarnation == incarnation && exchanges[number].id == request
    {
      exchanges[number].isOpen = false
      server.abandon(waiter: UInt64(number))
    }
  }

  // MARK: The server

  private mutating func arrives(_ number: Int) {
    let exchange = exchanges[number]
    switch exchange.request {
    case .register(let name):
      switch server.beginRegister(at: now) {
      case .success(let log): answer(number, server.finishRegister(log, for: name, at: now))
      case .failure(let refusal): answer(number, .refused(refusal.answer))
      }
    case .poll(let place, let waits):
      let reply = server.poll(
        place, waits: waits, waiter: UInt64(number), heartbeatAfter: .seconds(50), at: now)
      if let reply { answer(number, reply) }
    case .push(let push):
      if let taken = server.push(push, at: now) {
        answer(number, .pushAnswered(exchange.id, taken), taken.json)
      } else {
        answer(number, .failed(exchange.id, .serverFault, hasLeft: true), JSONValue.null)
      }
    }
  }

  private mutating func answer(_ number: Int, _ reply: Reply) {
    let id = exchanges[number].id
    switch reply {
    case .registered(let snapshot, let finger, let terms):
      answer(
        number,
        .snapshotArrived(
          id, snapshot, finger: finger, terms: terms,
          isComplete: Compared.Server.isComplete(snapshot)), Compared.json(snapshot))
    case .batch(let batch): answer(number, .batchArrived(id, batch), Compared.json(batch))
    case .released: break
    case .refused(let refusal):
      answer(number, .failed(id, refusal.failure() ?? .serverFault, hasLeft: true), .null)
    }
  }

  private mutating func answer(_ number: Int, _ input: Client.Input, _ json: JSONValue) {
    measures.bytesDown += json.byteCount
    let exchange = exchanges[number]
    let isLost = exchange.trip.isAnswerLost && now < Workload.calm
    guard !isLost, devices[exchange.device].isOnline else { return }
    agenda.add(.isAnswered(exchange: number, input), at: now + exchange.trip.back)
  }

  /// Answers the polls that have waited long enough, and looks when the server is due again.
  private mutating func endWaits() {
    while server.hasFinished {
      for ended in server.takeFinished() { answer(Int(ended.waiter), ended.reply) }
    }
    let due = server.nextDue
    guard due < serverDue, due < Workload.end else { return }
    serverDue = max(due, now)
    agenda.add(.serverIsDue, at: serverDue)
  }

  // MARK: The end

  /// All devices must show what the server has, and nothing may be pending.
  private mutating func finish() -> ProtocolMeasures {
    let expected = text(0) { Compared.fields(of: $0, on: server) }
    for device in devices.indices {
      let shown = text(of: device)
      if shown != expected {
        measures.failure = "the server has \(expected); device \(device) shows \(shown)"
      }
      for row in devices[device].disk?.saved.step(since: nil).rows ?? [] {
        measures.bytesStored += Int64(row.key.bytes.count + (row.value?.count ?? 0))
      }
    }
    measures.bytesStored /= Int64(devices.count)
    measures.held = [items { Compared.fields(of: $0, on: server) }]
    measures.toConverge = lastChange - Workload.calm
    return measures
  }
}
