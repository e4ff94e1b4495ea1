import Foundation
import Simulator

extension Simulate {
  /// Hunts bugs that nobody chose, and reports what became of each.
  static func huntGenerated(
    _ drawn: [GeneratedMutant], of sites: Int, _ copy: CompiledBugs, _ options: ZooOptions,
    _ console: Console
  ) throws -> ExitCode {
    let hunt = GeneratedHunt(
      package: copy.package, attempts: Attempt.all(in: options.root),
      coreSeconds: options.coreSeconds, jobs: options.jobs)
    let reach = try hunt.reach(copy.bodies.count, console)
    if Interrupt.wasAsked { return .interrupted }
    let tests = options.asksUnitTests ? try UnitTests(in: copy.package, console) : nil
    if Interrupt.wasAsked { return .interrupted }
    var catches = hunt.hunt(copy.compiled, copy.bodies, reach, console)
    for index in catches.indices {
      catches[index].equivalence = copy.equivalents.argument(for: catches[index].mutant)
    }
    if let tests {
      for (index, survivor) in catches.enumerated() where survivor.counts && !survivor.isFound {
        if Interrupt.wasAsked { break }
        console.progress("zoo: unit tests are asked about \(survivor.mutant.name)")
        let number = Schemata.number(of: survivor.mutant.name)
        catches[index].unitTest = tests.failing(with: number)
      }
      console.progress(nil)
    }
    let report = GeneratedReport(
      seed: options.seed, coreSeconds: options.coreSeconds, sites: sites,
      generated: drawn, refused: copy.refused, catches: catches)
    console.out(report.text)
    if Interrupt.wasAsked { console.out("Interrupted. These are the results so far.") }
    if options.json { console.out(try report.json()) }
    if Interrupt.wasAsked { return .interrupted }
    if !report.foundThoughArgued.isEmpty { return .failure }
    guard let least = options.least else { return .success }
    let rate = report.total.simulationRate
    if let rate, rate >= least { return .success }
    console.error(
      "simulation found \(rate.map { String(format: "%.1f %%", $0) } ?? "nothing, for nothing was reached"), "
        + "and --at-least asks for \(Int(least)) %")
    return .failure
  }
}
