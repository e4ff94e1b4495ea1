import Foundation
import Testing

@testable import ZulipSync

/// Checks that the documentation says the same of types of events as the state's table.
@Suite struct EventDocsTests {
  /// The first column of the table in a section.
  private static func types(under heading: String) throws -> [String] {
    var root = URL(filePath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    let text = try String(
      contentsOf: root.appending(path: "Sources/ZulipSync/ZulipSync.docc/EventTypes.md"),
      encoding: .utf8)
    let sections = text.components(separatedBy: "\n### ")
    let section = try #require(sections.first { $0.hasPrefix(heading + "\n") })
    return section.split(separator: "\n").filter { $0.hasPrefix("| `") }
      .compactMap { $0.split(separator: "`").dropFirst().first.map { String($0) } }
  }

  private static func rules(doNothing: Bool) -> [String] {
    ZulipTable.rules.compactMap { type, rule in
      if case .nothing = rule.effect { doNothing ? type : nil } else { doNothing ? nil : type }
    }.sorted()
  }

  @Test func `every modelled event type is listed once`() throws {
    #expect(try Self.types(under: "Modelled") == Self.rules(doNothing: false))
  }

  @Test func `every known but unmodelled event type is listed once`() throws {
    let types = try Self.types(under: "Known, and not of the state")
    #expect(types == Self.rules(doNothing: true))
    // The two tables list all known types, and every recorded type is known.
    let known = Set(ZulipTable.rules.keys)
    for observer in RecordedObserver.all {
      #expect(observer.events.allSatisfy { known.contains($0.type) })
    }
  }
}
