import Foundation
import SyncProtocols

/// Recorded sessions between clients and a real server, with one exchange a line, in the order in
/// which they ended. `Simulations/Recordings/README.md` describes the format.
package struct Recording {
  var file: String
  /// The number of lines that are not empty, including the operator's notes.
  var lineCount: Int
  var exchanges: [Exchange]
  /// `nil` if the recording has no pages of messages.
  var messages: MessageRecording?
  /// `nil` if no client is given a realm's state.
  var state: StateRecording?

  /// - Parameter progress: called now and then with the number of lines read so far, and of all
  ///   lines.
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
    let users = try RecordedUsers(exchanges, file: file)
    for index in exchanges.indices {
      exchanges[index].user = users.user(of: exchanges[index].client)
    }
    if MessageRecording.hasPages(lines) { messages = MessageRecording(lines, users) }
    let states = StateRecording(lines, exchanges, messages)
    if states.hasState || !states.differences.isEmpty { state = states }
  }
}

/// A line as it stands in the file: an exchange, or a note of the operator.
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
    guard request.kind == .register else { return }
    exchange?.registeredUser = try RecordedLine.registeredUser(response)
  }

  /// The user whom the answer to a register names. A body that is no object is no answer of the
  /// server's, which the check of queues says. What is no number is an error of the recording.
  private static func registeredUser(
    _ response: KeyedDecodingContainer<Field>
  ) throws -> Int64? {
    do {
      let body = try response.nestedContainer(keyedBy: Registered.self, forKey: .body)
      return try body.decodeIfPresent(Int64.self, forKey: .user)
    } catch DecodingError.typeMismatch(let type, _) where type != Int64.self {
      return nil  // The body is no object.
    } catch DecodingError.keyNotFound {
      return nil  // There is no body: the connection broke.
    }
  }

  private enum Registered: String, CodingKey {
    case user = "user_id"
  }

  private static func response(
    _ fields: KeyedDecodingContainer<Field>
  ) throws -> Exchange.Response {
    if let error = try fields.decodeIfPresent(String.self, forKey: .transportError) {
      return .transportError(error)
    }
    // An object is recorded as it came, any other body as text. Anything else has no envelope,
    // which is also what `QueueBody.init(bytes:)` would find.
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
