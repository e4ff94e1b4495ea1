import Foundation
import SyncProtocols
import UpdateMachine

/// One request and its answer.
struct Exchange {
  var line = 0
  /// Microseconds since the epoch, because even two requests within a millisecond have an order.
  var sent: Int64
  var ended: Int64
  /// The client that asked: a user and, after a slash, one of the user's programs.
  var client: String
  var request: Request
  var response: Response

  /// The user that asked. A queue belongs to a user, whose programs may share it. The recordings
  /// have no credentials, see ``RecordedUsers``.
  var user = ""
  /// The user that a register's answer names.
  var registeredUser: Int64?

  var sentAt: Moment { Moment(milliseconds: sent / 1000) }
  var endedAt: Moment { Moment(milliseconds: ended / 1000) }

  struct Request {
    var method: String
    var path: String
    var queue: String?
    var lastEventID: LastEventID
    /// The parameter `queue_lifespan_secs`.
    var lifespan: Int64?
    /// Whether the request may be answered by a 304, which has no body (ZulipServer §3).
    var isConditional: Bool

    enum LastEventID: Equatable {
      case missing
      case number(Int64)
      case text(String)
    }

    enum Kind {
      case register
      /// Anything sent to the queues' address except a DELETE.
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
    /// The client got no answer. The text is its HTTP library's.
    case transportError(String)
  }

  var question: DecodedReply.Question {
    switch request.kind {
    case .register: .register
    case .poll: .poll
    case .release, .other: .other
    }
  }

  /// What a client's source makes of the answer.
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
    // The recorder sent wrong types on purpose, so a wrong type is noted, not refused.
    queue = try? params.decodeIfPresent(String.self, forKey: .queue)
    lifespan = try? params.decodeIfPresent(Int64.self, forKey: .lifespan)
    if let number = try? params.decodeIfPresent(Int64.self, forKey: .lastEventID) {
      lastEventID = .number(number)
    } else if params.contains(.lastEventID) {
      lastEventID = .text((try? params.decode(String.self, forKey: .lastEventID)) ?? "no number")
    }
  }
}
