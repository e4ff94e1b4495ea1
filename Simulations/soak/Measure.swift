import CAllocations
import EtcdSync
import Foundation
import SQLiteStore
import SyncProtocols
import Synchronization
import UpdateMachine

/// Measures the library against a real cluster in which nothing goes wrong, beside what the same
/// takes without the library. Prints rows of the tables in the documentation.
struct Measure {
  typealias Model = EtcdModel<Step>
  typealias Machine = UpdateMachine<EtcdSource<Model>>

  private let cluster: Cluster
  private let processes: Processes

  init(_ members: Int, _ processes: Processes) {
    self.processes = processes
    cluster = Cluster(of: members, processes)
  }

  /// Returns the exit code.
  func run() async -> Int32 {
    do {
      try processes.makeFolder()
      try cluster.start()
      print("| what, members: \(cluster.members.count) | result | beside it |")
      print("| --- | --- | --- |")
      try await measureChanges()
      try await measureDelay()
      try await measureMemory()
      return 0
    } catch {
      Soak.say("\(error)")
      return 1
    }
  }

  private func tell(_ what: String, _ result: String, beside other: String) {
    print("| \(what) | \(result) | \(other) |")
  }

  // MARK: Machines

  /// Runs `body` with a machine whose state is in a file, and which is up to date.
  private func withMachine<Value: Sendable>(
    _ number: Int, hasStore: Bool = true, prefix: String = Step.prefix,
    _ body: @Sendable (Machine) async throws -> Value
  ) async throws -> Value {
    let connection = try EtcdConnection(to: cluster.addresses)
    let source = try EtcdSource(connection, prefix: prefix, for: Model.self)
    let path = processes.folder.appending(path: "measured-\(number)-\(UUID().uuidString).db").path
    let file = hasStore ? try await SQLiteFile.open(at: path) : nil
    let machine =
      file.map { Machine(source: source, store: $0.store(named: "view")) }
      ?? Machine(source: source)
    async let following: Void = machine.run()
    for await state in await machine.states() where state.freshness.claim == .connected { break }
    let value = try await body(machine)
    await machine.stop()
    await following
    await file?.close()
    return value
  }

  private static func sleep(_ milliseconds: Int64) async throws {
    let clock = SystemClock()
    try await clock.sleep(until: clock.now + .milliseconds(milliseconds))
  }

  // MARK: Changes

  private static let changeCount = 2000

  private func measureChanges() async throws {
    var start = Uptime.milliseconds
    for number in 1...500 {
      _ = try cluster.ask(
        "/v3/kv/put", ["key": .base64("bare"), "value": .base64("\(number)")])
    }
    let bare = "\(Measure.rate(500, since: start)) a second, one put after the other by a socket"
    for clients in [1, 8] {
      for shares in [false, true] where clients > 1 || !shares {
        start = Uptime.milliseconds
        let count = Measure.changeCount / clients
        try await withThrowingTaskGroup(of: Void.self) { group in
          for client in 0..<clients {
            group.addTask {
              try await self.withMachine(client) { machine in
                try await Measure.change(machine, client, count, sharesShelf: shares)
              }
            }
          }
          try await group.waitForAll()
        }
        let who = shares ? "eight clients, all of one key" : "eight clients, of different keys"
        tell(
          "changes through \(clients == 1 ? "one client" : who)",
          "\(Measure.rate(clients * count, since: start)) a second", beside: bare)
      }
    }
  }

  /// Makes changes as fast as the outbox takes them, and waits until the last is confirmed.
  private static func change(
    _ machine: Machine, _ client: Int, _ count: Int, sharesShelf shares: Bool
  ) async throws {
    var last: MutationTicket?
    for number in 1...count {
      let mark = Step.Mark(client: client, number: number)
      let step = Step.add(mark, shelf: shares ? 1000 : 100 + client)
      while true {
        do throws(MutationError<ChangeRefusal>) {
          last = try await machine.mutate(step).ticket
          break
        } catch {
          guard error == .full else { throw Silence(description: "\(error)") }
          try await sleep(5)
        }
      }
    }
    guard let last, await machine.acknowledged(last) == .acknowledged else {
      throw Silence(description: "a change is not confirmed")
    }
  }

  private static func rate(_ count: Int, since start: Int64) -> Int64 {
    Int64(count) * 1000 / max(1, Uptime.milliseconds - start)
  }

  // MARK: The delay

  /// From before a put is sent until an observer has it.
  private func measureDelay() async throws {
    let arrivals = Arrivals()
    let bare = try watch(arrivals)
    for hasStore in [false, true] {
      let delays = try await withMachine(100, hasStore: hasStore, prefix: "delay/") { machine in
        async let watching: Void = Measure.observe(machine, arrivals)
        try await Measure.sleep(500)
        for number in 1...40 {
          let id = (hasStore ? 1000 : 0) + number
          arrivals.begin(id)
          _ = try self.cluster.ask(
            "/v3/kv/put", ["key": .base64("delay/key"), "value": .base64("\(id)")])
          // Slower than the pace that a client keeps, so nothing waits for that.
          try await Measure.sleep(450)
        }
        await machine.stop()
        await watching
        return arrivals.delays
      }
      let client = delays.filter { $0.isClient }.map(\.microseconds)
      let plain = delays.filter { !$0.isClient }.map(\.microseconds)
      tell(
        "from a put to another client's observer, \(hasStore ? "with a file" : "without a store")",
        Measure.spread(client), beside: "\(Measure.spread(plain)) to a bare watch")
      arrivals.clear()
    }
    bare.raise()
  }

  private static func observe(_ machine: Machine, _ arrivals: Arrivals) async {
    for await state in await machine.states() {
      if let id = state.model?.entries["key"]?.text.flatMap({ Int($0) }) {
        arrivals.arrived(id, atClient: true)
      }
      if case .halted = state.freshness.claim { return }
    }
  }

  /// Reads the same events by a socket, on a thread, until the flag is raised.
  private func watch(_ arrivals: Arrivals) throws -> Flag {
    let flag = Flag()
    let port = cluster.members[0].port
    Thread.detachNewThread {
      let request: JSONValue = ["create_request": ["key": .base64("delay/key")]]
      guard
        let socket = try? MemberSocket("/v3/watch", request, port: port, within: 60)
      else { return }
      while !flag.isRaised, let line = (try? socket.line()) ?? nil {
        guard let message = try? JSONValue(parsing: line) else { continue }
        for event in message["result"]?["events"]?.array ?? [] {
          let value = event["kv"]?.bytes("value") ?? []
          if let id = Int(String(decoding: value, as: UTF8.self)) {
            arrivals.arrived(id, atClient: false)
          }
        }
      }
    }
    return flag
  }

  /// "1.2 ms (95 %: 3.4 ms)".
  private static func spread(_ microseconds: [Int64]) -> String {
    guard !microseconds.isEmpty else { return "none" }
    let sorted = microseconds.sorted()
    func words(_ share: Int) -> String {
      let value = sorted[min(sorted.count - 1, sorted.count * share / 100)]
      return String(format: "%.1f ms", Double(value) / 1000)
    }
    return "\(words(50)) (95 %: \(words(95)))"
  }

  // MARK: Memory

  private static let keyCount = 10_000

  private func measureMemory() async throws {
    for first in stride(from: 0, to: Measure.keyCount, by: 100) {
      let puts: [JSONValue] = (first..<first + 100).map { number in
        let value = String(repeating: "x", count: 100)
        return ["request_put": ["key": .base64("many/\(number)"), "value": .base64(value)]]
      }
      _ = try cluster.ask("/v3/kv/txn", ["success": .array(puts)])
    }
    let before = allocated_bytes()
    guard before >= 0 else {
      return tell("memory", "not told on this system", beside: "")
    }
    let empty = try await withMachine(200, hasStore: false, prefix: "none/") { _ in
      allocated_bytes() - before
    }
    let start = allocated_bytes()
    let full = try await withMachine(201, hasStore: false, prefix: "many/") { machine in
      try await Measure.sleep(1000)
      return allocated_bytes() - start
    }
    var plain: [[UInt8]: [UInt8]] = [:]
    let plainStart = allocated_bytes()
    for number in 0..<Measure.keyCount {
      plain[Array("\(number)".utf8)] = [UInt8](repeating: 0x78, count: 100)
    }
    let plainBytes = allocated_bytes() - plainStart
    tell(
      "memory of a client with \(Measure.keyCount) keys of 100 bytes; with none",
      "\(full / 1000) KB; \(empty / 1000) KB",
      beside: "\(plainBytes / 1000) KB for \(plain.count) in a `Dictionary`")
  }
}

/// When values were sent, and when each observer had them.
private final class Arrivals: Sendable {
  struct Delay {
    var isClient: Bool
    var microseconds: Int64
  }

  private struct State {
    var begun: (id: Int, at: UInt64)?
    var isSeen = [false, false]
    var delays: [Delay] = []
  }

  private let state = Mutex(State())

  var delays: [Delay] { state.withLock { $0.delays } }
  func clear() { state.withLock { $0 = State() } }

  func begin(_ id: Int) {
    state.withLock {
      $0.begun = (id: id, at: DispatchTime.now().uptimeNanoseconds)
      $0.isSeen = [false, false]
    }
  }

  /// An observer has a value; only the first time counts.
  func arrived(_ id: Int, atClient isClient: Bool) {
    let now = DispatchTime.now().uptimeNanoseconds
    state.withLock { state in
      guard let begun = state.begun, begun.id == id, !state.isSeen[isClient ? 1 : 0] else { return }
      state.isSeen[isClient ? 1 : 0] = true
      state.delays.append(
        Delay(isClient: isClient, microseconds: Int64((now - begun.at) / 1000)))
    }
  }
}
