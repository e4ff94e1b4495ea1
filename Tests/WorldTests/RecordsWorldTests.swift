import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// Tests whole worlds in which users change records over WatermelonDB's protocol.
struct RecordsWorldTests {
  /// The oracle must notice a push that changes what its client had not seen.
  @Test func `a conflict that is overwritten is noticed`() {
    var seen = RecordsTruth()
    let key = RecordKey("items", "1")
    seen.apply(.set(key, .one("a", "old")))
    let pushed = VersionedMap(sorted: [(key, JSONObject.one("a", "mine"))])
    var truth = seen
    truth.becomes(pushed, deleting: [], seen: seen, by: ClientID(1))
    #expect(
      RecordsLaw.objection(to: truth, ChangeBook<RecordChange>(), VersionedMap()) == nil)
    truth = seen
    truth.apply(.set(key, .one("a", "theirs")))
    truth.becomes(pushed, deleting: [], seen: seen, by: ClientID(1))
    #expect(truth.overwritten == [key])
    #expect(
      RecordsLaw.objection(to: truth, ChangeBook<RecordChange>(), VersionedMap()) != nil)
  }

  /// The oracle must notice a server that applies what it should have refused. It must allow an
  /// undo, which sends an old value again.
  @Test func `a value that is written more often than it was sent is noticed`() {
    let (mine, other) = (ClientID(1), ClientID(2))
    var truth = RecordsTruth()
    let key = RecordKey("items", "1")
    for value in ["old", "new", "old"] as [JSONValue] {
      let pushed = VersionedMap(sorted: [(key, JSONObject.one("a", value))])
      truth.becomes(pushed, deleting: [], seen: nil, by: mine)
    }
    #expect(truth.returned.map { $0.value } == ["old"])
    #expect(truth.hasWritten("new", to: "a", of: key))
    #expect(!truth.hasWritten("new", to: "b", of: key))
    #expect(truth.writes(of: "old", by: mine) == 2 && truth.writes(of: "old", by: other) == 0)
    func objection(to client: ClientID, sends: Int) -> UserObjection? {
      let name = RecordsTruth.name(of: "old", by: client)
      return RecordsLaw.objection(
        to: truth, ChangeBook<RecordChange>(of: client), VersionedMap(sorted: [(name, sends)]))
    }
    #expect(objection(to: mine, sends: 1) != nil)
    #expect(objection(to: mine, sends: 2) == nil)
    #expect(objection(to: other, sends: 0) == nil)
    #expect(truth.lastWriter(of: key, "a") == mine && truth.lastWriter(of: key) == nil)
    truth.becomes(VersionedMap(), deleting: [], seen: nil, by: other)
    #expect(truth.lastWriter(of: key) == other)
  }
}
