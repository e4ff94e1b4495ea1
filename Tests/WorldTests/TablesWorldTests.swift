import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// Tests whole worlds in which users change rows of tables over NextApp's protocol.
struct TablesWorldTests {
  @Test func `the truth deletes what is below a row, and notes a row that comes back`() {
    var truth = TablesTruth()
    truth.apply(.insert(TableRowKey(0, 1), parent: nil, JSONObject()))
    truth.apply(.insert(TableRowKey(1, 2), parent: 1, JSONObject()))
    truth.apply(.insert(TableRowKey(2, 3), parent: 2, JSONObject()))
    truth.apply(.insert(TableRowKey(2, 4), parent: nil, JSONObject()))
    truth.apply(.delete(TableRowKey(0, 1)))
    #expect(truth.rows.map { $0.key } == [TableRowKey(2, 4)])
    #expect(truth.wrong == [])
    truth.apply(.insert(TableRowKey(2, 3), parent: nil, JSONObject()))
    #expect(truth.wrong == ["2/3 comes back after its deletion"])
  }
}
