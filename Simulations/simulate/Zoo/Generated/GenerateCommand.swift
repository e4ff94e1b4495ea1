import Foundation
import Simulator

extension Simulate {
  /// Hunts bugs that nobody chose.
  static func zooOfGenerated(
    _ count: Int, _ options: ZooOptions, _ console: Console
  ) throws -> ExitCode {
    let package = ScratchPackage(original: options.root, copy: options.scratch)
    let generation = try Generation(try package.read())
    let drawn = generation.drawn(count, seed: options.seed).filter { mutant in
      options.rooms.isEmpty || options.rooms.contains { mutant.file.hasPrefix("Sources/\($0)") }
    }
    if options.listsOnly {
      for mutant in drawn { console.out("\(mutant.name)\n\(mutant.difference)\n") }
      console.out("\(drawn.count) of \(generation.sites.count) changes")
      return .success
    }
    let known = try options.mutants()
    let plan = try Plan(drawn, known, package, console)
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

  /// The bugs that compile, in a copy that is built.
  private struct Plan {
    var compiled: [GeneratedMutant]
    var refused: [GeneratedMutant] = []
    var bodies: BodyNumbers

    /// Each build stops at the first module with errors, and types are checked before flow.
    private static let builds = 60

    init(
      _ drawn: [GeneratedMutant], _ known: [Mutant], _ package: ScratchPackage, _ console: Console
    ) throws {
      compiled = drawn
      bodies = BodyNumbers()
      for build in 1...Plan.builds where !Interrupt.wasAsked {
        bodies = try package.write(known, generated: compiled)
        console.progress("zoo: build \(build), \(refused.count) refused by the compiler so far")
        do throws(ScratchPackage.Unbuildable) {
          try package.build("simulate")
          try package.build("crash")
          console.progress(nil)
          return
        } catch {
          let guilty = guilty(error)
          guard !guilty.isEmpty else { throw FileError(message: error.message) }
          refused += compiled.filter { guilty.contains($0.name) }
          compiled.removeAll { guilty.contains($0.name) }
        }
      }
      if !Interrupt.wasAsked { throw FileError(message: "the copy could not be built") }
    }

    /// The bugs about which the compiler complains. If it complains about the end of a function,
    /// and not about one of its bugs, those that leave something out may have left out a result.
    private func guilty(_ error: ScratchPackage.Unbuildable) -> Set<String> {
      let kinds = Dictionary(uniqueKeysWithValues: compiled.map { ($0.name, $0.change.kind) })
      let leavesOut: [MutationOperator] = [
        .caseLeftOut, .branchLeftOut, .statementLeftOut, .resetLeftOut, .earlyReturn,
      ]
      var guilty: Set<String> = []
      for names in error.guilty {
        let ours = names.filter { kinds[$0] != nil }
        let likely = ours.count > 1 ? ours.filter { leavesOut.contains(kinds[$0]!) } : ours
        guilty.formUnion(likely.isEmpty ? ours : likely)
      }
      return guilty
    }
  }
}
