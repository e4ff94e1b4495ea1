// Account: the room of one user's account as an app has it: the realm's state and his messages in one
// model. It may use State, JSON and the libraries below.

public import SyncProtocols
public import UpdateMachine

/// All that a client of one user holds: the realm's state, and of his messages what was looked at.
///
/// Both hear every event, the state first; an event that it refuses changes neither. Of messages those
/// are held of which the server sends events: in the channels that he is subscribed to, and direct
/// ones. All contents are in one form, the one in which the queue was asked for.
public struct ZulipFeed: Sendable {
  public typealias Narrow = MessageFilter<ZulipContent>

  /// Users, channels, subscriptions, settings, groups, what is unread.
  public private(set) var state: ZulipState
  public var messages: MessageStore<Narrow>

  /// In which contents come.
  public var form: ZulipContent.Form { state.registration.rendersContents ? .rendered : .raw }
}

extension ZulipFeed: PagedModel {
  public init(snapshot: ZulipSnapshot) throws(ZulipError) {
    state = try ZulipState(snapshot: snapshot)
    messages = MessageStore(following: state.subscriptions.map { $0.id })
  }

  /// The lists that were open stay so, with what was known formerly.
  public init(snapshot: ZulipSnapshot, replacing old: ZulipFeed?) throws(ZulipError) {
    try self.init(snapshot: snapshot)
    guard let old else { return }
    messages = MessageStore(following: state.subscriptions.map { $0.id }, after: old.messages)
  }

  public mutating func apply(_ event: ZulipEvent) throws(ZulipError) {
    try state.apply(event)
    for change in event.changes(form) { messages.apply(change) }
  }
}

extension ZulipFeed: StorableModel {
  /// Behind those of the state.
  private static var messageTables: StoredTable { StoredTable.firstOfModel.advanced(by: 2) }

  public func store(since old: ZulipFeed?, into rows: inout RowWriter) {
    state.store(since: old?.state, into: &rows, from: .firstOfModel)
    messages.store(since: old?.messages, into: &rows, from: ZulipFeed.messageTables)
  }

  public init(stored rows: StoredRows) throws(StoredFormError) {
    state = try ZulipState(stored: rows, from: .firstOfModel)
    messages = try MessageStore(stored: rows, from: ZulipFeed.messageTables)
  }

  public static var sleepingTables: [StoredTable] {
    MessageStore<Narrow>.sleepingTables(from: messageTables)
  }

  public func asleep(under events: [ZulipEvent]) -> [RowQuery] {
    guard messages.sleeps else { return [] }
    return messages.asleep(under: events.flatMap { $0.changes(form) })
  }
}

extension ZulipContent: Storable {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(form == .rendered)
    bytes.put(text)
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    form = try bytes.takeBool() ? .rendered : .raw
    text = try bytes.takeString()
  }
}
