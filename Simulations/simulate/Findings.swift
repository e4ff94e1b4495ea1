/// What a check found on some lines: agreement, the recorder's departures, differences.
struct Findings {
  /// Polls that the machine wanted, too.
  var pollsAgreed = 0
  /// Polls that no honest client would have sent.
  var pollsDeparting = 0
  /// Polls that came after a departure or a difference on their queue, where nobody can say any
  /// more what the machine should want. Their answers are looked at each alone.
  var pollsNotFollowed = 0
  var departures: [Departure] = []
  var differences: [Difference] = []

  static func += (one: inout Findings, other: Findings) {
    one.pollsAgreed += other.pollsAgreed
    one.pollsDeparting += other.pollsDeparting
    one.pollsNotFollowed += other.pollsNotFollowed
    one.departures += other.departures
    one.differences += other.differences
  }
}

/// Where the recording client did what no honest client does.
struct Departure: Equatable {
  var line: Int
  var kind: Kind
  var sent: String
  /// What an honest client would have sent instead.
  var honest: String
  /// How many later requests on the queue were therefore not followed.
  var notFollowed = 0

  enum Kind: String {
    /// The file shows nobody of this user register it.
    case strangeQueue = "a queue that the user never registered"
    case malformed = "no request of this protocol"
    case twoAtOnce = "two at once"
    case afterTheEnd = "after the end"
    case oldPlace = "an old place"
    /// From the future, or merged away.
    case unknownPlace = "a place it was never given"
    case tooLate = "after a silence that no queue survives"
  }
}

/// Where machine, classifier or recording are wrong.
struct Difference: Equatable {
  var line: Int
  var what: String
  var expected: String
  var found: String
}

extension Departure {
  func text(in file: String) -> String {
    let rest =
      notFollowed == 0
      ? "" : " (\(notFollowed) later request\(notFollowed == 1 ? "" : "s") not followed)"
    return "\(file):\(line): departure, \(kind.rawValue): sent \(sent); "
      + "an honest client: \(honest)\(rest)"
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
