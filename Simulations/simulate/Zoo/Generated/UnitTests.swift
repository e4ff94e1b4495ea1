import Foundation
import Simulator

/// The library's unit tests in the copy. They are asked last, about what nothing else has found.
struct UnitTests {
  /// The folders of tests: the library's, but not the tests of simulator, commands and servers.
  static let folders = [
    "CollectionTests", "HTTPSyncTests", "MessageSyncTests", "SQLiteStoreTests",
    "SyncProtocolsTests", "UpdateMachineTests", "ZulipSyncTests",
  ]
  /// What tests share.
  static let support = "TestSupport"

  let package: ScratchPackage
  /// How long they take without a bug.
  private let time: Duration

  private static let variable = "UPDATEMACHINE_TESTS"
  private static let (patience, grace) = (5, Duration.seconds(20))

  /// Builds the tests, and runs them without a bug. Throws if one fails then.
  init(in package: ScratchPackage, _ console: Console) throws(FileError) {
    self.package = package
    console.progress("zoo: building the unit tests")
    let built = UnitTests.swift("build", ["--build-tests"], in: package)
    guard built.succeeded else {
      throw FileError(message: "the copy's tests cannot be built:\n\(built.output.suffix(2000))")
    }
    console.progress("zoo: running the unit tests without a bug")
    let start = ContinuousClock.now
    let end = UnitTests.run(0, in: package, limit: nil)
    time = ContinuousClock.now - start
    console.progress(nil)
    if end.succeeded || Interrupt.wasAsked { return }
    let name = UnitTests.failed(in: end.output) ?? "the process"
    throw FileError(message: "without any bug, \(name) fails:\n\(end.output.suffix(2000))")
  }

  /// Asks them about a bug. Returns the name of a test that fails; `nil`: none does.
  func failing(with mutant: UInt32) -> String? {
    let limit = time * UnitTests.patience + UnitTests.grace
    let end = UnitTests.run(mutant, in: package, limit: limit)
    if end.succeeded || Interrupt.wasAsked || !end.isStarted { return nil }
    return UnitTests.failed(in: end.output) ?? (end.isOverdue ? "hang" : "trap")
  }

  private static func run(
    _ mutant: UInt32, in package: ScratchPackage, limit: Duration?
  ) -> ChildProcess.End {
    swift("test", ["--skip-build"], in: package, mutant: mutant, limit: limit)
  }

  private static func swift(
    _ command: String, _ words: [String], in package: ScratchPackage, mutant: UInt32 = 0,
    limit: Duration? = nil
  ) -> ChildProcess.End {
    let process = ChildProcess(
      "/usr/bin/env",
      [
        "swift", command, "--package-path", package.copy.path, "--scratch-path",
        package.copy.appending(path: ".build/tests").path,
      ] + words,
      environment: [
        variable: folders.joined(separator: " "), ScratchPackage.variable: "\(mutant)",
        "SWIFT_BACKTRACE": "enable=no",
      ],
      limit: limit)
    return process.run()
  }

  /// The name of the first test that failed, from a line such as `✘ Test "…" failed after …`.
  static func failed(in output: String) -> String? {
    for line in output.split(separator: "\n") {
      guard let mark = line.range(of: "Test "), line.contains("✘") || line.contains("􀢄"),
        !line.contains("Test run")
      else { continue }
      let rest = line[mark.upperBound...]
      let words = [" recorded an issue", " failed after"]
      guard let end = words.compactMap({ rest.range(of: $0)?.lowerBound }).min() else { continue }
      return String(rest[..<end]).trimmingCharacters(in: CharacterSet(charactersIn: "\""))
    }
    return nil
  }
}
