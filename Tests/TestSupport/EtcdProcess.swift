import Foundation
import UpdateMachine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An etcd that is installed does not start.
package struct EtcdDoesNotStart: Error {}

/// Counts up, for all threads.
private final class PortNumbers: @unchecked Sendable {
  private let lock = NSLock()
  private var last = 0

  func next() -> Int {
    lock.withLock {
      last += 1
      return last
    }
  }
}

/// A real etcd on this computer, alone, in a process of its own.
package final class EtcdProcess: @unchecked Sendable {
  /// The program; `nil`: it is not installed, and its tests are not run.
  package static let program: String? = {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return (folders.map(String.init) + ["/usr/bin", "/usr/local/bin"]).map { "\($0)/etcd" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }()

  package static var isThere: Bool { program != nil }

  package let port: UInt16
  private let peerPort: UInt16
  private let extra: [String]
  private var folder: URL
  private var process: Process?

  package var address: String { "http://127.0.0.1:\(port)" }

  private init(_ extra: [String]) {
    port = EtcdProcess.newPort()
    peerPort = EtcdProcess.newPort()
    self.extra = extra
    folder = EtcdProcess.newFolder()
  }

  /// Runs `body` with a member that answers, and ends it afterwards.
  package static func serving(
    _ extra: [String] = [], _ body: (EtcdProcess) async throws -> Void
  ) async throws {
    var etcd = EtcdProcess(extra)
    // Another program may take a port before etcd does.
    for _ in 1...5 {
      if try await etcd.start() { break }
      etcd = EtcdProcess(extra)
    }
    let server = etcd
    defer { server.kill(andWipe: true) }
    guard server.process?.isRunning == true else { throw EtcdDoesNotStart() }
    try await body(server)
  }

  private static func newFolder() -> URL {
    FileManager.default.temporaryDirectory.appending(path: "etcd-\(UUID().uuidString)")
  }

  /// A port that no other test of this process has, between 24,000 and 31,999: a system hands out
  /// only higher ones by itself, and recordings are made at lower ones. If another program listens
  /// there, etcd does not start.
  private static func newPort() -> UInt16 {
    let process = Int(ProcessInfo.processInfo.processIdentifier)
    return UInt16(24_000 + process % 40 * 200 + ports.next() % 200)
  }

  private static let ports = PortNumbers()

  /// - Parameter asks: whether to wait until it answers anybody.
  /// - Returns: whether it goes on.
  @discardableResult
  package func start(asking asks: Bool = true) async throws -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: EtcdProcess.program ?? "etcd")
    let peer = "http://127.0.0.1:\(peerPort)"
    process.arguments =
      [
        "--name", "one", "--data-dir", folder.path, "--listen-client-urls", address,
        "--advertise-client-urls", address, "--listen-peer-urls", peer,
        "--initial-advertise-peer-urls", peer, "--initial-cluster", "one=\(peer)",
        "--logger", "zap", "--log-level", "error",
      ] + extra
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    self.process = process
    guard asks else { return true }
    let clock = SystemClock()
    let end = clock.now + .seconds(30)
    while process.isRunning, clock.now < end {
      if await isWell, process.isRunning { return true }
      try await clock.sleep(until: clock.now + .milliseconds(50))
    }
    kill(andWipe: false)
    return false
  }

  /// Whether it answers, and can write.
  private var isWell: Bool {
    get async {
      guard let url = URL(string: "\(address)/health") else { return false }
      let answer = try? await EtcdProcess.session.data(
        for: URLRequest(url: url, timeoutInterval: 2))
      return answer.map { String(decoding: $0.0, as: UTF8.self).contains("true") } ?? false
    }
  }

  private static let session = URLSession(configuration: .ephemeral)

  /// Ends the process at once.
  package func kill(andWipe wipes: Bool = false) {
    if let process {
      Foundation.kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    process = nil
    guard wipes else { return }
    try? FileManager.default.removeItem(at: folder)
    folder = EtcdProcess.newFolder()
  }

  package func pause() { if let process { Foundation.kill(process.processIdentifier, SIGSTOP) } }
  package func resume() { if let process { Foundation.kill(process.processIdentifier, SIGCONT) } }
}
