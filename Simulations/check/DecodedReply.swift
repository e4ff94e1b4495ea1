import Foundation
import HTTPSync
import SyncProtocols
import UpdateMachine
import ZulipSync

/// What an HTTP answer to a request of the register/poll protocol means: the step from bytes to
/// values that a machine can be given.
///
/// No bytes from a server, a proxy or a broken disk may trap here. Whatever is not a whole answer
/// becomes a classified failure, so half an answer never reaches a model.
enum DecodedReply: Equatable {
  case registered(QueueFinger, longPoll: TimeSpan?)
  case polled(QueueBatch<String>)
  /// A success from which this protocol reads nothing.
  case succeeded
  case failed(SyncFailure)

  /// What was asked. It decides which fields a success must have.
  enum Question: Hashable {
    case register
    case poll
    case other
  }

  typealias Classifier = (ServerAnswer) -> SyncFailure?

  init(to question: Question, status: Int, headers: [String: String], bytes: Data) {
    self.init(to: question, status: status, headers: headers, body: QueueBody(bytes: bytes))
  }

  /// - Parameters:
  ///   - body: `nil` if the bytes are not a JSON object.
  ///   - classify: the rule under test. Tests pass another one only to show that a wrong rule is
  ///     noticed.
  init(
    to question: Question, status: Int, headers: [String: String], body: QueueBody?,
    classify: Classifier = { $0.failure() }
  ) {
    let answer = ServerAnswer(
      status: status, result: body?.result, code: body?.code,
      retryAfter: DecodedReply.retryAfter(body: body, headers: headers))
    if let failure = classify(answer) {
      self = .failed(failure)
      return
    }
    switch question {
    case .register:
      guard let queue = body?.queue, !queue.isEmpty, let last = body?.lastEventID else {
        self = .failed(.malformed)
        return
      }
      self = .registered(
        QueueFinger(queue: QueueID(queue), lastEventID: last),
        longPoll: body?.longPollSeconds.flatMap(TimeSpan.init(wholeOrNotSeconds:)))
    case .poll:
      guard let events = body?.events else {
        self = .failed(.malformed)
        return
      }
      self = .polled(
        QueueBatch(
          queue: body?.queue.map { QueueID($0) },
          events: events.map {
            QueuedEvent(id: $0.id, event: $0.type == "heartbeat" ? nil : $0.type)
          }))
    case .other: self = .succeeded
    }
  }

  private static func retryAfter(body: QueueBody?, headers: [String: String]) -> TimeSpan? {
    if let seconds = body?.retryAfter { return TimeSpan(wholeOrNotSeconds: seconds) }
    return header("retry-after", in: headers).flatMap { Double($0) }
      .flatMap(TimeSpan.init(wholeOrNotSeconds:))
  }

  /// A header's value. Names are compared without case. If several match, the first by name is
  /// taken, so that the dictionary's order decides nothing.
  static func header(_ name: String, in headers: [String: String]) -> String? {
    headers.filter { $0.key.lowercased() == name }.min { $0.key < $1.key }?.value
  }
}

/// The fields of an answer that the protocol reads, and no others. So a snapshot of hundreds of
/// kilobytes costs only what it takes to skip it.
struct QueueBody: Equatable {
  var result: ServerAnswer.Result?
  var code: String?
  /// Seconds, as the server wrote them.
  var retryAfter: Double?
  var queue: String?
  var lastEventID: Int64?
  var longPollSeconds: Double?
  /// `nil` if there are none, or if one of them lacks its ID or its type.
  var events: [Event]?

  struct Event: Equatable, Decodable {
    var id: Int64
    var type: String
  }

  /// `nil` if the bytes are not one JSON object. That is not an error in the file: a portal's page
  /// is a possible answer, and is classified like every other.
  init?(bytes: Data) {
    guard let body = try? JSONDecoder().decode(QueueBody.self, from: bytes) else { return nil }
    self = body
  }
}

extension QueueBody: Decodable {
  private enum Field: String, CodingKey {
    case result
    case code
    case retryAfter = "retry-after"
    case queue = "queue_id"
    case lastEventID = "last_event_id"
    case longPollSeconds = "event_queue_longpoll_timeout_seconds"
    case events
  }

  /// Throws only if the body is not an object. A field of the wrong type counts as missing, because
  /// either way the server did not say it. What that means is for the classifier.
  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Field.self)
    func said<Value: Decodable>(_ field: Field, _ type: Value.Type = Value.self) -> Value? {
      try? fields.decodeIfPresent(type, forKey: field)
    }
    switch said(.result, String.self) {
    case "success": result = .success
    case "error": result = .error
    default: result = nil
    }
    code = said(.code)
    retryAfter = said(.retryAfter)
    queue = said(.queue)
    lastEventID = said(.lastEventID)
    longPollSeconds = said(.longPollSeconds)
    events = said(.events)
  }
}
