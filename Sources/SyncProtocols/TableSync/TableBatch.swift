public import UpdateMachine

/// The server's time of a change, in milliseconds. Several changes may have the same.
public struct TableStamp: BitwiseCopyable, Hashable, Comparable, Sendable {
  /// Milliseconds since a moment that the server chose.
  public let milliseconds: Int64

  /// Creates a stamp as the server gave it.
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Before every change.
  package static var distantPast: TableStamp { TableStamp(milliseconds: .min) }

  public static func < (one: TableStamp, other: TableStamp) -> Bool {
    one.milliseconds < other.milliseconds
  }
}

/// Names a row: its table and its ID. An ID is never used again, not even after a deletion.
public struct TableRowKey: BitwiseCopyable, Hashable, Comparable, Sendable {
  /// The table, counted from 0. A row's parent is in the table above, which has the number before.
  public let table: UInt8
  /// Unique within its table.
  public let id: Int64

  /// Creates the name of a row.
  public init(_ table: UInt8, _ id: Int64) {
    self.table = table
    self.id = id
  }

  public static func < (one: TableRowKey, other: TableRowKey) -> Bool {
    (one.table, one.id) < (other.table, other.id)
  }
}

/// A row as the server sends it, and as the app has it.
public struct SyncedRow: Hashable, Sendable {
  /// Its name.
  public var key: TableRowKey
  /// When it was last changed.
  public var stamp: TableStamp
  /// Counts the row's changes, its deletion included. Of two versions of a row, the greater one is
  /// newer, also within one millisecond. This is ours.
  public var version: UInt64
  /// `nil`: the row is deleted, and nothing else of it is left.
  public var content: Content?

  /// What a row that is not deleted contains.
  public struct Content: Hashable, Sendable {
    /// The ID of its parent, in the table above; `nil`: it has none.
    public var parent: Int64?
    /// Its fields.
    public var fields: JSONObject

    /// Creates a row's content.
    public init(parent: Int64?, fields: JSONObject) {
      self.parent = parent
      self.fields = fields
    }
  }

  /// Creates a row; without content it is deleted.
  public init(_ key: TableRowKey, stamp: TableStamp, version: UInt64, content: Content?) {
    self.key = key
    self.stamp = stamp
    self.version = version
    self.content = content
  }

  /// The name of its parent, if it has one.
  package var parent: TableRowKey? {
    guard key.table > 0, let id = content?.parent else { return nil }
    return TableRowKey(key.table - 1, id)
  }
}

/// The server's answer to a register: a subscription has begun, and everything is to be fetched.
public struct TableSnapshot: Hashable, Sendable {
  /// The client's name.
  package var client: ClientID
  /// The subscription that has begun.
  package var subscription: UInt64
  /// The number of tables.
  package var tableCount: UInt8

  /// Creates the answer to a register.
  public init(client: ClientID, subscription: UInt64, tableCount: UInt8) {
    self.client = client
    self.subscription = subscription
    self.tableCount = tableCount
  }

  /// The client's first finger: nothing is fetched.
  public var finger: TableFinger {
    TableFinger(
      subscription: subscription,
      watermarks: Array(repeating: .distantPast, count: Int(tableCount)),
      progress: .fetching(TableFetch(table: 0)))
  }
}

/// The server's answer to a poll. Make it with ``TableRequest/answer(_:isLast:at:)``.
public struct TableBatch: EventBatch, Hashable {
  /// The subscription of the client. If it is not the one that the client named, that one is gone,
  /// and this one has begun just now.
  package var subscription: UInt64
  /// When it was read. Later changes have this stamp or a later one.
  package var asOf: TableStamp
  /// The rows.
  package var content: Content

  /// What an answer brings.
  package enum Content: Hashable, Sendable {
    /// The rows of a table from this place of its fetch on, with this stamp or a later one,
    /// ascending by stamp and ID, each once. `isLast`: there were no others.
    case page(TableFetch, from: TableStamp, [SyncedRow], isLast: Bool)
    /// Notifications in the order of the changes, from this number on (excluded). They are numbered
    /// from 1 within a subscription. `isAll`: there were no others. No rows: a ping.
    case notifications(after: UInt64, [SyncedRow], isAll: Bool)
  }

  /// Creates an answer.
  package init(subscription: UInt64, asOf: TableStamp, content: Content) {
    self.subscription = subscription
    self.asOf = asOf
    self.content = content
  }

  /// The rows, and one more if they lead to the server's state.
  public var count: Int {
    switch content {
    case .page(_, _, let rows, _): rows.count
    case .notifications(_, let rows, let isAll): rows.count + (isAll ? 1 : 0)
    }
  }

  public func event(at index: Int) -> TableEvent? {
    switch content {
    case .page(_, _, let rows, _), .notifications(_, let rows, _):
      index < rows.count ? .row(rows[index]) : .isCurrent
    }
  }
}

/// One step of a ``TableModel``. The library makes them of a ``TableBatch``.
public enum TableEvent: Hashable, Sendable {
  /// A row as of one version.
  case row(SyncedRow)
  /// With all rows so far, the state is the server's.
  case isCurrent
}

extension TableStamp: CustomStringConvertible {
  public var description: String { self == .distantPast ? "-" : "\(milliseconds)" }
}

extension TableRowKey: CustomStringConvertible {
  /// "2/17": row 17 of table 2.
  public var description: String { "\(table)/\(id)" }
}
