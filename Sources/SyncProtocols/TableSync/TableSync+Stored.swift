public import UpdateMachine

// The saved form of the tables: one row for each row that is shown, one for each that is staged,
// and one for the rest. The index is computed anew.

extension StoredTable {
  static var shownRows: StoredTable { .firstOfModel }
  static var stagedRows: StoredTable { .firstOfModel.advanced(by: 1) }
  static var tablesHead: StoredTable { .firstOfModel.advanced(by: 2) }
}

extension TableStamp: Storable {
  public func put(into bytes: inout ByteWriter) { bytes.put(milliseconds) }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(milliseconds: try bytes.takeInt64())
  }
}

extension TableRowKey: StorableKey {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(table)
    bytes.put(id)
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.takeByte(), try bytes.takeInt64())
  }

  public var keyBytes: [UInt8] { [table] + id.keyBytes }

  public init(keyBytes: [UInt8]) throws(StoredFormError) {
    guard let table = keyBytes.first else { throw StoredFormError(expected: "a row's key") }
    self.init(table, try Int64(keyBytes: Array(keyBytes.dropFirst())))
  }
}

extension SyncedRow: Storable {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(key)
    bytes.put(stamp)
    bytes.put(version)
    bytes.put(content.map { JSONValue.object($0.fields) })
    bytes.put(content?.parent)
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(
      try bytes.take(), stamp: try bytes.take(), version: try bytes.takeUInt64(), content: nil)
    let fields: JSONValue? = try bytes.takeOptional()
    let parent: Int64? = try bytes.takeOptional()
    guard let fields else { return }
    guard let object = fields.object else { throw StoredFormError(expected: "an object") }
    content = Content(parent: parent, fields: object)
  }
}

extension TableFinger: Storable {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(subscription)
    bytes.put(watermarks)
    switch progress {
    case .fetching(let fetch):
      bytes.put(UInt8(0))
      bytes.put(fetch.table)
      bytes.put(fetch.page)
    case .draining(let heard):
      bytes.put(UInt8(1))
      bytes.put(heard)
    case .following(let heard, let isSettled):
      bytes.put(UInt8(2))
      bytes.put(heard)
      bytes.put(isSettled)
    }
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    let subscription = try bytes.takeUInt64()
    let watermarks: [TableStamp] = try bytes.takeArray()
    guard watermarks.count <= UInt8.max else { throw StoredFormError(expected: "fewer tables") }
    let progress: TableProgress
    switch try bytes.takeByte() {
    case 0:
      progress = .fetching(
        TableFetch(table: try bytes.takeByte(), page: try bytes.takeOptional()))
    case 1: progress = .draining(try bytes.takeUInt64())
    case 2: progress = .following(try bytes.takeUInt64(), isSettled: try bytes.takeBool())
    case _: throw StoredFormError(expected: "the progress of a subscription")
    }
    self.init(subscription: subscription, watermarks: watermarks, progress: progress)
  }
}

extension TablePageEnd: Storable {
  package func put(into bytes: inout ByteWriter) {
    bytes.put(began)
    bytes.put(stamp)
    bytes.put(id)
  }

  package init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(began: try bytes.take(), stamp: try bytes.take(), id: try bytes.takeInt64())
  }
}

extension TableChange: Storable {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(name)
    bytes.put(JSONValue.object(arguments))
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    let name = try bytes.takeString()
    guard let change = TableChange(name: name, arguments: try bytes.take()) else {
      throw StoredFormError(expected: "a change of a row")
    }
    self = change
  }
}

extension TableModel: StorableModel {
  public func store(since old: TableModel?, into rows: inout RowWriter) {
    rows.put(.shownRows, state.rows, since: old?.state.rows)
    rows.put(.stagedRows, staged, since: old?.staged)
    rows.put(.tablesHead, head, since: old?.head)
  }

  private var head: [UInt64] {
    [name.number, state.isWhole ? 1 : 0, startsAnew ? 1 : 0, UInt64(Schema.tableCount)]
  }

  public init(stored rows: RowReader) throws(StoredFormError) {
    let head: [UInt64]? = try rows.value(of: .tablesHead)
    guard let head, head.count == 4, head[3] == UInt64(Schema.tableCount) else {
      throw StoredFormError(expected: "the head of as many tables as the app has")
    }
    let shown: VersionedMap<TableRowKey, SyncedRow> = try rows.map(of: .shownRows)
    let staged: VersionedMap<TableRowKey, SyncedRow> = try rows.map(of: .stagedRows)
    for (key, row) in shown where row.key != key || row.content == nil {
      throw StoredFormError(expected: "a row that is not deleted")
    }
    for (key, row) in staged where row.key != key {
      throw StoredFormError(expected: "a row of this key")
    }
    self.init(
      client: ClientID(head[0]),
      state: TableState(rows: shown, isWhole: head[1] != 0, sortedBy: Schema.sortNumber),
      staged: staged, startsAnew: head[2] != 0)
  }
}
