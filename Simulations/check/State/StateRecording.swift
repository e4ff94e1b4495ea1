import Foundation
import SyncProtocols
import UpdateMachine
import ZulipSync

/// What a recording holds of realms' states: every state that a register gave, and every event.
struct StateRecording {
  var exchanges: [StateExchange] = []
  /// Pages of messages, which settle what events leave in doubt.
  var pages: [StatePage] = []
  /// Answers that ZulipSync cannot read.
  var differences: [Difference] = []

  /// Whether any client was given a state. Most recordings were cut down to what the machine reads.
  /// The events of queues without a state are ignored.
  var hasState: Bool {
    exchanges.contains { if case .registered = $0.kind { true } else { false } }
  }

  /// - Parameters:
  ///   - lines: each must be one that ``Recording`` has read.
  ///   - recording: the same lines, as the machine's check has read them.
  ///   - messages: the same lines, as the check of messages has read them.
  init(
    _ lines: [(number: Int, line: Data)], _ recording: [Exchange], _ messages: MessageRecording?
  ) {
    pages = (messages?.exchanges ?? []).compactMap { StatePage($0) }
    var texts: [Int: Data] = [:]
    for (number, line) in lines { texts[number] = line }
    var queues: Set<QueueID> = []
    // A register has ended before its queue is polled.
    for exchange in recording where exchange.request.kind != .other {
      let isKnown = exchange.request.queue.map { queues.contains(QueueID($0)) } ?? false
      guard isKnown || exchange.request.kind == .register, let line = texts[exchange.line]
      else { continue }
      do throws(ZulipError) {
        guard let kind = try StateRecording.kind(exchange, line) else { continue }
        if case .registered(let finger, _, parameters: _) = kind { queues.insert(finger.queue) }
        exchanges.append(StateExchange(exchange, kind))
      } catch {
        differences.append(
          Difference(
            line: exchange.line, what: "an answer about a realm's state",
            expected: "what the protocol says of it", found: "\(error)"))
      }
    }
  }

  private static func kind(
    _ exchange: Exchange, _ line: Data
  ) throws(ZulipError) -> StateExchange.Kind? {
    let reply = exchange.reply { $0.failure() }
    switch (exchange.request.kind, reply) {
    case (.register, .registered(let finger, longPoll: _)):
      let fields = try ZulipValue(json: line).fields ?? ZulipFields()
      let body = fields["response"]?.fields?["body"]?.fields ?? ZulipFields()
      let parameters = fields["request"]?.fields?["params"]?.fields ?? ZulipFields()
      guard StateRecording.isState(body) else { return nil }
      let snapshot = ZulipAccount.Snapshot(
        ZulipSnapshot(body, ZulipRegistration(parameters: parameters)),
        parameters["apply_markdown"]?.bool == true ? .rendered : .raw)
      return .registered(finger, snapshot, parameters: "\(ZulipValue.fields(parameters))")
    case (.poll, .polled):
      guard let queue = exchange.request.queue else { return nil }
      let poll = try ZulipError.decode(PollLine.self, from: line)
      return .polled(QueueID(queue), poll.response.body)
    case (.poll, .failed(let failure)):
      return exchange.request.queue.map { .failed(QueueID($0), failure) }
    case (.release, _): return exchange.request.queue.map { .released(QueueID($0)) }
    default: return nil
    }
  }

  /// Whether an answer has more fields than every answer has.
  private static func isState(_ body: ZulipFields) -> Bool {
    let always = Set(ZulipState.leftOut.keys).union(["zulip_feature_level"])
    return body.entries.contains { !always.contains($0.name) }
  }
}

/// The line of a poll, with its events.
private struct PollLine: Decodable {
  struct Response: Decodable {
    var body: ZulipEvents
  }

  var response: Response
}

/// One request about a realm's state, and its answer.
struct StateExchange {
  var line: Int
  var sent: Int64
  var ended: Int64
  var sentAt: Moment
  /// The client that asked: a user, and one of the user's programs.
  var client: String
  var user: String
  var kind: Kind

  enum Kind {
    /// `parameters` is a text that is equal for equal parameters.
    case registered(QueueFinger, ZulipAccount.Snapshot, parameters: String)
    case polled(QueueID, ZulipEvents)
    case failed(QueueID, SyncFailure)
    case released(QueueID)
  }

  var events: [ZulipEvent] { if case .polled(_, let answer) = kind { answer.events } else { [] } }

  init(_ exchange: Exchange, _ kind: Kind) {
    line = exchange.line
    sent = exchange.sent
    ended = exchange.ended
    sentAt = exchange.sentAt
    client = exchange.client
    user = exchange.user
    self.kind = kind
  }
}
