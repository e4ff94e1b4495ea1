internal import UpdateMachine

/// The conversation as lines, in the form of `simulate trace`: when, who, what. The newest lines
/// are kept. No line contains a secret of a user.
struct Transcript: Sendable {
  /// The most lines that are kept; each has a bounded length, too.
  static var limit: Int { 1_000 }
  static var letters: Int { 200 }

  private(set) var lines: [String] = []
  /// The number of lines that were ever written.
  private(set) var count: Int64 = 0
  private let secrets: [String]

  init(secrets: [String]) { self.secrets = secrets }

  mutating func add(_ who: String, _ what: String, at now: Moment) {
    var name = Transcript.cleaned(who, 10)
    while name.count < 10 { name += " " }
    // Before anything is cut, so that no beginning of a secret stays.
    var safe = what
    for secret in secrets { safe = safe.replacing(secret, with: "…") }
    lines.append(Transcript.clock(now) + "  " + name + Transcript.cleaned(safe, Transcript.letters))
    count += 1
    if lines.count > Transcript.limit { lines.removeFirst(lines.count - Transcript.limit) }
  }

  /// The lines after the first `number` ones, as far as they are kept.
  func lines(after number: Int64) -> ArraySlice<String> {
    let fresh = min(count - min(max(number, 0), count), Int64(lines.count))
    return lines.suffix(Int(fresh))
  }

  /// `0:01.070`: minutes, seconds, milliseconds.
  static func clock(_ now: Moment) -> String {
    let all = max(now.milliseconds, 0)
    let (seconds, rest) = (all / 1000 % 60, all % 1000)
    var text = "\(all / 60_000):\(seconds < 10 ? "0" : "")\(seconds)."
    text += "\(rest < 100 ? "0" : "")\(rest < 10 ? "0" : "")\(rest)"
    return String(repeating: " ", count: max(0, 10 - text.utf8.count)) + text
  }

  /// Leaves out what could end the line, or turn a terminal's words around, and cuts it. Others
  /// wrote it.
  static func cleaned(_ text: String, _ limit: Int) -> String {
    var cleaned = ""
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x0A, 0x0D: cleaned += " "
      case 0..<0x20, 0x7F..<0xA0, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: break
      default: cleaned.unicodeScalars.append(scalar)
      }
    }
    guard cleaned.unicodeScalars.count > limit else { return cleaned }
    return String(String.UnicodeScalarView(cleaned.unicodeScalars.prefix(limit - 1))) + "…"
  }
}
