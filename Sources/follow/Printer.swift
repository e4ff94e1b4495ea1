import Foundation
import MessageSync
import UpdateMachine
import ZulipSync

/// The output to the terminal: messages and status.
struct Printer {
  private let isJSON: Bool
  /// Whether to print only failures.
  private let isQuiet: Bool
  /// Whether standard error is a terminal. Then the status is one line, and the next status
  /// replaces it.
  private let hasStatusLine = isatty(2) == 1
  private let palette: Palette
  private var status = ""
  private var complaint = ""

  init(isJSON: Bool, isQuiet: Bool, _ palette: Palette) {
    self.palette = palette
    self.isJSON = isJSON
    self.isQuiet = isQuiet && isatty(2) != 1
  }

  /// Prints one message on standard output.
  func show(_ message: ChatMessage<ZulipContent>, in state: ZulipState) throws {
    try show([isJSON ? try Printer.json(message, state) : Printer.text(message, state, palette)])
  }

  /// Prints how many messages are unread, on standard output.
  func show(_ unread: UnreadCounts, in state: ZulipState) throws {
    try show(isJSON ? try Printer.json(unread, state) : Printer.text(unread, state, palette))
  }

  private func show(_ lines: [String]) throws {
    clear()
    let text = lines.map { $0 + "\n" }.joined()
    try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    if hasStatusLine { draw() }
  }

  /// Prints the connection's status on standard error, unless it is the same as the last one.
  mutating func status(_ words: String) {
    guard words != status, !isQuiet else { return }
    status = words
    if hasStatusLine { draw() } else { Printer.tell("follow: \(words)\n") }
  }

  /// Prints a failure on a line of its own, unless it is the same as the last one.
  mutating func complain(_ words: String) {
    guard words != complaint else { return }
    complaint = words
    clear()
    Printer.tell("follow: \(Printer.plain(words))\n")
    if hasStatusLine { draw() }
  }

  /// Removes the status line.
  func clear() {
    if hasStatusLine, !status.isEmpty { Printer.tell("\r\u{1B}[K") }
  }

  private func draw() {
    if !status.isEmpty { Printer.tell("\r\u{1B}[Kfollow: \(status)") }
  }

  /// Writes to standard error. If that is closed, there is no one to tell.
  private static func tell(_ words: String) {
    try? FileHandle.standardError.write(contentsOf: Data(words.utf8))
  }

  // MARK: A message as a line

  static func text(
    _ message: ChatMessage<ZulipContent>, _ state: ZulipState, _ palette: Palette = .plain
  ) -> String {
    let text = lines(message.content.text).replacingOccurrences(of: "\n", with: "\n    ")
    let time = message.sentAt == 0 ? "" : palette.time(time(message.sentAt)) + " "
    let place = palette.place(place(message.place, state))
    return "\(time)\(place) \(palette.sender(name(message.sender, state))): \(text)"
  }

  /// "2026-11-21 10:42", in local time.
  private static func time(_ seconds: Int64) -> String {
    text(of: Date(timeIntervalSince1970: Double(seconds)), "yyyy-MM-dd HH:mm")
  }

  /// "10:42:07", in local time.
  static func time(_ date: Date) -> String { text(of: date, "HH:mm:ss") }

  private static func text(of date: Date, _ format: String) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.dateFormat = format
    return formatter.string(from: date)
  }

  private static func name(_ user: UserID, _ state: ZulipState) -> String {
    state.user(user).map { plain($0.name) } ?? "user \(user.number)"
  }

  static func place(_ place: MessagePlace, _ state: ZulipState) -> String {
    switch place {
    case .channel(let id, let topic):
      let channel = state.channel(id).map { plain($0.name) } ?? "channel \(id.number)"
      return "[\(channel) > \(plain(topic.text))]"
    case .direct(let conversation):
      let others = conversation.members.filter { $0 != state.myself }
      if others.isEmpty { return "[to oneself]" }
      return "[direct: \(others.map { name($0, state) }.joined(separator: ", "))]"
    }
  }

  static func json(_ message: ChatMessage<ZulipContent>, _ state: ZulipState) throws -> String {
    var fields: [String: Any] = [
      "id": message.id.number, "sender": message.sender.number,
      "content": message.content.text, "is_read": message.flags.contains(.read),
    ]
    if message.sentAt != 0 { fields["timestamp"] = message.sentAt }
    if let name = state.user(message.sender)?.name { fields["sender_name"] = name }
    return try json(fields.merging(Printer.fields(message.place, state)) { $1 })
  }

  /// A conversation's fields.
  static func fields(_ place: MessagePlace, _ state: ZulipState) -> [String: Any] {
    switch place {
    case .channel(let channel, let topic):
      var fields: [String: Any] = [
        "type": "channel", "channel": channel.number, "topic": topic.text,
      ]
      fields["channel_name"] = state.channel(channel)?.name
      return fields
    case .direct(let conversation):
      return ["type": "direct", "members": conversation.members.map(\.number)]
    }
  }

  static func json(_ fields: [String: Any]) throws -> String {
    let bytes = try JSONSerialization.data(
      withJSONObject: fields, options: [.sortedKeys, .withoutEscapingSlashes])
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Makes a name safe to show on one line: removes control characters, which a terminal would
  /// obey, and characters that change the text direction.
  static func plain(_ text: String) -> String {
    lines(text).replacingOccurrences(of: "\n", with: " ")
  }

  /// Makes a content safe to show in the same way; it may have several lines.
  static func lines(_ text: String) -> String {
    let turns: Set<Unicode.Scalar> = [
      "\u{200E}", "\u{200F}", "\u{061C}", "\u{202A}", "\u{202B}", "\u{202C}", "\u{202D}",
      "\u{202E}",
      "\u{2066}", "\u{2067}", "\u{2068}", "\u{2069}", "\u{2028}", "\u{2029}",
    ]
    return String(
      String.UnicodeScalarView(
        text.unicodeScalars.filter {
          $0 == "\n" || $0.properties.generalCategory != .control && !turns.contains($0)
        }))
  }
}
