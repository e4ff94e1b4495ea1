import Foundation
import Simulator

/// Requests, their work and live clients, second by second: three diagrams for each story, a line
/// for each variant.
struct HerdPicture {
  private static let width = 760
  private static let plot = (left: 80, width: 640, height: 120, gap: 24)
  private static let colours = [
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777", "#000000",
    "#bb7744", "#44aa99", "#882255", "#999933",
  ]

  let rows: [HerdRow]

  init(_ rows: [HerdRow]) { self.rows = rows }

  private var stories: [HerdStory.Name] {
    HerdStory.Name.allCases.filter { name in rows.contains { $0.run.story.name == name } }
  }

  var svg: String {
    let most = stories.map { variants(of: $0).count }.max() ?? 0
    let pitch = 110 + 3 * (HerdPicture.plot.height + HerdPicture.plot.gap) + most * 16
    let height = stories.count * pitch
    var parts = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(HerdPicture.width)\" "
        + "height=\"\(height)\" font-family=\"sans-serif\" font-size=\"12\">",
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>",
    ]
    for (index, story) in stories.enumerated() {
      parts.append("<g transform=\"translate(0 \(index * pitch))\">")
      parts += panel(story)
      parts.append("</g>")
    }
    parts.append("</svg>")
    return parts.joined(separator: "\n") + "\n"
  }

  private func variants(of story: HerdStory.Name) -> [HerdRow] {
    rows.filter { $0.run.story.name == story }
  }

  private func panel(_ story: HerdStory.Name) -> [String] {
    let rows = variants(of: story)
    let (left, plot) = (HerdPicture.plot.left, HerdPicture.plot)
    var parts = [
      "<text x=\"\(left)\" y=\"22\" font-weight=\"bold\">\(story.rawValue): "
        + "\(HerdStory(story).summary)</text>"
    ]
    let diagrams = [
      diagram(
        "requests a second", rows.map { row in row.run.seconds.map { Double($0.requests) } },
        line: nil),
      diagram(
        "work that came, in multiples of C",
        rows.map { row in
          let most = Double(row.run.settings.server.workPerSecond)
          return row.run.seconds.map { Double($0.work) / most }
        }, line: 1),
      diagram(
        "live clients", rows.map { row in row.run.seconds.map { Double($0.live) } }, line: nil)
        + times(rows),
    ]
    for (index, diagram) in diagrams.enumerated() {
      parts.append(
        "<g transform=\"translate(0 \(34 + index * (plot.height + plot.gap)))\">")
      parts += diagram
      parts.append("</g>")
    }
    for (index, row) in rows.enumerated() {
      let y = 34 + 3 * (plot.height + plot.gap) + 24 + index * 16
      parts.append(
        "<rect x=\"\(left)\" y=\"\(y - 9)\" width=\"10\" height=\"10\" "
          + "fill=\"\(colour(index))\"/><text x=\"\(left + 16)\" y=\"\(y)\">"
          + "\(escaped(row.label))</text>")
    }
    return parts
  }

  /// A diagram with a line for each variant, and a dashed one at `mark`.
  private func diagram(_ title: String, _ lines: [[Double]], line mark: Double?) -> [String] {
    let (left, width, height) = (
      HerdPicture.plot.left, HerdPicture.plot.width, HerdPicture.plot.height
    )
    let longest = max(lines.map(\.count).max() ?? 0, 2)
    let top = max(lines.flatMap { $0 }.max() ?? 0, (mark ?? 1) * 1.2)
    var parts = frame(title, top: top)
    if let mark {
      let y = text(Double(height) * (1 - mark / top))
      parts.append(
        "<path d=\"M\(left) \(y)h\(width)\" stroke=\"black\" stroke-dasharray=\"4 3\"/>"
          + "<text x=\"\(left + width + 6)\" y=\"\(y)\">C</text>")
    }
    for (index, values) in lines.enumerated() {
      parts.append(line(values, top: top, longest: longest, index))
    }
    return parts
  }

  /// The frame of a diagram, with its title and its greatest value.
  private func frame(_ title: String, top: Double) -> [String] {
    let (left, width, height) = (
      HerdPicture.plot.left, HerdPicture.plot.width, HerdPicture.plot.height
    )
    return [
      "<text x=\"\(left + 6)\" y=\"14\" fill=\"#555555\">\(title)</text>",
      "<rect x=\"\(left)\" y=\"0\" width=\"\(width)\" height=\"\(height)\" fill=\"none\" "
        + "stroke=\"#aaaaaa\"/>",
      "<text x=\"\(left - 6)\" y=\"10\" text-anchor=\"end\">"
        + "\(top < 100 ? text(top) : HerdTable.grouped(Int64(top.rounded())))</text>",
      "<text x=\"\(left - 6)\" y=\"\(height)\" text-anchor=\"end\">0</text>",
    ]
  }

  /// The seconds that a story's longest variant has. What is left out of an outage has no width.
  private func times(_ rows: [HerdRow]) -> [String] {
    let (left, width, height) = (
      HerdPicture.plot.left, HerdPicture.plot.width, HerdPicture.plot.height
    )
    guard let longest = rows.max(by: { $0.run.seconds.count < $1.run.seconds.count }),
      let last = longest.run.seconds.indices.last, last > 0
    else { return [] }
    return (0...4).map { tick in
      let index = last * tick / 4
      return "<text x=\"\(left + width * tick / 4)\" y=\"\(height + 16)\" "
        + "text-anchor=\"middle\">\(longest.run.seconds[index].second) s</text>"
    }
  }

  /// - Parameter longest: how many values the whole width has.
  private func line(_ values: [Double], top: Double, longest: Int, _ index: Int) -> String {
    var path = ""
    for (second, value) in values.enumerated() {
      let x =
        Double(HerdPicture.plot.left)
        + Double(HerdPicture.plot.width) * Double(second) / Double(longest - 1)
      let y = Double(HerdPicture.plot.height) * (1 - min(value / top, 1))
      path += (second == 0 ? "M" : "L") + "\(text(x)) \(text(y))"
    }
    return "<path d=\"\(path)\" fill=\"none\" stroke=\"\(colour(index))\"/>"
  }

  private func colour(_ index: Int) -> String {
    HerdPicture.colours[index % HerdPicture.colours.count]
  }

  private func text(_ number: Double) -> String { String(format: "%.1f", number) }

  private func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
  }
}
