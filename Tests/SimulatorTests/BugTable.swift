import Foundation
import Testing

/// One bug that a sync client had in the field, by its number in our list of them, and how we know
/// that ours has not.
struct Bug {
  var number: Int
  var answers: [Answer]

  enum Answer {
    /// A conversation below `Simulations/Scenarios`, without the end of its name.
    case scenario(String)
    /// A test somewhere in `Tests`, by its whole name.
    case test(String)
    /// The part of the library that could have it is not there yet.
    case waits(Step, String)
    /// No code of ours could have it.
    case cannotOccur(String)
  }

  /// Where the library goes from here. What is written there moves its bugs out of `waits`.
  enum Step: String {
    case zulip = "7, ZulipSync"
    case later = "later, the other protocols"
  }

  init(_ number: Int, _ answers: Answer...) {
    self.number = number
    self.answers = answers
  }
}

/// Every bug from 1 to 84.
enum BugTable {
  static let bugs = registerAndPoll + models + knowledge + localChanges + storage

  /// The scenarios that it names.
  static var scenarios: [String] {
    bugs.flatMap { bug in
      bug.answers.compactMap { if case .scenario(let name) = $0 { name } else { nil } }
    }
  }

  /// The loop: does it go on, does it wait, is it honest?
  static let registerAndPoll = [
    Bug(
      1, .scenario("bugs/01-one-failed-re-register"),
      .test("bug 1 in a seed: registers fail again and again, and somebody always tries anew")),
    Bug(
      2, .scenario("bugs/02-event-that-throws"),
      .test("bug 2: an event that the model refuses does not end the following")),
    Bug(3, .scenario("bugs/03-two-to-the-n-overflowed")),
    Bug(4, .scenario("bugs/04-jitter-rounded-to-nothing")),
    Bug(5, .scenario("bugs/05-backoff-never-reset")),
    Bug(6, .scenario("bugs/06-backoff-reset-by-an-attempt")),
    Bug(
      7, .scenario("bugs/07-first-wait-ignored-and-gave-up"), .scenario("bugs/07-jitter-ignored")),
    Bug(
      8, .scenario("bugs/08-half-open-connection"),
      .test("bug 8: what a half-open connection swallows ends at our own deadline")),
    Bug(9, .test("bug 9: after the phone wakes a request that never settled is given up")),
    Bug(10, .scenario("bugs/10-long-poll-first-after-recovery")),
    Bug(11, .scenario("bugs/11-backoff-grown-while-asleep")),
    Bug(
      12, .scenario("bugs/12-timer-ran-while-suspended"),
      .test("bug 12: a deadline that was slept through is no failure")),
    Bug(
      13, .scenario("bugs/13-rate-limit-not-honoured"),
      .test("bug 13 in a seed: nobody asks before the server's time is over")),
    Bug(
      14, .scenario("bugs/14-revoked-key"),
      .test("bug 14 in a seed: a revoked key halts, and new credentials lead out")),
    Bug(15, .scenario("bugs/15-endless-reload")),
    Bug(
      16, .scenario("bugs/16-undecodable-batch"),
      .test("bug 16: a batch that makes no sense is not asked for again")),
    Bug(
      17, .scenario("bugs/17-reload-asked-for-never-done"),
      .test("bug 17: who lost a queue gets another, whatever comes between")),
    Bug(18, .test("bug 18: what comes of a register after a log-out is not taken")),
    Bug(19, .test("bug 19: what was to be asked when stop came is not asked")),
    Bug(20, .test("bug 20: a timer and a write that end after stop have no effect")),
    Bug(21, .scenario("bugs/21-syncing-while-stopped")),
  ]

  /// Model, finger and saved form; and what a server calls its refusals.
  static let models = [
    Bug(
      22, .scenario("bugs/22-old-event-id-with-a-new-queue"),
      .test("bug 22: a new queue is asked from its own place"),
      .test("bug 22: an answer of the old queue is no news of the new one")),
    Bug(23, .test("bug 23: a new queue comes with a new snapshot, or not at all")),
    Bug(
      24, .test("bug 24: an expiry is known by its code, for no wording is even looked at"),
      .test("bug 24: an expiry is an expiry in any words")),
    Bug(
      25, .scenario("bugs/25-cleared-before-the-snapshot"),
      .test("bug 25: the old state is there to be read until the new one is"),
      .test("bug 25: nothing, not known yet and empty are three things")),
    Bug(
      26, .test("bug 26: events are applied in the order of the log, whatever they are"),
      .test("bug 26: a batch whose numbers do not grow is no batch of this log"),
      .test("bugs 26, 32 and 35 in the server itself do not go unseen")),
    Bug(27, .test("bug 27: each event of a batch sees what the one before it did")),
    Bug(
      28, .test("bug 28: the state is replaced while a send is in flight; it does not vanish"),
      .test("bugs 28 and 72: a new snapshot keeps what is on its way, and what waits")),
    Bug(
      29, .test("bug 29: the finger is the place of the last event that was applied"),
      .test("bug 29: an empty answer leads nowhere, and what is nothing to us counts")),
    Bug(
      30, .test("bug 30: what the model refused moves neither the finger nor the disk"),
      .test("bug 30: a crash before the write brings back model and finger together")),
    Bug(
      31, .scenario("bugs/31-recovery-reset-the-cursor"),
      .test("bug 31: after an error it goes on from where it was")),
    Bug(
      32, .scenario("bugs/32-resumed-from-now"),
      .test("bug 32: what happens while the snapshot is made, or after it, is not lost"),
      .test("bugs 26, 32 and 35 in the server itself do not go unseen")),
    Bug(
      33, .scenario("bugs/33-pause-and-resume"),
      .test("bug 33: coming back from a pause leaves no client with nothing pending"),
      .test("bug 33: pause and resume at any moment lose no request and no timer")),
    Bug(
      34, .scenario("bugs/34-poisoned-saved-handle"),
      .test("bug 34: a saved finger that the server refuses costs one poll, then heals")),
    // A server whose newest answer is old cannot be seen through by a client. The register's
    // contract is that finger and snapshot are of one moment; who breaks it is seen in simulation.
    Bug(
      35, .scenario("bugs/35-older-snapshot-comes-late"),
      .test("bug 35: the answer of a register that was given up takes nothing back"),
      .test("bugs 26, 32 and 35 in the server itself do not go unseen")),
    Bug(
      36, .scenario("bugs/36-refused-but-not-expired"),
      .test("bug 36: whatever a server calls its refusal of a finger, it is asked from no more")),
    Bug(37, .test("bug 37: a list that takes several pages is asked for to its end")),
    Bug(38, .test("bug 38: what was on its way when all began anew brings nothing back")),
    Bug(39, .test("bug 39: what comes back under an ID that was deleted is no duplicate")),
    Bug(40, .test("bug 40: a flag that is set twice can be cleared")),
    Bug(41, .test("bug 41: a reaction in a page and in an event is one reaction")),
    Bug(42, .test("bug 42: a place that sends no events is shown, and never called complete")),
    Bug(43, .test("bug 43: what begins anew keeps neither messages nor what was known of lists")),
  ]

  /// Partial lists.
  static let knowledge = [
    Bug(44, .test("bug 44: a new message comes while the page that reaches the end is out")),
    Bug(45, .test("bug 45: a new message beyond a gap is neither lost nor joined to what is old")),
    Bug(46, .test("bug 46: a live message is not put behind an old list")),
    Bug(47, .test("bug 47: a page of which half is known still brings its other half")),
    Bug(48, .test("bug 48: an older page leaves the newest end known")),
    Bug(49, .test("bug 49: a list fetched anew claims the ends that were found, and no others")),
    Bug(50, .test("bug 50: a moved message leaves the old list and is in the new one")),
    Bug(51, .test("bug 51: moves between muted and unmuted topics are seen both ways")),
    Bug(52, .test("bugs 52 and 53: a list is in the order of its IDs as numbers")),
    Bug(53, .test("bugs 52 and 53: a list is in the order of its IDs as numbers")),
    Bug(54, .test("bug 54: a flag for a message that is not held lists no ID without a message")),
    Bug(55, .test("bug 55: a message in a page and in an event is there once")),
    Bug(56, .test("bug 56: a page that lands after an event undoes nothing")),
    Bug(57, .test("bug 57: a page that fails is not asked for again by every scroll")),
    Bug(58, .test("bug 58: an own message is evidence of itself and of no end")),
    Bug(59, .test("bug 59: an older page that lands after a newer one changes no order")),
    Bug(
      60, .test("bug 60: a walk has no message twice, misses none, and ends"),
      .test("bug 60: a walk whose pages fail or bring nothing goes on slowly, and ends")),
    Bug(61, .test("bug 61: a page that was asked for before a register is not taken after it")),
  ]

  /// What the user changes.
  static let localChanges = [
    Bug(
      62, .test("bug 62: a mutator that throws in a rebase does not stop the inbound side"),
      .test("bug 62: a mutator that throws in replay stops nothing that comes in")),
    Bug(
      63, .test("bug 63: what is made during a push is pushed"),
      .test("bug 63: what is changed during a push is pushed after it")),
    Bug(
      64, .test("bug 64: what is wedged is not skipped, and later ones are not sent")),
    Bug(
      65, .test("bug 65: neither a retry loop nor pending for ever"),
      .test("bug 65: pushes that fail and are lost are tried until one is not")),
    Bug(66, .test("bug 66: what is changed while it is being sent is sent, too")),
    Bug(67, .waits(.later, "created and deleted in one page: RecordSync")),
    Bug(68, .waits(.later, "a record that changes between pull and push: RecordSync")),
    Bug(69, .waits(.later, "own pushes that come back: RecordSync")),
    Bug(70, .waits(.later, "records that are marked as synced: RecordSync")),
    Bug(71, .test("bug 71: what is deleted and made again is sent as both")),
    Bug(
      72, .test("bug 72: what cannot be understood drops nothing"),
      .test("bugs 28 and 72: a new snapshot keeps what is on its way, and what waits")),
    Bug(
      73, .test("bug 73: a sent message does not stay a placeholder when its echo is held up")),
    Bug(
      74, .test("bug 74: the base has one writer")),
    Bug(
      75, .test("bug 75: a last mutation ID that does not advance is noticed, and sent again"),
      .test("bug 75: where the confirmed state stands still, all is pending and sent again"),
      .test("bug 75: a finger that does not advance is asked for at a pace, and drops nothing")),
    Bug(
      76, .test("bug 76: what the view shows is in the outbox that is saved with it"),
      .test("bug 76: an event that the model refuses acknowledges nothing"),
      .test("bug 76: whenever it crashes, what was stored is there, and takes effect once")),
    Bug(
      77, .test("bug 77: stored and acknowledged are two things, and offline the first comes"),
      .test("bug 77: offline a change is stored, and its acknowledgement comes by and by")),
  ]

  /// Maps, disks and costs.
  static let storage = [
    Bug(78, .test("bug 78: after a bulk change no key is in the map twice, nor in a difference")),
    Bug(
      79,
      .test("bug 79: however often it is saved in steps, what is live stays, and what is gone goes")
    ),
    Bug(80, .cannotOccur("numbers are Int64 and Double, and are compared as such; none is text")),
    Bug(81, .test("bug 81: lists, what is known of them and the finger are one step")),
    Bug(82, .waits(.later, "a first pull in bounded memory: RecordSync")),
    Bug(83, .test("bug 83: a poll that brings nothing writes nothing, whatever is held")),
    Bug(84, .test("bug 84: of several messages of one event none is left out")),
  ]
}

@Suite struct BugTableTests {
  @Test func `every bug is answered once`() {
    #expect(BugTable.bugs.map(\.number) == Array(1...84))
    #expect(BugTable.bugs.filter(\.answers.isEmpty).map(\.number) == [])
  }

  @Test func `what machine, driver, knowledge and outbox decide is shown`() {
    let here = Set(1...66).union(71...79).union([81, 83, 84])
    for bug in BugTable.bugs {
      let isShown = bug.answers.contains { answer in
        switch answer {
        case .scenario, .test: true
        case .waits, .cannotOccur: false
        }
      }
      #expect(isShown == here.contains(bug.number), "bug \(bug.number)")
    }
  }

  @Test func `a scenario is there, and is about its bug`() throws {
    for bug in BugTable.bugs {
      for case .scenario(let name) in bug.answers {
        let file = ScenarioFiles.folder.appendingPathComponent("\(name).scenario")
        let text = try String(contentsOf: file, encoding: .utf8)
        let digits = bug.number < 10 ? "0\(bug.number)" : "\(bug.number)"
        #expect(name.hasPrefix("bugs/\(digits)-"))
        #expect(text.hasPrefix("# SyncBugs \(bug.number). "), "\(name)")
        #expect(text.contains("Trigger"), "\(name)")
        #expect(text.split(separator: "\n").prefix { $0.hasPrefix("#") }.count <= 6, "\(name)")
      }
    }
  }

  @Test func `every scenario of a bug is in the table`() {
    let found = ScenarioFiles.names.filter { $0.hasPrefix("bugs/") }
    #expect(found == BugTable.scenarios.map { "\($0).scenario" }.sorted())
  }

  @Test func `a test is there, and every test that names a bug is in the table`() throws {
    var listed: Set<String> = []
    let found = try TestNames.all()
    for bug in BugTable.bugs {
      for case .test(let name) in bug.answers {
        #expect(found.contains(name), "no test \"\(name)\"")
        #expect(TestNames.numbers(in: name).contains(bug.number), "bug \(bug.number): \(name)")
        listed.insert(name)
      }
    }
    let unlisted = found.filter { !TestNames.numbers(in: $0).isEmpty && !listed.contains($0) }
    #expect(unlisted.sorted() == [])
  }

  @Test func `numbers are read from the beginning of a name`() {
    #expect(TestNames.numbers(in: "bug 8: a thing of 10 s") == [8])
    #expect(TestNames.numbers(in: "bugs 26, 32 and 35 in the server") == [26, 32, 35])
    #expect(TestNames.numbers(in: "a bug of 10 s") == [])
  }
}

/// The names of the tests, read from their sources.
enum TestNames {
  /// All that are sentences, in every target.
  static func all() throws -> Set<String> {
    let folder = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent()
    let paths = FileManager.default.enumerator(atPath: folder.path)?.allObjects ?? []
    var names: Set<String> = []
    for case let path as String in paths where path.hasSuffix(".swift") {
      let file = folder.appendingPathComponent(path)
      let text = try String(contentsOf: file, encoding: .utf8)
      for line in text.split(separator: "\n") {
        guard let start = line.firstRange(of: "func `") else { continue }
        names.insert(String(line[start.upperBound...].prefix { $0 != "`" }))
      }
    }
    return names
  }

  /// The bugs that a test's name begins with: "bug 8: …" or "bugs 26, 32 and 35 …".
  static func numbers(in name: String) -> [Int] {
    let words = name.split { $0 == " " || $0 == "," || $0 == ":" }
    guard let first = words.first, first == "bug" || first == "bugs" else { return [] }
    return words.dropFirst().prefix { $0 == "and" || Int($0) != nil }.compactMap { Int($0) }
  }
}
