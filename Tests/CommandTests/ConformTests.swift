import Foundation
import Testing

@testable import simulate

@Suite("conform: conversations")
struct ConformTests {
  @Test func `the shipped conversations agree`() {
    let ran = Ran("conform")
    #expect(ran.code == .success, "\(ran.text)")
    #expect(
      ran.out == ["machine.jsonl: 842 of 842 conversations agree, 11100 of 11100 steps"])
    #expect(ran.error == [])
  }

  @Test func `a tampered conversation makes a difference that names the step`() throws {
    var lines = Array(try shippedLines("machine.jsonl").prefix(3))
    var tree = try Tree(lines[1])
    let name = try #require(tree["name"] as? String)
    var steps = try #require(tree["steps"] as? [[String: Any]])
    let place = steps.count - 1
    let status = try #require(steps[place]["status"] as? String)
    steps[place]["status"] = "halted(unsupported)"
    tree["steps"] = steps
    lines[1] = try tree.line
    let scratch = try Scratch(lines)
    let ran = Ran("conform", scratch.path)
    #expect(ran.code == .failure)
    let difference = try #require(ran.out.first)
    #expect(
      difference.hasPrefix(
        "\(scratch.path):2: \"\(name)\", step \(place + 1) of \(steps.count) "), "\(difference)")
    #expect(ran.out.count == 2 && ran.out.last?.hasPrefix("\(scratch.path): 2 of 3 ") == true)
    #expect(difference.contains("  expected  status halted(unsupported)"))
    #expect(difference.contains("  found     status \(status)"))
  }

  @Test func `an invalid conversation is reported with file and line`() throws {
    let scratch = try Scratch([#"{"name":"a","settings":{},"steps":[{"at":0}]}"#])
    let ran = Ran("conform", scratch.path)
    #expect(ran.code == .usage)
    #expect(ran.error.first?.hasPrefix("simulate: \(scratch.path):1: ") == true, "\(ran.error)")
  }
}
