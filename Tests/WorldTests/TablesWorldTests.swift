import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// Tests whole worlds in which users change rows of tables over NextApp's protocol.
struct TablesWorldTests {
  @Test(arguments: [UInt64(0), 1000])
  func `tables converge, and no change is made more often than it was sent`(first: UInt64) {
    for seed in first..<(first + 100) {
      let configuration = SimulationConfiguration(seed: seed)
      guard let finding = Simulation<TablesApp>.run(configuration).finding else { continue }
      let (_, trace) = Simulation<TablesApp>.trace(configuration)
      Issue.record("seed \(seed): \(finding)\n\(trace.text.suffix(6000))")
      return
    }
  }

  /// Everything that users and server of these worlds can do must happen. An insert whose ID is
  /// taken is one that was uncertain, had arrived, and was retried.
  @Test func `tables are fetched in pages and drained, and changes are refused or uncertain`() {
    var text = ""
    for seed: UInt64 in 1...80 {
      text += Simulation<TablesApp>.trace(SimulationConfiguration(seed: seed)).1.text
    }
    for words in [
      "fetching 2", " after ", "draining", "refused", "(taken)", "mutates insert", "mutates set",
      "mutates move", "mutates delete", "discards", "retries",
    ] {
      let isThere = text.contains(words)
      #expect(isThere, "\(words)")
    }
  }

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
