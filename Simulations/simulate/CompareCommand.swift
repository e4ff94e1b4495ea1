import Foundation
import Simulator
import UpdateMachine

extension Simulate {
  static let compareCommand = Command(
    name: "compare",
    summary: "one workload over the five protocols, side by side",
    help: """
      Usage: simulate compare [OPTIONS]

      Four users make some 200 changes in half an hour, each on a device of their own. Devices are
      off line for minutes and crash, the server restarts, requests and answers are lost. Then comes
      half an hour of quiet, after which all devices must show the same. All this is drawn from the
      seed before anything runs, so it is the same for each protocol.

      Options:
        --seed N         the first seed (1)
        --seeds N        the number of workloads, each of another seed (5)
        --protocol NAME  only this one of the five
        --json           print one JSON object on the last line: protocols is a list of objects
        --svg FILE       draw the table as a picture, too
        --workload FILE  write the workloads and how they end, so that a library of another
                         language can be given the same: one JSON object a line, for each seed

      The lines of a workload file, with `at` in milliseconds:
        seed, devices, calm, end       a workload begins; when all trouble ends; when it ends
        at, device, does, item         an edit: create, set or delete; with the fields written
        at, device, happens            goes-offline, comes-back or crashes
        at, happens                    server-restarts
        at, until, device, loses       requests that leave in this time lose request or answer
        seed, protocol, holds          the items that the server holds at the end, by number

      The columns, each the mean of one workload unless it says otherwise:
        asks        how its clients ask, as its authors meant it: a request that waits for news,
                    or one every minute
        changes     what users did. They can change only what they see
        requests    registers, polls and pushes that left a device
        up, down    kB of all requests and of all answers: their bodies as JSON, without headers
        see         seconds from a change until another device shows it: the median, for two
                    devices that were on line when it was made. Deletions are not measured, nor
                    what was replaced before it was seen
        converge    seconds after the trouble until all devices show the same for good: the longest
        lost        changes given up, and their users told so: refused, overruled, or impossible
                    off line
        stored      kB on a device's disk at the end

      Exit codes:
        0    all devices showed the same in the end
        1    some did not
        2    bad usage, or a file cannot be written
        130  interrupted
      """,
    run: { words, console in
      let arguments = try Arguments(
        words, options: ["--seed", "--seeds", "--svg", "--protocol", "--workload"],
        flags: ["--json"])
      let first = try arguments.number("--seed", in: UInt64(0)...UInt64(1 << 62)) ?? 1
      let count = try arguments.number("--seeds", in: UInt64(1)...10_000) ?? 5
      let seeds = first..<(first + count)
      let compared = try protocols(arguments.values["--protocol"])
      guard let measures = measures(compared, seeds: seeds, console) else {
        console.out("Interrupted.")
        return .interrupted
      }
      let table = ComparisonTable(measures)
      console.out(table.text)
      if arguments.has("--json") { console.out(try table.json(firstSeed: first)) }
      try write(table.svg, to: arguments.values["--svg"])
      if let file = arguments.values["--workload"] {
        try write(workload(of: seeds, measures), to: file)
      }
      for row in measures {
        guard let failure = row.failure else { continue }
        console.error("simulate compare: \(row.spoken.rawValue) does not converge: \(failure)")
      }
      return measures.allSatisfy { $0.failure == nil } ? .success : .failure
    })

  /// The protocols of this name; `nil`: all five.
  private static func protocols(
    _ name: String?
  ) throws(UsageError) -> [LibraryWorld.SpokenProtocol] {
    guard let name else { return Comparison.protocols }
    let named = Comparison.protocols.filter { $0.rawValue == name }
    guard named.isEmpty else { return named }
    let names = Comparison.protocols.map(\.rawValue).joined(separator: ", ")
    throw UsageError(message: "--protocol needs one of \(names), found \"\(name)\"")
  }

  /// - Parameter file: `nil`: nothing is written.
  private static func write(_ text: String, to file: String?) throws(FileError) {
    guard let file else { return }
    do {
      try Data(text.utf8).write(to: URL(filePath: file))
    } catch {
      throw FileError(message: "cannot write \(file): \(error.localizedDescription)")
    }
  }

  /// The workloads as JSON objects, one a line, each with what the protocols' servers hold then.
  private static func workload(of seeds: Range<UInt64>, _ measures: [ProtocolMeasures]) -> String {
    var lines: [String] = []
    for (index, seed) in seeds.enumerated() {
      lines += Comparison.workload(seed: seed)
      for row in measures {
        lines.append(
          "{\"holds\":\(row.held[index]),\"protocol\":\"\(row.spoken.rawValue)\",\"seed\":\(seed)}")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// `nil`: interrupted.
  private static func measures(
    _ protocols: [LibraryWorld.SpokenProtocol], seeds: Range<UInt64>, _ console: Console
  ) -> [ProtocolMeasures]? {
    let progress = Progress(console)
    defer { console.progress(nil) }
    var all: [ProtocolMeasures] = []
    for spoken in protocols {
      var sum: ProtocolMeasures?
      for seed in seeds {
        if Interrupt.wasAsked { return nil }
        progress.show("compare: \(spoken.rawValue), seed \(seed)")
        let found = Comparison.measure(spoken, seed: seed)
        if sum == nil { sum = found } else { sum?.add(found) }
      }
      if let sum { all.append(sum) }
    }
    return all
  }
}
