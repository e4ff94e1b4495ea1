import Foundation

/// A child process with its output.
struct ChildProcess {
  private let executable: String
  private let arguments: [String]
  private let environment: [String: String]
  private let limit: Duration?

  struct End {
    var output = ""
    var succeeded = false
    /// Its exit code, unless a signal ended it.
    var code: Int32?
    /// Whether it was killed because its time was up.
    var isOverdue = false
    /// Whether there was a process at all.
    var isStarted = true
  }

  /// - Parameter limit: the time after which it is killed; `nil`: never.
  init(
    _ executable: String, _ arguments: [String], environment: [String: String] = [:],
    limit: Duration? = nil
  ) {
    self.executable = executable
    self.arguments = arguments
    self.environment = environment
    self.limit = limit
  }

  /// Runs the process to its end. Reads standard error together with standard output.
  func run() -> End {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    process.standardInput = FileHandle.nullDevice
    do { try process.run() } catch {
      return End(output: "\(executable): \(error)", isStarted: false)
    }
    let id = process.processIdentifier
    let start = ContinuousClock.now
    let watch = DispatchSource.makeTimerSource(queue: .global())
    watch.schedule(deadline: .now() + .milliseconds(100), repeating: .milliseconds(100))
    watch.setEventHandler { [limit] in
      if Interrupt.wasAsked { kill(id, SIGINT) }
      if let limit, ContinuousClock.now - start >= limit { kill(id, SIGKILL) }
    }
    watch.resume()
    defer { watch.cancel() }
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let isSignal = process.terminationReason == .uncaughtSignal
    let isOverdue = isSignal && limit.map { ContinuousClock.now - start >= $0 } == true
    return End(
      output: output, succeeded: !isSignal && process.terminationStatus == 0,
      code: isSignal ? nil : process.terminationStatus, isOverdue: isOverdue)
  }
}
