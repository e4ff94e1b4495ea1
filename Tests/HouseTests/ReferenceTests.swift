import Foundation
import Testing

/// Checks that whatever a comment cites can be read in this repository. The articles number their
/// sections, rules and bugs, and each citation must lead to one.
@Suite struct ReferenceTests {
  private let repository = Repository.shared

  /// The articles that are cited, and where each is.
  private static let articles: [(name: String, path: String)] = [
    ("TheMachine", "Sources/UpdateMachine/UpdateMachine.docc/TheMachine.md"),
    ("Architecture", "Sources/UpdateMachine/UpdateMachine.docc/Architecture.md"),
    ("OfflineChanges", "Sources/UpdateMachine/UpdateMachine.docc/OfflineChanges.md"),
    ("PartialKnowledge", "Sources/UpdateMachine/UpdateMachine.docc/PartialKnowledge.md"),
    ("SyncBugs", "Sources/UpdateMachine/UpdateMachine.docc/SyncBugs.md"),
    ("ZulipServer", "Sources/ZulipSync/ZulipSync.docc/ZulipServer.md"),
  ]

  @Test func `every cited section, rule and bug exists`() throws {
    let anchors = try anchors()
    var dangling: [String] = []
    var count = 0
    for path in texts {
      let text = String(decoding: repository.contents(of: path) ?? Data(), as: UTF8.self)
      for citation in ReferenceTests.citations(in: text) {
        count += 1
        if !anchors.contains(citation) { dangling.append("\(path): \(citation)") }
      }
    }
    #expect(dangling == [])
    #expect(count > 150)
  }

  /// A tag like `[05 A5]` names the step in a recording that shows a fact. ZulipServer says which
  /// recording has which number.
  @Test func `every cited step of a recording was recorded`() throws {
    let article = try #require(repository.contents(of: ReferenceTests.articles[5].path))
    var steps: [Substring: Set<Substring>] = [:]
    let table = String(decoding: article, as: UTF8.self)
    for row in table.matches(of: #/\| `\[(0[0-9])[^\]]*\]` \| `([^`]+)`/#) {
      let file = "Simulations/Recordings/\(row.output.2)"
      let lines = String(decoding: try #require(repository.contents(of: file)), as: UTF8.self)
      steps[row.output.1] = Set(lines.matches(of: #/"step": ?"([A-Z]+[0-9]*)/#).map(\.output.1))
    }
    #expect(steps.count == 5)
    var (dangling, count): ([String], Int) = ([], 0)
    for path in texts {
      let text = String(decoding: repository.contents(of: path) ?? Data(), as: UTF8.self)
      guard text.has("[0") else { continue }
      for tag in text.matches(of: #/\[(0[0-9]) ([A-Z]+[0-9]*)\]/#) {
        count += 1
        // A tag without a number names a group of steps.
        if steps[tag.output.1]?.contains(where: { $0.hasPrefix(tag.output.2) }) != true {
          dangling.append("\(path): \(tag.output.0)")
        }
      }
    }
    #expect(dangling == [])
    #expect(count > 40)
  }

  @Test func `no file names a document that the articles have replaced`() {
    // The documents that the articles have replaced. Each name is in two parts, so that this file
    // names none.
    let gone = [
      "MACH" + "INE", "KNOW" + "LEDGE", "PROTO" + "COL", "BU" + "GS", "DES" + "IGN", "STY" + "LE",
    ]
    var offences: [String] = []
    for path in texts {
      let text = String(decoding: repository.contents(of: path) ?? Data(), as: UTF8.self)
      for name in gone where text.has(name) {
        let isNamed =
          text.contains("\(name) §") || text.contains("\(name).md")
          || text.range(of: "\(name) [0-9]", options: .regularExpression) != nil
        if isNamed { offences.append("\(path): \(name)") }
      }
    }
    #expect(offences == [])
  }

  @Test func `a citation is recognised, and one that leads nowhere is noticed`() throws {
    let text = "(TheMachine §5), PartialKnowledge R4, R13; SyncBugs 11 and ZulipServer §12"
    let found = ReferenceTests.citations(in: text)
    #expect(
      found.sorted() == [
        "PartialKnowledge R13", "PartialKnowledge R4", "SyncBugs 11", "TheMachine §5",
        "ZulipServer §12",
      ])
    let anchors = try anchors()
    #expect(!anchors.contains("TheMachine §99"))
    #expect(!anchors.contains("PartialKnowledge R16"))
    #expect((1...84).allSatisfy { anchors.contains("SyncBugs \($0)") })
    #expect((1...13).allSatisfy { anchors.contains("PartialKnowledge R\($0)") })
  }

  // MARK: Helpers

  /// What people read: sources, scenarios, mutants, scripts, articles and the README.
  private var texts: [String] {
    let kinds = ["swift", "c", "h", "md", "scenario", "mutant", ""]
    return repository.paths.filter { path in
      kinds.contains(URL(filePath: path).pathExtension) && !path.hasPrefix(".")
        && !path.hasSuffix("ReferenceTests.swift")
    }
  }

  /// The citations in a text, like "TheMachine §5" and "SyncBugs 11". A rule may also be cited by
  /// its number alone.
  private static func citations(in text: String) -> [String] {
    text.split(whereSeparator: \.isNewline).flatMap { line in
      let mayCite = ["§", "SyncBugs ", "PartialKnowledge R", "(R", ", R"].contains(where: line.has)
      return mayCite ? citations(inLine: line) : []
    }
  }

  private static func citations(inLine text: Substring) -> [String] {
    var found: [String] = []
    let section = #/\b(TheMachine|Architecture|OfflineChanges|ZulipServer) §([0-9]+)/#
    for match in text.matches(of: section) {
      found.append("\(match.output.1) §\(match.output.2)")
    }
    for match in text.matches(of: #/\bSyncBugs ([0-9]+)/#) {
      found.append("SyncBugs \(match.output.1)")
    }
    for match in text.matches(of: #/(?:PartialKnowledge |\()R([0-9]+)\b|, R([0-9]+)\b/#) {
      found.append("PartialKnowledge R\(match.output.1 ?? match.output.2 ?? "")")
    }
    return found
  }

  /// Everything that can be cited.
  private func anchors() throws -> Set<String> {
    var anchors: Set<String> = []
    for (name, path) in ReferenceTests.articles {
      let data = try #require(repository.contents(of: path), "\(path) is not there")
      let text = String(decoding: data, as: UTF8.self)
      for line in text.split(separator: "\n") {
        if let match = line.prefixMatch(of: #/## ([0-9]+)\. /#) {
          anchors.insert("\(name) §\(match.output.1)")
        } else if let match = line.prefixMatch(of: #/## (R[0-9]+)\. /#) {
          anchors.insert("\(name) \(match.output.1)")
        } else if let match = line.prefixMatch(of: #/\*\*([0-9]+)\.\*\*/#) {
          anchors.insert("\(name) \(match.output.1)")
        }
      }
    }
    return anchors
  }
}
