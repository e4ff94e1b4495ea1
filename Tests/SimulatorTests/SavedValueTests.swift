import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// What a disk of rows reads must be what was saved, and not only equal rows.
@Suite struct SavedValueTests {
  /// Two numbers, of which the rows have one or both.
  private struct Pair: SyncModel, StorableModel {
    typealias Refusal = Never

    static let table = StoredTable.firstOfModel

    var first: Int64
    /// An older version of this model did not have it, and never wrote it.
    var second: Int64
    var keepsSecond = true

    init(snapshot: Int64) { (first, second) = (snapshot, snapshot) }

    mutating func apply(_ event: Int64) { (first, second) = (first + event, second - event) }

    func store(since old: Pair?, into rows: inout RowWriter) {
      if let old, old.first == first, old.second == second { return }
      var bytes = ByteWriter()
      bytes.put(first)
      if keepsSecond { bytes.put(second) }
      rows.put(Pair.table, [], bytes.bytes)
    }

    init(stored rows: RowReader) throws(StoredFormError) {
      (first, second) = (0, 0)
      for row in rows[Pair.table] {
        var bytes = ByteReader(row.value)
        first = try bytes.takeInt64()
        keepsSecond = bytes.left > 0
        if keepsSecond { second = try bytes.takeInt64() }
        try bytes.end()
      }
    }
  }

  private typealias Disk = RowDisk<Pair, QueueFinger>

  private func objection(keepingSecond: Bool) -> DiskObjection? {
    var pair = Pair(snapshot: 5)
    pair.keepsSecond = keepingSecond
    var disk = Disk()
    disk.write(
      SavedReplica(
        model: pair, finger: QueueFinger(queue: QueueID("1"), lastEventID: 3),
        terms: SmallWorld.terms))
    return disk.read(leavesRows: false).objection
  }

  @Test func `a form that has everything is read as it was saved`() {
    #expect(objection(keepingSecond: true) == nil)
  }

  /// Read and written again, such a form gives the same rows.
  @Test func `what is left out of a form is missed`() {
    let objection = objection(keepingSecond: false)
    #expect(objection?.expected == "what is read is what was saved")
    #expect(objection?.found == "another value in table 16")
  }
}
