import Foundation
import Synchronization

/// One run: a cluster, its clients, and what goes wrong.
final class SoakRun: Sendable {
  private let options: Soak.Options
  private let processes: Processes
  let ledger: Ledger
  let cluster: Cluster
  let clients: Clients
  private let heart: Heart
  private let news = Mutex("")
  private let finished = Flag()
  private let begun = Uptime.milliseconds

  static let clientCount = 8

  init(_ options: Soak.Options, _ processes: Processes) {
    self.options = options
    self.processes = processes
    ledger = Ledger(clients: SoakRun.clientCount)
    cluster = Cluster(of: options.members, processes)
    clients = Clients(
      SoakRun.clientCount, of: cluster.addresses, processes, ledger, seed: options.seed)
    heart = Heart(cluster, ledger)
  }

  /// Runs until all is judged. What is wrong is in the figures.
  func run() -> Tally {
    ledger.note {
      $0.members = options.members
      $0.seed = options.seed
      $0.clients = SoakRun.clientCount
      $0.promisedMilliseconds = Limits.staleness(members: options.members)
    }
    var gone = [Set<Int>](repeating: [], count: SoakRun.clientCount)
    var truth: [Pair] = []
    do {
      try processes.makeFolder()
      tell("the members start")
      try cluster.start()
      showProgress()
      heart.start()
      clients.start()
      gone = try breakThings()
      truth = try converge()
      let disagreement = try cluster.disagreement()
      ledger.note { $0.disagreement = disagreement }
      if disagreement == nil { try judgePresence() }
    } catch {
      ledger.note { $0.wrong.append("\(error)") }
    }
    finished.raise()
    heart.stop()
    var tally = ledger.count
    Verdict(truth, clients: SoakRun.clientCount).judge(ledger.accounts, gone: gone, into: &tally)
    tally.minutes = Double((Uptime.milliseconds - begun) / 600) / 100
    complete(&tally)
    if let disagreement = tally.disagreement {
      tally.wrong = ["etcd's own members differ: \(disagreement)"]
    }
    return tally
  }

  /// Says in words what the figures show.
  private func complete(_ tally: inout Tally) {
    if tally.converged < tally.clients {
      let waits = ledger.accounts.enumerated().filter { !$0.element.waits.isEmpty }
        .map { "; client \($0.offset): \($0.element.waits)" }.joined()
      tally.wrong.append(
        "\(tally.clients - tally.converged) clients differ from the cluster" + waits)
    }
    if tally.doubled > 0 { tally.wrong.append("\(tally.doubled) changes were made twice") }
    if tally.contradicted > 0 {
      tally.wrong.append("\(tally.contradicted) changes were given up, and made all the same")
    }
    if tally.stalestMilliseconds > tally.promisedMilliseconds {
      tally.wrong.append("a state was shown as up to date that was too old")
    }
    if tally.registers <= tally.clients {
      tally.wrong.append("nobody has noticed that history was thrown away")
    }
    if tally.judged == 0 { tally.wrong.append("no oracle has looked at a client") }
    if tally.reads == 0 { tally.wrong.append("no state was looked at") }
    if (tally.otherHistories > 0) != (tally.restores > 0) {
      tally.wrong.append(
        tally.restores > 0
          ? "nobody has noticed that the cluster went back to a backup"
          : "a client has taken the cluster for another one")
    }
  }

  // MARK: Faults

  /// Breaks the cluster until the time is over. Returns what was lost with a backup, by client.
  private func breakThings() throws -> [Set<Int>] {
    var faults = Faults(cluster, clients, ledger, seed: options.seed &+ 1)
    var gone = [Set<Int>](repeating: [], count: SoakRun.clientCount)
    var saved: [Set<Int>]?
    let length = Int64(options.seconds) * 1000
    while Uptime.milliseconds - begun < length || !faults.isThrough
      || options.restores && ledger.count.restores == 0
    {
      faults.rest()
      let passed = Uptime.milliseconds - begun
      if options.restores, saved == nil, passed > length / 3 {
        tell("a backup is made")
        saved = try present()
        try cluster.backUp()
      } else if let before = saved, ledger.count.restores == 0, passed > length * 2 / 3 {
        tell("the cluster goes back to the backup")
        gone = try restore(keeping: before)
      } else {
        let fault = faults.next()
        tell(fault.rawValue)
        try faults.perform(fault)
      }
      tell("all members are well")
    }
    return gone
  }

  private func present() throws -> [Set<Int>] {
    Verdict(try cluster.contents(of: Step.prefix), clients: SoakRun.clientCount)
      .changes(by: ledger.accounts)
  }

  /// Goes back to a backup while all clients are stopped. Returns what was there, and was not yet
  /// when the backup was made: only that may be lost.
  private func restore(keeping before: [Set<Int>]) throws -> [Set<Int>] {
    var gone: [Set<Int>] = []
    try heart.held {
      try clients.frozen {
        Uptime.wait(1500)  // Whatever they have sent is done by then.
        gone = zip(try present(), before).map { $0.subtracting($1) }
        try cluster.restore()
        ledger.wentBack(to: try Heart.read(cluster)?.number ?? 0)
        ledger.note { tally in
          tally.kills += options.members
          tally.restores += 1
        }
      }
    }
    return gone
  }

  // MARK: The end

  /// Waits until all clients hold what the cluster holds, a minute at most. Returns that.
  private func converge() throws -> [Pair] {
    tell("the faults are over")
    heart.stop()
    let start = Uptime.milliseconds
    ledger.forgetLevels()
    clients.finish()
    var truth: [Pair] = []
    var converged = 0
    while converged < SoakRun.clientCount, Uptime.milliseconds - start < 60_000 {
      Uptime.wait(100)
      let sums = ledger.sums
      guard !sums.contains(nil) || Uptime.milliseconds - start > 55_000 else { continue }
      truth = try cluster.contents(of: Step.prefix)
      let sum = ContentSum(truth).value
      converged = sums.filter { $0 == sum }.count
    }
    let seconds = Double(Uptime.milliseconds - start) / 1000
    ledger.note {
      $0.converged = converged
      $0.secondsToConverge = seconds
    }
    return truth
  }

  // MARK: Progress

  private func tell(_ text: String) {
    news.withLock { $0 = text }
    Soak.say("\((Uptime.milliseconds - begun) / 1000) s: \(text)")
  }

  private func showProgress() {
    Thread.detachNewThread {
      while !self.finished.isRaised {
        Uptime.wait(1000)
        let up = self.cluster.members.filter(\.isUp).count
        let stored = self.ledger.accounts.map(\.stored.count).reduce(0, +)
        Soak.say(
          "\((Uptime.milliseconds - self.begun) / 1000) s: \(up) of \(self.options.members) members"
            + ", \(stored) changes stored; \(self.news.withLock { $0 })")
      }
    }
  }
}
