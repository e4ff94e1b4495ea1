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
    ("compare --seeds 1 --svg /no/such/place.svg", "cannot write /no/such/place.svg"),
  ])
  func `bad usage is told`(typed: String, message: String) {
    let run = CommandRun(typed)
    #expect(run.code == .usage)
    #expect(run.errors.first?.contains(message) == true, "\(run.errors)")
  }
}
