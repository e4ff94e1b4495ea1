import Foundation
import Simulator

extension Simulate {
  static let scenarioCommand = Command(
    name: "scenario",
    summary: "play conversations that are written as text",
    help: """
      Usage: simulate scenario [--rewrite] [FILE…]

      Plays scenarios. A scenario is a text file of directives, each followed by its output. If the
      fresh output differs from the file, it prints the first line that differs.

      A file that begins with a line such as "world event-queue clients=2" directs whole clients
      with their server, in sentences such as "client 1 creates Milk" and "message 4 is lost".
      Others are conversations with one machine. Simulations/Scenarios has some of each.

        --rewrite   write the fresh output into the files; review it like code

      If FILE is a folder, it plays all .scenario files below it. Without a file, it plays those
      below Simulations/Scenarios in the working directory.

      Exit codes:
        0    no output differs
        1    an output differs
        2    a file cannot be read or makes no sense, or what it says is to be seen is not
      """,
    run: { words, console in
      let arguments = try Arguments(words, flags: ["--rewrite"], takesFiles: true)
      let paths = arguments.files.isEmpty ? ["Simulations/Scenarios"] : arguments.files
      var files: [String] = []
      for path in paths { files += try scenarioFiles(at: path) }
      return try scenarios(files, rewrite: arguments.has("--rewrite"), console)
    })

  static func scenarios(
    _ files: [String], rewrite: Bool, _ console: Console
  ) throws(FileError) -> ExitCode {
    var changed = 0
    let progress = Progress(console)
    defer { console.progress(nil) }
    for (index, file) in files.enumerated() {
      progress.show("scenario: \(index) of \(files.count) played")
      let text = try scenarioText(of: file)
      let fresh: String
      do throws(ScenarioError) {
        fresh = try Scenario.rewritten(text)
      } catch {
        throw FileError(
          message: "\(file):\(error.line): expected \(error.expected), found \(error.found)")
      }
      guard fresh != text else { continue }
      changed += 1
      console.progress(nil)
      if rewrite {
        try write(fresh, to: file)
        console.out("rewritten \(file)")
      } else {
        console.out(firstDifference(text, fresh, in: file))
      }
    }
    console.progress(nil)
    if rewrite {
      console.out("scenario: \(changed) of \(files.count) rewritten")
      return .success
    }
    console.out("scenario: \(files.count - changed) of \(files.count) are as written")
    return changed == 0 ? .success : .failure
  }

  static func scenarioText(of file: String) throws(FileError) -> String {
    guard let data = FileManager.default.contents(atPath: file) else {
      throw FileError(message: "\(file): cannot be read as text. Does it exist?")
    }
    guard let text = String(data: data, encoding: .utf8) else {
      throw FileError(message: "\(file): is no text in UTF-8")
    }
    return text
  }

  private static func write(_ text: String, to file: String) throws(FileError) {
    do {
      try Data(text.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
    } catch {
      throw FileError(message: "\(file): cannot be written: \(error.localizedDescription)")
    }
  }

  /// Returns the file itself, or a folder's scenarios in the order of their names.
  private static func scenarioFiles(at path: String) throws(FileError) -> [String] {
    let values = try? URL(fileURLWithPath: path).resourceValues(forKeys: [.isDirectoryKey])
    guard let isFolder = values?.isDirectory else {
      throw FileError(message: "\(path): does not exist")
    }
    guard isFolder else { return [path] }
    let names = FileManager.default.enumerator(atPath: path)?.allObjects ?? []
    let files = names.compactMap { $0 as? String }.filter { $0.hasSuffix(".scenario") }
    guard !files.isEmpty else { throw FileError(message: "\(path): has no .scenario file in it") }
    return files.sorted().map { path + "/" + $0 }
  }

  /// Describes the first line in which two texts differ.
  static func firstDifference(_ written: String, _ fresh: String, in file: String) -> String {
    let old = written.split(separator: "\n", omittingEmptySubsequences: false)
    let new = fresh.split(separator: "\n", omittingEmptySubsequences: false)
    let shared = min(old.count, new.count)
    let index = (0..<shared).first { old[$0] != new[$0] } ?? shared
    let expected = index < old.count ? "\"\(old[index])\"" : "the end of the file"
    let found = index < new.count ? "\"\(new[index])\"" : "the end of the output"
    return "\(file):\(index + 1):\n  expected  \(expected)\n  found     \(found)"
  }
}
