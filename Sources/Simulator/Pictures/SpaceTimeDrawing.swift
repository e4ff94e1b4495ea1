internal import UpdateMachine

/// Draws a diagram as SVG. It stands alone, and follows the reader's light or dark colours. A
/// status has a colour, a shape and a line of its own, so that it can be read without colour. All
/// sizes are whole pixels.
struct SpaceTimeDrawing {
  private let picture: SpaceTime
  private let rows: SpaceTimeRows
  private let laneX: [Int]
  /// By bar: its place beside its lane, from 0.
  private let slots: [Int]
  private let textX: Int
  private let width: Int
  private let legend: [LegendLine]
  private var body = ""

  /// Adds elements to the drawing.
  mutating func add(_ elements: String) { body += elements }

  private static let timeWidth = 84
  private static let laneWidth = 112
  private static let barWidth = 10
  private static let headHeight = 40
  /// How wide so many characters are. The font's characters are all as wide: 0.6 of their height,
  /// or a little more.
  private static func width(_ characters: Int) -> Int { characters * 37 / 5 }

  /// A line of the legend: a glyph and its meaning.
  private struct LegendLine {
    let glyph: String
    let text: String
    /// From the beginning of the legend.
    var place = (x: 0, y: 0)

    init(glyph: String, text: String) {
      self.glyph = glyph
      self.text = text
    }
  }

  private static let legendWidth = 860

  init(_ picture: SpaceTime) {
    self.picture = picture
    legend = SpaceTimeDrawing.legend(of: picture)
    let top = SpaceTimeDrawing.headHeight + (legend.last?.place.y ?? 0) + 32
    rows = SpaceTimeRows(picture, top: top)
    let slots = SpaceTimeDrawing.slots(of: picture)
    self.slots = slots
    var x = SpaceTimeDrawing.timeWidth
    var places: [Int] = []
    for lane in picture.lanes.indices {
      var taken = 0
      for (index, bar) in picture.bars.enumerated() where bar.lane == lane {
        taken = max(taken, slots[index] + 1)
      }
      // A lane's labels are on its left, and its bars on its right.
      x += SpaceTimeDrawing.laneWidth
      places.append(x)
      x += SpaceTimeDrawing.barWidth * taken + 24
    }
    laneX = places
    textX = x + 8
    width = max(
      textX + SpaceTimeDrawing.width(rows.widest + 2),
      SpaceTimeDrawing.width(picture.title.unicodeScalars.count * 7 / 6 + 4),
      SpaceTimeDrawing.legendWidth)
  }

  /// The drawing as one `svg` element.
  ///
  /// - Parameter id: the beginning of the IDs in it, if several stand in one page.
  static func svg(_ picture: SpaceTime, id: String = "spacetime") -> String {
    var drawing = SpaceTimeDrawing(picture)
    return drawing.draw(id)
  }

  private mutating func draw(_ id: String) -> String {
    drawHead()
    drawPauses()
    for lane in picture.lanes.indices { drawLane(lane) }
    for bar in picture.bars.indices { drawBar(bar) }
    for arrow in picture.arrows { draw(arrow) }
    drawMarks()
    let size = "width=\"\(width)\" height=\"\(rows.height + 12)\""
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" \(size) viewBox=\"0 0 \(width) "
      + "\(rows.height + 12)\" class=\"spacetime\" role=\"img\" aria-labelledby=\"\(id)-title\">"
      + "<title id=\"\(id)-title\">\(SpaceTimeDrawing.escaped(picture.title))</title>"
      + "<style>\(SpaceTimeDrawing.style)</style>"
      + "<rect class=\"st-paper\" width=\"\(width)\" height=\"\(rows.height + 12)\"/>\n\(body)</svg>"
  }

  // MARK: Head and legend

  private static func legend(of picture: SpaceTime) -> [LegendLine] {
    var codes = MachineStatus.names.map { _ in false }
    var isOff = false
    for mark in picture.marks {
      switch mark.state {
      case .status(let code): codes[code] = true
      case .off: isOff = true
      case nil: break
      }
    }
    var lines = codes.indices.filter { codes[$0] }.map {
      LegendLine(glyph: glyph(.status($0), at: (0, 0)), text: MachineStatus.names[$0])
    }
    for state in picture.beginning {
      if case .status(let code) = state, !codes[code] {
        lines.append(
          LegendLine(glyph: glyph(.status(code), at: (0, 0)), text: MachineStatus.names[code]))
        codes[code] = true
      }
    }
    if isOff { lines.append(LegendLine(glyph: glyph(.off, at: (0, 0)), text: "no process runs")) }
    if picture.arrows.contains(where: { if case .arrived = $0.end { true } else { false } }) {
      lines.append(
        LegendLine(glyph: "<path class=\"st-arrow\" d=\"M-9 0H9M4 -4L9 0L4 4\"/>", text: "message"))
    }
    if picture.arrows.contains(where: { if case .lost = $0.end { true } else { false } }) {
      lines.append(
        LegendLine(
          glyph: "<path class=\"st-arrow st-lost\" d=\"M-9 0H4M2 -5L10 5M10 -5L2 5\"/>",
          text: "lost message"))
    }
    if picture.arrows.contains(where: { $0.end == .none }) {
      lines.append(
        LegendLine(
          glyph: "<path class=\"st-arrow st-open\" d=\"M-9 0H9\"/>", text: "has not arrived"))
    }
    if !picture.bars.isEmpty {
      lines.append(
        LegendLine(
          glyph: "<rect class=\"st-bar\" x=\"-3\" y=\"-7\" width=\"6\" height=\"14\"/>",
          text: "a log, or a pending change"))
    }
    if picture.marks.contains(where: { $0.kind == .seam }) {
      lines.append(
        LegendLine(
          glyph: "<path class=\"st-seam\" d=\"M-9 -2H9M-9 2H9\"/>",
          text: "seam: a snapshot with its finger"))
    }
    return placed(lines)
  }

  private static func placed(_ lines: [LegendLine]) -> [LegendLine] {
    var (x, y) = (20, 0)
    return lines.map { line in
      var line = line
      let length = width(line.text.unicodeScalars.count) + 44
      if x + length > legendWidth { (x, y) = (20, y + 20) }
      line.place = (x, y)
      x += length
      return line
    }
  }

  private mutating func drawHead() {
    text(8, 18, picture.title, "st-title")
    for line in legend {
      let (x, y) = (line.place.x, line.place.y + 38)
      body += "<g transform=\"translate(\(x) \(y - 4))\">\(line.glyph)</g>"
      text(x + 16, y, line.text, "st-soft")
    }
    let y = SpaceTimeDrawing.headHeight + (legend.last?.place.y ?? 0) + 22
    for lane in picture.lanes.indices {
      text(laneX[lane], y, picture.lanes[lane], "st-lane-name", anchor: "middle")
    }
  }

  private mutating func drawPauses() {
    for row in rows.rows {
      text(6, SpaceTimeRows.y(row, 0) + 4, SpaceTimeDrawing.clock(row.at), "st-soft")
      guard let pause = row.pause else { continue }
      let y = row.top - SpaceTimeRows.gapHeight / 2
      line("st-pause", 6, y - 4, textX - 8, y - 4)
      text(textX, y, "\(pause) pass", "st-soft")
    }
  }

  // MARK: Lanes

  /// The line of a lane, in pieces of one state each.
  private mutating func drawLane(_ lane: Int) {
    let x = laneX[lane]
    var y = rows.rows.first?.top ?? 0
    var state = picture.state(beginning: lane)
    func isClient() -> Bool {
      picture.marks.contains { $0.lane == lane && $0.state != nil }
    }
    let plain = isClient() ? "st-line st-line-none" : "st-line"
    for row in rows.rows {
      for (index, line) in row.lines.enumerated() {
        let mark = picture.marks[line.mark]
        guard mark.lane == lane, let next = mark.state, next != state else { continue }
        let end = SpaceTimeRows.y(row, index)
        self.line(state.map(SpaceTimeDrawing.lineClass) ?? plain, x, y, x, end)
        (y, state) = (end, next)
      }
    }
    self.line(state.map(SpaceTimeDrawing.lineClass) ?? plain, x, y, x, rows.height)
  }

  private static func lineClass(_ state: SpaceTime.LaneState) -> String {
    switch state {
    case .off: "st-line st-line-off"
    case .status(let code): "st-line st-line-\(code)"
    }
  }

  private mutating func drawMarks() {
    var states = picture.lanes.indices.map { picture.state(beginning: $0) }
    for row in rows.rows {
      var last = -1
      for (index, line) in row.lines.enumerated() {
        let mark = picture.marks[line.mark]
        let y = SpaceTimeRows.y(row, index)
        let isFirst = line.mark != last
        last = line.mark
        if mark.kind == .list, isFirst {
          let words = line.text.unicodeScalars.count - mark.text.unicodeScalars.count
          drawList(line.text, from: max(0, words), y)
        } else {
          text(textX, y + 4, line.text, SpaceTimeDrawing.textClass(mark.kind))
        }
        guard isFirst, let lane = mark.lane, laneX.indices.contains(lane) else { continue }
        draw(mark, at: (laneX[lane], y), isNew: mark.state != nil && mark.state != states[lane])
        if let state = mark.state { states[lane] = state }
      }
    }
  }

  private mutating func draw(_ mark: SpaceTime.Mark, at place: (x: Int, y: Int), isNew: Bool) {
    line("st-leader", place.x + 9, place.y, textX - 4, place.y)
    if mark.kind == .seam {
      body +=
        "<path class=\"st-seam\" d=\"M\(place.x + 8) \(place.y - 2)h20m-20 4h20\"/>\n"
    }
    switch mark.kind {
    case .finding:
      body += "<circle class=\"st-finding\" cx=\"\(place.x)\" cy=\"\(place.y)\" r=\"11\"/>"
    case .fault: text(place.x - 18, place.y + 4, "!", "st-fault")
    case .commit:
      body += "<circle class=\"st-commit\" cx=\"\(place.x)\" cy=\"\(place.y)\" r=\"4\"/>"
    case .plain, .seam, .list: break
    }
    guard isNew, let state = mark.state else {
      if mark.kind == .plain {
        body += "<circle class=\"st-dot\" cx=\"\(place.x)\" cy=\"\(place.y)\" r=\"2\"/>"
      }
      return
    }
    body += SpaceTimeDrawing.glyph(state, at: place)
    text(place.x - 11, place.y + 4, SpaceTimeDrawing.label(state), "st-label", anchor: "end")
  }

  /// A list's knowledge as cells over its IDs, with the words before and after it.
  ///
  /// - Parameter start: the index of the first cell in the text. The last is before a space.
  private mutating func drawList(_ told: String, from start: Int, _ y: Int) {
    var words = ""
    var isInside = true
    for (index, scalar) in told.unicodeScalars.enumerated() {
      isInside = isInside && !(index > start && scalar == " ")
      guard index >= start, isInside, let cell = SpaceTimeDrawing.cell(scalar) else {
        words.unicodeScalars.append(scalar)
        continue
      }
      words += " "
      let x = textX + SpaceTimeDrawing.width(start) + (index - start) * 7
      add("<rect class=\"\(cell)\" x=\"\(x)\" y=\"\(y - 5)\" width=\"6\" height=\"10\"/>")
      if scalar == "#" || scalar == "o" {
        line("st-tick", x + 3, y - 3, x + 3, y + 3)
      }
    }
    let bar = words.unicodeScalars.index(words.unicodeScalars.startIndex, offsetBy: start)
    text(textX, y + 4, String(words.unicodeScalars[..<bar]), "st-text")
    text(
      textX + SpaceTimeDrawing.width(start), y + 4, String(words.unicodeScalars[bar...]), "st-text")
  }

  private static func cell(_ scalar: Unicode.Scalar) -> String? {
    switch scalar {
    case "=", "#": "st-known"
    case ".", "o": "st-unknown"
    case "-": "st-formerly"
    case ":": "st-partly"
    default: nil
    }
  }

  private static func textClass(_ kind: SpaceTime.Mark.Kind) -> String {
    switch kind {
    case .plain, .seam, .list: "st-text"
    case .commit: "st-text st-strong"
    case .fault: "st-text st-bad"
    case .finding: "st-text st-bad st-strong"
    }
  }

  // MARK: Messages and bars

  private mutating func draw(_ arrow: SpaceTime.Arrow) {
    guard laneX.indices.contains(arrow.from), laneX.indices.contains(arrow.to) else { return }
    let from = laneX[arrow.from]
    let to = laneX[arrow.to]
    let start = rows.y(of: arrow.sent, lane: arrow.from, picture, last: true)
    let direction = to > from ? 1 : -1
    let title = "<title>\(SpaceTimeDrawing.escaped(arrow.text))</title>"
    var end = (x: to - 8 * direction, y: rows.height)
    var kind = "st-arrow"
    switch arrow.end {
    case .arrived(let at):
      end.y = max(start, rows.y(of: at, lane: arrow.to, picture, last: false))
    case .lost(let at):
      end.x = from + (to - from) * 3 / 5
      end.y = max(start, rows.y(of: at, lane: arrow.to, picture, last: false))
      kind += " st-lost"
    case .none:
      end = (from + (to - from) * 3 / 5, min(start + 40, rows.height))
      kind += " st-open"
    }
    body += "<path class=\"\(kind)\" d=\"M\(from + 8 * direction) \(start)L\(end.x) \(end.y)"
    switch arrow.end {
    case .arrived:
      let (back, side) = SpaceTimeDrawing.barbs(end.x - from, end.y - start)
      body += "M\(end.x - back.x + side.x) \(end.y - back.y + side.y)L\(end.x) \(end.y)"
      body += "L\(end.x - back.x - side.x) \(end.y - back.y - side.y)"
    case .lost:
      body += "M\(end.x - 5) \(end.y - 5)l10 10m0 -10l-10 10"
    case .none: break
    }
    body += "\">\(title)</path>\n"
  }

  /// Where the barbs of an arrow's head are, from its point: so far back, and so far to the side.
  private static func barbs(
    _ dx: Int, _ dy: Int
  ) -> (back: (x: Int, y: Int), side: (x: Int, y: Int)) {
    // In WebAssembly an `Int` has 32 bits.
    let (dx, dy) = (Int64(dx), Int64(dy))
    let length = max(1, squareRoot(dx * dx + dy * dy))
    return (
      (Int(dx * 8 / length), Int(dy * 8 / length)), (Int(-dy * 4 / length), Int(dx * 4 / length))
    )
  }

  private static func squareRoot(_ number: Int64) -> Int64 {
    var root = max(1, number)
    while root > number / root { root = (root + number / root) / 2 }
    return root
  }

  /// Each bar gets the first place that no earlier bar of its lane takes while this one lasts.
  private static func slots(of picture: SpaceTime) -> [Int] {
    let never = Moment(milliseconds: .min)
    var ends = picture.lanes.map { _ in Array(repeating: never, count: slotsMaximum) }
    return picture.bars.map { bar in
      let begun = bar.parts.first?.at ?? never
      let slot = ends[bar.lane].firstIndex { $0 <= begun } ?? slotsMaximum - 1
      ends[bar.lane][slot] = bar.end ?? Moment(milliseconds: .max)
      return slot
    }
  }

  /// More bars than this at one lane lie over one another.
  private static let slotsMaximum = 12

  private mutating func drawBar(_ index: Int) {
    let bar = picture.bars[index]
    let x = laneX[bar.lane] + 14 + SpaceTimeDrawing.barWidth * slots[index]
    let start = rows.y(of: bar.parts[0].at, lane: bar.lane, picture, last: false)
    let end = bar.end.map { rows.y(of: $0, lane: bar.lane, picture, last: true) } ?? rows.height
    var told = bar.name
    for part in bar.parts { told += "; \(SpaceTimeDrawing.clock(part.at)) \(part.text)" }
    body += "<rect class=\"st-bar\" x=\"\(x)\" y=\"\(start)\" width=\"6\" "
    body +=
      "height=\"\(max(4, end - start))\"><title>\(SpaceTimeDrawing.escaped(told))</title></rect>"
    for part in bar.parts.dropFirst() where rows.hasRow(at: part.at) {
      let y = rows.y(of: part.at, lane: bar.lane, picture, last: true)
      line("st-bar-part", x, y, x + 6, y)
    }
    // Names of neighbours stand at two heights.
    text(x + 3, start - 2 - slots[index] % 2 * 10, bar.name, "st-small", anchor: "middle")
    body += "\n"
  }
}
