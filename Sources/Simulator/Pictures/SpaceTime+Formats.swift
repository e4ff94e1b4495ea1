internal import UpdateMachine

/// How a diagram can be written.
package enum PictureFormat: String, CaseIterable, Sendable {
  case text
  case mermaid
  case svg
  case html
  case json
}

extension SpaceTime {
  package var svg: String { SpaceTimeDrawing.svg(self) + "\n" }

  /// One line for each mark and each message that does not arrive, in order of time; then what an
  /// oracle found.
  package var text: String { (lines + evidence).joined(separator: "\n") + "\n" }

  private var lines: [String] {
    var entries: [(at: Moment, line: String)] = []
    for mark in marks { entries.append((mark.at, told(mark))) }
    for arrow in arrows {
      let (from, to) = (lanes[arrow.from], lanes[arrow.to])
      switch arrow.end {
      case .arrived: break  // What it does there is a mark.
      case .lost(let at): entries.append((at, "lost from \(from) to \(to): \(arrow.text)"))
      case .none: entries.append((arrow.sent, "never arrives from \(from) at \(to): \(arrow.text)"))
      }
    }
    let order = entries.indices.sorted {
      entries[$0].at == entries[$1].at ? $0 < $1 : entries[$0].at < entries[$1].at
    }
    return order.map { "\(SpaceTimeDrawing.clock(entries[$0].at))  \(entries[$0].line)" }
  }

  /// A page that stands alone: the diagram, what an oracle found, and all lines as text.
  package var html: String {
    var page = """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>\(SpaceTimeDrawing.escaped(title))</title>
      <style>
      :root{color-scheme:light dark}
      body{margin:1rem;font:1rem/1.45 system-ui,sans-serif;background:#fff;color:#1b1b1f}
      pre{white-space:pre-wrap;overflow-wrap:anywhere;font:.85rem/1.4 ui-monospace,"DejaVu Sans Mono",monospace}
      .picture{overflow-x:auto;border:1px solid #8a8a94;border-radius:.4rem}
      @media screen and (prefers-color-scheme:dark){body{background:#16161a;color:#ececf1}}
      @media print{.picture{border:0;overflow:visible}}
      </style></head><body>
      <h1>\(SpaceTimeDrawing.escaped(title))</h1>
      <p>Time runs down, and is not to scale. A lane is a client or the server, and its line shows the
      machine's status; an arrow is a message. Point at an arrow or a bar to read what it is.</p>

      """
    if !evidence.isEmpty {
      page += "<h2>What was found</h2>\n<pre>"
      page += evidence.map { SpaceTimeDrawing.escaped($0) }.joined(separator: "\n") + "</pre>\n"
    }
    page += "<div class=\"picture\" tabindex=\"0\" role=\"group\" aria-label=\"Diagram; the same as"
    page += " text is below\">\(SpaceTimeDrawing.svg(self))</div>\n<h2>The same as text</h2>\n<pre>"
    page += lines.map { SpaceTimeDrawing.escaped($0) }.joined(separator: "\n")
    return page + "\n</pre>\n</body></html>\n"
  }

  package func written(as format: PictureFormat) -> String {
    switch format {
    case .text: text
    case .mermaid: mermaid
    case .svg: svg
    case .html: html
    case .json: json + "\n"
    }
  }
}
