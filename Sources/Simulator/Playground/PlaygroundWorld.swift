internal import SyncProtocols
internal import UpdateMachine

// Playground: the room of a world in which nothing happens by chance. A person decides what happens
// next, and sees the real clients and the real server of a protocol at work.
//
// Playground may use: Choices, Comparison, Messages, Pictures, Run, ServerMessages, Words.

/// A server and a few clients of one protocol, whose users edit items, or look at posts. It
/// performs what clients and server want, one thing at a time, and decides nothing. A value: a copy
/// is a fork.
struct PlaygroundWorld<App: PlayedApp> {
  typealias Client = SyncClient<App.Model, App.Server.Sync>
  typealias Saved = SavedReplica<App.Model, App.Server.Place>

  /// One message between a client and the server, from when it leaves.
  struct Message: Sendable {
    let client: Int
    let incarnation: UInt64
    /// The index of the request that it is, or answers.
    let exchange: Int
    let text: String
    let sent: Moment
    var arrives: Moment
    /// What the client is told; `nil`: a request.
    let answer: Client.Input?
    var fate = Fate.travels

    enum Fate: Sendable {
      case travels
      case arrived(Moment)
      case lost(Moment)
    }
  }

  enum Request: Sendable {
    case register(name: UInt64?)
    case poll(App.Server.Place, waits: Bool)
    case push(App.Server.Push)
    case fetch(PageRequest<App.Lists.Narrow, App.Lists.ID>)
  }

  struct Exchange: Sendable {
    let client: Int
    let incarnation: UInt64
    let id: RequestID
    let name: String
    let request: Request
    let sent: Moment
    /// Whether the client still waits for the answer.
    var isOpen = true
  }

  /// Something that a device will do by itself.
  struct Task: Sendable {
    let client: Int
    let at: Moment
    let what: What

    enum What: Sendable {
      case timer(TimerID)
      case written(WriteID, Saved)
      case told(Client.Input)
    }
  }

  /// A device with its user.
  struct Device: Sendable {
    var client: Client
    var incarnation: UInt64 = 1
    var isRunning = true
    var isOnline = true
    var isDiskFull = false
    /// Until then nothing reaches the device, and it does nothing.
    var asleepUntil = Moment(milliseconds: 0)
    /// How much later its wall clock is than when it last saved.
    var clockOffset = TimeSpan.zero
    var disk: (saved: Saved, at: Moment)?
    /// The window that the user has open.
    var window: WindowID?
  }

  /// A snapshot that the server makes. Its log exists already.
  struct Making: Sendable {
    let exchange: Int
    let log: App.Server.Log
    let at: Moment
  }

  /// A line of the conversation.
  struct Note: Sendable {
    let at: Moment
    let about: About
    let text: String
    /// What the client is after it; `nil`: it is not about a client, or nothing has changed.
    var state: SpaceTime.LaneState?
    /// Whether the client has taken a snapshot with its finger.
    var isSeam = false

    enum About: Sendable {
      case server
      case client(Int)
      case message(Int)
      /// The window of a client.
      case window(Int)
    }

    var client: Int? {
      if case .client(let client) = about { client } else { nil }
    }

    var who: String {
      switch about {
      case .server: "server"
      case .client(let client): "client \(client + 1)"
      case .message(let index): "message \(index + 1)"
      case .window(let client): "client \(client + 1)'s window"
      }
    }
  }

  var server: App.Server
  var devices: [Device]
  var now = Moment(milliseconds: 0)
  var messages: [Message] = []
  /// The messages on their way, in the order in which they left.
  private var travelling: [Int] = []
  var exchanges: [Exchange] = []
  var tasks: [Task] = []
  var makings: [Making] = []
  var notes: [Note] = []
  var made = PlayedThings()
  /// What lasts, for pictures: the server's logs, and the clients' pending changes.
  var drawing = SpaceTime(title: "", lanes: [])
  private var changeCount: UInt64 = 0
  /// The time that a message travels.
  var latency: TimeSpan
  /// The time that the server needs for a snapshot.
  var snapshotTime = TimeSpan.zero

  /// When the server answers a poll that waits, though it has no news.
  static var heartbeat: TimeSpan { .seconds(50) }
  /// How long a disk takes to read or write.
  static var diskTime: TimeSpan { .milliseconds(5) }

  init(clients: Int, latency: TimeSpan) {
    var settings = ServerSettings()
    settings.cadence = App.cadence
    server = App.server(settings)
    devices = (0..<clients).map { _ in Device(client: Client(incarnation: Incarnation(1))) }
    self.latency = latency
    for client in devices.indices { feed(client, .app(.started(foreground: true))) }
  }

  // MARK: Time

  /// The next thing that happens by itself.
  private enum Due {
    case message(Int)
    case task(Int)
    case making(Int)
    case server
  }

  private func isAlive(_ client: Int, _ incarnation: UInt64) -> Bool {
    devices[client].isRunning && devices[client].incarnation == incarnation
  }

  /// The first that is due: messages before tasks, and the server last.
  private func nextDue() -> (due: Due, at: Moment)? {
    var next: (due: Due, at: Moment)?
    func consider(_ due: Due, _ at: Moment) {
      if let known = next, known.at <= at { return }
      next = (due, at)
    }
    for index in travelling {
      let wakes =
        messages[index].answer == nil ? now : devices[messages[index].client].asleepUntil
      consider(.message(index), max(messages[index].arrives, wakes))
    }
    for (index, task) in tasks.enumerated() {
      consider(.task(index), max(task.at, devices[task.client].asleepUntil))
    }
    for (index, making) in makings.enumerated() { consider(.making(index), making.at) }
    if server.nextDue < Moment(milliseconds: .max) { consider(.server, server.nextDue) }
    return next
  }

  /// Does the next thing that happens by itself; `false`: there is none by then.
  mutating func happenNext(until end: Moment = Moment(milliseconds: .max)) -> Bool {
    guard let next = nextDue(), next.at <= end else { return false }
    now = max(now, next.at)
    switch next.due {
    case .message(let index): deliver(index)
    case .task(let index): perform(tasks.remove(at: index))
    case .making(let index): finish(makings.remove(at: index))
    case .server:
      server.advance(to: now)
      takeFinished()
    }
    drawLogs()
    return true
  }

  /// Lets time pass, with all that happens in it; `false`: too much happens.
  mutating func pass(_ span: TimeSpan) -> Bool {
    let end = now + span
    var count = 0
    while happenNext(until: end) {
      count += 1
      if count == 10_000 { return false }
    }
    now = end
    return true
  }

  private mutating func perform(_ task: Task) {
    switch task.what {
    case .timer(let timer): feed(task.client, .fired(timer))
    case .told(let input): feed(task.client, input)
    case .written(let write, let saved):
      guard !devices[task.client].isDiskFull else { return feed(task.client, .writeFailed(write)) }
      devices[task.client].disk = (saved, now)
      devices[task.client].clockOffset = .zero
      feed(task.client, .written(write))
    }
  }

  // MARK: The user and the device

  /// Makes an edit; returns why it cannot be made.
  mutating func make(_ edit: ItemEdit, on client: Int) -> String? {
    guard devices[client].isRunning else { return "the app does not run" }
    guard let change = App.edit(edit, number: changeCount + 1) else {
      return "this protocol has posts, and no items"
    }
    let done: (ticket: MutationTicket, effects: Client.Effects)
    do throws(MutationError<App.Model.Change.Refusal>) {
      let mutation = try devices[client].client.mutate(change, at: now)
      done = (mutation.ticket, mutation.effects)
    } catch {
      return words(error)
    }
    changeCount += 1
    made.itemCount = max(made.itemCount, edit.item)
    note(client, "\(edit.words), \(done.ticket)" + words(done.effects))
    drawPending(of: client)
    perform(done.effects, by: client)
    return nil
  }

  mutating func decide(_ decision: Client.MutationDecision, on client: Int) {
    feed(client, .mutation(decision))
  }

  mutating func tell(_ signal: AppSignal, to client: Int) { feed(client, .app(signal)) }

  /// Whether a signal would change nothing at all.
  func ignores(_ signal: AppSignal, _ client: Int) -> Bool {
    var copy = devices[client].client
    let old = copy.status
    let effects = copy.handle(.app(signal), at: now)
    return effects.isEmpty && effects.changes.isEmpty && copy.status == old
  }

  mutating func goOffline(_ client: Int) {
    devices[client].isOnline = false
    note(client, "loses its network")
    for index in travelling where messages[index].client == client { lose(index) }
    for index in exchanges.indices
    where exchanges[index].isOpen && exchanges[index].client == client {
      exchanges[index].isOpen = false
      server.abandon(waiter: UInt64(index))
      let input = Client.Input.failed(exchanges[index].id, .unreachable, hasLeft: true)
      tasks.append(Task(client: client, at: now, what: .told(input)))
    }
  }

  mutating func goOnline(_ client: Int) {
    devices[client].isOnline = true
    feed(client, .app(.networkChanged))
  }

  mutating func crash(_ client: Int) {
    note(client, "crashes")
    notes[notes.count - 1].state = .off
    devices[client].isRunning = false
    devices[client].window = nil
    tasks.removeAll { $0.client == client }
    for index in exchanges.indices where exchanges[index].client == client {
      exchanges[index].isOpen = false
      server.abandon(waiter: UInt64(index))
    }
  }

  mutating func start(_ client: Int) {
    devices[client].isRunning = true
    devices[client].incarnation += 1
    devices[client].client = Client(incarnation: Incarnation(devices[client].incarnation))
    feed(client, .app(.started(foreground: true)))
  }

  mutating func sleep(_ client: Int, for span: TimeSpan) {
    devices[client].asleepUntil = max(devices[client].asleepUntil, now + span)
    note(client, "sleeps for \(span)")
  }

  // MARK: Messages

  private mutating func leave(_ message: Message) {
    travelling.append(messages.count)
    messages.append(message)
  }

  /// Takes a message out of its way: it is lost.
  mutating func lose(_ index: Int) {
    messages[index].fate = .lost(now)
    travelling.removeAll { $0 == index }
    note(message: index, "is lost")
  }

  /// A second copy arrives as long after the first as it was on its way.
  mutating func repeatMessage(_ index: Int) {
    var copy = messages[index]
    copy.arrives = copy.arrives + latency
    leave(copy)
    note(message: index, "is repeated as message \(messages.count)")
  }

  /// Brings a message to its end at once.
  mutating func deliver(_ index: Int) {
    messages[index].fate = .arrived(now)
    travelling.removeAll { $0 == index }
    note(message: index, "arrives")
    let message = messages[index]
    let exchange = exchanges[message.exchange]
    if let answer = message.answer {
      guard isAlive(message.client, message.incarnation) else { return }
      exchanges[message.exchange].isOpen = false
      feed(message.client, answer)
      return
    }
    switch exchange.request {
    case .register:
      switch server.beginRegister(at: now) {
      case .success(let log):
        let making = Making(exchange: message.exchange, log: log, at: now + snapshotTime)
        if snapshotTime > .zero { makings.append(making) } else { finish(making) }
      case .failure(let refusal): reply(message.exchange, .refused(refusal.answer))
      }
    case .poll(let place, let waits):
      let waiter = UInt64(message.exchange)
      let answer = server.poll(
        place, waits: waits, waiter: waiter, heartbeatAfter: PlaygroundWorld.heartbeat, at: now)
      if let answer {
        reply(message.exchange, answer)
      } else {
        note(nil, "holds \(exchange.name) of client \(message.client + 1)")
      }
    case .fetch(let request):
      if let found = App.page(request, on: server) {
        answer(message.exchange, .pageArrived(exchange.id, found.page), found.words)
      }
    case .push(let push):
      if let taken = server.push(push, at: now) {
        answer(message.exchange, .pushAnswered(exchange.id, taken), "\(taken)")
      } else {
        answer(
          message.exchange, .failed(exchange.id, .serverFault, hasLeft: true), "server fault")
      }
    }
    takeFinished()
  }

  /// Reads a snapshot, and answers with it.
  private mutating func finish(_ making: Making) {
    guard case .register(let name) = exchanges[making.exchange].request else { return }
    reply(making.exchange, server.finishRegister(making.log, for: name, at: now))
    takeFinished()
  }

  private mutating func send(_ request: Request, _ id: RequestID, _ name: String, by client: Int) {
    let device = devices[client]
    exchanges.append(
      Exchange(
        client: client, incarnation: device.incarnation, id: id, name: name, request: request,
        sent: now))
    guard device.isOnline else {
      let input = Client.Input.failed(id, .unreachable, hasLeft: false)
      return tasks.append(
        Task(client: client, at: now + .milliseconds(10), what: .told(input)))
    }
    leave(
      Message(
        client: client, incarnation: device.incarnation, exchange: exchanges.count - 1,
        text: name, sent: now, arrives: now + latency, answer: nil))
    note(message: messages.count - 1, "leaves client \(client + 1): \(name)")
  }

  private mutating func reply(_ exchange: Int, _ reply: App.Server.Reply) {
    let id = exchanges[exchange].id
    switch reply {
    case .registered(let snapshot, let finger, let terms):
      let isComplete = App.Server.isComplete(snapshot)
      answer(
        exchange,
        .snapshotArrived(id, snapshot, finger: finger, terms: terms, isComplete: isComplete),
        "snapshot, finger \(finger)")
    case .batch(let batch):
      let events = "\(batch.count) event\(batch.count == 1 ? "" : "s")"
      answer(exchange, .batchArrived(id, batch), events)
    case .released: break
    case .refused(let refusal):
      let failure = refusal.failure() ?? .serverFault
      answer(exchange, .failed(id, failure, hasLeft: true), "\(failure)")
    }
  }

  private mutating func answer(_ exchange: Int, _ input: Client.Input, _ text: String) {
    let client = exchanges[exchange].client
    note(nil, "answers \(exchanges[exchange].name) of client \(client + 1): \(text)")
    guard devices[client].isOnline else { return note(client, "cannot be reached") }
    leave(
      Message(
        client: client, incarnation: exchanges[exchange].incarnation, exchange: exchange,
        text: text, sent: now, arrives: now + latency, answer: input))
    note(message: messages.count - 1, "leaves for client \(client + 1)")
  }

  mutating func takeFinished() {
    while server.hasFinished {
      for ended in server.takeFinished() { reply(Int(ended.waiter), ended.reply) }
    }
  }

  // MARK: Clients

  mutating func feed(_ client: Int, _ input: Client.Input) {
    guard devices[client].isRunning else { return }
    let doubted = uncertain(on: client)
    let effects = devices[client].client.handle(input, at: now)
    let status = devices[client].client.status
    note(client, "\(input) → \(status)" + words(effects))
    notes[notes.count - 1].state = .status(status.code)
    if case .snapshotArrived = input { notes[notes.count - 1].isSeam = status.isLive }
    for ticket in uncertain(on: client) where !doubted.contains(ticket) {
      note(client, "cannot know whether the server has done \(ticket): it is uncertain")
    }
    drawPending(of: client)
    perform(effects, by: client)
  }

  /// The changes that may or may not have been done.
  private func uncertain(on client: Int) -> [MutationTicket] {
    devices[client].client.pending.compactMap { pending in
      if case .uncertain = pending.stage { pending.ticket } else { nil }
    }
  }

  func words(_ effects: Client.Effects) -> String {
    var texts: [String] = []
    effects.each { effect in
      if case .fetch(let id, let request) = effect {
        texts.append("fetch \(id): \(App.words(request))")
      } else {
        texts.append(effect.text(at: now))
      }
    }
    return texts.isEmpty ? "" : ": " + texts.joined(separator: ", ")
  }

  mutating func note(_ client: Int?, _ text: String) {
    notes.append(Note(at: now, about: client.map { .client($0) } ?? .server, text: text))
  }

  mutating func note(message index: Int, _ text: String) {
    notes.append(Note(at: now, about: .message(index), text: text))
  }

  /// The conversation as text, after so many lines of it.
  func told(after count: Int) -> [String] {
    notes[count...].map { "\($0.at): \($0.who) \($0.text)" }
  }

  mutating func perform(_ effects: Client.Effects, by client: Int) {
    if !effects.windows.isEmpty { noteWindow(of: client) }
    effects.each { effect in
      switch effect {
      case .cancel(let request):
        for index in exchanges.indices
        where exchanges[index].isOpen && exchanges[index].client == client
          && exchanges[index].id == request
        {
          exchanges[index].isOpen = false
          server.abandon(waiter: UInt64(index))
        }
      case .disarm(let timer): disarm(timer, of: client)
      case .report, .read: break  // What is held is all loaded.
      case .fetch(let id, let request):
        send(.fetch(request), id, "page " + App.words(request), by: client)
      case .release(let log): _ = server.release(log)
      case .load:
        let disk = devices[client].disk
        let age = disk.map { now - $0.at + devices[client].clockOffset }
        later(client, .told(.loaded(disk?.saved, age: age)))
      case .save(let write):
        if let saved = devices[client].client.saved { later(client, .written(write, saved)) }
      case .erase:
        devices[client].disk = nil
        later(client, .told(.erased(succeeded: true)))
      case .register(let id):
        let name = devices[client].client.model.flatMap { App.clientName(of: $0) }
        send(.register(name: name), id, "register", by: client)
      case .poll(let id, let place, let waits):
        send(.poll(place, waits: waits), id, "poll from \(place)", by: client)
      case .push(let push, let finger):
        send(
          .push(App.request(push, at: finger)), push.id,
          "push of \(push.mutations.count) change" + (push.mutations.count == 1 ? "" : "s"),
          by: client)
      case .arm(let timer, let range):
        tasks.append(
          Task(client: client, at: max(end(of: range, for: client), now), what: .timer(timer)))
      }
    }
  }

  /// The moment that is drawn from a range. A person can follow a wait more easily if it always
  /// lasts as long as it may. With more than two clients the waits are spread evenly, as chance
  /// would do: only the first client's lasts so long.
  private func end(of range: MomentRange, for client: Int) -> Moment {
    guard devices.count > 2 else { return range.latest }
    let width = (range.latest - range.earliest).milliseconds
    return range.latest - .milliseconds(width / Int64(devices.count) * Int64(client))
  }

  private mutating func disarm(_ timer: TimerID, of client: Int) {
    tasks.removeAll {
      if $0.client == client, case .timer(timer) = $0.what { true } else { false }
    }
  }

  private mutating func later(_ client: Int, _ what: Task.What) {
    tasks.append(Task(client: client, at: now + PlaygroundWorld.diskTime, what: what))
  }
}

extension ItemEdit {
  /// "sets title of item 1 to Milk".
  var words: String {
    switch self {
    case .create(let item, let title): "creates item \(item), \(title)"
    case .set(let item, let field, let value): "sets \(field) of item \(item) to \(value)"
    case .delete(let item): "deletes item \(item)"
    }
  }
}
