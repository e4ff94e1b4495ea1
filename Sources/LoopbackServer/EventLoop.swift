#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// The server's one thread: it owns the listener and all connections, and waits for all of them in
/// poll.
///
/// There is one thread, not one for each connection: delays, drips, deadlines and a stop all end
/// the same wait. Nothing that it owns needs a lock, and no client that does nothing can block one
/// of Swift's threads. It uses poll, not epoll or kqueue: poll is the same on every system, and as
/// fast for a few hundred sockets.
final class EventLoop {
  typealias Instant = ContinuousClock.Instant

  private let listener: Socket.Descriptor
  private let orderQueue: OrderQueue
  private let settings: LoopbackServer.Settings
  private let answer: LoopbackServer.Answer
  private let clock = ContinuousClock()

  private var now: Instant
  private var connections: [Connection] = []
  private var counters = LoopbackServer.Counters()
  private var observers: [Observer] = []
  private var welcome = LoopbackServer.Welcome.atOnce
  /// When waiting connections are accepted; `nil` if they are accepted as they come.
  private var nextAccept: Instant?
  private var stops: [CheckedContinuation<Void, Never>] = []
  private var isStopping = false
  private var buffer = [UInt8](repeating: 0, count: 64 << 10)

  init(
    listener: Socket.Descriptor, orderQueue: OrderQueue, settings: LoopbackServer.Settings,
    answer: @escaping LoopbackServer.Answer
  ) {
    self.listener = listener
    self.orderQueue = orderQueue
    self.settings = settings
    self.answer = answer
    now = clock.now
  }

  /// Runs until the server is stopped and every connection and answer has ended.
  func run() {
    while !isStopping || !connections.isEmpty {
      let ready = wait()
      now = clock.now
      obey()  // Comes first: a client may connect right after `welcome`.
      for (connection, events) in ready.connections { move(connection, events) }
      if ready.listener, !isStopping { arrive() }
      fireDeadlines()
      tell()  // Comes before writing: the counters are never behind what a client was told.
      for connection in connections { write(connection) }
      connections.removeAll { $0.isOver }
      tell()
    }
    orderQueue.close()
    for observer in observers { observer.continuation.resume(returning: counters) }
    for stop in stops { stop.resume() }
  }

  // MARK: Waiting

  /// Waits for events or the next deadline, and returns the events.
  private func wait() -> (connections: [(Connection, Int16)], listener: Bool) {
    var polled = [pollfd(fd: orderQueue.descriptor, events: Int16(POLLIN), revents: 0)]
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
    if polled[0].revents != 0 { Socket.drain(orderQueue.descriptor) }
    let moved = zip(watched, polled[first...]).filter { $0.1.revents != 0 }
    return (moved.map { ($0.0, $0.1.revents) }, accepts && polled[1].revents != 0)
  }

  /// The time until the next deadline, in milliseconds; -1 if there is none.
  private var patience: Int32 {
    var deadlines = connections.compactMap(\.deadline) + observers.map(\.deadline)
    if !isStopping, let nextAccept { deadlines.append(nextAccept) }
    guard let next = deadlines.min() else { return -1 }
    let left = clock.now.duration(to: next)
    guard left > .zero else { return 0 }
    // Rounded up: waking before the deadline would only cause a second wait.
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

  /// Updates the counters, and resumes the observers that waited for them.
  private func tell() {
    counters.open = connections.count { $0.socket != nil }
    counters.openMaximum = max(counters.openMaximum, counters.open)
    counters.answering = connections.count { $0.answer != nil }
    orderQueue.counters = counters
    observers.removeAll { observer in
      guard observer.isSatisfied(counters) || observer.deadline <= now else { return false }
      observer.continuation.resume(returning: counters)
      return true
    }
  }

  // MARK: Orders

  private func obey() {
    for order in orderQueue.take() {
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

  /// Accepts waiting connections while there is room.
  private func letIn() {
    while connections.count < settings.connectionLimit {
      switch Socket.accept(on: listener) {
      case .none: return
      case .exhausted:
        // No descriptor is left. Without this pause, poll would return at once, again and again.
        nextAccept = now + .milliseconds(100)
        return
      case .connection(let socket):
        counters.accepted += 1
        if welcome == .refusing {
          counters.refused += 1
          tell()  // Before its client can know.
          Socket.close(socket)
        } else {
          connections.append(
            Connection(socket, number: counters.accepted, settings: settings, at: now))
        }
      }
    }
  }

  /// Handles poll's events: the socket can be read or written, or has failed.
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

  /// Writes all output that the client takes now.
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

  /// Runs the closure in an unstructured task, since the loop's thread must not wait for it. The
  /// connection keeps its place until the task has ended; only then can the loop end too.
  private func ask(_ request: LoopbackServer.Request, on connection: Connection) {
    counters.requests += 1
    let (number, answer, orderQueue) = (connection.number, answer, orderQueue)
    connection.answer = Task {
      let response = await answer(request)
      orderQueue.send(.answered(number, response))
    }
  }

  /// Resets the connection once all written bytes have arrived: a reset would destroy the rest.
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

/// One connection: its conversation, its socket and its task. Only the loop's thread uses it.
final class Connection {
  let number: Int
  var conversation: Conversation
  /// `nil` when it is closed.
  var socket: Socket.Descriptor?
  /// The task that answers, until it ends; it may be cancelled.
  var answer: Task<Void, Never>?
  /// The last moment to send RST; `nil` if the connection is not being reset. `resetPoll` is when
  /// to look again whether RST can be sent.
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

  /// The events that poll reports for this connection.
  var events: Int16 {
    guard !isResetting else { return 0 }
    let input = conversation.wantsInput ? Int16(POLLIN) : Socket.peerEnded
    return conversation.output.isEmpty ? input : input | Int16(POLLOUT)
  }
}
