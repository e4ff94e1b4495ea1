import TestSupport
import Testing
import UpdateMachine

@Suite struct BitsTests {
  @Test func `bits come out in the order in which they were put in`() {
    var bits = Bits()
    bits.put(5, width: 3)
    bits.put(true)
    bits.put(
      Moment(milliseconds: 7), at: Moment(milliseconds: 10), past: .milliseconds(4), width: 5)
    bits.put(
      Moment(milliseconds: 1), at: Moment(milliseconds: 10), past: .milliseconds(4), width: 5)
    bits.put(nil, at: Moment(milliseconds: 10), past: .milliseconds(4), width: 5)
    bits.put(Moment.distantPast, at: Moment(milliseconds: 10), past: .zero, width: 5)
    var taken = Bits(word: bits.word)
    let number = taken.take(width: 3)
    let flag = taken.takeFlag()
    let moments = (0..<3).map { _ in taken.takeMoment(past: .milliseconds(4), width: 5) }
    let past = taken.takeMoment(past: .zero, width: 5)
    #expect(number == 5)
    #expect(flag)
    #expect(moments == [Moment(milliseconds: -3), Moment(milliseconds: -4), nil])
    #expect(past == Moment(milliseconds: 0))
    #expect(bits.count == taken.count)
  }
}

/// Tests that a machine which is packed after every input behaves like one that is not.
@Suite struct MachinePackingTests {
  typealias Body = Machine<Spot>

  static func settings(_ number: UInt64) -> MachineSettings {
    var settings = MachineSettings()
    for (place, name) in [
      "transientFirst", "transientCap", "slowFirst", "slowCap", "quickDeadline", "registerDeadline",
      "deadlineCap", "retryAfterFloor", "retryAfterCap", "collector", "spread", "healthy",
      "productive", "reallyWaited", "paceInterval", "wakeInterval", "late", "writeDue", "debounce",
    ].enumerated() {
      let span = 1 + Int64(StateDigest.mixed(number &* 64 &+ UInt64(place)) % 3)
      precondition(settings.set(name, to: .milliseconds(span)), "no span has this name")
    }
    settings.retry.transientCap = settings.retry.transientFirst * 2
    settings.retry.slowCap = settings.retry.slowFirst * 2
    settings.retry.deadlineCap = max(settings.quickDeadline, settings.registerDeadline) * 2
    settings.retry.paceBurst = Int64(number % 3)
    settings.retry.wakeBurst = 1 + Int64(number % 2)
    settings.isDurable = number % 4 != 0
    settings.refreshPeriod = number % 3 == 0 ? .milliseconds(3) : nil
    return settings
  }

  /// One of the two machines. Its numbering may differ from the other's.
  struct Side {
    var machine: Body
    var now: Moment
    var request: RequestID?
    var timer: TimerID?
    var write: WriteID?

    /// The effects of one input, without IDs and relative to now.
    mutating func take(_ input: Body.Input) -> [String] {
      let effects = machine.handle(input, at: now)
      request = machine.status.outstanding?.id
      if effects.disarm != nil { timer = nil }
      if let arm = effects.arm { timer = arm.timer }
      if let id = effects.persist { write = id }
      var texts: [String] = []
      if effects.cancel != nil { texts.append("cancel") }
      if effects.disarm != nil { texts.append("disarm") }
      if let report = effects.report { texts.append("report \(report)") }
      if let log = effects.release { texts.append("release \(log)") }
      if effects.erase { texts.append("erase") }
      if effects.persist != nil { texts.append("persist") }
      switch effects.request {
      case .register: texts.append("register")
      case .poll(_, let finger, let waits): texts.append("poll \(finger) \(waits)")
      case nil: break
      }
      if let arm = effects.arm { texts.append("arm \(arm.range.text(at: now))") }
      texts.append("\(machine.status)")
      if case .connected = machine.freshness(at: now).claim {
        let change = machine.freshnessChange(after: now).map { $0 - now }
        texts.append("connected until \(change.map { "\($0)" } ?? "the next input")")
      }
      if machine.isOverdue(at: now) { texts.append("overdue") }
      return texts
    }
  }

  @Test(arguments: UInt64(1)...40)
  func `packing and unpacking changes nothing`(number: UInt64) {
    let settings = Self.settings(number)
    let terms = ServerTerms(
      longDeadline: .milliseconds(2 + Int64(number % 3)),
      lifetime: .milliseconds(1 + Int64(number % 5)))
    let packing = Body.Packing(settings: settings, terms: terms)
    let fresh = Body(
      restoring: Spot("a", 1), terms: terms, age: number % 2 == 0 ? .zero : nil,
      at: Moment(milliseconds: 0), incarnation: Incarnation(1), settings: settings)
    var plain = Side(machine: fresh, now: Moment(milliseconds: 0))
    var packed = plain
    var chance = number
    for step in 0..<3000 {
      chance = StateDigest.mixed(chance &+ 1)
      let passed = TimeSpan.milliseconds([0, 0, 0, 1, 1, 2, 5, 9][Int(chance >> 8 & 7)])
      plain.now = plain.now + passed
      packed.now = packed.now + passed
      let kind = chance >> 16 & 31
      let failure = Self.failures[Int(chance >> 24) % Self.failures.count]
      guard let one = Self.input(kind, failure, plain),
        let other = Self.input(kind, failure, packed)
      else { continue }
      let expected = plain.take(one)
      let found = packed.take(other)
      #expect(found == expected, "step \(step): \(one)")
      guard found == expected else { return }
      packed.repack(packing)
    }
  }

  static var failures: [SyncFailure] {
    [
      .unreachable, .timedOut, .serverFault, .rateLimited(after: nil),
      .rateLimited(after: .milliseconds(2)), .unauthorized, .unsupported, .expired,
      .rejected(RejectionCode("no")), .malformed, .modelRefused,
    ]
  }

  /// The input of this kind with this side's IDs; `nil` if nothing of the kind is out.
  static func input(_ kind: UInt64, _ failure: SyncFailure, _ side: Side) -> Body.Input? {
    let none = RequestID(incarnation: Incarnation(0), number: 8)
    let finger = side.machine.finger
    switch kind {
    case 0: return .started(foreground: true)
    case 1: return .started(foreground: false)
    case 2: return .stopped
    case 3: return .loggedOut
    case 4, 5: return .foregrounded
    case 6: return .backgrounded
    case 7: return .networkChanged
    case 8: return .retryRequested
    case 9: return .credentialsChanged
    case 10, 11: return side.timer.map { .fired($0) }
    case 12, 13, 14: return side.write.map { .written($0) }
    case 15: return side.write.map { .writeFailed($0) }
    case 16: return .fired(TimerID(2000))
    case 17: return .failed(none, failure)
    case 18, 19:
      guard let request = side.request else { return nil }
      return .failed(request, failure)
    case 20...23:
      guard let request = side.request, finger == nil else { return nil }
      return .snapshotArrived(request, finger: Spot("b", 1), terms: side.machine.terms)
    default:
      guard let request = side.request, let finger else { return nil }
      let next = Spot(finger.log, finger.index % 3 + 1)
      return .polled(request, movedTo: kind < 28 ? next : nil)
    }
  }
}

extension MachinePackingTests.Side {
  /// Packs and unpacks the machine. From here on it is another machine, whose times are relative to
  /// moment 0.
  mutating func repack(_ packing: Machine<Spot>.Packing) {
    var bits = Bits()
    machine.pack(into: &bits, at: now, packing)
    var taken = Bits(word: bits.word)
    let again = Machine<Spot>(
      unpacking: &taken, finger: machine.finger, incarnation: Incarnation(1), packing)
    #expect(again.status.code == machine.status.code)
    machine = again
    now = Moment(milliseconds: 0)
    request = machine.status.outstanding?.id
    timer = timer == nil ? nil : TimerID(8)
    write = write == nil ? nil : WriteID(8)
  }
}
