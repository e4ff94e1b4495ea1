import Foundation
package import SyncProtocols
package import UpdateMachine

/// The driver's source for a realm's state on a Zulip server, without messages.
///
///     let machine = UpdateMachine(source: ZulipSource(connection), store: store)
///
/// The machine sets the deadlines, and cancels requests that take too long. The deadlines here are
/// so long that they never come first.
package struct ZulipSource: SyncSource {
  package typealias Model = ZulipState
  package typealias Sync = EventQueue<ZulipEvent>

  package let connection: ZulipConnection
  /// The parameters of a register. A ``ZulipState`` stays up to date only with all event types.
  package let parameters: ZulipRegister

  /// The queue of the last register or poll.
  let queue = AskedQueue()

  /// The longest time that the machine lets a request run, with a margin.
  static let ceiling: TimeSpan = .minutes(11)

  package init(_ connection: ZulipConnection, _ parameters: ZulipRegister = ZulipRegister()) {
    self.connection = connection
    self.parameters = parameters
  }

  package func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<ZulipSnapshot, QueueFinger> {
    do throws(ZulipFailure) {
      let registered = try await connection.register(parameters, within: ZulipSource.ceiling)
      queue.note(registered.finger.queue)
      return registered
    } catch {
      throw error.failure
    }
  }

  package func poll(
    after finger: QueueFinger, waits: Bool
  ) async throws(SyncFailure) -> QueueBatch<ZulipEvent> {
    queue.note(finger.queue)
    do throws(ZulipFailure) {
      return try await connection.events(
        after: finger, waits: waits, within: ZulipSource.ceiling)
    } catch {
      throw error.failure
    }
  }

  /// Releases a queue. A failure is ignored: the server forgets a queue without polls.
  package func release(_ queue: QueueID) async { try? await connection.release(queue) }
}

/// The queue that a source's machine follows. A message that is sent names it, so that the
/// message's event there identifies the message. May briefly name an expired queue. Then no echo
/// comes, and the next snapshot has the message.
final class AskedQueue: @unchecked Sendable {
  private let lock = NSLock()
  private var queue: QueueID?

  var current: QueueID? { lock.withLock { queue } }

  func note(_ queue: QueueID) { lock.withLock { self.queue = queue } }
}
