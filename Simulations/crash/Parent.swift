import Foundation
import SyncProtocols
import UpdateMachine

/// An error in the state that a child restored, in its final state, or in how it ended.
struct Wrong: Error, CustomStringConvertible {
  var round: Int
  var expected: String
  var found: String

  var description: String { "round \(round): expected \(expected), found \(found)" }
}

/// The results of many rounds.
struct Tally: Codable {
  var rounds = 0
  /// Kills, by the last phase that the child reported.
  var kills: [String: Int] = [:]
  var made: Int64 = 0
  var stored = 0
  var pushes = 0
  var pulls = 0
  /// Rounds in which a newer state became durable.
  var durableProgress = 0
  /// Children that were frozen before they were killed, and those of them that went on in between.
  var frozen = 0
  var resumed = 0
  /// Second processes that were refused the file of a frozen one.
  var refused = 0
  /// Starts that found nothing saved.
  var empty = 0
  /// Mutations that were reported as stored, and are missing.
  var lost = 0
  /// Children that did not become up to date in the end.
  var notConverged = 0
  var seconds = 0.0
}

/// The server, which also kills its client and checks that nothing was lost.
final class Parent {
  private let folder: URL
  private var server = ClientViewServer(
    DataLayer(EntryMutators()), DiffServer(epoch: 1), pushCredential: PushCredential("push"),
    pullCredential: PullCredential("pull"))
  private let client = ClientID(1)
  private var chance: SplitMix
  private(set) var tally = Tally()

  /// The greatest number that a child has reported it is about to add.
  private var made: Int64 = 0
  /// Numbers that were reported as stored, and that no restored state has contained yet.
  private var owed: [Int64] = []
  private var durable = CommitNumber(0)
  /// What was durable when the child began. A child reports what it found while other work goes on.
  /// By then it may have pulled and saved more, and have reported that first.
  private var promised = CommitNumber(0)
  private var progressed = false

  init(folder: URL, seed: UInt64) {
    self.folder = folder
    chance = SplitMix(seed)
  }

  /// Runs one child and ends it at a random moment. The longest delay is drawn from the powers of
  /// two from 128 µs to 131 ms, so that short delays are as likely as long ones. It counts from the
  /// child's first report, or from when the child has restored its state.
  func round() throws {
    tally.rounds += 1
    progressed = false
    let microseconds = 1 << (7 + chance.below(11))
    let delay = chance.below(microseconds)
    let beginning: Beginning = chance.below(5) == 0 ? .firstWord : .restored
    let end = nextEnd()
    let (phase, _) = try live(
      endedAfter: .microseconds(delay), from: beginning, by: end, finishes: false)
    tally.kills["\(phase)", default: 0] += 1
    if end != .kill { tally.frozen += 1 }
    if case .freeze(.some) = end { tally.resumed += 1 }
    if progressed { tally.durableProgress += 1 }
    if chance.below(4) == 0 { changeFromOutside() }
    if chance.below(8) == 0 { server.diffServer.forget() }
  }

  /// How a child ends.
  private enum End: Equatable {
    case kill
    /// It stops as a suspended app does, perhaps in the middle of a write. Then it is killed, or
    /// goes on for so many microseconds before that.
    case freeze(goesOnFor: Int?)
  }

  /// Draws how the next child ends: every third is frozen first.
  private func nextEnd() -> End {
    guard chance.below(3) == 0 else { return .kill }
    return .freeze(goesOnFor: chance.below(2) == 0 ? nil : 1000 + chance.below(40_000))
  }

  /// Ends a child.
  /// - Parameters:
  ///   - file: a file that the child has open; `nil`: it may not have opened it yet.
  ///   - outcome: takes what a second process got that wanted the file of the frozen child.
  private static func end(
    _ pid: pid_t, by end: End, holding file: String?, _ outcome: Second.Outcome
  ) {
    if case .freeze(let rest) = end {
      kill(pid, SIGSTOP)
      // Before the child is killed, after which its parent looks.
      if let file { outcome.set(Second.tryToOpen(file)) }
      if let rest {
        kill(pid, SIGCONT)
        usleep(UInt32(rest))
      }
    }
    kill(pid, SIGKILL)
  }

  /// Runs the last child until it is up to date and has saved that, for a minute at most.
  func conclude() throws {
    // Where nothing is ever saved, nothing can be lost.
    guard tally.rounds < 50 || tally.durableProgress > 0 else {
      throw Wrong(
        round: tally.rounds, expected: "a round in which something became durable", found: "none")
    }
    let (_, level) = try live(
      endedAfter: .seconds(60), from: .firstWord, by: .kill, finishes: true)
    let truth = server.dataLayer.last.view
    guard let level, level.commit == server.dataLayer.lastNumber else {
      tally.notConverged += 1
      throw Wrong(
        round: tally.rounds, expected: "a client that is up to date",
        found: level.map { "one at commit \($0.commit.number)" } ?? "none")
    }
    guard level.checksum == truth.checksum else {
      throw Wrong(round: tally.rounds, expected: "the server's view", found: "another")
    }
    try judgeTruth()
  }

  private func changeFromOutside() {
    server.dataLayer.change { (transaction: inout ViewTransaction<JSONValue>) in
      let count = transaction.get("outside")?.int64 ?? 0
      transaction.put("outside", JSONValue(integerLiteral: count + 1))
    }
  }

  // MARK: One process

  private typealias Level = (commit: CommitNumber, checksum: UInt64)

  /// When the delay before the end begins.
  private enum Beginning { case firstWord, restored }

  private func live(
    endedAfter delay: DispatchTimeInterval, from beginning: Beginning, by end: End,
    finishes: Bool
  ) throws -> (Phase, Level?) {
    promised = durable
    let process = Process()
    let (input, output) = (Pipe(), Pipe())
    process.executableURL = Bundle.main.executableURL
    let file = folder.appending(path: "replica.db").path
    process.arguments = ["--child", file]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let pid = process.processIdentifier
    try Pipeline.send(
      Order.start(from: made + 1, client: client, finishes: finishes),
      over: input.fileHandleForWriting)
    var phase = Phase.starting
    var level: Level?
    var isTimed = false
    let second = Second.Outcome()
    while let report = try? Pipeline.receive(Report.self, over: output.fileHandleForReading) {
      if !isTimed, beginning == .firstWord || report.isRestored {
        isTimed = true
        let held = report.isRestored ? file : nil
        DispatchQueue.global().asyncAfter(deadline: .now() + delay) {
          Parent.end(pid, by: end, holding: held, second)
        }
      }
      switch report {
      case .phase(let now): phase = now
      case .level(let commit, let checksum):
        level = (commit, checksum)
        if commit == server.dataLayer.lastNumber { kill(pid, SIGKILL) }
      default:
        if let next = Parent.phase(of: report) { phase = next }
        try hear(report, input.fileHandleForWriting)
      }
    }
    process.waitUntilExit()
    try judgeExit(process)
    if let wrong = second.wrong {
      throw Wrong(
        round: tally.rounds,
        expected: "a second process that is refused the file of a frozen one", found: wrong)
    }
    if second.isRefused { tally.refused += 1 }
    return (phase, level)
  }

  private static func phase(of report: Report) -> Phase? {
    switch report {
    case .pull: .pulling
    case .push: .pushing
    case .phase, .restored, .makes, .stored, .durable, .level: nil
    }
  }

  private func judgeExit(_ process: Process) throws {
    guard process.terminationReason != .uncaughtSignal || process.terminationStatus != SIGKILL
    else { return }
    throw Wrong(
      round: tally.rounds, expected: "a child that ends by being killed",
      found: "one that ended with \(process.terminationStatus)")
  }

  private func hear(_ report: Report, _ input: FileHandle) throws {
    switch report {
    case .phase, .level: break
    case .makes(let number):
      made = max(made, number)
      tally.made = made
    case .stored(let number):
      owed.append(number)
      tally.stored += 1
    case .durable(let commit):
      if commit > durable { progressed = true }
      durable = max(durable, commit)
    case .restored(let restored): try judge(restored)
    case .pull(let request, let state, let client):
      tally.pulls += 1
      let pulled = try server.pull(
        PullRequest(client: client, state: state), with: server.pullCredential)
      try? Pipeline.send(Order.pulled(request, pulled), over: input)
    case .push(let request, let push):
      tally.pushes += 1
      let answer = try server.push(push, with: server.pushCredential)
      // Some answers never arrive: the child is killed after its push has arrived.
      try? Pipeline.send(Order.pushed(request, answer), over: input)
    }
  }

  // MARK: Judgement

  /// Checks that the restored state once existed and is no older than what was durable, and that
  /// every stored number is in it or pending.
  private func judge(_ restored: Report.Restored?) throws {
    guard let restored else {
      tally.empty += 1
      guard promised.number == 0, owed.isEmpty else {
        tally.lost += owed.count
        throw Wrong(
          round: tally.rounds, expected: "what was saved up to commit \(promised.number)",
          found: "nothing")
      }
      return
    }
    guard restored.commit >= promised, restored.commit <= server.dataLayer.lastNumber else {
      throw Wrong(
        round: tally.rounds, expected: "a state from commit \(promised.number) on",
        found: "one of commit \(restored.commit.number)")
    }
    durable = max(durable, restored.commit)
    let then = server.dataLayer.commit(restored.commit).view
    guard then.checksum == restored.checksum else {
      throw Wrong(
        round: tally.rounds, expected: "the state of commit \(restored.commit.number)",
        found: "one that never was")
    }
    let pending = Set(restored.pending)
    let missing = owed.filter { number in
      !pending.contains(number) && then[Entry.key(number)] == nil
        && !EntryMutators.refuses(number)
    }
    guard missing.isEmpty else {
      tally.lost += missing.count
      throw Wrong(
        round: tally.rounds, expected: "stored mutations in the state or pending",
        found: "none of \(missing)")
    }
    owed.removeAll { then[Entry.key($0)] != nil || EntryMutators.refuses($0) }
  }

  /// Checks the server's view: numbers are in order, each once, and no stored number is missing.
  private func judgeTruth() throws {
    let truth = server.dataLayer.last.view
    let missing = owed.filter { truth[Entry.key($0)] == nil }
    tally.lost += missing.count
    var next: Int64 = 0
    for (key, value) in truth.map where key.text.hasPrefix("entry/") {
      guard value.int64 == next else {
        throw Wrong(
          round: tally.rounds, expected: "numbers in their order, each once", found: "\(key)")
      }
      next += 1
    }
    guard missing.isEmpty else {
      throw Wrong(
        round: tally.rounds, expected: "all that was stored, at the server",
        found: "none of \(missing)")
    }
  }

  func finish(after seconds: Double) { tally.seconds = seconds }
}
