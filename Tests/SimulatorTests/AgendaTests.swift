import Testing
import UpdateMachine

@testable import Simulator

struct AgendaTests {
  private func drained(_ agenda: Agenda<Int>) -> [(at: Int64, step: Int)] {
    var agenda = agenda
    var taken: [(at: Int64, step: Int)] = []
    while let next = agenda.takeNext() { taken.append((next.at.milliseconds, next.step)) }
    return taken
  }

  @Test func `an empty agenda has no next step`() {
    var agenda = Agenda<Int>()
    #expect(agenda.takeNext()?.step == nil)
  }

  @Test func `the earliest step comes first`() {
    var agenda = Agenda<Int>()
    for (step, moment) in [50, -3, 20, 7, 90, 0].enumerated() {
      agenda.add(step, at: Moment(milliseconds: Int64(moment)))
    }
    #expect(drained(agenda).map(\.step) == [1, 5, 3, 2, 0, 4])
  }

  @Test func `steps of one moment come in the order in which they were added`() {
    var agenda = Agenda<Int>()
    for step in 0..<100 { agenda.add(step, at: Moment(milliseconds: Int64(step % 3))) }
    let expected = (0..<3).flatMap { rest in (0..<100).filter { $0 % 3 == rest } }
    #expect(drained(agenda).map(\.step) == expected)
  }

  @Test func `adding and removing in turn agrees with a sorted list`() {
    var agenda = Agenda<Int>()
    var list: [(at: Int64, order: Int)] = []
    var choices = Choices(seed: 4)
    for order in 0..<2000 {
      if choices.happens(.timers, 3, in: 5) || list.isEmpty {
        let moment = choices.draw(.timers, in: 0...60)
        agenda.add(order, at: Moment(milliseconds: moment))
        list.append((moment, order))
      } else {
        let least = list.indices.min { list[$0] < list[$1] }
        let expected = least.map { list.remove(at: $0) }
        let next = agenda.takeNext()
        #expect(next?.at.milliseconds == expected?.at)
        #expect(next?.step == expected?.order)
      }
    }
    #expect(drained(agenda).map(\.step) == list.sorted { $0 < $1 }.map(\.order))
  }
}
