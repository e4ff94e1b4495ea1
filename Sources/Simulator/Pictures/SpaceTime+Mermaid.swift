internal import UpdateMachine

extension SpaceTime {
  /// As a sequence diagram of Mermaid. Time is not to scale; a message that arrives is told where
  /// it arrives, a lost one where it was sent.
  package var mermaid: String {
    var lines = ["sequenceDiagram", "  accTitle: \(SpaceTime.mermaid(title))"]
    for (index, lane) in lanes.enumerated() {
      lines.append("  participant L\(index) as \(SpaceTime.mermaid(lane))")
    }
    for entry in mermaidEntries { lines.append("  " + entry.line) }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The lines below the head, in order of time. What happens in the moment in which a message
  /// arrives comes after it.
  private var mermaidEntries: [(at: Moment, line: String)] {
    var entries: [(at: Moment, rank: Int, line: String)] = []
    for arrow in arrows {
      let text = SpaceTime.mermaid(arrow.text)
      let (at, rank, sign) =
        switch arrow.end {
        case .arrived(let at): (at, 0, "->>")
        case .lost, .none: (arrow.sent, 2, "-x")
        }
      entries.append((at, rank, "L\(arrow.from)\(sign)L\(arrow.to): \(text)"))
    }
    let all = lanes.count > 1 ? "L0,L\(lanes.count - 1)" : "L0"
    for mark in marks {
      let over = mark.lane.map { "L\($0)" } ?? all
      let text = SpaceTime.mermaid("\(SpaceTimeDrawing.clock(mark.at)) \(mark.text)")
      entries.append((mark.at, 1, "Note over \(over): \(text)"))
    }
    let order = entries.indices.sorted {
      let (one, other) = (entries[$0], entries[$1])
      if one.at != other.at { return one.at < other.at }
      return one.rank == other.rank ? $0 < $1 : one.rank < other.rank
    }
    return order.map { (entries[$0].at, entries[$0].line) }
  }

  /// A text without what Mermaid would read as its own.
  private static func mermaid(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case ";": result += "#59;"
      case "#": result += "#35;"
      case "<": result += "#lt;"
      case ">": result += "#gt;"
      case "\n": result += " "
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
