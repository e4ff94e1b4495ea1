import Foundation
import SyncProtocols

/// Recorded sessions between clients and a real server: one exchange a line, in the order in which
/// they ended. The format is told in `Simulations/Recordings/README.md`.
package struct Recording {
  var file: String
  /// All that are not empty, the operator's notes among them.
  var lineCount: Int
  var exchanges: [Exchange]
  /// `nil`: there are no pages of messages in it.
  var messages: MessageRecording?
  /// `nil`: no client is given a realm's state in it.
  var state: StateRecording?

  /// - Parameter progress: is told now and then how many of how many lines are read.
  package init(
    file: String, progress: (Int, Int) -> Void = { _, _ in }
  ) throws(RecordingError) {
    self.file = file
    let lines = try numberedLines(of: file)
    guard !lines.isEmpty else { throw RecordingError(message: "\(file): has no exchange in it") }
    lineCount = lines.count
    exchanges = []
    let decoder = JSONDecoder()
    for (index, (number, line)) in lines.enumerated() {
      if index % 256 == 0 { progress(index, lines.count) }
      do {
        guard var exchange = try decoder.decode(RecordedLine.self, from: line).exchange else {
          continue
        }
        exchange.line = number
        exchanges.append(exchange)
      } catch DecodingError.dataCorrupted(let context) where context.codingPath.isEmpty {
        throw RecordingError(
          message: "\(file):\(number): expected a JSON object; \(context.debugDescription)")
      } catch {
        throw RecordingError(message: "\(file):\(number): \(reason(error))")
      }
    }
    if MessageRecording.hasPages(lines) { messages = MessageRecording(lines) }
    let states = StateRecording(lines, exchanges, messages)
    if states.hasState || !states.differences.isEmpty { state = states }
  }
}

/// A line as it stands in the file: an exchange, or the operator's note.
private struct RecordedLine: Decodable {
  var exchange: Exchange?

  private enum Field: String, CodingKey {
    case sent = "t"
    case ended = "t_end"
    case client, note, request, response
    case transportError = "transport_error"
    case status, headers, body
  }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Field.self)
    let client = try fields.decode(String.self, forKey: .client)
    let sent = try fields.microseconds(.sent)
    guard !fields.contains(.note) else { return }
    let ended = try fields.microseconds(.ended)
    guard ended >= sent else {
      throw DecodingError.dataCorruptedError(
        forKey: .ended, in: fields, debugDescription: "expected a moment not before t")
    }
    let request = try fields.decode(Exchange.Request.self, forKey: .request)
    let response = try fields.nestedContainer(keyedBy: Field.self, forKey: .response)
    exchange = Exchange(
      sent: sent, ended: ended, client: client, request: request,
      response: try RecordedLine.response(response))
  }

  private static func response(
    _ fields: KeyedDecodingContainer<Field>
  ) throws -> Exchange.Response {
    if let error = try fields.decodeIfPresent(String.self, forKey: .transportError) {
      return .transportError(error)
    }
    // An object stands as it came, any other body as a text; whatever else there is has no
    // envelope, as `QueueBody.init(bytes:)` would find.
    var body: QueueBody?
    if let object = try? fields.decode(QueueBody.self, forKey: .body) {
      body = object
    } else if let text = try? fields.decode(String.self, forKey: .body) {
      body = QueueBody(bytes: Data(text.utf8))
    }
    return .answer(
      status: try fields.decode(Int.self, forKey: .status),
      headers: try fields.decodeIfPresent([String: String].self, forKey: .headers) ?? [:],
      body: body)
  }
}

extension KeyedDecodingContainer {
  /// A moment in seconds since the epoch.
  fileprivate func microseconds(_ key: Key) throws -> Int64 {
    let seconds = try decode(Double.self, forKey: key)
    guard seconds.magnitude < 1e12 else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self, debugDescription: "expected seconds since the epoch")
    }
    return Int64((seconds * 1_000_000).rounded())
  }
}
