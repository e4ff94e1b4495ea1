import Foundation
import Testing

@testable import ZulipServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A running program, whose output the test reads.
final class Running: @unchecked Sendable {
  let process: Process
  private let lock = NSLock()
  private var texts = [Data(), Data()]
  /// What may still come: output, errors, and the end of the process.
  private var open = 3
  private var waiting: [AsyncStream<Void>.Continuation] = []

  init(
    _ program: URL, _ words: [String], environment: [String: String] = [:], in folder: URL? = nil
  ) throws {
    process = Process()
    process.executableURL = program
    process.arguments = words
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.currentDirectoryURL = folder
    let pipes = [Pipe(), Pipe()]
    process.standardOutput = pipes[0]
    process.standardError = pipes[1]
    process.standardInput = FileHandle.nullDevice
    process.terminationHandler = { [self] _ in change { $0.open -= 1 } }
    try process.run()
    for index in pipes.indices {
      Thread.detachNewThread { [self] in
        while true {
          let bytes = pipes[index].fileHandleForReading.availableData
          change {
            $0.texts[index].append(bytes)
            if bytes.isEmpty { $0.open -= 1 }
          }
          if bytes.isEmpty { return }
        }
      }
    }
  }

  private func change(_ body: (Running) -> Void) {
    lock.withLock {
      body(self)
      for one in waiting { one.finish() }
      waiting = []
    }
  }

  var output: String { lock.withLock { String(decoding: texts[0], as: UTF8.self) } }
  var errors: String { lock.withLock { String(decoding: texts[1], as: UTF8.self) } }

  /// Waits until a condition holds, or nothing more can come.
  private func wait(until isSo: (String, String) -> Bool) async -> Bool {
    while true {
      let (stream, continuation) = AsyncStream<Void>.makeStream()
      let (isOver, isTrue) = lock.withLock { () -> (Bool, Bool) in
        waiting.append(continuation)
        let texts = texts.map { String(decoding: $0, as: UTF8.self) }
        return (open == 0, isSo(texts[0], texts[1]))
      }
      if isOver || isTrue || Task.isCancelled { return isTrue }
      for await _ in stream {}
    }
  }

  /// Waits for words on standard output. Records an issue if they do not come.
  func prints(
    _ words: String, times: Int = 1, at place: SourceLocation = #_sourceLocation
  ) async {
    let isThere = await wait { output, _ in output.components(separatedBy: words).count > times }
    if isThere { return }
    Issue.record("'\(words)' was not printed:\n\(output)\n\(errors)", sourceLocation: place)
  }

  /// Waits for words on standard error.
  func says(_ words: String, at place: SourceLocation = #_sourceLocation) async {
    guard await !wait(until: { $1.contains(words) }) else { return }
    Issue.record("'\(words)' was not said:\n\(output)\n\(errors)", sourceLocation: place)
  }

  /// Waits for the end. Returns the exit code.
  func end() async -> Int32 {
    _ = await wait { _, _ in false }
    process.waitUntilExit()
    return process.terminationStatus
  }

  /// Ends the program by Ctrl-C, and returns its exit code.
  func interrupt() async -> Int32 {
    process.interrupt()
    return await end()
  }
}

/// The programs that are built next to the tests, and the files of the project.
enum Place {
  static func program(_ name: String) -> URL {
    let tests = URL(fileURLWithPath: CommandLine.arguments[0])
    for place in [tests] + Bundle.allBundles.map(\.bundleURL) {
      let file = place.deletingLastPathComponent().appendingPathComponent(name)
      if FileManager.default.isExecutableFile(atPath: file.path) { return file }
    }
    preconditionFailure("the program \(name) is not next to \(tests.path)")
  }

  static let root = URL(fileURLWithPath: #filePath)  // …/Tests/ServeTests/Programs.swift
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  static let bash = URL(fileURLWithPath: "/bin/bash")
}

/// `simulate serve` as a process.
struct Served {
  let running: Running
  let address: String

  /// Starts it on a free port, and returns once it listens.
  init(_ words: [String]) async throws {
    running = try Running(Place.program("simulate"), ["serve", "--port", "0"] + words)
    await running.prints("call_on_each_event(print)\"\n")
    let printed = running.output.split { " \n".contains($0) }
    let address = printed.first { $0.hasPrefix("http://127.0.0.1:") }
    self.address = String(try #require(address).dropLast())
  }

  /// Runs a test with a server, which is then ended.
  static func with(_ words: String..., body: (Served) async throws -> Void) async throws {
    let served = try await Served(words)
    do {
      try await body(served)
    } catch {
      _ = await served.running.interrupt()
      throw error
    }
    #expect(await served.running.interrupt() == 130, "\(served.running.errors)")
    served.checkForSecrets()
  }

  /// No line after the greeting contains a key or a password.
  private func checkForSecrets() {
    let lines = running.output.components(separatedBy: "call_on_each_event(print)\"\n").last ?? ""
    for number in 0..<4 {
      let user = RealmUser(number: number)
      #expect(!lines.contains(user.key) && !lines.contains(user.password))
    }
    #expect(!running.errors.contains("Fatal"))
  }

  /// Asks as a user, counted from 0, or as nobody. Returns status and body.
  func ask(
    _ user: Int?, _ method: String, _ path: String, _ form: String = ""
  ) async throws -> (status: Int, body: String) {
    var request = URLRequest(url: try #require(URL(string: address + path)))
    request.httpMethod = method
    request.timeoutInterval = 30
    if !form.isEmpty {
      request.httpBody = Data(form.utf8)
      request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
    }
    if path.hasPrefix("/control/") { request.setValue("1", forHTTPHeaderField: "X-Serve") }
    if let user {
      let user = RealmUser(number: user)
      let login = Data("\(user.email):\(user.key)".utf8).base64EncodedString()
      request.setValue("Basic \(login)", forHTTPHeaderField: "Authorization")
    }
    let session = URLSession(configuration: .ephemeral)
    defer { session.finishTasksAndInvalidate() }
    let (data, answer) = try await session.data(for: request)
    let status = (answer as? HTTPURLResponse)?.statusCode ?? 0
    return (status, String(decoding: data, as: UTF8.self))
  }

  func send(_ text: String) async throws {
    let answer = try await ask(
      1, "POST", "/api/v1/messages", "type=stream&to=general&topic=t&content=\(text)")
    #expect(answer.status == 200, "\(answer.body)")
  }
}
