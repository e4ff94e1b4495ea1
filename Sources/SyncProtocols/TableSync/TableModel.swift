public import UpdateMachine

/// An app's tables.
///
///     enum Shopping: TableSchema {
///       static var tableCount: UInt8 { 2 }  // Lists, and the items of each list.
///     }
public protocol TableSchema: Sendable {
  /// The number of tables, at least 1. The table of the parents comes first.
  static var tableCount: UInt8 { get }

  /// The number by which a row is sorted in its table, like the day of an event; `nil`, the
  /// default: the row is not sorted. Must depend only on the row.
  static func sortNumber(of row: SyncedRow) -> Int64?
}

extension TableSchema {
  public static func sortNumber(of row: SyncedRow) -> Int64? { nil }
}

/// The reason why a client refuses a row or a snapshot. The client keeps what it shows, and fetches
/// everything anew, slowly.
public enum TableRefusal: Error, Hashable, Sendable {
  /// The server has another number of tables.
  case tableCount(UInt8)
  /// The row is in a table that there is not, or has a parent where there is no table above.
  case misplaced(TableRowKey)
  /// The same version came with two contents.
  case contradiction(TableRowKey)
  /// A deleted row came back. Its ID is taken for ever.
  case revived(TableRowKey)
}

/// The model of an app's tables.
///
/// Rows that come are *staged*, which means newer than what is shown. When the client is up to
/// date, all of them are shown in one step. So an app never sees a row without its parent, nor
/// tables of different moments, nor a part of a first fetch. While a client fetches what it has
/// missed, the app sees the last state that was whole.
public struct TableModel<Schema: TableSchema>: SyncModel {
  public typealias Snapshot = TableSnapshot
  public typealias Event = TableEvent
  public typealias Refusal = TableRefusal
  public typealias Change = TableChange

  /// What the app sees.
  public internal(set) var state: TableState
  /// The newest versions of rows that are not shown yet. Deletions are kept only here.
  package internal(set) var staged: VersionedMap<TableRowKey, SyncedRow>
  /// Whether everything is fetched anew. What is staged then replaces what is shown.
  package internal(set) var startsAnew: Bool
  var name: ClientID

  public init(snapshot: TableSnapshot) throws(TableRefusal) {
    try self.init(snapshot: snapshot, replacing: nil)
  }

  public init(
    snapshot: TableSnapshot, replacing old: TableModel?
  ) throws(TableRefusal) {
    guard snapshot.tableCount == Schema.tableCount, Schema.tableCount > 0 else {
      throw .tableCount(snapshot.tableCount)
    }
    let isSame = old?.client == snapshot.client
    self.init(
      client: snapshot.client, state: isSame ? old?.state ?? TableState() : TableState(),
      staged: VersionedMap(), startsAnew: true)
  }

  init(
    client: ClientID, state: TableState, staged: VersionedMap<TableRowKey, SyncedRow>,
    startsAnew: Bool
  ) {
    name = client
    self.state = state
    self.staged = staged
    self.startsAnew = startsAnew
  }

  public mutating func apply(_ event: TableEvent) throws(TableRefusal) {
    switch event {
    case .row(let row): try stage(row)
    case .isCurrent: show()
    }
  }

  private mutating func stage(_ row: SyncedRow) throws(TableRefusal) {
    let key = row.key
    guard key.table < Schema.tableCount, key.table > 0 || row.content?.parent == nil else {
      throw .misplaced(key)
    }
    if let known = staged[key] ?? (startsAnew ? nil : state.rows[key]) {
      guard row.version >= known.version else { return }
      guard row.version > known.version else {
        if row != known { throw .contradiction(key) }
        return
      }
      if known.content == nil, row.content != nil { throw .revived(key) }
    }
    staged[key] = row
  }

  private mutating func show() {
    if startsAnew { state = TableState() }
    state.take(staged, sortedBy: Schema.sortNumber)
    staged = VersionedMap()
    startsAnew = false
  }

  public var client: ClientID? { name }

  /// The server counts nothing.
  public var confirmation: MutationConfirmation { MutationConfirmation(last: MutationID(0)) }

  /// The server would insert a row again, but for its ID, and would overwrite a later change.
  public static var delivery: MutationDelivery { .atMostOnce }

  /// Two devices that changed rows offline would make conflicts that nobody resolves.
  public static var mutatesOffline: Bool { false }
}

extension TableModel: Equatable {}
