/// The colours of a message's parts, as a terminal understands them.
struct Palette: Equatable {
  /// When to print colours.
  enum Choice: String, CaseIterable {
    /// Where standard output is a terminal that has them.
    case auto
    case always, never
  }

  private let isColored: Bool

  static let plain = Palette(isColored: false)
  static let colored = Palette(isColored: true)

  private init(isColored: Bool) { self.isColored = isColored }

  /// Any value of `NO_COLOR` but the empty one turns colours off, as does a terminal that calls
  /// itself dumb.
  init(_ choice: Choice, isTerminal: Bool, _ environment: [String: String]) {
    switch choice {
    case .always: isColored = true
    case .never: isColored = false
    case .auto:
      isColored =
        isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }
  }

  func time(_ text: String) -> String { paint(text, "2") }
  func place(_ text: String) -> String { paint(text, "36") }
  func sender(_ text: String) -> String { paint(text, "1") }

  private func paint(_ text: String, _ code: String) -> String {
    isColored && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
