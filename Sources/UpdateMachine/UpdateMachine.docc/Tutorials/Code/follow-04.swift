import SyncProtocols
import UpdateMachine

/// The server's state: one number, to which events add.
struct Counter: ServerTruth, CustomStringConvertible {
  var count: Int
  var snapshot: Int { count }
  var description: String { "\(count)" }
  mutating func apply(_ event: Int) { count += event }
}

/// What the app holds of it.
struct CounterModel: SyncModel {
  typealias Refusal = Never
  var count: Int
  init(snapshot: Int) { count = snapshot }
  mutating func apply(_ event: Int) { count += event }
}

/// What to tell the user.
func banner(_ freshness: Freshness) -> String {
  switch freshness.claim {
  case .connected: "connected"
  case .connecting: "connecting…"
  case .unreachable: "no connection"
  case .resting: "resting"
  case .unknown, .halted: "not running"
  }
}

@main struct Program {
  static func main() async {
    let server = LocalEventQueue(truth: Counter(count: 40))
    let machine = UpdateMachine(source: server.source(for: CounterModel.self))
    async let following: Void = machine.run()

    var shown = ""
    for await state in await machine.states() {
      guard let count = state.model?.count else { continue }
      let line = "\(count) \(banner(state.freshness))"
      if line == shown { continue }
      shown = line
      print(line)
      if line == "40 connected" { await server.commit(2) }
      if line == "42 connected" {
        await server.loseQueues()
        await server.commit(1)
      }
      if line == "43 connected" { break }
    }
    await machine.stop()
    await following
  }
}
