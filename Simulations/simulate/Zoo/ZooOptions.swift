import Foundation

/// The options of `zoo`: what to hunt.
struct ZooOptions {
  var root: URL
  var from: URL
  var scratch: URL
  var only: [String]?
  var budget = Hunt.Budget()
  var shrinking = 1500
  var jobs = ProcessInfo.processInfo.activeProcessorCount
  var techniques: [Technique] = [.default]
  var json = false
  var listsOnly = false
  /// How many bugs are generated; `nil`: none.
  var generated: Int?
  /// Whether the folder's mutants are hunted.
  var huntsFolder = true
  var seed: UInt64 = 1
  /// Only bugs below these folders of `Sources`; empty: all.
  var rooms: [String] = []
  var coreSeconds = 60.0
  /// Whether the library's unit tests are asked about what nothing else finds.
  var asksUnitTests = false
  /// The percentage that simulation must find of those reached.
  var least: Double?

  static let names = [
    "--only", "--from", "--seeds", "--seconds", "--shrink", "--jobs", "--technique",
    "--package-path", "--scratch", "--generate", "--seed", "--in", "--core-seconds", "--at-least",
  ]
  static let flags = ["--compare", "--list", "--json", "--known", "--unit-tests"]

  init(_ arguments: Arguments) throws(UsageError) {
    func folder(_ name: String) -> URL? {
      arguments.values[name].map { URL(fileURLWithPath: $0, isDirectory: true).standardizedFileURL }
    }
    let here = URL(fileURLWithPath: FileManager.default.currentDirectoryPath, isDirectory: true)
    root = try ScratchPackage.root(from: folder("--package-path") ?? here)
    from = folder("--from") ?? root.appending(path: "Simulations/Zoo")
    scratch = folder("--scratch") ?? root.appending(path: ".build/zoo")
    only = arguments.values["--only"].map { $0.split(separator: ",").map(String.init) }
    if let number = try arguments.number("--seeds", in: 1...1_000_000_000) { budget.seeds = number }
    if let number = try arguments.number("--seconds", in: 1...100_000) { budget.seconds = number }
    if let number = try arguments.number("--shrink", in: 0...1_000_000) { shrinking = number }
    if let number = try arguments.number("--jobs", in: 1...1024) { jobs = number }
    if let name = arguments.values["--technique"] {
      guard let technique = Technique(rawValue: name) else {
        let known = Technique.allCases.map(\.rawValue).joined(separator: ", ")
        throw UsageError(message: "unknown technique \"\(name)\". There are: \(known)")
      }
      techniques = [technique]
    }
    if arguments.has("--compare") {
      guard arguments.values["--technique"] == nil else {
        throw UsageError(message: "--compare hunts with all techniques; leave out --technique")
      }
      techniques = Technique.allCases
    }
    generated = try arguments.number("--generate", in: 1...100_000)
    huntsFolder = generated == nil || arguments.has("--known")
    seed = UInt64(try arguments.number("--seed", in: 0...1_000_000_000) ?? 1)
    rooms = (arguments.values["--in"] ?? "").split(separator: ",").map { path in
      path.split(separator: "/").joined(separator: "/")
    }
    coreSeconds = Double(try arguments.number("--core-seconds", in: 1...100_000) ?? 60)
    least = try arguments.number("--at-least", in: 0...100).map(Double.init)
    asksUnitTests = arguments.has("--unit-tests")
    try checkTogether(arguments)
    json = arguments.has("--json")
    listsOnly = arguments.has("--list")
  }

  /// Checks that options of one kind of hunt are not given for the other.
  private func checkTogether(_ arguments: Arguments) throws(UsageError) {
    let ofGenerated = [
      "--seed", "--in", "--core-seconds", "--at-least", "--known", "--unit-tests",
    ]
    let ofFolder = ["--only", "--seeds", "--seconds", "--shrink", "--technique", "--compare"]
    for name in ofGenerated + ofFolder where arguments.values[name] != nil || arguments.has(name) {
      if generated == nil, ofGenerated.contains(name) {
        throw UsageError(message: "\(name) is about generated bugs; add --generate N")
      }
      if !huntsFolder, ofFolder.contains(name) {
        throw UsageError(message: "\(name) is about the folder's mutants; add --known")
      }
    }
  }

  /// Reads the mutants of the folder, in the order of their names.
  func mutants() throws -> [Mutant] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: from.path)) ?? []
    let files = names.filter { $0.hasSuffix(".mutant") }.sorted()
    guard !files.isEmpty else {
      throw FileError(message: "\(from.path): no file there ends in .mutant")
    }
    var mutants: [Mutant] = []
    var complaints: [String] = []
    for file in files {
      do throws(FileError) {
        mutants.append(try Mutant.read(String(file.dropLast(".mutant".count)), in: from))
      } catch {
        complaints.append(error.message)
      }
    }
    guard complaints.isEmpty else { throw FileError(message: complaints.joined(separator: "\n")) }
    return mutants
  }

  /// Returns the mutants to hunt.
  func chosen(_ mutants: [Mutant]) throws(UsageError) -> [Mutant] {
    guard let only else { return mutants }
    for name in only where !mutants.contains(where: { $0.name == name }) {
      throw UsageError(message: "unknown mutant \"\(name)\". Try --list")
    }
    return mutants.filter { only.contains($0.name) }
  }
}

extension Mutant {
  /// Reads the mutant with this name from a folder.
  static func read(_ name: String, in folder: URL) throws(FileError) -> Mutant {
    let file = "\(name).mutant"
    guard let data = FileManager.default.contents(atPath: folder.appending(path: file).path) else {
      throw FileError(message: "\(folder.path)/\(file): cannot be read")
    }
    do throws(Mutant.Malformed) {
      return try Mutant(name: name, text: String(decoding: data, as: UTF8.self))
    } catch {
      throw FileError(message: "\(file):\(error.line): \(error.message)")
    }
  }
}
