package import UpdateMachine

/// The server's time of a change, in milliseconds. Several changes may have the same.
package struct TableStamp: BitwiseCopyable, Hashable, Comparable, Sendable {
  /// Milliseconds since a moment that the server chose.
  package var milliseconds: Int64

  /// Creates a stamp as the server gave it.
  package init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Before every change.
  package static var distantPast: TableStamp { TableStamp(milliseconds: .min) }

  package static func < (one: TableStamp, other: TableStamp) -> Bool {
    one.milliseconds < other.milliseconds
  }
}

/// Names a row: its table and its ID. An ID is never used again, not even after a deletion.
package struct RowKey: BitwiseCopyable, Hashable, Comparable, Sendable {
  /// The table, counted from 0. A row's parent is in the table above, which has the number before.
  package var table: UInt8
  /// Unique within its table.
  package var id: Int64

  /// Creates the name of a row.
  package init(_ table: UInt8, _ id: Int64) {
    self.table = table
    self.id = id
  }

  package static func < (one: RowKey, other: RowKey) -> Bool {
    (one.table, one.id) < (other.table, other.id)
  }
}

/// A row as the server sends it.
package struct TableRow: Hashable, Sendable {
  /// Its name.
  package var key: RowKey
  /// When it was last changed.
  package var stamp: TableStamp
  /// Counts the row's changes. Of two versions of a row, the greater one is newer, also within one
  /// millisecond. This is ours.
  package var version: UInt64
  /// `nil`: the row is deleted, and nothing else of it is left.
  package var content: Content?

  /// What a row that is not deleted contains.
  package struct Content: Hashable, Sendable {
    /// The ID of its parent, in the table above; `nil`: it has none.
    package var parent: Int64?
    /// Its fields.
    package var fields: JSONObject

    /// Creates a row's content.
    package init(parent: Int64?, fields: JSONObject) {
      self.parent = parent
      self.fields = fields
    }
  }

  /// Creates a row; without content it is deleted.
  package init(_ key: RowKey, stamp: TableStamp, version: UInt64, content: Content?) {
    self.key = key
    self.stamp = stamp
    self.version = version
    self.content = content
  }

  /// The name of its parent, if it has one.
  package var parent: RowKey? {
    guard key.table > 0, let id = content?.parent else { return nil }
    return RowKey(key.table - 1, id)
  }
}

/// The server's answer to a register: a subscription has begun, and everything is to be fetched.
package struct TableSnapshot: Hashable, Sendable {
  /// The client's name.
  package var client: ClientID
  /// The subscription that has begun.
  package var subscription: UInt64
  /// The number of tables.
  package var tableCount: UInt8

  /// Creates the answer to a register.
  package init(client: ClientID, subscription: UInt64, tableCount: UInt8) {
    self.client = client
    self.subscription = subscription
    self.tableCount = tableCount
  }

  /// The client's first finger: nothing is fetched.
  package var finger: TableFinger {
    TableFinger(
      subscription: subscription,
      watermarks: Array(repeating: .distantPast, count: Int(tableCount)),
      progress: .fetching(TableFetch(table: 0)))
  }
}

/// The server's answer to a poll.
package struct TableBatch: EventBatch, Hashable {
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
    case page(TableFetch, from: TableStamp, [TableRow], isLast: Bool)
    /// Notifications in the order of the changes, from this number on (excluded). They are numbered
    /// from 1 within a subscription. `isAll`: there were no others. No rows: a ping.
    case notifications(after: UInt64, [TableRow], isAll: Bool)
  }

  /// Creates an answer.
  package init(subscription: UInt64, asOf: TableStamp, content: Content) {
    self.subscription = subscription
    self.asOf = asOf
    self.content = content
  }

  /// The rows, and one more if they lead to the server's state.
  package var count: Int {
    switch content {
    case .page(_, _, let rows, _): rows.count
    case .notifications(_, let rows, let isAll): rows.count + (isAll ? 1 : 0)
    }
  }

  package func event(at index: Int) -> TableEvent? {
    switch content {
    case .page(_, _, let rows, _), .notifications(_, let rows, _):
      index < rows.count ? .row(rows[index]) : .isCurrent
    }
  }
}

/// One step of a ``TableModel``.
package enum TableEvent: Hashable, Sendable {
  /// A row as of one version.
  case row(TableRow)
  /// With all rows so far, the state is the server's.
  case isCurrent
}

extension TableStamp: CustomStringConvertible {
  package var description: String { self == .distantPast ? "-" : "\(milliseconds)" }
}

extension RowKey: CustomStringConvertible {
  /// "2/17": row 17 of table 2.
  package var description: String { "\(table)/\(id)" }
}
