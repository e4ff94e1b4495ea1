import TestSupport
import Testing
import UpdateMachine

@Suite struct PollEveryTests {
  /// A machine that had its first up-to-date answer at 50, and asks every 30 s.
  func pausing() -> Attended {
    var terms = testTerms
    terms.cadence = .every(.seconds(30))
    var client = Attended(restored: Spot("a", 7), terms: terms)
    client.put(.started(foreground: true))
    client.put(.polled(client.request, movedTo: nil), after: .milliseconds(50))
    return client
  }

  @Test func `the machine pauses for the period after an up-to-date answer, and stays connected`() {
    var client = pausing()
    #expect(client.status == "live.pausing")
    #expect(client.freshness == "connected, as of 0")
    #expect(
      client.put(.fired(client.timer!), after: .seconds(30)) == [
        "poll 2 from a:7, quick", "arm 3 in 10 s",
      ])
    #expect(client.freshness == "connected, as of 0")
  }

  @Test func `new events are written before the pause`() {
    var client = pausing()
    client.put(.fired(client.timer!), after: .seconds(30))
    #expect(
      client.put(.polled(client.request, movedTo: client.next), after: .milliseconds(50)) == [
        "disarm 3", "persist 1",
      ])
    #expect(client.put(.written(WriteID(1)), after: .milliseconds(3)) == ["arm 4 in 29.997 s"])
    #expect(client.status == "live.pausing")
  }

  @Test func `a paid wake polls at once`() {
    var client = pausing()
    #expect(
      client.put(.networkChanged, after: .seconds(5)) == [
        "disarm 2", "poll 2 from a:7, quick", "arm 3 in 10 s",
      ])
    #expect(client.freshness == "connected, as of 0")
    #expect(client.machine.freshnessChange(after: client.now) == client.now + .milliseconds(300))
  }

  @Test func `an unpaid wake leaves the pause`() {
    var client = pausing()
    for _ in 0..<3 {
      client.put(.networkChanged)
      client.put(.polled(client.request, movedTo: nil), after: .milliseconds(50))
    }
    #expect(client.put(.networkChanged) == [])
    #expect(client.status == "live.pausing")
  }

  @Test func `a failed poll is repeated soon, not after the period`() {
    var client = pausing()
    client.put(.fired(client.timer!), after: .seconds(30))
    #expect(
      client.put(.failed(client.request, .unreachable), after: .milliseconds(50)) == [
        "disarm 3", "arm 4 in (0, 0.1 s]",
      ])
    #expect(
      client.put(.fired(client.timer!), after: .milliseconds(100)) == [
        "poll 3 from a:7, quick", "arm 5 in 10 s",
      ])
  }

  @Test func `a pause that was slept through loses the state from when the poll was due`() {
    var client = pausing()
    #expect(
      client.put(.fired(client.timer!), after: .seconds(100)) == [
        "poll 2 from a:7, quick", "arm 3 in 10 s",
      ])
    #expect(client.freshness == "connecting since 30050, as of 0")
  }
}

@Suite struct PushedTests {
  /// A machine whose subscription has been out since 50.
  func subscribed(_ settings: MachineSettings = MachineSettings()) -> Attended {
    var terms = testTerms
    terms.cadence = .pushed
    var client = Attended(restored: Spot("a", 7), terms: terms, settings: settings)
    client.put(.started(foreground: true))
    client.put(.polled(client.request, movedTo: nil), after: .milliseconds(50))
    return client
  }

  @Test func `a push leaves the subscription out and restarts its deadline`() {
    var client = subscribed()
    let subscription = client.request
    #expect(
      client.put(.polled(subscription, movedTo: client.next), after: .seconds(20)) == [
        "disarm 2", "persist 1", "arm 3 in 100 s",
      ])
    #expect(client.status == "live.polling")
    #expect(client.request == subscription)
    #expect(client.freshness == "connected, as of 20050")
  }

  @Test func `a ping is a push that moves nothing, however early it comes`() {
    var client = subscribed()
    #expect(
      client.put(.polled(client.request, movedTo: nil), after: .milliseconds(1)) == [
        "disarm 2", "arm 3 in 100 s",
      ])
    #expect(client.status == "live.polling")
  }

  @Test func `pushes that come during a write are written together after it`() {
    var client = subscribed()
    client.put(.polled(client.request, movedTo: client.next), after: .seconds(1))
    #expect(
      client.put(.polled(client.request, movedTo: client.next)) == [
        "disarm 3", "arm 4 in 100 s",
      ])
    #expect(
      client.put(.polled(client.request, movedTo: client.next)) == [
        "disarm 4", "arm 5 in 100 s",
      ])
    #expect(client.put(.written(WriteID(1))) == ["persist 2"])
    #expect(client.put(.written(WriteID(2))) == [])
    #expect(client.machine.finger == Spot("a", 10))
  }

  @Test func `a failed write ends the subscription`() {
    var client = subscribed()
    client.put(.polled(client.request, movedTo: client.next), after: .seconds(1))
    #expect(
      client.put(.writeFailed(WriteID(1)), after: .milliseconds(3)) == [
        "cancel 2", "disarm 3", "report store", "arm 4 in (0, 0.1 s]",
      ])
    #expect(client.put(.fired(client.timer!), after: .milliseconds(100)) == ["persist 2"])
    #expect(
      client.put(.written(WriteID(2)), after: .milliseconds(3)) == [
        "poll 3 from a:8, quick", "arm 5 in 10 s",
      ])
  }

  @Test func `a subscription that stays silent times out`() {
    var client = subscribed()
    #expect(
      client.put(.fired(client.timer!), after: .seconds(100)) == [
        "cancel 2", "arm 3 in (0, 0.1 s]",
      ])
    #expect(client.status == "pollFailed")
  }

  @Test func `an overdue push ends the subscription`() {
    var settings = MachineSettings()
    settings.isDurable = false
    var client = subscribed(settings)
    #expect(
      client.put(.polled(client.request, movedTo: client.next), after: .seconds(103)) == [
        "cancel 2", "disarm 2", "poll 3 from a:8, quick", "arm 3 in 10 s",
      ])
    #expect(client.freshness == "connecting since 100050, as of 0")
  }

  /// Seed 24 of client-view: a subscription that only pinged for days never ended a row of
  /// failures.
  @Test func `a ping of a subscription that has lasted ends the row of failures`() {
    for (span, wait) in [(1, "0.2"), (6, "0.1")] {
      var client = subscribed()
      client.put(.failed(client.request, .unreachable), after: .seconds(1))
      client.put(.fired(client.timer!), after: .milliseconds(100))
      client.put(.polled(client.request, movedTo: nil), after: .milliseconds(50))
      client.put(.polled(client.request, movedTo: nil), after: .seconds(Int64(span)))
      #expect(
        client.put(.failed(client.request, .unreachable), after: .seconds(1)).last
          == "arm 7 in (0, \(wait) s]")
    }
  }
}
