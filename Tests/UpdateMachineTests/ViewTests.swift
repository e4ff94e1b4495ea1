import TestSupport
import Testing

@testable import UpdateMachine

@Suite struct ViewTests {
  // MARK: The view

  @Test func `a transaction sees its own writes, and is whole or not at all`() throws {
    var desk = Desk()
    #expect(throws: MutationError.refused(BoardChange.Refusal.full)) { try desk.mutate(.half) }
    #expect(desk.view.state == Board())
  }

  @Test func `a mutation that throws halfway in replay leaves nothing behind`() throws {
    var desk = Desk(Board(["a": 1]))
    let ticket = try desk.mutate(.add("a", 1))
    try desk.mutate(.set("b", 1))
    desk.feed(.edited(ticket, .half))
    #expect(desk.view.state == Board(["a": 1, "b": 1]))
    #expect(desk.box.setAside.map(\.reason) == [.threw(.full)])
  }

  @Test func `mutators return values`() throws {
    var desk = Desk(Board(["a": 1]))
    let mutated = try desk.box.mutate(.add("a", 2), &desk.view, at: desk.now)
    #expect(mutated.value == "3")
  }

  @Test func `an hour that was reserved here and taken there is taken in the view`() throws {
    var desk = Desk()
    let mutated = try desk.box.mutate(.reserve(9, by: "me"), &desk.view, at: desk.now)
    #expect(mutated.value == "RESERVED")
    #expect(desk.view.state.hours[9] == "me")
    var server = Board()
    server.hours[9] = "you"
    desk.confirm(server, through: 0)
    #expect(desk.view.state.hours[9] == "you")
  }

  @Test func `the view is rebuilt only when necessary`() throws {
    var desk = Desk.started(Board(["a": 1]))
    let replays = desk.view.replays
    for value in 1...5 as ClosedRange<Int64> { try desk.mutate(.add("a", value)) }
    desk.save()
    desk.answer()
    #expect(desk.view.replays == replays)
    #expect(desk.view.state == Board(["a": 16]))
    desk.confirm(Board(["a": 2]), through: 1)
    #expect(desk.view.replays == replays + 1)
    #expect(desk.view.state == Board(["a": 16]))
    desk.replay()
    #expect(desk.view.replays == replays + 1)
  }

  @Test func `pending mutations are replayed over the newest state, confirmed ones are not`()
    throws
  {
    var desk = Desk.started(Board(["a": 10]))
    _ = try desk.send(.add("a", 1))
    _ = try desk.send(.add("a", 2))
    desk.confirm(Board(["a": 101]), through: 1)  // This is ours plus somebody else's 90.
    #expect(desk.view.state == Board(["a": 103]))
  }

  @Test func `old versions can be read for ever`() throws {
    var desk = Desk(Board(["a": 0]))
    var versions = [desk.view.state]
    for value in 1...50 as ClosedRange<Int64> {
      try desk.mutate(.set("k\(value)", value))
      versions.append(desk.view.state)
    }
    desk.confirm(Board(), through: 0)
    for (index, version) in versions.enumerated() { #expect(version.values.count == index + 1) }
    #expect(desk.view.confirmed == Board())
  }

  @Test func `a mutation over an outdated state is replayed over the newest`() throws {
    var desk = Desk(Board(["a": 0]))
    try desk.mutate(.add("a", 1))
    desk.view.confirm(Board(["a": 10]))
    let mutated = try desk.box.mutate(.add("a", 1), &desk.view, at: desk.now)
    #expect(mutated.value == "12")
  }

  // MARK: Subscriptions

  struct Sum: ViewQuery {
    func answer(in board: Board) -> Int64 { board.values.reduce(0) { $0 + $1.value } }
  }

  struct Between: ViewQuery {
    var range: Range<String>
    func answer(in board: Board) -> [Int64] {
      board.values.filter { range.contains($0.key) }.map(\.value)
    }
    func mayDiffer(from old: Board, to new: Board) -> Bool {
      new.values.differs(from: old.values, in: range)
    }
  }

  @Test func `a subscription gives the first answer, and then only different ones`() throws {
    var desk = Desk(Board(["a": 1, "b": 2]))
    var sum = ViewSubscription(Sum())
    #expect(sum.update(desk.view) == 3)
    #expect(sum.update(desk.view) == nil)
    try desk.mutate(.set("a", 2))
    #expect(sum.update(desk.view) == 4)
    try desk.mutate(.set("b", 1))
    try desk.mutate(.set("a", 3))
    #expect(sum.update(desk.view) == nil)
    #expect(sum.answer == 4)
    #expect(sum.timesAsked == 3)
  }

  @Test func `a query with a range is asked only when something in it has changed`() throws {
    var desk = Desk(Board(["a": 1, "m": 2, "z": 3]))
    var middle = ViewSubscription(Between(range: "f"..<"t"))
    #expect(middle.update(desk.view) == [2])
    try desk.mutate(.set("a", 9))
    #expect(middle.update(desk.view) == nil)
    try desk.mutate(.set("t", 9))
    #expect(middle.update(desk.view) == nil)
    #expect(middle.timesAsked == 1)
    try desk.mutate(.set("f", 4))
    #expect(middle.update(desk.view) == [4, 2])
    try desk.mutate(.remove("m"))
    #expect(middle.update(desk.view) == [4])
    // The confirmed state equals the view, so there is nothing to tell.
    desk.confirm(desk.view.state, through: 0)
    #expect(middle.update(desk.view) == nil)
  }

  @Test func `a range of keys is compared between two versions`() {
    let old: VersionedMap<Int, Int> = [1: 1, 5: 5, 9: 9]
    var new = old
    #expect(!new.differs(from: old, in: 0...10))
    new[5] = 6
    #expect(new.differs(from: old, in: 5...5))
    #expect(new.differs(from: old, in: 5..<6))
    #expect(!new.differs(from: old, in: 6...10))
    #expect(!new.differs(from: old, in: 1..<5))
    new[5] = nil
    #expect(new.differs(from: old, in: 4...6))
  }
}
