import Foundation
import TestSupport
import Testing

/// A user who types `todo`, with a device of its own.
struct User {
  let folder: URL
  let cluster: String

  init(_ etcd: EtcdProcess) throws {
    cluster = etcd.address
    folder = FileManager.default.temporaryDirectory.appending(path: "todo-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  func clear() { try? FileManager.default.removeItem(at: folder) }

  /// Runs a test with two users of one cluster.
  static func two(_ body: (EtcdProcess, User, User) async throws -> Void) async throws {
    try await EtcdProcess.serving { etcd in
      let (one, two) = (try User(etcd), try User(etcd))
      defer {
        one.clear()
        two.clear()
      }
      try await body(etcd, one, two)
    }
  }

  /// Runs `todo`, with these lines typed into it, and returns once it has ended.
  func todo(_ words: String..., wait: Int = 20, typing lines: [String] = []) throws -> Ended {
    let running = try begin(["--wait", "\(wait)"] + words)
    running.type(lines)
    return running.end()
  }

  func begin(_ words: [String]) throws -> Running {
    let process = Process()
    process.executableURL = User.program
    process.arguments = ["--cluster", cluster] + words
    process.environment = ["HOME": folder.path]
    return try Running(process)
  }

  /// The program, which is built next to the tests.
  private static var program: URL {
    let tests = URL(filePath: CommandLine.arguments[0])
    for place in [tests] + Bundle.allBundles.map(\.bundleURL) {
      let file = place.deletingLastPathComponent().appending(path: "todo")
      if FileManager.default.isExecutableFile(atPath: file.path) { return file }
    }
    preconditionFailure("the program todo is not next to \(tests.path)")
  }
}

/// What `todo` printed, and how it ended.
struct Ended {
  var code: Int32
  var output: String
  var errors: String

  var lines: [String] { output.split(separator: "\n").map(String.init) }
}

/// A running `todo`. Both its outputs go to files, so that none can fill up and hold it.
final class Running {
  let process: Process
  private let input = Pipe()
  private let places: [URL]

  init(_ process: Process) throws {
    self.process = process
    places = (0..<2).map { _ in
      FileManager.default.temporaryDirectory.appending(path: "todo-\(UUID().uuidString)")
    }
    for place in places { _ = FileManager.default.createFile(atPath: place.path, contents: nil) }
    process.standardOutput = try FileHandle(forWritingTo: places[0])
    process.standardError = try FileHandle(forWritingTo: places[1])
    process.standardInput = input
    try process.run()
  }

  deinit { for place in places { try? FileManager.default.removeItem(at: place) } }

  /// Types lines, and then nothing more.
  func type(_ lines: [String]) {
    try? input.fileHandleForWriting.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
    try? input.fileHandleForWriting.close()
  }

  var output: String { (try? String(contentsOf: places[0], encoding: .utf8)) ?? "" }
  private var errors: String { (try? String(contentsOf: places[1], encoding: .utf8)) ?? "" }

  func end() -> Ended {
    process.waitUntilExit()
    return Ended(code: process.terminationStatus, output: output, errors: errors)
  }
}
