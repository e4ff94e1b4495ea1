// Account: the room of all that a client has of one user's account in one model: the realm's state,
// messages, and what the user sends, kept level by the same events. It may use the rooms beside it,
// SyncProtocols and UpdateMachine.

public import SyncProtocols
public import UpdateMachine

/// The state of a realm, messages by narrow, and what the user has sent that is not among them yet.
///
/// Which channels send events follows from the subscriptions, at a register and from then on by the
/// events. An event that cannot be applied to the state changes nothing of the others.
///
/// What a page settles or mends of a held message is mended in the state, too: whether it is starred, and
/// unread, and where.
public struct ZulipAccount: Sendable {
  /// Users, channels, settings, unread messages, and so on.
  public private(set) var state: ZulipState
  public var messages: MessageStore<ZulipMessageList>
  /// The form in which all contents are.
  public let form: ZulipContent.Form
  /// What the user sends (``echoes``).
  public var local: LocalChanges<ZulipOutgoing>

  /// A list as this state understands it, to open a window on.
  public func list(_ narrow: ZulipNarrow) -> ZulipMessageList {
    ZulipMessageList(narrow, state.directory)
  }
}

extension ZulipAccount: PagedModel {
  public typealias Narrow = ZulipMessageList

  /// What a register gives.
  public struct Snapshot: Hashable, Sendable {
    public var state: ZulipSnapshot
    public var form: ZulipContent.Form
    /// The name of an outbox, if there is none yet.
    public var client: ClientID

    public init(
      _ state: ZulipSnapshot, _ form: ZulipContent.Form, client: ClientID = ClientID(0)
    ) {
      self.state = state
      self.form = form
      self.client = client
    }
  }

  public init(snapshot: Snapshot) throws(ZulipError) {
    try self.init(snapshot: snapshot, replacing: nil)
  }

  /// Lists that are open stay open, and show what was known formerly. The outbox stays.
  public init(snapshot: Snapshot, replacing old: ZulipAccount?) throws(ZulipError) {
    state = try ZulipState(snapshot: snapshot.state)
    form = snapshot.form
    let followed = state.subscriptions.map(\.id)
    if let old, old.form == form {
      messages = MessageStore(following: followed, after: old.messages)
    } else {
      messages = MessageStore(following: followed)
    }
    let outbox = Outbox<ZulipOutgoing>(client: snapshot.client, isIdempotent: false)
    local = old?.local ?? LocalChanges(outbox, over: state)
    local.confirm(state, echo: nil)
  }

  public mutating func apply(_ event: ZulipEvent) throws(ZulipError) {
    try state.apply(event)
    for change in event.changes(form) { messages.apply(change) }
    local.confirm(state, echo: echo(in: event))
  }

  /// What the state says of a message becomes what the message itself says.
  public mutating func mended(_ ids: [MessageID]) {
    for id in ids {
      if let message = messages[id] { state.mend(message) } else { state.forget(id.number) }
    }
    local.confirm(state, echo: nil)
  }

  /// The message of the user's own that this is.
  private func echo(in event: ZulipEvent) -> MutationTicket? {
    guard case .sent = event.kind, let text = event.fields["local_message_id"]?.text,
      let local = ZulipLocalID(text), local.client == self.local.outbox.client
    else { return nil }
    return local.ticket
  }
}

extension ZulipAccount: MutableModel {
  public static var hearsOfPolls: Bool { true }

  public mutating func asked() {
    messages.asked()
    local.pollLeft()
  }

  public mutating func answered() {
    messages.answered()
    local.pollWasAnswered()
  }

  public mutating func snapshotWasAsked(at sent: Moment) {
    local.confirmAccepted(before: sent)
  }

  public mutating func restored() {
    messages.restored()
    local.restored(over: state)
  }
}

extension ZulipAccount: StorableModel {
  private static let formTable = StoredTable.firstOfModel.advanced(by: 2)
  private static let messageTable = StoredTable.firstOfModel.advanced(by: 3)

  /// Behind the outbox's tables the state has the first two.
  public func store(since old: ZulipAccount?, into rows: inout RowWriter) {
    local.outbox.store(since: old?.local.outbox, into: &rows)
    state.store(since: old?.state, into: &rows)
    rows.put(
      ZulipAccount.formTable, ZulipContent("", form), since: old.map { ZulipContent("", $0.form) })
    messages.store(since: old?.messages, into: &rows, from: ZulipAccount.messageTable)
  }

  public init(stored rows: StoredRows) throws(StoredFormError) {
    state = try ZulipState(stored: rows)
    let form: ZulipContent? = try rows.value(of: ZulipAccount.formTable)
    guard let form else { throw StoredFormError(expected: "the form of contents") }
    self.form = form.form
    messages = try MessageStore(stored: rows, from: ZulipAccount.messageTable)
    local = LocalChanges(try Outbox(stored: rows), over: state)
  }

  public static var sleepingTables: [StoredTable] {
    MessageStore<ZulipMessageList>.sleepingTables(from: messageTable)
  }

  public func asleep(under events: [ZulipEvent]) -> [RowQuery] {
    guard messages.sleeps else { return [] }
    return messages.asleep(under: events.flatMap { $0.changes(form) })
  }
}

extension ZulipAccount: CustomStringConvertible, CustomReflectable {
  /// How much there is, and nothing of it.
  public var description: String { "\(state), \(messages.count) messages" }
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// A Zulip server as the library's driver asks it, for a whole account.
///
///     let machine = UpdateMachine(source: ZulipAccountSource(connection), store: store)
///     let views = await machine.openWindow(on: account.list(narrow), showing: .newest(50))
///
/// The deadlines are the machine's, as with ``ZulipSource``.
public struct ZulipAccountSource: PageSource {
  public typealias Model = ZulipAccount
  public typealias Sync = EventQueue<ZulipEvent>

  public let stateSource: ZulipSource

  public var connection: ZulipConnection { stateSource.connection }

  private var form: ZulipContent.Form { stateSource.parameters.form }

  public init(_ connection: ZulipConnection, _ parameters: ZulipRegister = ZulipRegister()) {
    stateSource = ZulipSource(connection, parameters)
  }

  public func register() async throws(SyncFailure) -> Registered<
    ZulipAccount.Snapshot, QueueFinger
  > {
    let registered = try await stateSource.register()
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
    _ request: PageRequest<ZulipMessageList>
  ) async throws(SyncFailure) -> MessagePage<ZulipContent> {
    let asked = ZulipAccountSource.request(request, form)
    do throws(ZulipFailure) {
      let page = try await connection.messages(asked, within: ZulipSource.ceiling)
      guard let page = page.page(for: asked) else { throw ZulipFailure(.malformed, .broken) }
      return page
    } catch {
      throw error.failure
    }
  }

  /// One message is asked for as a list that it is alone in: so a lack of it is an answer, and no
  /// refusal among others.
  static func request(
    _ request: PageRequest<ZulipMessageList>, _ form: ZulipContent.Form
  ) -> ZulipPageRequest {
    switch request.want {
    case .message(let id):
      ZulipPageRequest(
        ZulipNarrow([.init("id", .number(id.number))]), .newest, before: 1, after: 0, form: form)
    case .about(let anchor, let before, let after):
      ZulipPageRequest(
        request.narrow?.narrow ?? ZulipNarrow([]), anchor, before: before, after: after,
        form: form)
    }
  }
}
