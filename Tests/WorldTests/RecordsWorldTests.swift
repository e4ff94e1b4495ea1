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
    truth.becomes(pushed, deleting: [], seen: seen)
    #expect(
      RecordsLaw.objection(to: truth, ChangeBook<RecordChange>(), VersionedMap()) == nil)
    truth = seen
    truth.apply(.set(key, .one("a", "theirs")))
    truth.becomes(pushed, deleting: [], seen: seen)
    #expect(truth.overwritten == [key])
    #expect(
      RecordsLaw.objection(to: truth, ChangeBook<RecordChange>(), VersionedMap()) != nil)
  }

  /// The oracle must notice a server that applies what it should have refused.
  @Test func `an old value that comes back is noticed`() {
    var truth = RecordsTruth()
    let key = RecordKey("items", "1")
    truth.apply(.set(key, .one("a", "old")))
    truth.apply(.set(key, .one("a", "new")))
    truth.apply(.set(key, .one("a", "old")))
    #expect(truth.returned == ["old"])
    #expect(truth.hasWritten("new", to: "a", of: key))
    #expect(!truth.hasWritten("new", to: "b", of: key))
    var book = ChangeBook<RecordChange>()
    book.note(MutationTicket(1), RecordChange(.update(.one("a", "old")), key))
    let once = VersionedMap(sorted: [("\"old\"", 1)])
    #expect(RecordsLaw.objection(to: truth, book, once) != nil)
    let twice = VersionedMap(sorted: [("\"old\"", 2)])
    #expect(RecordsLaw.objection(to: truth, book, twice) == nil)
  }
}
