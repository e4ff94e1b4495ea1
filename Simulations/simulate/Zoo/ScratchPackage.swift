import Foundation

/// A copy of the package that has every mutant beside the original code.
struct ScratchPackage {
  /// The package that is copied.
  let original: URL
  let copy: URL
  /// Whether the copy has the library's unit tests.
  var hasTests = false

  /// The environment variable that selects a mutant.
  static let variable = "ZOO_MUTANT"

  /// The environment variable that names a file of counters, one of four bytes for each body.
  static let reachVariable = "ZOO_REACH"

  /// Where the build puts a product.
  func executable(_ product: String) -> URL { copy.appending(path: ".build/release/\(product)") }

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

  /// Reads the files that the copy is built from, by their paths in the package.
  func read() throws -> [String: Data] {
    var read: [String: Data] = [:]
    for file in try files() {
      read[file] = try Data(contentsOf: original.appending(path: file))
    }
    return read
  }

  /// Updates the copy. Unchanged files are not touched, so that a build does only what is needed.
  ///
  /// - Returns: the numbers of the bodies with mutants.
  @discardableResult
  func write(_ mutants: [Mutant], generated: [GeneratedMutant] = []) throws -> BodyNumbers {
    var wanted = try read()
    let reach = try Schemata.weave(
      mutants, generated: generated, into: &wanted, selector: ScratchPackage.selectedByEnvironment,
      reach: BodyNumbers())
    let copied = hasTests ? UnitTests.folders + [UnitTests.support] : []
    for folder in testFolders() where !copied.contains(folder) {
      wanted["Tests/\(folder)/Empty.swift"] = Data("// The manifest names this folder.\n".utf8)
    }
    try put(wanted)
    return reach ?? BodyNumbers()
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
    _ = try Schemata.weave(mutants, into: &wanted, selector: Schemata.selectedByProgram)
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

  /// The additional file of the copy. The environment says which mutant is in force, so that it is
  /// in every process of the copy, whatever its main program. Counters are in a mapped file, so
  /// that they outlive a process that is killed.
  private static let selectedByEnvironment = """
    #if canImport(Darwin)
      import Darwin
    #elseif canImport(Musl)
      import Musl
    #else
      import Glibc
    #endif

    /// Which planted bug is in force; 0: none.
    public enum Zoo {
      @safe nonisolated(unsafe) public static var mutant: UInt32 =
        unsafe getenv("\(variable)").flatMap { unsafe UInt32(String(cString: $0)) } ?? 0

      @safe nonisolated(unsafe) private static let counters: UnsafeMutablePointer<UInt32>? = {
        guard let path = unsafe getenv("\(reachVariable)") else { return nil }
        let file = unsafe open(path, O_RDWR)
        let size = lseek(file, 0, SEEK_END)
        guard file >= 0, size > 0 else { return nil }
        let place = unsafe mmap(nil, Int(size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
        close(file)
        guard unsafe place != MAP_FAILED else { return nil }
        return unsafe place?.assumingMemoryBound(to: UInt32.self)
      }()

      /// Counts that a body was entered. Threads may count at once, and lose some.
      public static func reached(_ body: Int) {
        if let counters = unsafe counters { unsafe counters[body] &+= 1 }
      }
    }

    """

  /// The files that the command is built from, as paths within the package.
  private func files() throws -> [String] {
    var files = ["Package.swift"]
    let ours = [
      "simulate", "check", "crash", "etcd", "serve", "soak", "zulip", "Benchmarks", "Recordings",
    ].map {
      "Simulations/\($0)"
    }
    let tests = hasTests ? (UnitTests.folders + [UnitTests.support]).map { "Tests/\($0)" } : []
    for folder in ["Sources"] + ours + tests {
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

  /// A copy that the compiler refuses.
  struct Unbuildable: Error {
    var folder: String
    var complaints: [String]
    /// The mutants at the place of each complaint; empty: it is not known which one it is about.
    var guilty: [[String]]

    var message: String {
      let names = Set(guilty.joined()).sorted().joined(separator: ", ")
      return "the copy with all mutants in \(folder) cannot be built:\n"
        + complaints.prefix(20).joined(separator: "\n")
        + (names.isEmpty ? "" : "\nLook at: \(names)")
    }
  }

  /// Builds a product of the copy.
  func build(_ product: String) throws(Unbuildable) {
    try build(["--configuration", "release", "--product", product])
  }

  /// Finds what the compiler refuses in some targets of the copy, without optimising them.
  func check(_ targets: [String]) throws(Unbuildable) {
    for target in targets {
      try build(["--configuration", "debug", "--target", target])
    }
  }

  private func build(_ words: [String]) throws(Unbuildable) {
    let options = [
      "--package-path", copy.path, "--scratch-path", copy.appending(path: ".build").path,
      "--disable-index-store", "-debug-info-format", "none",
    ]
    let end = ChildProcess("/usr/bin/env", ["swift", "build"] + words + options).run()
    if end.succeeded { return }
    let complaints = end.output.split(separator: "\n").filter { $0.contains("error:") }
    let shown = complaints.isEmpty ? end.output.split(separator: "\n").suffix(20) : complaints[...]
    var lines: [String] = []
    for line in shown where !lines.contains(String(line)) { lines.append(String(line)) }
    throw Unbuildable(folder: copy.path, complaints: lines, guilty: lines.map(mutants))
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
