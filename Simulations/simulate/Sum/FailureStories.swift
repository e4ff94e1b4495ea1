import Foundation
import Simulator

/// The failures of many runs in which one oracle found one rule broken: as a rule, one bug.
struct FailureStory: Codable, Equatable, Sendable {
  /// How many runs of one world failed so.
  struct Share: Codable, Equatable, Sendable {
    var world: String
    var count: Int64
    /// The smallest seed among them.
    var seed: UInt64
  }

  var oracle: String
  /// The words of the expectation before its first value and after its last: "entry … shows once".
  var rule: String
  var count: Int64
  /// The smallest seed that fails so, with what was expected in it and found, both cut.
  var seed: UInt64
  var expected: String
  var found: String
  /// By name.
  var worlds: [Share]

  init(_ finding: Finding, seed: UInt64, world: LibraryWorld) {
    oracle = finding.oracle.rawValue
    rule = FailureStory.rule(finding.expected)
    count = 1
    self.seed = seed
    expected = FailureStory.cut(finding.expected)
    found = FailureStory.cut(finding.found)
    worlds = [Share(world: world.rawValue, count: 1, seed: seed)]
  }

  /// What makes two failures the same story. An oracle's name has no line feed.
  var key: String { oracle + "\n" + rule }

  /// Adds the failures of another report with the same key.
  mutating func add(_ other: FailureStory) {
    count = sum(count, other.count)
    if other.seed < seed { (seed, expected, found) = (other.seed, other.expected, other.found) }
    for share in other.worlds {
      if let place = worlds.firstIndex(where: { $0.world == share.world }) {
        worlds[place].count = sum(worlds[place].count, share.count)
        worlds[place].seed = min(worlds[place].seed, share.seed)
      } else {
        worlds.append(share)
      }
    }
    worlds.sort { $0.world < $1.world }
  }

  /// A text without what differs from seed to seed: its values, and the words between them, because
  /// a value may be a list or a whole state.
  static func rule(_ expectation: String) -> String {
    let words = expectation.split(whereSeparator: \.isWhitespace)
    let head = words.prefix(while: isPlain)
    guard head.count < words.count else { return cut(words.joined(separator: " ")) }
    let tail = words.reversed().prefix(while: isPlain).reversed()
    return cut((head + ["…"] + tail).joined(separator: " "))
  }

  /// Whether a word may belong to a rule: letters, hyphens and apostrophes, and punctuation around.
  private static func isPlain(_ word: Substring) -> Bool {
    let letters = word.drop { $0 == "(" }
    let end = letters.lastIndex { !",.;:)".contains($0) }
    guard let end else { return false }
    return letters[...end].allSatisfy { $0.isASCII && ($0.isLetter || "-'".contains($0)) }
  }

  private static func cut(_ text: String) -> String {
    text.count <= 200 ? text : text.prefix(199) + "…"
  }
}

/// The stories of many failures. The order in which failures are added makes no difference.
struct FailureStories: Sendable {
  private var stories: [FailureStory] = []
  /// Where the story of each key is.
  private var places: [String: Int] = [:]

  init() {}

  mutating func add(_ finding: Finding, seed: UInt64, world: LibraryWorld) {
    add(FailureStory(finding, seed: seed, world: world))
  }

  mutating func add(_ story: FailureStory) {
    if let place = places[story.key] {
      stories[place].add(story)
    } else {
      places[story.key] = stories.count
      stories.append(story)
    }
  }

  /// Those that were found most often come first.
  var sorted: [FailureStory] {
    stories.sorted { ($1.count, $0.seed, $0.key) < ($0.count, $1.seed, $1.key) }
  }
}

/// The sum; the largest number if it is larger. Reports come from files, which may hold anything.
func sum(_ one: Int64, _ other: Int64) -> Int64 {
  let (sum, isTooLarge) = one.addingReportingOverflow(other)
  return isTooLarge ? .max : sum
}
