import Foundation
import Simulator
import Testing

@testable import simulate

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// Tests the pictures of `trace`, `run` and `replay`, as they are typed.
@Suite struct PictureTests {
  private static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Every way to name a run, with what its picture must show.
  static let shown = [
    ("trace --seed 3 --clients 2 --steps 60", "client 1"),
    ("trace --seed 5 --world messages --clients 2 --steps 60", "asks for page"),
    ("trace --seed 7 --world posts --clients 2 --steps 60", "the user mutates"),
    ("trace --seed 4 --protocol client-view --clients 2 --steps 60", "commit 1"),
    ("trace --seed 4 --clients 1 --steps 40 --engine actor", "begins incarnation 1"),
    ("trace Simulations/Scenarios/stories/life-of-a-banner.scenario", "failed unreachable"),
    ("trace Simulations/Scenarios/worlds/lost-answer.scenario", "client 1"),
    ("trace Simulations/Recordings/queue-lifecycle.jsonl", "release"),
  ]

  @Test(arguments: shown)
  func `a picture in any format says the same as the text`(typed: String, words: String) throws {
    let typed = typed.replacing("Simulations/", with: PictureTests.root.path + "/Simulations/")
    let svg = CommandRun("\(typed) --format svg").output.joined(separator: "\n")
    #expect(svg.contains(words))
    #expect(try Elements(of: svg).count("svg") == 1)
    let html = CommandRun("\(typed) --format html").output.joined(separator: "\n")
    #expect(html.contains(words))
    let mermaid = CommandRun("\(typed) --format mermaid").output.joined(separator: "\n")
    #expect(mermaid.hasPrefix("sequenceDiagram\n"))
    #expect(mermaid.contains(words))
    let json = try #require(
      try JSONSerialization.jsonObject(
        with: Data(CommandRun("\(typed) --format json").output.joined(separator: "\n").utf8))
        as? [String: Any])
    let marks = try #require(json["marks"] as? [[String: Any]])
    let lanes = try #require(json["lanes"] as? [String])
    #expect(lanes.last == "server")
    #expect(!marks.isEmpty)
    for mark in marks {
      let text = try #require(mark["text"] as? String)
      // Long lines are wrapped in the drawing, so their beginnings are looked for.
      // What is known of a list is drawn as cells.
      let cell = text.contains("=") ? "st-known" : text.contains("-") ? "st-formerly" : "st-unknown"
      let beginning =
        mark["kind"] as? String == "list"
        ? "<rect class=\"\(cell)\"" : Escaped.text(String(text.prefix(24)))
      let isShown = svg.contains(beginning)
      #expect(isShown, "\(text)")
    }
    let messages = try #require(json["messages"] as? [[String: Any]])
    for message in messages where message["fate"] as? String != "open" {
      let sent = try #require(message["sent"] as? Int)
      #expect(try #require(message["at"] as? Int) >= sent)
    }
  }

  @Test func `without faults every message arrives but the last poll`() throws {
    let json = try CommandRun("trace --format json").json()
    let messages = try #require(json["messages"] as? [[String: Any]])
    #expect(messages.count > 6)
    #expect(messages.dropLast().allSatisfy { $0["fate"] as? String == "arrived" })
    #expect(messages.last?["fate"] as? String == "open")
    let bars = try #require(json["bars"] as? [[String: Any]])
    #expect(bars.first?["name"] as? String == "q1")
  }

  @Test func `what is lost is drawn as lost, for each fault that says so`() throws {
    let run = try CommandRun(
      "trace --seed 2 --world directory --steps 200 --faults lost-request,lost-answer --format json"
    ).json()
    let marks = try #require(run["marks"] as? [[String: Any]])
    let messages = try #require(run["messages"] as? [[String: Any]])
    let faults = marks.filter { $0["kind"] as? String == "fault" }
    // A message that is given up while it is on its way counts as lost, too.
    let lost = messages.filter { $0["fate"] as? String == "lost" }
    #expect(faults.count > 5)
    #expect(lost.count >= faults.count)
  }

  @Test func `a pending change lasts until it is confirmed`() throws {
    let run = try CommandRun(
      "trace --seed 4 --protocol client-view --clients 2 --steps 60 --faults none --format json"
    ).json()
    let lanes = try #require(run["lanes"] as? [String])
    let bars = try #require(run["bars"] as? [[String: Any]])
    let changes = bars.filter { $0["lane"] as? Int != lanes.count - 1 }
    #expect(changes.count > 2)
    let stages = changes.compactMap { $0["parts"] as? [[String: Any]] }.flatMap { $0 }
      .compactMap { $0["text"] as? String }
    #expect(stages.contains { $0.hasSuffix("not sent") })
    #expect(stages.contains { $0.hasSuffix(", accepted") })
    #expect(changes.contains { $0["end"] != nil })
  }

  @Test func `the text of a drawing lies inside of it, and no line over another`() throws {
    for typed in ["trace --seed 3 --clients 4", "trace --seed 5 --world messages"] {
      let svg = CommandRun("\(typed) --format svg").output.joined(separator: "\n")
      let elements = try Elements(of: svg)
      let width = try #require(elements.all.first?.1["width"].flatMap(Int.init))
      var ends: [String: Int] = [:]
      for (name, attributes, text) in elements.all where name == "text" {
        let x = try #require(attributes["x"].flatMap(Int.init))
        let y = try #require(attributes["y"])
        let isLine = attributes["class"]?.contains("st-text") == true
        guard isLine else { continue }
        let end = x + text.unicodeScalars.count * 722 / 100
        #expect(end <= width, "\(text)")
        #expect(x >= ends[y, default: 0], "\(text)")
        ends[y] = end
      }
      #expect(ends.count > 50)
    }
  }

  @Test func `a failed run leaves its picture, and its token gives the same one`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "pictures-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "failure.svg").path
    let run = CommandRun(
      "run --plant lost-event --seeds 60 --until-failure --picture \(file)")
    #expect(run.code == .failure)
    #expect(run.output.last == "Wrote \(file), a picture of the run.")
    let picture = try String(contentsOfFile: file, encoding: .utf8)
    #expect(picture.contains("oracle A replica"))
    let line = try #require(
      run.output.joined(separator: "\n").split(separator: "\n").first {
        $0.contains("simulate replay")
      })
    let token = try #require(line.split(separator: " ").last)
    let trace = CommandRun("trace \(token) --format svg")
    #expect(trace.code == .failure)
    #expect(trace.output.joined(separator: "\n") + "\n" == picture)
  }

  @Test(arguments: [
    ("trace --format picture", "there is no format \"picture\". The formats are: text, mermaid,"),
    ("trace --output picture.png", "the name picture.png says no format. Let it end in .txt,"),
    ("trace nonsense", "\"nonsense\" is no token of this version, no .scenario file and no"),
    ("trace --seed 1 nonsense", "--seed is not for a token or a file, only for a seed"),
    ("trace one two", "show one thing at a time: a seed, a token, or a file"),
    ("trace x.scenario --hash", "--hash is not for a token or a file, only for a seed"),
    ("trace --seed 1 --hash --output x.svg", "--hash prints the hash only."),
    ("trace --output x.svg --format json", "the name x.svg says svg, and --format says json"),
    ("trace --output /nowhere/x.svg", "there is no folder /nowhere for /nowhere/x.svg"),
    ("run --seeds 1 --picture /nowhere/x.svg", "there is no folder /nowhere for"),
    ("run --seeds 1 --picture failure", "the name failure says no format."),
  ])
  func `bad usage says what to type`(typed: String, words: String) {
    let run = CommandRun(typed)
    #expect(run.code == .usage)
    #expect(run.errors.first?.contains(words) == true)
  }

  @Test func `a file of text has the lines that are printed`() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "trace-\(UUID()).txt")
    defer { try? FileManager.default.removeItem(at: file) }
    let printed = CommandRun("trace --seed 4 --clients 1").output
    #expect(CommandRun("trace --seed 4 --clients 1 --output \(file.path)").code == .success)
    let written = try String(contentsOf: file, encoding: .utf8)
    #expect(written == printed.joined(separator: "\n") + "\n")
  }

  @Test func `what could not reach the server is no message from it`() throws {
    let file = PictureTests.root.appending(
      path: "Simulations/Scenarios/stories/life-of-a-banner.scenario")
    let json = try CommandRun("trace \(file.path) --format json").json()
    let messages = try #require(json["messages"] as? [[String: Any]])
    #expect(messages.filter { $0["fate"] as? String == "lost" }.count == 1)
    #expect(messages.filter { $0["text"] as? String == "after 20s failed unreachable" }.isEmpty)
  }

  @Test func `a file that cannot be written or read is named`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "picture-\(UUID()).svg")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let written = CommandRun("trace --output \(folder.path)")
    #expect(written.code == .usage)
    #expect(written.errors.first?.contains("\(folder.path): cannot be written") == true)
    #expect(CommandRun("trace /nowhere/x.scenario").code == .usage)
    #expect(CommandRun("trace /nowhere/x.jsonl").code == .usage)
  }
}

/// The elements of a text of XML, in order.
private final class Elements: NSObject, XMLParserDelegate {
  struct Malformed: Error {
    var line: Int
  }

  private(set) var all: [(String, [String: String], String)] = []

  init(of text: String) throws {
    super.init()
    let parser = XMLParser(data: Data(text.utf8))
    parser.delegate = self
    guard parser.parse() else { throw Malformed(line: parser.lineNumber) }
  }

  func count(_ name: String) -> Int { all.filter { $0.0 == name }.count }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
    qualifiedName: String?, attributes: [String: String]
  ) {
    all.append((name, attributes, ""))
  }

  func parser(_ parser: XMLParser, foundCharacters text: String) {
    guard !all.isEmpty, text != "\n" else { return }
    all[all.count - 1].2 += text
  }
}

private enum Escaped {
  static func text(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;")
  }
}
