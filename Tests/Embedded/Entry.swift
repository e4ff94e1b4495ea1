// The program that runs on both sides of the walls: natively, and as Embedded Swift for WebAssembly
// (`Tests/walls`). It prints one line for each seed, and a few more. All lines must be equal on
// both sides.

internal import MessageSync
internal import Simulator
internal import UpdateMachine

/// Prints the hash of each seed's run, and what the explorer finds in a small world.
@main
struct Entry {
  /// The seeds that CI compares.
  static let seeds: ClosedRange<UInt64> = 1...20

  static func main() {
    for seed in seeds {
      print(
        "seed \(seed) \(Simulation<DirectoryApp>.run(SimulationConfiguration(seed: seed)).hash)")
    }
    for seed in 1...3 as ClosedRange<UInt64> {
      print("ledger \(seed) \(Simulation<LedgerApp>.run(SimulationConfiguration(seed: seed)).hash)")
    }
    for seed in 1...3 as ClosedRange<UInt64> {
      let configuration = SimulationConfiguration(seed: seed)
      print("tasks \(seed) \(Simulation<OfflineWorld<TasksApp>>.run(configuration).hash)")
    }
    for votes in 2...3 {
      let explored = Explorer(TwoPhaseCommit(participants: 3, votesNeeded: votes)).run()
      print("explored \(explored.counts.generated), \(explored.counts.distinct) distinct")
      for line in explored.counterexample?.lines ?? [] { print(line) }
    }
    let small = Explorer(SmallCrowd(clients: 2, queueLength: 2), depthLimit: 7).run()
    print("small world \(small.counts.generated), \(small.counts.distinct), \(small.coverage)")
    let view = Explorer(SmallView(changes: 2), depthLimit: 9).run()
    print("small view \(view.counts.generated), \(view.counts.distinct), \(view.coverage)")
    let mail = Explorer(SmallMessages(changes: 1)).run()
    print("small mail \(mail.counts.generated), \(mail.counts.distinct)")
    for played in PlayedProtocol.allCases { print(playground(played)) }
    knowledge()
    print(lifeOfMap())
    lifeOfOutbox()
    print(lifeOfClientView())
  }

  /// Directs two clients of a protocol through trouble. Returns a digest of all that a page shows.
  static func playground(_ played: PlayedProtocol) -> String {
    var session = PlaygroundSession(played, clients: 2)
    let items = [
      "wait 2min", "client 1 creates Milk", "next", "next", "client 2 goes off line",
      "client 1 creates Tea", "wait 30s", "client 1 crashes", "client 1 starts",
      "the server restarts and forgets its clients", "client 2 goes on line",
      "the server forgets its logs", "wait 20min",
    ]
    let posts = [
      "wait 2min", "client 1 opens topic lunch", "client 2 opens the channel", "next",
      "client 2 goes off line", "somebody deletes post 39", "client 1 jumps to post 3", "wait 30s",
      "client 1 scrolls down", "client 2 goes on line", "somebody moves post 3 to dinner",
      "wait 20min",
    ]
    let steps = played == .messages ? posts : items
    for step in steps { if let why = session.perform(step) { print("\(step): \(why)") } }
    var digest = StateDigest()
    session.state.fold(into: &digest)
    return "playground \(played.rawValue) \(digest)"
  }

  /// Prints a digest of what is known after a long history of inserts and removals.
  static func knowledge() {
    var known = Knowledge<MessageID>()
    var digest = StateDigest()
    for step in 0..<3000 as Range<UInt64> {
      let chance = StateDigest.mixed(step)
      let low = Int64(chance % 2000)
      let span = IDInterval(from: MessageID(low), to: MessageID(low + Int64(chance >> 32 & 3)))
      if chance >> 40 & 3 == 0 { known.remove(span) } else { known.insert(span) }
      let gap = known.gap(atOrBelow: span.upperEnd)
      digest.fold(gap?.lowerEnd.id?.number ?? 0)
      if step == 5 { print("knowledge \(known)") }
    }
    for interval in known.intervals { digest.fold(interval.upperEnd.id?.number ?? 0) }
    print("knowledge \(digest), \(known.count) intervals, \(known.gaps().count) gaps")
  }

  /// Changes a map and its forks in every possible way. Returns what is in them at the end.
  static func lifeOfMap() -> String {
    var choices = Choices(seed: 1)
    var map = ChecksummedMap<Int64, String>()
    var forks: [ChecksummedMap<Int64, String>] = []
    for step in 0..<5000 as Range<Int64> {
      let key = choices.draw(.workload, in: 0...1500)
      switch choices.draw(.workload, below: 100) {
      case 0: forks.append(map)
      case 1: map.removeAll(in: key...(key + 50))
      case 2..<40: map[key] = nil
      default: map[key] = "\(step)"
      }
    }
    var changes = 0
    for fork in forks {
      let difference = map.map.difference(from: fork.map)
      changes += difference.changes.count
      var applied = fork
      applied.apply(difference)
      precondition(applied == map && applied.checksum == map.checksum, "a difference leads there")
    }
    let scanned = VersionedMap(sorted: map.map).checksum == map.checksum
    return "map \(map.count), \(map.checksum), \(forks.count) forks, \(changes) changes, \(scanned)"
  }

  /// Counts up and down, and throws below zero.
  struct Count: Mutation {
    struct Below: Error {}
    var step: Int64
    var name: String { step < 0 ? "down" : "up" }

    func apply(to count: inout Int64) throws(Below) -> Int64 {
      count += step
      if count < 0 { throw Below() }
      return count
    }

    func coalesced(with later: Count) -> Count? {
      step > 0 && later.step > 0 ? Count(step: step + later.step) : nil
    }
  }

  /// Prints what an outbox says and does while it is answered, refused and confirmed at random.
  static func lifeOfOutbox() {
    var outbox = Outbox<Count>(client: ClientID(1), incarnation: Incarnation(1))
    var view = LocalView<Count>(of: 0)
    var push: PushRequest<Count>?
    var (digest, now) = (StateDigest(), Moment(milliseconds: 0))
    func note(_ effects: Outbox<Count>.Effects) {
      push = effects.push ?? push
      for text in effects.texts(at: now) { text.fold(into: &digest) }
    }
    note(outbox.handle(.app(.started(foreground: true)), at: now))
    for step in 0..<500 as Range<UInt64> {
      let chance = StateDigest.mixed(step)
      now = now + .milliseconds(Int64(chance >> 32 & 1023))
      let change = Count(step: Int64(chance >> 8 & 7) - 3)
      do throws(MutationError<Count.Below>) {
        note(try outbox.mutate(change, &view, at: now).effects)
      } catch {
        digest.fold(step)
      }
      note(outbox.handle(.stored(upTo: outbox.currentVersion), at: now))
      if let push, chance & 1 == 0 {
        let last = push.mutations[push.mutations.count - 1].id
        let refusal = chance & 30 == 0 ? MutationRefusal(last) : nil
        note(outbox.handle(.answered(push.id, refusal.map { .refused($0) } ?? .accepted), at: now))
        outbox.confirm(through: last, refusal: refusal)
        view.confirm(Int64(chance >> 16 & 3))
      }
      note(outbox.replay(&view, at: now))
      if let aside = outbox.setAside.first {
        note(outbox.handle(.discarded(aside.ticket), at: now))
        note(outbox.replay(&view, at: now))
      }
      precondition(outbox.violation() == nil, "an outbox keeps its rules")
    }
    print("outbox \(digest), view \(view.state), \(outbox)")
  }
}
