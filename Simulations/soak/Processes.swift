import Foundation
import Synchronization

/// All processes that a run has started, and its folder. Whatever happens, both are gone in the
/// end.
final class Processes: @unchecked Sendable {
  let folder: URL
  private let lock = NSLock()
  private var all: [Process] = []
  private var isOver = false

  init() {
    folder = FileManager.default.temporaryDirectory.appending(path: "soak-\(UUID().uuidString)")
  }

  func makeFolder() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  /// Starts a process that is ready to run. Throws if everything ends.
  func start(_ process: Process) throws {
    try lock.withLock {
      guard !isOver else { throw Silence(description: "the run is over") }
      all.removeAll { !$0.isRunning }
      try process.run()
      all.append(process)
    }
  }

  /// Ends everything at once, and starts nothing more.
  func endAll(andRemovesFolder removes: Bool = true) {
    let running = lock.withLock {
      isOver = true
      return all.filter(\.isRunning)
    }
    for process in running { kill(process.processIdentifier, SIGKILL) }
    for process in running { process.waitUntilExit() }
    if removes { try? FileManager.default.removeItem(at: folder) }
  }
}

/// The processes of the present run.
final class PresentProcesses: Sendable {
  private let present = Mutex(Processes())

  /// Ends those of the last run, and begins with none.
  func renewed() -> Processes {
    present.withLock { present in
      present.endAll()
      present = Processes()
      return present
    }
  }

  func endAll() { present.withLock { $0.endAll() } }
}

/// Time that all processes of this computer share.
enum Uptime {
  /// Milliseconds since the computer was started.
  static var milliseconds: Int64 { Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000) }

  static func wait(_ milliseconds: Int) {
    Thread.sleep(forTimeInterval: Double(milliseconds) / 1000)
  }
}
