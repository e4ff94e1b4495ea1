import Foundation
public import SyncProtocols
public import UpdateMachine

/// A Zulip server as the library's driver asks it, for the state of a realm alone.
///
///     let machine = UpdateMachine(source: ZulipSource(connection), store: store)
///
/// The deadlines are the machine's: it cancels what takes too long. Those here are so long that they
/// never come first.
public struct ZulipSource: Source {
  public typealias Model = ZulipState
  public typealias Sync = EventQueue<ZulipEvent>

  public let connection: ZulipConnection
  /// What is asked for. A ``ZulipState`` stays level only if all events come.
  public let parameters: ZulipRegister

  /// The queue that was asked last.
  let queue = AskedQueue()

  /// The longest that the machine lets a request be out, with a margin.
  static let ceiling: TimeSpan = .minutes(11)

  public init(_ connection: ZulipConnection, _ parameters: ZulipRegister = ZulipRegister()) {
    self.connection = connection
    self.parameters = parameters
  }

  public func register() async throws(SyncFailure) -> Registered<ZulipSnapshot, QueueFinger> {
    do throws(ZulipFailure) {
      let registered = try await connection.register(parameters, within: ZulipSource.ceiling)
      queue.note(registered.finger.queue)
      return registered
    } catch {
      throw error.failure
    }
  }

  public func poll(
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

  /// Whether it is heard of or not: the server forgets a queue that nobody asks.
  public func release(_ queue: QueueID) async { try? await connection.release(queue) }
}

/// Which queue a source's machine follows: what is sent names it, so that its event there tells which
/// message it is. Wrong at worst for a moment, and then of a queue that is gone: no echo comes, and the
/// next snapshot has the message.
final class AskedQueue: @unchecked Sendable {
  private let lock = NSLock()
  private var queue: QueueID?

  var current: QueueID? { lock.withLock { queue } }

  func note(_ queue: QueueID) { lock.withLock { self.queue = queue } }
}
