import Foundation
import Simulator
import Testing

@testable import simulate

#if canImport(FoundationXML)
  import FoundationXML
#endif

struct CompareCommandTests {
  @Test func `compare prints a row for each protocol, and its last line is one JSON object`() throws
  {
    let run = CommandRun("compare --seeds 2 --json")
    #expect(run.code == .success)
    #expect(run.errors == [])
    let names = Comparison.protocols.map(\.rawValue)
    let table = try #require(run.output.first).split(separator: "\n")
    #expect(table.dropFirst().map { $0.split(separator: " ").first.map(String.init) } == names)
    let object = try run.json()
    let protocols = try #require(object["protocols"] as? [[String: Any]])
    #expect(protocols.compactMap { $0["protocol"] as? String } == names)
    for row in protocols {
      for figure in [
        "changes", "requests", "bytesUp", "bytesDown", "secondsToSee", "bytesStored",
      ] {
        let value = try #require(row[figure] as? Double, "\(figure)")
        #expect(value > 0, "\(row["protocol"] ?? ""), \(figure)")
      }
      #expect(row["lost"] is Double && row["secondsToConverge"] is Double)
      #expect(row["converges"] as? Bool == true)
    }
  }

  @Test func `a workload file has what happens and how each protocol ends, one object a line`()
    throws
  {
    let file = FileManager.default.temporaryDirectory
      .appending(path: "workload-\(UUID().uuidString).jsonl")
    defer { try? FileManager.default.removeItem(at: file) }  // It may not have been written.
    let run = CommandRun("compare --protocol event-queue --seeds 2 --workload \(file.path)")
    #expect(run.code == .success)
    let lines = try String(decoding: Data(contentsOf: file), as: UTF8.self)
      .split(separator: "\n")
      .map { try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
    let heads = lines.indices.filter { lines[$0]["devices"] != nil }
    #expect(heads.map { lines[$0]["seed"] as? Int } == [1, 2])
    for (head, next) in zip(heads, heads.dropFirst() + [lines.endIndex]) {
      let rest = lines[(head + 1)..<(next - 1)]
      let moments = rest.compactMap { $0["at"] as? Int }
      #expect(moments == moments.sorted() && moments.count == rest.count)
      func count(_ key: String, _ value: String) -> Int {
        rest.count { $0[key] as? String == value }
      }
      #expect(count("happens", "server-restarts") == 2 && count("happens", "crashes") == 4)
      #expect(count("happens", "goes-offline") == count("happens", "comes-back"))
      #expect(count("loses", "request") > 0 && count("loses", "answer") > 0)
      let made = rest.filter { $0["does"] as? String == "create" }.compactMap { $0["item"] as? Int }
      let last = lines[next - 1]
      #expect(last["protocol"] as? String == "event-queue")
      let held = try #require(last["holds"] as? [String: [String: String]])
      #expect(held.count > 10)
      #expect(Set(held.keys.compactMap { Int($0) }).isSubset(of: made))
    }
  }

  @Test func `the picture names every protocol in every panel`() throws {
    let file = FileManager.default.temporaryDirectory
      .appending(path: "comparison-\(UUID().uuidString).svg")
    defer { try? FileManager.default.removeItem(at: file) }  // It may not have been written.
    #expect(CommandRun("compare --seeds 1 --svg \(file.path)").code == .success)
    let data = try Data(contentsOf: file)
    #expect(XMLParser(data: data).parse())
    let text = String(decoding: data, as: UTF8.self)
    for name in Comparison.protocols.map(\.rawValue) {
      #expect(text.components(separatedBy: ">\(name)<").count == 9, "\(name)")
    }
  }

  @Test(arguments: [
    ("compare --seeds 0", "--seeds needs a whole number from 1 to 10000, found \"0\""),
    ("compare ledger", "unexpected \"ledger\""),
    (
      "compare --protocol etcd",
      "--protocol needs one of event-queue, client-view, record-sync, table-sync, event-stream, "
        + "found \"etcd\""
    ),
    ("compare --seeds 1 --protocol table-sync --workload /no/such/w", "cannot write /no/such/w"),
    ("compare --seeds 1 --svg /no/such/place.svg", "cannot write /no/such/place.svg"),
  ])
  func `bad usage is told`(typed: String, message: String) {
    let run = CommandRun(typed)
    #expect(run.code == .usage)
    #expect(run.errors.first?.contains(message) == true, "\(run.errors)")
  }
}
