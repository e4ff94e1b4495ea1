/// What is said on one connection, as a value: it is told what happened, and says what to do. It knows
/// no socket and no thread, and reads no clock.
///
///     receiving ──▶ answering ──▶ delaying ──▶ sending ──▶ idle ──▶ receiving …
///         └─refused, or too late───────────────▶ │
///                                                ├──▶ draining ──▶ over
///                                                └──▶ silent ──▶ over
///
/// From each of them the client's end, or a failure, leads to `over`.
struct Conversation {
  typealias Instant = ContinuousClock.Instant

  enum State {
    /// A request is coming, or the first is awaited. Goes to `answering`, or with a refusal to `sending`.
    case receiving(until: Instant)
    /// The closure is at work. Goes to `delaying` or `sending`.
    case answering(RequestManner)
    /// The answer is here, and waits for its time. Goes to `sending`.
    case delaying(Transmission, until: Instant)
    /// Goes by its ending. The instant is when it may go on, if it is paused, or else when the client
    /// has taken nothing for too long.
    case sending(Transmission, until: Instant)
    /// The next request may come, for so long. Goes to `receiving`, or to `over`.
    case idle(until: Instant)
    /// Half-open: nothing more is said. Stays until the client goes.
    case silent
    /// All is said, and the client was told so. It is waited for: to close while bytes of its are
    /// unread would be a reset, which takes from it what it has not read (RFC 9112, 9.6).
    case draining(until: Instant)
    case over
  }

  /// One instruction to whoever owns the socket.
  enum Effect {
    /// Have the closure answer this.
    case ask(LoopbackServer.Request)
    /// Nobody will hear the answer.
    case cancel
    /// Send FIN, and keep reading.
    case endSending
    case close
    /// Send RST when all that was written has arrived.
    case reset
  }

  private(set) var state: State
  private var parser: RequestParser
  private let settings: LoopbackServer.Settings
  /// `100 Continue`, as far as it was not sent.
  private var interim: ArraySlice<UInt8> = []

  init(number: Int, settings: LoopbackServer.Settings, at now: Instant) {
    self.settings = settings
    parser = RequestParser(
      headLimit: settings.headLimit, bodyLimit: settings.bodyLimit, connection: number)
    state = .receiving(until: now + settings.requestTime)
  }

  // MARK: What happened

  /// Bytes came.
  mutating func received(_ bytes: ArraySlice<UInt8>, at now: Instant) -> [Effect] {
    switch state {
    case .idle(let until):
      parser.append(bytes)
      return beginRequest(idleUntil: until, at: now)
    case .receiving:
      parser.append(bytes)
      return readRequest(at: now)
    case .answering, .delaying, .sending:
      parser.append(bytes)  // The next request. It has its turn.
      return []
    case .silent, .draining, .over: return []  // Nobody listens any more.
    }
  }

  /// The client is gone: it has ended its side, or the connection failed. A client that only ended its
  /// side and waits for an answer looks the same as one that left, and HTTP knows no such client.
  mutating func ended() -> [Effect] {
    switch state {
    case .answering:
      state = .over
      return [.cancel, .close]
    case .receiving, .delaying, .sending, .idle, .silent, .draining:
      state = .over
      return [.close]
    case .over: return []
    }
  }

  /// The closure has answered.
  mutating func answered(_ response: LoopbackServer.Response, at now: Instant) -> [Effect] {
    guard case .answering(let manner) = state else { return [] }  // The client left meanwhile.
    let transmission = Transmission(response, manner: manner)
    guard response.delay > .zero else { return send(transmission, at: now) }
    state = .delaying(transmission, until: now + min(response.delay, settings.delayTime))
    return []
  }

  /// So many of the bytes in `output` were taken by the socket.
  mutating func sent(_ count: Int, at now: Instant) -> [Effect] {
    guard case .sending(var transmission, _) = state else {
      interim = interim.dropFirst(count)
      return []
    }
    state = .over  // The bytes are held once, so that they are not copied.
    transmission.advance(by: count)
    if transmission.isOver { return finish(transmission.ending, at: now) }
    let pause = transmission.isPaused ? transmission.pace?.pause : nil
    let time = pause.map { min($0, settings.delayTime) } ?? settings.sendTime
    state = .sending(transmission, until: now + time)
    return []
  }

  /// The deadline has come.
  mutating func fired(at now: Instant) -> [Effect] {
    guard let deadline, deadline <= now else { return [] }
    switch state {
    case .receiving: return send(Transmission(.refusal(408), manner: nil), at: now)
    case .delaying(let transmission, _): return send(transmission, at: now)
    case .sending(var transmission, _) where transmission.isPaused:
      transmission.goOn()
      state = .sending(transmission, until: now + settings.sendTime)
      return []
    case .sending:
      state = .over
      return [.close]
    case .idle, .draining:
      state = .over
      return [.close]
    case .answering, .silent, .over: return []
    }
  }

  // MARK: Queries

  /// When `fired` is to be called; `nil`: something else must happen first.
  var deadline: Instant? {
    switch state {
    case .receiving(let until), .delaying(_, let until), .sending(_, let until), .idle(let until),
      .draining(let until):
      until
    case .answering, .silent, .over: nil
    }
  }

  /// Whether more bytes are wanted. Those of coming requests are kept up to a limit; then the client
  /// must wait. If it has sent more than the kernel's buffer holds as well, its end is noticed late:
  /// it stands behind bytes that nobody has taken.
  var wantsInput: Bool {
    switch state {
    case .answering, .delaying, .sending: parser.buffered < settings.headLimit
    case .receiving, .idle, .silent, .draining: true
    case .over: false
    }
  }

  /// What may be written now.
  var output: ArraySlice<UInt8> {
    if case .sending(let transmission, _) = state { transmission.next } else { interim }
  }

  // MARK: Helpers

  /// Goes on with what has come after the last request, if there is anything.
  private mutating func beginRequest(idleUntil: Instant, at now: Instant) -> [Effect] {
    state = .receiving(until: now + settings.requestTime)
    let effects = readRequest(at: now)
    if case .receiving = state, !parser.isWithin { state = .idle(until: idleUntil) }
    return effects
  }

  private mutating func readRequest(at now: Instant) -> [Effect] {
    switch parser.next() {
    case .request(let request, let manner):
      state = .answering(manner)
      return [.ask(request)]
    case .refused(let status):
      return send(Transmission(.refusal(status), manner: nil), at: now)
    case .awaitsContinue:
      interim = ArraySlice("HTTP/1.1 100 Continue\r\n\r\n".utf8)
      return []
    case .needsMore:
      return []
    }
  }

  private mutating func send(_ transmission: Transmission, at now: Instant) -> [Effect] {
    var transmission = transmission
    transmission.prepend(interim)
    interim = []
    if transmission.isOver { return finish(transmission.ending, at: now) }
    state = .sending(transmission, until: now + settings.sendTime)
    return []
  }

  private mutating func finish(_ ending: Transmission.Ending, at now: Instant) -> [Effect] {
    switch ending {
    case .next:
      return beginRequest(idleUntil: now + settings.idleTime, at: now)
    case .close:
      state = .draining(until: now + settings.drainTime)
      return [.endSending]
    case .reset:
      state = .over
      return [.reset]
    case .silence:
      state = .silent
      return []
    }
  }
}
