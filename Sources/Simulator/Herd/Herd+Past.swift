internal import UpdateMachine

// What clients have done before a story begins. Their machines really do it, one client after the
// other; the server answers as it does when there is nothing else to do.

extension Herd {
  /// Gives every client a past of some minutes: it has registered, and now its poll waits.
  package mutating func makeLive() {
    for client in 0..<cells.count {
      let word = draw(client, .warming, 0)
      let ago = 2 * settings.server.heartbeat + HerdPolicy.upTo(settings.server.heartbeat, word)
      var past = Past(of: client, in: self, from: Int64(now) - ago)
      past.register(in: &self)
      while past.now + Int64(heldFor(client, past.request)) <= Int64(now) {
        past.pass(Int64(heldFor(client, past.request)))
        past.hear()
      }
      posts[client].lastSeen = UInt32(past.now)
      posts[client].set(.held, due: UInt32(past.now) + heldFor(client, past.request))
      posts[client].timerDue = past.timerDue
      keep(past, client)
      schedule(client)
      tally.live += 1
    }
  }

  /// Gives every client a past of a night: its app went to the background `asleep` milliseconds
  /// ago.
  package mutating func makeSleeping(for asleep: Int64) {
    for client in 0..<cells.count {
      var past = Past(of: client, in: self, from: Int64(now) - asleep - 60_000)
      past.register(in: &self)
      past.pass(30_000)
      past.sleep()
      posts[client].lastSeen = UInt32(past.now)
      if past.timerDue != HerdPost.never {
        // It has polled in the background since then, and does so at any moment of its period.
        let period = Int64(past.timerDue) - past.now
        let ahead = HerdPolicy.upTo(period, draw(client, .warming, 1))
        posts[client].timerDue = now + UInt32(ahead)
      }
      keep(past, client)
      schedule(client)
    }
  }

  private mutating func keep(_ past: Past, _ client: Int) {
    past.machine.pack(into: &cells[client], terms: terms)
    guard let finger = past.machine.finger else { return }
    cells[client].log = finger.log
    cells[client].place = finger.event
  }

  /// One client's machine, with its own time.
  private struct Past {
    var machine: Machine<HerdFinger>
    var now: Int64
    var timerDue = HerdPost.never
    /// The number of the last request.
    var request: UInt32 = 0

    init(of client: Int, in herd: borrowing Herd, from now: Int64) {
      machine = herd.machine(client)
      self.now = now
    }

    private var id: RequestID {
      RequestID(incarnation: machine.incarnation, number: UInt64(request))
    }

    mutating func pass(_ milliseconds: Int64) { now += milliseconds }

    mutating func handle(_ input: Machine<HerdFinger>.Input) {
      let effects = machine.handle(input, at: Moment(milliseconds: now))
      if let sent = effects.request { request = UInt32(sent.id.number) }
      if effects.disarm != nil { timerDue = HerdPost.never }
      if let arm = effects.arm { timerDue = UInt32(arm.range.earliest.milliseconds) }
      if let write = effects.persist { handle(.written(write)) }
    }

    mutating func register(in herd: inout Herd) {
      handle(.app(.started(foreground: true)))
      pass(200)
      let finger = HerdFinger(log: herd.server.makeLog(), event: 0)
      handle(.snapshotArrived(id, finger: finger, terms: herd.terms))
    }

    mutating func hear() {
      guard let finger = machine.finger else { return }
      handle(.polled(id, movedTo: HerdFinger(log: finger.log, event: finger.event + 1)))
    }

    mutating func sleep() { handle(.app(.backgrounded)) }
  }
}
