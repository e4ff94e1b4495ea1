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
struct CounterModel: SyncModel, Codable, Equatable {
  typealias Refusal = Never
  var count: Int
  init(snapshot: Int) { count = snapshot }
  mutating func apply(_ event: Int) { count += event }
}

/// Saved as one small row of JSON.
extension CounterModel: StorableModel {}

typealias CounterMachine = UpdateMachine<LocalEventQueueSource<Counter, CounterModel>>

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

/// Waits until the machine holds this count, and shows what the user sees then.
func show(_ count: Int, of machine: CounterMachine) async {
  for await state in await machine.states() where state.model?.count == count {
    print(count, banner(state.freshness))
    return
  }
}

@main struct Program {
  static func main() async {
    let server = LocalEventQueue(truth: Counter(count: 40))
    let store = MemoryStore()

    // The first start.
    let first = CounterMachine(source: server.source(for: CounterModel.self), store: store)
    async let following: Void = first.run()
    await show(40, of: first)
    await server.commit(2)
    await show(42, of: first)
    await first.stop()
    await following

    // The app is gone. The server is not.
    await server.commit(5)

    // The second start, in the background at first.
    let second = CounterMachine(source: server.source(for: CounterModel.self), store: store)
    async let followingAgain: Void = second.run(inForeground: false)
    await show(42, of: second)
    await second.enterForeground()
    await show(47, of: second)
    await second.stop()
    await followingAgain
  }
}
