public import UpdateMachine

/// The tables that an app sees: the server's state at one moment. Each row's parent is there, too.
///
///     state.view?.rows[TableRowKey(1, 10)]?.content?.fields["title"]
///
/// Windows hold keys (``TableWindow``). The rows are stored once, here.
public struct TableState: Hashable, Sendable {
  /// All rows by key. None of them is deleted.
  public internal(set) var rows: VersionedMap<TableRowKey, SyncedRow> = [:]
  /// The rows' versions by what windows ask for: parent, or sort number.
  package private(set) var index: VersionedMap<TableIndexKey, UInt64> = [:]
  /// Whether the server's whole state was ever fetched. Until then there are no rows.
  public internal(set) var isWhole = false

  /// No tables yet.
  package init() {}

  /// Creates a state of rows that are all there is to show.
  package init(
    rows: VersionedMap<TableRowKey, SyncedRow>, isWhole: Bool,
    sortedBy number: (SyncedRow) -> Int64?
  ) {
    self.isWhole = isWhole
    for (key, row) in rows { replace(key, by: row, sortedBy: number) }
  }

  /// Takes newer versions of rows, after which the state is the server's. O(changes × log n).
  ///
  /// The server deletes what is below a node without a word, so what is below a deleted row goes.
  /// It goes last, because a row that was moved out before must survive with all that is below it.
  mutating func take(
    _ changes: VersionedMap<TableRowKey, SyncedRow>, sortedBy number: (SyncedRow) -> Int64?
  ) {
    isWhole = true
    for (key, row) in changes {
      replace(key, by: row.content == nil ? nil : row, sortedBy: number)
    }
    for (key, row) in changes where row.content == nil {
      removeBelow(key, sortedBy: number)
    }
    // A notification may tell of a row that went later with its node. Parents come first here, so
    // they are already what they will be.
    for (key, row) in changes where rows.contains(key) {
      guard let parent = row.parent, !rows.contains(parent) else { continue }
      replace(key, by: nil, sortedBy: number)
      removeBelow(key, sortedBy: number)
    }
  }

  private mutating func removeBelow(_ key: TableRowKey, sortedBy number: (SyncedRow) -> Int64?) {
    var parents = [key]
    while let parent = parents.popLast() {
      let window = TableWindow.children(of: parent, limit: .max)
      for child in window.keys(in: self) {
        replace(child.key.row, by: nil, sortedBy: number)
        parents.append(child.key.row)
      }
    }
  }

  private mutating func replace(
    _ key: TableRowKey, by new: SyncedRow?, sortedBy number: (SyncedRow) -> Int64?
  ) {
    if let old = rows[key] {
      for indexKey in TableIndexKey.keys(of: old, sortedBy: number) { index[indexKey] = nil }
    }
    rows[key] = new
    guard let new else { return }
    for indexKey in TableIndexKey.keys(of: new, sortedBy: number) { index[indexKey] = new.version }
  }
}

/// A key of the index of a ``TableState``: first by kind and table, then by parent or sort number,
/// then by row.
package struct TableIndexKey: Hashable, Comparable, Sendable {
  package enum Kind: UInt8, Hashable, Sendable {
    case parent, sortNumber
  }

  package var kind: Kind
  package var number: Int64
  package var row: TableRowKey

  static func keys(of row: SyncedRow, sortedBy number: (SyncedRow) -> Int64?) -> [TableIndexKey] {
    var keys: [TableIndexKey] = []
    if let parent = row.parent {
      keys.append(TableIndexKey(kind: .parent, number: parent.id, row: row.key))
    }
    if let number = number(row) {
      keys.append(TableIndexKey(kind: .sortNumber, number: number, row: row.key))
    }
    return keys
  }

  package static func < (one: TableIndexKey, other: TableIndexKey) -> Bool {
    (one.kind.rawValue, one.row.table, one.number, one.row.id)
      < (other.kind.rawValue, other.row.table, other.number, other.row.id)
  }
}

/// A list that an app shows: the keys of its rows, and their versions. The app looks up the rows
/// that it draws in ``TableState/rows``.
///
/// Its answer changes if a row enters it, leaves it or changes in it, and then only.
///
///     let items = TableWindow.children(of: list, limit: 50)
///     for await entries in await machine.changes(of: items) { … }
public struct TableWindow: ViewQuery, Hashable {
  /// A row in a window.
  public struct Entry: Hashable, Sendable {
    /// Its name.
    public var row: TableRowKey
    /// Its version. Another one means that the row must be drawn anew.
    public var version: UInt64
  }

  let kind: TableIndexKey.Kind
  let table: UInt8
  let numbers: ClosedRange<Int64>
  /// The most rows to show. A list that is scrolled raises it.
  public var limit: Int

  /// The rows of the table below with this parent, ascending by ID.
  public static func children(of parent: TableRowKey, limit: Int) -> TableWindow {
    TableWindow(
      kind: .parent, table: parent.table &+ 1, numbers: parent.id...parent.id, limit: limit)
  }

  /// The rows of a table with a sort number in this range, ascending by it and by ID.
  public static func sorted(
    _ table: UInt8, in numbers: ClosedRange<Int64>, limit: Int
  ) -> TableWindow {
    TableWindow(kind: .sortNumber, table: table, numbers: numbers, limit: limit)
  }

  /// O(log n + the rows shown).
  public func answer(in state: TableState) -> [Entry] {
    keys(in: state).map { Entry(row: $0.key.row, version: $0.value) }
  }

  /// O(log n + the rows shown + the rows that differ up to the window's end).
  public func mayDiffer(from old: TableState, to new: TableState) -> Bool {
    let shown = keys(in: old)
    // If it is full, what comes after its last row does not matter.
    let end = shown.count < limit ? last : shown.last?.key
    return end.map { new.index.differs(from: old.index, in: first...$0) } ?? false
  }

  func keys(in state: TableState) -> [VersionedMap<TableIndexKey, UInt64>.Element] {
    var found: [VersionedMap<TableIndexKey, UInt64>.Element] = []
    for element in state.index.ascending(from: first) {
      guard found.count < limit, element.key <= last else { break }
      found.append(element)
    }
    return found
  }

  private var first: TableIndexKey {
    TableIndexKey(kind: kind, number: numbers.lowerBound, row: TableRowKey(table, .min))
  }

  private var last: TableIndexKey {
    TableIndexKey(kind: kind, number: numbers.upperBound, row: TableRowKey(table, .max))
  }
}
