import Foundation
import LoopbackServer
import Testing

/// As much of a server as a client of one channel sees.
final class FakeRealm: @unchecked Sendable {
  private let lock = NSLock()
  private var messages: [String]
  private var events: [String] = []
  private var queues = 0
  private var released = 0

  init(_ messages: [String]) { self.messages = messages }

  var registers: Int { lock.withLock { queues } }
  var releases: Int { lock.withLock { released } }

  /// Somebody says something.
  func send(_ text: String) {
    lock.withLock {
      messages.append(text)
      let message = FakeRealm.message(messages.count, text)
      events.append(
        #"{"id":\#(events.count),"type":"message","flags":[],"message":\#(message)}"#)
    }
  }

  private static func message(_ id: Int, _ text: String, flags: String = "") -> String {
    """
    {"id":\(id),"sender_id":8,"type":"stream","stream_id":4,"subject":"lunch","content":"\(text)",\
    "display_recipient":"general","content_type":"text/x-markdown","reactions":[]\(flags)}
    """
  }

  func answer(_ request: LoopbackServer.Request) async -> LoopbackServer.Response {
    switch (request.method, request.path) {
    case ("POST", "/api/v1/register"): return register()
    case ("DELETE", "/api/v1/events"):
      lock.withLock { released += 1 }
      return FakeRealm.success("")
    case ("GET", "/api/v1/messages"): return page(request)
    case ("GET", "/api/v1/events"): return await poll(request)
    default: return .init(status: 404)
    }
  }

  private static func success(_ fields: String) -> LoopbackServer.Response {
    .json(#"{"result":"success","msg":""\#(fields.isEmpty ? "" : ",")\#(fields)}"#)
  }

  private func register() -> LoopbackServer.Response {
    let (queue, last) = lock.withLock {
      queues += 1
      return (queues, events.count - 1)
    }
    return FakeRealm.success(
      """
      "queue_id":"q\(queue)","last_event_id":\(last),"zulip_feature_level":323,"user_id":7,\
      "realm_users":[{"user_id":8,"full_name":"Bo","email":"bo@example.org"}],\
      "subscriptions":[{"stream_id":4,"name":"general","is_muted":false}],"streams":[]
      """)
  }

  /// Everything, for a client asks for no more than there is here.
  private func page(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
    let all = lock.withLock { messages }
    let anchor = Int(request.query["anchor"] ?? "") ?? Int.max
    let before = Int(request.query["num_before"] ?? "") ?? 0
    let ids = Array(1...all.count)
    let older = ids.filter { $0 < anchor }
    let newer = ids.filter { $0 >= anchor }
    let shown = older.suffix(before) + newer
    let texts = shown.map { FakeRealm.message($0, all[$0 - 1], flags: #","flags":[]"#) }
    return FakeRealm.success(
      """
      "messages":[\(texts.joined(separator: ","))],"anchor":\(min(anchor, 10_000_000_000_000_000)),\
      "found_anchor":\(ids.contains(anchor)),"found_oldest":\(older.count <= before),\
      "found_newest":true,"history_limited":false
      """)
  }

  private func poll(_ request: LoopbackServer.Request) async -> LoopbackServer.Response {
    let last = Int(request.query["last_event_id"] ?? "") ?? -1
    let waits = request.query["dont_block"] == nil
    while !Task.isCancelled {
      let new = lock.withLock { Array(events.dropFirst(last + 1)) }
      if !new.isEmpty || !waits {
        return FakeRealm.success(#""events":[\#(new.joined(separator: ","))]"#)
      }
      try? await Task.sleep(for: .milliseconds(5))
    }
    return FakeRealm.success(#""events":[]"#)
  }
}

/// Somebody who types `follow`.
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

  func begin(_ words: String...) throws -> Running { try begin(words) }

  private func begin(_ words: [String]) throws -> Running {
    let process = Process()
    process.executableURL = User.program
    process.arguments =
      ["--site", site, "--email", "ada@example.org", "--state", file] + words
    process.environment = ["ZULIP_API_KEY": User.key, "HOME": folder.path]
    return try Running(process)
  }

  /// Returns when it has ended.
  func follow(_ words: String...) async throws -> Ended { await (try begin(words)).end() }

  /// Beside the tests.
  private static var program: URL {
    let tests = URL(fileURLWithPath: CommandLine.arguments[0])
    let places = [tests] + Bundle.allBundles.map(\.bundleURL)
    for place in places {
      let file = place.deletingLastPathComponent().appendingPathComponent("follow")
      if FileManager.default.isExecutableFile(atPath: file.path) { return file }
    }
    preconditionFailure("no follow beside \(tests.path)")
  }
}

/// What it said, and how it ended.
struct Ended {
  var code: Int32
  var output: String
  var errors: String

  var all: String { output + errors }
  var lines: [String] { output.split(separator: "\n").map(String.init) }
}

/// It is running.
final class Running: @unchecked Sendable {
  let process: Process
  private let lock = NSLock()
  private var output = Data()
  private var errors = Data()

  init(_ process: Process) throws {
    self.process = process
    let (out, err) = (Pipe(), Pipe())
    process.standardOutput = out
    process.standardError = err
    process.standardInput = FileHandle.nullDevice
    out.fileHandleForReading.readabilityHandler = { [self] in take($0, \.output) }
    err.fileHandleForReading.readabilityHandler = { [self] in take($0, \.errors) }
    try process.run()
  }

  private func take(_ file: FileHandle, _ place: ReferenceWritableKeyPath<Running, Data>) {
    let bytes = file.availableData
    if bytes.isEmpty {
      file.readabilityHandler = nil
      return
    }
    lock.withLock { self[keyPath: place].append(bytes) }
  }

  private func text(_ place: KeyPath<Running, Data>) -> String {
    lock.withLock { String(decoding: self[keyPath: place], as: UTF8.self) }
  }

  /// Waits for a line; an issue, if it does not come.
  func prints(_ line: String, at place: SourceLocation = #_sourceLocation) async throws {
    for _ in 0..<6000 {
      if text(\.output).split(separator: "\n").contains(where: { $0 == line }) { return }
      if !process.isRunning { break }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record(
      "'\(line)' was not printed: \(text(\.output)) \(text(\.errors))", sourceLocation: place)
  }

  func end() async -> Ended {
    for _ in 0..<6000 where process.isRunning { try? await Task.sleep(for: .milliseconds(10)) }
    if process.isRunning {
      Issue.record("it does not end: \(text(\.output)) \(text(\.errors))")
      process.terminate()
    }
    process.waitUntilExit()
    // What it wrote last may still be on its way.
    try? await Task.sleep(for: .milliseconds(50))
    return Ended(code: process.terminationStatus, output: text(\.output), errors: text(\.errors))
  }
}
