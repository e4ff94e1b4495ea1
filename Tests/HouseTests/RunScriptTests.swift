import Foundation
import Testing

/// Tests how `Tests/run` answers when it has nothing to run.
@Suite struct RunScriptTests {
  let repository = Repository.shared

  @Test func `help names every stage of the table`() throws {
    let stages = try stages
    #expect(stages.count > 10)
    let help = try run("--help")
    #expect(help.code == 0 && help.errors == "")
    let lines = help.output.split(separator: "\n", omittingEmptySubsequences: false)
    let section = lines.drop { $0 != "Stages:" }.dropFirst().prefix { !$0.isEmpty }
    #expect(section.map(firstWord) == stages)
  }

  @Test(arguments: ["no-such-stage", "--no-such-option"])
  func `an unknown stage is refused, and the stages are listed`(word: String) throws {
    let answer = try run("format", word)
    #expect(answer.code == 2)
    #expect(answer.output == "")
    #expect(answer.errors.contains(word))
    let words = Set(answer.errors.split(whereSeparator: \.isWhitespace).map(String.init))
    #expect(try words.isSuperset(of: stages))
  }

  /// The names in the script's table.
  private var stages: [String] {
    get throws {
      let script = try #require(repository.contents(of: "Tests/run"))
      let lines = String(decoding: script, as: UTF8.self).split(separator: "\n")
      return lines.drop { $0 != "stages='" }.dropFirst().prefix { $0 != "'" }.map(firstWord)
    }
  }

  private func firstWord(_ line: Substring) -> String {
    String(line.drop { $0 == " " }.prefix { $0 != " " })
  }

  private func run(_ arguments: String...) throws -> (code: Int32, output: String, errors: String) {
    let script = Process()
    script.executableURL = URL(filePath: "/usr/bin/env")
    script.arguments = ["bash", repository.root.appending(path: "Tests/run").path] + arguments
    let output = Pipe()
    let errors = Pipe()
    script.standardOutput = output
    script.standardError = errors
    try script.run()
    // Both texts are short, so neither fills its pipe while the other is read.
    let texts = [output, errors].map { $0.fileHandleForReading.readDataToEndOfFile() }
      .map { String(decoding: $0, as: UTF8.self) }
    script.waitUntilExit()
    return (script.terminationStatus, texts[0], texts[1])
  }
}
