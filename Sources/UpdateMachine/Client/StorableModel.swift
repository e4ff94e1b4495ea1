/// A model with a saved form in rows, so that a change is written at the price of what changed.
///
/// A model of maps writes a row for each entry, by ``RowWriter``; a small one a single
/// row.
public protocol StorableModel: SyncModel where Change: Storable {
  /// Which version of the rows this app writes and reads. It goes up when they are written otherwise.
  /// By default 1.
  static var storedVersion: UInt64 { get }

  /// Writes what is otherwise than in an older state of the same replica; `nil`: everything. Rows in
  /// tables from ``StoredTable/firstOfModel`` on. Whatever is in the rows and in no state any more must
  /// be removed.
  func store(since old: Self?, into rows: inout RowWriter)

  /// The state that these rows were written of. Whatever stands in them, it ends in a model that is
  /// whole, or in an error.
  init(stored rows: StoredRows) throws(StoredFormError)

  /// The rows that an older version of the app wrote, as this one would have. By default none are, and
  /// the replica starts stale.
  static func migrate(
    _ rows: StoredRows, from version: UInt64
  ) throws(StoredFormError) -> StoredRows

  /// Tables of which the rows may stay in the store at a start, so that a start costs what is looked
  /// at and not what is held. By default none.
  static var unloadedTables: [StoredTable] { get }
}

extension StorableModel {
  @inlinable
  public static var storedVersion: UInt64 { 1 }

  @inlinable
  public static func migrate(
    _ rows: StoredRows, from version: UInt64
  ) throws(StoredFormError) -> StoredRows {
    throw StoredFormError(expected: "version \(storedVersion) of the model, and not \(version)")
  }

  @inlinable
  public static var unloadedTables: [StoredTable] { [] }
}

/// The row that says what all the others are of.
@usableFromInline
struct StoredHead<Place: Finger & Storable>: Storable, Equatable {
  /// Of the library's own rows. 1: the first.
  @usableFromInline static var version: UInt64 { 1 }

  @usableFromInline var model: UInt64
  @usableFromInline var finger: Place?
  @usableFromInline var terms: Terms

  @inlinable
  init(model: UInt64, finger: Place?, terms: Terms) {
    self.model = model
    self.finger = finger
    self.terms = terms
  }

  @usableFromInline
  func put(into bytes: inout ByteWriter) {
    bytes.put(StoredHead.version)
    bytes.put(model)
    bytes.put(finger)
    bytes.put(terms)
  }

  @usableFromInline
  init(from bytes: inout ByteReader) throws(StoredFormError) {
    let version = try bytes.takeUInt64()
    if version > StoredHead.version { throw .newer(version: version) }
    guard version == StoredHead.version else {
      throw StoredFormError(expected: "a version of the library")
    }
    model = try bytes.takeUInt64()
    finger = try bytes.takeOptional()
    terms = try bytes.take()
  }
}

extension SavedReplica where Model: StorableModel, Place: Storable {
  /// The rows by which it is otherwise than an older saved form of the same replica; `nil`: all of it.
  public func rows(since old: SavedReplica?) -> [StoredRow] { step(since: old).rows }

  /// The same with the ranges that are cleared.
  public func step(since old: SavedReplica?) -> RowWriter {
    var rows = RowWriter()
    rows.put(.head, head, since: old?.head)
    outbox?.store(since: old?.outbox, into: &rows)
    model.store(since: old?.model, into: &rows)
    return rows
  }

  private var head: StoredHead<Place> {
    StoredHead(model: Model.storedVersion, finger: finger, terms: terms)
  }

  /// The saved form that these rows are.
  public init(stored rows: StoredRows) throws(StoredFormError) {
    let head = try SavedReplica.head(of: rows)
    var rows = rows
    if head.model > Model.storedVersion { throw .newer(version: head.model) }
    if head.model < Model.storedVersion { rows = try Model.migrate(rows, from: head.model) }
    let model = try Model(stored: rows)
    var outbox: Outbox<Model.Change>?
    if let client = model.client {
      let stored = try Outbox<Model.Change>(stored: rows, settings: Model.outboxSettings)
      guard stored.client == client, stored.isIdempotent == Model.knowsMutationsAgain else {
        throw StoredFormError(expected: "the outbox of the client that the state is of")
      }
      outbox = stored
    }
    self.init(model: model, finger: head.finger, terms: head.terms, outbox: outbox)
  }

  /// Whether these rows are as this version writes them, so that a step may be written on them.
  public static func isCurrent(_ rows: StoredRows) throws(StoredFormError) -> Bool {
    try head(of: rows).model == Model.storedVersion
  }

  private static func head(of rows: StoredRows) throws(StoredFormError) -> StoredHead<Place> {
    let head: StoredHead<Place>? = try rows.value(of: .head)
    guard let head else { throw StoredFormError(expected: "a head") }
    return head
  }
}

extension StoredTable {
  /// One row: versions, finger and terms.
  @usableFromInline static var head: StoredTable { StoredTable(0) }
}

extension Terms: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) {
    bytes.put(longDeadline)
    bytes.put(lifetime)
    switch cadence {
    case .waits: bytes.put(UInt8(0))
    case .every(let period):
      bytes.put(UInt8(1))
      bytes.put(period)
    case .pushed: bytes.put(UInt8(2))
    }
  }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    let longDeadline: TimeSpan = try bytes.take()
    let lifetime: TimeSpan = try bytes.take()
    let cadence: Cadence
    switch try bytes.takeByte() {
    case 0: cadence = .waits
    case 1: cadence = .every(try bytes.take())
    case 2: cadence = .pushed
    default: throw StoredFormError(expected: "a cadence")
    }
    self.init(longDeadline: longDeadline, lifetime: lifetime, cadence: cadence)
  }
}
