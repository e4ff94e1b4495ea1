import Testing
import UpdateMachine

@testable import Simulator
@testable import SyncProtocols

/// A stream's pages, said once more in the plainest way.
@Suite struct StreamPageTests {
  /// A server with four events. A reader asks for the first and for those after the second.
  private var server: StreamsServer {
    var server = StreamsServer(
      truth: StreamsTruth(law: .lastWriterWins), settings: ServerSettings(),
      at: Moment(milliseconds: 0))
    for number in 0..<4 as Range<UInt64> {
      let change = StreamChange(
        StreamEventID(high: 0, low: number), ViewKey("o\(number)"), .insert([:]))
      server.commit(
        StreamsTruth.Change(client: ClientID(7), change: change), at: Moment(milliseconds: 5))
    }
    return server
  }

  private let request = StreamRequest(
    stream: StreamsServer.log, scope: nil, holes: [IDInterval(low: 0, high: 0)],
    after: StreamSequence(1))

  private func wrong(_ sequences: [Int], latest: Int64 = 3) -> String? {
    var server = server
    let batch = StreamBatch(
      stream: StreamsServer.log, latest: StreamSequence(latest),
      steps: sequences.map { .event(server.truth.events[$0]) })
    server.judge(batch, server.twin.answer(to: request, server.server, at: server.now))
    return server.unlikeTwin
  }

  @Test func `a page with what was asked for is right`() {
    #expect(wrong([0, 2, 3]) == nil)
  }

  @Test func `a page with too little, too much or another latest sequence is wrong`() {
    #expect(wrong([0, 2]) != nil)
    #expect(wrong([0, 1, 2, 3]) != nil)
    #expect(wrong([2, 3, 0]) != nil)
    #expect(wrong([0, 2, 3], latest: 2) != nil)
  }

  @Test func `the server's own answers are right`() {
    var server = server
    let finger = StreamPlace(stream: StreamsServer.log)
    _ = server.poll(
      finger, waits: false, waiter: 0, heartbeatAfter: .seconds(1), at: Moment(milliseconds: 9))
    #expect(server.unlikeTwin == nil)
  }

  @Test func `a plant is what the server does and its twin, and nothing else is excused`() {
    var server = server
    server.arm(.namesAnotherMaker)
    let finger = StreamPlace(stream: StreamsServer.log)
    _ = server.poll(
      finger, waits: false, waiter: 0, heartbeatAfter: .seconds(1), at: Moment(milliseconds: 9))
    #expect(server.breachCount == 1)
    #expect(server.unlikeTwin == nil)
    server.judge(isHeld: true, finger.request, until: Moment(milliseconds: 99))
    #expect(server.unlikeTwin != nil)
  }
}
