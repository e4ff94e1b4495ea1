internal import UpdateMachine

/// Oracles E and J: an independent model of what a driver can do. Effects are replayed into it. If
/// one cannot be performed, or is no longer allowed, it returns what was expected.
struct WallsOracle: Sendable {
  private var request: RequestID?
  private var timer: TimerID?
  private var write: WriteID?
  private var lastRequest: UInt64 = 0
  private var lastTimer: UInt64 = 0
  private var lastWrite: UInt64 = 0

  struct Objection: Hashable, Sendable {
    var oracle: Oracle
    var expected: String
  }

  /// Whether a timer is armed.
  var hasTimer: Bool { timer != nil }

  /// Notes that an input ends the open request.
  mutating func noteAnswer(to id: RequestID) { if request == id { request = nil } }

  mutating func noteFired(_ id: TimerID) { if timer == id { timer = nil } }

  mutating func noteWriteEnded(_ id: WriteID) { if write == id { write = nil } }

  /// Applies the effects of one input, in order.
  mutating func perform<Place: Finger>(
    _ effects: Machine<Place>.Effects, status: MachineStatus, at now: Moment
  ) -> Objection? {
    if let id = effects.cancel {
      guard request == id else { return wall("cancel of the request that is out") }
      request = nil
    }
    if let id = effects.disarm {
      guard timer == id else { return wall("disarm of a timer that is armed") }
      timer = nil
    }
    if let id = effects.persist {
      guard write == nil else { return wall("one write at a time") }
      guard id.number > lastWrite else { return wall("a new ID for a write") }
      write = id
      lastWrite = id.number
    }
    if let objection = performRequest(effects, status: status) { return objection }
    if let arm = effects.arm {
      guard timer == nil else { return wall("one timer at a time") }
      guard arm.timer.number > lastTimer else { return wall("a new ID for a timer") }
      guard arm.range.earliest > now else { return wall("a timer after now") }
      guard arm.range.latest >= arm.range.earliest else { return wall("a range that is not empty") }
      timer = arm.timer
      lastTimer = arm.timer.number
    }
    return pending(status)
  }

  private mutating func performRequest<Place: Finger>(
    _ effects: Machine<Place>.Effects, status: MachineStatus
  ) -> Objection? {
    let id: RequestID
    switch effects.request {
    case .register(let register): id = register
    case .poll(let poll, _, _): id = poll
    case nil: return nil
    }
    guard request == nil else {
      return Objection(oracle: .ownership, expected: "at most one request out")
    }
    guard !status.isHalted else {
      return Objection(oracle: .ownership, expected: "no request from a halted machine")
    }
    guard id.number > lastRequest else { return wall("a new ID for a request") }
    request = id
    lastRequest = id.number
    return nil
  }

  /// Checks that something is always pending: a request, a timer, a write, or the app.
  private func pending(_ status: MachineStatus) -> Objection? {
    switch status {
    case .stale, .idle:
      guard request == nil else {
        return Objection(oracle: .ownership, expected: "no request out of a resting machine")
      }
      return nil
    case .halted:
      guard request == nil, timer == nil else {
        return Objection(oracle: .ownership, expected: "nothing pending in a halted machine")
      }
      return nil
    case .registering, .registerFailed, .live, .pollFailed:
      guard request != nil || timer != nil || write != nil else {
        return Objection(oracle: .liveness, expected: "something pending")
      }
      guard request == status.outstanding?.id else {
        return Objection(oracle: .ownership, expected: "the request that the status names is out")
      }
      return nil
    }
  }

  private func wall(_ expected: String) -> Objection {
    Objection(oracle: .walls, expected: expected)
  }
}
