import Foundation
import Simulator

/// One story that was played with some settings.
struct HerdRow {
  let run: HerdRun
  let label: String
  /// How long playing it took, and how much of that the processor worked for it.
  let seconds: Double
  let processorSeconds: Double

  var story: String { run.story.name.rawValue }
}

/// What came of the stories: as text, and as JSON.
struct HerdTable {
  let rows: [HerdRow]

  init(_ rows: [HerdRow]) { self.rows = rows }

  static func head(_ options: HerdOptions) -> String {
    let server = options.herd.server
    let shed =
      switch server.shedding {
      case .refuse: "refuses at once (503)"
      case .fixed: "asks to come again after \(server.retryAfter / 1000) s (429)"
      case .slots: "tells each when there is time for it (429, retry-after)"
      case .hang: "does not answer"
      }
    return """
      \(grouped(Int64(options.herd.clients))) clients. A server that can answer C = \
      \(grouped(server.capacity)) registers a second, or \
      \(grouped(server.capacity * server.snapshotCost)) polls:
      one register of each takes \(seconds(options.herd.shortest)) s. A request that would wait for \
      more than \(server.backlog / 1000) s is shed: the server
      \(shed). Seed \(options.herd.seed).
      """
  }

  var text: String {
    var lines = [
      [
        "story", "waits", "load", "requests", "each", "50 %", "99 %", "100 %", "shed", "missed",
      ]
    ]
    for row in rows {
      let run = row.run
      let missed = run.missed.map(\.rawValue).joined(separator: ", ")
      lines.append([
        row.story, row.label, String(format: "%.2f C", Double(run.peakLoad) / 1000),
        HerdTable.grouped(run.peakRequests),
        String(format: "%.2f (%d)", Double(run.tries) / 100, run.triesMost),
        HerdTable.seconds(run.worst(\.live50)), HerdTable.seconds(run.worst(\.live99)),
        HerdTable.seconds(run.worst(\.live100)), HerdTable.grouped(run.total(\.shed)),
        missed.isEmpty ? "none" : missed,
      ])
    }
    let widths = lines[0].indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    return lines.map { line in
      line.enumerated().map { column, cell in
        if column == 9 { return cell }
        let blank = String(repeating: " ", count: widths[column] - cell.count)
        return column < 2 ? cell + blank : blank + cell
      }.joined(separator: "  ")
    }.joined(separator: "\n")
  }

  /// The only line that differs from one time to the next.
  var speed: String {
    String(
      format: "%@ events in %.1f s (%.1f s of the processor): %.2f million a second; "
        + "%d bytes for each client.",
      HerdTable.grouped(events), time, rows.reduce(0) { $0 + $1.processorSeconds },
      Double(events) / max(time, 0.001) / 1e6, bytesPerClient)
  }

  private var events: Int64 { rows.reduce(0) { $0 + $1.run.events } }
  private var time: Double { rows.reduce(0) { $0 + $1.seconds } }
  private var bytesPerClient: Int { rows.map(\.run.bytesPerClient).max() ?? 0 }

  /// One JSON object on one line. The figures beside the stories are those of the worst one.
  var json: String {
    get throws {
      struct Document: Encodable {
        let clients: Int
        let capacity: Int64
        let seed: UInt64
        let events: Int64
        let eventsPerSecond: Int64
        let bytesPerClient: Int
        let peakRequestsPerSecond: Int64
        let secondsUntilLive: Double?
        let stories: [HerdFigures]
      }
      let figures = rows.map(HerdFigures.init)
      let untilLive = figures.map(\.secondsUntilLive)
      let settings = rows.first?.run.settings ?? HerdSettings()
      let document = Document(
        clients: settings.clients, capacity: settings.server.capacity, seed: settings.seed,
        events: events, eventsPerSecond: Int64(Double(events) / max(time, 0.001)),
        bytesPerClient: bytesPerClient,
        peakRequestsPerSecond: rows.map(\.run.peakRequests).max() ?? 0,
        secondsUntilLive: untilLive.contains(nil) ? nil : untilLive.compactMap { $0 }.max(),
        stories: figures)
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(document), as: UTF8.self)
    }
  }

  static func grouped(_ number: Int64) -> String {
    var digits = String(number)
    var text = ""
    while digits.count > 3 {
      text = "," + digits.suffix(3) + text
      digits.removeLast(3)
    }
    return digits + text
  }

  /// Seconds with one decimal; "never" for `nil`.
  static func seconds(_ milliseconds: Int64?) -> String {
    guard let milliseconds else { return "never" }
    return String(format: "%.1f", Double(milliseconds) / 1000)
  }
}

/// One story's figures in JSON. Times are in seconds; one that is missing is never.
struct HerdFigures: Encodable {
  let story: String
  let waits: String
  let events: Int64
  let peakLoad: Double
  let peakRequestsPerSecond: Int64
  let requestsPerClient: Double
  let mostRequestsOfOneClient: Int64
  let secondsUntilHalfLive: Double?
  let secondsUntil99PercentLive: Double?
  let secondsUntilLive: Double?
  let shed: Int64
  let unreachable: Int64
  let served: Int64
  let servedInVain: Int64
  let missed: [String]

  init(_ row: HerdRow) {
    func seconds(_ milliseconds: Int64?) -> Double? { milliseconds.map { Double($0) / 1000 } }
    let run = row.run
    story = row.story
    waits = row.label
    events = run.events
    peakLoad = Double(run.peakLoad) / 1000
    peakRequestsPerSecond = run.peakRequests
    requestsPerClient = Double(run.tries) / 100
    mostRequestsOfOneClient = run.triesMost
    secondsUntilHalfLive = seconds(run.worst(\.live50))
    secondsUntil99PercentLive = seconds(run.worst(\.live99))
    secondsUntilLive = seconds(run.worst(\.live100))
    shed = run.total(\.shed)
    unreachable = run.total(\.unreachable)
    served = run.served
    servedInVain = run.wasted
    missed = run.missed.map(\.rawValue)
  }
}
