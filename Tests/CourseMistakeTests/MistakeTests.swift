import Foundation
import Simulator
import Testing

/// The app of the course with one line broken. The other files are those of `CourseTests`.
@Suite struct CourseMistakeTests {
  @Test func `the simulation finds the broken line, and the course shows what it prints`()
    async throws
  {
    let runs = await Simulation<ToDoApp>.run(seeds: 1...200, clients: 2, shrinking: 1000)
    let story = try #require(runs.failure).story
    #expect(try Course.text().contains("```text\n\(story)\n```\n"), "\(story)")
  }

  @Test func `one line of the model is broken, and no more`() throws {
    let right = try lines("CourseTests/Model.swift")
    let broken = try lines("CourseMistakeTests/Model.swift")
    #expect(right.count == broken.count && right.count > 25)
    let differing = zip(right, broken).filter { $0 != $1 }
    #expect(differing.map(\.1) == ["    if let old { lists = old.lists }"])
  }

  /// The lines of a file of tests, without comments.
  private func lines(_ path: String) throws -> [String] {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let text = try String(contentsOf: tests.appending(path: path), encoding: .utf8)
    return text.split(separator: "\n").map(String.init).filter {
      !$0.drop { $0 == " " }.hasPrefix("//")
    }
  }
}
