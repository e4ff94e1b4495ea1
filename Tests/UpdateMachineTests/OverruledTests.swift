import TestSupport
import Testing

@testable import UpdateMachine

/// Tests what becomes of a mutation that a server without IDs has taken, and that has no effect
/// there for good.
@Suite struct OverruledTests {
  enum Way: CaseIterable { case echo, poll, snapshot }

  private func confirm(
    _ desk: inout Desk, _ way: Way, _ tickets: [MutationTicket],
    overruledIf isOverruled: (BoardChange) -> Bool
  ) {
    switch way {
    case .echo:
      for ticket in tickets { desk.box.echo(of: ticket, overruledIf: isOverruled) }
    case .poll:
      desk.box.pollLeft()
      desk.box.pollWasAnswered(overruledIf: isOverruled)
    case .snapshot:
      desk.box.confirmAccepted(
        before: desk.now + .milliseconds(1), overruledIf: isOverruled)
    }
    desk.replay()
  }

  @Test(arguments: Way.allCases)
  func `it is overruled, however it is confirmed`(way: Way) throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    let tickets = try desk.send(.set("a", 1), .set("b", 2))
    desk.answer()
    confirm(&desk, way, tickets) { $0 == .set("b", 2) }
    #expect(tickets.map(desk.state) == [.acknowledged, .overruled])
    #expect(desk.box.isEmpty)
    #expect(desk.box.violation() == nil)
  }

  @Test(arguments: Way.allCases)
  func `it is overruled only when nothing before it is pending`(way: Way) throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    let tickets = try desk.send(.set("a", 1), .set("a", 2))
    desk.answer(.acceptedOnly([MutationID(2)]))
    confirm(&desk, way, [tickets[1]]) { _ in true }
    #expect(desk.state(tickets[1]) == .sent, "the first one may give it an effect")
    desk.save()
    desk.answer()
    confirm(&desk, way, tickets) { _ in false }
    #expect(tickets.map(desk.state) == [.acknowledged, .acknowledged])
    #expect(desk.box.violation() == nil)
  }

  @Test func `an echo of what is set aside says so, too`() throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    let ticket = try desk.send(.set("a", 1))[0]
    desk.fail(.rejected(.none))
    #expect(desk.state(ticket) == .setAside)
    desk.box.echo(of: ticket) { _ in true }
    #expect(desk.state(ticket) == .overruled)
    #expect(desk.box.isEmpty)
  }

  @Test func `the oldest are forgotten first`() throws {
    var settings = OutboxSettings()
    settings.discardsRemembered = 2
    var desk = Desk.started(delivery: .atLeastOnce, settings: settings)
    let tickets = try desk.send(.set("a", 1), .set("b", 2), .set("c", 3))
    desk.answer()
    confirm(&desk, .poll, tickets) { _ in true }
    #expect(tickets.map { desk.box.state(of: $0) } == [nil, .overruled, .overruled])
  }
}
