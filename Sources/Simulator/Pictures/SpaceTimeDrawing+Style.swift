internal import UpdateMachine

// What a diagram is drawn with: shapes, letters, colours.

extension SpaceTimeDrawing {
  mutating func text(
    _ x: Int, _ y: Int, _ text: String, _ style: String, anchor: String = "start"
  ) {
    let place = anchor == "start" ? "" : " text-anchor=\"\(anchor)\""
    add(
      "<text class=\"\(style)\" x=\"\(x)\" y=\"\(y)\"\(place) xml:space=\"preserve\">"
        + "\(SpaceTimeDrawing.escaped(text))</text>\n")
  }

  mutating func line(_ style: String, _ x1: Int, _ y1: Int, _ x2: Int, _ y2: Int) {
    add("<path class=\"\(style)\" d=\"M\(x1) \(y1)L\(x2) \(y2)\"/>\n")
  }

  /// The shape of a state. Each has a shape of its own.
  static func glyph(_ state: SpaceTime.LaneState, at place: (x: Int, y: Int)) -> String {
    let (kind, shape) =
      switch state {
      case .off: ("off", "M-6 -6L6 6M6 -6L-6 6")
      case .status(let code): ("\(code)", shapes[code])
      }
    return "<path class=\"st-glyph st-glyph-\(kind)\" "
      + "transform=\"translate(\(place.x) \(place.y))\" d=\"\(shape)\"/>\n"
  }

  /// By `MachineStatus.code`: circle, bar, diamond, diamond with a cross, disc, square, two
  /// strokes, triangle, octagon with a key's shape, with a question's, with a square.
  private static var shapes: [String] {
    let circle = "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0 -12 0Z"
    let octagon = "M-3 -7H3L7 -3V3L3 7H-3L-7 3V-3Z"
    return [
      circle, "M-7 -3H7V3H-7Z", "M0 -8L8 0L0 8L-8 0Z", "M0 -8L8 0L0 8L-8 0ZM-4 -4L4 4M4 -4L-4 4",
      circle, "M-6 -6H6V6H-6Z", "M-6 -6H-2V6H-6ZM2 -6H6V6H2Z", "M0 -7L8 6H-8Z",
      octagon + "M-3 0H3M0 -3V3", octagon + "M0 -4V1M0 3V4", octagon + "M-2 -2H2V2H-2Z",
    ]
  }

  /// A short name of a state, beside its shape.
  static func label(_ state: SpaceTime.LaneState) -> String {
    switch state {
    case .off: "off"
    case .status(let code): labels[code]
    }
  }

  private static var labels: [String] {
    [
      "stale", "idle", "registering", "register failed", "polling", "writing", "pausing",
      "poll failed", "halted", "halted", "stopped",
    ]
  }

  /// Minutes, seconds and milliseconds, like "12:03.450".
  static func clock(_ moment: Moment) -> String {
    func two(_ number: Int64, _ width: Int) -> String {
      let text = "\(number)"
      return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
    let milliseconds = moment.milliseconds
    return "\(milliseconds / 60_000):" + two(milliseconds / 1000 % 60, 2) + "."
      + two(milliseconds % 1000, 3)
  }

  /// For text and attributes of SVG and HTML.
  static func escaped(_ text: String) -> String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "&"): bytes += Array("&amp;".utf8)
      case UInt8(ascii: "<"): bytes += Array("&lt;".utf8)
      case UInt8(ascii: ">"): bytes += Array("&gt;".utf8)
      case UInt8(ascii: "\""): bytes += Array("&quot;".utf8)
      case ..<0x20: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Light, dark and print. Lines differ by their dashes, too.
  static var style: String {
    """
    .spacetime{--st-paper:#fff;--st-ink:#1b1b1f;--st-soft:#55555e;--st-line:#8a8a94;--st-good:#1e6b34;\
    --st-bad:#9c1c1c;--st-wait:#7a4b00;--st-accent:#0b5394;font:12px ui-monospace,"DejaVu Sans Mono",\
    Menlo,Consolas,monospace}
    @media screen and (prefers-color-scheme:dark){.spacetime{--st-paper:#16161a;--st-ink:#ececf1;\
    --st-soft:#b4b4bf;--st-line:#80808c;--st-good:#83d69b;--st-bad:#ff9d9d;--st-wait:#f2c063;\
    --st-accent:#8ec5ff}}
    .spacetime text{fill:var(--st-ink)}
    .st-paper{fill:var(--st-paper)}
    .spacetime .st-soft{fill:var(--st-soft)}
    .st-title{font-size:14px;font-weight:600}.st-lane-name,.st-strong{font-weight:600}
    .spacetime .st-bad,.spacetime .st-fault{fill:var(--st-bad)}.st-fault{font-weight:700}
    .st-label,.st-small{font-size:11px;paint-order:stroke;stroke:var(--st-paper);stroke-width:4px;\
    stroke-linejoin:round}
    .st-small{font-size:10px}
    .spacetime path,.spacetime rect,.spacetime circle{vector-effect:non-scaling-stroke}
    .st-leader{stroke:var(--st-line);stroke-width:1;stroke-dasharray:1 5;fill:none}
    .st-pause{stroke:var(--st-line);stroke-width:1;stroke-dasharray:8 4;fill:none}
    .st-line{stroke:var(--st-line);stroke-width:2;fill:none}
    .st-line-none,.st-line-off{stroke-dasharray:1 7}
    .st-line-0,.st-line-1{stroke-dasharray:2 4}
    .st-line-2,.st-line-3{stroke:var(--st-wait);stroke-width:3;stroke-dasharray:7 4}
    .st-line-4,.st-line-5,.st-line-6{stroke:var(--st-good);stroke-width:4}
    .st-line-7{stroke:var(--st-bad);stroke-width:3;stroke-dasharray:3 3}
    .st-line-8,.st-line-9,.st-line-10{stroke:var(--st-bad);stroke-width:2;stroke-dasharray:1 4}
    .st-glyph{fill:var(--st-paper);stroke:var(--st-ink);stroke-width:1.5}
    .st-glyph-4{fill:var(--st-good);stroke:var(--st-good)}
    .st-glyph-5,.st-glyph-6{stroke:var(--st-good)}
    .st-glyph-2,.st-glyph-3{stroke:var(--st-wait)}
    .st-glyph-7,.st-glyph-8,.st-glyph-9,.st-glyph-10,.st-glyph-off{stroke:var(--st-bad)}
    .st-dot,.st-commit{fill:var(--st-ink)}.st-tick{stroke:var(--st-paper);stroke-width:2}
    .st-finding{fill:none;stroke:var(--st-bad);stroke-width:3}
    .st-seam{stroke:var(--st-accent);stroke-width:2;fill:none}
    .st-arrow{stroke:var(--st-accent);stroke-width:1.5;fill:none}
    .st-lost{stroke:var(--st-bad)}.st-open{stroke-dasharray:5 4}
    .st-bar{fill:var(--st-paper);stroke:var(--st-accent)}.st-bar-part{stroke:var(--st-accent);\
    stroke-width:2}
    .st-known{fill:var(--st-good)}.st-unknown{fill:none;stroke:var(--st-line)}
    .st-formerly{fill:var(--st-line)}.st-partly{fill:none;stroke:var(--st-good)}.st-unknown+.st-tick{stroke:var(--st-ink)}
    """
  }
}
