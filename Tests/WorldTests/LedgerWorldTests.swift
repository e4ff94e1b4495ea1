import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// Tests whole worlds in which users change things over Replicache's protocol.
struct LedgerWorldTests {
  @Test func `each world has its protocol, and each seed draws its world`() {
    let seeds = (0..<400 as Range<UInt64>).map { $0 }
    #expect(Set(seeds.map { LibraryWorld.drawn(by: $0) }) == Set(LibraryWorld.allCases))
    for spoken in LibraryWorld.SpokenProtocol.allCases {
      #expect(seeds.allSatisfy { LibraryWorld.drawn(by: $0, of: spoken).spoken == spoken })
    }
  }

  @Test func `half of the seeds ask a data layer at intervals, the others wait or subscribe`() {
    var drawn: [Cadence: Int] = [:]
    for seed in 0..<120 as Range<UInt64> {
      var choices = Choices(seed: seed)
      let plan = FaultPlan(&choices, allowed: .all, cadences: LedgerApp.Server.cadences)
      drawn[plan.server.cadence, default: 0] += 1
    }
    #expect(drawn.count == 5)
    #expect(25...55 ~= drawn[.waits] ?? 0)
    #expect(drawn.values.allSatisfy { $0 > 8 }, "\(drawn)")
  }

  /// What had not left goes on under the new name; the rest is set aside, and its user decides. The
  /// oracles judge the same book of changes before and after.
  @Test func `a server forgets clients that have changes, and nobody loses one`() {
    var situations = SituationCounts()
    var struck: Int64 = 0
    for seed: UInt64 in 1...24 {
      var configuration = SimulationConfiguration(
        seed: seed, clients: 2, faults: [.queueExpiry, .forgottenName, .lostAnswer],
        isSwarm: false)
      configuration.world = .ledger
      configuration.countsSituations = true
      let result = LibraryWorld.run(configuration)
      #expect(result.finding == nil, "seed \(seed)")
      situations.add(result.situations)
      struck += result.faults[.forgottenName]
    }
    #expect(struck > 24)
    #expect(situations.runs(of: .nameLostWithChanges) > 4)
  }

  @Test func `only a server that names its clients forgets a name`() {
    for seed: UInt64 in 1...12 {
      var configuration = SimulationConfiguration(
        seed: seed, clients: 2, steps: 100, faults: [.queueExpiry, .forgottenName], isSwarm: false)
      configuration.world = .tables
      #expect(LibraryWorld.run(configuration).faults[.forgottenName] == 0)
    }
  }

  /// Seed 683 of client-view with undo: a transfer, its undo, the redo. The user edits the redo,
  /// which is a change of its own then. So the transfer is undone, and goes if the server refuses
  /// it.
  @Test func `a redo that is edited leaves its change undone`() {
    let change = LedgerChange(by: ClientID(1), 1, .reserve(hour: 0))
    var book = ChangeBook<LedgerChange>(of: ClientID(1))
    for number in 1...3 as ClosedRange<UInt64> { book.note(MutationTicket(number), change) }
    for number in [2, 3] as [UInt64] {
      book.noteReversal(MutationTicket(number), of: MutationTicket(number - 1))
    }
    #expect(book.made.map { $0.isUndone } == [false, true, false])
    book.edit(TicketSet(MutationTicket(3)), to: change)
    #expect(book.made.map { $0.isUndone } == [true, false, false])
    book.edit(TicketSet(MutationTicket(1)), to: change)
    #expect(book.made.map { $0.isUndone } == [false, false, false])
  }

  /// Seed 732 of client-view: an old backup brought back an addition whose ID the server had run as
  /// another change. Its undo and the redo of that left a counter of 0 where none was.
  @Test func `a counter of 0 looks like none, and a counter of 1 does not`() {
    let none = ViewMap<JSONValue>()
    let seen = ([0, 1] as [Int64]).map { count in
      var state = none
      _ = state.updateValue(
        JSONValue(integerLiteral: count), forKey: LedgerMutators.counter(0))
      return LedgerUser.checksumOfWhatIsSeen(state)
    }
    #expect(seen[0] == LedgerUser.checksumOfWhatIsSeen(none))
    #expect(seen[1] != LedgerUser.checksumOfWhatIsSeen(none))
  }
}
