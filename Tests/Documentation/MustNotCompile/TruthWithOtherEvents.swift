// error: instance method 'source(for:)' requires the types 'String' and 'Int' be equivalent
// note: where 'Truth.Event' = 'String', 'Model.Event' = 'Int'

import SyncProtocols
import UpdateMachine

struct Counter: ServerTruth, CustomStringConvertible {
  var count = 0
  var snapshot: Int { count }
  var description: String { "\(count)" }
  mutating func apply(_ event: String) { count += event.count }
}

struct CounterModel: SyncModel {
  typealias Refusal = Never
  var count: Int
  init(snapshot: Int) { count = snapshot }
  mutating func apply(_ event: Int) { count += event }
}

func source(of server: LocalEventQueue<Counter>) -> any SyncSource {
  server.source(for: CounterModel.self)
}
