import Foundation
import Testing

/// One bug of another sync client, by its number in SyncBugs, and how we know that ours does not
/// have it.
struct Bug {
  var number: Int
  var answers: [Answer]

  enum Answer {
    /// A scenario in `Simulations/Scenarios`, by its path without the extension.
    case scenario(String)
    /// A test somewhere in `Tests`, by its full name.
    case test(String)
    /// The part of the library that could have the bug does not exist yet.
    case waits(Step, String)
    /// No code of ours could have the bug.
    case cannotOccur(String)
  }

  /// A future step of the library. When it is done, its bugs move out of `waits`.
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

  /// The scenarios that the table names.
  static var scenarios: [String] {
    bugs.flatMap { bug in
      bug.answers.compactMap { if case .scenario(let name) = $0 { name } else { nil } }
    }
  }

  /// The loop: whether it goes on, waits, and is honest.
  static let registerAndPoll = [
    Bug(
      1, .scenario("bugs/01-one-failed-re-register"),
      .test("bug 1 in a seed: registers fail repeatedly, and each client tries again")),
    Bug(
      2, .scenario("bugs/02-event-that-throws"),
      .test("bug 2: a client follows again after an event that the model refuses")),
    Bug(3, .scenario("bugs/03-two-to-the-n-overflowed")),
    Bug(4, .scenario("bugs/04-jitter-rounded-to-nothing")),
    Bug(5, .scenario("bugs/05-backoff-never-reset")),
    Bug(6, .scenario("bugs/06-backoff-reset-by-an-attempt")),
    Bug(
      7, .scenario("bugs/07-first-wait-ignored-and-gave-up"), .scenario("bugs/07-jitter-ignored")),
    Bug(
      8, .scenario("bugs/08-half-open-connection"),
      .test("bug 8: a request lost in a half-open connection ends at our own deadline")),
    Bug(9, .test("bug 9: a request that never settled is given up after the device wakes")),
    Bug(10, .scenario("bugs/10-long-poll-first-after-recovery")),
    Bug(11, .scenario("bugs/11-backoff-grown-while-asleep")),
    Bug(
      12, .scenario("bugs/12-timer-ran-while-suspended"),
      .test("bug 12: a deadline that was slept through is no failure")),
    Bug(
      13, .scenario("bugs/13-rate-limit-not-honoured"),
      .test("bug 13 in a seed: no client asks before the server's retry-after is over")),
    Bug(
      14, .scenario("bugs/14-revoked-key"),
      .test("bug 14 in a seed: a revoked key halts a client, and new credentials resume it")),
    Bug(15, .scenario("bugs/15-endless-reload")),
    Bug(
      16, .scenario("bugs/16-undecodable-batch"),
      .test("bug 16: a malformed batch is not requested again")),
    Bug(
      17, .scenario("bugs/17-reload-asked-for-never-done"),
      .test("bug 17: a client that lost its queue gets another, whatever comes between")),
    Bug(18, .test("bug 18: the answer to a register is not taken after a log-out")),
    Bug(19, .test("bug 19: a request that was about to be sent is not sent after a stop")),
    Bug(20, .test("bug 20: a timer and a write that end after stop have no effect")),
    Bug(21, .scenario("bugs/21-syncing-while-stopped")),
  ]

  /// Model, finger and saved form, and how refusals are recognised.
  static let models = [
    Bug(
      22, .scenario("bugs/22-old-event-id-with-a-new-queue"),
      .test("bug 22: a new queue is polled from its own finger"),
      .test("bug 22: an answer of the old queue does not count for the new one")),
    Bug(23, .test("bug 23: a new queue always comes with a new snapshot")),
    Bug(
      24, .test("bug 24: an expiry is recognised by its code, never by its wording"),
      .test("bug 24: an expiry is recognised whatever its message says")),
    Bug(
      25, .scenario("bugs/25-cleared-before-the-snapshot"),
      .test("bug 25: the old state stays readable until the new one arrives"),
      .test("bug 25: nothing, unknown and empty are three states")),
    Bug(
      26, .test("bug 26: events of all kinds are applied in the order of the log"),
      .test("bug 26: a batch whose event IDs do not grow is malformed"),
      .test("bugs 26, 32 and 35 are found when the server has them")),
    Bug(27, .test("bug 27: each event of a batch sees the effect of the one before it")),
    Bug(
      28, .test("bug 28: a mutation in flight does not vanish when the state is replaced"),
      .test("bugs 28 and 72: a new snapshot keeps sent and waiting mutations")),
    Bug(
      29, .test("bug 29: the finger is the place of the last applied event"),
      .test("bug 29: an empty answer keeps the finger, and an ignored event moves it")),
    Bug(
      30, .test("bug 30: a refused event changes neither the finger nor the disk"),
      .test("bug 30: model and finger are restored together after a crash before the write")),
    Bug(
      31, .scenario("bugs/31-recovery-reset-the-cursor"),
      .test("bug 31: a client continues from its finger after an error")),
    Bug(
      32, .scenario("bugs/32-resumed-from-now"),
      .test("bug 32: an event during or after the snapshot is not lost"),
      .test("bugs 26, 32 and 35 are found when the server has them")),
    Bug(
      33, .scenario("bugs/33-pause-and-resume"),
      .test("bug 33: every client waits for something after a pause"),
      .test("bug 33: pause and resume at any moment lose no request and no timer")),
    Bug(
      34, .scenario("bugs/34-poisoned-saved-handle"),
      .test("bug 34: a saved finger that the server refuses costs one poll")),
    // A client cannot tell if the server's newest answer is old. A register promises a finger and a
    // snapshot of one moment; the simulator finds a server that breaks this.
    Bug(
      35, .scenario("bugs/35-older-snapshot-comes-late"),
      .test("bug 35: the answer to an abandoned register changes nothing"),
      .test("bugs 26, 32 and 35 are found when the server has them")),
    Bug(
      36, .scenario("bugs/36-refused-but-not-expired"),
      .test("bug 36: a refused finger is never polled again, whatever the error code")),
    Bug(
      37, .test("bug 37: a list of several pages is fetched to its end"),
      .test("bug 37: a row that comes in the millisecond of a page is not missed")),
    Bug(38, .test("bug 38: answers to an earlier generation bring nothing back")),
    Bug(
      39, .test("bug 39: a message that returns under a deleted ID is no duplicate"),
      .test("bugs 39 and 71: an ID stays taken after a deletion")),
    Bug(40, .test("bug 40: a flag that is set twice can be cleared")),
    Bug(
      41, .test("bug 41: a reaction in a page and in an event is one reaction"),
      .test("bug 41: notifications that were taken are not taken again")),
    Bug(42, .test("bug 42: a list without events is shown, and never called complete")),
    Bug(43, .test("bug 43: a new generation keeps neither messages nor knowledge")),
  ]

  /// Partial lists.
  static let knowledge = [
    Bug(
      44, .test("bug 44: a message that comes while the page to the end is out is in the list"),
      .test("bug 44: a notification of a row that went with its node is dropped")),
    Bug(45, .test("bug 45: a new message beyond a gap is neither lost nor joined to old ones")),
    Bug(46, .test("bug 46: a live message is not appended to an outdated list")),
    Bug(47, .test("bug 47: a page that is half known still brings its other half")),
    Bug(48, .test("bug 48: an older page leaves the newest end known")),
    Bug(49, .test("bug 49: a list fetched anew claims the ends that were found, and no others")),
    Bug(50, .test("bug 50: a moved message leaves the old list and is in the new one")),
    Bug(51, .test("bug 51: a move into or out of a muted topic changes both lists")),
    Bug(52, .test("bugs 52 and 53: a list is in the order of its IDs as numbers")),
    Bug(53, .test("bugs 52 and 53: a list is in the order of its IDs as numbers")),
    Bug(54, .test("bug 54: a flag for a message that is not held lists no ID without a message")),
    Bug(55, .test("bug 55: a message in a page and in an event is there once")),
    Bug(56, .test("bug 56: a page that arrives after an event does not undo it")),
    Bug(57, .test("bug 57: a failed page is not fetched again by every scroll")),
    Bug(58, .test("bug 58: an own message proves only itself, not the end of the list")),
    Bug(59, .test("bug 59: an older page that arrives after a newer one keeps the order")),
    Bug(
      60, .test("bug 60: paging through a list repeats no message, misses none, and ends"),
      .test("bug 60: paging with failures or empty pages is slow, and ends")),
    Bug(61, .test("bug 61: a page that was requested before a register is not taken after it")),
  ]

  /// Local changes.
  static let localChanges = [
    Bug(
      62, .test("bug 62: a mutator that throws in a rebase does not block incoming events"),
      .test("bug 62: a mutator that throws in replay does not stop incoming events")),
    Bug(
      63, .test("bug 63: a mutation made during a push is pushed"),
      .test("bug 63: a change made during a push is pushed after it")),
    Bug(
      64, .test("bug 64: a refused mutation is not skipped, and later ones are not sent")),
    Bug(
      65, .test("bug 65: failed pushes neither loop nor stay pending for ever"),
      .test("bug 65: failed and lost pushes are repeated until one succeeds")),
    Bug(
      66, .test("bug 66: a change to a value that is being sent is sent, too"),
      .test("bug 66: a change made while a push is out is pushed by the next")),
    Bug(67, .test("bug 67: created and deleted within one pull, it stays gone")),
    Bug(
      68, .test("bug 68: a record that changes between each pull and push is pushed once it rests")),
    Bug(
      69,
      .test("bug 69: an own creation that comes back restores nothing that was deleted since"),
      .test("bugs 69 and 70: pushed again after a lost answer, it is the same state, and synced")),
    Bug(
      70,
      .test("bugs 69 and 70: pushed again after a lost answer, it is the same state, and synced")),
    Bug(
      71, .test("bug 71: deleting and making again are sent as two mutations"),
      .test("bug 71: deleted and created again, both are sent, and our own echo overrules neither"),
      .test("bug 71: with every answer lost, no own echo revives a column or a record"),
      .test("bugs 39 and 71: an ID stays taken after a deletion")),
    Bug(
      72, .test("bug 72: an answer that cannot be understood drops nothing"),
      .test("bugs 28 and 72: a new snapshot keeps sent and waiting mutations")),
    Bug(
      73, .test("bug 73: a sent message does not stay a placeholder when its echo is held up")),
    Bug(
      74, .test("bug 74: only the server's answers change the confirmed state")),
    Bug(
      75, .test("bug 75: a last mutation ID that does not advance is noticed, and sent again"),
      .test("bug 75: mutations are sent again while the confirmed state does not advance"),
      .test("bug 75: a finger that does not advance is polled at the pace, and drops nothing"),
      .test("bug 75: changes without a later moment, and other impossible answers, are gaps")),
    Bug(
      76, .test("bug 76: pending changes in the view are in the saved outbox"),
      .test("bug 76: an event that the model refuses acknowledges nothing"),
      .test("bug 76: a stored change survives a crash at any moment and takes effect once")),
    Bug(
      77, .test("bug 77: a mutation made offline is stored, but not acknowledged"),
      .test("bug 77: a change made offline is stored at once and acknowledged later")),
  ]

  /// Maps, disks and costs.
  static let storage = [
    Bug(78, .test("bug 78: a bulk change puts no key into the map or a difference twice")),
    Bug(
      79,
      .test("bug 79: live rows stay and removed ones are gone after any number of steps")
    ),
    Bug(80, .cannotOccur("numbers are Int64 and Double, and are compared as such; none is text")),
    Bug(81, .test("bug 81: lists, their knowledge and the finger are saved in one step")),
    Bug(
      82,
      .test("bug 82: a first pull comes in small pages, and shows nothing until it is whole"),
      .test("bug 82: a first sync comes in pages, and shows nothing before it is whole")),
    Bug(
      83, .test("bug 83: an empty poll writes nothing"),
      .test("bug 83: a client that is up to date reconnects, and gets no rows")),
    Bug(84, .test("bug 84: an event about several messages applies to each")),
  ]
}

@Suite struct BugTableTests {
  @Test func `every bug is in the table once`() {
    #expect(BugTable.bugs.map(\.number) == Array(1...84))
    #expect(BugTable.bugs.filter(\.answers.isEmpty).map(\.number) == [])
  }

  @Test func `each bug that our code could have has a scenario or a test`() {
    let here = Set(1...79).union(81...84)
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

  @Test func `each scenario in the table exists and is about its bug`() throws {
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

  @Test func `each test in the table exists, and every test that names a bug is in it`() throws {
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

  @Test func `bug numbers are read from the beginning of a name`() {
    #expect(TestNames.numbers(in: "bug 8: a thing of 10 s") == [8])
    #expect(TestNames.numbers(in: "bugs 26, 32 and 35 in the server") == [26, 32, 35])
    #expect(TestNames.numbers(in: "a bug of 10 s") == [])
  }
}

/// The names of the tests, read from their sources.
enum TestNames {
  /// The names of all tests that are sentences, in every target.
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

  /// The numbers at the beginning of a test's name, like "bug 8: …" or "bugs 26, 32 and 35 …".
  static func numbers(in name: String) -> [Int] {
    let words = name.split { $0 == " " || $0 == "," || $0 == ":" }
    guard let first = words.first, first == "bug" || first == "bugs" else { return [] }
    return words.dropFirst().prefix { $0 == "and" || Int($0) != nil }.compactMap { Int($0) }
  }
}
