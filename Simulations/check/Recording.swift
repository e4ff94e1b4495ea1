import Foundation
import SyncProtocols
import UpdateMachine

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

/// One request and what came back.
struct Exchange {
  var line = 0
  /// Microseconds since the epoch, because two requests within a millisecond have an order.
  var sent: Int64
  var ended: Int64
  /// Who asked: a user, and after a slash which of the user's programs.
  var client: String
  var request: Request
  var response: Response

  /// The recordings have no credentials; a queue belongs to a user, whose programs may share it.
  var user: String { String(client.prefix { $0 != "/" }) }

  var sentAt: Moment { Moment(milliseconds: sent / 1000) }
  var endedAt: Moment { Moment(milliseconds: ended / 1000) }

  struct Request {
    var method: String
    var path: String
    var queue: String?
    var lastEventID: LastEventID
    /// `queue_lifespan_secs`.
    var lifespan: Int64?
    /// Asks for a 304, which has no body (ZulipServer §3).
    var isConditional: Bool

    enum LastEventID: Equatable {
      case missing
      case number(Int64)
      case text(String)
    }

    enum Kind {
      case register
      /// Anything sent to the queue's address but a DELETE.
      case poll
      case release
      case other
    }

    var kind: Kind {
      switch path {
      case "/api/v1/register": method == "POST" ? .register : .other
      case "/api/v1/events": method == "DELETE" ? .release : .poll
      default: .other
      }
    }
  }

  enum Response {
    case answer(status: Int, headers: [String: String], body: QueueBody?)
    /// The client has no answer; why, in the words of its HTTP library.
    case transportError(String)
  }

  var question: DecodedReply.Question {
    switch request.kind {
    case .register: .register
    case .poll: .poll
    case .release, .other: .other
    }
  }

  /// What a client's source makes of it.
  func reply(_ classify: DecodedReply.Classifier) -> DecodedReply {
    switch response {
    case .answer(let status, let headers, let body):
      DecodedReply(
        to: question, status: status, headers: headers, body: body, classify: classify)
    case .transportError(let text):
      .failed(text.contains("Timeout") ? .timedOut : .unreachable)
    }
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

extension Exchange.Request: Decodable {
  private enum Field: String, CodingKey {
    case method, path, params, headers
    case queue = "queue_id"
    case lastEventID = "last_event_id"
    case lifespan = "queue_lifespan_secs"
  }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Field.self)
    method = try fields.decode(String.self, forKey: .method)
    path = try fields.decode(String.self, forKey: .path)
    let headers = try fields.decodeIfPresent([String: String].self, forKey: .headers) ?? [:]
    isConditional = DecodedReply.header("if-none-match", in: headers) != nil
    lastEventID = .missing
    guard fields.contains(.params), try !fields.decodeNil(forKey: .params) else { return }
    let params = try fields.nestedContainer(keyedBy: Field.self, forKey: .params)
    // The recorder sent what it liked on purpose: another type is told apart, not refused.
    queue = try? params.decodeIfPresent(String.self, forKey: .queue)
    lifespan = try? params.decodeIfPresent(Int64.self, forKey: .lifespan)
    if let number = try? params.decodeIfPresent(Int64.self, forKey: .lastEventID) {
      lastEventID = .number(number)
    } else if params.contains(.lastEventID) {
      lastEventID = .text((try? params.decode(String.self, forKey: .lastEventID)) ?? "no number")
    }
  }
}
