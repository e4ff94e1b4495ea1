internal import UpdateMachine

/// What goes wrong on purpose. Each switch can be set at any time.
package struct FaultSwitches: Equatable, Sendable {
  /// How late every answer is, in milliseconds, up to 60,000.
  package var latency: Int64 = 0
  /// The percentage of answers whose connection ends before the first byte.
  package var lostAnswers: Int64 = 0
  /// The percentage of requests whose connection ends before they are looked at.
  package var lostRequests: Int64 = 0
  /// The percentage of requests that are answered by an error: half of these with a 500 of the
  /// server, half with a 502 of a proxy.
  package var errors: Int64 = 0
  /// Every so many seconds all queues expire; 0: never.
  package var expireEvery: Int64 = 0
  /// The lifetime of queues in seconds; 0: as Zulip's.
  package var lifetime: Int64 = 0
  /// So many requests of each user are allowed…
  package var rateRequests: Int64 = 0
  /// … in so many seconds; 0: in 60. If no requests are given, there is no limit.
  package var rateSeconds: Int64 = 0

  package init() {}

  /// One switch: its name, at the page and as an option, and what it may be.
  struct Switch: Sendable {
    var name: String
    var range: ClosedRange<Int64>
    var place: any WritableKeyPath<FaultSwitches, Int64> & Sendable
  }

  static let all = [
    Switch(name: "latency", range: 0...60_000, place: \.latency),
    Switch(name: "lose-answers", range: 0...100, place: \.lostAnswers),
    Switch(name: "lose-requests", range: 0...100, place: \.lostRequests),
    Switch(name: "errors", range: 0...100, place: \.errors),
    Switch(name: "expire-every", range: 0...86_400, place: \.expireEvery),
    Switch(name: "lifetime", range: 0...604_800, place: \.lifetime),
    Switch(name: "rate-requests", range: 0...1_000_000, place: \.rateRequests),
    Switch(name: "rate-seconds", range: 0...86_400, place: \.rateSeconds),
  ]

  /// The lifetime, if it is not Zulip's.
  var ownLifetime: TimeSpan? { lifetime > 0 ? .seconds(lifetime) : nil }

  var rate: RequestLimits.Rate? {
    guard rateRequests > 0 else { return nil }
    return .init(requests: rateRequests, window: .seconds(rateSeconds > 0 ? rateSeconds : 60))
  }

  /// What becomes of one request.
  enum Fate: Sendable {
    case none
    case losesRequest
    case losesAnswer
    case fails(APIAnswer)
  }

  /// Draws a fate. It draws as many numbers whatever the switches say, so that a seed gives each
  /// request the same luck.
  func fate(_ chance: inout SplitMix) -> Fate {
    let (request, error, kind, answer) = (
      chance.below(Int64(100)), chance.below(Int64(100)), chance.below(2), chance.below(Int64(100))
    )
    if request < lostRequests { return .losesRequest }
    if error < errors {
      guard kind == 0 else { return .fails(.badGateway) }
      return .fails(.refusal(APIError("Internal server error", code: nil, status: 500)))
    }
    return answer < lostAnswers ? .losesAnswer : .none
  }
}
