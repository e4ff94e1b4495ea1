public import MessageSync
public import SyncProtocols
public import UpdateMachine

/// The driver's source for a whole account on a Zulip server.
///
///     let machine = UpdateMachine(source: ZulipAccountSource(connection), store: store)
///     let views = await machine.openWindow(on: account.list(narrow), showing: .newest(50))
///
/// The machine sets the deadlines, and cancels requests that take too long. The connection's own
/// deadlines never come first.
public struct ZulipAccountSource: SyncSource {
  public typealias Model = ZulipAccount
  public typealias Sync = EventQueue<ZulipEvent>

  package let stateSource: ZulipSource

  package var connection: ZulipConnection { stateSource.connection }

  private var form: ZulipContent.Form { stateSource.parameters.form }

  /// Creates a source that asks over this connection. Nothing is sent before the machine registers.
  public init(_ connection: ZulipConnection, _ parameters: ZulipRegister = ZulipRegister()) {
    stateSource = ZulipSource(connection, parameters)
  }

  public func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<ZulipAccount.Snapshot, QueueFinger> {
    let registered = try await stateSource.register(as: client)
    return Registered(
      snapshot: ZulipAccount.Snapshot(
        registered.snapshot, form, client: ClientID(zulip: registered.finger.queue)),
      finger: registered.finger, terms: registered.terms)
  }

  public func poll(
    after finger: QueueFinger, waits: Bool
  ) async throws(SyncFailure) -> QueueBatch<ZulipEvent> {
    try await stateSource.poll(after: finger, waits: waits)
  }

  public func release(_ queue: QueueID) async { await stateSource.release(queue) }

  public func page(
    _ request: PageRequest<ZulipMessageList, MessageID>
  ) async throws(SyncFailure) -> MessagePage<ZulipContent> {
    let asked = ZulipAccountSource.request(request, form)
    do throws(ZulipFailure) {
      let page = try await connection.messages(asked, within: ZulipSource.ceiling)
      guard let page = page.page(for: asked) else { throw ZulipFailure(.malformed, .broken) }
      guard case .item(let id) = request.want, page.messages.isEmpty, !page.isHistoryLimited else {
        return page
      }
      return try await pageOutsideFeed(id)
    } catch {
      throw error.failure
    }
  }

  /// Asks for a message that a list of the user's messages lacks. It may be in a channel's history
  /// all the same (ZulipServer §10). If the server then refuses, there is no such message, or it is
  /// out of the user's sight.
  private func pageOutsideFeed(
    _ id: MessageID
  ) async throws(ZulipFailure) -> MessagePage<ZulipContent> {
    do throws(ZulipFailure) {
      let message = try await connection.message(id, form: form, within: ZulipSource.ceiling)
      return MessagePage(messages: [message.messageOfChannel])
    } catch {
      guard error.failure == .rejected(.badRequest) else { throw error }
      return MessagePage(messages: [])
    }
  }

  /// Builds the request for a page. A single message is requested as a list that contains only it.
  /// So a missing message is an answer, not a refusal that could mean something else.
  package static func request(
    _ request: PageRequest<ZulipMessageList, MessageID>, _ form: ZulipContent.Form
  ) -> ZulipPageRequest {
    switch request.want {
    case .item(let id):
      ZulipPageRequest(
        ZulipNarrow([.init("id", .number(id.number))]), .newest, before: 1, after: 0, form: form)
    case .about(let anchor, let before, let after):
      ZulipPageRequest(
        request.narrow?.narrow ?? ZulipNarrow([]), anchor, before: before, after: after,
        form: form)
    }
  }
}
