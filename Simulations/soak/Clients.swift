import Foundation
import Synchronization
import UpdateMachine

/// The processes of all clients. Each is killed at random moments and started again, until all are
/// told to finish.
final class Clients: Sendable {
  private let addresses: [String]
  private let processes: Processes
  private let ledger: Ledger
  /// All threads draw from it.
  private let chance: Mutex<SplitMix>
  private let state: Mutex<State>

  private struct State {
    var isFinishing = false
    /// The present process of each client.
    var running: [Running?]
    /// Whether they are stopped, and nobody is to be killed or started.
    var isFrozen = false
    /// Whether every second client is not started again.
    var isHalfAway = false
  }

  /// A process, and the way to tell it something. Only its number and its input are used by others
  /// than its own thread.
  private struct Running: @unchecked Sendable {
    var process: Process
    var input: FileHandle
  }

  init(
    _ count: Int, of addresses: [String], _ processes: Processes, _ ledger: Ledger, seed: UInt64
  ) {
    self.addresses = addresses
    self.processes = processes
    self.ledger = ledger
    chance = Mutex(SplitMix(seed))
    state = Mutex(State(running: Array(repeating: nil, count: count)))
  }

  private func draw(_ bound: Int) -> Int { chance.withLock { $0.below(bound) } }

  func start() {
    let count = state.withLock { $0.running.count }
    for client in 0..<count { Thread.detachNewThread { self.keep(client) } }
  }

  /// The numbers of the processes of all clients that live.
  var living: [Int: Int32] {
    state.withLock { state in
      var living: [Int: Int32] = [:]
      for case (let client, let running?) in state.running.enumerated()
      where running.process.isRunning {
        living[client] = running.process.processIdentifier
      }
      return living
    }
  }

  /// Runs one process of a client after the other, until the run is over. One that was killed just
  /// before all had to finish has a successor, which finishes.
  private func keep(_ client: Int) {
    while true {
      do {
        try live(client)
      } catch {
        guard !state.withLock({ $0.isFinishing }) else { return }
        ledger.note { $0.wrong.append("client \(client) cannot be started: \(error)") }
        return
      }
    }
  }

  /// Runs one process, and kills it one to six seconds later.
  private func live(_ client: Int) throws {
    while state.withLock({ $0.isFrozen || $0.isHalfAway && client % 2 == 0 }) { Uptime.wait(20) }
    let process = Process()
    let (input, output) = (Pipe(), Pipe())
    let first = draw(addresses.count)
    process.executableURL = Bundle.main.executableURL
    process.arguments =
      Child.Orders(
        file: processes.folder.appending(path: "client-\(client).db").path, client: client,
        seed: UInt64(draw(1 << 30)), first: ledger.next(of: client),
        addresses: Array(addresses[first...] + addresses[..<first])
      ).words
    process.standardInput = input
    process.standardOutput = output
    try processes.start(process)
    let running = Running(process: process, input: input.fileHandleForWriting)
    state.withLock { state in
      state.running[client] = running
      if state.isFinishing { Clients.finish(running) }
      if state.isFrozen { kill(process.processIdentifier, SIGSTOP) }
      if state.isHalfAway, client % 2 == 0 { kill(process.processIdentifier, SIGKILL) }
    }
    let life = 1000 + draw(5000)
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(life)) {
      self.end(client, running)
    }
    read(output.fileHandleForReading, from: client)
    process.waitUntilExit()
    state.withLock { $0.running[client] = nil }
    guard process.terminationReason == .uncaughtSignal, process.terminationStatus == SIGKILL else {
      let status = process.terminationStatus
      ledger.note { $0.wrong.append("client \(client) ended by itself, with \(status)") }
      throw Silence(description: "it ended by itself")
    }
  }

  /// Takes what a client tells, until its process is gone.
  private func read(_ output: FileHandle, from client: Int) {
    var unread: [UInt8] = []
    while true {
      let data = output.availableData
      guard !data.isEmpty else { return }
      unread += data
      while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: unread[..<end], as: UTF8.self)
        unread.removeFirst(end + 1)
        if let report = Report(line: line) { ledger.take(report, from: client) }
      }
    }
  }

  private func end(_ client: Int, _ running: Running) {
    let isKilled = state.withLock { state in
      guard !state.isFinishing, running.process.isRunning else { return false }
      kill(running.process.processIdentifier, SIGKILL)
      return true
    }
    if isKilled { ledger.note { $0.clientKills += 1 } }
  }

  /// Fails if the process was killed a moment ago. Its successor is told, too.
  private static func finish(_ running: Running) {
    try? running.input.write(contentsOf: Data("finish\n".utf8))
  }

  /// Tells all to make no more changes, and to become level. Nobody is killed any more.
  func finish() {
    state.withLock { state in
      state.isFinishing = true
      for case let running? in state.running { Clients.finish(running) }
    }
  }

  /// Stops all, for as long as `body` takes.
  func frozen(_ body: () throws -> Void) rethrows {
    signalAll(SIGSTOP, isFrozen: true)
    defer { signalAll(SIGCONT, isFrozen: false) }
    try body()
  }

  /// Kills every second client, the first too, and starts it again only when `body` has returned.
  func withHalfAway(_ body: () throws -> Void) rethrows {
    let killed = state.withLock { state in
      state.isHalfAway = true
      return state.running.indices.filter { $0 % 2 == 0 }.compactMap { state.running[$0] }
    }
    for running in killed where running.process.isRunning {
      kill(running.process.processIdentifier, SIGKILL)
      ledger.note { $0.clientKills += 1 }
    }
    defer { state.withLock { $0.isHalfAway = false } }
    try body()
  }

  private func signalAll(_ number: Int32, isFrozen: Bool) {
    state.withLock { state in
      state.isFrozen = isFrozen
      for case let running? in state.running where running.process.isRunning {
        kill(running.process.processIdentifier, number)
      }
    }
  }
}
