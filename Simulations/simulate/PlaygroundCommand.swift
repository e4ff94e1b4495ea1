import Foundation
import Simulator

extension Simulate {
  static let playgroundCommand = Command(
    name: "playground",
    summary: "a page in which you direct clients and server, step by step",
    help: """
      Usage: simulate playground [OPTIONS]

      Builds one HTML file and opens it in a browser. It works from disk, without a network: the
      clients, the servers and their world are this package's own code, compiled to WebAssembly. You
      let the next thing happen, lose a message, crash an app, restart the server, go back, or fork.
      A link holds the whole session.

      Building takes some three minutes. It needs a Swift toolchain from swift.org.

      Options:
        --output FILE   write the page there, and do not open it
        --quick         optimise nothing: it is built in a third of the time, and is larger
        --digests N     build nothing. Print a line for each of the seeds 1 to N: a digest of all that
                        the page shows after 60 steps by chance. The page must tell the same
        --package-path FOLDER
                        the package, or a folder in it (the working directory)

      Exit codes:
        0    the page is built
        1    it could not be built; the last lines say why
        2    bad usage, or this toolchain lacks something
        130  interrupted
      """,
    run: { words, console in
      let arguments = try Arguments(
        words, options: ["--output", "--package-path", "--digests"], flags: ["--quick"])
      if let count = try arguments.number("--digests", in: UInt64(1)...1_000_000) {
        for seed in 1...count where !Interrupt.wasAsked {
          console.out(PlaygroundSession.told(seed: seed))
        }
        return Interrupt.wasAsked ? .interrupted : .success
      }
      let here = URL(
        filePath: FileManager.default.currentDirectoryPath, directoryHint: .isDirectory)
      let folder = arguments.values["--package-path"].map { URL(filePath: $0, relativeTo: here) }
      let root = try ScratchPackage.root(from: folder ?? here)
      let output =
        arguments.values["--output"].map { URL(filePath: $0, relativeTo: here) }
        ?? root.appending(path: ".build/playground.html")
      let isQuick = arguments.has("--quick")
      let sources = try wovenSources(in: root)
      let code = try build(output, from: sources, isQuick: isQuick, in: root)
      guard code == .success else { return code }
      console.out("The playground is in \(output.path).")
      if arguments.values["--output"] == nil, !isOpened(output) {
        console.out("Open that file in a browser.")
      }
      return .success
    })

  /// Writes a copy of the sources in which each rule that a lesson breaks can be switched off.
  /// Returns its folder.
  private static func wovenSources(in root: URL) throws -> URL {
    let lessons = try lessons(in: root)
    let zoo = root.appending(path: "Simulations/Zoo")
    let names = Set(lessons.flatMap(\.breaks).map(\.mutant)).sorted()
    let mutants = try names.map { name throws(FileError) in try Mutant.read(name, in: zoo) }
    let copy = root.appending(path: ".build/playground-sources")
    try ScratchPackage(original: root, copy: copy)
      .writeSources(of: ["UpdateMachine", "MessageSync", "SyncProtocols", "Simulator"], mutants)
    return copy.appending(path: "Sources")
  }

  /// Builds the page. Its script tells what it does on standard error.
  private static func build(
    _ output: URL, from sources: URL, isQuick: Bool, in root: URL
  ) throws -> ExitCode {
    let process = Process()
    process.executableURL = root.appending(path: "Simulations/Playground/build")
    process.arguments = (isQuick ? ["--quick"] : []) + [sources.path, output.path]
    do { try process.run() } catch {
      throw FileError(
        message: "cannot start Simulations/Playground/build: \(error.localizedDescription)")
    }
    process.waitUntilExit()
    if Interrupt.wasAsked || process.terminationReason == .uncaughtSignal { return .interrupted }
    switch process.terminationStatus {
    case 0: return .success
    case 1: return .failure
    default: return .usage
    }
  }

  /// Whether a browser was asked to show a file.
  private static func isOpened(_ file: URL) -> Bool {
    for opener in ["/usr/bin/open", "/usr/bin/xdg-open"]
    where FileManager.default.isExecutableFile(atPath: opener) {
      let process = Process()
      process.executableURL = URL(filePath: opener)
      process.arguments = [file.path]
      do { try process.run() } catch { continue }
      process.waitUntilExit()
      return process.terminationStatus == 0
    }
    return false
  }
}
