import Foundation
import Testing

/// Checks those house rules that a tool can check, on the repository's sources.
@Suite struct HouseRulesTests {
  let repository = Repository.shared

  @Test func `the house rules find the package's sources`() {
    #expect(repository.paths.contains("Package.swift"))
    #expect(repository.swift.count > 10)
  }

  @Test func `only the driver draws without a generator; it and the loopback server read clocks`() {
    // The loopback server is outside of every simulation. It has sockets, which have time. It needs
    // no random numbers.
    let loopback = "Sources/LoopbackServer/"
    var offences: [String] = []
    for file in repository.swift where !file.path.hasPrefix("Sources/UpdateMachine/Driver/") {
      for word in ["Date" + "()", "Date" + ".now", "Clock()" + ".now", "Task" + ".sleep"]
      where !(file.path.hasPrefix(loopback) && word.hasPrefix("Clock")) {
        offences += file.lines(containing: word)
      }
      offences += file.randomWithoutGenerator
    }
    #expect(offences == [])
  }

  @Test func `tests that use sockets have names that select them`() {
    let sockets = ["Ada" + ".serve", "EtcdProcess" + ".serving", "try LoopbackServer" + "("]
    let suites = ["Tests/ZulipSyncTests/", "Tests/EtcdSyncTests/", "Tests/HTTPSyncTests/"]
    let offences = repository.swift.filter { file in
      suites.contains(where: file.path.hasPrefix)
        && !file.lines(containing: "@Suite").isEmpty
        && sockets.contains { !file.lines(containing: $0).isEmpty }
        && file.lines(containing: "OverHTTPTests {").isEmpty
    }
    #expect(offences.map(\.path) == [])
  }

  @Test func `no source contains a to-do marker`() {
    var offences: [String] = []
    for file in repository.sources {
      for word in ["FIX" + "ME", "TO" + "DO"] { offences += file.lines(containing: word) }
    }
    #expect(offences == [])
  }

  @Test func `no source file is longer than 600 lines`() {
    let long = repository.sources.filter { $0.lines.count > 600 }
    #expect(long.map { "\($0.path): \($0.lines.count) lines" } == [])
  }

  /// Text in quotation marks may be longer: recorded data, and what a program prints. So may the
  /// line that lists what a room may use, which `Tests/rooms` reads.
  @Test func `no comment goes past column 100`() {
    let long = repository.swift.flatMap { file in
      file.lines.enumerated().compactMap { number, line in
        let isComment = line.drop { $0 == " " }.hasPrefix("//") && !line.contains(" may use: ")
        return isComment && line.count > 100 ? file.place(number) : nil
      }
    }
    #expect(long == [])
  }

  @Test func `no function is longer than 70 lines`() {
    #expect(repository.swift.flatMap { $0.functions(longerThan: 70) } == [])
  }

  @Test func `the top level holds only the manifest, the README and three folders`() {
    let expected = ["Package.swift", "README.md", "Sources", "Tests", "Simulations"]
    let found = Set(repository.paths.map { String($0.prefix { $0 != "/" }) })
    #expect(found.filter { !$0.hasPrefix(".") && !expected.contains($0) }.sorted() == [])
  }

  /// On a Mac's disk they would be one.
  @Test func `no two files or folders have names that differ only in capitals`() {
    var names: [String: String] = [:]
    var offences: [String] = []
    for path in repository.paths {
      var name = ""
      for part in path.split(separator: "/") {
        name += "/\(part)"
        let known = names.updateValue(name, forKey: name.lowercased()) ?? name
        if known != name { offences.append("\(known) and \(name)") }
      }
    }
    #expect(offences == [])
  }

  @Test func `no file names a place outside the repository`() {
    let places = ["../" + "shared", "/" + "work/"].map { Data($0.utf8) }
    let offences = repository.paths.filter { path in
      guard let data = repository.contents(of: path) else { return false }
      return places.contains { data.range(of: $0) != nil }
    }
    #expect(offences == [])
  }

  @Test func `no room imports a room above it`() {
    let allowed = [
      ("Sources/UpdateMachine/", []), ("Sources/MessageSync/", ["UpdateMachine"]),
      ("Sources/SyncProtocols/", ["UpdateMachine"]),
      ("Sources/Simulator/", ["UpdateMachine", "MessageSync", "SyncProtocols"]),
      ("Sources/HTTPSync/", ["UpdateMachine", "Foundation", "FoundationNetworking"]),
      (
        "Sources/ZulipSync/",
        [
          "UpdateMachine", "MessageSync", "SyncProtocols", "HTTPSync", "Foundation",
          "FoundationNetworking",
        ]
      ),
      (
        "Sources/EtcdSync/",
        [
          "UpdateMachine", "SyncProtocols", "HTTPSync", "Foundation", "FoundationNetworking",
          "Darwin", "Glibc", "Musl",
        ]
      ),
      (
        "Simulations/check/",
        [
          "UpdateMachine", "MessageSync", "SyncProtocols", "HTTPSync", "ZulipSync", "Foundation",
          "Synchronization",
        ]
      ),
      (
        "Simulations/serve/", ["UpdateMachine", "SyncProtocols", "LoopbackServer", "Foundation"]
      ),
      (
        "Simulations/zulip/",
        [
          "UpdateMachine", "MessageSync", "SyncProtocols", "ZulipSync", "Simulator", "ZulipServer",
          "Foundation",
        ]
      ),
      ("Sources/SQLiteStore/", ["UpdateMachine", "CSQLite", "Darwin", "Glibc", "Musl"]),
      ("Sources/LoopbackServer/", ["Darwin", "Glibc", "Musl"]),
    ]
    var offences: [String] = []
    for (folder, modules) in allowed {
      for file in repository.swift where file.path.hasPrefix(folder) {
        guard !file.path.hasPrefix("Sources/UpdateMachine/Driver/"), !file.isNativeOnly else {
          continue
        }
        for (module, place) in file.imports where !modules.contains(module) {
          offences.append("\(place): import \(module)")
        }
      }
    }
    #expect(offences == [])
  }

  @Test func `the length of a function is counted from its first line to its last brace`() {
    let file = SourceFile(
      path: "x.swift",
      text: """
        struct S {
          var short: Int { 1 }
          func requirement(
            _ one: Int
          )
          func long(
            _ one: Int
          ) -> Int {
            if one > 0 {
              return 1
            }
            return one
          }
        }
        """)
    #expect(file.functions(longerThan: 7) == ["x.swift:6: 8 lines"])
    #expect(file.functions(longerThan: 8) == [])
  }

  @Test func `an import is recognised behind attributes and access levels`() {
    let text = "@_spi(Some) public import Foundation\n// import Nothing\nimport struct A.B\n"
    let file = SourceFile(path: "x.swift", text: text)
    #expect(file.imports.map(\.module) == ["Foundation", "A.B"])
  }

  @Test func `a draw without a generator is recognised, also over several lines`() {
    let call = ".random" + "(in: f(1)..<5"
    func offences(_ text: String) -> Int {
      SourceFile(path: "x.swift", text: text).randomWithoutGenerator.count
    }
    #expect(offences("let x = Int\(call))") == 1)
    #expect(offences("let x = Int\(call), using: &chance)") == 0)
    #expect(offences("let x = Int\(call),\n  using: &chance)") == 0)
    #expect(offences("let x = Int\(call))\nf(using: &chance)") == 1)
  }
}

/// The files of this repository.
struct Repository {
  static let shared = Repository()

  let root: URL
  /// The paths that git tracks, relative to the root. Without git, all files except those whose
  /// names begin with a dot.
  let paths: [String]
  /// The code that people wrote: Swift, C, and scripts, which have the extension `sh` or none.
  let sources: [SourceFile]

  /// The Swift files, without those that tutorials show. These belong to an app, and not to a
  /// module.
  var swift: [SourceFile] {
    sources.filter { $0.path.hasSuffix(".swift") && !$0.path.contains(".docc/") }
  }

  private init() {
    let root = URL(filePath: #filePath)  // …/Tests/HouseTests/HouseRulesTests.swift
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    self.root = root
    paths = (Repository.tracked(in: root) ?? Repository.present(in: root)).sorted()
    sources = paths.compactMap { path in
      let kind = URL(filePath: path).pathExtension
      let isScript = kind.isEmpty && (path.hasPrefix("Tests/") || path.hasPrefix(".ci/"))
      guard isScript || ["swift", "c", "h", "sh"].contains(kind) else { return nil }
      guard let data = FileManager.default.contents(atPath: root.appending(path: path).path)
      else { return nil }
      return SourceFile(path: path, text: String(decoding: data, as: UTF8.self))
    }
  }

  func contents(of path: String) -> Data? {
    FileManager.default.contents(atPath: root.appending(path: path).path)
  }

  private static func tracked(in root: URL) -> [String]? {
    let git = Process()
    git.executableURL = URL(filePath: "/usr/bin/env")
    // In CI the repository may belong to another user, which git would refuse.
    git.arguments = ["git", "-c", "safe.directory=*", "-C", root.path, "ls-files", "-z"]
    let output = Pipe()
    git.standardOutput = output
    git.standardError = FileHandle.nullDevice
    guard (try? git.run()) != nil else { return nil }
    let data = output.fileHandleForReading.readDataToEndOfFile()
    git.waitUntilExit()
    guard git.terminationStatus == 0, !data.isEmpty else { return nil }
    return data.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
  }

  private static func present(in root: URL) -> [String] {
    let files = FileManager.default.enumerator(
      at: root, includingPropertiesForKeys: nil, options: [.skipsHiddenFiles])
    let prefix = root.path.hasSuffix("/") ? root.path : root.path + "/"
    return (files?.compactMap { $0 as? URL } ?? []).filter { !$0.hasDirectoryPath }
      .map { String($0.path.dropFirst(prefix.count)) }
  }
}

extension StringProtocol {
  /// Whether a word's bytes are in it. Each line of the repository is asked this before it is
  /// compared with a pattern, which takes much longer.
  func has(_ word: String) -> Bool {
    guard let first = word.utf8.first else { return true }
    var rest = utf8[...]
    while let start = rest.firstIndex(of: first) {
      rest = rest[start...]
      if rest.starts(with: word.utf8) { return true }
      rest = rest.dropFirst()
    }
    return false
  }
}

/// One file as text, with what the rules need to know of it. It is read line by line, which is
/// enough for code that `swift format` has laid out.
struct SourceFile {
  let path: String
  let lines: [Substring]

  init(path: String, text: String) {
    self.path = path
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    if lines.last == "" { lines.removeLast() }
    self.lines = lines
  }

  func place(_ index: Int) -> String { "\(path):\(index + 1)" }

  func lines(containing word: String) -> [String] {
    lines.indices.filter { lines[$0].has(word) }.map { "\(place($0)): \(word)" }
  }

  /// Calls that draw from the system's generator, because no generator is passed.
  var randomWithoutGenerator: [String] {
    let call = ".random" + "("
    return lines.indices.filter { index in
      guard lines[index].has(call), let start = lines[index].range(of: call)?.upperBound else {
        return false
      }
      let rest = lines[index][start...] + lines[(index + 1)...].prefix(10).joined(separator: "\n")
      var depth = 1
      let arguments = rest.prefix { character in
        if character == "(" { depth += 1 }
        if character == ")" { depth -= 1 }
        return depth > 0
      }
      return !arguments.contains("using:")
    }.map { "\(place($0)): \(call) without using:" }
  }

  /// The modules that the file imports, with the place of each import.
  var imports: [(module: String, place: String)] {
    let kinds: Set<Substring> = [
      "struct", "class", "enum", "protocol", "typealias", "func", "let", "var", "actor",
    ]
    let levels: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]
    return lines.indices.compactMap { index in
      let words = lines[index].split(separator: " ")
      let rest = words.drop { $0.hasPrefix("@") || levels.contains($0) }
      guard rest.first == "import",
        let module = rest.dropFirst().first(where: { !kinds.contains($0) })
      else { return nil }
      return (String(module), place(index))
    }
  }

  /// Whether the whole file is left out of Embedded Swift, so that it may use what only native code
  /// has.
  var isNativeOnly: Bool {
    lines.first { !$0.isEmpty && !$0.hasPrefix("//") } == "#if !hasFeature(Embedded)"
  }

  /// The functions, initialisers and computed properties that are longer.
  func functions(longerThan maximum: Int) -> [String] {
    lines.indices.compactMap { first in
      guard isDeclaration(lines[first]), let last = end(of: first), last - first >= maximum
      else { return nil }
      return "\(place(first)): \(last - first + 1) lines"
    }
  }

  /// Whether a body may follow. The line then has a word such as `func`, with only modifiers before
  /// it.
  private func isDeclaration(_ line: Substring) -> Bool {
    for word in line.split(separator: " ") {
      let name = word.prefix { $0.isLetter }
      if ["func", "init", "deinit", "subscript", "var"].contains(name) { return true }
      guard modifiers.contains(name) || word.hasPrefix("@") else { return false }
    }
    return false
  }

  /// The line of the closing brace, which stands directly below the beginning of the declaration;
  /// `nil` if there is none, or if it is on the first line.
  private func end(of first: Int) -> Int? {
    let indentation = lines[first].prefix { $0 == " " }.count
    for index in (first + 1)..<max(lines.count, first + 1) {
      let line = lines[index]
      guard let start = line.firstIndex(where: { $0 != " " }) else { continue }
      if line.distance(from: line.startIndex, to: start) > indentation { continue }
      if line[start] == "}" { return index }
      // The declaration goes on with the end of its parameters, a clause on its own line, or a
      // condition. Any other line comes after it.
      let goesOn = [")", "where ", "->", "#"].contains { line[start...].hasPrefix($0) }
      if !goesOn || line.distance(from: line.startIndex, to: start) < indentation { return nil }
    }
    return nil
  }
}

private let modifiers: Set<Substring> = [
  "public", "package", "internal", "fileprivate", "private", "open", "static", "final", "class",
  "mutating", "nonmutating", "nonisolated", "isolated", "override", "required", "convenience",
  "lazy", "weak", "unsafe", "consuming", "borrowing", "async", "indirect", "prefix", "postfix",
]
