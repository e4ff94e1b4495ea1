import TestSupport
import Testing
import UpdateMachine

/// Tests `freshnessChange(after:)`, which is in no recorded conversation. It must say when
/// `freshness(at:)` next differs.
@Suite struct FreshnessChangeTests {
  @Test func `a failure is shown after the debounce`() {
    var client = Attended(restored: Spot("a", 7))
    client.put(.started(foreground: true))
    client.put(.polled(client.request, movedTo: nil), after: .milliseconds(50))
    client.put(.failed(client.request, .serverFault), after: .seconds(20))
    #expect(client.freshness == "connected, as of 0")
    #expect(client.machine.freshnessChange(after: client.now) == .ms(20_350))
    #expect("\(client.machine.freshness(at: .ms(20_349)).claim)" == "connected")
    #expect("\(client.machine.freshness(at: .ms(20_350)).claim)" == "unreachable since 20050")
  }

  @Test func `a waiting poll that sleeps is overdue 2 s after its deadline`() {
    var client = Attended(restored: Spot("a", 7))
    client.put(.started(foreground: true))
    client.put(.polled(client.request, movedTo: nil), after: .milliseconds(50))
    #expect(client.machine.freshnessChange(after: client.now) == .ms(102_051))
    #expect("\(client.machine.freshness(at: .ms(102_050)).claim)" == "connected")
    #expect("\(client.machine.freshness(at: .ms(102_051)).claim)" == "connecting since 100050")
  }

  @Test func `an outage is shown at once if the state may be older than a healthy client's`() {
    var client = Attended(restored: Spot("a", 7))
    client.put(.started(foreground: true))
    client.put(.polled(client.request, movedTo: nil), after: .milliseconds(50))
    client.put(.networkChanged, after: .milliseconds(101_900))
    #expect(client.machine.freshnessChange(after: client.now) == .ms(102_250))
    client.put(.failed(client.request, .unreachable), after: .milliseconds(49))
    #expect(client.freshness == "connected, as of 0")
    client.now = .ms(112_001)
    #expect("\(client.machine.freshness(at: .ms(112_001)).claim)" == "unreachable since 101950")
  }

  @Test func `a stuck write is overdue 12 s after the last up-to-date answer`() {
    var client = Attended(restored: Spot("a", 7))
    client.put(.started(foreground: true))
    client.put(.polled(client.request, movedTo: client.next), after: .milliseconds(50))
    #expect(client.status == "live.writing")
    #expect(client.machine.freshnessChange(after: client.now) == .ms(12_001))
  }

  @Test func `freshness does not change by itself at rest, while halted, or once shown`() {
    var client = Attended(restored: Spot("a", 7))
    #expect(client.machine.freshnessChange(after: client.now) == nil)
    client.put(.started(foreground: true))
    #expect(client.machine.freshnessChange(after: client.now) == nil)
    client.put(.failed(client.request, .unauthorized), after: .milliseconds(50))
    #expect(client.machine.freshnessChange(after: client.now) == nil)
    client.put(.stopped)
    #expect(client.machine.freshnessChange(after: client.now) == nil)
  }

  static let kinds: [MachineSettings] = {
    var refreshing = MachineSettings()
    refreshing.refreshPeriod = .seconds(30)
    var forgetful = MachineSettings()
    forgetful.isDurable = false
    var patient = MachineSettings()
    patient.debounce = .seconds(5)
    patient.late = .milliseconds(700)
    return [MachineSettings(), refreshing, forgetful, patient]
  }()

  @Test(arguments: 0..<4, [Cadence.waits, .every(.seconds(30)), .pushed])
  func `the announced moment is the first at which freshness differs in random runs`(
    kind: Int, cadence: Cadence
  ) {
    var terms = testTerms
    terms.cadence = cadence
    for seed in 0..<40 {
      var steps = SplitMix(UInt64(seed * 4 + kind))
      var client = Attended(
        restored: seed % 3 == 0 ? nil : Spot("a", 7), terms: terms, settings: Self.kinds[kind])
      for _ in 0..<60 {
        let input = step(&steps, client, terms: terms)
        client.put(
          input,
          after: .milliseconds(
            Int64(steps.pick([0, 1, 50, 299, 300, 2_001, 12_000, 60_000, 103_000, 3_600_000]))))
        if let violation = client.machine.violation() {
          Issue.record("\(violation) after \(input)")
          return
        }
        guard agrees(client) else { return }
      }
    }
  }

  private func step(
    _ steps: inout SplitMix, _ client: Attended, terms: ServerTerms
  ) -> SpotMachine.Input {
    switch steps.below(16) {
    case 0: .started(foreground: steps.below(4) > 0)
    case 1: .foregrounded
    case 2: steps.below(3) == 0 ? .backgrounded : .foregrounded
    case 3: .networkChanged
    case 4: .retryRequested
    case 5: steps.below(5) == 0 ? .stopped : .started(foreground: true)
    case 6, 7: .snapshotArrived(client.request, finger: Spot("b", 0), terms: terms)
    case 8, 9: .polled(client.request, movedTo: nil)
    case 10: .polled(client.request, movedTo: client.machine.finger == nil ? nil : client.next)
    case 11:
      .failed(
        client.request,
        steps.pick([.unreachable, .serverFault, .timedOut, .expired, .malformed]))
    case 12, 13: .fired(client.timer ?? TimerID(999))
    case 14: .written(client.write ?? WriteID(999))
    case _: steps.below(4) == 0 ? .writeFailed(client.write ?? WriteID(999)) : .networkChanged
    }
  }

  /// Compares the prediction with what happens, at near and at far moments.
  private func agrees(_ client: Attended) -> Bool {
    let machine = client.machine
    let current = machine.freshness(at: client.now)
    let change = machine.freshnessChange(after: client.now)
    if let change {
      #expect(change > client.now)
      #expect(machine.freshness(at: change) != current, "\(machine) at \(change)")
      guard change > client.now, machine.freshness(at: change) != current else { return false }
    }
    let end = change ?? client.now + .seconds(100_000)
    for ahead: Int64 in [1, 2, 299, 300, 301, 1_999, 2_001, 12_001, 100_001, 112_001, 10_000_000] {
      for moment in [client.now + .milliseconds(ahead), end - .milliseconds(ahead)]
      where moment > client.now && moment < end {
        let then = machine.freshness(at: moment)
        #expect(then == current, "\(machine) at \(moment), foretold \(end)")
        guard then == current else { return false }
      }
    }
    return true
  }
}
