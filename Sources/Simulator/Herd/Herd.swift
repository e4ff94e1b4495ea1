package import UpdateMachine

/// What a herd is made of.
package struct HerdSettings: Sendable {
  package var clients = 100_000
  package var seed: UInt64 = 1
  package var machine = MachineSettings()
  package var policy = HerdPolicy.ours
  package var server = HerdServerSettings()
  /// How long a message takes, in milliseconds, each way. Each client has its own place in it.
  package var latency: ClosedRange<Int64> = 10...100

  package init() {}
}

/// Many machines, as apps run them, and one server. A value: the same settings and calls give the
/// same herd.
///
/// A client is a machine, packed (``MachineCell``), and the message between it and the server. A
/// machine is unpacked when something happens to it, handles that, and is packed again. A write to
/// its disk takes no time.
package struct Herd: ~Copyable {
  package let settings: HerdSettings
  package internal(set) var server: HerdServer
  package internal(set) var tally: HerdTally

  let terms: ServerTerms
  var cells: HerdCells
  var posts: [HerdPost]
  var wheel: TimeWheel
  /// How many requests each client has sent since it was last live.
  var tries: [UInt8]
  /// For other policies than ours: failures in a row, and the last wait.
  var failures: [UInt8]
  var lastWaits: [UInt32]
  /// Means nothing; keeps ``fetch(_:)`` from being left out.
  private var fetched: UInt32 = 0

  /// A herd of clients that have never done anything.
  package init(_ settings: HerdSettings, at now: UInt32) {
    self.settings = settings
    server = HerdServer(settings.server)
    tally = HerdTally(clients: settings.clients)
    tally.origin = now
    terms = ServerTerms(
      longDeadline: TimeSpan(milliseconds: settings.server.heartbeat + 10_000),
      lifetime: TimeSpan(milliseconds: settings.server.lifetime))
    posts = Array(repeating: HerdPost(), count: settings.clients)
    wheel = TimeWheel(things: settings.clients, at: now)
    tries = Array(repeating: 0, count: settings.clients)
    let others = settings.policy == .ours ? 0 : settings.clients
    failures = Array(repeating: 0, count: others)
    lastWaits = Array(repeating: 0, count: others)
    var cell = MachineCell()
    let machine = Machine<HerdFinger>(incarnation: Incarnation(0), settings: settings.machine)
    machine.pack(into: &cell, terms: terms)
    cells = HerdCells(repeating: cell, count: settings.clients)
  }

  /// The present, in milliseconds.
  package var now: UInt32 { wheel.now }

  /// The bytes that are kept for each client.
  package var bytesPerClient: Int {
    MemoryLayout<MachineCell>.stride + MemoryLayout<HerdPost>.stride
      + wheel.bytes / settings.clients + MemoryLayout<UInt8>.stride
      + (settings.policy == .ours ? 0 : MemoryLayout<UInt8>.stride + MemoryLayout<UInt32>.stride)
  }

  /// Whether a client is live: it follows a log that the server has, and is up to date.
  func isLive(_ cell: MachineCell) -> Bool { cell.isUpToDate && server.has(log: cell.log) }

  /// A client's machine.
  package func machine(_ client: Int) -> Machine<HerdFinger> { unpacked(cells[client], client) }

  func unpacked(_ cell: MachineCell, _ client: Int) -> Machine<HerdFinger> {
    Machine(
      unpacking: cell, finger: HerdFinger(log: cell.log, event: cell.place),
      incarnation: Incarnation(UInt64(client)), terms: terms, settings: settings.machine)
  }

  // MARK: Chance

  /// A random word that depends on the seed, the client and two numbers alone.
  func draw(_ client: Int, _ purpose: Purpose, _ number: UInt32) -> UInt64 {
    var digest = StateDigest(value: settings.seed)
    digest.fold(UInt64(client) << 2 | purpose.rawValue)
    digest.fold(UInt64(number))
    return digest.value
  }

  enum Purpose: UInt64 {
    case latency
    case timer
    case heartbeat
    case warming
  }

  /// How long a client's messages take.
  func latency(_ client: Int) -> UInt32 {
    let range = settings.latency
    let more = HerdPolicy.upTo(range.upperBound - range.lowerBound, draw(client, .latency, 0))
    return UInt32(range.lowerBound + more)
  }

  // MARK: Steps

  /// Goes on until `end`. Asks `goesOn` about sixteen times in a simulated second; returns `false`
  /// as soon as it does.
  package mutating func run(until end: UInt32, while goesOn: (borrowing Herd) -> Bool) -> Bool {
    var some: [Int32] = []
    while wheel.now < end {
      while wheel.take(into: &some) {
        fetch(some)
        for client in some { takeDue(Int(client)) }
      }
      server.advance()
      while let waiting = server.next() { serve(waiting) }
      wheel.advance(posts) { $0.due }
      tally.noteTime(wheel.now, waiting: server.waiting)
      if wheel.now & 63 == 0, !goesOn(self) { return false }
    }
    return true
  }

  /// Reads what is known of some clients, so that the processor fetches it all at the same time.
  /// One after the other, each would wait for memory.
  private mutating func fetch(_ clients: [Int32]) {
    var sum: UInt32 = 0
    for client in clients {
      sum &+= cells[Int(client)].log &+ posts[Int(client)].lastSeen &+ UInt32(tries[Int(client)])
    }
    fetched = sum
  }

  /// What is due for a client happens: the message first, then the timer. Nothing may be due.
  private mutating func takeDue(_ client: Int) {
    let now = wheel.now
    let post = posts[client]
    if post.messageDue <= now {
      takeMessage(client, post)
    } else {
      guard post.timerDue <= now else { return }
      posts[client].timerDue = HerdPost.never
      step(client, .fired(TimerID(UInt64(cells[client].lastTimer))))
    }
    schedule(client)
  }

  /// Puts a client into the wheel, if something is due for it. To be called whenever that changes.
  mutating func schedule(_ client: Int) {
    let due = posts[client].due
    if due != HerdPost.never { wheel.add(Int32(client), due: max(due, wheel.now)) }
  }

  private mutating func takeMessage(_ client: Int, _ post: HerdPost) {
    let id = RequestID(
      incarnation: Incarnation(UInt64(client)), number: UInt64(cells[client].lastRequest))
    posts[client].set(.none)
    switch post.kind {
    case .request: arrive(client)
    case .held:
      posts[client].lastSeen = wheel.now
      answer(client, .news)
    case .news:
      let cell = cells[client]
      let finger = HerdFinger(log: cell.log, event: cell.place + 1)
      step(client, .polled(id, movedTo: finger))
    case .nothing: step(client, .polled(id, movedTo: nil))
    case .snapshot:
      let finger = HerdFinger(log: post.detail, event: 0)
      step(client, .snapshotArrived(id, finger: finger, terms: terms))
    case .unreachable: step(client, .failed(id, .unreachable))
    case .fault: step(client, .failed(id, .serverFault))
    case .limited:
      step(client, .failed(id, .rateLimited(after: .milliseconds(Int64(post.detail)))))
    case .expired: step(client, .failed(id, .expired))
    case .foregrounded: step(client, .app(.foregrounded))
    case .none, .queued: return
    }
  }

  /// A client's machine handles an input, and what it wants is done.
  mutating func step(_ client: Int, _ input: Machine<HerdFinger>.Input) {
    let moment = Moment(milliseconds: Int64(wheel.now))
    var cell = cells[client]
    let wasLive = isLive(cell)
    var machine = unpacked(cell, client)
    let effects = machine.handle(input, at: moment)
    tally.events += 1
    perform(effects, of: client, holdsFinger: machine.finger != nil)
    if let write = effects.persist {
      let more = machine.handle(.written(write), at: moment)
      tally.events += 1
      perform(more, of: client, holdsFinger: true)
    }
    machine.pack(into: &cell, terms: terms)
    if let finger = machine.finger {
      cell.log = finger.log
      cell.place = finger.event
    }
    assert(unpacked(cell, client) == machine, "a cell has lost something")
    cells[client] = cell
    let isLive = self.isLive(cell)
    guard isLive != wasLive else { return }
    if isLive {
      tally.noteLive(at: wheel.now, tries: tries[client])
      tries[client] = 0
      if settings.policy != .ours {
        failures[client] = 0
        lastWaits[client] = 0
      }
    } else {
      tally.live -= 1
    }
  }

  private mutating func perform(
    _ effects: Machine<HerdFinger>.Effects, of client: Int, holdsFinger: Bool
  ) {
    if effects.cancel != nil {
      if posts[client].kind == .held { posts[client].lastSeen = wheel.now }
      posts[client].set(.none)
    }
    if effects.disarm != nil { posts[client].timerDue = HerdPost.never }
    if let request = effects.request {
      posts[client].set(.request, due: wheel.now + latency(client))
      // A poll that waits is sent by those who are up to date.
      if case .poll(_, _, waits: true) = request {
      } else if tries[client] < .max {
        tries[client] += 1
      }
    }
    if let arm = effects.arm {
      posts[client].timerDue = drawn(arm, for: client, holdsFinger: holdsFinger)
    }
  }

  /// The moment at which a timer fires. Another policy than ours replaces the wait, and keeps only
  /// what the server asked for.
  private mutating func drawn(
    _ arm: TimerArm, for client: Int, holdsFinger: Bool
  ) -> UInt32 {
    let earliest = arm.range.earliest.milliseconds
    let latest = arm.range.latest.milliseconds
    guard earliest < latest else { return UInt32(earliest) }
    let word = draw(client, .timer, UInt32(truncatingIfNeeded: arm.timer.number))
    guard settings.policy != .ours else {
      return UInt32(earliest + HerdPolicy.upTo(latest - earliest, word))
    }
    let numbers = settings.machine.retry
    let wait = settings.policy.wait(
      attempt: Int64(failures[client]), last: Int64(lastWaits[client]),
      first: (holdsFinger ? numbers.transientFirst : numbers.slowFirst).milliseconds,
      cap: (holdsFinger ? numbers.transientCap : numbers.slowCap).milliseconds, draw: word)
    if failures[client] < .max { failures[client] += 1 }
    lastWaits[client] = UInt32(wait)
    return UInt32(max(earliest, Int64(wheel.now) + wait))
  }

  // MARK: The server

  /// A client's request comes to the server.
  private mutating func arrive(_ client: Int) {
    let cell = cells[client]
    let verdict = server.take(
      cell.lastRequest, of: Int32(client), log: cell.hasFinger ? cell.log : nil,
      at: Int64(wheel.now))
    tally.note(verdict, isRegister: !cell.hasFinger, server)
    switch verdict {
    case .unreachable: answer(client, .unreachable)
    case .served: serve(client)
    case .waits: posts[client].set(.queued)
    case .refused(nil): answer(client, .fault)
    case .refused(let after?): answer(client, .limited, detail: UInt32(max(after, 0)))
    case .hangs: break
    case .gone: answer(client, .expired)
    }
  }

  private mutating func answer(_ client: Int, _ kind: HerdPost.Kind, detail: UInt32 = 0) {
    posts[client].set(kind, detail: detail, due: wheel.now + latency(client))
  }

  /// The server does what has waited. The client may have given up, which the server does not see.
  private mutating func serve(_ waiting: HerdServer.Waiting) {
    let client = Int(waiting.client)
    let number = UInt32(truncatingIfNeeded: waiting.number.magnitude)
    guard posts[client].kind == .queued, cells[client].lastRequest == number else {
      tally.wasted += 1
      return
    }
    serve(client)
    schedule(client)
  }

  private mutating func serve(_ client: Int) {
    let now = wheel.now
    let cell = cells[client]
    tally.served += 1
    guard cell.hasFinger else {
      guard !server.snapshotsFail else { return answer(client, .fault) }
      posts[client].lastSeen = now
      return answer(client, .snapshot, detail: server.makeLog())
    }
    guard Int64(now - posts[client].lastSeen) <= settings.server.lifetime else {
      return answer(client, .expired)
    }
    posts[client].lastSeen = now
    guard cell.waits else { return answer(client, .nothing) }
    posts[client].set(.held, due: now + heldFor(client, cell.lastRequest))
  }

  /// How long a poll is held open: until the next news, or the next heartbeat.
  func heldFor(_ client: Int, _ request: UInt32) -> UInt32 {
    let word = draw(client, .heartbeat, request)
    let heartbeat = settings.server.heartbeat
    let silence = heartbeat - HerdPolicy.upTo(heartbeat / 4, word)
    guard settings.server.news > 0 else { return UInt32(silence) }
    let news = HerdPolicy.upTo(settings.server.news * 2, StateDigest.mixed(word))
    return UInt32(max(min(silence, news), 1))
  }
}
