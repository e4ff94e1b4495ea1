import Foundation
import UpdateMachine

/// The bugs that compile, in a copy that is built.
struct CompiledBugs {
  let package: ScratchPackage
  /// What is argued to be no bug.
  let equivalents: Equivalents
  var compiled: [GeneratedMutant]
  var refused: [GeneratedMutant] = []
  var bodies: BodyNumbers

  /// Each build stops at the first module with errors, and types are checked before flow.
  private static let builds = 60

  /// - Parameters:
  ///   - drawn: the bugs to compile.
  ///   - known: the Zoo's, which are in the copy as well.
  ///   - files: the package's, by their paths.
  init(
    _ drawn: [GeneratedMutant], _ known: [Mutant], _ equivalents: Equivalents,
    _ files: [String: Data], _ package: ScratchPackage, _ console: Console
  ) throws {
    self.package = package
    self.equivalents = equivalents
    var memory = RefusedBugs(in: package, files)
    refused = drawn.filter(memory.contains)
    compiled = drawn.filter { !memory.contains($0) }
    bodies = BodyNumbers()
    for build in 1...CompiledBugs.builds where !Interrupt.wasAsked {
      bodies = try package.write(known, generated: compiled)
      console.progress("zoo: build \(build), \(refused.count) refused by the compiler so far")
      do throws(ScratchPackage.Unbuildable) {
        // What the compiler refuses is found sooner if nothing is optimised.
        try package.check(CompiledBugs.targets(of: compiled))
        try package.build("simulate")
        if !drawn.isEmpty { try package.build("crash") }
        console.progress(nil)
        return
      } catch {
        if Interrupt.wasAsked { return }
        let (guilty, suspects) = guilty(error)
        guard !(guilty.isEmpty && suspects.isEmpty) else { throw FileError(message: error.message) }
        try memory.add(compiled.filter { guilty.contains($0.name) })
        // Suspects are left out this time only if nothing is certain.
        let left = guilty.isEmpty ? suspects : guilty
        refused += compiled.filter { left.contains($0.name) }
        compiled.removeAll { left.contains($0.name) }
      }
    }
    if Interrupt.wasAsked { return }
    throw FileError(
      message: "\(CompiledBugs.builds) builds were not enough: the compiler still refuses some. "
        + "Try again; it goes on from here")
  }

  /// The targets with some bugs.
  private static func targets(of bugs: [GeneratedMutant]) -> [String] {
    var targets: [String] = []
    for bug in bugs {
      // Sources/TARGET/…
      let target = String(bug.file.split(separator: "/")[1])
      if !targets.contains(target) { targets.append(target) }
    }
    return targets.sorted()
  }

  /// The bugs about which the compiler complains, and those about which it may. It may be about all
  /// bugs of a function if it complains about the function's end; most likely about those that
  /// leave something out, which may be the result.
  private func guilty(
    _ error: ScratchPackage.Unbuildable
  ) -> (certain: Set<String>, suspects: Set<String>) {
    let kinds = Dictionary(uniqueKeysWithValues: compiled.map { ($0.name, $0.change.kind) })
    let leavesOut: [MutationOperator] = [
      .caseLeftOut, .branchLeftOut, .statementLeftOut, .resetLeftOut, .earlyReturn,
    ]
    var certain: Set<String> = []
    var suspects: Set<String> = []
    for names in error.guilty {
      let ours = names.filter { kinds[$0] != nil }
      if names.count == 1 {
        certain.formUnion(ours)
      } else {
        let likely = ours.filter { name in kinds[name].map(leavesOut.contains) ?? false }
        suspects.formUnion(likely.isEmpty ? ours : likely)
      }
    }
    return (certain, suspects.subtracting(certain))
  }
}

/// The bugs that the compiler has refused before, in files that have not changed since.
private struct RefusedBugs {
  private let path: String
  /// A sum of each file's text.
  private let sums: [String: UInt64]
  private var lines: Set<String>

  init(in package: ScratchPackage, _ files: [String: Data]) {
    path = package.copy.appending(path: ".build/refused.txt").path
    sums = files.mapValues { data in
      var digest = StateDigest()
      digest.fold(String(decoding: data, as: UTF8.self))
      return digest.value
    }
    let text = FileManager.default.contents(atPath: path) ?? Data()
    lines = Set(String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init))
  }

  private func line(_ mutant: GeneratedMutant) -> String {
    let change = mutant.change.replacement.split(whereSeparator: \.isNewline).joined(separator: " ")
    return "\(sums[mutant.file] ?? 0) \(mutant.name) \(change)"
  }

  func contains(_ mutant: GeneratedMutant) -> Bool { lines.contains(line(mutant)) }

  /// Remembers more of them.
  mutating func add(_ mutants: [GeneratedMutant]) throws {
    lines.formUnion(mutants.map(line))
    let text = lines.sorted().joined(separator: "\n")
    try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
  }
}
