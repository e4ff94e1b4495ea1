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

@main struct Program {
  static func main() async {
    let server = LocalEventQueue(truth: Counter(count: 40))
    await server.commit(2)
    print(await server.truth)  // 42
  }
}
