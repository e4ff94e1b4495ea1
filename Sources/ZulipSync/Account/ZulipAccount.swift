// Account: the room of all that a client has of one user's account in one model: the realm's state and
// messages, kept level by the same events, and how the model knows what the user has sent.
//
// Account may use: HTTP, JSON, Sending, State, Wire.

public import MessageSync
public import SyncProtocols
public import UpdateMachine

/// The state of a realm and messages by narrow. What the user has sent that is not among them yet is beside
/// it, in the outbox (``echoes(_:in:)``).
///
/// Which channels send events follows from the subscriptions, at a register and from then on by the
/// events. An event that cannot be applied to the state changes nothing of the others.
///
/// What a page settles or mends of a message is mended in the state, too: whether it is starred, and unread,
/// and where.
public struct ZulipAccount: Sendable {
  /// Users, channels, settings, unread messages, and so on.
  public private(set) var state: ZulipState
  /// Messages, and the lists of those that are in a narrow.
  public var lists: MessageStore<ZulipMessageList>
  /// The form in which all contents are.
  public let form: ZulipContent.Form
  /// Whose changes the outbox has: the name that the first register gave, for as long as the account is
  /// kept.
  public let client: ClientID?

  /// The state has these of all messages, held or not.
  private static var countedFlags: MessageFlags { [.read, .starred] }

  /// What is held of the messages.
  public var messages: MessageStore<ZulipMessageList> { lists }

  /// A list as this state understands it, to open a window on.
  public func list(_ narrow: ZulipNarrow) -> ZulipMessageList {
    ZulipMessageList(narrow, state.directory)
  }
}

extension ZulipAccount: MessageModel {
  public typealias Narrow = ZulipMessageList
  public typealias Change = ZulipOutgoing

  /// What a register gives.
  public struct Snapshot: Hashable, Sendable {
    public var state: ZulipSnapshot
    public var form: ZulipContent.Form
    /// The name of the client, if there is no older account.
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

  /// Lists that are open stay open, and show what was known formerly. The client's name stays.
  public init(snapshot: Snapshot, replacing old: ZulipAccount?) throws(ZulipError) {
    state = try ZulipState(snapshot: snapshot.state)
    form = snapshot.form
    let followed = state.subscriptions.map(\.id)
    if let old, old.form == form {
      lists = MessageStore(following: followed, after: old.lists)
    } else {
      lists = MessageStore(following: followed)
    }
    lists.countedFlags = ZulipAccount.countedFlags
    client = old?.client ?? snapshot.client
  }

  public mutating func apply(_ event: ZulipEvent) throws(ZulipError) {
    try state.apply(event)
    for change in event.changes(form) { lists.apply(change) }
  }

  /// What the state says of a message becomes what the message itself says.
  public mutating func mended(_ ids: [MessageID]) {
    for id in ids {
      if let message = lists[id] { state.mend(message) } else { state.forget(id.number) }
    }
  }

  // MARK: What the user sends

  /// A Zulip server knows no second copy again.
  public static var knowsMutationsAgain: Bool { false }

  /// Nothing is confirmed by its ID: the server tells none. A message is, by its event.
  public var confirmation: MutationConfirmation { MutationConfirmation(last: .none) }

  /// The message of the user's own that this is.
  public func echo(in event: ZulipEvent) -> MutationTicket? {
    guard case .sent = event.kind, let text = event.fields["local_message_id"]?.text,
      let local = ZulipLocalID(text), local.client == client
    else { return nil }
    return local.ticket
  }
}

extension ZulipAccount: StorableModel {
  private static let headTable = StoredTable.firstOfModel.advanced(by: 2)
  private static let messageTable = StoredTable.firstOfModel.advanced(by: 3)

  /// 2: the client's name is the account's, too.
  public static var storedVersion: UInt64 { 2 }

  /// The state has the first two tables.
  public func store(since old: ZulipAccount?, into rows: inout RowWriter) {
    state.store(since: old?.state, into: &rows)
    rows.put(ZulipAccount.headTable, StoredHead(self), since: old.map { StoredHead($0) })
    lists.store(since: old?.lists, into: &rows, from: ZulipAccount.messageTable)
  }

  public init(stored rows: StoredRows) throws(StoredFormError) {
    state = try ZulipState(stored: rows)
    let head: StoredHead? = try rows.value(of: ZulipAccount.headTable)
    guard let head else { throw StoredFormError(expected: "the head of an account") }
    form = head.form
    client = head.client
    lists = try MessageStore(stored: rows, from: ZulipAccount.messageTable)
    lists.countedFlags = ZulipAccount.countedFlags
  }

  /// Version 1 had an empty content in place of the head, and the client's name in the outbox alone.
  public static func migrate(
    _ rows: StoredRows, from version: UInt64
  ) throws(StoredFormError) -> StoredRows {
    let form: ZulipContent? = try rows.value(of: headTable)
    var migrated = rows.rows
    guard let form, let index = migrated.firstIndex(where: { $0.key.table == headTable }) else {
      throw StoredFormError(expected: "the form of contents")
    }
    let outbox = try Outbox<ZulipOutgoing>(stored: rows)
    migrated[index].value = StoredHead(form: form.form, client: outbox.client).storedBytes
    return try StoredRows(migrated, unloaded: rows.unloaded)
  }

  public static var unloadedTables: [StoredTable] {
    MessageStore<ZulipMessageList>.unloadedTables(from: messageTable)
  }

  public func unloaded(under events: [ZulipEvent]) -> [RowQuery] {
    guard lists.hasUnloaded else { return [] }
    return lists.unloaded(under: events.flatMap { $0.changes(form) })
  }

  /// What there is one of.
  fileprivate struct StoredHead: Storable, Equatable {
    var form: ZulipContent.Form
    var client: ClientID?
  }
}

extension ZulipAccount.StoredHead {
  init(_ account: ZulipAccount) { self.init(form: account.form, client: account.client) }

  func put(into bytes: inout ByteWriter) {
    bytes.put(form == .rendered)
    bytes.put(client?.number)
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    form = try bytes.takeBool() ? .rendered : .raw
    client = try bytes.takeOptional(UInt64.self).map { ClientID($0) }
  }
}

extension ZulipAccount: CustomStringConvertible, CustomReflectable {
  /// How much there is, and nothing of it.
  public var description: String { "\(state), \(lists.count) messages" }
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// A Zulip server as the library's driver asks it, for a whole account.
///
///     let machine = UpdateMachine(source: ZulipAccountSource(connection), store: store)
///     let views = await machine.openWindow(on: account.list(narrow), showing: .newest(50))
///
/// The deadlines are the machine's, as with ``ZulipSource``.
public struct ZulipAccountSource: Source {
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
    _ request: PageRequest<ZulipMessageList, MessageID>
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
