import SyncProtocols
import Testing
import UpdateMachine

/// Tests every way in which the servers can be told to break their contract.
struct ClientViewBreachTests {
  private func expectBroken(_ desk: ViewDesk) {
    #expect(desk.server.breachCount == 1)
    #expect(desk.server.breach == nil)
  }

  @Test func `skips-a-mutation: an ID is committed without its effects`() throws {
    var desk = ViewDesk()
    desk.server.breach = .skipsAMutation
    try desk.push(from: 1, ("nothing", .null), ("add", 1), ("add", 10))
    expectBroken(desk)
    #expect(desk.text() == "sum=10, last 3")
  }

  @Test func `applies-twice: a mutation is run twice`() throws {
    var desk = ViewDesk()
    desk.server.breach = .appliesTwice
    // The first mutation has the same effect if it runs twice, so it is no occasion.
    try desk.push(from: 1, ("put", ["key": "a", "value": 1]), ("add", 1), ("add", 10))
    expectBroken(desk)
    #expect(desk.text() == "a=1 sum=12, last 3")
  }

  @Test func `effects-without-id: the ID follows later`() throws {
    var desk = ViewDesk()
    desk.server.breach = .effectsWithoutID
    try desk.push(from: 1, ("add", 1))
    expectBroken(desk)
    #expect(try desk.pull().text == "1.1:0 full: sum=1")
    try desk.push(from: 1, ("add", 1), ("add", 10))
    #expect(desk.text() == "sum=11, last 2")
    #expect(try desk.pull(asOf: 2).text == "1.1:1 full: sum=1")
  }

  @Test func `wrong-delta: a change is left out, and the checksum matches`() throws {
    var desk = ViewDesk()
    desk.put(["a": 1])
    var model = try desk.model()
    desk.server.breach = .wrongDelta
    desk.put(["b": 2, "c": 3])
    try model.apply(try desk.pull(from: model.finger.state))
    expectBroken(desk)
    #expect(model.view.text == "a=1 b=2")
    let next = try desk.pull(from: model.finger.state)
    #expect(ClientView.advance(model.finger, over: next) == .gap)  // It is soon noticed.
  }

  @Test func `claims-to-be-current: a replica that has stopped says that it is current`() throws {
    var desk = ViewDesk()
    desk.put(["a": 1])
    desk.server.breach = .claimsToBeCurrent
    let model = try desk.model()
    desk.put(["b": 2])
    try desk.push(from: 1, ("add", 1))
    let pulled = try desk.pull(from: model.finger.state)
    #expect(pulled.isCurrent)
    #expect(ClientView.advance(model.finger, over: pulled) == .seen)
    #expect(desk.server.breachCount == 1)
    desk.server.breach = nil
    #expect(try desk.pull(from: model.finger.state).text == "1.2:1 from 1.1: b=2 sum=1")
  }

  @Test(arguments: ViewBreach.allCases)
  func `a breach waits for its opportunity, and breaks nothing without one`(breach: ViewBreach)
    throws
  {
    var desk = ViewDesk()
    desk.server.breach = breach
    desk.put(["a": 1])
    let model = try desk.model()
    try desk.push(from: 1, ("nothing", .null), ("fly", .null))
    _ = try desk.pull(from: model.finger.state)
    #expect(desk.server.breach == breach)
    #expect(desk.server.breachCount == 0)
  }

  @Test(arguments: ViewBreach.allCases)
  func `every breach has a name in small words`(breach: ViewBreach) {
    #expect(breach.rawValue.allSatisfy { $0.isLowercase || $0 == "-" })
    #expect(ViewBreach(rawValue: breach.rawValue) == breach)
  }
}
