import SyncProtocols
import Testing

@testable import Simulator
@testable import UpdateMachine

/// Tests the small world of an outbox, of which every state can be visited. `Tests/simulations`
/// visits larger ones in a release build.
@Suite struct SmallViewTests {
  @Test func `the small view of one change is explored completely, and no rule is broken`() {
    let exploration = Explorer(SmallView(changes: 1, refusals: 0)).run()
    #expect(exploration.ending == .closed)
    #expect(exploration.counterexample?.lines == nil)
    #expect(exploration.counts.distinct > 3000)
    #expect(
      SmallView.missing(exploration.coverage) == ["halted", "set aside", "given up"])
  }

  @Test(arguments: SmallView.Plant.allCases)
  func `each plant is found by a short path`(plant: SmallView.Plant) throws {
    let exploration = Explorer(SmallView(changes: 1, refusals: 1, plant: plant)).run()
    #expect(exploration.ending == .violated)
    let found = try #require(exploration.counterexample)
    #expect(found.steps.count <= 40)
    #expect(
      found.violation.hasPrefix("H no lost input") || found.statesBeforeCalm < found.states.count)
  }

  @Test func `two changes, a refusal and all signals break no rule to a limited depth`() {
    let exploration = Explorer(
      SmallView(changes: 2, refusals: 1, hasSignals: true), depthLimit: 9
    ).run()
    #expect(exploration.ending == .depthLimit)
    #expect(exploration.counterexample?.lines == nil)
  }

  @Test func `a packed run goes on as the run does, and no other does`() throws {
    let world = SmallView(changes: 1, refusals: 0)
    var run = SmallViewRun(in: world)
    run.begin()
    let before = run.packed(at: SmallView.now)
    #expect(world.goesOn(before, as: run))
    run.feed(.app(.started(foreground: true)))
    #expect(world.goesOn(run.packed(at: SmallView.now), as: run))
    #expect(!world.goesOn(before, as: run))
  }

  @Test func `a state is the same after packing`() {
    let world = SmallView(changes: 2, refusals: 1, hasSignals: true)
    var level = world.initialStates
    for _ in 0..<8 {
      var next: [SmallView.State] = []
      for state in level {
        let run = SmallViewRun(unpacking: state, in: world)
        #expect(run.packed(at: SmallView.now) == state, "\(run)")
        world.forEachSuccessor(of: state) { _, found in
          if next.count < 1000 { next.append(found) }
        }
      }
      level = next
    }
    #expect(level.count == 1000)
  }

  /// A mutator that adds numbers and refuses one.
  struct Adding: ViewMutators {
    var refused: UInt64

    func run(
      _ name: String, _ arguments: JSONValue, in transaction: inout ViewTransaction<SmallList>
    ) throws(ChangeRefusal) -> JSONValue {
      let number = UInt64(arguments.int64 ?? 0)
      if number == refused { throw ChangeRefusal("refused") }
      let list = transaction.get(SmallList.key) ?? SmallList()
      transaction.put(SmallList.key, list.adding(number))
      return .null
    }
  }

  @Test func `the small data layer answers and commits as the real one does`() {
    for seed in 0..<2000 as Range<UInt64> {
      let refused = StateDigest.mixed(seed) % 4
      var real = DataLayer(Adding(refused: refused), tellsCommits: false)
      var small = SmallDataLayer()
      for step in 0..<6 as Range<UInt64> where small.count < 5 {
        let chance = StateDigest.mixed(seed << 8 | step)
        var push = MutationPush(
          client: SmallView.client, knownRefusal: MutationID(chance & 3),
          voided: chance >> 2 & 3 == 0 ? [MutationID(chance >> 4 & 3 + 1)] : [], mutations: [])
        let numbers = chance >> 8 % 7 + 1
        var (id, ids): (UInt64, UInt64) = (chance >> 16 % 3 + 1, 0)
        for number in 1...3 as ClosedRange<UInt64> where numbers >> (number - 1) & 1 == 1 {
          push.mutations.append(
            NamedMutation(
              id: MutationID(id), name: "add", arguments: .init(integerLiteral: Int64(number))))
          ids |= id << (3 * (number - 1))
          id += 1 + (chance >> (20 + number)) & 1
        }
        let content = SmallPush(
          knownRefusal: push.knownRefusal.number,
          voided: push.voided.reduce(0) { $0 | 1 << ($1.number - 1) }, ids: ids)
        let answer = real.run(push)
        let found = small.run(content, refusing: refused)
        switch answer {
        case .accepted, .created: #expect(found == 0)
        case .refused(let refusal): #expect(found == refusal.id.number)
        case .absent, .acceptedOnly, .behind, .tooLarge:
          Issue.record("a data layer never answers so")
        }
        let record = real.last.record(of: SmallView.client)
        #expect(record.lastMutation.number == small.count)
        #expect(record.refusal?.id.number ?? 0 == small.refusal(asOf: small.count))
        #expect(
          real.last.view[SmallList.key] ?? SmallList() == small.list(asOf: small.count))
      }
    }
  }
}
