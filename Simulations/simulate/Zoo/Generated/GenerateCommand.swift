import Foundation
import Simulator

extension Simulate {
  /// Hunts bugs that nobody chose, and reports what became of each.
  static func huntGenerated(
    _ drawn: [GeneratedMutant], of sites: Int, _ copy: CompiledBugs, _ options: ZooOptions,
    _ console: Console
  ) throws -> ExitCode {
    let equivalents = try Equivalents(options.from)
    let hunt = GeneratedHunt(
      package: copy.package, attempts: Attempt.all(in: options.root),
      coreSeconds: options.coreSeconds, jobs: options.jobs)
    let reach = try hunt.reach(copy.bodies.count, console)
    if Interrupt.wasAsked { return .interrupted }
    var catches = hunt.hunt(copy.compiled, copy.bodies, reach, console)
    for index in catches.indices {
      catches[index].equivalence = equivalents.argument(for: catches[index].mutant)
    }
    let report = GeneratedReport(
      seed: options.seed, coreSeconds: options.coreSeconds, sites: sites,
      generated: drawn, refused: copy.refused, catches: catches)
    console.out(report.text)
    if Interrupt.wasAsked { console.out("Interrupted. These are the results so far.") }
    if options.json { console.out(try report.json()) }
    if Interrupt.wasAsked { return .interrupted }
    guard let least = options.least, report.total.simulationRate < least else { return .success }
    console.error(
      String(
        format: "simulation found %.1f %% of those reached; --at-least asks for %.1f %%",
        report.total.simulationRate, least))
    return .failure
  }
}
