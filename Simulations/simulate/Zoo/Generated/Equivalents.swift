import Foundation

/// Changes of which a person has argued, one by one, that nothing that can be observed differs.
struct Equivalents {
  private var arguments: [(hunk: Mutant.Hunk, argument: String)] = []

  /// The changes that are argued about.
  var hunks: [Mutant.Hunk] { arguments.map(\.hunk) }

  /// The file's name in the Zoo's folder.
  static let file = "equivalent.txt"

  /// Reads the folder's file; without one there are none.
  init(_ folder: URL) throws(FileError) {
    let path = folder.appending(path: Equivalents.file).path
    let data = FileManager.default.contents(atPath: path) ?? Data()
    try self.init(text: String(decoding: data, as: UTF8.self))
  }

  /// Reads entries, one after the other. Each is an argument, an empty line, and the change, as
  /// `zoo --generate` prints it: "in FILE", and lines with "-" and "+".
  init(text: String) throws(FileError) {
    var argument: [String] = []
    var hunk: Mutant.Hunk?
    func malformed(_ line: Int) -> FileError {
      FileError(
        message:
          "\(Equivalents.file):\(line): expected an argument, an empty line, \"in FILE\", and "
          + "then lines with \"-\" and \"+\"")
    }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      if line.hasPrefix("#") { continue }
      let rest = String(line.dropFirst())
      switch (line.first, hunk) {
      case ("-", let old?) where old.replacement.isEmpty: hunk?.search.append(rest)
      case ("+", let old?) where !old.search.isEmpty: hunk?.replacement.append(rest)
      case ("-", _), ("+", _): throw malformed(index + 1)
      case (nil, let done?):
        if done.search.isEmpty || done.replacement.isEmpty { throw malformed(index + 1) }
        arguments.append((done, argument.joined(separator: " ")))
        (hunk, argument) = (nil, [])
      case (nil, nil): break
      case (_, _?): throw malformed(index + 1)
      case (_, nil):
        guard line.hasPrefix("in ") else {
          argument.append(String(line))
          continue
        }
        let file = String(line.dropFirst("in ".count))
        if argument.isEmpty || !file.hasPrefix("Sources/") { throw malformed(index + 1) }
        hunk = Mutant.Hunk(file: file, search: [], replacement: [], line: index + 1)
      }
    }
    if hunk != nil || !argument.isEmpty { throw malformed(lines.count) }
  }

  /// The argument that a change is no bug; `nil`: there is none.
  func argument(for mutant: GeneratedMutant) -> String? {
    arguments.first { entry in
      entry.hunk.file == mutant.file && entry.hunk.search == mutant.hunk.search
        && entry.hunk.replacement == mutant.hunk.replacement
    }?.argument
  }
}
