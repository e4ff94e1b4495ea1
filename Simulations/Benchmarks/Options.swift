import Foundation

/// What the command line asks for. `--help` tells what there is.
struct Options {
  /// Every group once, with few rounds and small sizes, and its figures against Limits.txt.
  var isSmoke = false
  /// Keeps the figures: those of `--smoke` in Limits.txt, others in .build/Figures.txt.
  var writes = false
  /// Groups whose names begin with one of these; all if there are none.
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
  }

  func wants(_ group: String) -> Bool {
    words.isEmpty || words.contains { group.hasPrefix($0) }
  }

  /// `Simulations/Benchmarks/NAME`.
  static func file(_ name: String) -> URL {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: name)
      .standardizedFileURL
  }
}

/// What this run was asked for.
let options = Options(Array(CommandLine.arguments.dropFirst()))

/// How large something is: smaller in a smoke run.
func size<Number: BinaryInteger>(_ whole: Number, smoke: Number) -> Number {
  options.isSmoke ? smoke : whole
}
