import TestSupport
import Testing
import UpdateMachine

@Suite struct SlowBackoffTests {
  let settings = RetrySettings()

  @Test func `the slow backoff doubles from 1 s to 60 s`() {
    var slow = SlowBackoff()
    let waits = (0..<8).map { slow.take(at: .ms(Int64($0) * 1000), settings) }
    #expect(
      waits.map(\.description) == ["1 s", "2 s", "4 s", "8 s", "16 s", "32 s", "60 s", "60 s"])
  }

  @Test func `the slow backoff is short again after the healthy time and the next wait`() {
    var slow = SlowBackoff()
    _ = slow.take(at: .ms(0), settings)
    var onTheBound = slow
    #expect(onTheBound.take(at: .ms(62_000), settings) == .seconds(2))
    #expect(slow.take(at: .ms(62_001), settings) == .seconds(1))
  }

  @Test func `the remaining slow wait counts from the failure`() {
    var slow = SlowBackoff()
    #expect(slow.left(at: .ms(5)) <= .zero)
    _ = slow.take(at: .ms(0), settings)
    _ = slow.take(at: .ms(100), settings)
    #expect(slow.left(at: .ms(100)) == .seconds(2))
    #expect(slow.left(at: .ms(2099)) == .milliseconds(1))
    #expect(slow.left(at: .ms(2100)) <= .zero)
  }
}

@Suite struct OutageTests {
  @Test func `an outage counts from its first loss`() {
    var outage = Outage()
    outage.lose(at: .ms(10))
    outage.lose(at: .ms(20))
    #expect(outage.lostSince == .ms(10))
    #expect(!outage.hasFailed)
    outage.fail(at: .ms(30))
    #expect(outage.lostSince == .ms(10))
    #expect(outage.hasFailed)
  }

  @Test func `a failure begins an outage`() {
    var outage = Outage()
    outage.fail(at: .ms(30))
    #expect(outage.lostSince == .ms(30))
  }

  @Test func `an outage counts from the user's return, without the failure`() {
    var outage = Outage()
    outage.fail(at: .ms(30))
    outage.restart(at: .ms(99))
    #expect(outage.lostSince == .ms(99))
    #expect(!outage.hasFailed)
  }

  @Test func `an up-to-date answer ends the outage`() {
    var outage = Outage()
    outage.fail(at: .ms(30))
    outage.recover(upToDateAsOf: .ms(25))
    #expect(outage.upToDateAsOf == .ms(25))
    #expect(outage.lostSince == nil)
    #expect(!outage.hasFailed)
  }
}

@Suite struct EffectsTests {
  @Test func `effects come in the order of the specification`() {
    var effects = SpotMachine.Effects()
    #expect(effects.isEmpty)
    effects.arm = .init(timer: TimerID(8), range: MomentRange(from: .ms(101), to: .ms(900)))
    effects.request = .poll(.of(7), finger: Spot("a", 3), waits: false)
    effects.persist = WriteID(6)
    effects.erase = true
    effects.release = "old"
    effects.report = .failure(.rejected(RejectionCode("NO")))
    effects.disarm = TimerID(2)
    effects.cancel = .of(1)
    #expect(!effects.isEmpty)
    #expect(
      effects.texts(at: .ms(100)) == [
        "cancel 1", "disarm 2", "report rejected(NO)", "release old", "erase", "persist 6",
        "poll 7 from a:3, quick", "arm 8 in (0, 0.8 s]",
      ])
    #expect(effects.list.count == 8)
    #expect(effects.list.last?.description == "arm 8 in [101, 900]")
  }

  @Test func `effects with any single effect are not empty`() {
    let changes: [(inout SpotMachine.Effects) -> Void] = [
      { $0.cancel = .of(1) }, { $0.disarm = TimerID(1) }, { $0.report = .store },
      { $0.release = "a" }, { $0.erase = true }, { $0.persist = WriteID(1) },
      { $0.request = .register(.of(1)) },
      { $0.arm = .init(timer: TimerID(1), range: MomentRange(at: .ms(1))) },
    ]
    for change in changes {
      var effects = SpotMachine.Effects()
      change(&effects)
      #expect(!effects.isEmpty)
      #expect(effects.list.count == 1)
    }
  }

  @Test func `every status has a unique code`() {
    let request = Outstanding(id: .of(1), sent: .ms(0), waits: true)
    let all: [MachineStatus] = [
      .stale, .idle, .registering(request), .registerFailed, .live(.polling(request)),
      .live(.writing), .live(.pausing), .pollFailed, .halted(.credentials), .halted(.unsupported),
      .halted(.stopped),
    ]
    #expect(all.map(\.code) == Array(0..<MachineStatus.names.count))
    #expect(Set(all.map(\.description)).count == all.count)
    #expect(all.filter(\.isLive).count == 3)
    #expect(all.filter(\.isHalted).count == 3)
    #expect(all.filter(\.isResting).count == 2)
    #expect(all.filter { $0.outstanding != nil }.count == 2)
  }
}

/// Tests the terms: what a server promises, limited to usable values.
@Suite struct TermsTests {
  @Test func `nonsensical spans become the smallest sensible ones`() {
    let terms = ServerTerms(longDeadline: .seconds(-5), lifetime: .milliseconds(.min))
    #expect(terms.longDeadline == .milliseconds(1))
    #expect(terms.lifetime == .zero)
    let whole = ServerTerms(longDeadline: .seconds(100), lifetime: .seconds(600))
    #expect(whole.longDeadline == .seconds(100) && whole.lifetime == .seconds(600))
  }

  @Test func `the greatest and least spans are kept`() {
    let terms = ServerTerms(longDeadline: .forever, lifetime: .forever, cadence: .pushed)
    #expect(terms.longDeadline == .forever && terms.lifetime == .forever)
    #expect(terms.cadence == .pushed)
  }
}
