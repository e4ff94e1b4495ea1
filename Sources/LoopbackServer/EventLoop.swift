#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// The server's one thread: owns the listener and all connections, and waits for all of them in poll.
///
/// One thread rather than one for each connection: delays, drips, deadlines and a stop all end the same
/// wait, nothing that it owns needs a lock, and there is none of Swift's threads to be blocked by a
/// client that does nothing. And poll rather than epoll or kqueue: it is the same on every system, and
/// for some hundred sockets as fast.
final class EventLoop {
  typealias Instant = ContinuousClock.Instant

  private let listener: Socket.Descriptor
  private let mailbox: Mailbox
  private let settings: LoopbackServer.Settings
  private let answer: LoopbackServer.Answer
  private let clock = ContinuousClock()

  private var now: Instant
  private var connections: [Connection] = []
  private var counters = LoopbackServer.Counters()
  private var observers: [Observer] = []
  private var welcome = LoopbackServer.Welcome.atOnce
  /// When waiting connections are let in; `nil`: as they come.
  private var nextAccept: Instant?
  private var stops: [CheckedContinuation<Void, Never>] = []
  private var isStopping = false
  private var buffer = [UInt8](repeating: 0, count: 64 << 10)

  init(
    listener: Socket.Descriptor, mailbox: Mailbox, settings: LoopbackServer.Settings,
    answer: @escaping LoopbackServer.Answer
  ) {
    self.listener = listener
    self.mailbox = mailbox
    self.settings = settings
    self.answer = answer
    now = clock.now
  }

  /// Until it is stopped, and everything that it has begun has ended.
  func run() {
    while !isStopping || !connections.isEmpty {
      let ready = wait()
      now = clock.now
      obey()  // First: who is told to be let in late may be at the door already.
      for (connection, events) in ready.connections { move(connection, events) }
      if ready.listener, !isStopping { arrive() }
      fireDeadlines()
      tell()  // Before anything is written: counters are never behind what a client was told.
      for connection in connections { write(connection) }
      connections.removeAll { $0.isOver }
      tell()
    }
    mailbox.close()
    for observer in observers { observer.continuation.resume(returning: counters) }
    for stop in stops { stop.resume() }
  }

  // MARK: Waiting

  /// Returns what there is to be done, when there is something.
  private func wait() -> (connections: [(Connection, Int16)], listener: Bool) {
    var polled = [pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0)]
    let accepts = !isStopping && connections.count < settings.connectionLimit && nextAccept == nil
    if accepts { polled.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0)) }
    let first = polled.count
    var watched: [Connection] = []
    for connection in connections {
      guard let socket = connection.socket else { continue }
      watched.append(connection)
      polled.append(pollfd(fd: socket, events: connection.events, revents: 0))
    }
    guard unsafe poll(&polled, nfds_t(polled.count), patience) > 0 else { return ([], false) }
    if polled[0].revents != 0 { Socket.drain(mailbox.descriptor) }
    let moved = zip(watched, polled[first...]).filter { $0.1.revents != 0 }
    return (moved.map { ($0.0, $0.1.revents) }, accepts && polled[1].revents != 0)
  }

  /// How long nothing has to be done unasked, in milliseconds; -1 for ever.
  private var patience: Int32 {
    var deadlines = connections.compactMap(\.deadline) + observers.map(\.deadline)
    if !isStopping, let nextAccept { deadlines.append(nextAccept) }
    guard let next = deadlines.min() else { return -1 }
    let left = clock.now.duration(to: next)
    guard left > .zero else { return 0 }
    // Rounded up, for a deadline that is not there yet would only be waited for again.
    let (seconds, attoseconds) = left.components
    let milliseconds =
      min(seconds, 1_000_000) * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    return Int32(milliseconds)
  }

  private func fireDeadlines() {
    if let due = nextAccept, due <= now {
      nextAccept = nil
      letIn()
    }
    for connection in connections {
      guard let due = connection.deadline, due <= now else { continue }
      if connection.isResetting {
        finishReset(connection)
      } else {
        perform(connection.conversation.fired(at: now), for: connection)
      }
    }
  }

  /// Tells those who wait for it how the counters stand.
  private func tell() {
    counters.open = connections.count { $0.socket != nil }
    counters.openMaximum = max(counters.openMaximum, counters.open)
    counters.answering = connections.count { $0.answer != nil }
    mailbox.counters = counters
    observers.removeAll { observer in
      guard observer.isSatisfied(counters) || observer.deadline <= now else { return false }
      observer.continuation.resume(returning: counters)
      return true
    }
  }

  // MARK: Orders

  private func obey() {
    for order in mailbox.take() {
      switch order {
      case .answered(let number, let response):
        guard let connection = connections.first(where: { $0.number == number }) else { continue }
        connection.answer = nil
        perform(connection.conversation.answered(response, at: now), for: connection)
      case .welcome(let welcome):
        self.welcome = welcome
        if welcome == .atOnce, nextAccept != nil { nextAccept = now }
      case .observe(let observer): observers.append(observer)
      case .stop(let continuation):
        if let continuation { stops.append(continuation) }
        stop()
      }
    }
  }

  private func stop() {
    guard !isStopping else { return }
    isStopping = true
    nextAccept = nil
    Socket.close(listener)
    for connection in connections { perform(connection.conversation.ended(), for: connection) }
    for connection in connections where connection.isResetting { closeSocket(of: connection) }
  }

  // MARK: Connections

  private func arrive() {
    switch welcome {
    case .after(let delay): nextAccept = now + delay
    case .atOnce, .refusing: letIn()
    }
  }

  /// Accepts those who wait, as far as there is room.
  private func letIn() {
    while connections.count < settings.connectionLimit {
      switch Socket.accept(on: listener) {
      case .none: return
      case .exhausted:
        // There is no descriptor for it. Until there is, poll would return at once, again and again.
        nextAccept = now + .milliseconds(100)
        return
      case .connection(let socket):
        counters.accepted += 1
        if welcome == .refusing {
          counters.refused += 1
          Socket.close(socket)
        } else {
          connections.append(
            Connection(socket, number: counters.accepted, settings: settings, at: now))
        }
      }
    }
  }

  /// The socket can be read or written, or has failed.
  private func move(_ connection: Connection, _ events: Int16) {
    guard let socket = connection.socket else { return }
    let isBroken = events & (Int16(POLLHUP) | Int16(POLLERR) | Socket.peerEnded) != 0
    if connection.isResetting {
      if isBroken { closeSocket(of: connection) }
      return
    }
    if connection.conversation.wantsInput {
      if events & Int16(POLLIN) != 0 || isBroken {
        switch Socket.read(socket, into: &buffer) {
        case .count(let count):
          perform(connection.conversation.received(buffer[..<count], at: now), for: connection)
        case .wouldBlock: break
        case .ended, .failed: perform(connection.conversation.ended(), for: connection)
        }
      }
    } else if isBroken {
      perform(connection.conversation.ended(), for: connection)
    }
  }

  /// Writes what may be written, as far as the client takes it.
  private func write(_ connection: Connection) {
    while let socket = connection.socket, !connection.isResetting {
      let output = connection.conversation.output
      guard !output.isEmpty else { return }
      switch Socket.write(output, to: socket) {
      case .count(let count):
        perform(connection.conversation.sent(count, at: now), for: connection)
      case .wouldBlock: return
      case .ended, .failed: perform(connection.conversation.ended(), for: connection)
      }
    }
  }

  private func perform(_ effects: [Conversation.Effect], for connection: Connection) {
    for effect in effects {
      switch effect {
      case .ask(let request): ask(request, on: connection)
      case .cancel:
        counters.cancelled += 1
        connection.answer?.cancel()
      case .endSending:
        if let socket = connection.socket { Socket.endSending(socket) }
      case .close: closeSocket(of: connection)
      case .reset:
        connection.resetDeadline = now + settings.drainTime
        finishReset(connection)
      }
    }
  }

  /// The task is loose, for its thread must not wait for it. The connection's place is free, and the
  /// loop ends, only when it has answered.
  private func ask(_ request: LoopbackServer.Request, on connection: Connection) {
    counters.requests += 1
    let (number, answer, mailbox) = (connection.number, answer, mailbox)
    connection.answer = Task {
      let response = await answer(request)
      mailbox.send(.answered(number, response))
    }
  }

  /// Resets the connection when what was written has arrived, which a reset would destroy.
  private func finishReset(_ connection: Connection) {
    guard let socket = connection.socket, let deadline = connection.resetDeadline else { return }
    if Socket.unsent(socket) > 0, now < deadline {
      connection.resetPoll = now + .milliseconds(1)
    } else {
      connection.socket = nil
      Socket.reset(socket)
    }
  }

  private func closeSocket(of connection: Connection) {
    guard let socket = connection.socket else { return }
    connection.socket = nil
    Socket.close(socket)
  }
}

/// One connection: what is said on it, and what it holds of the system. Only the loop's thread sees it.
final class Connection {
  let number: Int
  var conversation: Conversation
  /// `nil` when it is closed.
  var socket: Socket.Descriptor?
  /// At work on an answer, or cancelled and not over yet.
  var answer: Task<Void, Never>?
  /// By when it is reset at last, and when it is looked at again; `nil`: it is not being reset.
  var resetDeadline: ContinuousClock.Instant?
  var resetPoll: ContinuousClock.Instant?

  init(
    _ socket: Socket.Descriptor, number: Int, settings: LoopbackServer.Settings,
    at now: ContinuousClock.Instant
  ) {
    self.socket = socket
    self.number = number
    conversation = Conversation(number: number, settings: settings, at: now)
  }

  var isOver: Bool { socket == nil && answer == nil }
  var isResetting: Bool { resetDeadline != nil }

  var deadline: ContinuousClock.Instant? {
    guard socket != nil else { return nil }
    return isResetting ? resetPoll : conversation.deadline
  }

  /// What poll is to tell of it.
  var events: Int16 {
    guard !isResetting else { return 0 }
    let input = conversation.wantsInput ? Int16(POLLIN) : Socket.peerEnded
    return conversation.output.isEmpty ? input : input | Int16(POLLOUT)
  }
}
