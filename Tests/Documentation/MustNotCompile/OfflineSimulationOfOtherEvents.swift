// error: type 'NoteApp' does not conform to protocol 'SimulatedOfflineApp'
// error: 'SimulatedOfflineApp' requires the types 'Int' and 'String' be equivalent
// note: requirement specified as 'Self.Model.Event' == 'Self.Truth.Event'

import Simulator
import SyncProtocols
import UpdateMachine

struct Write: Mutation, Equatable, CustomStringConvertible {
  var text: String
  var name: String { "write" }
  var description: String { "write \(text)" }
  func apply(to note: inout String) throws(Never) { note = text }
}

struct NoteModel: SyncModel, CustomStringConvertible {
  typealias Refusal = Never
  typealias Change = Write
  var state: String
  var client: ClientID? { ClientID(1) }
  var confirmation: MutationConfirmation { MutationConfirmation(last: MutationID(0)) }
  var description: String { state }
  init(snapshot: String) { state = snapshot }
  mutating func apply(_ event: Int) { state = "\(event)" }
}

struct NoteTruth: SimulatedTruth {
  var text = ""
  mutating func make(_ change: Write, by client: ClientProgress?) -> String {
    text = change.text
    return text
  }
  func refusal(to client: ClientProgress) -> String { text }
  func snapshot(for client: ClientProgress) -> String { text }
  var description: String { text }
}

enum NoteApp: SimulatedOfflineApp {
  typealias Model = NoteModel
  static func beginning(_ choices: inout Choices) -> NoteTruth { NoteTruth() }
  static func nextChange(_ note: String, _ choices: inout Choices) -> Write? { Write(text: "a") }
  static func objection(_ note: String, _ truth: NoteTruth) -> String? { nil }
}
