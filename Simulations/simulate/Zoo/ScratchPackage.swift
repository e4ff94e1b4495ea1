import Foundation

/// A copy of the package that has every mutant beside the original code.
struct ScratchPackage {
  /// The package that is copied.
  let original: URL
  let copy: URL

  /// The environment variable that selects a mutant.
  static let variable = "ZOO_MUTANT"

  var executable: URL { copy.appending(path: ".build/release/simulate") }

  /// Returns the folder of the package that a folder belongs to.
  static func root(from folder: URL) throws(UsageError) -> URL {
    var place = folder.standardizedFileURL
    while true {
      let manifest = place.appending(path: "Package.swift").path
      if FileManager.default.fileExists(atPath: manifest) { return place }
      if place.path == "/" { break }
      place = place.deletingLastPathComponent()
    }
    throw UsageError(
      message: "no Package.swift in \(folder.path) or above it. Try --package-path FOLDER")
  }

  // MARK: Writing

  /// Updates the copy. Unchanged files are not touched, so that a build does only what is needed.
  func write(_ mutants: [Mutant]) throws {
    var wanted: [String: Data] = [:]
    for file in try files() {
      wanted[file] = try Data(contentsOf: original.appending(path: file))
    }
    try Schemata.weave(mutants, into: &wanted)
    for folder in testFolders() {
      wanted["Tests/\(folder)/Empty.swift"] = Data("// The manifest names this folder.\n".utf8)
    }
    let main = "Simulations/simulate/main.swift"
    wanted[main] = Data(ScratchPackage.selection.utf8) + (wanted[main] ?? Data())
    try put(wanted)
  }

  /// Updates a copy that has only the sources of some modules, with the mutants, and a table of
  /// their names and numbers in `Zoo`.
  func writeSources(of modules: [String], _ mutants: [Mutant]) throws {
    var wanted: [String: Data] = [:]
    for module in modules.map({ "Sources/\($0)" }) {
      for name in ScratchPackage.files(below: original.appending(path: module)) {
        let file = "\(module)/\(name)"
        wanted[file] = try Data(contentsOf: original.appending(path: file))
      }
    }
    try Schemata.weave(mutants, into: &wanted)
    let cases = mutants.map { "    case \"\($0.name)\": \(Schemata.number(of: $0.name))\n" }
    let table = """
      extension Zoo {
        /// The number of a mutant; `nil`: there is none with that name.
        public static func number(of name: String) -> UInt32? {
          switch name {
      \(cases.joined())    default: nil
          }
        }
      }

      """
    wanted["Sources/UpdateMachine/Values/ZooNames.swift"] = Data(table.utf8)
    try put(wanted)
  }

  /// Code that the copy's command runs first.
  private static let selection = """
    import Foundation
    import UpdateMachine

    Zoo.mutant = ProcessInfo.processInfo.environment["\(variable)"].flatMap { UInt32($0) } ?? 0

    """

  /// The files that the command is built from, as paths within the package.
  private func files() throws -> [String] {
    var files = ["Package.swift"]
    let ours = ["simulate", "check", "crash", "serve", "Benchmarks", "Recordings"].map {
      "Simulations/\($0)"
    }
    for folder in ["Sources"] + ours {
      files += ScratchPackage.files(below: original.appending(path: folder)).map {
        "\(folder)/\($0)"
      }
    }
    return files
  }

  private static func files(below folder: URL) -> [String] {
    let names = FileManager.default.enumerator(atPath: folder.path)?.allObjects ?? []
    return names.compactMap { $0 as? String }.filter { name in
      let values = try? folder.appending(path: name).resourceValues(forKeys: [.isRegularFileKey])
      return values?.isRegularFile == true
        && !name.split(separator: "/").contains { $0.hasPrefix(".") }
    }.sorted()
  }

  private func testFolders() -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(
      atPath: original.appending(path: "Tests").path)
    return (names ?? []).filter { $0.hasPrefix("Test") || $0.hasSuffix("Tests") }.sorted()
  }

  private func put(_ wanted: [String: Data]) throws {
    for folder in ["Sources", "Simulations", "Tests"] {
      for name in ScratchPackage.files(below: copy.appending(path: folder))
      where wanted["\(folder)/\(name)"] == nil {
        try FileManager.default.removeItem(at: copy.appending(path: "\(folder)/\(name)"))
      }
    }
    for (file, data) in wanted.sorted(by: { $0.key < $1.key }) {
      let place = copy.appending(path: file)
      if FileManager.default.contents(atPath: place.path) == data { continue }
      try FileManager.default.createDirectory(
        at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
      try data.write(to: place, options: .atomic)
    }
  }

  // MARK: Building

  /// Builds the copy's command. Throws the compiler's complaints, with the names of the mutants
  /// concerned.
  func build() throws(FileError) {
    let process = ChildProcess(
      "/usr/bin/env",
      [
        "swift", "build", "--configuration", "release", "--product", "simulate",
        "--package-path", copy.path, "--scratch-path", copy.appending(path: ".build").path,
      ])
    let end = process.run()
    if end.succeeded { return }
    let complaints = end.output.split(separator: "\n").filter { $0.contains("error:") }
    let shown = complaints.isEmpty ? end.output.split(separator: "\n").suffix(20) : complaints[...]
    var lines: [String] = []
    for line in shown where !lines.contains(String(line)) { lines.append(String(line)) }
    let guilty = Set(lines.flatMap(mutants)).sorted()
    throw FileError(
      message: "the copy with all mutants in \(copy.path) cannot be built:\n"
        + lines.prefix(20).joined(separator: "\n")
        + (guilty.isEmpty ? "" : "\nLook at: \(guilty.joined(separator: ", "))"))
  }

  /// Returns the mutants at the place of a complaint `FILE:LINE:COLUMN: error: …`.
  private func mutants(of complaint: String) -> [String] {
    let parts = complaint.split(separator: ":")
    guard parts.count > 3, let number = Int(parts[1]),
      let data = FileManager.default.contents(atPath: String(parts[0]))
    else { return [] }
    let lines = String(decoding: data, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    return ScratchPackage.mutants(at: number, in: lines)
  }

  /// Returns the mutant whose text is in a line, counted from 1; at the end of a switch, all
  /// mutants of the switch.
  static func mutants(at number: Int, in lines: [String]) -> [String] {
    guard lines.indices.contains(number - 1) else { return [] }
    let inline = marks(in: lines[number - 1], after: "/* ")
    if !inline.isEmpty { return inline }
    var found: [String] = []
    var isAtEnd = false
    for (index, line) in lines.enumerated().prefix(number).reversed() {
      guard let mark = marks(in: line, after: "// ").first else { continue }
      switch mark {
      case "end" where number - 1 - index <= 1: isAtEnd = true
      case "begin", "end": return found.sorted()
      case "the" where !isAtEnd: return []
      case "the": continue
      default:
        found.append(mark)
        if !isAtEnd { return found }
      }
    }
    return []
  }

  private static func marks(in line: String, after comment: String) -> [String] {
    line.components(separatedBy: comment + Schemata.mark).dropFirst()
      .map { String($0.prefix { $0 != " " }) }
  }
}
