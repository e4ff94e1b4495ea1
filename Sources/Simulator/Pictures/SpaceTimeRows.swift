internal import UpdateMachine

/// The rows of a diagram: one for each moment at which anything happened, from the top down. Time
/// is not to scale. A long pause has a narrow row of its own.
struct SpaceTimeRows {
  static let lineHeight = 17
  static let gapHeight = 18
  /// Longer lines are wrapped.
  static let textWidth = 96

  struct Row {
    let at: Moment
    let top: Int
    /// How long nothing happened before this row, if that is worth a word.
    let pause: TimeSpan?
    /// The lines of text, with the index of the mark that each begins or continues.
    let lines: [(mark: Int, text: String)]

    var height: Int { max(1, lines.count) * SpaceTimeRows.lineHeight + 6 }
  }

  let rows: [Row]
  let height: Int
  /// The number of characters of the longest line.
  let widest: Int

  init(_ picture: SpaceTime, top: Int) {
    var moments: [Int64] = []
    for mark in picture.marks { moments.append(mark.at.milliseconds) }
    for arrow in picture.arrows {
      moments.append(arrow.sent.milliseconds)
      if let end = arrow.endMoment { moments.append(end.milliseconds) }
    }
    for bar in picture.bars {
      moments.append(bar.parts[0].at.milliseconds)
      if let end = bar.end { moments.append(end.milliseconds) }
    }
    moments.sort()
    let order = picture.marks.indices.sorted {
      let (one, other) = (picture.marks[$0].at, picture.marks[$1].at)
      return one == other ? $0 < $1 : one < other
    }
    var next = order[...]
    var rows: [Row] = []
    var y = top
    var widest = 0
    for (index, moment) in moments.enumerated() {
      if index > 0, moments[index - 1] == moment { continue }
      let at = Moment(milliseconds: moment)
      var pause: TimeSpan?
      if let last = rows.last, at - last.at >= .seconds(2) {
        pause = at - last.at
        y += SpaceTimeRows.gapHeight
      }
      var lines: [(mark: Int, text: String)] = []
      while let mark = next.first, picture.marks[mark].at == at {
        next.removeFirst()
        for line in SpaceTimeRows.wrapped(picture.told(picture.marks[mark])) {
          lines.append((mark, line))
          widest = max(widest, line.unicodeScalars.count)
        }
      }
      let row = Row(at: at, top: y, pause: pause, lines: lines)
      rows.append(row)
      y += row.height
    }
    self.rows = rows
    self.widest = widest
    height = y
  }

  /// The height of a moment: of the first or the last line in it that is about a lane.
  func y(of at: Moment, lane: Int, _ picture: SpaceTime, last: Bool) -> Int {
    guard let row = row(of: at) else { return height }
    let isOfLane = { (line: (mark: Int, text: String)) in picture.marks[line.mark].lane == lane }
    let line = last ? row.lines.lastIndex(where: isOfLane) : row.lines.firstIndex(where: isOfLane)
    return SpaceTimeRows.y(row, line ?? 0)
  }

  /// The middle of a line of text.
  static func y(_ row: Row, _ line: Int) -> Int { row.top + line * lineHeight + lineHeight / 2 + 3 }

  func hasRow(at moment: Moment) -> Bool { row(of: moment) != nil }

  private func row(of at: Moment) -> Row? {
    var (low, high) = (0, rows.count)
    while low < high {
      let middle = (low + high) / 2
      if rows[middle].at < at { low = middle + 1 } else { high = middle }
    }
    return low < rows.count && rows[low].at == at ? rows[low] : nil
  }

  /// Breaks a text at spaces into lines that fit, or within a word that is too long. Lines after
  /// the first are indented.
  static func wrapped(_ text: String) -> [String] {
    var lines: [String] = []
    var line = String.UnicodeScalarView()
    var space: String.UnicodeScalarView.Index?
    var count = 0
    for scalar in text.unicodeScalars {
      let scalar = scalar.value < 0x20 ? " " : scalar
      if count >= textWidth {
        let cut = space ?? line.endIndex
        lines.append(String(line[..<cut]))
        var rest = String.UnicodeScalarView("    ".unicodeScalars)
        rest.append(contentsOf: line[cut...].drop { $0 == " " })
        line = rest
        count = line.count
        space = nil
      }
      line.append(scalar)
      count += 1
      if scalar == " ", count > textWidth / 2 { space = line.index(before: line.endIndex) }
    }
    lines.append(String(line))
    return lines
  }
}

extension SpaceTime {
  /// What a lane is before the first mark.
  func state(beginning lane: Int) -> LaneState? {
    beginning.indices.contains(lane) ? beginning[lane] : nil
  }

  /// A mark with the name of its lane.
  func told(_ mark: Mark) -> String {
    mark.lane.map { lanes.indices.contains($0) ? "\(lanes[$0])  \(mark.text)" : mark.text }
      ?? mark.text
  }
}

extension SpaceTime.Arrow {
  /// When it arrived or was lost.
  var endMoment: Moment? {
    switch end {
    case .none: nil
    case .arrived(let at), .lost(let at): at
    }
  }
}
