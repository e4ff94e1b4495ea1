// error: cannot convert value of type 'Int' to expected argument type 'Never'

import SyncProtocols
import UpdateMachine

struct Counter: ServerTruth, CustomStringConvertible {
  var count: Int
  var snapshot: Int { count }
  var description: String { "\(count)" }
  mutating func apply(_ event: Int) { count += event }
}

struct CounterModel: SyncModel {
  typealias Refusal = Never
  var count: Int
  init(snapshot: Int) { count = snapshot }
  mutating func apply(_ event: Int) { count += event }
}

func add(
  to machine: UpdateMachine<LocalEventQueueSource<Counter, CounterModel>>
) async throws {
  _ = try await machine.mutate(2)
}
