import SyncProtocols
import TestSupport
import Testing
import UpdateMachine

@testable import Simulator

struct ReplicaOracleTests {
  @Test func `an equal state is accepted`() {
    #expect(ReplicaOracle.holds(expected: 7, found: 7))
  }

  @Test func `a different state is reported`() {
    #expect(!ReplicaOracle.holds(expected: 7, found: 8))
  }

  @Test func `a finger that the server never gave is reported, whatever the model`() {
    #expect(!ReplicaOracle.holds(expected: nil, found: 7))
    #expect(!ReplicaOracle.holds(expected: nil, found: nil))
  }

  @Test func `a finger without a model is reported`() {
    #expect(!ReplicaOracle.holds(expected: 7, found: nil))
  }
}

struct SupersededOracleTests {
  private typealias Place = Machine<QueueFinger>

  /// A machine that has asked for its first snapshot.
  private func started() -> Place {
    var machine = Place(incarnation: Incarnation(1))
    _ = machine.handle(.started(foreground: true), at: Moment(milliseconds: 0))
    return machine
  }

  private func holds(_ change: (inout Place.Effects) -> Void) -> Bool {
    var effects = Place.Effects()
    change(&effects)
    return SupersededOracle.holds(before: started(), after: started(), effects: effects)
  }

  @Test func `a late answer without effects is accepted`() {
    #expect(holds { _ in })
  }

  @Test func `releasing the queue of a late snapshot is accepted`() {
    #expect(holds { $0.release = QueueID("q") })
  }

  @Test func `any other effect of a late answer is reported`() {
    let id = RequestID(incarnation: Incarnation(1), number: 9)
    let range = MomentRange(at: Moment(milliseconds: 5))
    #expect(!holds { $0.cancel = id })
    #expect(!holds { $0.disarm = TimerID(1) })
    #expect(!holds { $0.report = .store })
    #expect(!holds { $0.erase = true })
    #expect(!holds { $0.persist = WriteID(1) })
    #expect(!holds { $0.request = .register(id) })
    #expect(!holds { $0.arm = TimerArm(timer: TimerID(9), range: range) })
    #expect(
      !holds { effects in
        effects.release = QueueID("q")
        effects.persist = WriteID(1)
      })
  }

  @Test func `a machine that a late answer changes is reported`() {
    var after = started()
    _ = after.handle(.backgrounded, at: Moment(milliseconds: 1))
    #expect(
      !SupersededOracle.holds(before: started(), after: after, effects: Place.Effects()))
  }

  @Test func `answers to outstanding requests are not late`() {
    let before = started()
    let now = Moment(milliseconds: 40)
    for incarnation: UInt64 in 0...2 {
      for number: UInt64 in 0...2 {
        var after = before
        let id = RequestID(incarnation: Incarnation(incarnation), number: number)
        let effects = after.handle(.failed(id, .unreachable), at: now)
        let isLate = SupersededOracle.holds(before: before, after: after, effects: effects)
        #expect(isLate == !before.isCurrent(id))
      }
    }
  }
}
