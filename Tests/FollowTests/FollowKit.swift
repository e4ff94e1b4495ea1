import Foundation
import LoopbackServer
import Testing

/// A user who types `follow`.
struct User {
  static let key = "aKeyThatNobodyMaySee01234567890"
  let folder: URL
  let site: String

  var file: String { folder.appendingPathComponent("state.db").path }

  init(_ server: LoopbackServer) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("follow-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    site = server.address
  }

  func clear() { try? FileManager.default.removeItem(at: folder) }

  /// Runs a test with a new folder, which is removed afterwards.
  static func on(
    _ realm: FakeRealm, _ body: (User, LoopbackServer) async throws -> Void
  ) async throws {
    try await LoopbackServer.serving {
      await realm.answer($0)
    } while: { server in
      let user = try User(server)
      defer { user.clear() }
      try await body(user, server)
    }
  }

  func begin(_ words: String..., output: FileHandle? = nil) throws -> Running {
    try begin(["--state", file] + words, as: "ada@example.org", output: output)
  }

  private func begin(
    _ words: [String], as email: String, output: FileHandle?, _ environment: [String: String] = [:]
  ) throws -> Running {
    let process = Process()
    process.executableURL = User.program
    process.arguments = ["--site", site, "--email", email] + words
    process.environment = ["ZULIP_API_KEY": User.key, "HOME": folder.path, "TZ": "UTC"]
      .merging(environment) { $1 }
    return try Running(process, output)
  }

  /// Runs `follow`, and returns once it has ended.
  func follow(_ words: String..., as email: String = "ada@example.org") async throws -> Ended {
    try await follow(words, as: email)
  }

  func follow(_ words: [String], as email: String = "ada@example.org") async throws -> Ended {
    await (try begin(["--state", file] + words, as: email, output: nil)).end()
  }

  /// Runs `follow --once` with its file where it is by default, and returns once it has ended.
  func followOnce(in environment: [String: String]) async throws -> Ended {
    await (try begin(["--once"], as: "ada@example.org", output: nil, environment)).end()
  }

  /// The program, which is built next to the tests.
  private static var program: URL {
    let tests = URL(fileURLWithPath: CommandLine.arguments[0])
    let places = [tests] + Bundle.allBundles.map(\.bundleURL)
    for place in places {
      let file = place.deletingLastPathComponent().appendingPathComponent("follow")
      if FileManager.default.isExecutableFile(atPath: file.path) { return file }
    }
    preconditionFailure("the program follow is not next to \(tests.path)")
  }
}

/// What `follow` printed, and how it ended.
struct Ended {
  var code: Int32
  var output: String
  var errors: String

  var all: String { output + errors }
  var lines: [String] { output.split(separator: "\n").map(String.init) }
}

/// A running `follow`.
final class Running: @unchecked Sendable {
  let process: Process
  private let lock = NSLock()
  private var output = Data()
  private var errors = Data()
  /// What may still come: output, errors, and the end of the process.
  private var isOutputOpen = true
  private var areErrorsOpen = true
  private var hasEnded = false
  private var waiting: [AsyncStream<Void>.Continuation] = []

  /// - Parameter file: where the output goes; `nil` means to the test.
  init(_ process: Process, _ file: FileHandle?) throws {
    self.process = process
    let (out, err) = (Pipe(), Pipe())
    process.standardOutput = file ?? out
    process.standardError = err
    process.standardInput = FileHandle.nullDevice
    process.terminationHandler = { [self] _ in change { $0.hasEnded = true } }
    isOutputOpen = file == nil
    try process.run()
    // These are threads, because a readability handler may be called once more after its file is
    // gone.
    if isOutputOpen {
      Thread.detachNewThread { [self] in
        take(out.fileHandleForReading, \.output, \.isOutputOpen)
      }
    }
    Thread.detachNewThread { [self] in take(err.fileHandleForReading, \.errors, \.areErrorsOpen) }
  }

  private func take(
    _ file: FileHandle, _ place: ReferenceWritableKeyPath<Running, Data>,
    _ isOpen: ReferenceWritableKeyPath<Running, Bool>
  ) {
    while true {
      let bytes = file.availableData
      change {
        $0[keyPath: place].append(bytes)
        if bytes.isEmpty { $0[keyPath: isOpen] = false }
      }
      if bytes.isEmpty { return }
    }
  }

  private func change(_ body: (Running) -> Void) {
    lock.withLock {
      body(self)
      for one in waiting { one.finish() }
      waiting = []
    }
  }

  /// Waits until a condition holds, or nothing more can come.
  private func wait(until isSo: (Running) -> Bool) async {
    while true {
      let (stream, continuation) = AsyncStream<Void>.makeStream()
      let isOver = lock.withLock {
        waiting.append(continuation)
        return hasEnded && !isOutputOpen && !areErrorsOpen || isSo(self)
      }
      if isOver || Task.isCancelled { return }
      for await _ in stream {}
    }
  }

  private func text(_ place: KeyPath<Running, Data>) -> String {
    lock.withLock { String(decoding: self[keyPath: place], as: UTF8.self) }
  }

  /// Waits for a line. Records an issue if the process ends without printing it.
  func prints(_ line: String, at place: SourceLocation = #_sourceLocation) async {
    await wait {
      String(decoding: $0.output, as: UTF8.self).split(separator: "\n").contains { $0 == line }
    }
    guard !text(\.output).split(separator: "\n").contains(where: { $0 == line }) else { return }
    Issue.record(
      "'\(line)' was not printed: \(text(\.output)) \(text(\.errors))", sourceLocation: place)
  }

  /// Waits for words on standard error.
  func says(_ words: String, at place: SourceLocation = #_sourceLocation) async {
    await wait { String(decoding: $0.errors, as: UTF8.self).contains(words) }
    guard !text(\.errors).contains(words) else { return }
    Issue.record("'\(words)' is not in standard error: \(text(\.errors))", sourceLocation: place)
  }

  func end() async -> Ended {
    await wait { _ in false }
    return Ended(code: process.terminationStatus, output: text(\.output), errors: text(\.errors))
  }
}
