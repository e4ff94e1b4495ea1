import SyncProtocols
import Testing
import UpdateMachine

/// Tests every way in which a server of records can be told to break its contract.
struct RecordBreachTests {
  private func expectBroken(_ desk: RecordDesk) {
    #expect(desk.server.breachCount == 1)
    #expect(desk.server.breach == nil)
  }

  @Test func `shares-a-stamp: a change is hidden from those who have pulled the one before it`() {
    var desk = RecordDesk()
    desk.set("a", ["x": 1])
    desk.pull(\.one)
    desk.server.breach = .sharesAStamp
    desk.set("b", ["x": 2])
    expectBroken(desk)
    desk.pull(\.one)
    #expect(desk.one.view.text == #"a{"x":1}"#)
    desk.pull(\.two)
    #expect(desk.two.view.text == #"a{"x":1} b{"x":2}"#)
  }

  @Test func `leaves-a-deletion-out: a record that is gone stays`() {
    var desk = RecordDesk()
    desk.set("a", ["x": 1])
    desk.pull(\.one)
    desk.server.breach = .leavesADeletionOut
    desk.set("b", ["x": 2])
    desk.pull(\.one)
    #expect(desk.server.breachCount == 0, "nothing was deleted")
    desk.delete("a")
    desk.pull(\.one)
    expectBroken(desk)
    #expect(desk.one.view.text == #"a{"x":1} b{"x":2}"#)
  }

  @Test func `reads-too-early: the last change is missing, though the stamp has it`() {
    var desk = RecordDesk()
    desk.pull(\.one)
    desk.server.breach = .readsTooEarly
    desk.pull(\.one)
    #expect(desk.server.breachCount == 0, "there is nothing new to leave out")
    desk.set("a", ["x": 1])
    desk.set("a", ["x": 2])
    desk.pull(\.one)
    expectBroken(desk)
    desk.pull(\.one)
    #expect(desk.one.view.text == #"a{"x":1}"#)
  }

  @Test func `overwrites-a-conflict: a push wins over a change that its client has not seen`() {
    var desk = RecordDesk()
    desk.set("a", ["x": 1])
    desk.pull(\.one)
    desk.one.make(.update(row(["x": 2])), "a")
    desk.set("a", ["x": 3])
    desk.server.breach = .overwritesAConflict
    #expect(desk.push(\.one) == "accepted")
    expectBroken(desk)
    #expect(desk.server.text == #"a{"x":2}"#)
  }

  @Test func `makes-a-push-in-part: one record of it is not written`() {
    var desk = RecordDesk()
    desk.pull(\.one)
    desk.one.make(.create(row(["x": 1])), "a")
    desk.one.make(.create(row(["x": 2])), "b")
    desk.server.breach = .makesAPushInPart
    #expect(desk.push(\.one) == "accepted")
    expectBroken(desk)
    #expect(desk.server.text == #"b{"x":2}"#)
  }
}
