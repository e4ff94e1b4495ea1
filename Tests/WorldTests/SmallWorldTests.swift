import SyncProtocols
import Testing

@testable import Simulator
@testable import UpdateMachine

/// Tests the small world of register and poll, of which every state can be visited.
/// `Tests/simulations` visits all of them in a release build; these tests visit only those near the
/// start.
@Suite struct SmallWorldTests {
  /// A client after these steps. It is packed and unpacked after each step, as an explorer does.
  static func client(after steps: [(inout SmallClient) -> Void]) -> SmallClient {
    let packing = SmallWorld().packing
    var client = SmallClient.fresh(packing)
    for step in steps {
      step(&client)
      client = SmallClient(
        unpacking: client.packed(at: SmallWorld.now, packing), packing)
    }
    return client
  }

  /// The steps until the server has answered a register.
  static var toSnapshot: [(inout SmallClient) -> Void] {
    [
      { $0.begin() }, { $0.feed(.app(.started(foreground: true))) }, { $0.load(age: nil) },
      { $0.arrive() },
    ]
  }

  @Test func `the small world breaks no rule to depth 12, and reaches every status and row`() {
    let exploration = Explorer(SmallWorld(), depthLimit: 12).run()
    #expect(exploration.ending == .depthLimit)
    #expect(exploration.counterexample == nil)
    #expect(SmallWorld.missingStatuses(exploration.coverage) == [])
    #expect(SmallWorld.missingRows(exploration.coverage) == [])
  }

  @Test func `a packed client goes on as the client does, and no other does`() {
    let world = SmallWorld()
    var client = SmallClient.fresh(world.packing)
    client.begin()
    let before = client.packed(at: SmallWorld.now, world.packing)
    #expect(world.goesOn(before, as: client))
    client.feed(.app(.started(foreground: true)))
    #expect(world.goesOn(client.packed(at: SmallWorld.now, world.packing), as: client))
    #expect(!world.goesOn(before, as: client))
  }

  @Test func `a client is the same after packing`() {
    let world = SmallWorld(queueLength: 2)
    var level = world.initialStates
    for _ in 0..<6 {
      var next: [SmallWorld.State] = []
      for state in level {
        let client = SmallClient(unpacking: state, world.packing)
        let word = client.packed(at: SmallWorld.now, world.packing)
        #expect(word == state, "\(client)")
        world.forEachSuccessor(of: state) { _, found in
          if next.count < 3000 { next.append(found) }
        }
      }
      level = next
    }
    #expect(level.count == 3000)
  }

  @Test func `a client that is up to date, and then misses an event, is not settled`() {
    var client = Self.client(
      after: Self.toSnapshot + [
        { $0.takeAnswer() }, { $0.endWrite(succeeds: true) }, { $0.arrive() },
      ])
    #expect(client.broken == nil)
    #expect(client.isSettled, "\(client)")
    client.hear()
    #expect(!client.isSettled)
    #expect(client.exchange == .batch(1))
  }

  @Test func `comparing a small world with runs can be stopped`() {
    var asked: [Int] = []
    let count = ShapeCount(of: SmallWorld(), in: 1...3) { runs in
      asked.append(runs)
      return false
    }
    #expect(count == nil)
    #expect(asked == [0])
  }

  @Test func `an oracle objects to an event that the client did not apply`() {
    var client = Self.client(after: Self.toSnapshot)
    // The snapshot does not say what the prospect expects.
    let request = client.body.status.outstanding!.id
    let finger = QueueFinger(queue: .brought, lastEventID: -1)
    client.feed(
      .snapshotArrived(
        request, SmallSnapshot(position: 1), finger: finger, terms: SmallWorld.terms),
      prospect: SmallClient.Prospect(finger: finger, position: 2), endsRequest: true)
    #expect(client.broken == .model)
  }

  @Test func `a poll from a finger that is not saved acknowledges too early`() {
    var client = Self.client(after: Self.toSnapshot + [{ $0.takeAnswer() }])
    client.operation = .save(.nothing)
    client.endWrite(succeeds: true)  // The store reports success, but has written nothing.
    #expect(client.broken == .durable)
  }
}
