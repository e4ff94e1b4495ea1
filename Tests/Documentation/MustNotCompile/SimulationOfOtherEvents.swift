// error: type 'CounterApp' does not conform to protocol 'AgreeingApp'
// error: 'AgreeingApp' requires the types 'Int' and 'String' be equivalent
// note: requirement specified as 'Self.Model.Event' == 'Self.Truth.Event'

import Simulator
import SyncProtocols
import UpdateMachine

struct Counter: ServerTruth, CustomStringConvertible {
  var count = 0
  var snapshot: Int { count }
  var description: String { "\(count)" }
  mutating func apply(_ event: String) { count += event.count }
}

struct CounterModel: SyncModel, CustomStringConvertible {
  typealias Refusal = Never
  var count: Int
  var description: String { "\(count)" }
  init(snapshot: Int) { count = snapshot }
  mutating func apply(_ event: Int) { count += event }
}

enum CounterApp: SimulatedApp {
  typealias Model = CounterModel
  static func beginning(_ choices: inout Choices) -> Counter { Counter() }
  static func nextEvent(_ truth: Counter, _ choices: inout Choices) -> String { "x" }
}
