import Foundation
import Testing
import UpdateMachine

@testable import counter

/// Checks that what documents show is what the programs do.
@Suite struct DocumentedRunTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private func text(_ path: String) throws -> String {
    let file = Self.root.appending(path: path)
    let data = try #require(FileManager.default.contents(atPath: file.path), "\(path) is not there")
    return String(decoding: data, as: UTF8.self)
  }

  @Test func `the article's example of undo does what it says`() throws {
    let before: BoardEdit.Board = ["a": "Milk"]
    let after: BoardEdit.Board = ["a": "Oats"]
    var board = after
    let inverse = try #require(BoardEdit.rename(id: "a", "Oats").inverse(from: before, to: after))
    try inverse.apply(to: &board)
    #expect(board == before)
    #expect(throws: BoardEdit.Refusal.changed) { try inverse.apply(to: &board) }
  }

  @Test(.timeLimit(.minutes(5)))
  func `the README's program follows a counter, and ends`() async throws {
    let program = try text("Sources/counter/Counter.swift")
    #expect(try text("README.md").contains("```swift\n" + program + "```\n"))
    await Program.main()
  }

  @Test func `the README and the article show what compare prints`() throws {
    let table = try #require(CommandRun("compare").output.first)
    let block = "```\n\(table)\n```\n"
    #expect(try text("README.md").contains(block), "\(table)")
    let article = "Sources/SyncProtocols/SyncProtocols.docc/FiveProtocols.md"
    #expect(try text(article).contains(block))
  }

  @Test func `the article on herds shows what herd prints`() throws {
    let run = CommandRun("herd --clients 10000 --story restart --settings spread=120")
    let table = run.output.prefix(2).joined(separator: "\n")
    #expect(
      try text("Sources/Simulator/Simulator.docc/Herds.md").contains("```\n\(table)\n```\n"),
      "\(table)")
  }
}
