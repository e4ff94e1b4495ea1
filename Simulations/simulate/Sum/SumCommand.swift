import Foundation

extension Simulate {
  static let sumCommand = Command(
    name: "sum",
    summary: "add up reports of run --json, and count each bug once",
    help: """
      Usage: simulate sum FILE… [--json]

      Adds up what processes of simulate run --json have printed, such as those of a campaign
      (Simulations/campaign/campaign --help). A FILE is what one of them printed: its last line
      counts. A folder stands for all files in it whose names end in .json.

        --json   print one JSON object as the last line: a report, which can be added up again

      It prints a table like that of run, how many failures each oracle found, and one line for
      each thing that was expected and not so: how many runs failed in this way, in which worlds,
      and the command that repeats the one with the smallest seed. What was expected is told
      without its values, which differ from seed to seed. Two bugs that break the same rule are
      one line, so look again when one is mended.

      It refuses reports of different builds or options, and seeds that are in two reports.

      Exit codes:
        0    no run failed
        1    a run failed
        2    bad usage, a file is no such report, or reports that do not belong together
        130  interrupted
      """,
    run: { words, console in
      let arguments = try Arguments(words, flags: ["--json"], takesFiles: true)
      guard !arguments.files.isEmpty else {
        throw UsageError(message: "which reports? Name files, or the folder that has them")
      }
      return try sum(arguments.files, asJSON: arguments.has("--json"), console)
    })

  private static func sum(
    _ names: [String], asJSON: Bool, _ console: Console
  ) throws(FileError) -> ExitCode {
    var files: [String] = []
    for name in names { files += try SumFiles.reports(in: name) }
    var total: ReportSum?
    let progress = Progress(console)
    for (number, file) in files.enumerated() {
      if Interrupt.wasAsked { return .interrupted }
      progress.show("sum: \(number) of \(files.count) reports")
      let figures = try SumFiles.read(file)
      if total == nil { total = ReportSum(figures, file) } else { try total?.add(figures, file) }
    }
    console.progress(nil)
    guard let total else { throw FileError(message: "there is no report") }
    try total.requireNoOverlap()
    for line in SumReport(figures: total.figures, files: files.count).lines { console.out(line) }
    if asJSON { console.out(total.figures.json) }
    return total.figures.failures == 0 ? .success : .failure
  }
}

/// A sum of reports that remembers which file has which seeds.
private struct ReportSum {
  private(set) var figures: Figures
  private let first: String
  private var ranges: [(range: Figures.Range, file: String)]

  init(_ figures: Figures, _ file: String) {
    self.figures = figures
    first = file
    ranges = figures.ranges.map { ($0, file) }
  }

  mutating func add(_ other: Figures, _ file: String) throws(FileError) {
    guard figures.build != Build.unknown else {
      throw FileError(
        message: "\(first) does not say which build made it. Only reports of one build add up")
    }
    guard other.build == figures.build else {
      throw FileError(
        message: "\(file) is of another build than \(first) (\(other.build), \(figures.build)). "
          + "Add up the reports of one build only")
    }
    guard other.options == figures.options, other.clients == figures.clients else {
      throw FileError(
        message: "\(file) has other options than \(first) (\(SumFiles.named(other.options)), "
          + "\(SumFiles.named(figures.options))). Add up runs of the same options only")
    }
    ranges += other.ranges.map { ($0, file) }
    figures.add(other)
  }

  /// No seed may count twice.
  func requireNoOverlap() throws(FileError) {
    let sorted = ranges.sorted { $0.range.first < $1.range.first }
    for (one, next) in zip(sorted, sorted.dropFirst()) where next.range.first <= one.range.last {
      let last = min(one.range.last, next.range.last)
      throw FileError(
        message: "\(one.file) and \(next.file) both have the seeds \(next.range.first) to \(last), "
          + "which would count twice. Leave one of the files out")
    }
  }
}

/// Finds and reads reports.
private enum SumFiles {
  static func named(_ options: String) -> String { options.isEmpty ? "no options" : options }

  /// The file itself, or the reports in a folder, in the order of their names.
  static func reports(in name: String) throws(FileError) -> [String] {
    var isFolder: ObjCBool = false
    // The pointer to `isFolder` does not outlive the call.
    let exists = unsafe FileManager.default.fileExists(atPath: name, isDirectory: &isFolder)
    guard exists, isFolder.boolValue else { return [name] }
    let found: [String]
    do {
      found = try FileManager.default.contentsOfDirectory(atPath: name)
    } catch {
      throw FileError(message: "\(name): cannot be read: \(error.localizedDescription)")
    }
    let reports = found.filter { $0.hasSuffix(".json") }.sorted()
    guard !reports.isEmpty else {
      throw FileError(message: "\(name): this folder has no report: no file that ends in .json")
    }
    let folder = name.hasSuffix("/") ? name : name + "/"
    return reports.map { folder + $0 }
  }

  /// The report on the last line of a file.
  static func read(_ file: String) throws(FileError) -> Figures {
    let data: Data
    do {
      data = try Data(contentsOf: URL(fileURLWithPath: file))
    } catch {
      throw FileError(message: "\(file): cannot be read: \(error.localizedDescription)")
    }
    let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard let number = lines.lastIndex(where: { !$0.isEmpty }) else {
      throw FileError(message: "\(file): is empty. \(advice)")
    }
    let place = "\(file):\(number + 1)"
    let figures: Figures
    do {
      figures = try JSONDecoder().decode(Figures.self, from: Data(lines[number]))
    } catch {
      throw FileError(message: "\(place): \(reason(error)). \(advice)")
    }
    guard figures.makesSense else {
      throw FileError(
        message: "\(place): its numbers are not those of a report. \(advice)")
    }
    return figures
  }

  private static func reason(_ error: any Error) -> String {
    guard let error = error as? DecodingError else { return "no report of simulate run --json" }
    switch error {
    case .keyNotFound(let key, _):
      return "no report of simulate run --json: it has no \"\(key.stringValue)\""
    case .typeMismatch(_, let context), .valueNotFound(_, let context):
      let path = context.codingPath.map(\.stringValue).joined(separator: ".")
      return "no report of simulate run --json: expected another kind of value at \"\(path)\""
    case .dataCorrupted:
      return "no report of simulate run --json: the last line must be a JSON object"
    @unknown default:
      return "no report of simulate run --json"
    }
  }

  private static var advice: String {
    "Write one anew: simulate run … --json > NEW.json"
  }
}

extension Figures {
  /// Whether these numbers can be a report's. A file may hold anything.
  fileprivate var makesSense: Bool {
    let counts = [
      seeds, steps, requests, checks, simulatedMilliseconds, longestConvergence, breaches, failures,
      audits.suspects, audits.fetches, audits.repairs, changes.made, changes.refused,
      changes.conflicts, changes.overruled,
    ]
    let told = stories.reduce(0) { simulate.sum($0, $1.count) }
    return counts.allSatisfy { $0 >= 0 } && (0...1e12).contains(seconds) && told == failures
      && faults.values.allSatisfy { $0 >= 0 } && rows.values.allSatisfy { $0 >= 0 }
      && stories.allSatisfy { $0.count > 0 && $0.worlds.allSatisfy { $0.count > 0 } }
      && !ranges.isEmpty && ranges.allSatisfy { $0.first <= $0.last } && UInt64(seeds) <= asked
      && traceHash.utf8.count == 16 && UInt64(traceHash, radix: 16) != nil
  }
}
