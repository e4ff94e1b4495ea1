import Simulator
import Testing

/// Whole worlds in which clients hold parts of the messages.
struct MailWorldTests {
  @Test(arguments: [UInt64(0), 1000])
  func `users who scroll and leave see what is true, and become level`(first: UInt64) {
    for seed in first..<(first + 150) {
      let (result, trace) = Simulation<Mail>.trace(SimulationConfiguration(seed: seed))
      guard let finding = result.finding else { continue }
      Issue.record("seed \(seed): \(finding)\n\(trace.text.suffix(6000))")
      return
    }
  }
}
