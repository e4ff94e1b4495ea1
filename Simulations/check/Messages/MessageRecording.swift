import Foundation
import MessageSync
import UpdateMachine
import ZulipSync

/// What a recording holds of messages besides what ``Recording`` reads: pages, events, and who
/// wrote what.
struct MessageRecording {
  var exchanges: [MessageExchange] = []
  /// Answers that ZulipSync cannot read.
  var differences: [Difference] = []

  /// Whether a recording has pages in it. Most recordings were cut down to what the machine reads.
  static func hasPages(_ lines: [(number: Int, line: Data)]) -> Bool {
    let word = Data("\"found_newest\"".utf8)
    return lines.contains { $0.line.range(of: word) != nil }
  }

  /// - Parameters:
  ///   - lines: each must be one that ``Recording`` has read.
  ///   - users: which user each client is.
  init(_ lines: [(number: Int, line: Data)], _ users: RecordedUsers = RecordedUsers()) {
    let read = inParallel(lines.count) { MessageRecording.read(lines[$0].line) }
    for (number, answer) in zip(lines.map(\.number), read) {
      switch answer {
      case .success(nil): break
      case .success(var exchange?):
        exchange.line = number
        exchange.user = users.user(of: exchange.user)
        exchanges.append(exchange)
      case .failure(let error):
        differences.append(
          Difference(
            line: number, what: "an answer about messages",
            expected: "what the protocol says of it", found: "\(error)"))
      }
    }
  }

  private static func read(_ line: Data) -> Result<MessageExchange?, ZulipError> {
    do throws(ZulipError) {
      return .success(try ZulipError.decode(MessageLine.self, from: line).exchange)
    } catch {
      return .failure(error)
    }
  }
}

/// One request about messages and its answer.
struct MessageExchange {
  var line = 0
  /// Microseconds since the epoch.
  var sent: Int64
  var ended: Int64
  var user: String
  var kind: Kind

  enum Kind {
    case registered(queue: String, form: ZulipContent.Form, channels: [ChannelID]?)
    case polled(queue: String, ZulipEvents)
    case released(queue: String)
    /// The server says that the queue is gone.
    case lost(queue: String)
    case page(ZulipPageRequest, ZulipPage)
    /// A message was sent; `raw` is its text as typed.
    case wrote(MessageID, raw: String)
    /// Another request that may change something.
    case changed
  }
}

/// A line as it stands in the file. Its exchange is `nil` if it has nothing to do with messages.
private struct MessageLine: Decodable {
  var exchange: MessageExchange?

  private enum Field: String, CodingKey {
    case sent = "t"
    case ended = "t_end"
    case client, note, request, response, status, body, method, path, params, result
  }

  private struct Params: Decodable {
    var queue: String?
    var isRendered: Bool?
    var content: String?

    enum CodingKeys: String, CodingKey {
      case queue = "queue_id"
      case isRendered = "apply_markdown"
      case content
    }
  }

  private struct Body: Decodable {
    var queue: String?
    var id: Int64?
    var code: String?
    var subscriptions: [Subscription]?

    struct Subscription: Decodable {
      var channel: Int64

      enum CodingKeys: String, CodingKey {
        case channel = "stream_id"
      }
    }

    enum CodingKeys: String, CodingKey {
      case queue = "queue_id"
      case id, code, subscriptions
    }
  }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Field.self)
    guard !fields.contains(.note) else { return }
    let request = try fields.nestedContainer(keyedBy: Field.self, forKey: .request)
    let response = try fields.nestedContainer(keyedBy: Field.self, forKey: .response)
    guard let kind = try MessageLine.kind(request, response) else { return }
    let client = try fields.decode(String.self, forKey: .client)
    exchange = MessageExchange(
      sent: try fields.decodeMicroseconds(.sent), ended: try fields.decodeMicroseconds(.ended),
      user: client, kind: kind)
  }

  private static func kind(
    _ request: KeyedDecodingContainer<Field>, _ response: KeyedDecodingContainer<Field>
  ) throws -> MessageExchange.Kind? {
    let method = try request.decode(String.self, forKey: .method)
    let path = try request.decode(String.self, forKey: .path)
    let params = (try? request.decodeIfPresent(Params.self, forKey: .params)) ?? Params()
    let isSuccess = (try? response.decodeIfPresent(Int.self, forKey: .status)) == 200
    switch (method, path) {
    case ("GET", "/api/v1/messages"):
      guard isSuccess else { return nil }
      return .page(
        try request.decode(ZulipPageRequest.self, forKey: .params),
        try response.decode(ZulipPage.self, forKey: .body))
    case ("GET", "/api/v1/events"):
      guard let queue = params.queue else { return nil }
      guard isSuccess else {
        // A refusal may be a proxy's page, which has no code.
        let code = (try? response.decode(Body.self, forKey: .body))?.code
        return code == "BAD_EVENT_QUEUE_ID" ? .lost(queue: queue) : nil
      }
      return .polled(queue: queue, try response.decode(ZulipEvents.self, forKey: .body))
    case ("DELETE", "/api/v1/events"): return params.queue.map { .released(queue: $0) }
    case ("POST", "/api/v1/register"):
      let body = try? response.decode(Body.self, forKey: .body)
      guard isSuccess, let queue = body?.queue else { return nil }
      return .registered(
        queue: queue, form: params.isRendered == true ? .rendered : .raw,
        channels: body?.subscriptions.map { $0.map { ChannelID($0.channel) } })
    case ("POST", "/api/v1/messages"):
      guard let id = (try? response.decode(Body.self, forKey: .body))?.id,
        let raw = params.content
      else { return .changed }
      return .wrote(MessageID(id), raw: raw)
    case ("GET", _): return nil
    default: return .changed
    }
  }
}

extension KeyedDecodingContainer {
  /// A moment in seconds since the epoch. ``Recording`` has checked that it is one.
  fileprivate func decodeMicroseconds(_ key: Key) throws -> Int64 {
    Int64((try decode(Double.self, forKey: key) * 1_000_000).rounded())
  }
}
