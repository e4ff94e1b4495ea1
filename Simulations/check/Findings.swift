/// What a check found on some lines: agreements, the recorder's departures, and differences.
struct Findings {
  /// Polls that the machine wanted as well.
  var pollsAgreed = 0
  /// Polls that no honest client would have sent.
  var pollsDeparting = 0
  /// Polls after a departure or a difference on their queue, when it is no longer known what the
  /// machine should want. Each of their answers is checked by itself.
  var pollsNotFollowed = 0
  var departures: [Departure] = []
  var differences: [Difference] = []

  /// The number of departures. Those that share one line of text are counted one by one.
  var departureCount: Int { departures.reduce(0) { $0 + 1 + $1.repeats } }

  static func += (one: inout Findings, other: Findings) {
    one.pollsAgreed += other.pollsAgreed
    one.pollsDeparting += other.pollsDeparting
    one.pollsNotFollowed += other.pollsNotFollowed
    one.departures += other.departures
    one.differences += other.differences
  }
}

/// A place where the recorder did what no honest client does.
struct Departure: Equatable {
  var line: Int
  var kind: Kind
  var sent: String
  /// What an honest client would have sent instead.
  var honest: String
  /// How many times the same was sent again right afterwards on the queue. `lastLine` is the last
  /// such line.
  var repeats = 0
  var lastLine = 0

  /// Whether `next`, which comes right after this departure, is only more of the same.
  func isRepeated(by next: Departure) -> Bool {
    kind == next.kind && sent == next.sent && honest == next.honest
  }

  enum Kind: String {
    /// No client of this user registers the queue in the file.
    case unknownQueue = "a queue that the user never registered"
    case malformed = "not a request of this protocol"
    case twoAtOnce = "two requests at once"
    case afterTheEnd = "after the end of the queue"
    case oldPlace = "an old event ID"
    case future = "an event ID from the future"
    /// The event was merged away, or was never there.
    case unknownPlace = "an event ID that the client never received"
    case tooLate = "after a silence that no queue survives"
  }
}

/// A place where the machine, the classifier or the recording is wrong.
struct Difference: Equatable {
  var line: Int
  var what: String
  var expected: String
  var found: String
}

extension Departure {
  func text(in file: String) -> String {
    let times = repeats == 1 ? "once" : "\(repeats) times"
    let more = repeats == 0 ? "" : " (and \(times) more, to line \(lastLine))"
    return "\(file):\(line): departure, \(kind.rawValue): \(sent); "
      + "a correct client sends \(honest)\(more)"
  }
}

extension Difference {
  func text(in file: String) -> String {
    """
    \(file):\(line): \(what)
      expected  \(expected)
      found     \(found)
    """
  }
}
