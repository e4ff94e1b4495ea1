// error: type 'Source' does not conform to protocol 'SyncSource'
// note: protocol requires function 'page'

import MessageSync
import SyncProtocols
import UpdateMachine

struct Chat: SyncModel {
  typealias Refusal = Never
  var lists: MessageStore<MessageFilter<String>>
  init(snapshot: [ChannelID]) { lists = MessageStore(following: snapshot) }
  mutating func apply(_ event: Int) {}
}

struct Source: SyncSource {
  typealias Model = Chat
  typealias Sync = EventQueue<Int>

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<[ChannelID], QueueFinger> {
    throw .unreachable
  }

  func poll(
    after finger: QueueFinger, waits: Bool
  ) async throws(SyncFailure) -> QueueBatch<Int> { throw .unreachable }

  func release(_ log: QueueID) async {}
}
