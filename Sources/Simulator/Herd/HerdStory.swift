/// What happens to a server and its clients.
package struct HerdStory: Equatable, Sendable {
  package enum Name: String, CaseIterable, Sendable {
    case restart
    case outage
    case deploys
    case badRelease = "bad-release"
    case popularClock = "popular-clock"
  }

  enum Incident: Equatable, Sendable {
    /// The server stops, and loses all logs.
    case stops
    case starts
    /// The server starts with a release whose snapshots fail.
    case startsBadly
    /// All apps come to the foreground, within so many milliseconds.
    case wake(within: Int64)
    /// The cause that began at this time is over.
    case over(from: Int64)
  }

  package let name: Name
  /// How long the apps have been in the background when it begins; `nil`: they are in use.
  let asleep: Int64?
  /// What happens when, in milliseconds from the beginning, in order.
  let incidents: [(at: Int64, what: Incident)]
  /// One sentence about it.
  package let summary: String

  /// How long a server is away when it starts anew.
  static let restartTime: Int64 = 2000

  package init(_ name: Name) {
    self.name = name
    let begin: Int64 = 10_000
    let away = HerdStory.restartTime
    switch name {
    case .restart:
      asleep = nil
      summary = "the server starts anew, in 2 s, and all logs are gone"
      incidents = HerdStory.restart(at: begin, for: away)
    case .outage:
      asleep = nil
      summary = "the server cannot be reached for an hour, and all logs are gone"
      incidents = HerdStory.restart(at: begin, for: 3_600_000)
    case .deploys:
      asleep = nil
      summary = "three times, every five minutes, the server starts anew"
      incidents = (0..<3).flatMap { HerdStory.restart(at: begin + $0 * 300_000, for: away) }
    case .badRelease:
      asleep = nil
      summary = "for five minutes the server runs a release whose snapshots fail"
      let good = begin + 300_000
      incidents = [
        (begin, .stops), (begin + away, .startsBadly), (good, .stops), (good + away, .starts),
        (good + away, .over(from: begin)),
      ]
    case .popularClock:
      asleep = 8 * 3_600_000
      summary = "after a night, all apps are opened within a second"
      incidents = [(begin, .over(from: begin)), (begin, .wake(within: 900))]
    }
  }

  private static func restart(at begin: Int64, for away: Int64) -> [(at: Int64, what: Incident)] {
    [
      (begin, .stops), (begin + away, .starts), (begin + away, .over(from: begin)),
    ]
  }

  package static func == (one: HerdStory, other: HerdStory) -> Bool { one.name == other.name }
}
