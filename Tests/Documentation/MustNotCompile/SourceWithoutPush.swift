// error: type 'Source' does not conform to protocol 'SyncSource'
// note: protocol requires function 'push(_:at:)'

import SyncProtocols
import UpdateMachine

struct Rename: Mutation {
  var name: String
  func apply(to state: inout String) throws(Never) { state = name }
}

struct Title: SyncModel {
  typealias Refusal = Never
  typealias Change = Rename
  var state: String
  var client: ClientID? { ClientID(1) }
  var confirmation: MutationConfirmation { MutationConfirmation(last: MutationID(0)) }
  init(snapshot: String) { state = snapshot }
  mutating func apply(_ event: String) { state = event }
}

struct Source: SyncSource {
  typealias Model = Title
  typealias Sync = EventQueue<String>

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<String, QueueFinger> {
    throw .unreachable
  }

  func poll(
    after finger: QueueFinger, waits: Bool
  ) async throws(SyncFailure) -> QueueBatch<String> { throw .unreachable }

  func release(_ log: QueueID) async {}
}
