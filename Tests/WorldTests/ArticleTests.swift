import Foundation
import Testing
import UpdateMachine

@testable import Simulator

/// Checks that the article "Simulating your app" shows exactly the code of these tests, and the
/// stories that tests really print. `REWRITE=1 swift test --filter ArticleTests` writes both into
/// it. `Tests/docs` compiles all its code as one file.
@Suite struct ArticleTests {
  private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
  private static let root = tests.deletingLastPathComponent().deletingLastPathComponent()
  private static let article = root.appending(
    path: "Sources/Simulator/Simulator.docc/SimulatingYourApp.md")
  /// The contents of the article's code blocks, in order. The stories are what tests print.
  private static let order = [
    "imports", "model", "server", "words", "app", "uuid", "test", "story", "token", "actor",
    "plants", "board", "boardServer", "boardApp", "boardTest", "boardStory", "feed", "laws",
    "ownLog", "feedTest",
  ]

  @Test func `the article shows exactly the code of the tests, and the story of a failure`()
    async throws
  {
    var examples: [String: [String]] = [:]
    let files = [
      "ToDo.swift", "ToDoTests.swift", "Board.swift", "BoardTests.swift", "OwnFeed.swift",
    ]
    for file in files {
      let text = try String(contentsOf: Self.tests.appending(path: file), encoding: .utf8)
      examples.merge(regions(of: text)) { one, _ in one }
    }
    let runs = await Simulation<MistakenApp<TogglesCompleted>>.run(seeds: 1...50, clients: 3)
    examples["story"] = try #require(runs.failure).story.split(separator: "\n").map(String.init)
    let boards = await Simulation<MistakenBoardApp<AddsAgain>>.run(seeds: 1...50, clients: 3)
    examples["boardStory"] = try #require(boards.failure).story.split(separator: "\n")
      .map(String.init)
    #expect(examples.keys.sorted() == Self.order.sorted())

    let text = try String(contentsOf: Self.article, encoding: .utf8)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let shown = article(lines, with: try Self.order.map { try #require(examples[$0]) })
    if ProcessInfo.processInfo.environment["REWRITE"] == "1" {
      try shown.joined(separator: "\n").write(to: Self.article, atomically: true, encoding: .utf8)
    } else {
      #expect(lines == shown)
    }
    #expect(lines.filter { $0.hasPrefix("```") }.count == Self.order.count * 2)
  }

  /// Our feed with a mistake: every event of an answer is taken for a new one.
  private enum AppliesTwice: SyncProtocol {
    static func advance(
      _ place: OwnFeed<Int>.Place, over batch: OwnFeed<Int>.Answer
    ) -> SyncAdvance<OwnFeed<Int>.Place> {
      let advance = OwnFeed.advance(place, over: batch)
      guard case .next(let next, _, let isComplete) = advance else { return advance }
      return .next(next, first: 0, isComplete: isComplete)
    }
  }

  @Test func `the article tells the objection to a feed that applies events twice`() throws {
    let laws = ProtocolLaws<AppliesTwice>(
      entries: 8, place: { OwnFeed.Place(log: 1, number: Int64($0)) },
      batch: { entries in
        OwnFeed.Answer(
          log: 1, after: Int64(entries.lowerBound), through: Int64(entries.upperBound),
          hasMore: false, events: entries.map { (Int64($0) + 1, $0) })
      })
    let objection = try #require(laws.objection(inOtherLog: OwnFeed.Place(log: 2, number: 0)))
    let words = try String(contentsOf: Self.article, encoding: .utf8)
      .replacing("\n", with: " ")
    #expect(words.contains("*\(objection)*"))
  }

  /// The article with new contents in its blocks.
  private func article(_ lines: [String], with blocks: [[String]]) -> [String] {
    var article: [String] = []
    var rest = blocks[...]
    var isInside = false
    for line in lines {
      let isFence = line.hasPrefix("```")
      if isFence || !isInside { article.append(line) }
      guard isFence else { continue }
      isInside.toggle()
      if isInside { article += rest.popFirst() ?? [] }
    }
    return article
  }

  /// The regions between a file's markers, by name, with no more indentation than they need.
  private func regions(of text: String) -> [String: [String]] {
    var regions: [String: [String]] = [:]
    var name: String?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let words = line.drop { $0 == " " }
      if words.hasPrefix("// Article example begins: ") {
        name = String(words.dropFirst("// Article example begins: ".count))
      } else if words == "// Article example ends" {
        // The formatter wants an empty line between imports and a comment.
        if let ended = name, regions[ended]?.last == "" { regions[ended]?.removeLast() }
        name = nil
      } else if let name {
        regions[name, default: []].append(String(line))
      }
    }
    return regions.mapValues { lines in
      let indentation =
        lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
      return lines.map { String($0.dropFirst(indentation)) }
    }
  }
}
