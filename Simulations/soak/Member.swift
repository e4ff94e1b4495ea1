import Foundation
import SyncProtocols

/// One real etcd, in a process of its own.
final class Member: @unchecked Sendable {
  /// The program; `nil`: there is none here.
  static let program: String? = {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return (folders.map(String.init) + ["/usr/bin", "/usr/local/bin"]).map { "\($0)/etcd" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }()

  let name: String
  let port: UInt16
  let peerPort: UInt16
  let folder: URL
  private let processes: Processes
  private let lock = NSLock()
  private var process: Process?
  private var paused = false

  init(_ name: String, _ processes: Processes, ports: (UInt16, UInt16)) {
    self.name = name
    self.processes = processes
    (port, peerPort) = ports
    folder = processes.folder.appending(path: "member-\(name)")
  }

  var address: String { "http://127.0.0.1:\(port)" }
  var peerAddress: String { "http://127.0.0.1:\(peerPort)" }

  /// Whether its process is there and goes on.
  var isUp: Bool { lock.withLock { !paused && process?.isRunning ?? false } }

  /// Starts it, with what is in its folder.
  /// - Parameters:
  ///   - cluster: the names and addresses of all members.
  ///   - joins: whether the cluster exists already. Both count only if its folder is empty.
  func start(cluster: String, joins: Bool = false) throws {
    let process = Process()
    guard let program = Member.program else { throw Silence(description: "there is no etcd") }
    process.executableURL = URL(filePath: program)
    process.arguments = [
      "--name", name, "--data-dir", folder.path, "--listen-client-urls", address,
      "--advertise-client-urls", address, "--listen-peer-urls", peerAddress,
      "--initial-advertise-peer-urls", peerAddress, "--initial-cluster", cluster,
      "--initial-cluster-token", "soak", "--initial-cluster-state", joins ? "existing" : "new",
      "--logger", "zap", "--log-level", "error",
    ]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try processes.start(process)
    lock.withLock {
      self.process = process
      paused = false
    }
  }

  /// Kills it, and waits until it is gone.
  func kill() {
    lock.withLock {
      guard let process else { return }
      if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
      process.waitUntilExit()
      self.process = nil
      paused = false
    }
  }

  /// Tells it to end (SIGTERM), as a system does that is updated, and waits until it is gone. After
  /// five seconds it is killed.
  func terminate() {
    lock.withLock { process?.terminate() }
    for _ in 0..<100 where lock.withLock({ process?.isRunning ?? false }) { Uptime.wait(50) }
    kill()
  }

  /// Stops it (SIGSTOP), until it goes on (SIGCONT).
  func pause() { signal(SIGSTOP, isPaused: true) }
  func resume() { signal(SIGCONT, isPaused: false) }

  private func signal(_ number: Int32, isPaused: Bool) {
    lock.withLock {
      guard let process, process.isRunning else { return }
      Foundation.kill(process.processIdentifier, number)
      paused = isPaused
    }
  }

  func ask(
    _ path: String, _ body: JSONValue = [:], within seconds: Int = 2
  ) throws(Silence) -> JSONValue {
    try MemberSocket.ask(path, body, port: port, within: seconds)
  }
}
