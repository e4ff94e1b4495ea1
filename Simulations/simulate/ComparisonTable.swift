import Foundation
import Simulator
import UpdateMachine

/// The five protocols side by side: as text, as JSON, and as a picture.
struct ComparisonTable {
  /// One protocol's figures, each of one workload.
  struct Row: Encodable {
    let `protocol`: String
    let asks: String
    let changes: Double
    let requests: Double
    let bytesUp: Double
    let bytesDown: Double
    let secondsToSee: Double
    let secondsToConverge: Double
    let lost: Double
    let bytesStored: Double
    let converges: Bool

    init(_ measures: ProtocolMeasures) {
      func mean(_ sum: Int64) -> Double {
        (Double(sum) / Double(measures.runs) * 10).rounded() / 10
      }
      `protocol` = measures.spoken.rawValue
      asks =
        switch measures.cadence {
        case .waits: "waits"
        case .pushed: "subscribes"
        case .every(let period): "every \(period.milliseconds / 1000) s"
        }
      changes = mean(measures.changes)
      requests = mean(measures.requests)
      bytesUp = mean(measures.bytesUp)
      bytesDown = mean(measures.bytesDown)
      secondsToSee = Double(measures.toSee.milliseconds) / 1000
      secondsToConverge = Double(measures.toConverge.milliseconds) / 1000
      lost = mean(measures.lost)
      bytesStored = mean(measures.bytesStored)
      converges = measures.failure == nil
    }
  }

  /// A column: its title, what it means, and its value with so many digits.
  private struct Column: Sendable {
    let title: String
    let meaning: String
    let unit: String
    let digits: Int
    let value: @Sendable (Row) -> Double

    func text(_ row: Row) -> String { String(format: "%.\(digits)f", value(row)) }
  }

  let rows: [Row]

  init(_ measures: [ProtocolMeasures]) { rows = measures.map { Row($0) } }

  private static let columns = [
    Column(title: "changes", meaning: "changes made", unit: "", digits: 0) { $0.changes },
    Column(title: "requests", meaning: "requests", unit: "", digits: 0) { $0.requests },
    Column(title: "up", meaning: "kB sent to the server", unit: "kB", digits: 1) {
      $0.bytesUp / 1000
    },
    Column(title: "down", meaning: "kB sent to the devices", unit: "kB", digits: 1) {
      $0.bytesDown / 1000
    },
    Column(title: "see", meaning: "seconds until others see a change", unit: "s", digits: 1) {
      $0.secondsToSee
    },
    Column(title: "converge", meaning: "seconds to converge", unit: "s", digits: 1) {
      $0.secondsToConverge
    },
    Column(title: "lost", meaning: "changes lost, and their users told so", unit: "", digits: 1) {
      $0.lost
    },
    Column(title: "stored", meaning: "kB stored on a device", unit: "kB", digits: 1) {
      $0.bytesStored / 1000
    },
  ]

  var text: String {
    var lines = [["protocol", "asks"] + ComparisonTable.columns.map { title(of: $0) }]
    for row in rows {
      lines.append([row.protocol, row.asks] + ComparisonTable.columns.map { $0.text(row) })
    }
    let widths = lines[0].indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    return lines.map { line in
      line.enumerated().map { column, cell in
        let blank = String(repeating: " ", count: widths[column] - cell.count)
        return column < 2 ? cell + blank : blank + cell
      }.joined(separator: "  ")
    }.joined(separator: "\n")
  }

  private func title(of column: Column) -> String {
    column.unit.isEmpty ? column.title : "\(column.title) \(column.unit)"
  }

  func json(firstSeed: UInt64) throws -> String {
    struct Document: Encodable {
      let firstSeed: UInt64
      let protocols: [Row]
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let data = try encoder.encode(Document(firstSeed: firstSeed, protocols: rows))
    return String(decoding: data, as: UTF8.self)
  }

  // MARK: The picture

  private static let bar = (height: 14, pitch: 20, maximum: 190)
  private static let panel = (width: 380, left: 110, head: 34)

  /// A panel of bars for each column, two beside each other.
  var svg: String {
    let height = ComparisonTable.panel.head + rows.count * ComparisonTable.bar.pitch + 16
    let width = ComparisonTable.panel.width
    let count = (ComparisonTable.columns.count + 1) / 2
    var parts = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(2 * width)\" height=\"\(count * height)\" "
        + "font-family=\"sans-serif\" font-size=\"12\">",
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>",
    ]
    for (index, column) in ComparisonTable.columns.enumerated() {
      let (x, y) = (index % 2 * width, index / 2 * height)
      parts.append("<g transform=\"translate(\(x) \(y))\">")
      parts += panel(column)
      parts.append("</g>")
    }
    parts.append("</svg>")
    return parts.joined(separator: "\n") + "\n"
  }

  private func panel(_ column: Column) -> [String] {
    let (bar, left) = (ComparisonTable.bar, ComparisonTable.panel.left)
    let greatest = max(rows.map { column.value($0) }.max() ?? 0, 1e-9)
    var parts = [
      "<text x=\"\(left)\" y=\"22\" font-weight=\"bold\">\(column.meaning)</text>"
    ]
    for (index, row) in rows.enumerated() {
      let y = ComparisonTable.panel.head + index * bar.pitch
      let length = Int((column.value(row) / greatest * Double(bar.maximum)).rounded())
      parts.append(
        "<text x=\"\(left - 8)\" y=\"\(y + 11)\" text-anchor=\"end\">\(row.protocol)</text>")
      parts.append(
        "<rect x=\"\(left)\" y=\"\(y)\" width=\"\(length)\" height=\"\(bar.height)\" "
          + "fill=\"#4477aa\"/>")
      parts.append("<text x=\"\(left + length + 6)\" y=\"\(y + 11)\">\(column.text(row))</text>")
    }
    return parts
  }
}
