import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// Tests whole worlds in which users change objects over a stream of events.
struct StreamsWorldTests {
  /// The plain fold must know the three laws.
  @Test func `an update beside a deletion is dropped, wins, or is asked about`() {
    let key = ViewKey("p")
    func shown(_ law: StreamConflictLaw) -> String {
      var truth = StreamsTruth(law: law)
      for (index, kind) in [
        StreamChange.Kind.insert(["a": 1]), .delete, .update(["b": 2]),
      ].enumerated() {
        var change = StreamChange(StreamEventID(high: 0, low: UInt64(index)), key, kind)
        change.preceding = StreamSequence(index == 0 ? -1 : 0)
        truth.apply(StreamsTruth.Change(client: ClientID(UInt64(index)), change: change))
      }
      #expect(
        truth.shown.dropped.contains(StreamEventID(high: 0, low: 2)) == (law == .firstWriterWins))
      return truth.description
    }
    #expect(shown(.firstWriterWins) == "")
    #expect(shown(.lastWriterWins) == "p={a:1,b:2}")
    #expect(shown(.ask) == "p?{a:1,b:2}")
  }

  /// The oracle must notice a server that takes a second copy for another event.
  @Test func `one event under two sequences is noticed`() {
    var truth = StreamsTruth(law: .ask)
    let change = StreamChange(StreamEventID(high: 0, low: 1), ViewKey("p"), .insert(["a": 1]))
    truth.apply(StreamsTruth.Change(client: ClientID(1), change: change))
    #expect(truth.repeated == nil)
    truth.apply(StreamsTruth.Change(client: ClientID(1), change: change))
    #expect(truth.repeated?.change == change)
  }
}
