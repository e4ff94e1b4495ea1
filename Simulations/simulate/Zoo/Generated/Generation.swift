import Foundation
import Simulator
import UpdateMachine

/// A bug that an operator has made, which nobody chose.
struct GeneratedMutant: Equatable, Sendable {
  /// The file, line, column and operator, and a number if there are several of that operator.
  var name: String
  var file: String
  var change: GeneratedChange
  /// The change as whole lines, of which the old ones occur once in the file.
  var hunk: Mutant.Hunk

  /// The room that the bug is in: the product and its folder.
  var room: String {
    let parts = file.split(separator: "/")
    return parts.count > 3 ? "\(parts[1])/\(parts[2])" : "\(parts[1])"
  }

  /// The change as it is written in a file of the Zoo.
  var difference: String {
    (["in \(file)"] + hunk.search.map { "-\($0)" } + hunk.replacement.map { "+\($0)" })
      .joined(separator: "\n")
  }
}

/// Makes bugs out of the library's sources.
struct Generation {
  /// The products whose sources are changed. What judges is left out, because it cannot find what
  /// is wrong with itself: the simulator, its server on a socket, and the files of invariants,
  /// which only checks call.
  static let products = [
    "HTTPSync", "MessageSync", "SQLiteStore", "SyncProtocols", "UpdateMachine", "ZulipSync",
  ]

  /// A change with its name.
  struct Site {
    var name: String
    var file: String
    /// What it is drawn by: its file, its line's text and its own, but not where the line is.
    var key: String
    var change: GeneratedChange
  }

  /// Every change that the operators can make, in the order of files and places.
  private(set) var sites: [Site] = []
  private var sources: [String: SwiftTokens] = [:]

  init(_ files: [String: Data]) throws(FileError) {
    let wanted = files.keys.sorted().filter { file in
      file.hasSuffix(".swift") && !file.hasSuffix("+Invariants.swift") && !file.contains(".docc/")
        && Generation.products.contains { file.hasPrefix("Sources/\($0)/") }
    }
    var parsed: [(file: String, bodies: SwiftBodies)] = []
    var siblings: [Substring: PropertySiblings] = [:]
    for file in wanted {
      do throws(SwiftTokens.Malformed) {
        let bodies = try SwiftBodies(Array(files[file] ?? Data()))
        parsed.append((file, bodies))
        siblings[Generation.product(of: file), default: PropertySiblings()].add(bodies.source)
      } catch {
        throw FileError(message: "\(file):\(error.line): found \(error.found)")
      }
    }
    for (file, bodies) in parsed {
      let known = siblings[Generation.product(of: file)] ?? PropertySiblings()
      sources[file] = bodies.source
      add(MutationSites(bodies, known), of: file)
    }
  }

  private static func product(of file: String) -> Substring { file.split(separator: "/")[1] }

  private mutating func add(_ found: MutationSites, of file: String) {
    var counts: [String: Int] = [:]
    var keys: [String: Int] = [:]
    for change in found.changes {
      let place = found.source.place(of: change.range.lowerBound)
      let path = file.dropFirst("Sources/".count)
      let name = "\(path):\(place.line):\(place.column):\(change.kind.rawValue)"
      let count = counts[name, default: 0] + 1
      counts[name] = count
      let line = found.source.lineText(at: change.range.lowerBound)
      let key = "\(path) \(change.kind.rawValue) \(line) \(change.replacement) \(place.column)"
      keys[key, default: 0] += 1
      sites.append(
        Site(
          name: count > 1 ? "\(name):\(count)" : name, file: file,
          key: "\(key) \(keys[key] ?? 0)", change: change))
    }
  }

  /// Draws some bugs. With the same seed, fewer are the first of more, and an edit of one line
  /// leaves what is drawn of the others.
  ///
  /// - Parameter rooms: folders of `Sources`, such as "UpdateMachine/Machine"; empty: all.
  /// - Parameter taken: numbers of other mutants in the same copy.
  func drawn(
    _ count: Int, seed: UInt64, in rooms: [String] = [], besides taken: Set<UInt32> = []
  ) -> [GeneratedMutant] {
    let wanted = sites.filter { site in
      rooms.isEmpty || rooms.contains { site.file.hasPrefix("Sources/\($0)/") }
    }
    let keyed = wanted.map { site in
      var digest = StateDigest()
      digest.fold(seed)
      digest.fold(site.key)
      return (key: StateDigest.mixed(digest.value), site: site)
    }
    // Two with the same number would be planted together.
    var numbers = taken
    let sorted = keyed.sorted { ($0.key, $0.site.name) < ($1.key, $1.site.name) }
    let kept = sorted.map(\.site).filter { numbers.insert(Schemata.number(of: $0.name)).inserted }
    return kept.prefix(count).compactMap { site in
      guard let source = sources[site.file] else { return nil }
      return GeneratedMutant(
        name: site.name, file: site.file, change: site.change,
        hunk: source.hunk(of: site.change, in: site.file))
    }
  }
}

extension SwiftTokens {
  /// A byte's line and column, from 1.
  func place(of offset: Int) -> (line: Int, column: Int) {
    let lineStart = text[..<offset].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return (line(of: offset), offset - lineStart + 1)
  }

  /// The text of a byte's line, without blanks at its ends.
  func lineText(at offset: Int) -> String {
    let start = text[..<offset].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    let end = text[offset...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
    return String(decoding: text[start..<end], as: UTF8.self).trimmed
  }

  /// A change as whole lines: as many before it as are needed for the old ones to occur once.
  func hunk(of change: GeneratedChange, in file: String) -> Mutant.Hunk {
    let newline = UInt8(ascii: "\n")
    var start = text[..<change.range.lowerBound].lastIndex(of: newline).map { $0 + 1 } ?? 0
    let end = text[change.range.upperBound...].firstIndex(of: newline) ?? text.count
    func lines(_ bytes: some Sequence<UInt8>) -> [String] {
      String(decoding: Array(bytes), as: UTF8.self)
        .split(separator: "\n", omittingEmptySubsequences: false).map { String($0).trimmed }
    }
    while start > 0, Schemata.occurrences(of: lines(text[start..<end]), in: text).count != 1 {
      start = text[..<(start - 1)].lastIndex(of: newline).map { $0 + 1 } ?? 0
    }
    let changed =
      text[start..<change.range.lowerBound] + Array(change.replacement.utf8)
      + text[change.range.upperBound..<end]
    return Mutant.Hunk(
      file: file, search: lines(text[start..<end]), replacement: lines(changed),
      line: line(of: change.range.lowerBound))
  }
}
