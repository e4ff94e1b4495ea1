import UpdateMachine

/// A finger for tests: "a:3" is the third place of log a.
struct Spot: Finger {
  var log: String
  var index: Int

  init(_ log: String, _ index: Int) {
    self.log = log
    self.index = index
  }

  var description: String { "\(log):\(index)" }
}

typealias SpotMachine = Machine<Spot>

let testTerms = ServerTerms(longDeadline: .seconds(100), lifetime: .seconds(600))

extension Moment {
  static func ms(_ count: Int64) -> Moment { Moment(milliseconds: count) }
}

extension RequestID {
  static func of(_ number: UInt64, incarnation: UInt64 = 1) -> RequestID {
    RequestID(incarnation: Incarnation(incarnation), number: number)
  }
}

/// A machine whose effects are noted, so that a test can say "the timer".
struct Attended {
  var machine: SpotMachine
  var now = Moment.ms(0)
  var timer: TimerID?
  var write: WriteID?

  init(
    restored: Spot?, terms: ServerTerms = testTerms, settings: MachineSettings = MachineSettings()
  ) {
    machine = SpotMachine(incarnation: Incarnation(1), settings: settings)
    if let restored {
      machine = SpotMachine(
        restoring: restored, terms: terms, age: .seconds(60), at: now, incarnation: Incarnation(1),
        settings: settings)
    }
  }

  /// Feeds an input after some time. Returns the effects as texts.
  @discardableResult
  mutating func put(_ input: SpotMachine.Input, after span: TimeSpan = .zero) -> [String] {
    now = now + span
    if case .fired = input { timer = nil }
    let effects = machine.handle(input, at: now)
    if effects.disarm != nil { timer = nil }
    if let arm = effects.arm { timer = arm.timer }
    if let persist = effects.persist { write = persist }
    return effects.texts(at: now)
  }

  var status: String { machine.status.description }
  var freshness: String { machine.freshness(at: now).description }
  var request: RequestID { machine.status.outstanding?.id ?? .of(999) }
  var spot: Spot { machine.finger ?? Spot("none", -1) }
  var next: Spot { Spot(spot.log, spot.index + 1) }
}
