import Foundation
import TestSupport
import Testing

@testable import EtcdSync

extension Recording {
  /// Whether this build asks the installed etcd.
  fileprivate static var isChecked: Bool {
    #if DEBUG
      false
    #else
      true
    #endif
  }
}

/// Asks the etcd that is installed all that was recorded, which takes over a minute. Its answers
/// do not depend on how this is built, so it is asked in release only.
@Suite(
  .enabled(if: EtcdProcess.isThere, "etcd is not installed (Debian: etcd-server)"),
  .enabled(if: Recording.isChecked, "in debug the answers would be the same"),
  .timeLimit(.minutes(5)))
struct RecordingOverHTTPTests {
  /// So the cluster as a value, which answers as was recorded, answers as this etcd does.
  @Test func `the installed etcd answers as was recorded`() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).jsonl")
    // There is none if the script has failed, which is told below.
    defer { try? FileManager.default.removeItem(at: file) }
    let code = try await RecordingOverHTTPTests.record(into: file)
    try #require(code == 0, "record.py ended with exit code \(code)")
    let (old, new) = (try Recording().exchanges, try Recording(at: file).exchanges)
    #expect(new.map(\.name) == old.map(\.name))
    for (old, new) in zip(old, new) {
      #expect(new.status == old.status, "\(new.name)")
      #expect(new.ended == old.ended, "\(new.name)")
      #expect(new.failure?.reason == old.failure?.reason, "\(new.name)")
      guard new.failure == nil, old.failure == nil else { continue }
      #expect(
        try RecordingOverHTTPTests.meaning(of: new) == RecordingOverHTTPTests.meaning(of: old),
        "\(new.name)")
    }
  }

  /// What is known of an answer, if it does not depend on chance.
  static func meaning(of exchange: Recording.Exchange) throws -> ClusterTests.Played.Answer? {
    guard ["/v3/kv/range", "/v3/kv/txn", "/v3/watch"].contains(exchange.path) else { return nil }
    var exchange = exchange
    // How many elections there were, and which lease was drawn.
    for field in ["raft_term", "lease"] {
      exchange.body.replace(try Regex("\"\(field)\":\"[0-9]+\""), with: "\"\(field)\":\"1\"")
    }
    return try ClusterTests.Played.recorded(exchange)
  }

  /// Returns the exit code of the script.
  static func record(into file: URL) async throws -> Int32 {
    let script = Process()
    script.executableURL = URL(filePath: "/usr/bin/env")
    script.arguments = ["python3", Recording.folder.appending(path: "record.py").path, file.path]
    script.standardOutput = FileHandle.nullDevice
    return try await withCheckedThrowingContinuation { continuation in
      script.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
      do {
        try script.run()
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }
}
