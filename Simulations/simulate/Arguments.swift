/// The words after a command's name: options with a value, flags, and files.
struct Arguments {
  private(set) var values: [String: String] = [:]
  private(set) var flags: Set<String> = []
  private(set) var files: [String] = []

  /// - Parameters:
  ///   - options: options that take a value, as in `--seeds 100` or `--seeds=100`.
  ///   - flags: options that take no value.
  ///   - takesFiles: whether other words are files; otherwise they are refused.
  init(
    _ words: [String], options: [String] = [], flags known: [String] = [], takesFiles: Bool = false
  ) throws(UsageError) {
    var rest = words[...]
    while let word = rest.popFirst() {
      guard word.hasPrefix("--") else {
        guard takesFiles else { throw UsageError(message: "unexpected \"\(word)\"") }
        files.append(word)
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      if known.contains(name) {
        guard parts.count == 1 else { throw UsageError(message: "\(name) takes no value") }
        flags.insert(name)
      } else if options.contains(name) {
        guard values[name] == nil else { throw UsageError(message: "\(name) is given twice") }
        if parts.count == 2 {
          values[name] = String(parts[1])
        } else if let value = rest.popFirst() {
          values[name] = value
        } else {
          throw UsageError(message: "\(name) needs a value")
        }
      } else {
        throw UsageError(message: "unknown option \(name)")
      }
    }
  }

  func has(_ flag: String) -> Bool { flags.contains(flag) }

  /// A whole number within `range`; `nil` if the option was not given.
  func number<Number: FixedWidthInteger>(
    _ name: String, in range: ClosedRange<Number>
  ) throws(UsageError) -> Number? {
    guard let text = values[name] else { return nil }
    guard let number = Number(text), range.contains(number) else {
      throw UsageError(
        message:
          "\(name) needs a whole number from \(range.lowerBound) to \(range.upperBound), "
          + "found \"\(text)\"")
    }
    return number
  }
}
