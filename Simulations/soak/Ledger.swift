import Foundation

/// What is known of a run from outside: what clients have told, and which heartbeats the cluster
/// has confirmed. All threads share it.
final class Ledger: @unchecked Sendable {
  private let lock = NSLock()
  private var clients: [ClientAccount]
  /// The moment at which each heartbeat was confirmed, by its number; ascending.
  private var beats: [(number: Int, at: Int64)] = []
  private var tally = Tally()

  init(clients count: Int) {
    clients = (0..<count).map { _ in ClientAccount() }
  }

  /// What one client has told.
  struct ClientAccount {
    /// The greatest number of a change that it was about to make.
    var made = 0
    /// Those that only write.
    var writes: Set<Int> = []
    /// Those that were never made.
    var unmade: Set<Int> = []
    var stored: Set<Int> = []
    var setAside: Set<Int> = []
    var discarded: Set<Int> = []
    /// What it holds, if nothing was pending when it told so last.
    var level: UInt64?
    /// What kept it from being level, as it told last; empty: nothing.
    var waits = ""
  }

  var sums: [UInt64?] { lock.withLock { clients.map(\.level) } }
  var accounts: [ClientAccount] { lock.withLock { clients } }
  var count: Tally { lock.withLock { tally } }

  func note(_ change: (inout Tally) -> Void) { lock.withLock { change(&tally) } }

  /// Forgets what clients hold: what they tell from now on counts.
  func forgetLevels() {
    lock.withLock { for index in clients.indices { clients[index].level = nil } }
  }

  func next(of client: Int) -> Int { lock.withLock { clients[client].made + 1 } }

  func take(_ report: Report, from client: Int) {
    lock.withLock {
      switch report {
      case .makes(let number, let isWrite):
        clients[client].made = max(clients[client].made, number)
        if isWrite { clients[client].writes.insert(number) }
      case .unmade(let number): clients[client].unmade.insert(number)
      case .stored(let number): clients[client].stored.insert(number)
      case .setAside(let number, let isClaim):
        clients[client].setAside.insert(number)
        if !isClaim { tally.wrong.append("client \(client): entry \(number) was set aside") }
      case .discarded(let number): clients[client].discarded.insert(number)
      case .shows(let beat, let moment): judge(beat, shownAt: moment, by: client)
      case .registered: tally.registers += 1
      case .otherHistory: tally.otherHistories += 1
      case .waits(let words): clients[client].waits = words
      case .judged: tally.judged += 1
      case .level(let sum): clients[client].level = sum
      case .wrong(let text): tally.wrong.append("client \(client): \(text)")
      }
    }
  }

  // MARK: Heartbeats

  func confirmed(beat number: Int, at moment: Int64) {
    lock.withLock { beats.append((number: number, at: moment)) }
  }

  /// The cluster has gone back to an older state, which has this heartbeat.
  func wentBack(to number: Int) {
    lock.withLock { beats.removeAll { $0.number > number } }
  }

  /// How old a state is: the time since the first heartbeat that it lacks.
  private func judge(_ beat: Int, shownAt moment: Int64, by client: Int) {
    tally.reads += 1
    var (low, high) = (0, beats.count)
    while low < high {
      let middle = (low + high) / 2
      if beats[middle].number > beat { high = middle } else { low = middle + 1 }
    }
    guard low < beats.count else { return }
    tally.stalestMilliseconds = max(tally.stalestMilliseconds, moment - beats[low].at)
  }
}

/// The figures of a run.
struct Tally: Encodable {
  var members = 0
  var minutes = 0.0
  var seed: UInt64 = 0
  /// Members that were killed, with those that were wiped or restored.
  var kills = 0
  /// Members that were stopped for a while.
  var pauses = 0
  var compactions = 0
  /// Members whose disk was wiped, and that joined anew.
  var wipes = 0
  /// Clusters that went back to a backup.
  var restores = 0
  var clients = 0
  var clientKills = 0
  /// Changes that are in the cluster in the end.
  var changes = 0
  /// Changes of which the user was told that they have no effect.
  var setAside = 0
  /// Confirmed changes that a backup did not have.
  var lostWithBackup = 0
  /// Changes that were on a client's disk, and of which nothing is left.
  var lost = 0
  var doubled = 0
  /// Changes that stand after another than the one that their client made before.
  var misordered = 0
  /// Changes that were given up, and are there all the same.
  var contradicted = 0
  /// How often a client has read all keys anew: once at its first start, then because history was
  /// thrown away, or is another one.
  var registers = 0
  /// Clients that were told that the cluster has another history.
  var otherHistories = 0
  /// States that were shown as up to date and were looked at.
  var reads = 0
  /// How often the simulator's oracles judged a client while it ran.
  var judged = 0
  /// How old the oldest of them was.
  var stalestMilliseconds: Int64 = 0
  /// How old it may be.
  var promisedMilliseconds: Int64 = 0
  /// Clients that hold what the cluster holds.
  var converged = 0
  var secondsToConverge = 0.0
  /// Clients that the cluster names as present when all live.
  var present = 0
  /// How long it names some that were killed then.
  var secondsUntilGone = 0.0
  /// How etcd's own members differ in the end; `nil`: they do not. If they do, nothing else counts.
  var disagreement: String?
  /// What should not have happened, in words.
  var wrong: [String] = []
}
