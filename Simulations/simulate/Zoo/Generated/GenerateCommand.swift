import Foundation
import Simulator

extension Simulate {
  /// Hunts bugs that nobody chose.
  static func zooOfGenerated(
    _ count: Int, _ options: ZooOptions, _ console: Console
  ) throws -> ExitCode {
    let package = ScratchPackage(original: options.root, copy: options.scratch)
    let files = try package.read()
    let generation = try Generation(files)
    let drawn = generation.drawn(count, seed: options.seed).filter { mutant in
      options.rooms.isEmpty || options.rooms.contains { mutant.file.hasPrefix("Sources/\($0)") }
    }
    if options.listsOnly {
      for mutant in drawn { console.out("\(mutant.name)\n\(mutant.difference)\n") }
      console.out("\(drawn.count) of \(generation.sites.count) changes")
      return .success
    }
    let known = try options.mutants()
    let plan = try CompiledBugs(drawn, known, files, package, console)
    if Interrupt.wasAsked { return .interrupted }
    let hunt = GeneratedHunt(
      package: package, attempts: Attempt.all(in: options.root), coreSeconds: options.coreSeconds,
      jobs: options.jobs)
    let reach = try hunt.reach(plan.bodies.count, console)
    if Interrupt.wasAsked { return .interrupted }
    var catches = hunt.hunt(plan.compiled, plan.bodies, reach, console)
    let equivalents = try Equivalents(options.from)
    for index in catches.indices {
      catches[index].equivalence = equivalents.argument(for: catches[index].mutant)
    }
    let report = GeneratedReport(
      seed: options.seed, coreSeconds: options.coreSeconds, sites: generation.sites.count,
      generated: drawn, refused: plan.refused, catches: catches)
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
