/// The state machine of one connection. It is told what happened, and returns what to do. It knows
/// no socket and no thread, and reads no clock.
///
///     receiving ──▶ answering ──▶ delaying ──▶ sending ──▶ idle ──▶ receiving …
///         └─refused, or too late───────────────▶ │
///                                                ├──▶ draining ──▶ over
///                                                └──▶ silent ──▶ over
///
/// From every state, the client's end or a failure leads to `over`.
struct Conversation {
  typealias Instant = ContinuousClock.Instant

  enum State {
    /// Waits for a request, or for the rest of one. Goes to `answering`, or after a refusal to
    /// `sending`.
    case receiving(until: Instant)
    /// The closure is running. Goes to `delaying` or `sending`.
    case answering(RequestManner)
    /// The answer is ready and waits for its delay to pass. Goes to `sending`.
    case delaying(Transmission, until: Instant)
    /// The next state depends on the answer's ending. `until` is when a paused answer may go on;
    /// else it is when a client that takes no bytes is given up.
    case sending(Transmission, until: Instant)
    /// The next request may come until then. Goes to `receiving` or `over`.
    case idle(until: Instant)
    /// Half-open: nothing more is sent. Stays until the client goes away.
    case silent
    /// Everything is sent, FIN too, and the client is expected to close. Closing while its bytes
    /// are unread would send RST, which can destroy what it has not read yet (RFC 9112, 9.6).
    case draining(until: Instant)
    case over
  }

  /// One instruction to the owner of the socket.
  enum Effect {
    /// Let the closure answer this request.
    case ask(LoopbackServer.Request)
    /// Cancel the answer: its client is gone.
    case cancel
    /// Send FIN, and keep reading.
    case endSending
    case close
    /// Send RST once all written bytes have arrived.
    case reset
  }

  private(set) var state: State
  private var parser: RequestParser
  private let settings: LoopbackServer.Settings
  /// The bytes of `100 Continue` that are not sent yet.
  private var interim: ArraySlice<UInt8> = []

  init(number: Int, settings: LoopbackServer.Settings, at now: Instant) {
    self.settings = settings
    parser = RequestParser(
      headLimit: settings.headLimit, bodyLimit: settings.bodyLimit, connection: number)
    state = .receiving(until: now + settings.requestTime)
  }

  // MARK: Inputs

  /// Bytes arrived.
  mutating func received(_ bytes: ArraySlice<UInt8>, at now: Instant) -> [Effect] {
    switch state {
    case .idle(let until):
      parser.append(bytes)
      return beginRequest(idleUntil: until, at: now)
    case .receiving:
      parser.append(bytes)
      return readRequest(at: now)
    case .answering, .delaying, .sending:
      parser.append(bytes)  // These are of the next request, which waits.
      return []
    case .silent, .draining, .over: return []  // Input is ignored.
    }
  }

  /// The client is gone: it ended its side, or the connection failed. A client that has only ended
  /// its sending and waits for an answer looks like one that left. No HTTP client does that.
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

  /// The closure returned its answer.
  mutating func answered(_ response: LoopbackServer.Response, at now: Instant) -> [Effect] {
    guard case .answering(let manner) = state else { return [] }  // The client left meanwhile.
    let transmission = Transmission(response, manner: manner)
    guard response.delay > .zero else { return send(transmission, at: now) }
    state = .delaying(transmission, until: now + min(response.delay, settings.delayTime))
    return []
  }

  /// The socket took `count` of the bytes in `output`.
  mutating func sent(_ count: Int, at now: Instant) -> [Effect] {
    guard case .sending(var transmission, _) = state else {
      interim = interim.dropFirst(count)
      return []
    }
    state = .over  // Keeps the bytes uniquely referenced, so they are not copied.
    transmission.advance(by: count)
    if transmission.isOver { return finish(transmission.ending, at: now) }
    let pause = transmission.isPaused ? transmission.pace?.pause : nil
    let time = pause.map { min($0, settings.delayTime) } ?? settings.sendTime
    state = .sending(transmission, until: now + time)
    return []
  }

  /// The deadline has passed.
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

  /// When `fired` must be called; `nil` if another input must come first.
  var deadline: Instant? {
    switch state {
    case .receiving(let until), .delaying(_, let until), .sending(_, let until), .idle(let until),
      .draining(let until):
      until
    case .answering, .silent, .over: nil
    }
  }

  /// Whether to read more bytes. Bytes of later requests are kept up to a limit; then the client
  /// must wait. If it fills the kernel's buffer too, its end is noticed late, behind the unread
  /// bytes.
  var wantsInput: Bool {
    switch state {
    case .answering, .delaying, .sending: parser.buffered < settings.headLimit
    case .receiving, .idle, .silent, .draining: true
    case .over: false
    }
  }

  /// The bytes that may be written now.
  var output: ArraySlice<UInt8> {
    if case .sending(let transmission, _) = state { transmission.next } else { interim }
  }

  // MARK: Helpers

  /// Goes on with the bytes that followed the last request, if any.
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
