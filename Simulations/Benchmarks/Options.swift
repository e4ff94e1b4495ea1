import Foundation

/// The options of the command line, which `--help` lists.
struct Options {
  /// Runs every group with few rounds and small sizes, and compares its figures with Limits.txt.
  var isSmoke = false
  /// Writes the figures: with `--smoke` to Limits.txt, otherwise to .build/Figures.txt.
  var writes = false
  /// Runs the groups whose names begin with one of these words; if there are none, all.
  var words: [String] = []

  static let usage = """
    usage: Benchmarks [--smoke] [--write] [GROUP…]
    Measures the groups whose names begin with one of the words, or all of them.
      --smoke   small sizes; results are checked, and counts and ratios compared with Limits.txt
      --write   keeps the figures: with --smoke in Limits.txt, otherwise in .build/Figures.txt
    """

  init(_ arguments: [String]) {
    for argument in arguments {
      switch argument {
      case "--smoke": isSmoke = true
      case "--write": writes = true
      case _ where argument.hasPrefix("-"):
        print(Options.usage)
        exit(argument == "--help" ? 0 : 2)
      default: words.append(argument)
      }
    }
    if let why = objection {
      print("Benchmarks: \(why)")
      exit(2)
    }
  }

  /// Why nothing is measured: bad usage, told before the work and not after it.
  private var objection: String? {
    let names = groups.map { $0.name }
    if let word = words.first(where: { word in !names.contains { $0.hasPrefix(word) } }) {
      return "there is no group \(word). The groups: \(names.joined(separator: ", "))"
    }
    guard writes, !isSmoke, !words.isEmpty else { return nil }
    return "--write keeps the figures of all groups: leave the groups out"
  }

  func wants(_ group: String) -> Bool {
    words.isEmpty || words.contains { group.hasPrefix($0) }
  }

  /// The URL of `Simulations/Benchmarks/NAME`.
  static func file(_ name: String) -> URL {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: name)
      .standardizedFileURL
  }
}

/// The options of this run.
let options = Options(Array(CommandLine.arguments.dropFirst()))

/// Chooses between the usual size and that of a smoke run.
func size<Number: BinaryInteger>(_ whole: Number, smoke: Number) -> Number {
  options.isSmoke ? smoke : whole
}
