import Testing

@testable import UpdateMachine

/// When an outbox is saved, and when again.
@Suite struct OutboxSavingTests {
  private var saving = OutboxSaving()
  private var now = Moment.ms(0)
  private var timer: TimerID?

  /// The effects of one input, in words.
  private mutating func put(_ input: OutboxSaving.Input) -> String {
    let effects = saving.handle(input, at: now)
    var words: [String] = []
    if let timer = effects.disarm { words.append("disarm \(timer)") }
    if effects.saves { words.append("save") }
    if let arm = effects.arm {
      timer = arm.timer
      words.append("arm \(arm.timer) \(arm.range.text(at: now))")
    }
    return words.joined(separator: ", ")
  }

  private func version(_ number: UInt64) -> OutboxVersion { OutboxVersion(number) }

  @Test mutating func `what is wanted is saved at once, and nothing twice`() {
    #expect(put(.started) == "")
    #expect(put(.wanted(version(1))) == "save")
    #expect(put(.wanted(version(2))) == "save")
    #expect(put(.saved(version(1))) == "")
    #expect(saving.isDue)
    #expect(put(.saved(version(2))) == "")
    #expect(!saving.isDue)
    #expect(put(.wanted(version(2))) == "")
    #expect(put(.started) == "")
  }

  @Test mutating func `after failures it is saved again, with growing waits, until it is durable`()
  {
    _ = put(.started)
    #expect(put(.wanted(version(1))) == "save")
    #expect(put(.failed) == "arm 1 in (0, 0.1 s]")
    #expect(put(.failed) == "", "another save that was out")
    #expect(put(.wanted(version(2))) == "", "the wait holds for it, too")
    #expect(put(.fired(TimerID(9))) == "")
    #expect(put(.fired(TimerID(1))) == "save")
    #expect(put(.failed) == "arm 2 in (0, 0.2 s]")
    #expect(put(.fired(TimerID(1))) == "", "late")
    #expect(put(.saved(version(1))) == "disarm 2, save", "the machine's save: the store is well")
    #expect(put(.saved(version(2))) == "")
    #expect(put(.wanted(version(3))) == "save")
    #expect(put(.failed) == "arm 3 in (0, 0.1 s]")
    for _ in 0..<30 {
      #expect(put(.fired(timer!)) == "save")
      _ = put(.failed)
    }
    #expect(put(.fired(timer!)) == "save")
    #expect(put(.failed).hasSuffix("in (0, 10 s]"))
  }

  @Test mutating func `without a start there is no timer, and each wish is another try`() {
    #expect(put(.wanted(version(1))) == "save")
    #expect(put(.failed) == "")
    #expect(put(.wanted(version(1))) == "save")
    #expect(put(.failed) == "")
    #expect(put(.started) == "save")
    #expect(put(.failed) == "arm 1 in (0, 0.1 s]")
    #expect(put(.stopped) == "disarm 1")
    #expect(put(.fired(TimerID(1))) == "")
    #expect(put(.started) == "save")
    #expect(put(.saved(version(1))) == "")
  }

  @Test mutating func `a failure of what is not wanted is nobody's`() {
    _ = put(.started)
    #expect(put(.failed) == "")
    _ = put(.wanted(version(1)))
    _ = put(.saved(version(1)))
    #expect(put(.failed) == "")
  }
}
