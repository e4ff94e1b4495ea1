import Foundation
import Simulator

/// A file of counters, in which each process of a copy counts the bodies that it enters.
struct ReachFile {
  let path: String
  private let empty: Data

  /// Creates the file, with every count 0. The counts belong to `bodies` bodies.
  init(_ path: String, bodies: Int) throws(FileError) {
    self.path = path
    empty = Data(count: max(bodies, 1) * 4)
    guard FileManager.default.createFile(atPath: path, contents: empty) else {
      throw FileError(message: "\(path): cannot be written")
    }
  }

  /// The count of each body.
  func counts() -> [UInt32] {
    let data = FileManager.default.contents(atPath: path) ?? empty
    return stride(from: 0, to: empty.count, by: 4).map { place in
      data.dropFirst(place).prefix(4).reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
    }
  }
}

extension Hunt {
  /// Asks about a survivor what is no simulation, and whether its world enters the changed code at
  /// all.
  func questioned(
    _ survivor: Catch, _ bodies: BodyNumbers, in package: ScratchPackage
  ) throws(FileError) -> Catch {
    var survivor = survivor
    let number = Schemata.number(of: survivor.mutant.name)
    for attempt in Attempt.all(in: package.original) where attempt.kind == .conversation {
      if Interrupt.wasAsked { return survivor }
      let end = run(number, attempt.words)
      if Interrupt.wasAsked { return survivor }
      if !end.succeeded, !end.isOverdue { survivor.conversations.append(attempt.name) }
    }
    let path = package.copy.appending(path: ".build/reach-survivor").path
    let file = try ReachFile(path, bodies: bodies.count)
    let few = Budget(seeds: min(budget.seeds, 500), seconds: budget.seconds)
    // Until it is entered, a change changes nothing.
    _ = run(
      0, technique.words(budget: few, shrinking: 0) + place(of: survivor.mutant, technique),
      reach: path)
    let counts = file.counts()
    survivor.isReached = (bodies.ofMutant[survivor.mutant.name] ?? []).contains { counts[$0] > 0 }
    return survivor
  }
}
