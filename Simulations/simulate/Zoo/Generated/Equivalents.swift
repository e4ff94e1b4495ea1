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

  /// Reads entries, one after the other. Each is an argument, and the change after an empty line,
  /// as `zoo --generate` prints it.
  init(text: String) throws(FileError) {
    var argument: [String] = []
    var hunk: Mutant.Hunk?
    var file = ""
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      switch line.first {
      case "#": continue
      case "-" where !file.isEmpty:
        if hunk == nil {
          hunk = Mutant.Hunk(file: file, search: [], replacement: [], line: index + 1)
        }
        hunk?.search.append(String(line.dropFirst()))
      case "+" where hunk != nil: hunk?.replacement.append(String(line.dropFirst()))
      default:
        if let done = hunk {
          arguments.append((done, argument.joined(separator: " ")))
          (hunk, argument, file) = (nil, [], "")
        }
        if line.hasPrefix("in Sources/"), !argument.isEmpty {
          file = String(line.dropFirst("in ".count))
        } else if !file.isEmpty || line.first == "-" || line.first == "+" {
          throw FileError(
            message:
              "\(Equivalents.file):\(index + 1): expected an argument, \"in FILE\", and then "
              + "lines with \"-\" and \"+\"")
        } else if !line.isEmpty {
          argument.append(String(line))
        }
      }
    }
    if let done = hunk { arguments.append((done, argument.joined(separator: " "))) }
  }

  /// Why a bug is none; `nil`: nobody has argued that.
  func argument(for mutant: GeneratedMutant) -> String? {
    arguments.first { entry in
      entry.hunk.file == mutant.file && entry.hunk.search == mutant.hunk.search
        && entry.hunk.replacement == mutant.hunk.replacement
    }?.argument
  }
}
