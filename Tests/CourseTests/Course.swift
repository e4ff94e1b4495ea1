import Foundation

/// The articles of the course.
enum Course {
  static func text() throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let catalog = root.appending(path: "Sources/Simulator/Simulator.docc")
    return try ["BuildATodoApp", "BuildATodoAppWindows", "BuildATodoAppSimulation"]
      .map { try String(contentsOf: catalog.appending(path: "\($0).md"), encoding: .utf8) }.joined()
  }
}
