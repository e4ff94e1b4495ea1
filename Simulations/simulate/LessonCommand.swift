import Foundation
import Simulator

extension Simulate {
  static let lessonCommand = Command(
    name: "lesson",
    summary: "read the lessons of the playground without playing them",
    help: """
      Usage: simulate lesson
             simulate lesson NUMBER|all [--output FILE] [--package-path FOLDER]

      Without a number, it lists the lessons. With one, it prints that lesson as a strip: each scene,
      what every client shows then, and the question before the next scene. The real clients and
      servers play it.

        --output FILE          write a page (.html) with a diagram for each scene, which works from
                               disk and can be printed
        --package-path FOLDER  the package, or a folder in it (the working directory)

      Exit codes:
        0    everything is to be seen as the lesson says
        1    something is not
        2    bad usage, or a file cannot be read or written
      """,
    run: { words, console in
      let arguments = try Arguments(
        words, options: ["--output", "--package-path"], takesFiles: true)
      let lessons = try lessons(of: arguments)
      guard let wanted = arguments.files.first else {
        guard arguments.values["--output"] == nil else {
          throw UsageError(message: "--output needs a lesson: a number, or all")
        }
        for (index, lesson) in lessons.enumerated() {
          console.out("\(Trace.padded("\(index + 1)", before: 2))  \(lesson.title)")
          console.out("    \(lesson.complaint)")
        }
        return .success
      }
      if let output = arguments.values["--output"] {
        guard output.hasSuffix(".html") else {
          throw UsageError(message: "a page is written. Let the name \(output) end in .html")
        }
        try PictureOptions.requireFolder(of: output)
      }
      let strips: [(number: Int, strip: LessonStrip)]
      if wanted == "all", arguments.files.count == 1 {
        strips = lessons.enumerated().map { ($0 + 1, LessonStrip($1)) }
      } else if let number = Int(wanted), lessons.indices.contains(number - 1),
        arguments.files.count == 1
      {
        strips = [(number, LessonStrip(lessons[number - 1]))]
      } else {
        throw UsageError(
          message: "there are the lessons 1 to \(lessons.count). Give it one number, or all")
      }
      if let output = arguments.values["--output"] {
        try PictureOptions.write(LessonStrip.page(strips), to: output)
        console.out("Wrote \(output): \(strips.count) lesson\(strips.count == 1 ? "" : "s").")
      } else {
        console.out(strips.map(\.strip.text).joined(separator: "\n"))
      }
      let isSeen = strips.allSatisfy { one in
        one.strip.frames.allSatisfy { $0.sights.allSatisfy { $0.instead == nil } }
      }
      return isSeen ? .success : .failure
    })

  private static func lessons(of arguments: Arguments) throws -> [PlaygroundLesson] {
    let here = URL(
      filePath: FileManager.default.currentDirectoryPath, directoryHint: .isDirectory)
    let folder = arguments.values["--package-path"].map { URL(filePath: $0, relativeTo: here) }
    let root = try ScratchPackage.root(from: folder ?? here)
    return try lessons(in: root)
  }

  /// The lessons of a package.
  static func lessons(in root: URL) throws(FileError) -> [PlaygroundLesson] {
    let file = root.appending(path: "Simulations/Playground/lessons.txt").path
    guard let data = FileManager.default.contents(atPath: file),
      let text = String(data: data, encoding: .utf8)
    else { throw FileError(message: "\(file): cannot be read as text. Does it exist?") }
    do throws(PlaygroundLesson.Mistake) {
      return try PlaygroundLesson.lessons(in: text)
    } catch {
      throw FileError(message: "\(file): \(error)")
    }
  }
}
