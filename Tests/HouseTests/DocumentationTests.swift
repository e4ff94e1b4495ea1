import Foundation
import Testing

/// Checks that what people read first is short and has no dead end, and that the tests compile what
/// people paste.
@Suite struct DocumentationTests {
  private let repository = Repository.shared
  private let figures = "Simulations/Benchmarks/README.md"
  private let banner = "Simulations/Scenarios/stories/life-of-a-banner.scenario"

  private func text(_ path: String) throws -> String {
    let data = try #require(repository.contents(of: path), "\(path) is not there")
    return String(decoding: data, as: UTF8.self)
  }

  // MARK: The README

  @Test func `the README is short`() throws {
    let readme = try text("README.md")
    #expect(readme.utf8.count <= 8_000)
    #expect(readme.split(whereSeparator: \.isWhitespace).count <= 1_500)
  }

  @Test func `every figure in the README is among the benchmarks' figures`() throws {
    let kept = Set(rows(try text(figures)))
    let shown = rows(try text("README.md"))
    #expect(shown.filter { !kept.contains($0) } == [])
    #expect(shown.count >= 5)
  }

  @Test func `every claim in the README's banner is one that the machine makes`() throws {
    let said = try text(banner).split(separator: "\n")
    let lines = try text("README.md").split(separator: "\n")
    let shown = lines.compactMap { $0.wholeMatch(of: #/ *([0-9]+) ms  .*  (\S[^·]*)/#) }
    #expect(shown.count >= 5)
    for line in shown {
      let (moment, claim) = ("  \(line.output.1): ", " · \(line.output.2), as of ")
      #expect(said.contains { $0.hasPrefix(moment) && $0.contains(claim) }, "\(line.output.0)")
    }
  }

  @Test func `every link in the README leads to a file`() throws {
    let links = try text("README.md").matches(of: #/\]\(([^)#:]+)\)/#).map { String($0.output.1) }
    #expect(links.count > 10)
    #expect(
      links.filter { link in
        !repository.paths.contains { $0 == link || $0.hasPrefix(link + "/") }
      } == [])
  }

  // MARK: Articles

  @Test func `every block of Swift in a document is compiled by the tests`() throws {
    var compiled: Set<String> = [try text("Sources/counter/Counter.swift")]
    for file in repository.swift where file.path.hasPrefix("Tests/") {
      compiled.formUnion(examples(of: file))
    }
    var shown: Set<String> = []
    for path in repository.paths where path.hasSuffix(".md") {
      for block in blocks(of: try text(path)) {
        shown.insert(block)
        #expect(compiled.contains(block), "\(path) shows what no test has:\n\(block)")
      }
    }
    #expect(compiled.subtracting(shown).sorted() == [], "these examples are in no document")
    #expect(shown.count > 15)
  }

  @Test func `every library has a landing page, and each article is reached from it`() throws {
    for module in [
      "UpdateMachine", "MessageSync", "SyncProtocols", "HTTPSync", "ZulipSync", "EtcdSync",
      "SQLiteStore", "LoopbackServer", "Simulator",
    ] {
      let folder = "Sources/\(module)/\(module).docc/"
      let landing = try text("\(folder)\(module).md")
      #expect(landing.hasPrefix("# ``\(module)``\n"))
      for path in repository.paths where path.hasPrefix(folder) && path.hasSuffix(".md") {
        let name = path.dropFirst(folder.count).dropLast(3)
        guard name != module else { continue }
        #expect(landing.contains("- <doc:\(name)>"), "\(path) is in no topic of the landing page")
      }
    }
  }

  // MARK: Tutorials

  @Test func `each tutorial is reached from its landing page and shows existing files`() throws {
    var count = 0
    for path in repository.paths where path.hasSuffix(".tutorial") {
      let module = path.split(separator: "/")[1]
      let catalog = "Sources/\(module)/\(module).docc/"
      let name = URL(filePath: path).deletingPathExtension().lastPathComponent
      let landing = try text("\(catalog)\(module).md")
      #expect(landing.contains("- <doc:\(name)>"), "\(path) is in no topic of the landing page")
      for file in shown(by: try text(path)) {
        count += 1
        #expect(
          repository.paths.contains("\(catalog)Tutorials/Code/\(file)"),
          "\(path) shows \(file), which is not there")
      }
    }
    #expect(count > 15)
  }

  @Test func `every Swift file in a catalog is shown by one of its tutorials`() throws {
    var all: Set<String> = []
    for path in repository.paths where path.hasSuffix(".tutorial") {
      all.formUnion(shown(by: try text(path)))
    }
    let files = repository.paths.filter { $0.contains(".docc/") && $0.hasSuffix(".swift") }
    #expect(files.filter { !all.contains(URL(filePath: $0).lastPathComponent) } == [])
  }

  @Test func `the tutorial contains the program and the manifest of the article`() throws {
    let catalog = "Sources/UpdateMachine/UpdateMachine.docc/"
    let code = catalog + "Tutorials/Code/"
    #expect(try text(code + "follow-03.swift") == text("Sources/counter/Counter.swift"))
    let manifest = try text(code + "follow-package.swift")
    #expect(try text(catalog + "GettingStarted.md").contains("```text\n" + manifest + "```\n"))
  }

  // MARK: Helpers

  /// The code files that a tutorial shows.
  private func shown(by tutorial: String) -> [String] {
    tutorial.matches(of: #/@Code\(name: "[^"]+", file: "([^"]+)"\)/#).map { String($0.output.1) }
  }

  /// The rows of all tables, without their headings.
  private func rows(_ text: String) -> [String] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.indices.filter { index in
      lines[index].hasPrefix("| ") && !lines[index].hasPrefix("| ---")
        && !(index + 1 < lines.count && lines[index + 1].hasPrefix("| ---"))
    }.map { String(lines[$0]) }
  }

  /// The blocks of Swift. Each line keeps its line feed.
  private func blocks(of text: String) -> [String] {
    text.components(separatedBy: "```swift\n").dropFirst().map {
      trimmed($0.components(separatedBy: "```\n")[0])
    }
  }

  /// The same without empty lines at the end: the formatter wants one behind imports.
  private func trimmed(_ block: String) -> String {
    var block = block
    while block.hasSuffix("\n\n") { block.removeLast() }
    return block
  }

  /// The examples between a file's markers, with no more indentation than they need.
  private func examples(of file: SourceFile) -> [String] {
    var examples: [[Substring]] = []
    var isInside = false
    for line in file.lines {
      let words = line.drop { $0 == " " }
      if words.hasPrefix("// Article example begins: ") {
        isInside = true
        examples.append([])
      } else if words == "// Article example ends" {
        isInside = false
      } else if isInside {
        examples[examples.count - 1].append(line)
      }
    }
    return examples.map { lines in
      let margins = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }
      let margin = margins.min() ?? 0
      return trimmed(lines.map { $0.dropFirst(margin) + "\n" }.joined())
    }
  }
}
