// Account: one user's whole account in one model: the realm's state and the messages, kept up to
// date by the same events, and how the model recognises messages that the user has sent.
//
// Account may use: HTTP, JSON, Sending, State, Wire.

public import MessageSync
public import UpdateMachine

/// A realm's state, and messages by narrow. Messages that the user has sent and that are not among
/// them yet are in the outbox, beside the account (``ZulipEcho``).
///
/// The subscriptions decide which channels send events: at a register, and then as events change
/// them. An event that cannot be applied to the state changes no messages either.
///
/// When a page settles or mends a message, the realm is mended too: whether the message is starred,
/// whether it is unread, and where it is.
public struct ZulipAccount: Sendable {
  /// Users, channels, settings, unread messages, and so on.
  public internal(set) var realm: ZulipState
  /// Messages, and the lists of those in each narrow.
  public var lists: MessageStore<ZulipMessageList>
  /// The form of all contents.
  package let form: ZulipContent.Form
  /// The client whose changes are in the outbox. The first register names it, and the name stays as
  /// long as the account is kept.
  public let client: ClientID?

  /// The state has these flags of all messages, even of those that the lists do not hold.
  private static var countedFlags: MessageFlags { [.read, .starred] }

  /// The held messages.
  public var messages: MessageStore<ZulipMessageList> { lists }

  /// Returns a list for opening a window, as this state understands the narrow.
  public func list(_ narrow: ZulipNarrow) -> ZulipMessageList {
    ZulipMessageList(narrow, realm.directory)
  }
}

extension ZulipAccount: MessageModel {
  public typealias Narrow = ZulipMessageList
  public typealias Change = ZulipChange

  /// The answer to a register.
  public struct Snapshot: Hashable, Sendable {
    package var state: ZulipSnapshot
    package var form: ZulipContent.Form
    /// The client's name, if there is no older account.
    package var client: ClientID

    package init(
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

  /// Keeps open lists open; they show what was known before. Keeps the client's name.
  public init(snapshot: Snapshot, replacing old: ZulipAccount?) throws(ZulipError) {
    realm = try ZulipState(snapshot: snapshot.state)
    form = snapshot.form
    let followed = realm.subscriptions.map(\.id)
    if let old, old.form == form {
      lists = MessageStore(following: followed, after: old.lists)
    } else {
      lists = MessageStore(following: followed)
    }
    lists.countedFlags = ZulipAccount.countedFlags
    lists.reader = realm.myself
    client = old?.client ?? snapshot.client
  }

  public mutating func apply(_ event: ZulipEvent) throws(ZulipError) {
    try realm.apply(event)
    for change in event.changes(form) { lists.apply(change) }
  }

  /// Updates the state's rows of these messages from the store. Messages that are not held lose
  /// theirs.
  public mutating func mended(_ ids: [MessageID]) {
    for id in ids {
      if let message = lists[id] { realm.mend(message) } else { realm.forget(id.number) }
    }
  }

  // MARK: What the user does

  /// The account itself: pending changes are shown in its messages and in its realm.
  public var state: ZulipAccount { self }

  public static func lists(in state: ZulipAccount) -> MessageStore<ZulipMessageList>? {
    state.lists
  }

  /// A Zulip server does not recognise a second copy of a message.
  public static var delivery: MutationDelivery { .atMostOnce }

  /// A Zulip server confirms no change by its ID. A message is confirmed by its event.
  public var confirmation: MutationConfirmation { MutationConfirmation(last: .none) }

  /// Returns the ticket of the user's own message that the event reports; `nil` if it is not from
  /// this outbox.
  public func echo(in event: ZulipEvent) -> MutationTicket? {
    guard case .sent = event.kind, let text = event.fields["local_message_id"]?.text,
      let local = ZulipLocalID(text), local.client == client
    else { return nil }
    return local.ticket
  }
}

extension ZulipAccount {
  /// Whether a sent message is among the messages, or the lists show copies of it: a page may bring
  /// it before its event, and of a channel that is not followed no event comes. Whether a draft is
  /// there, as the server has changed it, or is gone, if that was wanted.
  public func holds(_ change: ZulipChange, created id: Int64) -> Bool {
    if case .draft(_, let draft) = change { return realm.holdsDraft(id) == (draft != nil) }
    guard case .send(let message) = change else { return false }
    var partialMessage = partialMessage(of: message)
    partialMessage.id = MessageID(id)
    return lists.shows(partialMessage)
  }
}

extension ZulipAccount: StorableModel {
  private static let headTable = StoredTable.firstOfModel.advanced(by: 2)
  private static let messageTable = StoredTable.firstOfModel.advanced(by: 3)

  /// Version 2: the account too keeps the client's name. Version 3: the state has no secrets, and
  /// messages say whether they are the user's. Version 4: lists show copies from channels that the
  /// user has left.
  public static var storedVersion: UInt64 { 4 }

  /// Stores the account. The first two tables are the state's.
  public func store(since old: ZulipAccount?, into rows: inout RowWriter) {
    realm.store(since: old?.realm, into: &rows)
    rows.put(ZulipAccount.headTable, StoredHead(self), since: old.map { StoredHead($0) })
    lists.store(since: old?.lists, into: &rows, from: ZulipAccount.messageTable)
  }

  public init(stored rows: RowReader) throws(StoredFormError) {
    realm = try ZulipState(stored: rows)
    let head: StoredHead? = try rows.value(of: ZulipAccount.headTable)
    guard let head else { throw StoredFormError(expected: "the head of an account") }
    form = head.form
    client = head.client
    lists = try MessageStore(stored: rows, from: ZulipAccount.messageTable)
    lists.countedFlags = ZulipAccount.countedFlags
    lists.reader = realm.myself
  }

  /// Migrates from versions 1 to 3.
  public static func migrate(
    _ rows: RowReader, from version: UInt64
  ) throws(StoredFormError) -> RowReader {
    var rows = rows
    switch version {
    case 1: rows = try withHead(rows)
    case 2: break
    // The lists of version 3 lack such copies, so they are read again.
    case 3: return try MessageStore<ZulipMessageList>.closingLists(rows, from: messageTable)
    default: throw StoredFormError(expected: "version 1 to 4 of an account")
    }
    rows = try ZulipState.withoutSecrets(rows, from: .firstOfModel)
    // Older versions put historical messages into lists that do not have them.
    return try MessageStore<ZulipMessageList>.openingFeed(rows, from: messageTable) {
      $0.flags.contains(.historical)
    }
  }

  /// Returns the rows with the head that version 2 introduced. Version 1 had an empty content in
  /// its place, and the client's name only in the outbox.
  private static func withHead(_ rows: RowReader) throws(StoredFormError) -> RowReader {
    let form: ZulipContent? = try rows.value(of: headTable)
    var migrated = rows.rows
    guard let form, let index = migrated.firstIndex(where: { $0.key.table == headTable }) else {
      throw StoredFormError(expected: "the form of contents")
    }
    let outbox = try Outbox<ZulipChange>(stored: rows)
    migrated[index].value = StoredHead(form: form.form, client: outbox.client).storedBytes
    return try RowReader(migrated, unloaded: rows.unloaded)
  }

  public static var unloadedTables: [StoredTable] {
    MessageStore<ZulipMessageList>.unloadedTables(from: messageTable)
  }

  public func unloaded(under events: [ZulipEvent]) -> [RowQuery] {
    guard lists.hasUnloaded else { return [] }
    return lists.unloaded(under: events.flatMap { $0.changes(form) })
  }

  /// The messages that a change names.
  public func unloaded(under change: ZulipChange) -> [RowQuery] {
    lists.unloaded(in: change.messages)
  }

  /// The account's values that are stored in one row.
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
  /// The sizes only, no contents.
  public var description: String { "\(realm), \(lists.count) messages" }
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
