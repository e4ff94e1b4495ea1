import MessageSync
import SyncProtocols
import UpdateMachine
import ZulipSync

/// The account's source, which also tells when the server will never give the list: the machine
/// asks on, in case the list is another one tomorrow.
struct ListSource: SyncSource {
  typealias Model = ZulipAccount
  typealias Sync = EventQueue<ZulipEvent>

  let source: ZulipAccountSource
  /// Called with the reason when a part of a list is refused, or comes in a form that cannot be
  /// used.
  let refused: @Sendable (SyncFailure) -> Void

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<ZulipAccount.Snapshot, QueueFinger> {
    try await source.register(as: client)
  }

  func poll(
    after finger: QueueFinger, waits: Bool
  ) async throws(SyncFailure) -> QueueBatch<ZulipEvent> {
    try await source.poll(after: finger, waits: waits)
  }

  func release(_ queue: QueueID) async { await source.release(queue) }

  func push(
    _ push: PushRequest<ZulipChange>, at finger: QueueFinger?
  ) async throws(PushFailure) -> PushAnswer {
    try await source.push(push, at: finger)
  }

  func page(
    _ request: PageRequest<ZulipMessageList, MessageID>
  ) async throws(SyncFailure) -> MessagePage<ZulipContent> {
    do throws(SyncFailure) {
      return try await source.page(request)
    } catch {
      if case .about = request.want, ListSource.isFinal(error) { refused(error) }
      throw error
    }
  }

  /// Whether the same request would fail again.
  private static func isFinal(_ failure: SyncFailure) -> Bool {
    switch failure {
    case .rejected, .malformed, .modelRefused, .unsupported: true
    case .unreachable, .timedOut, .serverFault, .rateLimited, .unauthorized, .expired: false
    }
  }
}
