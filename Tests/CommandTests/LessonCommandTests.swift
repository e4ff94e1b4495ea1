import Foundation
import Simulator
import Testing

@testable import simulate

/// Tests `simulate lesson` as it is typed.
@Suite struct LessonCommandTests {
  private static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let here = "--package-path \(root.path)"

  @Test func `the list names each lesson with its complaint`() throws {
    let lessons = try Simulate.lessons(in: LessonCommandTests.root)
    let run = CommandRun("lesson \(LessonCommandTests.here)")
    #expect(run.code == .success)
    #expect(lessons.count >= 13)
    #expect(run.output.count == 2 * lessons.count)
    for lesson in lessons {
      #expect(run.output.contains { $0.hasSuffix("  \(lesson.title)") })
      #expect(run.output.contains { $0.hasSuffix(lesson.complaint) })
    }
  }

  @Test func `every lesson reads as a strip of a few frames, and shows what it says`() throws {
    let lessons = try Simulate.lessons(in: LessonCommandTests.root)
    let run = CommandRun("lesson all \(LessonCommandTests.here)")
    #expect(run.code == .success)
    let text = run.output.joined(separator: "\n")
    #expect(!text.contains("✕"))
    for lesson in lessons {
      let strip = LessonStrip(lesson)
      #expect((2...LessonStrip.framesMaximum).contains(strip.frames.count), "\(lesson.title)")
      #expect(strip.frames.contains { $0.question != nil }, "\(lesson.title)")
      for frame in strip.frames {
        #expect(text.contains(frame.text))
        #expect(frame.screens.count == lesson.clients)
      }
      // In some frames nothing happens, and time passes.
      let quiet = strip.frames.filter { $0.picture.marks.isEmpty }
      #expect(quiet.count <= 1, "\(lesson.title)")
    }
  }

  @Test func `a page has a diagram for each frame, and every word of the lessons`() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "lessons-\(UUID()).html")
    defer { try? FileManager.default.removeItem(at: file) }
    let run = CommandRun("lesson all --output \(file.path) \(LessonCommandTests.here)")
    #expect(run.code == .success)
    let page = try String(contentsOf: file, encoding: .utf8)
    let strips = try Simulate.lessons(in: LessonCommandTests.root).map { LessonStrip($0) }
    let frames = strips.flatMap(\.frames).filter { !$0.picture.marks.isEmpty }
    #expect(frames.count > 30)
    #expect(page.split(separator: "<svg ").count == frames.count + 1)
    for strip in strips {
      #expect(page.contains(strip.lesson.title))
      for question in strip.frames.compactMap(\.question) { #expect(page.contains(question)) }
    }
  }

  @Test func `a lesson that is not to be seen as it says fails, and says what is there`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "lessons-\(UUID())")
    let playground = folder.appending(path: "Simulations/Playground")
    try FileManager.default.createDirectory(at: playground, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try Data().write(to: folder.appending(path: "Package.swift"))
    let file = playground.appending(path: "lessons.txt")
    try Data("= Milk\nprotocol event-queue\n-- Nothing happens.\n! the server has Milk\n".utf8)
      .write(to: file)
    let run = CommandRun("lesson 1 --package-path \(folder.path)")
    #expect(run.code == .failure)
    #expect(run.output.joined().contains("✕ the server has Milk, but: nothing"))
    try Data("= Milk\nprotocol milk\n".utf8).write(to: file)
    let bad = CommandRun("lesson 1 --package-path \(folder.path)")
    #expect(bad.code == .usage)
    #expect(bad.errors.first?.contains("lessons.txt: line 2: ") == true)
    try FileManager.default.removeItem(at: file)
    #expect(CommandRun("lesson --package-path \(folder.path)").code == .usage)
  }

  @Test(arguments: ["lesson 0", "lesson 99", "lesson x", "lesson 1 2", "lesson --output x.html"])
  func `bad usage says what to type`(typed: String) {
    let run = CommandRun("\(typed) \(LessonCommandTests.here)")
    #expect(run.code == .usage)
    #expect(run.errors.last == "Type: swift run -c release simulate lesson --help")
  }
}
