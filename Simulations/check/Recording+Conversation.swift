import SyncProtocols
package import UpdateMachine

extension Recording {
  /// One request of a recorded client, and its answer, for a picture. Moments count from the first
  /// request.
  package struct Talk {
    package var client: String
    package var sent: Moment
    package var ended: Moment
    package var asks: String
    package var answer: String
    /// Whether an answer came.
    package var isAnswered: Bool
    /// Whether it is a snapshot with its finger.
    package var isSnapshot: Bool
  }

  /// All requests, in the order in which they were sent.
  package var conversation: [Talk] {
    let first = exchanges.map(\.sent).min() ?? 0
    return exchanges.sorted { ($0.sent, $0.line) < ($1.sent, $1.line) }.map { exchange in
      let reply = exchange.reply { $0.failure() }
      var isAnswered = true
      if case .transportError = exchange.response { isAnswered = false }
      var isSnapshot = false
      if case .registered = reply { isSnapshot = true }
      return Talk(
        client: exchange.client,
        sent: Moment(milliseconds: (exchange.sent - first) / 1000),
        ended: Moment(milliseconds: (exchange.ended - first) / 1000),
        asks: Recording.words(exchange.request), answer: Recording.words(reply),
        isAnswered: isAnswered, isSnapshot: isSnapshot)
    }
  }

  /// Requests that are not of the protocol are named by method and path, without parameters.
  private static func words(_ request: Exchange.Request) -> String {
    switch request.kind {
    case .register: return "register"
    case .release: return "release " + (request.queue ?? "no queue")
    case .poll:
      let last =
        switch request.lastEventID {
        case .missing: "?"
        case .number(let number): "\(number)"
        case .text(let text): text
        }
      return "poll from \(request.queue ?? "no queue"):\(last)"
    case .other: return "\(request.method) \(request.path)"
    }
  }

  private static func words(_ reply: DecodedReply) -> String {
    switch reply {
    case .registered(let finger, _): return "snapshot, finger \(finger)"
    case .polled(let batch):
      let count = batch.events.count
      return "\(count) event\(count == 1 ? "" : "s")"
        + (batch.events.last.map { " to \($0.id)" } ?? "")
    case .succeeded: return "done"
    case .failed(let failure): return "\(failure)"
    }
  }
}
