import Foundation
import UpdateMachine
import ZulipSync

/// Messages and words on their way to the terminal.
struct Printer {
  var isJSON: Bool
  /// Standard error is somebody's terminal.
  let showsStatus = isatty(2) == 1
  private var status = ""

  init(isJSON: Bool) { self.isJSON = isJSON }

  /// One message, on standard output.
  func show(_ message: Message<ZulipContent>, in state: ZulipState) {
    let line = isJSON ? Printer.json(message, state) : Printer.text(message, state)
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }

  /// What the connection is up to, on standard error; nothing, if it was said last.
  mutating func say(_ words: String) {
    guard words != status else { return }
    status = words
    FileHandle.standardError.write(Data("follow: \(words)\n".utf8))
  }

  static func text(_ message: Message<ZulipContent>, _ state: ZulipState) -> String {
    let sender = state.user(message.sender)?.name ?? "user \(message.sender.number)"
    let text = plain(message.content).replacingOccurrences(of: "\n", with: "\n    ")
    return "\(place(message.place, state)) \(sender): \(text)"
  }

  static func place(_ place: Place, _ state: ZulipState) -> String {
    switch place {
    case .channel(let channel, let topic):
      "[\(state.channel(channel)?.name ?? "channel \(channel.number)") > \(topic)]"
    case .direct: "[direct]"
    }
  }

  static func json(_ message: Message<ZulipContent>, _ state: ZulipState) -> String {
    var fields: [String: Any] = [
      "id": message.id.number, "sender": message.sender.number,
      "content": message.content.text, "is_read": message.flags.contains(.read),
    ]
    if let name = state.user(message.sender)?.name { fields["sender_name"] = name }
    if case .channel(let channel, let topic) = message.place {
      fields["channel"] = channel.number
      fields["channel_name"] = state.channel(channel)?.name
      fields["topic"] = topic
    }
    let bytes = try? JSONSerialization.data(
      withJSONObject: fields, options: [.sortedKeys, .withoutEscapingSlashes])
    return String(decoding: bytes ?? Data(), as: UTF8.self)
  }

  /// What a terminal shows of a content, without control characters, which could do more than be shown.
  static func plain(_ content: ZulipContent) -> String {
    String(
      String.UnicodeScalarView(
        content.text.unicodeScalars.filter {
          $0 == "\n" || $0.properties.generalCategory != .control
        }))
  }
}
