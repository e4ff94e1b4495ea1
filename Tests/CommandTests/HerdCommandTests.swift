import Foundation
import Simulator
import Testing
import UpdateMachine

@testable import simulate

#if canImport(FoundationXML)
  import FoundationXML
#endif

struct HerdCommandTests {
  @Test func `herd plays every story, and its last line is one JSON object`() throws {
    let run = CommandRun("herd --clients 300 --json")
    #expect(run.code == .success)
    #expect(run.errors == [])
    let object = try run.json()
    #expect(object["clients"] as? Int == 300)
    #expect(object["capacity"] as? Int == 3)
    for figure in [
      "events", "eventsPerSecond", "bytesPerClient", "peakRequestsPerSecond", "secondsUntilLive",
    ] {
      #expect((object[figure] as? Double ?? 0) > 0, "\(figure)")
    }
    let stories = try #require(object["stories"] as? [[String: Any]])
    let names = stories.compactMap { $0["story"] as? String }
    #expect(names == HerdStory.Name.allCases.map(\.rawValue))
    let table = try #require(run.output.dropFirst().first).split(separator: "\n")
    #expect(table.count == 1 + stories.count)
    #expect(table.first?.hasSuffix("missed") == true)
  }

  @Test func `the same options print the same, but for the speed`() {
    func printed() -> [String] {
      CommandRun("herd --clients 400 --story restart --settings spread=120").output
        .filter { !$0.contains("million a second") }
    }
    #expect(printed() == printed())
    #expect(printed().count >= 2)
  }

  @Test func `settings are compared with the defaults, or with others`() throws {
    func waits(_ options: String) throws -> [String] {
      let object = try CommandRun("herd --clients 200 --story restart --json " + options).json()
      let stories = try #require(object["stories"] as? [[String: Any]])
      return stories.compactMap { $0["waits"] as? String }
    }
    #expect(try waits("") == ["default"])
    #expect(try waits("--settings spread=9") == ["default", "spread=9"])
    let both = try waits("--settings spread=9 --against slowCap=2min")
    #expect(both == ["slowCap=2min", "spread=9"])
    #expect(try waits("--policy all") == HerdPolicy.allCases.map(\.rawValue))
    #expect(try waits("--policy full --settings spread=9") == ["full, spread=9"])
  }

  @Test func `a file has a setting in each line`() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "herd-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }  // It may not have been written.
    try Data("# for a large server\nspread = 2min\n\nslowFirst=400ms\n".utf8).write(to: file)
    let settings = try HerdNumbers.settings(file.path)
    #expect(settings.spread == .seconds(120))
    #expect(settings.retry.slowFirst == .milliseconds(400))
  }

  @Test func `every setting with a name can be set and read`() {
    for (index, name) in MachineSettings.spans.enumerated() {
      var settings = MachineSettings()
      let span = TimeSpan.seconds(Int64(index) + 1000)
      let isSet = settings.set(name, to: span)
      #expect(isSet)
      #expect(settings.span(name) == span, "\(name)")
      let others = MachineSettings.spans.filter { $0 != name }
      #expect(others.allSatisfy { settings.span($0) == MachineSettings().span($0) })
    }
    #expect(MachineSettings().span("nonsense") == nil)
  }

  @Test func `the knobs that matter in a restart are named`() throws {
    let run = CommandRun("herd --clients 200 --story restart --knobs")
    #expect(run.code == .success)
    let table = try #require(run.output.first { $0.contains("spread 20 s") })
    #expect(table.contains("spread 1.25 s"))
    let idle = try #require(
      run.output.first { $0.hasPrefix("What changes nothing here: ") })
    #expect(idle.contains("writeDue (10 s)"))
    #expect(run.output.last == "Not tried, because it is not set: refreshPeriod.")
    #expect(!idle.contains("spread"))
  }

  @Test func `advice follows from what is missed`() {
    let run = CommandRun("herd --clients 2000 --story restart")
    #expect(run.output.contains { $0.contains("Try --settings spread=120") })
    let good = CommandRun("herd --clients 2000 --story restart --settings spread=120")
    #expect(!good.output.contains { $0.hasPrefix("restart, spread=120: all come back") })
    let silent = CommandRun("herd --clients 500 --story restart --shedding hang")
    #expect(silent.output.contains { $0.contains("never") })
    #expect(silent.output.contains { $0.contains("Try --shedding slots") })
  }

  @Test func `the picture has a panel for each story and a line for each variant`() throws {
    let file = FileManager.default.temporaryDirectory
      .appending(path: "herd-\(UUID().uuidString).svg")
    defer { try? FileManager.default.removeItem(at: file) }  // It may not have been written.
    let run = CommandRun("herd --clients 200 --settings spread=50 --svg \(file.path)")
    #expect(run.code == .success)
    let data = try Data(contentsOf: file)
    #expect(XMLParser(data: data).parse())
    let text = String(decoding: data, as: UTF8.self)
    for name in HerdStory.Name.allCases { #expect(text.contains(">\(name.rawValue): ")) }
    #expect(text.components(separatedBy: ">spread=50<").count == 6)
    #expect(text.components(separatedBy: "fill=\"none\" stroke=\"#ee6677\"").count == 16)
  }

  @Test(arguments: [
    ("herd --clients 7", "--clients needs a whole number from 100 to 10000000, found \"7\""),
    ("herd --story flood", "unknown story \"flood\". There are: restart, outage, deploys"),
    ("herd --policy best", "unknown policy \"best\". There are: ours, none, exponential"),
    ("herd --shedding never", "unknown shedding \"never\". There are: refuse, fixed, slots, hang"),
    ("herd --settings spred=5", "unknown setting \"spred\". There are: transientFirst"),
    ("herd --settings spread=soon", "spread needs a time such as 400ms, 120 (seconds) or 2min"),
    ("herd --settings spread=9000", "spread can be from 10ms to 60min here, or 0, found \"9000\""),
    ("herd --settings /no/such", "/no/such: there is no such file. Settings are a file, or a list"),
    ("herd --settings spread=5,slow", "\"slow\" is no setting. Write one as spread=120"),
    ("herd --against spread=5", "--against needs --settings, which it is compared with"),
    ("herd --retry-after 5", "--retry-after has a meaning only with --shedding fixed"),
    ("herd --knobs --json", "--knobs prints a table, so leave out --json and --svg"),
    ("herd --knobs --policy all", "--knobs changes one setting after the other"),
    ("herd --svg /no/such/place.svg", "there is no folder /no/such for /no/such/place.svg"),
    ("herd million", "unexpected \"million\""),
  ])
  func `bad usage is told`(typed: String, message: String) {
    let run = CommandRun(typed)
    #expect(run.code == .usage)
    #expect(run.output == [])
    #expect(run.errors.first?.contains(message) == true, "\(run.errors)")
  }
}
