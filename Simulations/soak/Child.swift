import EtcdSync
import Foundation
import SQLiteStore
import SyncProtocols
import Synchronization
import UpdateMachine

/// The process of a client: all its state is in an SQLite file. It makes changes until its parent
/// kills it, or tells it to become level.
enum Child {
  typealias Model = EtcdModel<Step>
  typealias Machine = UpdateMachine<ToldSource>

  /// What the parent passes on to its child.
  struct Orders {
    var file: String
    var client: Int
    var seed: UInt64
    /// The number of the first change to make.
    var first: Int
    var addresses: [String]

    var words: [String] {
      ["--child", file, "\(client)", "\(seed)", "\(first)", addresses.joined(separator: ",")]
    }
  }

  /// `nil`: these are no orders.
  static func orders(_ words: [String]) -> Orders? {
    guard words.count == 6, words[0] == "--child", let client = Int(words[2]),
      let seed = UInt64(words[3]), let first = Int(words[4])
    else { return nil }
    return Orders(
      file: words[1], client: client, seed: seed, first: first,
      addresses: words[5].split(separator: ",").map(String.init))
  }

  static func run(_ orders: Orders) async throws {
    endWithParent()
    let line = ReportLine()
    let file = try await SQLiteFile.open(at: orders.file)
    let connection = try EtcdConnection(to: orders.addresses, settings: Limits.connection)
    let source = try EtcdSource(
      connection, prefix: Step.prefix, for: Model.self,
      cadence: orders.client % 2 == 0 ? .waits : .pushed)
    let witness = Witness(orders.client)
    let machine = Machine(
      source: ToldSource(source: source, line: line),
      replicas: RowStore(file.store(named: "view")), settings: Limits.machine,
      reporter: { report in
        switch report {
        case .failure(.rejected(RejectionCode("TAKEN"))): break
        case .failure(.rejected(RejectionCode("OTHER_HISTORY"))):
          witness.noteOtherHistory()
          line.tell(.otherHistory)
        default: line.tell(.wrong(report.description))
        }
      },
      tap: { _, _, client, _ in witness.look(at: client) })
    let finishes = Flag()
    Thread.detachNewThread {
      while let word = readLine() { if word == "finish" { finishes.raise() } }
      exit(0)  // The parent is gone.
    }
    async let following: Void = machine.run()
    async let discarding: Void = discardRefused(machine, line, witness)
    async let judging: Void = judge(witness, line)
    async let watching: Void = tellFreshness(machine, line)
    async let staying: Void = Presence.stay(connection, orders, line)
    try await work(machine, line, orders, until: finishes)
    try await becomeLevel(machine, line)
    _ = await (following, discarding, judging, watching, staying)
  }

  /// Ends this process soon after its parent.
  private static func endWithParent() {
    let parent = getppid()
    Thread.detachNewThread {
      while getppid() == parent { Uptime.wait(500) }
      _exit(0)
    }
  }

  private static func sleep(_ milliseconds: Int) async throws {
    let clock = SystemClock()
    try await clock.sleep(until: clock.now + .milliseconds(Int64(milliseconds)))
  }

  /// Makes changes, about ten a second: sometimes ten at once.
  private static func work(
    _ machine: Machine, _ line: ReportLine, _ orders: Orders, until finishes: Flag
  ) async throws {
    for await state in await machine.states() where state.view != nil { break }
    var chance = SplitMix(orders.seed)
    let onlyWrites = chance.below(3) == 0
    var number = orders.first
    while !finishes.isRaised {
      for _ in 0..<(chance.below(20) == 0 ? 10 : 1) {
        guard let view = await machine.state.view else { break }
        defer { number += 1 }
        let mark = Step.Mark(client: orders.client, number: number)
        let step: Step =
          if onlyWrites {
            .write(mark)
          } else if chance.below(8) == 0 {
            .claim(mark, number: Step.free(in: view))
          } else {
            .add(mark, shelf: chance.below(Step.shelves))
          }
        line.tell(.makes(number, isWrite: onlyWrites))
        do throws(MutationError<ChangeRefusal>) {
          let ticket = try await machine.mutate(step).ticket
          // Sometimes the next change is made before this one is stored.
          if number % 3 != 0, await machine.stored(ticket) { line.tell(.stored(number)) }
        } catch {
          // Refused here, because the number was taken a moment ago; or there are too many.
          line.tell(.unmade(number))
          if error == .full { break }
        }
      }
      try await sleep(20 + chance.below(160))
    }
  }

  /// Tells of changes that are set aside, and discards them. Otherwise they would stay for ever.
  private static func discardRefused(
    _ machine: Machine, _ line: ReportLine, _ witness: Witness
  ) async {
    for await state in await machine.states() {
      for refused in state.setAside {
        let number = refused.change.mark.number
        line.tell(.setAside(number, isClaim: refused.change.name == "claim"))
        witness.noteDiscarded(refused.ticket)
        if await machine.discard(refused.ticket) { line.tell(.discarded(number)) }
      }
    }
  }

  /// Judges the client once a second by the simulator's oracles, until the task is cancelled, which
  /// ends the sleep.
  private static func judge(_ witness: Witness, _ line: ReportLine) async {
    while (try? await sleep(1000)) != nil {
      if let objection = witness.objection() { return line.tell(.wrong(objection)) }
      line.tell(.judged)
    }
  }

  /// Tells ten times a second how new the state is that is shown as up to date.
  private static func tellFreshness(_ machine: Machine, _ line: ReportLine) async {
    while (try? await sleep(100)) != nil {
      let now = Uptime.milliseconds
      let state = await machine.state
      guard state.freshness.claim == .connected, let model = state.model else { continue }
      let beat = model.entries["beat"]?.text.flatMap { Int($0) } ?? 0
      line.tell(.shows(beat: beat, at: now))
    }
  }

  /// Tells what it holds whenever nothing is pending, until the parent kills it.
  private static func becomeLevel(_ machine: Machine, _ line: ReportLine) async throws {
    var summed: (entries: VersionedMap<EtcdKey, EtcdEntry>, sum: UInt64)?
    var waits = 0
    while true {
      let state = await machine.state
      if state.freshness.claim == .connected, let model = state.model, state.pending.isEmpty,
        state.setAside.isEmpty, state.uncertain.isEmpty
      {
        if summed?.entries.isIdentical(to: model.entries) != true {
          summed = (model.entries, ContentSum(model.entries).value)
        }
        if let sum = summed?.sum { line.tell(.level(sum)) }
        waits = 0
      } else {
        waits += 1
        if waits % 25 == 0 {
          line.tell(
            .waits(
              "\(state.freshness.claim) for \(waits / 5) s, \(state.pending.count) pending, "
                + "\(state.setAside.count) set aside, \(state.uncertain.count) uncertain"))
        }
      }
      try await sleep(200)
    }
  }
}

/// A source that tells when a client begins anew with all keys, and when a number goes back that
/// may only grow.
final class ToldSource: SyncSource {
  typealias Model = Child.Model
  typealias Sync = EtcdLog

  let source: EtcdSource<Model>
  let line: ReportLine
  private let written = Mutex<[EtcdKey: Int]>([:])

  init(source: EtcdSource<Model>, line: ReportLine) {
    self.source = source
    self.line = line
  }

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<EtcdSnapshot, EtcdFinger> {
    let registered = try await source.register(as: client)
    line.tell(.registered)
    written.withLock { $0 = [:] }
    return registered
  }

  func poll(after finger: EtcdFinger, waits: Bool) async throws(SyncFailure) -> EtcdBatch {
    let batch = try await source.poll(after: finger, waits: waits)
    for index in 0..<batch.count {
      guard let event = batch.event(at: index), event.key.text?.hasPrefix(Step.written) ?? false
      else { continue }
      let number = event.value.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
      let last = written.withLock { $0.updateValue(number, forKey: event.key) } ?? 0
      if number < last { line.tell(.wrong("\(event.key) went back from \(last) to \(number)")) }
    }
    return batch
  }

  func release(_ log: EtcdClusterID) async { await source.release(log) }

  func push(
    _ push: PushRequest<Step>, at finger: EtcdFinger?
  ) async throws(PushFailure) -> PushAnswer { try await source.push(push, at: finger) }

  func push(
    _ push: PushRequest<Step>, at finger: EtcdFinger?, over state: EtcdView?
  ) async throws(PushFailure) -> PushAnswer {
    try await source.push(push, at: finger, over: state)
  }
}

/// The numbers that a run depends on.
enum Limits {
  static var connection: EtcdSettings {
    var settings = EtcdSettings()
    settings.memberDeadline = .seconds(1)
    settings.deadline = .seconds(3)
    settings.silence = .seconds(2)
    return settings
  }

  /// The members are on the same computer, and a minute must show what an hour would.
  static var machine: MachineSettings {
    var settings = MachineSettings()
    settings.retry.paceInterval = .milliseconds(20)
    settings.retry.paceBurst = 50
    settings.retry.transientCap = .seconds(2)
    settings.retry.slowCap = .seconds(5)
    return settings
  }

  /// How old a state may be that is shown as up to date: a watch was silent, then one member after
  /// the other has not answered, and then the outage is kept from the user for a moment. Of a
  /// second more, the system takes what it likes.
  static func staleness(members: Int) -> Int64 {
    let settings = connection
    return settings.silence.milliseconds + settings.memberDeadline.milliseconds * Int64(members)
      + settings.deadline.milliseconds + machine.debounce.milliseconds + 1000
  }
}

/// Set once, and read by others.
final class Flag: Sendable {
  private let raised = Mutex(false)
  var isRaised: Bool { raised.withLock { $0 } }
  func raise() { raised.withLock { $0 = true } }
}
